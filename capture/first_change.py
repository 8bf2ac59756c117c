"""The first change: from which release of an axis on a case, or one claim of it, answers otherwise than at the good end.

An answer is what `diff` compares. An UNKNOWN that says nothing about the subject is none, and its release is stepped over.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from capture import bisection, constraints, demand, document, results, run_folder, runs, trial
from capture.asked import Asked
from capture.axis import Axis, Release
from capture.bisected import report
from capture.document import Document
from capture.interpreter import Interpreter
from capture.render.cells import many, status
from capture.trial import Trial

__all__ = ["find"]

_LOG = logging.getLogger(__name__)


def find(axis: Axis, asked: Asked, python: Interpreter, folder: Path) -> Document:
    """Run a case at as few releases as it takes, save all of it in a folder, and return where the answer changed."""
    if axis.fixed:
        axis = constraints.fitted(axis, demand.find(axis.fixed, python))
    with run_folder.claimed(folder):
        search = _Search(axis, asked, python, folder)
        outcome = bisection.search(axis.releases, search.answer, asked.differs, named=axis.named, told=search.told)
        known = [search.trials[release] for release in axis.releases if release in search.trials]
        found = report(axis, asked, outcome, search.trials)
        _save(folder, found, known)
        run_folder.end(folder, python, {tried.release.pin: runs.machine(tried.outcome) for tried in known})
    return found


@dataclass(frozen=True)
class _Search:
    """A search that is going on: what is asked of which releases, and what came of those that were tried."""

    axis: Axis
    asked: Asked
    python: Interpreter
    folder: Path
    trials: dict[Release, Trial] = field(default_factory=dict)

    def answer(self, release: Release) -> Trial | None:
        """Try a release, and return what came of it if it is an answer."""
        before = next(reversed(self.trials.values()), None)
        self.trials[release] = tried = trial.run(release, self.axis, self.asked.case, self.python, self.folder)
        if before is None or tried.because is None or tried.because != before.because:
            _LOG.info("%s %s: %s", self.axis.package, release.version, tried.because or status(self.asked.judged(tried)))
        return None if self.asked.is_silent(tried) else tried

    def told(self, release: Release, left: int | None) -> None:
        """Say how many releases are left between the ends, and which is next."""
        if left is not None:
            runs = many(bisection.steps(left), "more run")
            _LOG.info("%s left, about %s; next is %s", many(left, "release"), runs, release.version)


def _save(folder: Path, found: Document, trials: Sequence[Trial]) -> None:
    """Save the results at every pin that there was, as those of one run, and the script with the locks of both sides."""
    outcomes = {tried.release.pin: tried.outcome for tried in trials}
    runs.save(results.build([tried.results for tried in trials]), outcomes, folder)
    if found["script"]:
        document.write(folder / run_folder.SCRIPT / "script.py", found["script"]["text"].encode())
        for known in trials:
            if known.pin and known.release.version in (found["last"], found["first"]):
                document.write(folder / run_folder.SCRIPT / f"{known.pin.name}.txt", document.read(known.pin.lock.path))
