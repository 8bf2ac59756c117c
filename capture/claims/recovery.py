"""Claims about what is left when a process has ended: the thread, the question in it, and the decision that was given."""

from collections.abc import Callable
from dataclasses import replace

from capture.authority import Ruling, shown
from capture.claims.readings import by_ruling
from capture.claims.registry import Fault, Finding, claim, evidence, numbered
from capture.history import CaseHistory, Entry
from capture.scenario import ENDS

_PERSISTENCE = "langgraph, its page on persistence: a checkpointer saves the state of a thread, so that it can be taken up later."


@claim(
    "recovery/thread-kept",
    version=1,
    sentence="A new process finds the thread at the newest checkpoint that was seen of it.",
    promised=_PERSISTENCE,
    vantages=("checkpoint", "recovered"),
)
def thread_kept(history: CaseHistory) -> Finding:
    """Examine every time that a new process took the thread up after a checkpoint of it was seen."""
    faults, examined = [], 0
    for number, entry in enumerate(history.of("recovered"), start=1):
        known = [found["checkpoint"] for found in history.of("checkpoint") if found["step"] <= entry["step"]]
        examined += bool(known)
        if known and entry["checkpoint"] != known[-1]:
            faults.append(Fault(numbered("recovered", number), known[-1], entry["checkpoint"]))
    return Finding(examined, tuple(faults))


_STILL_WAITS = "A question that waits when the process ends still waits, under its id, when a new one takes the thread up."


@claim(
    "recovery/question-kept",
    version=1,
    sentence=_STILL_WAITS,
    promised=_PERSISTENCE,
    vantages=("review", "recovered"),
)
def question_kept_1(history: CaseHistory) -> Finding:
    """Examine every question that was listed last when a process ended between two steps, whoever else answered it meanwhile."""
    return _kept(history, _listed)


@claim(
    "recovery/question-kept",
    version=2,
    sentence=_STILL_WAITS,
    promised=_PERSISTENCE,
    vantages=("review", "recovered"),
)
def question_kept(history: CaseHistory) -> Finding:
    """Examine every question that waited when a process ended between two steps, if nobody else could answer it meanwhile."""
    return _kept(history, _waiting)


def _kept(history: CaseHistory, waiting: Callable[[CaseHistory, Entry], list[str]]) -> Finding:
    faults, examined = [], 0
    for number, entry in enumerate(history.of("recovered"), start=1):
        wanted = waiting(history, entry) if history.outcome(entry["step"]) == "restarted" else []
        examined += len(wanted)
        if missing := [question for question in wanted if question not in entry["questions"]]:
            faults.append(Fault(numbered("recovered", number), missing, entry["questions"]))
    return Finding(examined, tuple(faults))


_NOT_AGAIN = "A thread that goes on after its process was killed does not ask again for a decision that was given."

_DECIDED = "Chosen by this project: whoever decided has decided (docs/decisions/0022-beyond-one-process.md)."


@claim("recovery/decision-kept", version=1, sentence=_NOT_AGAIN, promised=_DECIDED, vantages=("review", "recovered"))
def decision_kept_1(history: CaseHistory) -> Finding:
    """Examine every valid answer given in a step in which the process was killed, whether or not the next one came back."""
    return by_ruling(history, lambda ruling: _asked_again(history, ruling)[0])


@claim("recovery/decision-kept", version=2, sentence=_NOT_AGAIN, promised=_DECIDED, vantages=("review", "recovered"))
def decision_kept(history: CaseHistory) -> Finding:
    """Examine every valid answer given in a step in which the process was killed, if the next one goes on without an answer."""

    def find(ruling: Ruling) -> Finding:
        finding, steps = _asked_again(history, ruling)
        # Killed again, or with an error, nobody saw whether it would have asked.
        seen = all(history.outcome(step) in ("paused", "stopped", "ended") for step in steps)
        return finding if seen or finding.faults else replace(finding, unknown="unfinished")

    return by_ruling(history, find)


def _asked_again(history: CaseHistory, ruling: Ruling) -> tuple[Finding, list[int]]:
    """Return what is found in the steps that went on after a kill, and these steps."""
    given = [(answer.call, _next(history, answer.step)) for answer in ruling.answers if _is_cut(history, answer.step)]
    steps = [(call, step) for call, step in given if step is not None]
    again = [call for call, step in steps if call in {item.call.id for item in shown(history, step) or []}]
    faults = tuple(Fault(evidence("review", call), None, "asked again") for call in again)
    return Finding(len(steps), faults), [step for _, step in steps]


def _is_cut(history: CaseHistory, step: int) -> bool:
    return history.outcome(step) == "killed"


def _next(history: CaseHistory, step: int) -> int | None:
    """Return the next step that runs the subject, if it goes on without an answer."""
    following = [(number, found["do"]) for number, found in history.steps() if number > step and found["do"] not in ENDS]
    return following[0][0] if following and following[0][1] == "continue" else None


def _listed(history: CaseHistory, entry: Entry) -> list[str]:
    """Return the questions with which the last step before this entry's paused, if it did."""
    ran = [number for number, found in history.steps() if number < entry["step"] and found["do"] not in ENDS]
    return [str(review["question"]) for review in history.of("review", step=ran[-1])] if ran else []


def _waiting(history: CaseHistory, entry: Entry) -> list[str]:
    """Return those questions, but none of a step that took several at once: one part may answer what another one lists."""
    ran = [number for number, found in history.steps() if number < entry["step"] and found["do"] not in ENDS]
    return _listed(history, entry) if ran and len(history.parts(ran[-1])) == 1 else []
