"""Claims about what is left when a process has ended: the thread, the question in it, and the decision that was given."""

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


@claim(
    "recovery/question-kept",
    version=1,
    sentence="A question that waits when the process ends still waits, under its id, when a new one takes the thread up.",
    promised=_PERSISTENCE,
    vantages=("review", "recovered"),
)
def question_kept(history: CaseHistory) -> Finding:
    """Examine every question that waited when a process ended between two steps."""
    faults, examined = [], 0
    for number, entry in enumerate(history.of("recovered"), start=1):
        wanted = _waiting(history, entry) if history.outcome(entry["step"]) == "restarted" else []
        examined += len(wanted)
        if missing := [question for question in wanted if question not in entry["questions"]]:
            faults.append(Fault(numbered("recovered", number), missing, entry["questions"]))
    return Finding(examined, tuple(faults))


@claim(
    "recovery/decision-kept",
    version=1,
    sentence="A thread that goes on after its process was killed does not ask again for a decision that was given.",
    promised="Chosen by this project: whoever decided has decided (docs/decisions/0022-beyond-one-process.md).",
    vantages=("review", "recovered"),
)
def decision_kept(history: CaseHistory) -> Finding:
    """Examine every valid answer given in a step in which the process was killed, if the next one goes on without an answer."""

    def find(ruling: Ruling) -> Finding:
        given = [(answer.call, _next(history, answer.step)) for answer in ruling.answers if _is_cut(history, answer.step)]
        asked = [(call, {item.call.id for item in shown(history, step) or []}) for call, step in given if step is not None]
        again = [call for call, calls in asked if call in calls]
        return Finding(len(asked), tuple(Fault(evidence("review", call), None, "asked again") for call in again))

    return by_ruling(history, find)


def _is_cut(history: CaseHistory, step: int) -> bool:
    return history.outcome(step) == "killed"


def _next(history: CaseHistory, step: int) -> int | None:
    """Return the next step that runs the subject, if it goes on without an answer."""
    following = [(number, found["do"]) for number, found in history.steps() if number > step and found["do"] not in ENDS]
    return following[0][0] if following and following[0][1] == "continue" else None


def _waiting(history: CaseHistory, entry: Entry) -> list[str]:
    """Return the questions with which the last step before this entry's paused, if it did."""
    ran = [number for number, found in history.steps() if number < entry["step"] and found["do"] not in ENDS]
    return [str(review["question"]) for review in history.of("review", step=ran[-1])] if ran else []
