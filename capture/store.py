"""The store: bytes in the cache that are found again by their SHA-256, and notes that are found again by what they are about.

All of it can be deleted at any time. What is not as it was written, because a disk or a person changed it, is not there.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capture import cache, document
from capture.errors import InputRefused

__all__ = ["get", "note", "noted", "put"]


def put(data: bytes) -> str:
    """Keep bytes, and return the SHA-256 by which they are found again."""
    digest = document.digest(data)
    if get(digest) is None:
        document.write(_bytes(digest), data)
    return digest


def get(digest: str) -> bytes | None:
    """Return the bytes with this SHA-256, or None if they are not there."""
    try:
        data = _bytes(digest).read_bytes()
    except OSError:
        return None
    return data if document.digest(data) == digest else None


def note(kind: str, about: object, value: Mapping[str, Any]) -> None:
    """Keep a JSON object about something, which is any JSON value; the last one counts."""
    data = document.line({"about": about, "value": value})
    document.write(_note(kind, about), f"{document.digest(data)}\n".encode() + data)


def noted(kind: str, about: object) -> Mapping[str, Any] | None:
    """Return the JSON object that was kept about something, or None if there is none."""
    try:
        digest, _, data = _note(kind, about).read_bytes().partition(b"\n")
        found = document.parse_json(data, kind) if document.digest(data).encode() == digest else {}
    except (OSError, InputRefused):
        return None
    # A note that lies where another should is that other one, whole as it may be.
    is_it = isinstance(found, dict) and document.line(found.get("about")) == document.line(about)
    return found["value"] if is_it else None


def _bytes(digest: str) -> Path:
    return cache.root() / "store" / "bytes" / digest[:2] / digest


def _note(kind: str, about: object) -> Path:
    return cache.root() / "store" / kind / document.digest(document.line(about))
