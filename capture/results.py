"""Results: the byte-stable document of verdicts and observations that is published and cited by its SHA-256.

Everything in it is a pure function of histories and of the claims that judge them.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from capture import compact, document, persistence
from capture.authority import Call, Ruling, proposals, rulings, same, shown
from capture.case import Case
from capture.document import Document
from capture.errors import InputRefused
from capture.history import CaseHistory, Entry
from capture.reception import receptions
from capture.verdict import FAIL, PASS, UNKNOWN, VERDICTS, CaseVerdict, Judgement, judge

__all__ = ["build", "narrowed", "of_pin", "packed", "read", "row", "unbuilt"]


def build(pins: Sequence[Document], record: str | None = None) -> Document:
    """Return the results document over the results of pins, in the order given."""
    cases = [case for pin in pins for case in pin["cases"]]
    return {"results": 1, "record": record, "counts": _counts(cases), "pins": list(pins)}


def of_pin(environment: Entry, digest: str, rows: Sequence[Document], *, trusted: bool) -> Document:
    """Return the results of one pin: what its history begins with, the history's SHA-256, and the row of each case.

    A pin is `trusted` if its smoke test came out as it must.
    """
    return {
        "pin": environment["pin"],
        "packages": environment["packages"],
        "files": environment["files"],
        "blocked": environment["blocked"],
        **({persistence.KEY: environment[persistence.KEY]} if persistence.KEY in environment else {}),
        "smoke": PASS if trusted else FAIL,
        "history": digest,
        "counts": _counts(rows),
        "cases": list(rows),
    }


def row(history: CaseHistory, claims: Iterable[str], *, trusted: bool) -> Document:
    """Return the row of one case from its history, judged by these claims."""
    return _case(history, _verdict(history, claims, trusted=trusted))


def unbuilt(name: str, cases: Iterable[Case]) -> Document:
    """Return the results of a pin whose environment could not be had: every case UNKNOWN, nothing observed."""
    verdict = CaseVerdict(UNKNOWN, "environment", None, False, ())
    rows = [_case(CaseHistory(case.id, case.scenario, ()), verdict) for case in cases]
    return {
        "pin": name,
        "packages": {},
        "files": {},
        "blocked": [],
        "smoke": UNKNOWN,
        "history": None,
        "counts": _counts(rows),
        "cases": rows,
    }


def packed(found: Document) -> Document:
    """Return results as they are published: over several pins in their compact form."""
    return found if len(found["pins"]) == 1 else compact.pack(found)


def read(data: bytes, where: str) -> Document:
    """Read a results file; refuse a foreign version, an unknown key, a pin or case that stands twice, a wrong count."""
    found: Document = document.parse_json(data, where)
    if isinstance(found, dict) and "cases" in found:
        found = _unpacked(found, where)
    else:
        document.check(found, "results", where)
    for complaint in _complaints(found):
        raise InputRefused(f"{where}: {complaint}.", "Restore the file from where you got it.")
    return found


def _unpacked(packed: Document, where: str) -> Document:
    document.check(packed, "matrix", where)
    found = compact.unpack(packed, where)
    rows = {id(case): case for pin in found["pins"] for case in pin["cases"]}
    for case in rows.values():
        document.check(case, "results", f"{where}: case {case['case']}", "case")
    return found


def narrowed(found: Document, pins: Collection[str], cases: Collection[str]) -> Document:
    """Return the results of these pins and cases alone, in their order."""
    kept = [(pin, [case for case in pin["cases"] if case["case"] in cases]) for pin in found["pins"] if pin["pin"] in pins]
    return build([{**pin, "cases": inside, "counts": _counts(inside)} for pin, inside in kept], found["record"])


def _complaints(found: Document) -> Iterable[str]:
    yield from _twice("pins", [pin["pin"] for pin in found["pins"]])
    for pin in found["pins"]:
        where = f"pin {pin['pin']}"
        yield from _twice(where, [case["case"] for case in pin["cases"]])
        yield from _miscounted(where, pin["counts"], pin["cases"])
        if (pin["smoke"] == UNKNOWN) != (pin["history"] is None):
            yield f"{where}: a smoke test that nobody saw and no history go together"
    # What many pins share is looked at once.
    different = {(id(case), pin["smoke"]): (pin, case) for pin in found["pins"] for case in pin["cases"]}
    for pin, case in different.values():
        yield from (f"pin {pin['pin']}, case {case['case']}: {complaint}" for complaint in _contradictions(case, pin))
    yield from _miscounted("top level", found["counts"], [case for pin in found["pins"] for case in pin["cases"]])


def _contradictions(case: Document, pin: Document) -> Iterable[str]:
    """Yield where the verdict of a case does not follow from what stands beside it."""
    yield from _twice("claims", [claim["claim"] for claim in case["claims"]])
    claims = [claim["claim"] for claim in case["claims"] if not _agrees(claim)]
    yield from (f"claim {name}: its verdict does not agree with its faults or with what it examined" for name in claims)
    said = (case["verdict"], case["reason"])
    if pin["history"] is None and (said != (UNKNOWN, "environment") or case["claims"]):
        yield "without a history every case is UNKNOWN (environment)"
    if pin["smoke"] == FAIL and said != (UNKNOWN, "smoke"):
        yield "after a smoke test that failed every case is UNKNOWN (smoke)"
    if pin["smoke"] == PASS and not _follows(case):
        yield "its verdict does not follow from its claims and its trigger"


def _agrees(claim: Document) -> bool:
    if claim["verdict"] == PASS and not claim["examined"]:
        return False
    return (claim["verdict"] == FAIL, claim["verdict"] == UNKNOWN) == (bool(claim["faults"]), claim["reason"] is not None)


def _follows(case: Document) -> bool:
    verdicts = {claim["verdict"] for claim in case["claims"]}
    if FAIL in verdicts or case["verdict"] == FAIL:
        return FAIL in verdicts and (case["verdict"], case["reason"]) == (FAIL, None)
    if case["verdict"] == UNKNOWN:
        return case["reason"] is not None
    return bool(case["trigger"]["happened"]) and PASS in verdicts and UNKNOWN not in verdicts and case["reason"] is None


def _twice(where: str, names: list[str]) -> Iterable[str]:
    for name, times in sorted(Counter(names).items()):
        if times > 1:
            yield f"{where}: {name} stands twice"


def _miscounted(where: str, counts: Mapping[str, int], cases: Sequence[Document]) -> Iterable[str]:
    if counts != _counts(cases):
        yield f"{where}: key counts does not count the cases that are there"


def _counts(cases: Iterable[Document]) -> Mapping[str, int]:
    counted = Counter(case["verdict"] for case in cases)
    return {verdict: counted[verdict] for verdict in VERDICTS}


def _verdict(history: CaseHistory, claims: Iterable[str], *, trusted: bool) -> CaseVerdict:
    verdict = judge(history, claims)
    return verdict if trusted else CaseVerdict(UNKNOWN, "smoke", None, verdict.triggered, verdict.claims)


def _case(history: CaseHistory, verdict: CaseVerdict) -> Document:
    return {
        "case": history.case,
        "digest": history.digest,
        "question": history.scenario["question"],
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "detail": verdict.detail,
        "trigger": {"trigger": history.scenario["trigger"], "happened": verdict.triggered},
        "claims": [_claim(judgement) for judgement in verdict.claims],
        "calls": _rows(history),
        "observations": _observed(history),
    }


def _claim(judgement: Judgement) -> Document:
    faults = [{"evidence": fault.evidence, "expected": fault.expected, "observed": fault.observed} for fault in judgement.faults]
    return {
        "claim": judgement.claim,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "examined": judgement.examined,
        "faults": faults,
    }


def _rows(history: CaseHistory) -> list[Document]:
    ruling = rulings(history).first
    # A thread that goes back proposes the same again: one row a call, unless an id was used for another one.
    calls = {document.line([call.id, call.tool, call.args]): call for call in proposals(history)}
    return [_row(history, call, ruling) for call in calls.values()]


def _row(history: CaseHistory, call: Call, ruling: Ruling) -> Document:
    """Join what each vantage saw of one call; `sent` is nothing where no tool sends."""
    answers = [answer.decision for answer in ruling.answers if answer.call == call.id]
    return {
        "call": call.id,
        "proposed": {"tool": call.tool, "args": call.args},
        "shown": [
            _action(item.call) for number, _ in history.steps() for item in shown(history, number) or [] if item.call.id == call.id
        ],
        "decided": [{key: decision[key] for key in decision if key != "call"} for decision in answers],
        "checkpointed": _stored_for(history, call.id),
        "dispatched": [
            {"tool": ruled.entry["tool"], "args": ruled.entry["args"]} for ruled in ruling.dispatches if ruled.call == call.id
        ],
        "sent": _sent(history, call, ruling),
        "kept": _kept(history, call.id),
        "reported": [
            {"status": message["status"], "content": message["content"]}
            for message in _answers(history)
            if message["answers"] == call.id
        ],
    }


def _sent(history: CaseHistory, call: Call, ruling: Ruling) -> list[Document] | None:
    """Return what the sinks got of a call, or None if they got nothing of it."""
    found = [reception for reception in receptions(history, ruling) if reception.call == call.id]
    return [{"protocol": one.protocol, "tool": one.tool, "args": one.args, "key": one.key} for one in found] or None


def _kept(history: CaseHistory, call: str | None) -> Document | None:
    """Return what the final conversation shows as this call, the last if it shows several."""
    kept = [found for found in _proposals_kept(history) if found["call"] == call]
    return {"tool": kept[-1]["tool"], "args": kept[-1]["args"]} if kept else None


def _action(call: Call) -> Document:
    return {"tool": call.tool, "args": call.args}


def _stored_for(history: CaseHistory, call: str | None) -> list[Any]:
    """Return the different replacements that checkpoints stored for a call, in the order in which they appeared."""
    found: list[Any] = []
    for checkpoint in history.of("checkpoint"):
        stored = checkpoint.get("stored_edits")
        if isinstance(stored, Mapping) and call in stored and not any(same(stored[call], known) for known in found):
            found.append(stored[call])
    return found


def _answers(history: CaseHistory) -> list[Document]:
    return [message for message in history.final_messages() or [] if "answers" in message]


def _proposals_kept(history: CaseHistory) -> list[Document]:
    messages = history.final_messages() or []
    return [
        {"call": call["id"], "message": message.get("id", ""), "tool": call["tool"], "args": call["args"]}
        for message in messages
        for call in message.get("calls", [])
    ]


def _stored_edit(checkpoint: Entry) -> Document:
    present = "stored_edits" in checkpoint
    return {
        "checkpoint": checkpoint["checkpoint"],
        "next": checkpoint["next"],
        "present": present,
        "value": checkpoint.get("stored_edits"),
    }


def _received(history: CaseHistory) -> list[Document]:
    return [{"tool": entry["tool"], "args": entry["args"]} for entry in history.of("dispatch") if entry["event"] == "entered"]


def _dispatches(history: CaseHistory) -> int:
    return sum(entry["event"] == "dispatched" for entry in history.of("dispatch"))


def _links(history: CaseHistory) -> list[Document]:
    return [_reported(message) | {"message": message.get("id", "")} for message in _answers(history)]


def _told(history: CaseHistory) -> list[Document]:
    """Return the tool messages in the last prompt: what the model was told about its calls."""
    prompts = history.of("prompt")
    messages = prompts[-1]["messages"] if prompts else []
    return [_reported(message) for message in messages if "answers" in message]


def _reported(message: Document) -> dict[str, Any]:
    return {"call": message["answers"], "status": message["status"], "content": message["content"]}


def _outcomes(history: CaseHistory, step: Entry) -> Iterable[Document]:
    """Yield how a step ended, or each branch of one that took several at once."""
    about = {"step": step["step"], "do": step["do"]}
    for found in history.of("outcome", step=step["step"]) or [{"status": "not seen"}]:
        branch = {"branch": found["branch"]} if "branch" in found else {}
        yield {**about, "status": found["status"], "error": found.get("error"), **branch}


def _shown(entry: Entry) -> Document:
    return {key: entry[key] for key in ("question", "value", "schema") if key in entry}


def _observed(history: CaseHistory) -> Document:
    """Return what each vantage saw; those that only some cases have are left out where there is nothing to say."""
    special = {name: [_without_place(entry) for entry in history.of(vantage)] for name, vantage in _SPECIAL.items()}
    special["failures"] = [
        {key: entry[key] for key in ("step", "tool", "args", "error")} for entry in history.of("dispatch") if "error" in entry
    ]
    special["injected"] = [
        {"tool": entry["tool"], "values": entry["injected"]}
        for entry in history.of("dispatch")
        if entry["event"] == "entered" and "injected" in entry
    ]
    special["conversation"] = list(history.final_messages() or []) if "questions" in history.scenario["subject"] else []
    found = {name: observe(history) for name, observe in _OBSERVATIONS.items()}
    return {**found, **{name: seen for name, seen in special.items() if seen}}


_SPECIAL = {
    "predicates": "predicate",
    "middleware": "middleware",
    "nodes": "node",
    "streams": "stream",
    "wire": "wire",
    "deaths": "process",
    "recovered": "recovered",
}


def _without_place(entry: Entry) -> Document:
    return {key: value for key, value in entry.items() if key not in ("kind", "vantage")}


_OBSERVATIONS: Mapping[str, Callable[[CaseHistory], Any]] = {
    "shown": lambda history: [_shown(entry) for entry in history.of("review")],
    "proposals": _proposals_kept,
    "stored_edits": lambda history: [_stored_edit(entry) for entry in history.of("checkpoint")],
    "output_keys": lambda history: [{"step": entry["step"], "keys": entry["keys"]} for entry in history.of("output")],
    "received": _received,
    "dispatches": _dispatches,
    "links": _links,
    "told": _told,
    "outcomes": lambda history: [found for entry in history.of("step") for found in _outcomes(history, entry)],
    "network": lambda history: [{"event": entry["event"], "target": entry["target"]} for entry in history.of("network")],
}
