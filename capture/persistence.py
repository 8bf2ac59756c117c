"""Persistence: cases with a persistent checkpointer run in an environment of their own, the pin's with checkpointers beside it.

What they are seen to do joins what was seen in the pin's own environment, of which it must not differ in anything pinned. A pin
that cannot have the checkpointers does not support such a case, which is said without running it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from capture import history
from capture.case import Case
from capture.errors import ProbeFailed
from capture.history import CaseHistory, Entry
from capture.lock import Lock
from capture.pin import Pin
from capture.saved import SavedCase, SavedHistory
from capture.scenario import is_persistent

__all__ = ["KEY", "PACKAGES", "joined", "widened", "without"]

PACKAGES = ("aiosqlite", "langgraph-checkpoint-postgres", "langgraph-checkpoint-sqlite", "psycopg")
"""What keeps a thread beyond its process: the packages that are named in a history, with their versions."""

KEY = "checkpointers"
"""The key of a history's environment that names them, where a case needs them."""

Run = Callable[[Lock, Sequence[Case]], SavedHistory]


def widened(pin: Pin, lock: Lock) -> Pin:
    """Return the pin with the packages of its checkpointers among those that the environment is asked for and held against."""
    locked = {package.name: package.version for package in lock.packages()}
    return replace(pin, packages={**pin.packages, **{name: locked[name] for name in PACKAGES if name in locked}})


def joined(pin: Pin, seen: SavedHistory, cases: Sequence[Case], run: Run | None) -> SavedHistory:
    """Return what was seen of all cases, in their order: those that the pin's own environment ran, and the others.

    `run` runs cases in the environment of a lock; without it, or without a lock, nothing of the others can be run.
    """
    wanted = [case for case in cases if is_persistent(case.scenario)]
    if not wanted:
        return seen
    others = run(pin.checkpointers, wanted) if run and pin.checkpointers else _unsupported(seen, wanted)
    head = _head(pin, others.environment)
    if without(head) != seen.environment or [case.digest for case in seen.smoke] != [case.digest for case in others.smoke]:
        raise ProbeFailed("the environment with the checkpointers is another one than the pin's")
    found = {entry.case: entry for entry in (*seen.cases, *others.cases)}
    return replace(seen, environment=head, cases=tuple(found[case.id] for case in cases))


def without(entry: Entry) -> Entry:
    """Return what a history begins with if none of its cases needs a checkpointer that is named."""
    return {key: value for key, value in entry.items() if key != KEY}


def _head(pin: Pin, entry: Entry) -> Entry:
    """Tell what of the packages that were read is the pin's, and what its checkpointers'."""
    read = entry["packages"]
    named = {name: read[name] for name in PACKAGES if name in read}
    own = {**entry, "packages": {name: read[name] for name in pin.packages}}
    return {**own, KEY: named} if named else own


def _unsupported(seen: SavedHistory, cases: Iterable[Case]) -> SavedHistory:
    return replace(seen, cases=tuple(map(_lacking, cases)))


def _lacking(case: Case) -> SavedCase:
    kind = case.scenario["subject"]["checkpointer"]
    entries = ({"kind": "step", "step": 0, "do": "build"}, {"kind": "unsupported", "step": 0, "feature": f"checkpointer {kind}"})
    found = CaseHistory(case.id, case.scenario, entries)
    return SavedCase(found.case, found.digest, found.smoke, history.body(found))
