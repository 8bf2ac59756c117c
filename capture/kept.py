"""What is kept of earlier runs: what was seen of each case in an environment, as long as nothing that it rests on changes.

It rests on the lock, the Python, the probe, how a journal becomes a history, and the scenario. What the machine spoiled, by a
time-out or a probe that failed, is not kept, and neither is anything of an environment whose smoke test did not come out right.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from capture import case, environment, library, persistence, store
from capture.case import Case
from capture.interpreter import Interpreter
from capture.pin import Pin
from capture.saved import SavedCase, SavedHistory
from capture.scenario import is_persistent

__all__ = ["joined", "keep", "missing", "recall", "recorded_by"]

_KIND = "seen"

_HEAD = ("packages", "files", "blocked", persistence.KEY)

_RECORDING = (
    "document",
    "history",
    "observation",
    "operator",
    "persistence",
    "probes",
    "recorder",
    "scenario",
    "saved",
    "session",
    "sinks",
)
"""The modules that make a history of what the probe saw."""


def recall(pin: Pin, python: Interpreter, cases: Sequence[Case]) -> SavedHistory | None:
    """Return what is kept of a pin, with those of the cases that are there; None if nothing is, or if it is not as pinned."""
    found = store.noted(_KIND, _about(pin, python))
    if found is None or not environment.allows(pin, python) or environment.differences(pin, found["environment"]):
        return None
    smoke = _smoke()
    seen = list(_recalled([*smoke, *cases], found["cases"]))
    if [entry.case for entry in seen[: len(smoke)]] != [known.id for known in smoke]:
        return None
    head = {"kind": "environment", "history": 1, "pin": pin.name, **found["environment"]}
    there = {entry.case for entry in seen}
    if not any(case.id in there and is_persistent(case.scenario) for case in cases):
        head = dict(persistence.without(head))
    return replace(SavedHistory.of_cases(head, seen), machine=found["machine"])


def keep(pin: Pin, python: Interpreter, seen: SavedHistory) -> None:
    """Keep what was seen at a pin whose smoke test held, beside what is kept of its other cases."""
    about = _about(pin, python)
    known = store.noted(_KIND, about) or {"cases": {}}
    sound = {
        entry.case: {"scenario": entry.scenario, "history": store.put(entry.lines)}
        for entry in (*seen.smoke, *seen.cases)
        if not entry.spoiled
    }
    head = {**known.get("environment", {}), **{key: seen.environment[key] for key in _HEAD if key in seen.environment}}
    store.note(_KIND, about, {"environment": head, "machine": seen.machine, "cases": {**known["cases"], **sound}})


def missing(known: SavedHistory | None, cases: Iterable[Case]) -> tuple[Case, ...]:
    """Return the cases that are not among what is known of a pin."""
    there = {seen.case for seen in known.cases} if known else set()
    return tuple(case for case in cases if case.id not in there)


def joined(known: SavedHistory, seen: SavedHistory, cases: Iterable[Case]) -> SavedHistory:
    """Return what was just seen together with what was known, in the order of the cases."""
    found = {entry.case: entry for entry in (*known.cases, *seen.cases)}
    head = {**known.environment, **seen.environment}
    return replace(seen, environment=head, cases=tuple(found[case.id] for case in cases))


def _recalled(cases: Iterable[Case], known: Mapping[str, Mapping[str, str]]) -> Iterator[SavedCase]:
    for wanted in cases:
        entry = known.get(wanted.id)
        found = _seen(wanted.id, wanted.digest, entry["history"]) if entry and entry["scenario"] == wanted.digest else None
        if found is not None:
            yield found


@cache
def _seen(name: str, scenario: str, digest: str) -> SavedCase | None:
    """Return what is kept under a digest: the same object for every pin that shares it."""
    lines = store.get(digest)
    if lines is None:
        return None
    found = SavedCase.read(lines.splitlines(keepends=True), "a history that was kept")
    return found if (found.case, found.scenario, found.smoke) == (name, scenario, name.startswith(case.SMOKE)) else None


@cache
def _smoke() -> list[Case]:
    return case.smoke()


def _about(pin: Pin, python: Interpreter) -> list[Any]:
    """Return what everything that is kept of a pin rests on, but for the scenarios."""
    locks = [lock.digest for lock in (pin.lock, pin.checkpointers) if lock]
    return [locks, python.identity, sorted(pin.packages), sorted(pin.files), recorded_by()]


@cache
def recorded_by() -> str:
    """Return the SHA-256 of the probe and of the modules that make a history of what it saw."""
    modules = [library.package() / f"{name}.py" for name in _RECORDING]
    return library.digest([*modules, *library.package().glob("schemas/*.json"), *library.probe_folder().rglob("*.py")])
