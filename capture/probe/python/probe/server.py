"""The loop: one command a line on standard input, one answer a line on what was standard output."""

import gc
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO

from probe import network
from probe.environment import describe
from probe.journal import Journal
from probe.subject import Subject

PROTOCOL = 1

_COLLECTED_AFTER = 25


def serve() -> None:
    """Answer commands until standard input ends. Whatever prints, from here on, prints to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    server = _Server()
    # What a case leaves is collected between cases, not in the middle of one; what was imported is not looked at again.
    gc.freeze()
    for line in sys.stdin:
        _answer(server, json.loads(line), answers)


def _answer(server: "_Server", request: dict[str, Any], answers: TextIO) -> None:
    try:
        fields = getattr(server, request["command"])(request)
    except Exception as error:
        traceback.print_exc()
        fields = {"status": "failed", "detail": type(error).__name__}
    answer = {"protocol": PROTOCOL, "run": request["run"], "id": request["id"], **fields}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


class _Server:
    """The commands of the protocol; one case is open at a time."""

    def __init__(self) -> None:
        self._cases = 0
        self._journal: Journal | None = None
        self._subject: Subject | None = None

    def describe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Say what this environment is."""
        return {"status": "done", "environment": describe(request["packages"], request["files"])}

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Build the subject of a case; the case before, if any, is closed."""
        if self._journal is not None:
            self._journal.close()
        self._cases += 1
        if self._cases % _COLLECTED_AFTER == 0:
            gc.collect()
        self._journal = Journal(Path(request["journal"]))
        network.watch(self._journal)
        self._subject = Subject(request["case"], self._journal)
        return {"status": self._subject.build()}

    def step(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take a step of the case that is open."""
        if self._subject is None:
            raise RuntimeError("no case is open")
        self._subject.take(request["step"])
        return {"status": "done"}
