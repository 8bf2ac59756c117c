"""Death: the process kills itself where its case says so, as a power cut would, after it has written down that it does."""

import os
import signal
import threading
from typing import Any, NoReturn

from probe.journal import Journal


def die(journal: Journal, when: str, what: str, **about: Any) -> NoReturn:
    """Write into the journal where the process ends, and end it at once: nothing is flushed, closed or handed over."""
    journal.observe("process", event="killed", when=when, what=what, **about)
    os.kill(os.getpid(), signal.SIGKILL)
    # The signal reaches this thread at its next step into the kernel; nothing of the subject may go on before.
    threading.Event().wait()
    raise AssertionError


class Crash:
    """Counts what is put in a step, and ends the process at the place that the step names."""

    def __init__(self, journal: Journal) -> None:
        """Wait for a step that names a place."""
        self._journal = journal
        self._crash: dict[str, Any] | None = None
        self._counted = 0
        self._lock = threading.Lock()

    def expect(self, crash: dict[str, Any] | None) -> None:
        """From now on, die at this place, or nowhere."""
        with self._lock:
            self._crash, self._counted = crash, 0

    def told(self, when: str, what: str) -> None:
        """Take note that something is about to be put, or was, and die if this is the place."""
        with self._lock:
            crash = self._crash
            if crash is None or (crash["when"], crash["put"]) != (when, what):
                return
            self._counted += 1
            if self._counted < crash["number"]:
                return
        die(self._journal, when, what)
