"""Claims about the proposal that interrupt() may update the state: its three consequences, and one pair for each interrupt."""

from collections.abc import Iterator, Sequence

from capture.claims.conversation import Message
from capture.claims.registry import Fault, Finding, claim, evidence, numbered
from capture.exchange import Exchange, exchanges, pairs
from capture.history import CaseHistory

_PROPOSAL = 'The proposal "Extend interrupt() to Support State Updates" (langgraph)'


@claim(
    "updates/serialized",
    version=1,
    sentence="When a step returns, the newest checkpoint holds each question that waits, and each answered one with its answer.",
    promised=f"{_PROPOSAL}, first consequence: the interaction is serialized with the conversation.",
    vantages=("review", "checkpoint"),
)
def serialized(history: CaseHistory) -> Finding:
    """Examine every exchange after every step that returned."""
    examined = 0
    faults: list[Fault] = []
    for number, _ in history.steps():
        held = [entry for entry in history.of("checkpoint") if entry["step"] <= number]
        if not held or history.outcome(number) not in ("paused", "ended"):
            continue
        made = exchanges(history, number)
        examined += len(made)
        faults += _missing(made, held[-1]["messages"], numbered("checkpoint", len(held)))
    return Finding(examined, tuple(faults))


def _missing(made: Sequence[Exchange], messages: Sequence[Message], place: str) -> Iterator[Fault]:
    """Yield what of exchanges a conversation does not hold."""
    for one, found in zip(made, pairs(made, messages), strict=True):
        if not found.questions:
            yield Fault(place, one.asked, None)
        if one.answered is not None and not found.answers:
            yield Fault(place, one.answer, None)


@claim(
    "updates/in-next-prompt",
    version=1,
    sentence="Once a question is answered, each prompt of the model holds the question and the answer.",
    promised=f"{_PROPOSAL}, second consequence: the interaction is in the context of later interactions.",
    vantages=("review", "prompt"),
)
def in_next_prompt(history: CaseHistory) -> Finding:
    """Examine every call of the model after a question was answered, with each question that was answered by then."""
    examined = 0
    faults: list[Fault] = []
    for count, prompt in enumerate(history.of("prompt"), start=1):
        made = [one for one in exchanges(history, prompt["step"] - 1) if one.answered is not None]
        examined += len(made)
        faults += _missing(made, prompt["messages"], numbered("prompt", count))
    return Finding(examined, tuple(faults))


@claim(
    "updates/remembered",
    version=1,
    sentence="A model that can answer only if its prompt holds what a person said through an interrupt does answer.",
    promised=f"{_PROPOSAL}, third consequence: the agent can say what it was told.",
    vantages=("prompt",),
)
def remembered(history: CaseHistory) -> Finding:
    """Examine every turn of the model that rests on such a fact."""
    turns = [turn for turn in history.scenario["script"] if "remembers" in turn]
    said = [(count, entry["reply"]) for count, entry in enumerate(history.of("prompt"), start=1) if entry["reply"]]
    resting = [
        Fault(numbered("prompt", count), turn["text"], reply["text"])
        for count, reply in said
        for turn in turns
        if reply["text"] in (turn["text"], turn["otherwise"])
    ]
    return Finding(len(resting), tuple(found for found in resting if found.expected != found.observed))


@claim(
    "updates/pair-once",
    version=1,
    sentence="Each question that was answered stands in the conversation once, its answer once behind it, in the order of asking.",
    promised=f"{_PROPOSAL}: each interrupt becomes a standard part of the history; exactly once is our reading of it.",
    vantages=("review", "messages"),
)
def pair_once(history: CaseHistory) -> Finding:
    """Examine every question that was answered, in the conversation that the last step returned."""
    made = [one for one in exchanges(history) if one.answered is not None]
    messages = history.final_messages()
    if messages is None:
        return Finding(len(made), unknown="unfinished" if made else None)
    faults, after = [], -1
    for one, found in zip(made, pairs(made, messages), strict=True):
        place = evidence("messages", one.question["name"])
        if len(found.questions) != 1 or len(found.answers) != 1:
            faults.append(Fault(place, [1, 1], [len(found.questions), len(found.answers)]))
        elif not after < found.questions[0] < found.answers[0]:
            faults.append(Fault(place, "in the order of asking", [found.questions[0], found.answers[0]]))
        after = max((after, *found.questions))
    return Finding(len(made), tuple(faults))


@claim(
    "updates/ids-kept",
    version=1,
    sentence="A message that holds a question or an answer has one id, the same in every checkpoint since.",
    promised="langgraph, add_messages: a message is known by its id, so one that comes again under it is not added again.",
    vantages=("review", "checkpoint"),
)
def ids_kept(history: CaseHistory) -> Finding:
    """Examine every message of an exchange that any checkpoint holds."""
    made = exchanges(history)
    seen: list[tuple[set[str | None], set[str | None]]] = [(set(), set()) for _ in made]
    for entry in history.of("checkpoint"):
        for one, found, ids in zip(made, pairs(made, entry["messages"]), seen, strict=True):
            for places, known in zip((found.questions, found.answers), ids, strict=True):
                known |= {entry["messages"][place].get("id") for place in places if entry["step"] >= one.opened}
    held = [(one, ids) for one, both in zip(made, seen, strict=True) for ids in both if ids]
    wrong = [(one, ids) for one, ids in held if len(ids) > 1 or None in ids]
    faults = [Fault(evidence("checkpoint", one.question["name"]), "one id", sorted(map(str, ids))) for one, ids in wrong]
    return Finding(len(held), tuple(faults))


@claim(
    "updates/error-clear",
    version=1,
    sentence="Where an update function fails, the operator gets UpdateRefused, and the question can be answered after that.",
    promised="The reference implementation of this project (docs/decisions/0023-interrupt.md).",
    vantages=("review",),
)
def error_clear(history: CaseHistory) -> Finding:
    """Examine every failure of an update function, and whether its question came to an answer after it."""
    failed = [entry for entry in history.of("node") if entry["event"] == "refused"]
    answered = {one.question["name"]: one.answered for one in exchanges(history) if one.answered is not None}
    faults = []
    for count, entry in enumerate(failed, start=1):
        errors = [found.get("error") for found in history.of("outcome", step=entry["step"])]
        if errors != ["UpdateRefused"]:
            faults.append(Fault(numbered("outcome", count), "UpdateRefused", errors))
        if answered.get(entry["what"], 0) <= entry["step"]:
            faults.append(Fault(numbered("outcome", count), "an answer to it", None))
    return Finding(len(failed), tuple(faults))
