"""Cases whose thread outlives the process: they run in an environment of their own, the pin's with checkpointers beside it.

What they are seen to do joins what was seen in the pin's own environment, of which it must not differ in anything pinned. A pin
that cannot have the checkpointers does not support such a case, which is said without running it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from capture import history
from capture.case import Case
from capture.errors import ProbeFailed
from capture.history import CaseHistory, Entry
from capture.lock import Lock
from capture.pin import Pin
from capture.saved import SavedCase, SavedHistory
from capture.scenario import is_outliving

__all__ = ["KEY", "PACKAGES", "environment", "joined"]

PACKAGES = ("aiosqlite", "langgraph-checkpoint-postgres", "langgraph-checkpoint-sqlite", "psycopg")
"""What keeps a thread beyond its process: the packages that are named in a history, with their versions."""

KEY = "checkpointers"
"""The key of a history's environment that names them, where a case needs them."""

Run = Callable[[Lock, Sequence[Case]], SavedHistory]


def joined(pin: Pin, seen: SavedHistory, cases: Sequence[Case], run: Run | None) -> SavedHistory:
    """Return what was seen of all cases, in their order: those that the pin's own environment ran, and the others.

    `run` runs cases in the environment of a lock; without it, or without a lock, nothing of the others can be run.
    """
    wanted = [case for case in cases if is_outliving(case.scenario)]
    if not wanted:
        return seen
    lock = pin.checkpointers
    others = run(lock, wanted) if run and lock else _unsupported(seen, wanted)
    _refuse_another(seen, others)
    found = {entry.case: entry for entry in (*seen.cases, *others.cases)}
    named = {KEY: _named(lock)} if run and lock else {}
    return replace(seen, environment={**seen.environment, **named}, cases=tuple(found[case.id] for case in cases))


def environment(entry: Entry, pin: Pin, cases: Iterable[Case]) -> Entry:
    """Return what a history of these cases begins with: the checkpointers are named if a case needs them and the pin has them."""
    plain = {key: value for key, value in entry.items() if key != KEY}
    needed = pin.checkpointers is not None and any(is_outliving(case.scenario) for case in cases)
    return {**plain, KEY: _named(pin.checkpointers)} if needed and pin.checkpointers else plain


def _named(lock: Lock) -> dict[str, Any]:
    found = {package.name: package.version for package in lock.packages()}
    return {name: found.get(name) for name in PACKAGES}


def _refuse_another(seen: SavedHistory, others: SavedHistory) -> None:
    """Refuse an environment that differs from the pin's own in what is pinned, or in what the smoke test sees."""
    one, other = ({key: value for key, value in part.environment.items() if key != KEY} for part in (seen, others))
    if one != other or [case.digest for case in seen.smoke] != [case.digest for case in others.smoke]:
        raise ProbeFailed("the environment with the checkpointers is another one than the pin's")


def _unsupported(seen: SavedHistory, cases: Iterable[Case]) -> SavedHistory:
    return replace(seen, cases=tuple(map(_lacking, cases)))


def _lacking(case: Case) -> SavedCase:
    kind = case.scenario["subject"]["checkpointer"]
    entries = ({"kind": "step", "step": 0, "do": "build"}, {"kind": "unsupported", "step": 0, "feature": f"checkpointer {kind}"})
    found = CaseHistory(case.id, case.scenario, entries)
    return SavedCase(found.case, found.digest, found.smoke, history.body(found))
