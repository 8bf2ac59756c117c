"""Children: every process that the orchestrator starts, so that none of them outlives it or what it was started for.

Each is the leader of a group of its own and carries a mark in its environment, which its own children inherit. Where the
system shows environments (Linux, under /proc), one that left its group is found by the mark; so is one whose orchestrator
was killed, by the next orchestrator.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from capture.errors import Interrupted

__all__ = ["OWNER", "clear", "end", "end_all", "end_in", "is_alive", "run", "start"]

MARK = "DISPATCH_AUDIT_CHILD"

_PROCESSES = Path("/proc")

_GONE_SECONDS = 5.0

_living: dict[int, tuple[subprocess.Popen[bytes], str]] = {}
_numbers = count(1)
_stopping = False


def _started_at(pid: int) -> str:
    """Return when a process was started, in the system's own ticks, or nothing if it is not there or cannot be asked."""
    try:
        return (_PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


OWNER = f"{os.getpid()}-{_started_at(os.getpid())}"
"""This process, by its number and its start, since numbers are used again."""


def is_alive(owner: str) -> bool:
    """Tell whether the process that a mark or a folder names as its owner is still there."""
    number, _, started = owner.partition("-")
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        pass
    return _started_at(int(number)) == started


def start(arguments: Sequence[str | Path], variables: Mapping[str, str], **options: Any) -> "subprocess.Popen[bytes]":
    """Start a child with these environment variables and a mark; `options` are those of `subprocess.Popen`."""
    if _stopping:
        raise Interrupted
    mark = f"{OWNER}/{next(_numbers)}"
    process = subprocess.Popen(arguments, env={**variables, MARK: mark}, start_new_session=True, **options)
    _living[process.pid] = (process, mark)
    return process


def run(
    arguments: Sequence[str | Path],
    variables: Mapping[str, str],
    seconds: float | None = None,
    cwd: Path | None = None,
    **options: Any,
) -> "subprocess.CompletedProcess[bytes]":
    """Run a child to its end and return what it printed; past its limit it is ended and `TimeoutExpired` raised.

    `options` are those of `subprocess.Popen`.
    """
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = start(arguments, variables, cwd=cwd, **pipes, **options)
    try:
        printed, said = process.communicate(timeout=seconds)
    finally:
        end(process)
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
    if _stopping:
        raise Interrupted
    return subprocess.CompletedProcess(arguments, process.returncode, printed, said)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill a child, its group and whatever else carries its mark, and wait until it is gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    _, mark = _living.pop(process.pid, (process, ""))
    for pid, found in _marked():
        if found == mark:
            _kill(pid)


def end_in(folder: Path, program: str) -> None:
    """Kill every process of a program that works in a folder or below it, and wait a while until all of them are gone.

    For what can be found in no other way: PostgreSQL's processes leave the group, and write their title over their mark.
    """
    deadline = time.monotonic() + _GONE_SECONDS
    while (found := list(_working(folder, program))) and time.monotonic() < deadline:
        for pid in found:
            _kill(pid)
        time.sleep(0.005)


def end_all() -> None:
    """Kill every child, and start none any more: the orchestrator itself is to end."""
    global _stopping  # noqa: PLW0603 -- one process, one end
    _stopping = True
    for process, _ in list(_living.values()):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def clear() -> None:
    """Kill what an orchestrator that is no longer there has left behind."""
    for pid, mark in _marked():
        if not is_alive(mark.partition("/")[0]):
            _kill(pid)


def _marked() -> Iterator[tuple[int, str]]:
    prefix = f"{MARK}=".encode()
    for path in _PROCESSES.glob("[0-9]*/environ"):
        with suppress(OSError):
            for variable in path.read_bytes().split(b"\0"):
                if variable.startswith(prefix):
                    yield int(path.parent.name), variable.removeprefix(prefix).decode("utf-8", "replace")


def _working(folder: Path, program: str) -> Iterator[int]:
    """Yield the number of each process of a program that works in a folder or below it; one that has ended works nowhere."""
    real = folder.resolve()
    for path in _PROCESSES.glob("[0-9]*"):
        with suppress(OSError):
            # Its name before its folder: a process that ends loses the folder last, when its memory is given back.
            if (path / "comm").read_text().strip() == program and (path / "cwd").readlink().is_relative_to(real):
                yield int(path.name)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
