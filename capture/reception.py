"""Receptions: what a sink got, and the call that it was sent for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from capture import document
from capture.authority import Ruled, Ruling, same
from capture.errors import InputRefused
from capture.history import CaseHistory, Entry

__all__ = ["Reception", "receptions"]


@dataclass(frozen=True)
class Reception:
    """Something that was received: in which step, by which protocol, of which tool, with which arguments, and under which key.

    `call` is the call that it was sent for, or None if no dispatch of its step is of this content.
    """

    step: int
    protocol: str
    tool: str
    args: Any
    key: str | None
    call: str | None
    ruled: Ruled | None = None
    """The dispatch that it was sent by, with what that was in respect of the answers."""


def receptions(history: CaseHistory, ruling: Ruling) -> list[Reception]:
    """Return what was received, in the order of the history; each is of the dispatch of its step with the same content."""
    left = list(ruling.dispatches)
    return [_reception(entry, left) for entry in history.of("wire") if "refused" not in entry]


def _reception(entry: Entry, left: list[Ruled]) -> Reception:
    tool, args, key = _http(entry) if entry["protocol"] == "http" else _smtp(entry)
    for ruled in left:
        sent = ruled.entry
        if sent["step"] == entry["step"] and sent["tool"] == tool and same(sent["args"], args):
            left.remove(ruled)
            return Reception(entry["step"], entry["protocol"], tool, args, key, ruled.call, ruled)
    return Reception(entry["step"], entry["protocol"], tool, args, key, None)


def _http(entry: Entry) -> tuple[str, Any, str | None]:
    return str(entry.get("path", "")).removeprefix("/"), entry.get("body"), _headers(entry).get("idempotency-key")


def _smtp(entry: Entry) -> tuple[str, Any, str | None]:
    """Return what a message says: its subject is the tool, its text the arguments, its id the key."""
    headers = _headers(entry)
    try:
        args = document.parse_json(str(entry.get("body", "")).strip().encode(), "the message")
    except InputRefused:
        args = entry.get("body")
    return headers.get("subject", ""), args, headers.get("message-id")


def _headers(entry: Entry) -> Mapping[str, str]:
    found: Mapping[str, str] = entry.get("headers", {})
    return found
