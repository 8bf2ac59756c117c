"""A session with a probe: one process in an environment, commands out, answers back, each within its limit.

The probe gets a clean environment: no variable of the user's but time zone and locale, isolated Python, a group of its own.
Nothing that it sends is believed before it fits the schema and answers this very request.
"""

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from capture import children, document, library
from capture.errors import InputRefused, ProbeFailed

__all__ = ["Session", "clean_variables"]

PROTOCOL = 1

_ENDING_SECONDS = 5.0
"""How long a process may take from closing its standard output to being gone."""

_LONGEST_ANSWER = 4 * 1024 * 1024
_LOG_LIMIT = 1024 * 1024
_PASSED_ON = ("TZ", "LANG", "LANGUAGE")


def clean_variables() -> dict[str, str]:
    """Return the environment variables that a subject may see: a plain PATH, the time zone and the locale."""
    kept = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    return {"PATH": os.defpath, **kept}


class Session:
    """A running probe. Use it as a context manager: when it is left, the process and its children are gone."""

    def __init__(self, python: Path, program: Sequence[str | Path] | None = None) -> None:
        """Start the probe (or another `program`) with the Python of an environment."""
        self._run = os.urandom(8).hex()
        self._number = 0
        self._rest = b""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._process = children.start([python, "-I", *(program or [library.probe_folder()])], clean_variables(), cwd="/", **pipes)
        self._commands, self._answers = _present(self._process.stdin), _present(self._process.stdout)
        os.set_blocking(self._commands.fileno(), False)
        self._printed = bytearray()
        self._drain = threading.Thread(target=_keep, args=(self._process.stderr, self._printed), daemon=True)
        self._drain.start()

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the probe."""
        self.end()

    def ask(self, command: str, seconds: float, **fields: Any) -> dict[str, Any]:
        """Send a command and return its answer, or raise `ProbeFailed` if none comes in time that is one."""
        self._number += 1
        request = {"protocol": PROTOCOL, "run": self._run, "id": self._number, "command": command, **fields}
        document.check(request, "message", f"command {command}")
        deadline = time.monotonic() + seconds
        self._send(document.line(request), deadline, command)
        answer = self._parse(self._line(deadline, command), command)
        if (answer.get("run"), answer.get("id")) != (self._run, self._number):
            raise ProbeFailed(f"the probe answered {command} for another run")
        if answer["status"] == "failed":
            raise ProbeFailed(f"the probe failed at {command} with {answer.get('detail', 'no type')[:80]}")
        return answer

    def leave(self, seconds: float) -> None:
        """Ask the probe to end in order, by ending its input, and wait until it has; one that does not raises `ProbeFailed`."""
        self._commands.close()
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ProbeFailed("the probe did not end in time", "timeout") from None
        if code:
            raise ProbeFailed("the probe did not end in order")

    def was_killed(self) -> bool:
        """Tell whether the probe, which has just closed its answers, was ended by SIGKILL and not by this session."""
        try:
            return self._process.wait(_ENDING_SECONDS) == -signal.SIGKILL
        except subprocess.TimeoutExpired:
            return False

    def end(self) -> bytes:
        """Kill the probe and whatever it started, wait until it is gone, and return the beginning of what it printed."""
        children.end(self._process)
        for stream in (self._commands, self._answers):
            with suppress(OSError):
                stream.close()
        self._drain.join(timeout=5)
        return bytes(self._printed)

    def _send(self, data: bytes, deadline: float, command: str) -> None:
        """Write a command; a probe that does not read it is one that does not answer."""
        while data:
            self._wait(self._commands, selectors.EVENT_WRITE, deadline, command)
            try:
                data = data[os.write(self._commands.fileno(), data) :]
            except BlockingIOError:
                continue
            except OSError:
                raise ProbeFailed(f"the probe ended before {command}") from None

    def _line(self, deadline: float, command: str) -> bytes:
        while b"\n" not in self._rest:
            self._wait(self._answers, selectors.EVENT_READ, deadline, command)
            self._read(command)
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _wait(self, stream: IO[bytes], event: int, deadline: float, command: str) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(stream, event)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise ProbeFailed(f"the probe did not answer {command} in time", "timeout")

    def _read(self, command: str) -> None:
        data = os.read(self._answers.fileno(), 65536)
        self._rest += data
        if not data:
            raise ProbeFailed(f"the probe ended at {command}")
        if len(self._rest) > _LONGEST_ANSWER:
            raise ProbeFailed(f"the probe answered {command} with more than {_LONGEST_ANSWER} bytes")

    def _parse(self, line: bytes, command: str) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = document.parse_json(line, command)
            document.check(answer, "message", command)
        except InputRefused:
            raise ProbeFailed(f"the probe answered {command} with something that is no answer") from None
        if "status" not in answer:
            raise ProbeFailed(f"the probe answered {command} with a command")
        return answer


def _keep(stream: IO[bytes] | None, printed: bytearray) -> None:
    """Keep the beginning of a stream and read the rest away, so that a flood neither blocks nor fills anything."""
    with _present(stream) as source:
        while data := os.read(source.fileno(), 65536):
            printed += data[: _LOG_LIMIT - len(printed)]


def _present(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ProbeFailed("the probe has no standard streams")
    return stream
