"""Runs: from pins and cases to results, through an environment, a probe and a history for each pin."""

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
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

WORTH_A_PROBE = 60
"""How many cases take about as long as a second probe's import of what is audited."""

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
    with ExitStack() as stack:
        recorders = [stack.enter_context(Recorder(place, journals, seconds))]
        suite = cases()
        if not sound and environment.damage(place):
            return None
        recorders += [stack.enter_context(Recorder(place, journals, seconds)) for _ in range(1, _probes(suite))]
        try:
            observed = _seen(recorders, pin, suite)
        except ProbeFailed:
            if sound or (_are_current(recorders) and not environment.damage(place)):
                raise
            return None
        # Another run may have built the environment anew while a probe was importing or running.
        return observed if _are_current(recorders) else None


def _probes(suite: Sequence[Case]) -> int:
    """Return how many probes share the cases of a pin: one a core, as long as each has enough to do to be worth its import."""
    return max(1, min(os.cpu_count() or 1, len(suite) // WORTH_A_PROBE))


def _are_current(recorders: Iterable[Recorder]) -> bool:
    return all(recorder.is_current() for recorder in recorders)


def _seen(recorders: Sequence[Recorder], pin: Pin, suite: Sequence[Case]) -> Observed:
    """Return what was seen of all cases, each of which goes through one of the probes; the smoke test goes through the first."""
    _LOG.info("running %s at pin %s", "1 case" if len(suite) == 1 else f"{len(suite)} cases", pin.name)
    shares = [suite[number :: len(recorders)] for number in range(len(recorders))]
    with ThreadPoolExecutor(max_workers=len(recorders)) as executor:
        lanes = list(executor.map(partial(_lane, pin), recorders, shares, [smoke(), *[()] * (len(recorders) - 1)]))
    seen, smoked, _ = lanes[0]
    heads = [{key: other[key] for key in ("packages", "files", "blocked")} for other, _, _ in lanes]
    if any(head != heads[0] for head in heads):
        raise ProbeFailed("the probes of one environment do not agree about what it is")
    found = {known.case: known for _, _, part in lanes for known in part}
    head = {"kind": "environment", "history": 1, "pin": pin.name, **heads[0]}
    return history.History(head, smoked, tuple(found[case.id] for case in suite)), seen


_Lane = tuple[Mapping[str, Any], tuple[history.CaseHistory, ...], tuple[history.CaseHistory, ...]]


def _lane(pin: Pin, recorder: Recorder, share: Sequence[Case], smoked: Iterable[Case]) -> _Lane:
    """Return what one probe says of its environment, and what was seen of the smoke test, if it is its to run, and of its cases."""
    seen = recorder.describe(pin.packages, pin.files)
    for difference in environment.differences(pin, seen):
        raise InputRefused(f"pin {pin.name}: {difference}.", "Correct pin.toml, or add another pin for what is installed.")
    smoke_histories = [recorder.record(case, smoke=True) for case in smoked]
    return seen, _all(smoke_histories), _all([recorder.record(case) for case in share])


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
