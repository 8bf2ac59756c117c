"""Runs: from pins and cases to results, through an environment, a probe and a history for each pin.

What earlier runs have seen is taken as it was kept, unless a run is to be fresh. So only what changed runs again, and a run
that was interrupted goes on where it was.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capture import document, evidence, histories, kept, results, run_folder
from capture.case import Case
from capture.demand import Unmade
from capture.document import Document
from capture.interpreter import Interpreter
from capture.judgement import Judge
from capture.matrix import Matrix
from capture.observation import Cases, Watch, observe
from capture.pin import Pin
from capture.postgres import Postgres
from capture.saved import SavedHistory
from capture.workers import Broken, Outcome, Workers

__all__ = ["Plan", "Run", "judged", "machine", "run_pins", "save", "see"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """How to run: with which Python, where to save, by whom several pins are observed, and whether afresh."""

    python: Interpreter
    folder: Path
    workers: Workers = field(default_factory=Workers)
    fresh: bool = False
    postgres: Postgres | None = None
    """The server for the cases that need one, which ends with the run."""


@dataclass(frozen=True)
class Run:
    """A run that is over: the folder that holds its results.json, run.json and histories, and the results."""

    folder: Path
    results: Document


def run_pins(pins: Sequence[Pin | Unmade], cases: Cases, plan: Plan) -> Run:
    """Run cases at pins and save everything; at several pins, one that cannot be had is a row UNKNOWN(environment)."""
    judge = Judge(keeping=not plan.fresh)
    with run_folder.claimed(plan.folder), plan.postgres or nullcontext():
        outcomes = _outcomes(pins, cases, plan, judge)
        found = results.build([judged(name, outcome, cases(), judge) for name, outcome in outcomes.items()])
        save(found, outcomes, plan.folder)
        run_folder.end(plan.folder, plan.python, {name: machine(outcome) for name, outcome in outcomes.items()})
    return Run(plan.folder, found)


def see(pin: Pin, cases: Cases, plan: Plan, judge: Judge) -> SavedHistory:
    """Return what is seen at one pin, or what an earlier run saw there; what keeps it from being seen is raised."""
    known = None if plan.fresh else kept.recall(pin, plan.python, cases())
    missing = kept.missing(known, cases()) if known else ()
    if known and not missing:
        _LOG.info("pin %s is as an earlier run saw it", pin.name)
        return known
    seen = observe(pin, (lambda: missing) if known else cases, _watch(pin, plan))
    if judge.trusts(seen):
        kept.keep(pin, plan.python, seen)
    return kept.joined(known, seen, cases()) if known else seen


def _watch(pin: Pin, plan: Plan) -> Watch:
    return Watch(plan.python, plan.folder / pin.name, postgres=plan.postgres)


def judged(name: str, outcome: Outcome, cases: Iterable[Case], judge: Judge) -> Document:
    """Return the results of the pin of this name, by the claims of the cases; what is broken is UNKNOWN(environment)."""
    if isinstance(outcome, Broken):
        return results.unbuilt(name, cases)
    return judge.pin(outcome, document.digest(outcome.data()), {case.id: case.claims for case in cases})


def save(found: Document, outcomes: Mapping[str, Outcome], folder: Path) -> None:
    """Save what was seen, of one pin as its history and of several in one file, then the results."""
    seen = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, SavedHistory)}
    if len(outcomes) > 1:
        document.write(folder / histories.FILE, histories.write(seen.values()))
    for name, saved in seen.items() if len(outcomes) == 1 else ():
        document.write(evidence.place(folder, name), saved.data())
    document.write(folder / "results.json", document.canonical(results.packed(found)))


def _outcomes(pins: Sequence[Pin | Unmade], cases: Cases, plan: Plan, judge: Judge) -> Mapping[str, Outcome]:
    made = [pin for pin in pins if isinstance(pin, Pin)]
    if len(made) == len(pins) == 1:
        return {made[0].name: see(made[0], cases, plan, judge)}
    matrix = Matrix(cases(), Watch(plan.python, plan.folder, probes=1, postgres=plan.postgres), judge, plan.fresh)
    seen = matrix.outcomes(made, plan.workers)
    return {pin.name: seen[pin.name] if isinstance(pin, Pin) else Broken(pin.message) for pin in pins}


def machine(outcome: Outcome) -> Mapping[str, Any]:
    """Return what run.json says of a pin: what the probe said of the machine, or why there is nothing to be seen."""
    return outcome.machine if isinstance(outcome, SavedHistory) else {"error": outcome.message}
