"""The loop: one command a line on standard input, one answer a line on what was standard output."""

import gc
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, TextIO

from probe import checkpointer, network
from probe.environment import describe
from probe.journal import Journal
from probe.subject import Subject

PROTOCOL = 1

_COLLECTED_AFTER = 25

_PLACE = ("place", "scope")

_ADDRESSED = ("close", "open")
"""The commands that are given the address of a database."""


def serve() -> None:
    """Answer commands until standard input ends. Whatever prints, from here on, prints to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    server = _Server(_Line(answers))
    # What a case leaves is collected between cases, not in the middle of one; what was imported is not looked at again.
    gc.freeze()
    while request := server.line.next():
        server.line.answer(_fields(server, request))
    server.leave()


def _fields(server: "_Server", request: dict[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = getattr(server, request["command"])(request)
    except Exception as error:
        if request["command"] in _ADDRESSED:
            # What a driver says of an address may hold its password.
            sys.stderr.write(f"{type(error).__name__}\n")
        else:
            traceback.print_exc()
        return {"status": "failed", "detail": type(error).__name__}
    return found


class _Line:
    """The line to the orchestrator: a request at a time, each with one answer."""

    def __init__(self, answers: TextIO) -> None:
        self._answers = answers
        self._request: dict[str, Any] = {}

    def next(self) -> dict[str, Any]:
        """Return the next request, or nothing if there is none any more."""
        line = sys.stdin.readline()
        self._request = json.loads(line) if line else {}
        return self._request

    def answer(self, fields: dict[str, Any]) -> None:
        """Answer the request at hand."""
        answer = {"protocol": PROTOCOL, "run": self._request["run"], "id": self._request["id"], **fields}
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()

    def hold(self) -> None:
        """Say that the step at hand is held at a gate, and wait until it is let go; what comes of it answers that."""
        self.answer({"status": "held"})
        if self.next().get("command") != "release":
            # Nobody is there any more who could let it go on.
            os._exit(1)


class _Server:
    """The commands of the protocol; one case is open at a time."""

    def __init__(self, line: _Line) -> None:
        self.line = line
        self._cases = 0
        self._journal: Journal | None = None
        self._subject: Subject | None = None

    def describe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Say what this environment is."""
        return {"status": "done", "environment": describe(request["packages"], request["files"])}

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Build the subject of a case, or build it again in the middle of one; the case before, if any, is closed."""
        self.leave()
        if self._journal is not None:
            self._journal.close()
        self._cases += 1
        if self._cases % _COLLECTED_AFTER == 0:
            gc.collect()
        self._journal = Journal(Path(request["journal"]))
        sinks = request.get("sinks", {})
        place: dict[str, str] = {key: request[key] for key in _PLACE if key in request}
        network.watch(self._journal)
        network.allow([*((sink["host"], sink["port"]) for sink in sinks.values()), *checkpointer.addresses(place)])
        self._subject = Subject(request["case"], self._journal, place, sinks)
        if request.get("again"):
            return {"status": self._subject.build_again(request["step"], recovering="branch" not in request)}
        return {"status": self._subject.build()}

    def step(self, request: dict[str, Any]) -> dict[str, Any]:
        """Take a step of the case that is open, or one part of it."""
        if "branch" in request:
            self._opened().take_part(request["step"], request["branch"], self.line.hold)
        else:
            self._opened().take(request["step"])
        return {"status": "done"}

    def look(self, _: dict[str, Any]) -> dict[str, Any]:
        """Record the checkpoints that are new, whoever put them."""
        self._opened().look()
        return {"status": "done"}

    def close(self, request: dict[str, Any]) -> dict[str, Any]:
        """Leave the case that is open, if one is, and delete what was kept of a thread in a database."""
        self.leave()
        place = {key: request[key] for key in _PLACE}
        network.allow(checkpointer.addresses(place))
        checkpointer.forget(place)
        return {"status": "done"}

    def leave(self) -> None:
        """Leave the case that is open, if one is; its journal stays open for what is tried between two cases."""
        if self._subject is not None:
            self._subject.close()
        self._subject = None

    def _opened(self) -> Subject:
        if self._subject is None:
            raise RuntimeError("no case is open")
        return self._subject
