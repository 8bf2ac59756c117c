"""The operator: takes the steps of one case, through a probe, through a new one after a restart or a kill, or through several.

What happens to a probe on the way is the case's doing and an observation. What the case did not ask for is a fault.
"""

import errno
import logging
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from capture import cache, children, document
from capture.case import Case
from capture.errors import EnvironmentFailed, InputRefused, ProbeFailed
from capture.history import Entry
from capture.probes import Probes
from capture.scenario import ENDS, acts
from capture.session import Session
from capture.sinks import Sinks

__all__ = ["Operator", "append"]

_LOG = logging.getLogger(__name__)

_FILES = ("", "-journal", "-shm", "-wal")
"""What SQLite puts beside a database, by the ends of the names."""


class Operator:
    """Takes the steps of one case. Use it as a context manager: what kept the thread and received what was sent is then gone."""

    def __init__(self, case: Case, journal: Path, probes: Probes, seconds: float, database: Callable[[], str] | None) -> None:
        """Take steps of a case into a journal; `database` gives the address of a PostgreSQL server, if the case needs one."""
        self._case = case
        self._journal = journal
        self._probes = probes
        self._seconds = seconds
        self._database = database
        self._step = 0
        self._sinks = Sinks(self._received)
        self._about: dict[str, Any] = {}
        self._scratch = ExitStack()
        self._folder = journal.parent

    def __enter__(self) -> Self:
        """Return the operator; a database in a file has a folder to itself, which the next run deletes if this one is killed."""
        if self._checkpointer == "sqlite":
            self._folder = self._scratch.enter_context(cache.scratch("thread"))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave nothing behind."""
        try:
            self._sinks.end()
        finally:
            self._forget()

    def _forget(self) -> None:
        """Delete what kept the thread: the file, or the scope in a database, also if the probe that made it is dead."""
        self._scratch.close()
        if "scope" in self._about:
            self._drop(self._about["place"], _claim(self._about["scope"]))

    def _drop(self, address: str, claim: Path) -> None:
        """Delete a scope in a database, and then the claim to it; while the claim is there, the next run tries again."""
        scope = claim.name.rpartition("-")[2]
        try:
            self._probes.living().ask("close", self._seconds, place=address, scope=scope)
        except ProbeFailed as failure:
            _LOG.warning("%s may be left in the database until the next run: %s", scope, failure.message)
        else:
            claim.unlink(missing_ok=True)

    def _clear(self, address: str) -> None:
        """Delete the scopes that runs claimed which are no longer there: one that was killed, or interrupted, could not."""
        for claim in cache.folder("scopes").iterdir():
            if not children.is_alive("-".join(claim.name.split("-")[:2])):
                self._drop(address, claim)

    def take(self, step: int) -> bool:
        """Take a step, 0 being to build the subject, and tell whether there is a subject to go on with."""
        self._step = step
        if not step:
            return self._build()
        planned = self._case.scenario["steps"][step - 1]
        if planned["do"] in ENDS:
            return self._restart(planned["do"])
        return self._together(planned["steps"]) if planned.get("processes") else self._through(planned)

    @property
    def _checkpointer(self) -> str:
        return str(self._case.scenario["subject"]["checkpointer"])

    @property
    def _place(self) -> Path:
        return self._folder / f"{self._journal.stem}.sqlite"

    def _build(self) -> bool:
        try:
            self._about = {"journal": str(self._journal), "case": dict(self._case.scenario), **self._store(), **self._listening()}
        except EnvironmentFailed as failure:
            append(self._journal, self._fault("checkpointer", failure.message))
            return False
        return bool(self._probes.living().ask("open", self._seconds, **self._about)["status"] == "done")

    def _store(self) -> Mapping[str, str]:
        """Return where the thread is kept: a file of its own, or a scope of its own in a database."""
        if self._checkpointer == "sqlite":
            _remove(self._place)
            return {"place": str(self._place)}
        if self._checkpointer != "postgres":
            return {}
        if self._database is None:
            raise EnvironmentFailed("there is no PostgreSQL server.", "Name one with --postgres.")
        address, claim = self._database(), _claim(f"dispatch_audit_{secrets.token_hex(8)}")
        self._clear(address)
        with cache.storage(claim):
            claim.touch()
        return {"place": address, "scope": claim.name.rpartition("-")[2]}

    def _listening(self) -> Mapping[str, Any]:
        wanted = {tool["sends"] for tool in self._case.scenario["subject"]["tools"] if "sends" in tool}
        return {"sinks": {name: dict(self._sinks.address(name)) for name in sorted(wanted)}} if wanted else {}

    def _received(self, observation: Mapping[str, Any]) -> None:
        """Write down what a sink has received, in the step in which it was."""
        append(self._journal, self._observed("wire", **observation))

    def _through(self, planned: Mapping[str, Any]) -> bool:
        """Take a step through the probe; if it dies as the case says, go on with a new one."""
        session = self._probes.living()
        try:
            return bool(session.ask("step", self._seconds, step=self._step)["status"] == "done")
        except ProbeFailed:
            if not (self._may_kill(planned) and session.was_killed() and self._has_died()):
                raise
        append(self._journal, {"kind": "outcome", "step": self._step, "status": "killed"})
        return self._again()

    def _may_kill(self, planned: Mapping[str, Any]) -> bool:
        return "crash" in planned or any("kill" in act for act in acts(*self._case.scenario["subject"]["tools"]))

    def _has_died(self) -> bool:
        """Tell whether the probe wrote down, in this step, that it ends itself."""
        return any((entry.get("vantage"), entry.get("step")) == ("process", self._step) for entry in _entries(self._journal))

    def _restart(self, do: str) -> bool:
        """End the probe in order, or by SIGKILL, and go on with a new one."""
        if do == "restart":
            self._probes.living().leave(self._seconds)
        else:
            append(self._journal, self._observed("process", event="killed", when="paused", what="run"))
        append(self._journal, {"kind": "outcome", "step": self._step, "status": "restarted"})
        return self._again()

    def _again(self) -> bool:
        """Start a new probe and build the subject again in it."""
        self._probes.end()
        return self._opened_again(self._probes.living())

    def _opened_again(self, session: Session, **fields: Any) -> bool:
        answer = session.ask("open", self._seconds, again=True, step=self._step, **self._about, **fields)
        return bool(answer["status"] == "done")

    def _together(self, parts: Sequence[Mapping[str, Any]]) -> bool:
        """Take the parts of a step in a process each: every one until a gate holds it or it has ended, then let each go on."""
        others: list[Session] = []
        try:
            for branch in range(2, len(parts) + 1):
                others.append(self._probes.another())
                if not self._opened_again(others[-1], branch=branch):
                    return False
            return self._overlapped([self._probes.living(), *others])
        finally:
            for session in others:
                self._probes.end_other(session)

    def _overlapped(self, sessions: Sequence[Session]) -> bool:
        held = []
        for branch, session in enumerate(sessions, start=1):
            if session.ask("step", self._seconds, step=self._step, branch=branch)["status"] == "held":
                held.append(session)
        for session in held:
            session.ask("release", self._seconds)
        return bool(sessions[0].ask("look", self._seconds)["status"] == "done")

    def _observed(self, vantage: str, **fields: Any) -> Entry:
        return {"kind": "observation", "vantage": vantage, "step": self._step, **fields}

    def _fault(self, reason: str, detail: str) -> Entry:
        return {"kind": "fault", "step": self._step, "reason": reason, "detail": detail}


def append(journal: Path, entry: Entry) -> None:
    """Append one line with one write, as the probe does; both write to the same file."""
    with cache.storage(journal):
        file = os.open(journal, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
        try:
            data = document.line(entry)
            if os.write(file, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(journal))
        finally:
            os.close(file)


def _entries(journal: Path) -> Iterable[Entry]:
    """Yield what a journal has so far; what is no entry is for whoever makes a history of it to refuse."""
    for line in document.read(journal).splitlines():
        try:
            entry = document.parse_json(line, "journal")
        except InputRefused:
            continue
        if isinstance(entry, dict):
            yield entry


def _claim(scope: str) -> Path:
    """Return the file that says whose a scope in a database is, for as long as it may be there."""
    return cache.folder("scopes") / f"{children.OWNER}-{scope}"


def _remove(place: Path) -> None:
    for end in _FILES:
        with cache.storage(place):
            place.with_name(place.name + end).unlink(missing_ok=True)
