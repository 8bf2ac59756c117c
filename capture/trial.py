"""A trial: one case at one release of an axis, with its pin made if it is not there; what came of it, or why nothing did."""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capture import cache, demand, environment, results, runs
from capture.axis import Axis, Release
from capture.case import Case
from capture.document import Document
from capture.errors import AuditError, EnvironmentFailed, InputRefused, ProbeFailed
from capture.interpreter import Interpreter
from capture.pin import Pin

__all__ = ["Trial", "run"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Trial:
    """A release, its pin unless none could be made, its results, what is known of the machine, and why nothing was run."""

    release: Release
    pin: Pin | None
    results: Document
    machine: Mapping[str, Any]
    because: str | None = None

    @property
    def case(self) -> Document:
        """The results of the one case."""
        found: Document = self.results["cases"][0]
        return found


def run(release: Release, axis: Axis, case: Case, python: Interpreter, folder: Path) -> Trial:
    """Run a case at a release and put its evidence into a folder; a Python that the pin does not allow is refused."""
    if not release.fits:
        return Trial(release, None, results.unbuilt(release.pin, [case]), {}, _unfit(axis))
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
    # A run claims its folder, so each has one of its own, and what is worth keeping is moved to where one run would have put it.
    with cache.scratch("bisection") as place:
        done = runs.run_pins([pin], lambda: [case], python, place / "run")
        with cache.storage(folder):
            shutil.rmtree(folder / pin.name, ignore_errors=True)
            shutil.move(place / "run" / pin.name, folder / pin.name)
    return Trial(release, pin, done.results["pins"][0], done.rows[0].machine)


def _untried(release: Release, pin: Pin | None, case: Case, error: AuditError, because: str) -> Trial:
    # The installer's own words name what its version and this machine make of it: they are told, and kept out of what is compared.
    _LOG.info("%s", error.message)
    return Trial(release, pin, results.unbuilt(release.pin, [case]), {"error": error.message}, because)


def _unmade(axis: Axis, error: AuditError) -> str:
    if "No solution found" in error.message:
        return f"no lock with it {f'and {axis.fixed} ' if axis.fixed else ''}can be resolved"
    return "its first day is not over" if "the first day of" in error.message else "no pin could be made of it"


def _unfit(axis: Axis) -> str:
    return f"it does not go with {axis.fixed}"


def _failed(error: AuditError) -> str:
    if isinstance(error, ProbeFailed):
        return "its probe failed"
    return "its environment is not as pinned" if isinstance(error, InputRefused) else "its environment could not be built"
