"""What was not observed is never PASS: a history without something that a step owes is UNKNOWN, whatever else it shows."""

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pytest

from capture import document, record
from capture.completeness import gap
from capture.errors import InputRefused
from capture.history import CaseHistory, from_journal, read
from capture.verdict import PASS, UNKNOWN, judge
from tests.test_authority import A, Entry, ask, at_once, decide, end, history, propose, seen
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


# --- what a case can say since it may do more than invoke and resume


def observed(
    steps: Sequence[Mapping[str, Any]], *entries: Entry | list[Entry], checkpointer: str = "none", **fields: Any
) -> CaseHistory:
    """Return a history of a scenario with one invoke and these steps; without a checkpointer, so that no checkpoint is owed."""
    found = history(steps, *entries, **fields)
    subject = {**found.scenario["subject"], "checkpointer": checkpointer}
    return CaseHistory(found.case, {**found.scenario, "subject": subject}, found.entries)


def returned(step: int, *messages: str, status: str = "ended", given: str = "output") -> list[Entry]:
    """Return the entries of a step that returned a conversation with messages of these types."""
    conversation = [{"type": kind, "content": "", "id": f"{kind}-{number}"} for number, kind in enumerate(messages)]
    form: dict[str, Any] = {"keys": ["messages"]} if given == "output" else {"through": "x", "calls": [], "told": [], "pauses": []}
    return [end(step, status), seen(given, step, **form), seen("messages", step, messages=conversation)]


PAUSED = [propose(1, A), *returned(1, "human", "ai", status="paused"), ask(1, A)[1]]
RESUMED = returned(2, "human", "ai")


def reason(found: CaseHistory) -> str | None:
    """Return the reason of the first gap of a history."""
    missing = gap(found)
    return missing and missing[0]


def test_a_checkpoint_is_owed_only_where_there_is_a_checkpointer() -> None:
    """Without a checkpointer nothing is kept; with one, a step in which the model spoke owes a checkpoint."""
    assert gap(observed([], *PAUSED)) is None
    assert reason(observed([], *PAUSED, checkpointer="memory")) == "unobservable"


ANSWERS = {"do": "concurrently", "steps": [decide(("a", "approve")), decide(("a", "approve"))]}
FIRST, SECOND = at_once(1, *RESUMED), at_once(2, *RESUMED)

BRANCHES: dict[str, tuple[list[Entry], str | None]] = {
    "both": ([*FIRST, *SECOND], None),
    "one raised": ([*FIRST, *at_once(2, end(2, "raised"))], None),
    "one impossible": ([*FIRST, *at_once(2, end(2, "impossible"))], None),
    "one paused": ([*FIRST, *at_once(2, *returned(2, "human", "ai", status="paused"), ask(2, A)[1])], None),
    "the second without end": (FIRST, "error"),
    "the first without end": (SECOND, "error"),
    "none of them": ([], "error"),
    "of no branch": (RESUMED, "error"),
    "one too many": ([*FIRST, *SECOND, *at_once(3, end(2, "ended"))], "error"),
    "one that waited": ([*FIRST, *at_once(2, end(2, "waited"))], "error"),
    "one without output": ([*FIRST, SECOND[0], SECOND[2]], "unobservable"),
    "one without messages": ([*FIRST, *SECOND[:2]], "unobservable"),
    "one paused on nothing": ([*FIRST, *at_once(2, *returned(2, "human", "ai", status="paused"))], "unobservable"),
    "a question of the other": ([*FIRST, *SECOND, *at_once(1, ask(2, A)[1])], "unobservable"),
    "outputs of one alone": ([*FIRST, *at_once(2, end(2, "ended")), *at_once(1, *RESUMED[1:])], "unobservable"),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_each_of_several_at_once_owes_what_a_step_owes(name: str) -> None:
    """Every branch comes to one end, and one that returned shows its own output, messages and questions."""
    entries, expected = BRANCHES[name]
    assert reason(observed([ANSWERS], *PAUSED, *entries)) == expected


def kept(step: int, number: int, parent: int | None, conversation: Entry, *following: str) -> Entry:
    """Return a checkpoint that holds what a step returned."""
    names = [None if place is None else f"checkpoint-{place}" for place in (number, parent)]
    held = {"checkpoint": names[0], "parent": names[1], "next": list(following), "keys": ["messages"]}
    return seen("checkpoint", step, messages=conversation["messages"], **held)


def test_each_of_several_at_once_has_a_line_of_checkpoints() -> None:
    """Two that run at once from one checkpoint leave two lines of checkpoints; each ends in what its branch returned."""
    first, second = returned(2, "human", "ai"), returned(2, "human", "ai", "tool")
    paused = [*PAUSED, kept(1, 1, None, PAUSED[3], "tools")]
    lines = [kept(2, 2, 1, first[2]), kept(2, 3, 1, second[2])]
    both = [*paused, *at_once(1, *first), *at_once(2, *second)]
    assert reason(observed([ANSWERS], *both, *lines, checkpointer="memory")) is None
    assert reason(observed([ANSWERS], *both, lines[0], checkpointer="memory")) == "unobservable"
    assert reason(observed([ANSWERS], *both, lines[1], checkpointer="memory")) == "unobservable"


def test_branches_may_end_in_another_order_than_they_began() -> None:
    """One that is held at a gate ends after the one that began later."""
    assert reason(observed([ANSWERS], *PAUSED, *SECOND, *FIRST)) is None
    late = at_once(1, end(2, "waited"))
    assert reason(observed([ANSWERS], *PAUSED, *SECOND, *late)) == "error"


def test_a_pause_beside_a_call_that_ran_returns_more_than_it_keeps() -> None:
    """One call has run and another one waits: the message of the first is returned, and kept once both are through."""
    entries = [propose(1, A), *returned(1, "human", "ai", "tool", status="paused"), ask(1, A)[1]]
    held = returned(1, "human", "ai")[2]
    assert reason(observed([], *entries, kept(1, 1, None, held, "tools", "tools"), checkpointer="memory")) is None
    other = returned(1, "human", "human")[2]
    assert reason(observed([], *entries, kept(1, 1, None, other, "tools"), checkpointer="memory")) == "unobservable"
    ended = [propose(1, A), *returned(1, "human", "ai", "tool")]
    assert reason(observed([], *ended, kept(1, 1, None, held), checkpointer="memory")) == "unobservable"


@pytest.mark.parametrize(
    ("way", "given", "expected"),
    [
        (None, "output", None),
        (None, "stream", "unobservable"),
        ("v2", "output", None),
        ("v2", "stream", "unobservable"),
        ("updates", "stream", None),
        ("updates", "output", "unobservable"),
        ("astream_events", "stream", None),
        ("astream_events", "output", "unobservable"),
    ],
)
def test_a_step_owes_the_form_in_which_it_was_run(way: str | None, given: str, expected: str | None) -> None:
    """A step that was streamed owes its stream, any other its output."""
    step = decide(("a", "approve")) | ({} if way is None else {"through": way})
    assert reason(observed([step], *PAUSED, *returned(2, "human", "ai", given=given))) == expected


WHOLE, EARLY, LATE = ["entered", "dispatched", "returned"], ["entered", "raised"], ["entered", "dispatched", "raised"]


def body(*events: str) -> list[Entry]:
    """Return what is seen of one run of a tool's body in the second step."""
    return [seen("dispatch", 2, event=event, invocation=1, tool="send", args={"to": "x"}) for event in events]


@pytest.mark.parametrize(
    ("acts", "allowed"),
    [
        ((), [WHOLE]),
        (("before",), [WHOLE, EARLY]),
        (("after",), [WHOLE, LATE]),
        (("before", "after"), [WHOLE, EARLY, LATE]),
    ],
    ids=["nothing", "before", "after", "both"],
)
def test_a_tool_does_only_what_its_case_lets_it_do(acts: tuple[str, ...], allowed: list[list[str]]) -> None:
    """A body can fail before its effect or after it only where the case lets it; what was begun is seen to end."""
    tool = {"name": "send", **{key: [{"raise": 1}] for key in acts}}
    strange = [
        ["entered"],
        ["entered", "dispatched"],
        ["dispatched", "returned"],
        ["entered", "returned"],
        ["raised"],
        [*WHOLE, "raised"],
    ]
    courses = [WHOLE, EARLY, LATE, *strange]
    found = [observed([decide(("a", "approve"))], *PAUSED, *body(*course), *RESUMED, tools=[tool]) for course in courses]
    assert [course for course, one in zip(courses, found, strict=True) if gap(one) is None] == allowed
    assert {reason(one) for one in found} == {None, "unobservable"}


DEEDS: dict[str, tuple[Mapping[str, Any], set[str]]] = {
    "resume": (decide(("a", "approve")), {"ended", "raised", "impossible"}),
    "message": ({"do": "message", "text": "x"}, {"ended", "raised"}),
    "continue": ({"do": "continue"}, {"ended", "raised"}),
    "replay": ({"do": "replay", "at": {"paused": 1}}, {"ended", "raised", "impossible"}),
    "update-state": ({"do": "update-state", "messages": [{"type": "human", "text": "x"}]}, {"updated", "raised", "impossible"}),
    "wait": ({"do": "wait"}, {"waited"}),
}


@pytest.mark.parametrize("do", DEEDS)
def test_a_step_ends_only_as_it_can(do: str) -> None:
    """Only what names a question or a checkpoint can be impossible; only a write updates, only a wait waits."""
    step, allowed = DEEDS[do]
    for status in ("built", "ended", "raised", "impossible", "updated", "waited"):
        entries = RESUMED if status == "ended" else [end(2, status)]
        assert (reason(observed([step], *PAUSED, *entries)) is None) == (status in allowed), status


def test_after_a_construction_that_raised_nothing_is_owed() -> None:
    """Where the agent was not built there is no step to start, and one that was started all the same is a gap."""
    whole = observed([])
    raised = [{**entry, "status": "raised"} if entry["kind"] == "outcome" else entry for entry in whole.entries]
    assert reason(CaseHistory("test/case", whole.scenario, tuple(raised[:2]))) is None
    assert reason(CaseHistory("test/case", whole.scenario, tuple(raised))) == "error"
    assert reason(CaseHistory("test/case", whole.scenario, whole.entries[:2])) == "error"


def written(*kinds: str) -> Mapping[str, Any]:
    """Return a step that writes messages of these types."""
    return {"do": "update-state", "messages": [{"type": kind, "text": "x"} for kind in kinds]}


@pytest.mark.parametrize(
    ("kinds", "spoken", "expected"),
    [(["ai"], 2, None), (["ai", "ai"], 3, None), (["human"], 1, None), (["human"], 2, "unobservable"), (["ai"], 3, "unobservable")],
)
def test_what_the_operator_writes_needs_no_call_of_the_model(kinds: list[str], spoken: int, expected: str | None) -> None:
    """A conversation holds no more messages of the model than calls of it were seen, but for those that the operator wrote."""
    after = returned(3, "human", *["ai"] * spoken)
    assert reason(observed([written(*kinds), {"do": "continue"}], *PAUSED, end(2, "updated"), *after)) == expected


def test_what_is_written_later_explains_nothing_earlier() -> None:
    """A message of the model that nobody saw being spoken is a gap, though the operator writes one in a later step."""
    after = returned(2, "human", "ai", "ai")
    assert reason(observed([{"do": "continue"}, written("ai")], *PAUSED, *after, end(3, "updated"))) == "unobservable"


# --- where processes end, and where something is sent


@lru_cache
def beyond() -> dict[str, CaseHistory]:
    """Return the published histories of the cases that go beyond one process."""
    path = record.find("persistent-approvals").revision(None).file("history")
    return {found.case: found for found in read(document.read(path), str(path)).cases}


RESTARTED, KILLED, WAITING, LOST, SENT = (
    "restart/approve@sqlite",
    "sender/crash-after-effect-with-key@sqlite",
    "crash/while-paused-then-approve@sqlite",
    "restart/memory-forgets",
    "sender/http-approve",
)


def again(vantage: str, step: int) -> Callable[[Entries], None]:
    """Return what lets an observation of a vantage stand twice."""
    return lambda entries: entries.append(copy.deepcopy(only(entries, vantage, step=step)))


def refused(entries: Entries) -> None:
    """Let the sink have refused what it got."""
    only(entries, "wire")["refused"] = "cut short"


def died_elsewhere(entries: Entries) -> None:
    """Let a process have said that it dies in a step that ended as others do."""
    entries.append(seen("process", 1, event="killed", when="after", what="dispatch"))


def no_effect(entries: Entries) -> None:
    """Lose the effect after which the process says that it was killed, and what was received of it."""
    entries[:] = [entry for entry in entries if entry.get("event") != "dispatched" or entry["step"] != 2]
    entries[:] = [entry for entry in entries if entry.get("vantage") != "wire" or entry["step"] != 2]


def of_another_tool(entries: Entries) -> None:
    """Let the process say that another tool killed it."""
    only(entries, "process", step=2)["tool"] = "other"


def before_it(entries: Entries) -> None:
    """Let the process say that it was killed before the effect that was seen."""
    only(entries, "process", step=2)["when"] = "before"


def a_root_more(entries: Entries) -> None:
    """Let a thread begin anew although a new process found the one that there was."""
    only(entries, "checkpoint", step=3)["parent"] = None


BEYOND: dict[str, tuple[str, Callable[[Entries], None]]] = {
    "nothing of what was sent": (SENT, without("wire", 2)),
    "received more than was sent": (SENT, again("wire", 2)),
    "received more than was sent, and killed": (KILLED, again("wire", 2)),
    "received, but refused": (SENT, refused),
    "killed after an effect that nobody saw": (KILLED, no_effect),
    "killed after the effect of another tool": (KILLED, of_another_tool),
    "killed before an effect that was seen": (KILLED, before_it),
    "killed, and nobody said so": (KILLED, without("process", 2)),
    "killed while paused, and nobody said so": (WAITING, without("process", 2)),
    "not killed, but somebody said so": (RESTARTED, died_elsewhere),
    "nobody looked after the kill": (KILLED, without("recovered", 2)),
    "nobody looked after the restart": (RESTARTED, without("recovered", 2)),
    "looked twice": (RESTARTED, again("recovered", 2)),
    "killed, and seen to end": (KILLED, outcome(2, "ended")),
    "restarted, and seen to end": (RESTARTED, outcome(2, "ended")),
    "began anew although it was found": (RESTARTED, a_root_more),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_gap_beyond_one_process_is_noticed(name: str) -> None:
    """A published history is whole; with one thing missing, or one too many, it is not."""
    case, change = BEYOND[name]
    found = beyond()[case]
    assert gap(found) is None
    entries = copy.deepcopy([dict(entry) for entry in found.entries])
    change(entries)
    assert gap(CaseHistory(found.case, found.scenario, tuple(entries))) is not None


def test_what_a_kill_cuts_short_is_no_gap() -> None:
    """Killed between dispatch and sending, or after entering, a process leaves a beginning; where nothing is, a thread begins."""
    found = beyond()[KILLED]
    entries = [entry for entry in found.entries if (entry.get("vantage"), entry["step"]) != ("wire", 2)]
    assert gap(CaseHistory(found.case, found.scenario, tuple(entries))) is None
    assert gap(beyond()["crash/tool-entered@sqlite"]) is None
    assert gap(beyond()[LOST]) is None
