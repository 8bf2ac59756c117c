"""Runs: from pins and cases to results, through an environment, a probe and a history for each pin.

What earlier runs have seen is taken as it was kept, unless a run is to be fresh. So only what changed runs again, and a run
that was interrupted goes on where it was.
"""

import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from capture import document, evidence, histories, kept, results, run_folder
from capture.case import Case
from capture.document import Document
from capture.interpreter import Interpreter
from capture.judgement import Judge
from capture.observation import Cases, Watch, observe
from capture.pin import Pin
from capture.progress import Progress
from capture.sight import Seen, Sight, shared
from capture.workers import Broken, Outcome, Task, Workers

__all__ = ["Plan", "Run", "judged", "run_pins"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """How to run: with which Python, where to save, by whom, and whether afresh."""

    python: Interpreter
    folder: Path
    workers: Workers = field(default_factory=Workers)
    fresh: bool = False


@dataclass(frozen=True)
class Run:
    """A run that is over: the folder that holds its results.json, run.json and histories, and the results."""

    folder: Path
    results: Document


def run_pins(pins: Sequence[Pin], cases: Cases, plan: Plan) -> Run:
    """Run cases at pins and save everything; at several pins, one that cannot be had is a row UNKNOWN(environment)."""
    judge = Judge(keeping=not plan.fresh)
    with run_folder.claimed(plan.folder):
        seen = _alone(pins[0], cases, plan, judge) if len(pins) == 1 else _together(pins, cases(), plan, judge)
        outcomes = {pin.name: seen[pin.name] for pin in pins}
        found = results.build([judged(name, outcome, cases(), judge) for name, outcome in outcomes.items()])
        _save(outcomes, plan.folder)
        document.write(plan.folder / "results.json", document.canonical(results.packed(found)))
        run_folder.end(plan.folder, plan.python, {name: _machine(outcome) for name, outcome in outcomes.items()})
    return Run(plan.folder, found)


def judged(name: str, outcome: Outcome, cases: Iterable[Case], judge: Judge) -> Document:
    """Return the results of the pin of this name, by the claims of the cases; what is broken is UNKNOWN(environment)."""
    if isinstance(outcome, Broken):
        return results.unbuilt(name, cases)
    return judge.pin(outcome, document.digest(outcome.data()), {case.id: case.claims for case in cases})


def _alone(pin: Pin, cases: Cases, plan: Plan, judge: Judge) -> Mapping[str, Outcome]:
    """Return what was seen at the only pin of a run; what keeps it from being seen is refused."""
    known = None if plan.fresh else kept.recall(pin, plan.python, cases())
    missing = _missing(known, cases()) if known else ()
    if known and not missing:
        return {pin.name: known}
    seen = observe(pin, (lambda: missing) if known else cases, Watch(plan.python, plan.folder / pin.name))
    _keep(pin, seen, plan, judge)
    return {pin.name: _joined(known, seen, cases) if known else seen}


def _together(pins: Sequence[Pin], cases: Sequence[Case], plan: Plan, judge: Judge) -> Mapping[str, Outcome]:
    """Return what was seen at each of several pins, or why nothing was."""
    known = {} if plan.fresh else {pin.name: kept.recall(pin, plan.python, cases) for pin in pins}
    tasks = list(_tasks(pins, cases, known, plan))
    _tell(len(pins) - len(tasks), len(pins))
    found: dict[str, Outcome] = {name: seen for name, seen in known.items() if seen is not None}
    progress = Progress(len(tasks))
    pool: dict[str, Seen] = {}
    for task, fresh in plan.workers.outcomes(tasks):
        name = task.pin.name
        outcome = shared(fresh, pool) if isinstance(fresh, Sight) else fresh
        found[name] = _joined(known.get(name), outcome, lambda: cases)
        if isinstance(outcome, Sight):
            _keep(task.pin, outcome, plan, judge)
            _clear(outcome, task.watch.folder)
        progress.done(f"{name}: {_said(task, outcome)}")
    return found


def _tasks(pins: Iterable[Pin], cases: Sequence[Case], known: Mapping[str, Sight | None], plan: Plan) -> Iterator[Task]:
    for pin in pins:
        missing = _missing(known.get(pin.name), cases)
        if missing:
            yield Task(pin, missing, Watch(plan.python, plan.folder / pin.name, probes=1))


def _missing(known: Sight | None, cases: Iterable[Case]) -> tuple[Case, ...]:
    there = {seen.case for seen in known.cases} if known else set()
    return tuple(case for case in cases if case.id not in there)


def _tell(ready: int, pins: int) -> None:
    if ready:
        _LOG.info("%d of %d pins are as earlier runs saw them; --fresh runs them again", ready, pins)


def _said(task: Task, outcome: Outcome) -> str:
    return f"{len(task.cases)} cases" if isinstance(outcome, Sight) else f"no environment: {outcome.message}"


def _joined(known: Sight | None, outcome: Outcome, cases: Cases) -> Outcome:
    """Return what was just seen together with what was known, in the order of the cases."""
    if known is None or isinstance(outcome, Broken):
        return outcome
    seen = {entry.case: entry for entry in (*known.cases, *outcome.cases)}
    return replace(outcome, cases=tuple(seen[case.id] for case in cases()))


def _keep(pin: Pin, seen: Sight, plan: Plan, judge: Judge) -> None:
    if judge.trusts(seen):
        kept.keep(pin, plan.python, seen)


def _clear(seen: Sight, folder: Path) -> None:
    """Delete the journals of one of many pins, unless something went wrong that they could explain."""
    if not any(case.spoiled for case in (*seen.smoke, *seen.cases)):
        shutil.rmtree(folder, ignore_errors=True)


def _save(outcomes: Mapping[str, Outcome], folder: Path) -> None:
    """Save what was seen: of one pin as its history, of several in one file."""
    seen = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Sight)}
    if len(outcomes) > 1:
        document.write(folder / histories.FILE, histories.write(seen.values()))
    for name, sight in seen.items() if len(outcomes) == 1 else ():
        document.write(evidence.place(folder, name), sight.data())


def _machine(outcome: Outcome) -> Mapping[str, Any]:
    return outcome.machine if isinstance(outcome, Sight) else {"error": outcome.message}
