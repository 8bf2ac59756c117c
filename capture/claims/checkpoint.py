"""Claims about what the checkpointer stores: the replacement of an edited call, and the way of the graph."""

from collections.abc import Iterator, Mapping
from typing import Any

from capture.authority import Answer, rulings, same, shown
from capture.claims.registry import Fault, Finding, claim, numbered
from capture.history import CaseHistory, Entry
from capture.scenario import is_per_call

_I05 = "The record I05: the middleware stores a replacement by call id and writes its key on every reviewed turn."

Numbered = tuple[int, Entry]


@claim(
    "checkpoint/edits-stored",
    version=1,
    sentence="From the review of a turn on, until another turn is proposed, checkpoints store exactly the replacements decided.",
    promised=_I05,
    vantages=("prompt", "review", "checkpoint"),
)
def edits_stored(history: CaseHistory) -> Finding:
    """Examine every checkpoint after a review whose last proposed turn is the reviewed one."""
    reviewed = list(_reviewed(history))
    wrong = [(number, found, stored) for number, found, stored in reviewed if not same(found.get("stored_edits", {}), stored)]
    # One fault is enough: the first checkpoint shows it, and results hold what every checkpoint stored.
    faults = [Fault(numbered("checkpoint", number), stored, found.get("stored_edits")) for number, found, stored in wrong[:1]]
    return Finding(len(reviewed), tuple(faults))


@claim(
    "checkpoint/edits-stored",
    version=2,
    sentence="From the review of a turn in batched mode on, until another is proposed, checkpoints store exactly its replacements.",
    promised=f"{_I05} Where each call is asked about as it starts, nothing has to be stored.",
    vantages=("prompt", "review", "checkpoint"),
)
def edits_stored_in_batches(history: CaseHistory) -> Finding:
    """Examine every checkpoint after a review whose last proposed turn is the reviewed one, in batched mode."""
    return Finding(0) if is_per_call(history.scenario) else edits_stored(history)


@claim(
    "checkpoint/absent-before-review",
    version=1,
    sentence="No checkpoint holds a stored replacement before a person answered.",
    promised=_I05,
    vantages=("review", "checkpoint"),
)
def absent_before_review(history: CaseHistory) -> Finding:
    """Examine every checkpoint written before the first step that answered, in a history whose later ones hold the key."""
    answers = rulings(history).first.answers
    if not answers or not any("stored_edits" in found for found in history.of("checkpoint")):
        return Finding(0)
    before = [(number, found) for number, found in _numbered(history) if found["step"] < answers[0].step]
    wrong = [(number, found["stored_edits"]) for number, found in before if "stored_edits" in found]
    return Finding(len(before), tuple(Fault(numbered("checkpoint", number), None, value) for number, value in wrong))


@claim(
    "checkpoint/rejected-skips-tools",
    version=1,
    sentence="When every call of a turn is rejected, the graph goes back to the model without a tools step.",
    promised="The record I05: after a rejection the graph went from review straight back to the model.",
    vantages=("prompt", "review", "checkpoint"),
)
def rejected_skips_tools(history: CaseHistory) -> Finding:
    """Examine every checkpoint after a review whose last proposed turn was rejected as a whole."""
    rejected = [
        (number, found)
        for number, found in _numbered(history)
        for answers in [_answers(history, found)]
        if answers and all(answer.decision["type"] == "reject" for answer in answers.values())
    ]
    wrong = [(number, found["next"]) for number, found in rejected if "tools" in found["next"]]
    return Finding(len(rejected), tuple(Fault(numbered("checkpoint", number), ["model"], value) for number, value in wrong))


@claim(
    "checkpoint/rejected-skips-tools",
    version=2,
    sentence="When every call of a turn is rejected in batched mode, the graph goes back to the model without a tools step.",
    promised="The record I05: after a rejection the graph went from review straight back to the model.",
    vantages=("prompt", "review", "checkpoint"),
)
def rejected_turn_skips_tools(history: CaseHistory) -> Finding:
    """Examine every checkpoint after a review whose last proposed turn was rejected as a whole: no call of it may run."""
    if is_per_call(history.scenario):
        return Finding(0)
    rejected = [(number, found) for number, found in _numbered(history) if _is_rejected(history, found)]
    wrong = [(number, found["next"]) for number, found in rejected if "tools" in found["next"]]
    return Finding(len(rejected), tuple(Fault(numbered("checkpoint", number), ["model"], value) for number, value in wrong))


def _is_rejected(history: CaseHistory, checkpoint: Entry) -> bool:
    answers = _answers(history, checkpoint)
    calls = [call["id"] for call in _last_turn(checkpoint)]
    return bool(calls) and all(call in answers and answers[call].decision["type"] == "reject" for call in calls)


@claim(
    "checkpoint/edits-cleared",
    version=1,
    sentence="Once a later turn whose calls need no review has run, no replacement of an earlier turn is stored any more.",
    promised="The record I05: the middleware clears its key on a later turn whose tool calls need no review.",
    vantages=("prompt", "review", "checkpoint"),
)
def edits_cleared(history: CaseHistory) -> Finding:
    """Examine the last checkpoint of each step after an edit, if the last turn in it proposed calls that nobody reviewed."""
    edits = [answer.step for answer in rulings(history).first.answers if answer.decision["type"] == "edit"]
    last = {found["step"]: (number, found) for number, found in _numbered(history)}
    later = [pair for step, pair in last.items() if edits and step >= edits[0] and _is_unreviewed(history, pair[1])]
    wrong = [(number, found["stored_edits"]) for number, found in later if found.get("stored_edits")]
    return Finding(len(later), tuple(Fault(numbered("checkpoint", number), {}, value) for number, value in wrong))


def _is_unreviewed(history: CaseHistory, checkpoint: Entry) -> bool:
    calls = _last_turn(checkpoint)
    items = [item.call.id for number, _ in history.steps() for item in shown(history, number) or []]
    return bool(calls) and not is_per_call(history.scenario) and not any(call["id"] in items for call in calls)


def _last_turn(checkpoint: Entry) -> list[Mapping[str, Any]]:
    """Return the calls of the last turn that a checkpoint holds and that proposed any."""
    turns = [message["calls"] for message in checkpoint["messages"] if message.get("calls")]
    return list(turns[-1]) if turns else []


def _numbered(history: CaseHistory) -> list[Numbered]:
    return list(enumerate(history.of("checkpoint"), start=1))


def _reviewed(history: CaseHistory) -> Iterator[tuple[int, Entry, Mapping[str | None, Any]]]:
    """Yield each checkpoint after a review, and what it should store."""
    for number, found in _numbered(history):
        answers = _answers(history, found)
        if answers:
            # What has no id cannot be stored by it.
            edits = {call: answer for call, answer in answers.items() if answer.decision["type"] == "edit" and call is not None}
            yield number, found, {call: answer.decision["edited_action"] for call, answer in edits.items()}


def _answers(history: CaseHistory, checkpoint: Entry) -> Mapping[str | None, Answer]:
    """Return the answers about the last proposed turn that a checkpoint holds, if they were given by then."""
    last = rulings(history).first.last()
    found = {call["id"]: last[call["id"]] for call in _last_turn(checkpoint) if call["id"] in last}
    return found if all(answer.step <= checkpoint["step"] for answer in found.values()) else {}
