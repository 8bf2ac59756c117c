"""The claims about what outlives a process and about what is received, on histories made by hand."""

from typing import Any

import pytest

from capture.claims import current
from capture.history import CaseHistory
from tests.test_authority import A, B, Call, Entry, ask, decide, dispatch, end, history, propose, seen

Fault = tuple[str, Any, Any]

ASKED = [propose(1, A), *ask(1, A)]
APPROVE, REJECT = decide(("a", "approve")), decide(("a", "reject"))
CONTINUE, RESTART = {"do": "continue"}, {"do": "restart"}
ACTION = {"tool": "send", "args": A[2]}


def finds(claim: str, found: CaseHistory) -> tuple[int, list[Fault]]:
    """Return how much a claim examined, and where it does not hold."""
    finding = current()[claim].find(found)
    assert finding.unknown is None
    return finding.examined, [(fault.evidence, fault.expected, fault.observed) for fault in finding.faults]


def recovered(step: int, checkpoint: str | None, *questions: str) -> Entry:
    """Return how a new process finds the thread."""
    return seen("recovered", step, checkpoint=checkpoint, next=[], questions=list(questions))


def point(step: int, name: str) -> Entry:
    """Return a checkpoint of which only the name counts."""
    return seen("checkpoint", step, checkpoint=name, parent=None, next=[], keys=[], messages=[])


def got(step: int, call: Call, key: str | None = None) -> Entry:
    """Return what a sink got."""
    headers = {} if key is None else {"idempotency-key": key}
    return seen("wire", step, protocol="http", method="POST", path=f"/{call[1]}", headers=headers, body=call[2])


KEPT: list[tuple[list[Entry], int, list[Fault]]] = [
    ([point(1, "c"), point(1, "d"), recovered(2, "d")], 1, []),
    ([point(1, "c"), point(1, "d"), recovered(2, "c")], 1, [("recovered/1", "d", "c")]),
    ([point(1, "c"), recovered(2, None)], 1, [("recovered/1", "c", None)]),
    ([recovered(2, None)], 0, []),
    ([point(1, "c"), point(3, "d"), recovered(2, "c"), recovered(3, "c")], 2, [("recovered/2", "d", "c")]),
]


@pytest.mark.parametrize(("entries", "examined", "faults"), KEPT)
def test_a_thread_is_kept(entries: list[Entry], examined: int, faults: list[Fault]) -> None:
    """A new process finds the newest checkpoint that was seen by its step."""
    found = history([RESTART, RESTART], *ASKED, end(2, "restarted"), end(3, "restarted"), *entries)
    assert finds("recovery/thread-kept", found) == (examined, faults)


WAITS: list[tuple[Any, list[Entry | list[Entry]], int, list[Fault]]] = [
    ([RESTART], [ASKED, end(2, "restarted"), recovered(2, "c", "q")], 1, []),
    ([RESTART], [ASKED, end(2, "restarted"), recovered(2, "c")], 1, [("recovered/1", ["q"], [])]),
    ([RESTART], [ASKED, end(2, "restarted"), recovered(2, "c", "r")], 1, [("recovered/1", ["q"], ["r"])]),
    ([APPROVE], [ASKED, end(2, "killed"), recovered(2, "c")], 0, []),
    ([APPROVE, RESTART], [ASKED, end(2, "ended"), end(3, "restarted"), recovered(3, "c")], 0, []),
    (
        [RESTART, RESTART],
        [ASKED, end(2, "restarted"), recovered(2, "c", "q"), end(3, "restarted"), recovered(3, "c")],
        2,
        [("recovered/2", ["q"], [])],
    ),
]


@pytest.mark.parametrize(("steps", "entries", "examined", "faults"), WAITS)
def test_a_question_waits_on(steps: Any, entries: list[Any], examined: int, faults: list[Fault]) -> None:
    """What the last step that ran left waiting, a new process finds between two steps."""
    assert finds("recovery/question-kept", history(steps, *entries)) == (examined, faults)


CUT = [*ASKED, dispatch(2, A), end(2, "killed"), recovered(2, "c", "q")]

DECIDED: list[tuple[Any, list[Entry], int, list[Fault]]] = [
    ([APPROVE, CONTINUE], [*CUT, end(3, "ended")], 1, []),
    ([APPROVE, CONTINUE], [*CUT, *ask(3, A)], 1, [("review/a/1", None, "asked again")]),
    ([APPROVE, RESTART, CONTINUE], [*CUT, end(3, "restarted"), *ask(4, A)], 1, [("review/a/1", None, "asked again")]),
    ([APPROVE, CONTINUE], [*CUT, propose(3, B, number=2), *ask(3, B)], 1, []),
    # Whoever answers again does not show whether the thread would have gone on.
    ([APPROVE, APPROVE], [*CUT, end(3, "ended")], 0, []),
    ([APPROVE], CUT, 0, []),
    ([APPROVE, CONTINUE], [*ASKED, dispatch(2, A), end(2, "ended"), *ask(3, A)], 0, []),
]


@pytest.mark.parametrize(("steps", "entries", "examined", "faults"), DECIDED)
def test_a_decision_is_kept(steps: Any, entries: list[Entry], examined: int, faults: list[Fault]) -> None:
    """A thread that goes on by itself after a kill does not ask for a decision that was given."""
    assert finds("recovery/decision-kept", history(steps, *entries)) == (examined, faults)


@pytest.mark.parametrize("status", ["killed", "raised"])
def test_a_thread_that_did_not_come_back_shows_no_decision_kept(status: str) -> None:
    """Killed again, or with an error, nobody saw whether it would have asked."""
    finding = current()["recovery/decision-kept"].find(history([APPROVE, CONTINUE], *CUT, end(3, status)))
    assert (finding.examined, finding.faults, finding.unknown) == (1, (), "unfinished")


def test_what_one_of_two_at_once_lists_another_may_have_answered() -> None:
    """A question that is listed by a part of a step, beside one that answers it, is not asked for in a new process."""
    both = {"do": "concurrently", "steps": [CONTINUE, APPROVE]}
    listed = [{**entry, "branch": 1} for entry in ask(2, A)]
    found = history([both, RESTART], *ASKED, *listed, {**end(2, "ended"), "branch": 2}, end(3, "restarted"), recovered(3, "c"))
    assert finds("recovery/question-kept", found) == (0, [])


def test_a_question_that_nobody_can_read_is_no_decision_kept() -> None:
    """Asked in a form that nobody knows, it may be the same question again."""
    found = history([APPROVE, CONTINUE], *CUT, end(3, "paused"), seen("review", 3, question="q", value="?"))
    assert current()["recovery/decision-kept"].find(found).unknown == "unobservable"


OTHER: Call = ("a", "send", {"to": "z"})
FREE: Call = ("free", "note", {"to": "x"})

SENT: list[tuple[list[Entry], int, list[Fault]]] = [
    ([dispatch(2, A), got(2, A)], 1, []),
    ([dispatch(2, A), got(2, OTHER)], 1, [("wire/1", None, {"tool": "send", "args": {"to": "z"}})]),
    ([dispatch(2, A), got(2, A), got(2, OTHER)], 2, [("wire/2", None, {"tool": "send", "args": {"to": "z"}})]),
    # Sent twice for one dispatch: the content is right, and how often is another claim's.
    ([dispatch(2, A), got(2, A), got(2, A)], 2, []),
    ([dispatch(2, FREE), got(2, FREE)], 1, []),
    ([{**dispatch(2, A), "event": "entered"}, got(2, A)], 1, [("wire/1", None, ACTION)]),
    ([dispatch(2, A), got(3, A)], 1, [("wire/1", None, ACTION)]),
    ([dispatch(2, A), got(2, ("a", "pay", A[2]))], 1, [("wire/1", None, {"tool": "pay", "args": A[2]})]),
    ([dispatch(2, A)], 0, []),
]


@pytest.mark.parametrize(("entries", "examined", "faults"), SENT)
def test_a_sink_gets_what_was_dispatched(entries: list[Entry], examined: int, faults: list[Fault]) -> None:
    """In the same step, with the same tool and arguments, and nothing else."""
    assert finds("wire/as-dispatched", history([APPROVE, CONTINUE], *ASKED, *entries, end(2, "ended"), end(3, "ended"))) == (
        examined,
        faults,
    )


def test_a_sink_gets_an_approved_call_once() -> None:
    """A second time is a fault, by its count; what needs no approval is not examined."""
    twice = [dispatch(2, A, 1), dispatch(2, A, 2), got(2, A), got(2, A)]
    free = [dispatch(2, FREE, 3), dispatch(2, FREE, 4), got(2, FREE), got(2, FREE)]
    found = history([APPROVE], *ASKED, *twice, *free, end(2, "ended"))
    assert finds("wire/received-once", found) == (2, [("wire/a/2", None, ACTION)])
    assert finds("wire/received-once", history([REJECT], *ASKED, end(2, "ended"))) == (0, [])


def test_a_sink_gets_nothing_that_was_refused() -> None:
    """Each time is a fault; another call that was allowed is none."""
    both = [propose(1, A, B), *ask(1, A, B)]
    sent = [dispatch(2, A, 1, named=True), dispatch(2, B, 2, named=True), got(2, A), got(2, B)]
    found = history([decide(("a", "reject"), ("b", "approve"))], *both, *sent, end(2, "ended"))
    assert finds("wire/nothing-refused", found) == (1, [("wire/a/1", None, ACTION)])


LATE: tuple[Any, list[Entry]] = (
    [APPROVE, REJECT],
    [*ASKED, dispatch(2, A, named=True), got(2, A, "a"), *ask(2, A), end(3, "ended")],
)
TWICE_APPROVED: tuple[Any, list[Entry]] = (
    [APPROVE, APPROVE],
    [
        *ASKED,
        dispatch(2, A, 1, named=True),
        got(2, A),
        propose(2, A, number=2),
        *ask(2, A),
        dispatch(3, A, 2, named=True),
        got(3, A),
        end(3, "ended"),
    ],
)
THEN_REJECTED: tuple[Any, list[Entry]] = (
    [APPROVE, REJECT],
    [*ASKED, dispatch(2, A, 1, named=True), got(2, A), propose(2, OTHER, number=2), *ask(2, OTHER), end(3, "ended")],
)
OF_NO_CALL: tuple[Any, list[Entry]] = (
    [CONTINUE],
    [
        end(1, "ended"),
        dispatch(2, FREE, 1),
        dispatch(2, ("x", "note", {"to": "y"}), 2),
        got(2, FREE),
        got(2, ("x", "note", {"to": "y"})),
        end(2, "ended"),
    ],
)


@pytest.mark.parametrize("told", [LATE, TWICE_APPROVED, THEN_REJECTED, OF_NO_CALL])
@pytest.mark.parametrize("claim", ["wire/received-once", "wire/nothing-refused", "wire/key-shared"])
def test_what_was_sent_with_leave_is_no_fault(claim: str, told: tuple[Any, list[Entry]]) -> None:
    """An id that comes again, an answer that comes late, and what is of no call: by what each dispatch was, not by its id."""
    steps, entries = told
    assert finds(claim, history(steps, *entries))[1] == []


KEYS: list[tuple[list[Entry], int, list[Fault]]] = [
    ([got(2, A, "a"), got(2, A, "a")], 1, []),
    ([got(2, A, "a"), got(2, A, "b")], 1, [("wire/a/2", "a", "b")]),
    ([got(2, A), got(2, A)], 1, [("wire/a/2", None, None)]),
    ([got(2, A, "a")], 0, []),
]


@pytest.mark.parametrize(("received", "examined", "faults"), KEYS)
def test_what_comes_again_has_the_key_of_the_first(received: list[Entry], examined: int, faults: list[Fault]) -> None:
    """Of one call, not across calls; without a key nobody can tell."""
    both = [propose(1, A, B), *ask(1, A, B)]
    ran = [dispatch(2, A, number, named=True) for number in range(1, len(received) + 1)]
    other = [dispatch(2, B, 9, named=True), got(2, B, "other")]
    found = history([decide(("a", "approve"), ("b", "approve"))], *both, *ran, *other, *received, end(2, "ended"))
    assert finds("wire/key-shared", found) == (examined, faults)
