"""Claims about what outlives a process: the thread, the question that waits in it, and the decision that was given."""

from capture.authority import rulings, shown
from capture.claims.registry import Fault, Finding, claim, evidence, numbered
from capture.history import CaseHistory, Entry

_PERSISTENCE = "langgraph, its page on persistence: a checkpointer saves the state of a thread, so that it can be taken up later."


@claim(
    "recovery/thread-kept",
    version=1,
    sentence="A new process finds the thread at the newest checkpoint that was seen of it, or behind it.",
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
    promised="Chosen by this project: whoever decided has decided (docs/decisions/0022-outliving-the-process.md).",
    vantages=("review", "recovered"),
)
def decision_kept(history: CaseHistory) -> Finding:
    """Examine every valid answer given in a step in which the process was killed, if the next one goes on without an answer."""
    faults, examined = [], 0
    ran = [number for number, step in history.steps() if step["do"] not in ("kill", "restart")]
    going_on = {number for number, step in history.steps() if step["do"] == "continue"}
    for answer in rulings(history).first.answers:
        following = next((number for number in ran if number > answer.step), 0)
        if history.outcome(answer.step) == "killed" and following in going_on:
            examined += 1
            again = [item.call.id for item in shown(history, following) or [] if item.call.id == answer.call]
            faults += [Fault(evidence("review", call), None, "asked again") for call in again]
    return Finding(examined, tuple(faults))


def _waiting(history: CaseHistory, entry: Entry) -> list[str]:
    """Return the questions with which the last step before this entry's paused, if it did."""
    ran = [number for number, _ in history.steps() if number < entry["step"] and history.outcome(number) != "restarted"]
    return [str(review["question"]) for review in history.of("review", step=ran[-1])] if ran else []
