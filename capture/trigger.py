"""Triggers: what must have happened for a case to say anything. A case whose trigger did not happen cannot PASS."""

from collections.abc import Callable

from capture.authority import rulings
from capture.history import CaseHistory

__all__ = ["TRIGGERS"]


def _answer_delivered(history: CaseHistory) -> bool:
    """An answer that was offered to the reviewer was delivered to an open question."""
    return bool(rulings(history).first.answers)


def _model_proposed(history: CaseHistory) -> bool:
    """The model proposed a tool call, and the step in which it did came to its end."""
    return any(entry["reply"] and entry["reply"]["calls"] for entry in history.of("prompt")) and history.last_outcome() == "ended"


TRIGGERS: dict[str, Callable[[CaseHistory], bool]] = {
    "answer-delivered": _answer_delivered,
    "model-proposed": _model_proposed,
}
