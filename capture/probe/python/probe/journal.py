"""The journal of one case: an append-only file, one write a line, so that it survives a kill and any number of writers."""

import itertools
import json
import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

BRANCH: ContextVar[int | None] = ContextVar("branch", default=None)
"""The number of the branch, from 1, in a step that takes several at once; a framework's own threads inherit it."""


_UNWRITTEN = 74
"""How the probe ends if what it saw cannot be written down."""


class Journal:
    """Writes what is seen of one case; `step` is the number of the step at hand, 0 while the subject is built."""

    def __init__(self, path: Path) -> None:
        """Open the journal at a path for appending."""
        self.path = path
        self.step = 0
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
        self._invocations = itertools.count(1)

    def write(self, kind: str, **fields: Any) -> None:
        """Append one entry, with the step and the branch at hand; a field given wins."""
        branch = BRANCH.get()
        entry = {"kind": kind, "step": self.step, **({} if branch is None else {"branch": branch}), **fields}
        # Escaped: a surrogate that a model or tool produced has no UTF-8 of its own.
        data = (json.dumps(entry, allow_nan=False) + "\n").encode("ascii")
        if _written(self._file, data) != len(data):
            # Raised here, it would reach the subject as an error of its own tool, and evidence would be missing without a trace.
            os._exit(_UNWRITTEN)

    def observe(self, vantage: str, **fields: Any) -> None:
        """Append one observation from a vantage."""
        self.write("observation", vantage=vantage, **fields)

    def invocation(self) -> str:
        """Return a name for one run of a tool's body, unlike any other in this journal."""
        return f"{os.getpid()}-{next(self._invocations)}"

    def count(self, vantage: str, **fields: Any) -> int:
        """Return how often a vantage has written such fields here, by any process: restarts and retries agree on it."""
        wanted = {"vantage": vantage, **fields}.items()
        return sum(wanted <= _plain(entry).items() for entry in self.entries())

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield what was written so far, by any process."""
        with self.path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _written(file: int, data: bytes) -> int:
    try:
        return os.write(file, data)
    except OSError:
        return 0


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if isinstance(value, str | int | None)}
