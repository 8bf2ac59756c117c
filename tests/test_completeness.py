"""What was not observed is never PASS: a history without something that a step owes is UNKNOWN, whatever else it shows."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from capture.errors import InputRefused
from capture.history import CaseHistory, from_journal
from capture.verdict import PASS, UNKNOWN, judge
from tests.test_doctored import APPROVE, EDIT, OFF, REJECT, Entries, only, published

CASES = [APPROVE, EDIT, OFF, REJECT]


def without(vantage: str, step: int) -> Callable[[Entries], None]:
    """Return what drops the observations of a vantage in a step."""

    def drop(entries: Entries) -> None:
        entries[:] = [entry for entry in entries if (entry.get("vantage"), entry["step"]) != (vantage, step)]

    return drop


def without_kind(kind: str, step: int) -> Callable[[Entries], None]:
    """Return what drops the entries of a kind in a step."""

    def drop(entries: Entries) -> None:
        entries[:] = [entry for entry in entries if (entry["kind"], entry["step"]) != (kind, step)]

    return drop


def outcome(step: int, status: str) -> Callable[[Entries], None]:
    """Return what gives a step another outcome."""

    def change(entries: Entries) -> None:
        next(entry for entry in entries if entry["kind"] == "outcome" and entry["step"] == step)["status"] = status

    return change


def orphan(entries: Entries) -> None:
    """Let a tool have been entered, and nothing more be seen of it."""
    call = only(entries, "prompt", number=1)["reply"]["calls"][0]
    seen = {"event": "entered", "invocation": 9, "tool": call["tool"], "args": {"recipient": "x@example.invalid", "document": "y"}}
    entries.append({"kind": "observation", "vantage": "dispatch", "step": 2, **seen})


def numbered_wrong(entries: Entries) -> None:
    """Let the first call of the model not have been seen."""
    entries[:] = [entry for entry in entries if not (entry.get("vantage") == "prompt" and entry["number"] == 1)]


def disagreeing(entries: Entries) -> None:
    """Let a checkpoint list the private key without its value."""
    only(entries, "checkpoint").pop("stored_edits")


def reversed_conversation(entries: Entries) -> None:
    """Let the conversation that was returned last stand the other way round."""
    only(entries, "messages")["messages"].reverse()


def twice_the_checkpoint(entries: Entries) -> None:
    """Let one checkpoint stand twice."""
    entries.append(copy.deepcopy(only(entries, "checkpoint")))


def failed_before_its_effect(entries: Entries) -> None:
    """Let a tool have been entered and have raised, which no tool of these cases can."""
    call = only(entries, "prompt", number=1)["reply"]["calls"][0]
    for event in ("entered", "raised"):
        seen = {"event": event, "invocation": 9, "tool": call["tool"], "args": call["args"]}
        entries.append({"kind": "observation", "vantage": "dispatch", "step": 1, **seen})


INCOMPLETE: dict[str, Callable[[Entries], None]] = {
    **{
        f"no {vantage} in step {step}": without(vantage, step)
        for vantage in ("output", "messages", "checkpoint")
        for step in (1, 2)
    },
    "no second prompt": without("prompt", 2),
    "no first prompt": numbered_wrong,
    "nothing shown although paused": without("review", 1),
    **{f"no outcome of step {step}": without_kind("outcome", step) for step in (0, 1, 2)},
    **{
        f"step {step} {status}": outcome(step, status)
        for step, status in ((2, "built"), (2, "paused"), (2, "raised"), (0, "ended"))
    },
    "entered and no more": orphan,
    "failed before its effect": failed_before_its_effect,
    "a checkpoint twice": twice_the_checkpoint,
    "a conversation reversed": reversed_conversation,
    "keys and value disagree": disagreeing,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("gap", INCOMPLETE)
def test_a_gap_is_never_pass(gap: str, case: str) -> None:
    """A published history PASSes; with one thing missing that its steps owe, its case does not, and says why."""
    found = published()[case]
    entries = copy.deepcopy([dict(entry) for entry in found.entries])
    INCOMPLETE[gap](entries)
    verdict = judge(CaseHistory(found.case, found.scenario, tuple(entries)), _claims(case))
    assert verdict.verdict != PASS
    assert verdict.verdict != UNKNOWN or verdict.reason


def _claims(case: str) -> list[str]:
    from capture import record

    return next(list(entry["claims"]) for entry in record.find("i05").revision(None).cases if entry["case"] == case)


def test_no_entry_can_be_taken_away_unnoticed() -> None:
    """Whichever single entry of a published history is dropped, the case no longer PASSes."""
    for case in CASES:
        found = published()[case]
        for number in range(len(found.entries)):
            entries = [other for place, other in enumerate(found.entries) if place != number]
            assert _verdict(found, entries) != PASS, (case, found.entries[number])


def _verdict(found: CaseHistory, entries: list[Any]) -> str:
    return judge(CaseHistory(found.case, found.scenario, tuple(entries)), _claims(found.case)).verdict


@pytest.mark.parametrize(
    "line",
    [
        b'{"kind":"observation","vantage":"dispatch","step":1,"event":"dispatched","invocation":"1","tool":"other","args":{}}',
        b'{"kind":"outcome","step":7,"status":"ended"}',
        b'{"kind":"step","step":1,"do":"resume"}',
        b'{"kind":"footer","cases":0,"entries":0}',
    ],
)
def test_a_journal_says_nothing_that_cannot_be(line: bytes) -> None:
    """A tool that the case has not, a step that is not planned, a step that is another, a foreign entry: refused."""
    plan = published()[APPROVE].scenario
    with pytest.raises(InputRefused):
        from_journal(
            APPROVE, plan, b'{"kind":"step","step":0,"do":"build"}\n{"kind":"step","step":1,"do":"invoke"}\n' + line + b"\n"
        )
