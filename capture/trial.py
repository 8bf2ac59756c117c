"""A trial: one case at one release of an axis, with its pin made if it is not there; what came of it, or why nothing did."""

import logging
from dataclasses import dataclass
from pathlib import Path

from capture import demand, environment, results, runs
from capture.axis import Axis, Release
from capture.case import Case
from capture.document import Document
from capture.errors import AuditError, EnvironmentFailed, InputRefused, ProbeFailed, Unresolved
from capture.interpreter import Interpreter
from capture.judgement import Judge
from capture.pin import Pin
from capture.workers import Broken, Outcome

__all__ = ["Trial", "run"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """A release, its pin unless none could be made, its results, what was seen, and why nothing was."""

    release: Release
    pin: Pin | None
    results: Document
    outcome: Outcome
    because: str | None = None

    @property
    def case(self) -> Document:
        """The results of the one case."""
        found: Document = self.results["cases"][0]
        return found


def run(release: Release, axis: Axis, case: Case, python: Interpreter, folder: Path) -> Trial:
    """Run a case at a release and put its evidence into a folder; a Python that the pin does not allow is refused."""
    if not release.fits:
        return Trial(release, None, results.unbuilt(release.pin, [case]), Broken(_unfit(axis)), _unfit(axis))
    try:
        pin = demand.find(release.pin, python)
    except (EnvironmentFailed, InputRefused) as error:
        return _untried(release, None, case, error, _unmade(axis, error))
    environment.refuse_python(pin, python)
    try:
        return _run(release, pin, case, python, folder)
    except (EnvironmentFailed, InputRefused, ProbeFailed) as error:
        return _untried(release, pin, case, error, _failed(error))


def _run(release: Release, pin: Pin, case: Case, python: Interpreter, folder: Path) -> Trial:
    judge = Judge(keeping=True)
    seen = runs.see(pin, lambda: [case], runs.Plan(python, folder), judge)
    return Trial(release, pin, runs.judged(pin.name, seen, [case], judge), seen)


def _untried(release: Release, pin: Pin | None, case: Case, error: AuditError, because: str) -> Trial:
    # The installer's own words name what its version and this machine make of it: they are told, and kept out of what is compared.
    _LOG.info("%s", error.message)
    return Trial(release, pin, results.unbuilt(release.pin, [case]), Broken(error.message), because)


def _unmade(axis: Axis, error: AuditError) -> str:
    if isinstance(error, Unresolved):
        return f"no lock with it {f'and {axis.fixed} ' if axis.fixed else ''}can be resolved"
    return "its first day is not over" if "the first day of" in error.message else "no pin could be made of it"


def _unfit(axis: Axis) -> str:
    return f"it does not go with {axis.fixed}"


def _failed(error: AuditError) -> str:
    if isinstance(error, ProbeFailed):
        return "its probe failed"
    return "its environment is not as pinned" if isinstance(error, InputRefused) else "its environment could not be built"
