"""Claims about what the checkpointer stores: the replacement of an edited call, and the way of the graph."""

from capture.authority import decided, same
from capture.claims.registry import Fault, Finding, claim, numbered
from capture.history import CaseHistory, Entry

_I05 = "The record I05: the middleware stores a replacement by call id and writes its key on every reviewed turn."


@claim(
    "checkpoint/edits-stored",
    version=1,
    sentence="From the first checkpoint after the review to the last one, exactly the edited calls have a stored replacement.",
    promised=_I05,
    vantages=("prompt", "review", "checkpoint"),
)
def edits_stored(history: CaseHistory) -> Finding:
    """Examine every checkpoint that was written by or after the step that answered."""
    stored = {call: decision["edited_action"] for call, decision in decided(history, "edit").items()}
    after = _after_review(history)
    wrong = [(number, found) for number, found in after if not same(found.get("stored_edits", {}), stored)]
    # One fault is enough: the first checkpoint shows it, and results hold what every checkpoint stored.
    return Finding(
        len(after),
        tuple(Fault(numbered("checkpoint", number), stored, found.get("stored_edits")) for number, found in wrong[:1]),
    )


@claim(
    "checkpoint/absent-before-review",
    version=1,
    sentence="No checkpoint holds a stored replacement before a person answered.",
    promised=_I05,
    vantages=("review", "checkpoint"),
)
def absent_before_review(history: CaseHistory) -> Finding:
    """Examine every checkpoint written before the first step that answered, in a history whose later ones hold the key."""
    first = _first_answer(history)
    before = [(number, found) for number, found in _numbered(history) if first is not None and found["step"] < first]
    if not any("stored_edits" in found for found in history.of("checkpoint")):
        return Finding(0)
    faults = tuple(
        Fault(numbered("checkpoint", number), None, found["stored_edits"]) for number, found in before if "stored_edits" in found
    )
    return Finding(len(before), faults)


@claim(
    "checkpoint/rejected-skips-tools",
    version=1,
    sentence="When every call of a turn is rejected, the graph goes back to the model without a tools step.",
    promised="The record I05: after a rejection the graph went from review straight back to the model.",
    vantages=("prompt", "review", "checkpoint"),
)
def rejected_skips_tools(history: CaseHistory) -> Finding:
    """Examine every checkpoint after a review that rejected all that was shown."""
    if not decided(history, "reject") or decided(history, "approve", "edit", "respond"):
        return Finding(0)
    after = _after_review(history)
    faults = tuple(
        Fault(numbered("checkpoint", number), ["model"], found["next"]) for number, found in after if "tools" in found["next"]
    )
    return Finding(len(after), faults)


def _first_answer(history: CaseHistory) -> int | None:
    return next((number for number, step in history.steps() if step["do"] == "resume"), None)


def _numbered(history: CaseHistory) -> list[tuple[int, Entry]]:
    return list(enumerate(history.of("checkpoint"), start=1))


def _after_review(history: CaseHistory) -> list[tuple[int, Entry]]:
    first = _first_answer(history)
    if first is None or not decided(history, "approve", "edit", "reject", "respond"):
        return []
    return [(number, found) for number, found in _numbered(history) if found["step"] >= first]
