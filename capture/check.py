"""Checks: what was checked, whether it held, and the document that a command makes of it."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from capture.compare import first_difference
from capture.document import Document, digest

__all__ = ["Check", "report", "same_bytes"]


@dataclass(frozen=True)
class Check:
    """One thing that was checked; `held` is None if it was not."""

    check: str
    held: bool | None
    detail: str


def same_bytes(name: str, published: bytes, measured: bytes | None) -> Check:
    """Return the check that what was measured, or rendered, has the bytes that are published."""
    if measured is None:
        return Check(name, None, "not measured")
    difference = first_difference(published, measured)
    return Check(name, difference is None, difference or f"the published bytes, SHA-256 {digest(measured)}")


def report(command: str, record: str | None, revision: str | None, checks: Iterable[Check], results: Document | None) -> Document:
    """Return the JSON document that a command prints about its checks and the results that they are about."""
    found = [asdict(check) for check in checks]
    return {
        "verification": 1,
        "command": command,
        "record": record,
        "revision": revision,
        "held": all(check["held"] is not False for check in found),
        "checks": found,
        "results": results,
    }
