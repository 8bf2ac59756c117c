"""Runs: from pins and cases to results, through an environment, a probe and a history for each pin."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capture import cache, document, environment, history, results, run_folder
from capture.case import Case, smoke
from capture.environment import Environment
from capture.errors import EnvironmentFailed, InputRefused, ProbeFailed
from capture.interpreter import Interpreter
from capture.pin import Pin
from capture.recorder import Recorder

__all__ = ["STEP_SECONDS", "Row", "Run", "record_in", "record_pin", "run_pins"]

Cases = Callable[[], Sequence[Case]]
"""Gives the cases of a run; asked several times, it gives the same ones."""

Observed = tuple[history.History, Mapping[str, Any]]
"""A history, and what the probe said of its environment."""

_LOG = logging.getLogger(__name__)

REBUILDS = 3
"""How often a run starts again because its environment was damaged, or built anew by another run, before it gives up."""

STEP_SECONDS = 60.0
"""How long a step may take before it is UNKNOWN(timeout), unless the record says otherwise."""


@dataclass(frozen=True)
class Row:
    """What became of one pin: its results, and what the probe said of its environment beyond them."""

    results: Mapping[str, Any]
    history: bytes | None
    machine: Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """A run that is over, and the folder that holds its results.json, run.json and histories."""

    folder: Path
    results: Mapping[str, Any]
    rows: tuple[Row, ...]


def record_pin(pin: Pin, cases: Cases, python: Interpreter, folder: Path, seconds: float = STEP_SECONDS) -> Row:
    """Run cases at one pin and judge them; an environment that is not as pinned is refused.

    The cases are asked for once the probe was started, or before anything is built, so that reading them costs no time.
    """
    environment.refuse_python(pin, python)
    if not environment.is_there(pin.lock, python):
        cases()
    observed = _observe(pin, environment.ensure(pin.lock, python), cases, folder, seconds)
    for _ in range(REBUILDS):
        if observed is None:
            observed = _observe(pin, environment.rebuild(pin.lock, python), cases, folder, seconds)
    if observed is None:
        raise EnvironmentFailed(f"pin {pin.name}: its environment was damaged or replaced {REBUILDS} times.", "Check the disk.")
    return _judged(observed, cases(), folder)


def record_in(place: Environment, pin: Pin, cases: Cases, folder: Path, seconds: float = STEP_SECONDS) -> Row:
    """Run cases in an environment that was made in another way than by the pin's lock, but has to be as pinned all the same."""
    observed = _observe(pin, place, cases, folder, seconds, sound=True)
    if observed is None:
        raise EnvironmentFailed(f"pin {pin.name}: its environment is damaged.", "Check the disk.")
    return _judged(observed, cases(), folder)


def _judged(observed: Observed, suite: Sequence[Case], folder: Path) -> Row:
    found, seen = observed
    data = history.write(found)
    document.write(folder / "history.jsonl", data)
    # What is judged is what was saved, read again, so that anybody else judges the very same thing.
    saved = history.read(data, str(folder / "history.jsonl"))
    judged = results.pin_results(saved, data, {case.id: case.claims for case in suite})
    return Row(judged, data, {"python": seen["python"], "distributions": seen["distributions"]})


def run_pins(pins: Sequence[Pin], cases: Cases, python: Interpreter, folder: Path) -> Run:
    """Run cases at pins and save everything; at several pins, one that cannot be had is a row UNKNOWN(environment)."""
    with run_folder.claimed(folder):
        if len(pins) > 1:
            cases()  # a case that is refused is no pin's fault
        rows = tuple(_row(pin, cases, python, folder / pin.name, alone=len(pins) == 1) for pin in pins)
        found = results.build([row.results for row in rows])
        document.write(folder / "results.json", document.canonical(found))
        run_folder.end(folder, python, {pin.name: row.machine for pin, row in zip(pins, rows, strict=True)})
    return Run(folder, found, rows)


def _observe(pin: Pin, place: Environment, cases: Cases, folder: Path, seconds: float, *, sound: bool = False) -> Observed | None:
    """Return what was seen of the cases and of the environment, or None if that is not as it was installed.

    An environment that is known to be `sound` is not looked at again.
    """
    journals = folder / "journals"
    with cache.storage(journals):
        journals.mkdir(parents=True, exist_ok=True)
    with Recorder(place, journals, seconds) as recorder:
        suite = cases()
        if not sound and environment.damage(place):
            return None
        try:
            observed = _seen(recorder, pin, suite)
        except ProbeFailed:
            if sound or (recorder.is_current() and not environment.damage(place)):
                raise
            return None
        # Another run may have built the environment anew while this probe was importing or running.
        return observed if recorder.is_current() else None


def _seen(recorder: Recorder, pin: Pin, suite: Sequence[Case]) -> Observed:
    _LOG.info("running %s at pin %s", "1 case" if len(suite) == 1 else f"{len(suite)} cases", pin.name)
    seen = recorder.describe(pin.packages, pin.files)
    for difference in environment.differences(pin, seen):
        raise InputRefused(f"pin {pin.name}: {difference}.", "Correct pin.toml, or add another pin for what is installed.")
    head = {"kind": "environment", "history": 1, "pin": pin.name, **{key: seen[key] for key in ("packages", "files", "blocked")}}
    smoked = [recorder.record(case, smoke=True) for case in smoke()]
    found = [recorder.record(case) for case in suite]
    return history.History(head, _all(smoked), _all(found)), seen


def _all(histories: Iterable[Future[history.CaseHistory]]) -> tuple[history.CaseHistory, ...]:
    return tuple(found.result() for found in histories)


def _row(pin: Pin, cases: Cases, python: Interpreter, folder: Path, *, alone: bool) -> Row:
    try:
        return record_pin(pin, cases, python, folder)
    except (EnvironmentFailed, InputRefused, ProbeFailed) as error:
        if alone:
            raise
        _LOG.info("pin %s has no environment: %s", pin.name, error.message)
        return Row(results.unbuilt(pin.name, cases()), None, {"error": error.message})
