"""The matrix: the same cases at several pins, side by side, with what earlier runs saw taken as it was kept."""

import logging
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from capture import kept
from capture.case import Case
from capture.judgement import Judge
from capture.observation import Watch
from capture.pin import Pin
from capture.progress import Progress
from capture.saved import SavedCase, SavedHistory
from capture.workers import Outcome, Task, Workers

__all__ = ["Matrix"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Matrix:
    """The cases, how each pin is observed in a folder below the watch's own, the judge, and whether what was kept is left aside."""

    cases: Sequence[Case]
    watch: Watch
    judge: Judge
    fresh: bool
    _pool: dict[str, SavedCase] = field(default_factory=dict)
    """What was seen, by its SHA-256: what pins share is in memory once."""

    def outcomes(self, pins: Sequence[Pin], workers: Workers) -> Mapping[str, Outcome]:
        """Return what was seen at each pin, or why nothing was, in the order of the pins."""
        known = {} if self.fresh else self._known(pins)
        tasks = [self._task(pin, known.get(pin.name)) for pin in pins]
        open_tasks = [task for task in tasks if task.cases]
        found: dict[str, Outcome] = {**known}
        if ready := len(tasks) - len(open_tasks):
            _LOG.info("%d of %d pins are as earlier runs saw them; --fresh runs them again", ready, len(tasks))
        progress = Progress(len(open_tasks))
        for task, outcome in workers.outcomes(open_tasks):
            name = task.pin.name
            found[name] = self._settled(task, outcome, known.get(name))
            progress.done(f"{name}: {_said(task, outcome)}")
        return {pin.name: found[pin.name] for pin in pins}

    def _known(self, pins: Iterable[Pin]) -> dict[str, SavedHistory]:
        recalled = {pin.name: kept.recall(pin, self.watch.python, self.cases) for pin in pins}
        return {name: seen for name, seen in recalled.items() if seen is not None}

    def _task(self, pin: Pin, known: SavedHistory | None) -> Task:
        return Task(pin, kept.missing(known, self.cases), replace(self.watch, folder=self.watch.folder / pin.name))

    def _settled(self, task: Task, outcome: Outcome, known: SavedHistory | None) -> Outcome:
        """Keep what was seen, delete the journals that nobody needs, and return it with what was known of the pin."""
        if not isinstance(outcome, SavedHistory):
            return outcome
        seen = outcome.shared(self._pool)
        if self.judge.trusts(seen):
            kept.keep(task.pin, self.watch.python, seen)
        if not any(case.spoiled for case in (*seen.smoke, *seen.cases)):
            shutil.rmtree(task.watch.folder, ignore_errors=True)
        return kept.joined(known, seen, self.cases) if known else seen


def _said(task: Task, outcome: Outcome) -> str:
    return f"{len(task.cases)} cases" if isinstance(outcome, SavedHistory) else f"no environment: {outcome.message}"
