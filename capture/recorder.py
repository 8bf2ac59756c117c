"""Recording: cases go through a probe, and what was seen of each becomes its history, whatever becomes of the probe."""

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from capture import ahead, cache, document
from capture.case import Case
from capture.environment import Environment
from capture.errors import InputRefused, ProbeFailed
from capture.history import CaseHistory, Entry, from_journal
from capture.session import Session

__all__ = ["Recorder"]

_START_SECONDS = 120.0


class Recorder:
    """Records cases in one environment with one probe; a probe that failed is replaced, and the rest goes on."""

    def __init__(self, environment: Environment, folder: Path, seconds: float, program: Sequence[str | Path] | None = None) -> None:
        """Start a probe (or another `program`) at once: its import runs while the orchestrator does other things."""
        self._environment = environment
        self._folder = folder.absolute()  # the probe works in a folder of its own
        self._seconds = seconds
        self._program = program
        self._histories = ThreadPoolExecutor(max_workers=1)
        ready = None if program else ahead.take(environment)
        self._generation = ready[0] if ready else environment.generation()
        self._session: Session | None = ready[1] if ready else self._start()

    def __enter__(self) -> Self:
        """Return the recorder."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the probe."""
        self._end()
        self._histories.shutdown(cancel_futures=True)

    def is_current(self) -> bool:
        """Tell whether the environment is still the building that the probe began to import."""
        return self._environment.generation() == self._generation

    def describe(self, packages: Iterable[str], files: Iterable[str]) -> Mapping[str, Any]:
        """Return what the environment is, read from inside; a probe that cannot tell raises `ProbeFailed`."""
        answer = self._living().ask("describe", _START_SECONDS, packages=list(packages), files=list(files))
        found: Mapping[str, Any] = answer.get("environment", {})
        if not found:
            raise ProbeFailed("the probe did not describe its environment")
        return found

    def record(self, case: Case, *, smoke: bool = False) -> Future[CaseHistory]:
        """Run a case and return its history, which is made while the next case runs; a probe that fails leaves a fault in it."""
        journal = self._folder / f"{case.id.replace('/', '.')}.jsonl"
        _begin(journal)
        for step in range(len(case.scenario["steps"]) + 1):
            _append(journal, {"kind": "step", "step": step, "do": _do(case, step)})
            if not self._survives(case, journal, step):
                break
        return self._histories.submit(_history, case, journal, smoke=smoke)

    def _survives(self, case: Case, journal: Path, step: int) -> bool:
        """Take one step, 0 being to build the subject, and tell whether there is a subject to go on with."""
        try:
            return self._take(case, journal, step)
        except ProbeFailed as failure:
            self._end()
            _append(journal, {"kind": "fault", "step": step, "reason": failure.reason, "detail": failure.message})
            return False

    def _take(self, case: Case, journal: Path, step: int) -> bool:
        if step:
            return bool(self._living().ask("step", self._seconds, step=step)["status"] == "done")
        answer = self._living().ask("open", self._seconds, journal=str(journal), case=dict(case.scenario))
        return bool(answer["status"] == "done")

    def _living(self) -> Session:
        if self._session is None:
            self._session = self._start()
            self._session.ask("describe", _START_SECONDS, packages=[], files=[])
        return self._session

    def _start(self) -> Session:
        return Session(self._environment.python, self._program)

    def _end(self) -> None:
        """End the probe; what it printed is kept beside the journals."""
        session, self._session = self._session, None
        if session is not None and (printed := session.end()):
            with cache.storage(self._folder), (self._folder / "probe.log").open("ab") as log:
                log.write(printed)


def _do(case: Case, step: int) -> str:
    return str(case.scenario["steps"][step - 1]["do"]) if step else "build"


def _begin(journal: Path) -> None:
    """Forget the journal of an earlier run into the same folder."""
    with cache.storage(journal):
        journal.unlink(missing_ok=True)


def _append(journal: Path, entry: Entry) -> None:
    """Append one line with one write, as the probe does; both write to the same file."""
    with cache.storage(journal):
        file = os.open(journal, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
        try:
            data = document.line(entry)
            if os.write(file, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(journal))
        finally:
            os.close(file)


def _history(case: Case, journal: Path, *, smoke: bool) -> CaseHistory:
    try:
        return from_journal(case.id, case.scenario, document.read(journal), smoke=smoke)
    except InputRefused as refusal:
        fault = {"kind": "fault", "step": 0, "reason": "error", "detail": f"the journal is none: {refusal.message}"}
        return CaseHistory(case.id, case.scenario, ({"kind": "step", "step": 0, "do": "build"}, fault), smoke)
