"""Claims about answers that are none: refused, and never the end of a thread."""

from capture.authority import bad_answers, rulings, shown
from capture.claims.registry import Fault, Finding, claim, numbered
from capture.history import CaseHistory

_REFUSED = (
    "langchain, HumanInTheLoopMiddleware: a wrong number of decisions and a decision that the policy does not allow raise; "
    "in per_call mode so does whatever does not fit the response schema that was shown."
)


@claim(
    "answer/bad-refused",
    version=1,
    sentence="A step whose answer is none, by what the reviewer was shown, raises or asks again.",
    promised=_REFUSED,
    vantages=("review",),
)
def bad_refused(history: CaseHistory) -> Finding:
    """Examine every step that delivered something else than a valid answer to what was asked."""
    bad = bad_answers(history)
    taken = [step for step in bad if history.outcome(step) != "raised" and not _asked(history, step) & _asked_before(history, step)]
    return Finding(len(bad), tuple(Fault(numbered("outcome", step), "raised", history.outcome(step)) for step in taken))


@claim(
    "answer/recoverable",
    version=1,
    sentence="After an answer that was none, a valid answer to the same question is taken.",
    promised="langchain for per_call mode: a bad answer may be followed by another. For batched mode: chosen by this project.",
    vantages=("review",),
)
def recoverable(history: CaseHistory) -> Finding:
    """Examine every valid answer that was given in a step after one with an answer that was none."""
    bad = bad_answers(history)
    asked = {call for step in bad for call in _asked_before(history, step)}
    later = [answer for answer in rulings(history).first.answers if bad and answer.step > bad[0] and answer.step not in bad]
    later = [answer for answer in later if answer.call in asked]
    steps = dict.fromkeys(answer.step for answer in later)
    refused = [step for step in steps if history.outcome(step) == "raised" and not _tool_failed(history, step)]
    return Finding(len(later), tuple(Fault(numbered("outcome", step), "taken", "raised") for step in refused))


def _asked(history: CaseHistory, step: int) -> set[str | None]:
    """Return the calls that a step paused on, as far as they can be read."""
    return {item.call.id for item in shown(history, step) or []}


def _asked_before(history: CaseHistory, step: int) -> set[str | None]:
    """Return the calls that a bad answer was given about: those of the last step before it that returned."""
    returned = [number for number, _ in history.steps() if number < step and history.outcome(number) in ("paused", "ended")]
    return _asked(history, returned[-1])


def _tool_failed(history: CaseHistory, step: int) -> bool:
    return any(entry["event"] == "raised" for entry in history.of("dispatch", step=step))
