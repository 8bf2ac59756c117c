"""Recording: cases go through a probe, and what was seen of each becomes its history, whatever becomes of the probe."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from capture import cache, document
from capture.case import Case
from capture.environment import Environment
from capture.errors import InputRefused, ProbeFailed
from capture.history import CaseHistory, from_journal
from capture.operator import Operator, append
from capture.probes import START_SECONDS, Probes

__all__ = ["Recorder"]


class Recorder:
    """Records cases in one environment with one probe; a probe that failed is replaced, and the rest goes on."""

    def __init__(
        self,
        environment: Environment,
        folder: Path,
        seconds: float,
        program: Sequence[str | Path] | None = None,
        database: Callable[[], str] | None = None,
    ) -> None:
        """Start a probe (or another `program`) at once: its import runs while the orchestrator does other things.

        `database` gives the address of a PostgreSQL server to the cases that need one.
        """
        self._folder = folder.absolute()  # the probe works in a folder of its own
        self._seconds = seconds
        self._database = database
        self._histories = ThreadPoolExecutor(max_workers=1)
        self._probes = Probes(environment, self._folder, program)

    def __enter__(self) -> Self:
        """Return the recorder."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the probe."""
        self._probes.end()
        self._histories.shutdown(cancel_futures=True)

    def is_current(self) -> bool:
        """Tell whether the environment is still the building that the probe began to import."""
        return self._probes.is_current()

    def describe(self, packages: Iterable[str], files: Iterable[str]) -> Mapping[str, Any]:
        """Return what the environment is, read from inside; a probe that cannot tell raises `ProbeFailed`."""
        answer = self._probes.living().ask("describe", START_SECONDS, packages=list(packages), files=list(files))
        found: Mapping[str, Any] = answer.get("environment", {})
        if not found:
            raise ProbeFailed("the probe did not describe its environment")
        return found

    def record(self, case: Case, *, smoke: bool = False) -> Future[CaseHistory]:
        """Run a case and return its history, which is made while the next case runs; a probe that fails leaves a fault in it."""
        journal = self._folder / f"{case.id.replace('/', '.')}.jsonl"
        _begin(journal)
        with Operator(case, journal, self._probes, self._seconds, self._database) as operator:
            for step in range(len(case.scenario["steps"]) + 1):
                append(journal, {"kind": "step", "step": step, "do": _do(case, step)})
                if not self._survives(operator, journal, step):
                    break
        return self._histories.submit(_history, case, journal, smoke=smoke)

    def _survives(self, operator: Operator, journal: Path, step: int) -> bool:
        """Take one step, 0 being to build the subject, and tell whether there is a subject to go on with."""
        try:
            return operator.take(step)
        except ProbeFailed as failure:
            self._probes.end()
            append(journal, {"kind": "fault", "step": step, "reason": failure.reason, "detail": failure.message})
            return False


def _do(case: Case, step: int) -> str:
    return str(case.scenario["steps"][step - 1]["do"]) if step else "build"


def _begin(journal: Path) -> None:
    """Forget the journal of an earlier run into the same folder."""
    with cache.storage(journal):
        journal.unlink(missing_ok=True)


def _history(case: Case, journal: Path, *, smoke: bool) -> CaseHistory:
    try:
        return from_journal(case.id, case.scenario, document.read(journal), smoke=smoke)
    except InputRefused as refusal:
        fault = {"kind": "fault", "step": 0, "reason": "error", "detail": f"the journal is none: {refusal.message}"}
        return CaseHistory(case.id, case.scenario, ({"kind": "step", "step": 0, "do": "build"}, fault), smoke)
