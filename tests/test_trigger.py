"""Each trigger is shown able to be true, and false on a history in which almost the same happened."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from capture.history import CaseHistory
from capture.trigger import TRIGGERS
from tests.test_authority import A, B, Entry, ask, at_once, decide, dispatch, edit, end, history, propose, seen

Step = Mapping[str, Any]
Told = tuple[Sequence[Step], Sequence[Entry]]
"""The steps after the first, and what was seen."""

APPROVE, REJECT, EDIT = decide(("a", "approve")), decide(("a", "reject")), edit("a", "send", {"to": "z"})
VALUE: Step = {"do": "resume", "value": "yes"}
SAY: Step = {"do": "message", "text": "and?"}
BOTH: Step = {"do": "concurrently", "steps": [APPROVE, REJECT]}
WRITE: Step = {"do": "update-state", "messages": [{"type": "human", "text": "x"}]}
REPLAY: Step = {"do": "replay", "at": {"paused": 1}}

ASKED = [propose(1, A), *ask(1, A)]
QUIET = [propose(1), end(1, "ended")]
STREAM = {"through": "updates", "calls": [], "told": [], "pauses": []}


def failed(error: str, *events: str) -> list[Entry]:
    """Return what is seen of a tool's body that is left by raising, in the second step."""
    body = {"invocation": 1, "tool": "send", "args": {"to": "x"}}
    return [seen("dispatch", 2, event=event, **body) for event in events] + [
        seen("dispatch", 2, event="raised", error=error, **body)
    ]


def predicate(step: int) -> Entry:
    """Return what is seen of a predicate that is called."""
    return seen("predicate", step, call="a", number=1, answer=True)


def acted(step: int) -> Entry:
    """Return what is seen of a middleware of the kit."""
    return seen("middleware", step, name="counter", event="entered", call="a")


def found(step: int, *questions: str) -> Entry:
    """Return how a new process finds the thread, with these questions in it."""
    return seen("recovered", step, checkpoint="c", next=[], questions=list(questions))


def speak(step: int, number: int = 2) -> Entry:
    """Return a call of the model that proposes nothing."""
    return propose(step, number=number)


RESTART: Step = {"do": "restart"}
GOT = seen("wire", 2, protocol="http", method="POST", path="/send", headers={}, body={"to": "x"})
OVER = [*ASKED, end(2, "restarted"), found(2, "q")]
DEAD = [*ASKED, end(2, "killed"), found(2, "q")]

ASKS = {"questions": [{"name": "name", "value": "Who?"}]}
WHO = [end(1, "paused"), seen("review", 1, question="q", value="Who?")]
ANN: Step = {"do": "resume", "answers": [{"question": "name", "value": "Ann"}]}


def node(event: str) -> Entry:
    """Return what is seen of a node of a bare graph."""
    return seen("node", 2, node="ask", event=event, what="x")


def own(steps: Sequence[Step], *entries: Entry) -> CaseHistory:
    """Return a history of a subject that also asks by itself."""
    found = history(steps, *entries)
    return replace(found, scenario={**found.scenario, "subject": {**found.scenario["subject"], **ASKS}})


HAPPENED: dict[str, list[Told]] = {
    "model-called-after-own-answer": [((ANN, SAY), [*WHO, end(2, "ended"), speak(3, 1), end(3, "ended")])],
    "node-raised": [((ANN,), [*WHO, node("raised"), end(2, "raised")])],
    "own-question-answered": [((ANN,), [*WHO, end(2, "ended")]), ((ANN, SAY), [*WHO, end(2, "raised"), end(3, "ended")])],
    "resumed-unasked": [((ANN,), [*QUIET, end(2, "ended")]), ((ANN, ANN), [*WHO, end(2, "ended"), end(3, "ended")])],
    "stopped-at-breakpoint": [((), [end(1, "stopped")])],
    "update-failed": [((ANN,), [*WHO, node("refused"), end(2, "raised")])],
    "answered-after-restart": [
        ((RESTART, APPROVE), [*OVER, end(3, "ended")]),
        ((APPROVE, REJECT), [*DEAD, end(3, "ended")]),
    ],
    "process-killed": [((APPROVE,), DEAD)],
    "process-restarted": [((RESTART,), OVER)],
    "received": [((APPROVE,), [*ASKED, GOT, end(2, "ended")])],
    "agent-built": [((), QUIET)],
    "answer-delivered": [
        ((APPROVE,), [*ASKED, end(2, "ended")]),
        ((APPROVE,), [*ASKED, end(2, "raised")]),
        ((BOTH,), [*ASKED, *at_once(1, end(2, "ended")), *at_once(2, end(2, "raised"))]),
    ],
    "bad-answer-delivered": [((VALUE,), [*ASKED, end(2, "raised")]), ((decide(("b", "approve")),), [*ASKED, end(2, "ended")])],
    "bad-and-good-answer-delivered": [((VALUE, APPROVE), [*ASKED, end(2, "raised"), end(3, "ended")])],
    "edit-streamed": [((EDIT,), [*ASKED, dispatch(2, A), end(2, "ended"), seen("stream", 2, **STREAM)])],
    "middleware-acted": [((), [*QUIET, acted(1)])],
    "middleware-acted-after-answer": [((APPROVE,), [*ASKED, acted(2), end(2, "ended")])],
    "model-proposed": [((), [propose(1, A), end(1, "ended")]), ((APPROVE,), [*ASKED, end(2, "ended")])],
    "model-raised": [((), [seen("prompt", 1, number=1, messages=[], reply=None, raised=True), end(1, "raised")])],
    "pause-streamed": [((), [*ASKED, seen("stream", 1, **STREAM)])],
    "predicate-called": [((), [*ASKED, predicate(1)])],
    "predicate-called-on-resume": [((APPROVE,), [*ASKED, predicate(2), end(2, "ended")])],
    "question-asked": [((), ASKED)],
    "ran-again": [
        (({"do": "continue"},), [*ASKED, end(2, "ended")]),
        ((REPLAY,), [*ASKED, *ask(2, A)]),
        (({**APPROVE, "at": {"paused": 1}},), [*ASKED, end(2, "raised")]),
        (
            ({"do": "concurrently", "steps": [APPROVE, {"do": "continue"}]},),
            [*ASKED, *at_once(1, end(2, "ended")), *at_once(2, end(2, "ended"))],
        ),
    ],
    "second-answer-delivered": [
        ((APPROVE, APPROVE), [*ASKED, end(2, "ended"), end(3, "ended")]),
        ((APPROVE, VALUE), [*ASKED, end(2, "raised"), end(3, "raised")]),
        ((BOTH,), [*ASKED, *at_once(1, end(2, "ended")), *at_once(2, end(2, "raised"))]),
    ],
    "second-turn-proposed": [((APPROVE,), [*ASKED, propose(2, B, number=2), *ask(2, B)])],
    "state-written": [((WRITE,), [*ASKED, end(2, "updated")])],
    "text-turn-spoken": [((APPROVE, SAY), [*ASKED, end(2, "ended"), speak(3), end(3, "ended")])],
    "tool-asked": [((APPROVE,), [*ASKED, *failed("GraphInterrupt", "entered"), end(2, "paused")])],
    "tool-raised": [((APPROVE,), [*ASKED, *failed("ToolFailed", "entered", "dispatched"), end(2, "raised")])],
}

DID_NOT: dict[str, list[Told]] = {
    "model-called-after-own-answer": [
        ((ANN,), [*WHO, speak(2, 1), end(2, "ended")]),
        ((SAY, ANN), [*WHO, speak(2, 1), end(2, "paused"), seen("review", 2, question="q", value="Who?"), end(3, "ended")]),
    ],
    "node-raised": [((ANN,), [*WHO, node("before"), end(2, "raised")])],
    "own-question-answered": [
        ((ANN,), [*WHO, end(2, "raised")]),
        ((ANN,), [*WHO, end(2, "paused"), seen("review", 2, question="q", value="Who?")]),
        ((ANN,), [end(1, "paused"), seen("review", 1, question="q", value="What?"), end(2, "ended")]),
    ],
    "resumed-unasked": [((ANN,), [*WHO, end(2, "ended")]), ((ANN, ANN), [*WHO, end(2, "raised"), end(3, "ended")])],
    "stopped-at-breakpoint": [((), [end(1, "ended")]), ((), WHO)],
    "update-failed": [((ANN,), [*WHO, node("raised"), end(2, "raised")])],
    "answered-after-restart": [
        ((RESTART,), OVER),
        ((APPROVE, RESTART), [*ASKED, end(2, "ended"), end(3, "restarted"), found(3)]),
        ((RESTART, APPROVE), [*ASKED, end(2, "restarted"), found(2), end(3, "ended")]),
    ],
    "process-killed": [((RESTART,), OVER), ((APPROVE,), [*ASKED, end(2, "raised")])],
    "process-restarted": [((APPROVE,), DEAD)],
    "received": [((APPROVE,), [*ASKED, dispatch(2, A), end(2, "ended")])],
    "answer-delivered": [
        ((APPROVE,), [*QUIET, end(2, "ended")]),
        ((VALUE,), [*ASKED, end(2, "ended")]),
        ((decide(("b", "approve")),), [*ASKED, end(2, "ended")]),
    ],
    "bad-answer-delivered": [
        ((APPROVE,), [*ASKED, end(2, "raised")]),
        ((VALUE,), [*QUIET, end(2, "ended")]),
        ((VALUE,), [*ASKED, end(2, "impossible")]),
        ((SAY,), [*ASKED, end(2, "ended")]),
    ],
    "bad-and-good-answer-delivered": [
        ((VALUE,), [*ASKED, end(2, "raised")]),
        ((APPROVE, VALUE), [*ASKED, end(2, "raised"), end(3, "raised")]),
        ((VALUE, APPROVE), [*ASKED, end(2, "ended"), end(3, "ended")]),
    ],
    "edit-streamed": [
        ((EDIT,), [*ASKED, dispatch(2, A), end(2, "ended")]),
        ((EDIT,), [*ASKED, end(2, "ended"), seen("stream", 2, **STREAM)]),
        ((APPROVE,), [*ASKED, dispatch(2, A), end(2, "ended"), seen("stream", 2, **STREAM)]),
    ],
    "middleware-acted-after-answer": [
        ((APPROVE,), [*ASKED, acted(1), end(2, "ended")]),
        ((VALUE,), [*ASKED, acted(2), end(2, "ended")]),
    ],
    "model-proposed": [((), QUIET), ((), ASKED), ((), [propose(1, A), end(1, "raised")])],
    "model-raised": [((), [seen("prompt", 1, number=1, messages=[], reply=None), end(1, "raised")])],
    "pause-streamed": [((), ASKED), ((), [*QUIET, seen("stream", 1, **STREAM)])],
    "predicate-called-on-resume": [
        ((APPROVE,), [*ASKED, predicate(1), end(2, "ended")]),
        ((SAY,), [*ASKED, predicate(2), end(2, "ended")]),
    ],
    "question-asked": [((), [end(1, "paused"), seen("review", 1, question="q", value="?")])],
    "ran-again": [((APPROVE, SAY), [*ASKED, end(2, "ended"), end(3, "ended")]), ((REPLAY,), [*ASKED, end(2, "impossible")])],
    "second-answer-delivered": [
        ((APPROVE,), [*ASKED, end(2, "ended")]),
        ((APPROVE, VALUE), [*ASKED, end(2, "ended"), end(3, "impossible")]),
        ((APPROVE, APPROVE), [*ASKED, end(2, "ended")]),
        ((BOTH,), [*ASKED, *at_once(1, end(2, "ended")), *at_once(2, end(2, "impossible"))]),
    ],
    "second-turn-proposed": [((APPROVE,), [*ASKED, speak(2), end(2, "ended")])],
    "state-written": [((WRITE,), [*ASKED, end(2, "raised")])],
    "text-turn-spoken": [
        ((APPROVE,), [*ASKED, speak(2), end(2, "ended")]),
        ((SAY,), [*ASKED, speak(2), end(2, "ended")]),
        ((APPROVE, SAY), [*ASKED, end(2, "ended"), propose(3, B, number=2), *ask(3, B)]),
    ],
    "tool-asked": [((APPROVE,), [*ASKED, *failed("ToolFailed", "entered"), end(2, "raised")])],
    "tool-raised": [((APPROVE,), [*ASKED, *failed("GraphInterrupt", "entered"), end(2, "paused")])],
}


@pytest.mark.parametrize("trigger", sorted(TRIGGERS))
def test_every_trigger_can_happen_and_not_happen(trigger: str) -> None:
    """Each trigger happens where its thing was seen; it does not where nothing was seen, nor where only something like it was."""
    assert [TRIGGERS[trigger](own(steps, *entries)) for steps, entries in HAPPENED[trigger]] == [True] * len(HAPPENED[trigger])
    nothing = CaseHistory("test/case", history(()).scenario, ())
    unlike = [own(steps, *entries) for steps, entries in DID_NOT.get(trigger, [])]
    assert [TRIGGERS[trigger](found) for found in (nothing, *unlike)] == [False] * (len(unlike) + 1)


def test_no_trigger_is_left_over() -> None:
    """What is tested here are the triggers that there are."""
    assert set(HAPPENED) == set(TRIGGERS)
    assert set(DID_NOT) <= set(TRIGGERS)


def test_a_construction_that_raised_is_one_that_was_tried() -> None:
    """A case about the construction says something as soon as it came to its end, whichever."""
    started = {"kind": "step", "step": 0, "do": "build"}
    found = CaseHistory("test/case", history(()).scenario, (started, end(0, "raised")))
    assert TRIGGERS["agent-built"](found)
    assert not TRIGGERS["agent-built"](CaseHistory("test/case", found.scenario, (started,)))


@pytest.mark.parametrize("trigger", sorted(TRIGGERS))
def test_a_trigger_says_what_it_is(trigger: str) -> None:
    """Each trigger has a name of lower-case words and a sentence, which `list triggers` shows."""
    assert trigger.replace("-", "").isalpha()
    assert (TRIGGERS[trigger].__doc__ or "").endswith(".")
