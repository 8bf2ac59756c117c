"""The words of a difference and of transitions; text in them is not escaped yet."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from capture.diff import ADDED, DETAIL, HIDDEN, REMOVED, STATUSES
from capture.document import Document
from capture.render.cells import actions, many, status, stored_action

__all__ = [
    "ANSWERS",
    "constant",
    "counted",
    "evidence",
    "facts",
    "grouped",
    "headline",
    "in_short",
    "listed",
    "sentence",
    "sides",
    "window",
]

ANSWERS = {
    "changed": "Something changed.",
    "not known": "Nothing changed that could be compared, but not everything could be.",
    "unchanged": "Nothing changed.",
}

Row = tuple[str, str, str]
"""What is compared, and how it is before and after."""

_WORDS = 200
_KEPT = 20
_NAMED = 3


def sides(pin: Document) -> tuple[str, str]:
    """Return the names of the pins that are compared."""
    return pin["before"] or "no such pin", pin["after"] or "no such pin"


def counted(counts: Mapping[str, int]) -> str:
    """Return how many cases have which status, from what matters most."""
    return ", ".join(f"{counts[name]} {_STATUS_WORDS.get(name, name)}" for name in STATUSES if counts[name]) or "no cases"


_STATUS_WORDS = {HIDDEN: "without an answer on one side", DETAIL: "changed in detail only"}


def facts(pin: Document) -> list[str]:
    """Return the packages and files that are not the same on both sides."""
    packages = [f"{fact['name']} {fact['before'] or 'none'} → {fact['after'] or 'none'}" for fact in pin["packages"]]
    return [*packages, *map(_file, pin["files"])]


def _file(fact: Document) -> str:
    """Say how a file differs; of one that only one pin names, which older pins do with fewer, nobody knows whether it does."""
    known = fact["before"] and fact["after"]
    return f"{fact['name']} is another file" if known else f"{fact['name']} has a digest in one of the pins only"


def listed(pin: Document) -> list[Document]:
    """Return the cases whose sides a reader has to see, in the order of their statuses."""
    return sorted((case for case in pin["cases"] if case["status"] not in _SHORT), key=lambda case: STATUSES.index(case["status"]))


def in_short(pin: Document) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the cases about which a few words say everything, by status, with these words."""
    found = [(_STATUS_WORDS.get(name, name), [case for case in pin["cases"] if case["status"] == name]) for name in _SHORT]
    return [(name, [(case["case"], _short(case)) for case in cases]) for name, cases in found if cases]


_SHORT = (ADDED, REMOVED, DETAIL)


def _short(case: Document) -> str:
    if case["status"] == DETAIL:
        return ", ".join(_details(case))
    return "; ".join([status(case["after"] or case["before"]), *_weighed(case)])


def headline(case: Document) -> str:
    """Return what became of a case, which FAILs in it are accepted, and which nobody knew."""
    return "; ".join([_STATUS_WORDS.get(case["status"], str(case["status"])), *_weighed(case)])


def _weighed(case: Document) -> Iterator[str]:
    known = "; ".join(f"{claim}, since {reason}" for claim, reason in sorted(case.get("accepted", {}).items()))
    if known:
        yield f"accepted: {known}"
    if case.get("new"):
        yield f"a FAIL that was not known: {', '.join(case['new'])}"


def evidence(case: Document) -> Iterator[Row]:
    """Yield what differs in a case, side by side: its verdict, its claims, the rows of its calls, and what was observed."""
    before, after = case["before"], case["after"]
    yield "verdict", _or(status, before, "no such case"), _or(status, after, "no such case")
    if "digest" in case["differs"]:
        yield "scenario, SHA-256", before["digest"], after["digest"]
    for claim in case["claims"]:
        yield claim["claim"], _claim(claim["before"], claim), _claim(claim["after"], claim)
    for call in case["calls"]:
        yield from (_cell(key, call) for key in call["differs"])
    for key, words in _OBSERVED.items():
        if key in case["differs"]:
            yield key, words(before[key]), words(after[key])


def _or(words: Callable[[Document], str], side: Document | None, otherwise: str) -> str:
    return words(side) if side else otherwise


def _details(case: Document) -> list[str]:
    examined = ["examined"] if any(claim["status"] == DETAIL for claim in case["claims"]) else []
    return [*case["also"], *examined]


def _claim(side: Document | None, claim: Document) -> str:
    if side is None:
        return "not judged"
    version = "" if side["claim"] == claim["claim"] else f"@{side['claim'].partition('@')[2]} "
    examined = f", {side['examined']} examined" if claim["status"] == DETAIL else ""
    faults = "; ".join(map(_fault, side["faults"]))
    return f"{version}{status(side)}{examined}{f': {faults}' if faults else ''}"


def _fault(fault: Document) -> str:
    return f"at {fault['evidence']} expected {_value(fault['expected'])}, observed {_value(fault['observed'])}"


def _value(value: object) -> str:
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _cell(key: str, call: Document) -> Row:
    words = _CELLS.get(key, _value)
    column = "reported" if key == "words" else key
    before, after = (words(side[column]) if side else "not proposed" for side in (call["before"], call["after"]))
    shown = (window(before, after), window(after, before)) if key == "words" else (before, after)
    return f"{call['call'] or 'a call without an id'}, {key}", *shown


def window(text: str, other: str) -> str:
    """Return the part of a long text in which it begins to differ from another one, and say where something was left out."""
    equal = next(
        (place for place, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), min(len(text), len(other))
    )
    start = max(equal - _KEPT, 0)
    shown = text[start : start + _WORDS]
    return f"{'…' if start else ''}{shown}{'…' if start + _WORDS < len(text) else ''}"


def _action(found: Document | None) -> str:
    return actions([found] if found else [])


def _stored(found: Sequence[Any]) -> str:
    known = [(stored_action(stored), stored) for stored in found]
    return "; ".join(_value(stored) if action is None else actions([action]) for action, stored in known) or "nothing"


def _decisions(found: Sequence[Document]) -> str:
    return "; ".join(" ".join(filter(None, (decision["type"], _value(_rest(decision))))) for decision in found) or "nothing"


def _rest(decision: Document) -> object:
    return {key: value for key, value in decision.items() if key != "type"} or None


def _answers(found: Sequence[Document]) -> str:
    return "; ".join(f"{message['status']}: {_text(message['content'])}" for message in found) or "nothing"


def _text(content: object) -> str:
    return content if isinstance(content, str) else _value(content)


def _outcomes(found: Sequence[Document]) -> str:
    return "; ".join(" ".join(filter(None, (outcome["do"], outcome["status"], outcome["error"]))) for outcome in found)


def _trigger(found: Document) -> str:
    return f"{found['trigger']} {'happened' if found['happened'] else 'did not happen'}"


_CELLS: Mapping[str, Callable[[Any], str]] = {
    "proposed": _action,
    "shown": actions,
    "decided": _decisions,
    "checkpointed": _stored,
    "dispatched": actions,
    "kept": _action,
    "reported": _answers,
    "words": _answers,
}

_OBSERVED: Mapping[str, Callable[[Any], str]] = {
    "trigger": _trigger,
    "outcomes": _outcomes,
    "received": actions,
    "dispatches": str,
}


# --- transitions


def sentence(runs: Sequence[Document]) -> str:
    """Return runs of equal verdicts as a sentence: PASS up to X, UNKNOWN at Y, FAIL from Z."""
    return ", ".join(_run(run, place, len(runs)) for place, run in enumerate(runs))


def _run(run: Document, place: int, count: int) -> str:
    verdict = status(run) if run["verdict"] else "not there"
    if count == 1:
        return verdict
    if place == 0:
        return f"{verdict} up to {run['last']}"
    if place == count - 1:
        return f"{verdict} from {run['first']}"
    return f"{verdict} at {run['first']}" if run["pins"] == 1 else f"{verdict} from {run['first']} to {run['last']}"


def grouped(transitions: Document) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return each case that changed with its sentences, and who shares each: the case itself and claims of it."""
    rows = groupby(transitions["changes"], key=lambda row: (row["case"], row["digest"]))
    return [(case, _shared(list(found))) for (case, _), found in rows]


def _shared(rows: Sequence[Document]) -> list[tuple[str, str]]:
    said: dict[str, list[str | None]] = {}
    for row in rows:
        said.setdefault(sentence(row["runs"]), []).append(row["claim"])
    return [(_subjects(claims), words) for words, claims in said.items()]


def _subjects(claims: Sequence[str | None]) -> str:
    names = [name for name in claims if name]
    if None not in claims:
        return ", ".join(names)
    return ", ".join(["the case", *names]) if len(names) <= _NAMED else f"the case and {len(names)} of its claims"


def constant(transitions: Document) -> list[tuple[str, str]]:
    """Return what never changes: each verdict, and how much has it; cases that do not PASS are named."""
    return [(status(found), _amount(found)) for found in transitions["constant"]]


def _amount(found: Document) -> str:
    named = f" ({', '.join(dict.fromkeys(found['cases']))})" if found["verdict"] != "PASS" else ""
    cases = [f"{many(len(found['cases']), 'case')}{named}"] if found["cases"] else []
    return ", ".join([*cases, *([many(found["claims"], "claim")] if found["claims"] else [])])
