"""Triggers: what must have happened for a case to say anything. A case whose trigger did not happen cannot PASS."""

from collections.abc import Callable, Mapping
from typing import Any

from capture.authority import bad_answers, rulings, shown
from capture.exchange import exchanges
from capture.history import CaseHistory

__all__ = ["TRIGGERS"]


def _answer_delivered(history: CaseHistory) -> bool:
    """An answer that was offered to the reviewer was delivered to an open question."""
    return bool(rulings(history).first.answers)


def _model_proposed(history: CaseHistory) -> bool:
    """The model proposed a tool call, and the step in which it did came to its end."""
    return (
        any(bool(entry["reply"] and entry["reply"]["calls"]) for entry in history.of("prompt"))
        and history.last_outcome() == "ended"
    )


def _question_asked(history: CaseHistory) -> bool:
    """A person was asked about a call."""
    return any(bool(shown(history, number)) for number, _ in history.steps())


def _agent_built(history: CaseHistory) -> bool:
    """The agent was built, or its construction raised."""
    return history.outcome(0) in ("built", "raised")


def _second_answer_delivered(history: CaseHistory) -> bool:
    """At least two resumes were delivered, whatever became of them."""
    return [part["do"] for part in _delivered(history)].count("resume") > 1


def _bad_answer_delivered(history: CaseHistory) -> bool:
    """A resume was delivered that is no valid answer to what was asked then."""
    return bool(bad_answers(history))


def _bad_and_good_answer_delivered(history: CaseHistory) -> bool:
    """A resume that is no valid answer was delivered, and later one that is."""
    bad = bad_answers(history)
    return bool(bad) and any(answer.step > bad[0] for answer in rulings(history).first.answers)


def _predicate_called_on_resume(history: CaseHistory) -> bool:
    """A predicate of the policy was called in a step that resumed."""
    resumed = [number for number, step in history.steps() if step["do"] == "resume"]
    return any(history.of("predicate", step=number) for number in resumed)


def _predicate_called(history: CaseHistory) -> bool:
    """A predicate of the policy was called."""
    return bool(history.of("predicate"))


def _tool_raised(history: CaseHistory) -> bool:
    """The body of a tool raised what its case makes it raise."""
    return any(entry.get("error") == "ToolFailed" for entry in history.of("dispatch"))


def _tool_asked(history: CaseHistory) -> bool:
    """The body of a tool asked a person by itself."""
    return any(bool(entry["event"] == "raised") and entry.get("error") == "GraphInterrupt" for entry in history.of("dispatch"))


def _model_raised(history: CaseHistory) -> bool:
    """The model raised what its case makes it raise."""
    return any(entry.get("raised") for entry in history.of("prompt"))


def _ran_again(history: CaseHistory) -> bool:
    """A step ran from a checkpoint of its choice, or with no input, and returned or raised."""
    return any(part["do"] in ("continue", "replay") or "at" in part for part in _delivered(history))


def _middleware_acted(history: CaseHistory) -> bool:
    """A middleware of the kit did what it is there for: rewrote, jumped, handled an error, or saw a call."""
    return bool(history.of("middleware"))


def _middleware_acted_after_answer(history: CaseHistory) -> bool:
    """A middleware of the kit did what it is there for in a step that answered a question."""
    return any(history.of("middleware", step=answer.step) for answer in rulings(history).first.answers)


def _edit_streamed(history: CaseHistory) -> bool:
    """A call that a person edited ran in a step that was streamed."""
    edited = [answer.step for answer in rulings(history).first.answers if answer.decision["type"] == "edit"]
    return any(history.of("stream", step=number) and history.of("dispatch", step=number) for number in edited)


def _pause_streamed(history: CaseHistory) -> bool:
    """A step that was streamed paused."""
    return any(history.of("stream", step=number) and history.outcome(number) == "paused" for number, _ in history.steps())


def _state_written(history: CaseHistory) -> bool:
    """The operator wrote into the state."""
    return any(entry["status"] == "updated" for entry in history.of("outcome"))


def _second_turn_proposed(history: CaseHistory) -> bool:
    """The model proposed calls in two turns at least."""
    return sum(bool(entry["reply"] and entry["reply"]["calls"]) for entry in history.of("prompt")) > 1


def _text_turn_spoken(history: CaseHistory) -> bool:
    """The model spoke without proposing anything in a step after one in which a call was answered."""
    answered = [answer.step for answer in rulings(history).first.answers]
    return bool(answered) and any(
        entry["reply"] and not entry["reply"]["calls"] and entry["step"] > answered[0] for entry in history.of("prompt")
    )


def _process_restarted(history: CaseHistory) -> bool:
    """A new process took the thread up between two steps."""
    return any(entry["status"] == "restarted" for entry in history.of("outcome"))


def _process_killed(history: CaseHistory) -> bool:
    """The process was killed in the middle of a step, and a new one took the thread up."""
    return any(entry["status"] == "killed" for entry in history.of("outcome"))


def _answered_after_restart(history: CaseHistory) -> bool:
    """A valid answer was delivered to a process that had not asked for it."""
    restarted = [int(entry["step"]) for entry in history.of("outcome") if entry["status"] in ("restarted", "killed")]
    return bool(restarted) and any(answer.step > restarted[0] for answer in rulings(history).first.answers)


def _received(history: CaseHistory) -> bool:
    """A sink got something that a tool sent."""
    return bool(history.of("wire"))


def _own_question_answered(history: CaseHistory) -> bool:
    """A question that the subject asks by itself was answered."""
    return any(one.answered is not None for one in exchanges(history))


def _model_called_after_own_answer(history: CaseHistory) -> bool:
    """The model was called in a step after one in which a question that the subject asks by itself was answered."""
    answered = [one.answered for one in exchanges(history) if one.answered is not None]
    return bool(answered) and any(entry["step"] > min(answered) for entry in history.of("prompt"))


def _resumed_unasked(history: CaseHistory) -> bool:
    """A resume was delivered while nobody was asked anything."""
    waiting = False
    for number, step in history.steps():
        if step["do"] == "resume" and not waiting and history.delivered(number, None):
            return True
        waiting = bool(history.of("review", step=number)) if history.outcome(number) in ("paused", "stopped", "ended") else waiting
    return False


def _stopped(history: CaseHistory) -> bool:
    """A step stopped at a breakpoint of the graph."""
    return any(entry["status"] == "stopped" for entry in history.of("outcome"))


def _update_failed(history: CaseHistory) -> bool:
    """A function that makes a state update of a question or an answer failed."""
    return any(entry["event"] == "refused" for entry in history.of("node"))


def _node_raised(history: CaseHistory) -> bool:
    """A node of the graph raised what its case makes it raise."""
    return any(entry["event"] == "raised" for entry in history.of("node"))


def _delivered(history: CaseHistory) -> list[Mapping[str, Any]]:
    """Return what the operator did and what reached the subject."""
    done = [(number, branch, part) for number, _ in history.steps() for branch, part in history.parts(number)]
    return [part for number, branch, part in done if history.outcome(number) and history.delivered(number, branch)]


TRIGGERS: dict[str, Callable[[CaseHistory], bool]] = {
    "agent-built": _agent_built,
    "answer-delivered": _answer_delivered,
    "answered-after-restart": _answered_after_restart,
    "bad-and-good-answer-delivered": _bad_and_good_answer_delivered,
    "bad-answer-delivered": _bad_answer_delivered,
    "edit-streamed": _edit_streamed,
    "middleware-acted": _middleware_acted,
    "middleware-acted-after-answer": _middleware_acted_after_answer,
    "model-called-after-own-answer": _model_called_after_own_answer,
    "model-proposed": _model_proposed,
    "model-raised": _model_raised,
    "node-raised": _node_raised,
    "own-question-answered": _own_question_answered,
    "pause-streamed": _pause_streamed,
    "predicate-called": _predicate_called,
    "predicate-called-on-resume": _predicate_called_on_resume,
    "process-killed": _process_killed,
    "process-restarted": _process_restarted,
    "question-asked": _question_asked,
    "ran-again": _ran_again,
    "received": _received,
    "resumed-unasked": _resumed_unasked,
    "second-answer-delivered": _second_answer_delivered,
    "second-turn-proposed": _second_turn_proposed,
    "state-written": _state_written,
    "stopped-at-breakpoint": _stopped,
    "text-turn-spoken": _text_turn_spoken,
    "tool-asked": _tool_asked,
    "tool-raised": _tool_raised,
    "update-failed": _update_failed,
}
