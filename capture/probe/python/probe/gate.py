"""Branches that overlap in a defined way: each runs until a gate in a tool holds it, then they go on one after the other.

Two answers given at once race, and a race has no stable bytes. Here both are really inside at the same time, each in a thread
of its own, but which of them moves is always known: no clock decides anything.
"""

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar

from probe.journal import BRANCH

_CURRENT: ContextVar["_Branch | _Apart | None"] = ContextVar("current", default=None)


def hold() -> None:
    """Hold the branch at hand until every other one is held too or has ended; outside of branches there is no gate."""
    branch = _CURRENT.get()
    if branch is not None:
        branch.hold()


def apart(number: int, part: Callable[[], None], held: Callable[[], None]) -> None:
    """Do one part, the others of which are done in other processes; who is `held` at a gate says so, and waits to be let go."""
    BRANCH.set(number)
    _CURRENT.set(_Apart(held))
    try:
        part()
    finally:
        BRANCH.set(None)
        _CURRENT.set(None)


def overlap(parts: Sequence[Callable[[], None]]) -> None:
    """Do all parts, the first until it is held or has ended, then the next; then let each that is held go on to its end."""
    branches = [_Branch(number, part) for number, part in enumerate(parts, start=1)]
    for branch in branches:
        branch.start()
        branch.quiet.wait()
    for branch in branches:
        branch.open.set()
        branch.join()


class _Branch(threading.Thread):
    def __init__(self, number: int, part: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.quiet, self.open = threading.Event(), threading.Event()
        self._number, self._part = number, part

    def hold(self) -> None:
        self.quiet.set()
        self.open.wait()

    def run(self) -> None:
        BRANCH.set(self._number)
        _CURRENT.set(self)
        try:
            self._part()
        finally:
            self.quiet.set()


class _Apart:
    def __init__(self, held: Callable[[], None]) -> None:
        self._held = held
        self._once = threading.Lock()

    def hold(self) -> None:
        if self._once.acquire(blocking=False):
            self._held()
