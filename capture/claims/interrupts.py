"""Claims about interrupt() itself: what a question leaves behind, what runs again, which question an answer reaches."""

from typing import Any

from capture.claims.registry import Fault, Finding, claim, evidence, numbered
from capture.exchange import Exchange, exchanges, states
from capture.history import CaseHistory
from capture.question import declared

_PROPOSAL = 'langgraph, the proposal "Extend interrupt() to Support State Updates"'

_INTERRUPTS = "langgraph, its page on interrupts"


@claim(
    "interrupt/leaves-no-message",
    version=1,
    sentence="A question of interrupt() and its answer are in no message: not returned, not checkpointed, not in a prompt.",
    promised=f"{_PROPOSAL}: a question and its answer bypass the messages.",
    vantages=("review", "messages", "checkpoint"),
)
def leaves_no_message(history: CaseHistory) -> Finding:
    """Examine every question that the subject asked, and its answer, in all that was returned, checkpointed and prompted since."""
    faults = []
    made = exchanges(history)
    for one in made:
        for vantage in ("messages", "checkpoint", "prompt"):
            for count, entry in enumerate(history.of(vantage), start=1):
                held = [value for value in _said(one) if entry["step"] >= one.opened and states(entry, value)]
                faults += [Fault(numbered(vantage, count), None, value) for value in held]
    return Finding(len(made), tuple(faults))


def _said(one: Exchange) -> list[Any]:
    return [one.asked] if one.answered is None else [one.asked, one.answer]


@claim(
    "interrupt/before-runs-again",
    version=1,
    sentence="What a node does before its interrupt() is done again in each step that goes on from there.",
    promised=f"{_INTERRUPTS}: the node starts again from its beginning, so what stands before interrupt() runs again.",
    vantages=("review",),
)
def before_runs_again(history: CaseHistory) -> Finding:
    """Examine every step that took an answer to a question of a node that does something of its own before it."""
    examined, faults = 0, []
    for one in exchanges(history):
        node = _asked_by(history, one.question["name"])
        if node is None or one.answered is None:
            continue
        examined += 1
        if not any(entry["event"] == "before" and entry["node"] == node for entry in history.of("node", step=one.answered)):
            faults.append(Fault(evidence("node", node, one.answered), "before", None))
    return Finding(examined, tuple(faults))


def _asked_by(history: CaseHistory, question: str) -> str | None:
    """Return the node that asks a question, if it does something of its own before."""
    for node in history.scenario["subject"].get("nodes", []):
        acts = node.get("acts", [])
        asks = [place for place, act in enumerate(acts) if act.get("ask") == question]
        if asks and any("before" in act for act in acts[: asks[0]]):
            return str(node["name"])
    return None


@claim(
    "interrupt/ids-distinct",
    version=1,
    sentence="Two different questions of a thread have different ids, so that an answer by id reaches the one it is meant for.",
    promised=f"{_INTERRUPTS}: several interrupts are answered by a mapping from the id of each.",
    vantages=("review",),
)
def ids_distinct(history: CaseHistory) -> Finding:
    """Examine every id under which the subject asked by itself, if it asked more than one question."""
    asked: dict[str, set[str]] = {}
    for review in history.of("review"):
        question = declared(review, history.scenario)
        if question:
            asked.setdefault(str(review["question"]), set()).add(str(question["name"]))
    several = len(set().union(*asked.values())) > 1
    shared = {name: sorted(questions) for name, questions in asked.items() if len(questions) > 1}
    faults = [Fault(f"review/{name}", None, questions) for name, questions in shared.items()]
    return Finding(len(asked) if several else 0, tuple(faults))


@claim(
    "interrupt/answer-kept",
    version=1,
    sentence="A node that fails after it was answered, and is run again, does not ask again.",
    promised=f"{_INTERRUPTS}: the values of resumes belong to the task of the node, and are matched with its interrupts again.",
    vantages=("review",),
)
def answer_kept(history: CaseHistory) -> Finding:
    """Examine every step in which a node raised what its case makes it raise, and that answered a question."""
    examined, faults = 0, []
    for number, step in history.steps():
        given = [answer["question"] for answer in step.get("answers", [])]
        raised = [entry["node"] for entry in history.of("node", step=number) if entry["event"] == "raised"]
        if not (given and raised) or history.outcome(number) not in ("paused", "ended", "raised"):
            continue
        asked = [declared(review, history.scenario) for review in history.of("review", step=_returned(history, number))]
        again = [question["name"] for question in asked if question and question["name"] in given]
        examined += len(given)
        faults += [Fault(evidence("review", name), None, "asked again") for name in again]
    return Finding(examined, tuple(faults))


def _returned(history: CaseHistory, step: int) -> int:
    """Return the first step, from this one on, that returned; the last one if none did."""
    later = [number for number, _ in history.steps() if number >= step]
    return next((number for number in later if history.outcome(number) in ("paused", "stopped", "ended")), later[-1])


@claim(
    "interrupt/breakpoint-holds",
    version=1,
    sentence="Nothing of a node behind a breakpoint runs in the step that stops there.",
    promised=f"{_INTERRUPTS}: interrupt_before pauses the graph before the node runs.",
    vantages=("checkpoint",),
)
def breakpoint_holds(history: CaseHistory) -> Finding:
    """Examine every step that stopped at a breakpoint."""
    nodes = {node["name"]: node for node in history.scenario["subject"].get("nodes", [])}
    stopped = [number for number, _ in history.steps() if history.outcome(number) == "stopped"]
    faults = []
    for number in stopped:
        behind = [nodes[name] for name in history.of("checkpoint", step=number)[-1]["next"] if name in nodes]
        effects = {act.get("effect") for node in behind for act in node.get("acts", [])}
        ran = [entry["node"] for entry in history.of("node", step=number) if entry["node"] in [node["name"] for node in behind]]
        ran += [entry["tool"] for entry in history.of("dispatch", step=number) if entry["tool"] in effects]
        faults += [Fault(numbered("outcome", number), None, name) for name in ran]
    return Finding(len(stopped), tuple(faults))
