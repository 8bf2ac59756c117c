"""Fixed scenarios for the simulated subject, and what every claim finds in the histories that its faults leave of them.

`python -m tests.mutants.examples` writes findings.json again; whoever does that reads what changed.
"""

from functools import cache
from pathlib import Path
from typing import Any

from capture import document, history, record
from capture.authority import rulings
from capture.claims import CLAIMS
from capture.history import CaseHistory, History
from tests.judging import judged
from tests.simulation import Simulation, scenario, simulated

__all__ = ["FINDINGS", "found", "histories"]

FINDINGS = Path(__file__).parent / "findings.json"

Plan = dict[str, Any]

ENVIRONMENT = {"kind": "environment", "history": 1, "pin": "i05", "packages": {}, "files": {}, "blocked": []}

DONE = {"text": "Done."}
GO = {"do": "invoke", "text": "Go."}
CLOSED = {"allowed_decisions": ["approve", "reject"], "description": "Mind the sum."}


def call(number: int, tool: str, to: str | None = None) -> dict[str, Any]:
    """Return a call of a script."""
    return {"id": f"call-{number}", "tool": tool, "args": {"to": to or f"to-{number}"}}


def decide(number: int, kind: str, **fields: Any) -> dict[str, Any]:
    """Return a decision about a call."""
    return {"call": f"call-{number}", "type": kind, **fields}


def edit(number: int, to: str, tool: str = "send") -> dict[str, Any]:
    """Return a decision that edits a call."""
    return decide(number, "edit", edited_action={"name": tool, "args": {"to": to}})


def resume(*decisions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a step that answers."""
    return {"do": "resume", "decisions": list(decisions), **fields}


def _plan(turns: list[Any], policies: Plan, steps: list[Plan], **head: Any) -> Plan:
    return scenario([*turns, DONE], policies, **head) | {"steps": [GO, *steps]}


MIXED = [{"calls": [call(1, "send"), call(2, "pay"), call(3, "log"), call(4, "send")]}]
ALL_OF_IT = [edit(1, "fresh"), decide(2, "reject", message="too much"), decide(4, "respond", message="not now")]
BOTH: Plan = {"send": True, "pay": CLOSED}
PER_CALL = {"interrupt_mode": "per_call", "description_prefix": "Look closely"}

PLANS: dict[str, Plan] = {
    "mixed": _plan(MIXED, BOTH, [resume(*ALL_OF_IT)], named=True, counter=True, options={"description_prefix": "Look closely"}),
    "mixed, unnamed, notice off": _plan(MIXED, BOTH, [resume(*ALL_OF_IT, by="id")], notice=False),
    "per call": _plan(
        MIXED,
        BOTH,
        [
            resume(decide(4, "approve"), edit(1, "fresh"), by="id", through="tasks"),
            resume(decide(2, "approve"), by="value", through="v2"),
        ],
        named=True,
        options=PER_CALL,
    ),
    "streamed": _plan(
        [{"calls": [call(1, "send"), call(2, "send")]}],
        BOTH,
        [{"do": "continue", "through": "tasks"}, resume(decide(1, "approve"), decide(2, "approve"), through="tasks")],
        named=True,
    ),
    "bad, then good": _plan(
        [{"calls": [call(1, "send"), call(2, "pay")]}],
        BOTH,
        [
            resume(decide(1, "approve"), decide(2, "edit", edited_action={"name": "pay", "args": {"to": "x"}})),
            {"do": "resume", "value": "yes"},
            resume(decide(1, "approve"), decide(2, "approve"), through="v2"),
        ],
    ),
    "edited, then a turn without review": _plan(
        [{"calls": [call(1, "send")]}, {"text": "And now?"}, {"calls": [call(2, "log")]}],
        BOTH,
        [resume(edit(1, "fresh")), {"do": "message", "text": "And more."}],
        named=True,
    ),
    "rejected as a whole": _plan(
        [{"calls": [call(1, "send"), call(2, "send")]}], BOTH, [resume(decide(1, "reject"), decide(2, "reject", message="no"))]
    ),
    "failed once": _plan(
        [{"calls": [call(1, "send"), call(2, "log")]}], BOTH, [resume(decide(1, "approve")), {"do": "continue"}], fails=True
    ),
    "bad twice, the second good in part": _plan(
        [{"calls": [call(1, "send"), call(2, "send")]}],
        BOTH,
        [
            resume(decide(1, "edit"), decide(2, "reject"), by="id"),
            resume(decide(1, "edit"), decide(2, "reject"), by="id"),
            resume(decide(1, "approve"), decide(2, "approve"), by="id"),
        ],
        options=PER_CALL,
    ),
    "good, then bad, then good": _plan(
        [{"calls": [call(1, "send")]}, {"calls": [call(2, "send")]}],
        BOTH,
        [resume(decide(1, "approve")), resume(decide(1, "approve")), resume(edit(2, "fresh", "pay")), resume(decide(2, "approve"))],
        named=True,
    ),
    "an argument added": _plan(
        [{"calls": [call(1, "send")]}],
        BOTH,
        [resume(decide(1, "edit", edited_action={"name": "send", "args": {"to": "to-1", "cc": "fresh"}}))],
    ),
    "waiting": _plan([{"calls": [call(1, "send"), call(2, "log")]}], BOTH, [{"do": "replay", "at": {"paused": 1}}]),
    "ungated": _plan([{"calls": [call(1, "log"), call(2, "pay")]}], {"send": True}, [], named=True),
}

FAULTS = (
    "runs-undecided",
    "runs-refused",
    "runs-twice",
    "runs-other-args",
    "runs-other-tool",
    "runs-ungated-tool",
    "runs-original",
    "loses-call",
    "ungated-twice",
    "ungated-other-args",
    "ungated-lost",
    "skips-review",
    "shows-other",
    "shows-twice",
    "hides-call",
    "offers-less",
    "describes-nothing",
    "takes-bad-answer",
    "raises-at-good",
    "drops-proposal",
    "rewrites-proposal",
    "renames-proposal",
    "copies-proposal",
    "invents-proposal",
    "loses-answer",
    "answers-twice",
    "rejects-as-success",
    "hides-reason",
    "rewrites-response",
    "hides-edit",
    "states-edit",
    "stores-nothing",
    "stores-other",
    "invents-stored-edit",
    "stores-early",
    "keeps-old-edit",
    "passes-tools",
    "leaks-key",
    "returns-dict",
    "streams-no-pause",
    "streams-other",
    "enters-twice",
    "opens-socket",
    "reruns",
)


def histories(name: str) -> dict[str, CaseHistory]:
    """Return the history of a scenario with a correct subject, and those of each fault that makes a difference there."""
    faulty = {fault: _tried(PLANS[name], fault) for fault in FAULTS}
    planted = {fault: made.history() for fault, made in faulty.items() if made and made.planted}
    return {"correct": simulated(PLANS[name]).history(), **planted}


def _tried(plan: Plan, fault: str) -> Simulation | None:
    # A replay goes back to a pause; a subject that never paused has none.
    if fault == "skips-review" and any(step["do"] == "replay" for step in plan["steps"]):
        return None
    return simulated(plan, fault)


def found(name: str) -> dict[str, Any]:
    """Return what each claim finds, and what each dispatch was; for a fault, only what differs from the correct subject."""
    said = {fault: _said(case) for fault, case in histories(name).items()}
    known = said.pop("correct")
    other = {fault: {key: value for key, value in found.items() if known[key] != value} for fault, found in said.items()}
    return {"correct": known, **other}


def _said(case: CaseHistory) -> dict[str, Any]:
    claims = {name: _finding(case, name) for name in sorted(CLAIMS)}
    ways = [[[ruled.call, ruled.kind.value] for ruled in ruling.dispatches] for ruling in rulings(case).rulings]
    return {**claims, "dispatches": ways, "results": _results(case)}


def _finding(case: CaseHistory, name: str) -> list[Any]:
    finding = CLAIMS[name].find(case)
    return [finding.examined, [[fault.evidence, fault.expected, fault.observed] for fault in finding.faults], finding.unknown]


def _results(case: CaseHistory) -> str:
    """Return the SHA-256 of what the results say of a case, beside its claims."""
    names = ["network/none-tried@1"]
    pin = judged(History(ENVIRONMENT, _smoke(), (case,)), {case.case: names})
    return document.digest(document.canonical(pin))


@cache
def _smoke() -> tuple[CaseHistory, ...]:
    path = record.find("i05").revision(None).file("history")
    return history.read(document.read(path), str(path)).smoke


if __name__ == "__main__":
    FINDINGS.write_bytes(
        b"{" + b",".join(b"%s:%s" % (document.line(name)[:-1], document.line(found(name))) for name in PLANS) + b"}\n"
    )
