"""Probes: the processes in one environment, started ahead of need, and replaced where one ended."""

from collections.abc import Sequence
from pathlib import Path

from capture import ahead, cache
from capture.environment import Environment
from capture.session import Session

__all__ = ["START_SECONDS", "Probes"]

START_SECONDS = 120.0
"""How long a probe may take to import what is audited."""


class Probes:
    """The probe of an environment, and others beside it where a case wants several."""

    def __init__(self, environment: Environment, folder: Path, program: Sequence[str | Path] | None = None) -> None:
        """Start a probe (or another `program`) at once: its import runs while the orchestrator does other things."""
        self._environment = environment
        self._folder = folder
        self._program = program
        ready = None if program else ahead.take(environment)
        self._generation = ready[0] if ready else environment.generation()
        self._session: Session | None = ready[1] if ready else self._start()

    def is_current(self) -> bool:
        """Tell whether the environment is still the building that the first probe began to import."""
        return self._environment.generation() == self._generation

    def living(self) -> Session:
        """Return the probe, which has imported what it needs, starting one if there is none."""
        if self._session is None:
            self._session = self.another()
        return self._session

    def another(self) -> Session:
        """Return a probe beside the one that there is, once it has imported what it needs; it is the taker's to end."""
        session = self._start()
        try:
            session.ask("describe", START_SECONDS, packages=[], files=[])
        except BaseException:
            session.end()
            raise
        return session

    def end(self) -> None:
        """End the probe, if there is one."""
        session, self._session = self._session, None
        if session is not None:
            self.end_other(session)

    def end_other(self, session: Session) -> None:
        """End a probe; what it printed is kept beside the journals."""
        if printed := session.end():
            with cache.storage(self._folder), (self._folder / "probe.log").open("ab") as log:
                log.write(printed)

    def _start(self) -> Session:
        return Session(self._environment.python, self._program)
