"""The words of a results table: what each vantage saw of a case, said against what was proposed and decided."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capture.authority import same
from capture.document import Document, line

__all__ = ["COLUMNS", "actions", "faults", "many", "row", "status", "stored_action", "written"]

COLUMNS = (
    "Case",
    "Verdict",
    "(a) Proposal in the messages",
    "(b) Stored edit in the checkpoints",
    "(c) Tool received",
    "(d) Dispatches",
    "(e) Link back to the proposal",
)

_EXCERPT = 60

_MARKS = str.maketrans("“”", '""')


def row(case: Document) -> tuple[str, ...]:
    """Return the cells of a case, one for each column; text in them is not escaped yet."""
    return (
        case["case"],
        status(case),
        _kept(case),
        _stored(case),
        _received(case),
        str(case["observations"]["dispatches"]),
        _links(case),
    )


def status(case: Document) -> str:
    """Return the verdict, with its reason if it has one, and what stood in the way if that was seen."""
    if not case["reason"]:
        return str(case["verdict"])
    return f"{case['verdict']} ({': '.join(filter(None, (case['reason'], case.get('detail') or _obstacle(case))))})"


def _obstacle(case: Document) -> str | None:
    """Return the first step that raised, or that could not be taken."""
    for found in case.get("observations", {}).get("outcomes", ()):
        if found["status"] in ("raised", "impossible"):
            return " ".join(filter(None, (f"step {found['step']}, {found['do']},", found["status"], found["error"])))
    return None


def many(count: int, what: str) -> str:
    """Return how many there are of a thing."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def written(value: object) -> str:
    """Return a value of the evidence as JSON on one line; nothing is said in a word."""
    return "nothing" if value is None else line(value).decode().strip()


def faults(pin: Document) -> Iterator[tuple[str, str, Document]]:
    """Yield each fault of a pin with its case and claim."""
    for case in pin["cases"]:
        for claim in case["claims"]:
            for fault in claim["faults"]:
                yield case["case"], claim["claim"], fault


def actions(found: Sequence[Document]) -> str:
    """Return tool calls as text, one behind the other."""
    return "; ".join(f"{action['tool']}({_json(action['args'])})" for action in found) or "nothing"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _kept(case: Document) -> str:
    kept, calls = case["observations"]["proposals"], _calls(case)
    return "; ".join(f"{_origin(found, calls.get(found['call']))}, id {found['call']}" for found in kept) or "none"


def _calls(case: Document) -> Mapping[str, Document]:
    return {call["call"]: call for call in case["calls"]}


def _origin(found: Document, call: Document | None) -> str:
    """Say whether a tool and its arguments are those that were proposed, those that an edit put in place, or others."""
    action = {"tool": found["tool"], "args": found["args"]}
    if call is None:
        return actions([action])
    if same(action, call["proposed"]):
        return "original arguments"
    return "replacement" if any(same(action, edited) for edited in _edits(call)) else actions([action])


def _edits(call: Document) -> list[Document]:
    edited = [decision["edited_action"] for decision in call["decided"] if "edited_action" in decision]
    return [{"tool": action["name"], "args": action["args"]} for action in edited]


def _stored(case: Document) -> str:
    checkpoints = case["observations"]["stored_edits"]
    present = [number for number, found in enumerate(checkpoints, start=1) if found["present"]]
    if not present:
        return "no such key in any checkpoint" if checkpoints else "not observed"
    values = [checkpoints[number - 1]["value"] for number in present]
    whole = present == list(range(present[0], len(checkpoints) + 1))
    span = f"{present[0]} to {len(checkpoints)}" if whole else ", ".join(map(str, present))
    constant = all(same(value, values[0]) for value in values)
    return f"{_stored_value(values[0], case) if constant else 'changing values'} in checkpoints {span} of {len(checkpoints)}"


def _stored_value(value: Any, case: Document) -> str:
    if not isinstance(value, Mapping) or not value:
        return _json(value)
    calls = _calls(case)
    return "{" + ", ".join(f"{call}: {_stored_origin(action, calls.get(call))}" for call, action in sorted(value.items())) + "}"


def _stored_origin(stored: Any, call: Document | None) -> str:
    action = stored_action(stored)
    return _json(stored) if action is None else _origin(action, call)


def stored_action(stored: Any) -> Document | None:
    """Return what a checkpoint stored for a call as a tool and its arguments, or None if it is nothing of that form."""
    if not isinstance(stored, Mapping) or not isinstance(stored.get("name"), str) or not isinstance(stored.get("args"), Mapping):
        return None
    return {"tool": stored["name"], "args": stored["args"]}


def _received(case: Document) -> str:
    received = [{"tool": found["tool"], "args": found["args"]} for found in case["observations"]["received"]]
    known = _origins(case)
    return "; ".join(known.get(line(action)) or actions([action]) for action in received) or "nothing"


def _origins(case: Document) -> dict[bytes, str]:
    """Return where a tool and its arguments come from: the first call that proposed them, or in which an edit put them in place."""
    known: dict[bytes, str] = {}
    for call in case["calls"]:
        known.setdefault(line(call["proposed"]), "original arguments")
        for edited in _edits(call):
            known.setdefault(line(edited), "replacement")
    return known


def _links(case: Document) -> str:
    calls = _calls(case)
    links = [_link(found, calls.get(found["call"])) for found in case["observations"]["links"]]
    skipped = (
        "no tools step" if links and not any("tools" in found["next"] for found in case["observations"]["stored_edits"]) else ""
    )
    return "; ".join(filter(None, [*links, skipped])) or "none"


def _link(found: Document, call: Document | None) -> str:
    content = found["content"] if isinstance(found["content"], str) else _json(found["content"])
    stated = [
        value
        for edit in _edits(call or {"decided": []})
        for value in edit["args"].values()
        if not same(value, _proposed(call, value))
    ]
    told = ", states the replacement" if stated and all(str(value) in content for value in stated) else ""
    return f"{found['status']} message for {found['call']}{told}: “{_excerpt(content)}”"


def _proposed(call: Document | None, value: object) -> object:
    args = call["proposed"]["args"] if call else {}
    return value if any(same(value, known) for known in args.values()) else None


def _excerpt(text: str) -> str:
    # The marks of the excerpt itself stand in none, so that nobody can end it early.
    text = text.translate(_MARKS)
    return text if len(text) <= _EXCERPT else f"{text[:_EXCERPT].rstrip()}…"
