"""The conversation as claims read it: what answers a call, and what to say where no conversation was returned."""

from collections.abc import Mapping
from typing import Any

from capture.claims.registry import Finding

__all__ = ["Message", "answers", "latest", "unread"]

Message = Mapping[str, Any]


def answers(messages: list[Message], call: str | None) -> list[Message]:
    """Return the tool messages that answer a call by its id; no message answers a call without one."""
    return [message for message in messages if "answers" in message and message["answers"] == call]


def latest(messages: list[Message], call: str | None) -> list[Message]:
    """Return those that answer the latest call of this id: an id may have been another call's in a turn before."""
    turns = [number for number, message in enumerate(messages) if any(made["id"] == call for made in message.get("calls", []))]
    return answers(messages[turns[-1] if turns else 0 :], call)


def unread(wanted: int) -> Finding:
    """Say that the conversation in question was not returned: the run is not over, so far as anybody saw."""
    return Finding(wanted, unknown="unfinished" if wanted else None)
