"""Ids that come again, calls that have none, and branches: what belongs to one call is never read as another's."""

from typing import Any

from capture.claims import Finding, current
from capture.history import CaseHistory
from capture.verdict import judge_claim
from tests.test_authority import FREE, A, Call, Entry, ask, classes, decide, dispatch, end, history, propose, seen

AGAIN: Call = ("a", "send", {"to": "y"})
LOG: Call = ("a", "log", {"text": "hi"})


def find(claim: str, case: CaseHistory) -> Finding:
    """Return what a claim, in its newest version, finds."""
    return current()[claim].find(case)


def said(step: int, *messages: dict[str, Any]) -> Entry:
    """Return the conversation that a step returned."""
    return seen("messages", step, messages=list(messages))


def spoke(*calls: Call) -> dict[str, Any]:
    """Return a message of the model with calls."""
    return {"type": "ai", "content": "", "calls": [{"id": name, "tool": tool, "args": args} for name, tool, args in calls]}


def told(call: str, status: str, content: str = "x") -> dict[str, Any]:
    """Return a tool message."""
    return {"type": "tool", "content": content, "answers": call, "status": status}


def two_turns() -> list[Entry | list[Entry]]:
    """Return what is seen of two turns in which one id is proposed and asked about, the second time of another call."""
    return [propose(1, A), ask(1, A), propose(2, AGAIN, number=2), ask(2, AGAIN, question="r"), end(3, "ended")]


def test_an_older_error_excuses_no_later_call() -> None:
    """The first call of an id was rejected; the second was approved and never ran, and no error answers it."""
    steps = [decide(("a", "reject")), decide(("a", "approve"))]
    lost = history(steps, *two_turns(), said(3, spoke(A), told("a", "error"), spoke(AGAIN), told("a", "success")))
    assert len(find("core/authorised-dispatch", lost).faults) == 1
    failed = history(steps, *two_turns(), said(3, spoke(A), told("a", "error"), spoke(AGAIN), told("a", "error")))
    assert find("core/authorised-dispatch", failed).faults == ()


def test_an_approved_call_stands_for_no_ungated_one_of_its_id() -> None:
    """The approved call ran, and the ungated one of the same id in the next turn did not."""
    lost = history([decide(("a", "approve"))], propose(1, A), ask(1, A), dispatch(2, A), propose(2, LOG, number=2), end(2, "ended"))
    assert len(find("core/ungated-dispatch", lost).faults) == 1


def test_what_is_shown_of_an_id_is_its_latest_call() -> None:
    """The arguments of the turn before are not those of the call that waits now."""
    steps = [decide(("a", "reject")), decide(("a", "reject"))]
    stale = history(steps, propose(1, A), ask(1, A), propose(2, AGAIN, number=2), ask(2, A, question="r"), end(3, "ended"))
    right = history(steps, propose(1, A), ask(1, A), propose(2, AGAIN, number=2), ask(2, AGAIN, question="r"), end(3, "ended"))
    assert (len(find("review/proposal-shown", stale).faults), find("review/proposal-shown", right).faults) == (1, ())


def test_an_older_answer_in_the_tools_place_is_true() -> None:
    """A person answered the first call of an id, and rejected the second: both messages say what was."""
    steps = [{**decide(("a", "respond"))}, decide(("a", "reject"))]
    steps[0]["decisions"][0]["message"] = "blue"
    case = history(steps, *two_turns(), said(3, spoke(A), told("a", "success", "blue"), spoke(AGAIN), told("a", "error")))
    assert find("messages/told-truly", case).faults == ()
    wrong = history(steps, *two_turns(), said(3, spoke(A), told("a", "success", "blue"), spoke(AGAIN), told("a", "success")))
    assert len(find("messages/told-truly", wrong).faults) == 1


def test_a_pause_on_another_call_is_not_to_ask_again() -> None:
    """A bad answer that leads to the question of the next turn was taken; and a good answer to that one recovers nothing."""
    bad = decide(("a", "reject"), ("b", "reject"))
    other: Call = ("b", "send", {"to": "z"})
    taken = history([bad], propose(1, A), ask(1, A), propose(2, other, number=2), ask(2, other, question="r"))
    assert len(find("answer/bad-refused", taken).faults) == 1
    assert find("answer/bad-refused", history([bad], propose(1, A), ask(1, A), ask(2, A))).faults == ()
    later = history(
        [bad, decide(("b", "approve"))],
        propose(1, A),
        ask(1, A),
        propose(2, other, number=2),
        ask(2, other, question="r"),
        dispatch(3, other),
        end(3, "ended"),
    )
    assert find("answer/recoverable", later).examined == 0


def test_two_calls_without_ids_are_told_apart_by_nothing() -> None:
    """One call without an id is judged; of two nobody knows which an answer or a dispatch belongs to."""
    first, second = (None, "send", {"to": "x"}), (None, "send", {"to": "y"})
    calls = [{"id": None, "tool": tool, "args": args} for _, tool, args in (first, second)]
    for count, verdict in ((1, "PASS"), (2, "UNKNOWN")):
        reply = {"text": "", "calls": calls[:count]}
        case = history([], seen("prompt", 1, number=1, messages=[], reply=reply), end(1, "ended"))
        found = find("core/no-undecided-dispatch", case)
        assert (found.faults, found.unknown) == ((), "ambiguous" if verdict == "UNKNOWN" else None)


def test_a_call_is_ungated_only_with_the_tool_that_it_calls() -> None:
    """What the case says of a call is not said of another gated tool that runs in its name."""
    gated = ("send", "pay")
    swapped: Call = ("a", "pay", {"n": "1"})
    assert classes(history([], propose(1, A), dispatch(1, swapped, named=True), end(1, "ended"), gated=gated, ungated=["a"])) == [
        "undecided"
    ]
    assert classes(history([], propose(1, A), dispatch(1, A, named=True), end(1, "ended"), gated=gated, ungated=["a"])) == [
        "ungated"
    ]


def branched(claim: str, *entries: Entry | list[Entry], through: str) -> Finding:
    """Return what a claim finds where two branches were run so, the first of which paused and the second ended."""
    parts = [{"do": "continue", "through": through}, {"do": "continue", "through": through}]
    ends = [{**end(2, status), "branch": branch} for branch, status in ((1, "paused"), (2, "ended"))]
    step = {"do": "concurrently", "steps": parts}
    return find(claim, history([step], propose(1, FREE), end(1, "ended"), *ends, *entries))


def test_a_stream_is_that_of_its_own_branch() -> None:
    """A branch that ended owes no pause, and what ran in one is shown in its own stream."""
    shown = {"place": "p", "call": "f", "tool": "log", "args": FREE[2]}
    first = {**seen("stream", 2, through="updates", calls=[shown], told=[], pauses=["p"]), "branch": 1}
    second = {**seen("stream", 2, through="updates", calls=[], told=[], pauses=[]), "branch": 2}
    found = branched("stream/pause-shown", first, second, through="updates")
    assert (found.examined, found.faults) == (1, ())
    assert len(branched("stream/pause-shown", {**first, "pauses": []}, second, through="updates").faults) == 1
    ran = {**dispatch(2, FREE, named=True), "branch": 1}
    assert branched("stream/dispatch-shown", first, second, ran, through="updates").faults == ()
    assert len(branched("stream/dispatch-shown", first, second, {**ran, "branch": 2}, through="updates").faults) == 1


def test_an_output_is_that_of_its_own_branch() -> None:
    """Both branches were run in the second version; one of them returned something else."""
    outputs = [
        {**seen("output", 2, keys=["messages"], form=form), "branch": branch} for branch, form in ((1, "GraphOutput"), (2, "dict"))
    ]
    found = branched("output/second-version", *outputs, through="v2")
    assert (found.examined, len(found.faults)) == (2, 1)


def test_an_output_of_no_step_is_no_crash() -> None:
    """An output that stands at the construction is judged as what it is: of no step."""
    case = history([], seen("output", 0, keys=["messages"]), end(1, "ended"))
    assert judge_claim(case, current()["output/second-version"]).examined == 0
