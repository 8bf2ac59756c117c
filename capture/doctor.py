"""The doctor: what works on this machine and what does not, each with what to do about it. Nothing is changed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from capture import cache, children, installer, interpreter, library, postgres, registry
from capture.document import Document
from capture.errors import AuditError

__all__ = ["examine"]

LEAST_FREE = 2 * 1024**3
"""Bytes on the cache's disk below which there is no room for some environments and what they are built from."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it works, what was found, what to do; `needed` if nothing works without it."""

    thing: str
    works: bool
    needed: bool
    found: str
    advice: str


def examine() -> Document:
    """Look at everything and return what was found; `well` is whether everything that is needed works."""
    findings = [finding for look in _LOOKS for finding in look()]
    return {
        "diagnosis": 1,
        "well": all(finding.works for finding in findings if finding.needed),
        "findings": [asdict(finding) for finding in findings],
    }


def _pythons() -> Iterator[Finding]:
    """Look at the Python that runs this, and list the others from 3.11 on that are easily found, for --python."""
    own = interpreter.find(None)
    yield Finding("Python", True, True, f"{own.implementation} {own.version}, {own.path}", "")
    for path in _others():
        try:
            found = interpreter.find(str(path))
        except AuditError as error:
            yield Finding("another Python", False, False, error.message, "Leave it, or install it again.")
            continue
        if [int(part) for part in found.version.split(".")[:2]] >= [3, 11]:
            yield Finding("another Python", True, False, f"{found.implementation} {found.version}, {path}", "")


def _others() -> list[Path]:
    """Return the Pythons on the search path and those that pyenv keeps, each once; pyenv's shims are not Pythons."""
    named = [Path(found) for minor in range(11, 16) if (found := shutil.which(f"python3.{minor}"))]
    kept = sorted(Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv").glob("versions/3.*/bin/python3"))
    real = {path.resolve(): path for path in reversed([*named, *kept]) if path.is_file() and "shims" not in path.parts}
    return sorted(path for target, path in real.items() if target != Path(sys.executable).resolve())


def _uv() -> Iterator[Finding]:
    try:
        yield Finding("uv", True, True, installer.run("--version").strip(), "")
    except AuditError as error:
        yield Finding("uv", False, True, error.message, error.hint)


def _registry() -> Iterator[Finding]:
    try:
        count = len(registry.files("langchain"))
    except AuditError as error:
        advice = "What is cached works without it; `reproduce --wheelhouse` needs none."
        yield Finding("registry", False, False, error.message, advice)
    else:
        yield Finding("registry", True, False, f"answers, with {count} files of langchain", "")


def _cache() -> Iterator[Finding]:
    place = cache.root()
    try:
        with cache.scratch("doctor") as scratch:
            (scratch / "file").write_bytes(b"x")
    except AuditError as error:
        yield Finding("cache", False, True, error.message, error.hint)
        return
    environments = len(list((place / "environments").glob("*")))
    size = sum(path.lstat().st_size for path in place.rglob("*") if path.is_file())
    yield Finding(
        "cache", True, True, f"{place}: {environments} environments, {size / 1e6:.0f} MB", "It may be deleted at any time."
    )
    free = shutil.disk_usage(place).free
    advice = "" if free >= LEAST_FREE else f"Free some, or set {cache.VARIABLE} to another disk."
    yield Finding("free disk", free >= LEAST_FREE, False, f"{free / 1e9:.1f} GB", advice)


_TRY = """
import sys
sys.path.insert(0, sys.argv[1])
from probe import network
network.block()
import socket
for attempt in (lambda: socket.create_connection(("127.0.0.1", 9), 1), lambda: socket.getaddrinfo("localhost", 9)):
    try:
        attempt()
    except network.NetworkBlocked:
        continue
    sys.exit("an attempt got through")
"""


def _network_block() -> Iterator[Finding]:
    """Try to call out from under the probe's own block."""
    command = [sys.executable, "-I", "-c", _TRY, str(library.probe_folder())]
    try:
        done = children.run(command, {"PATH": os.defpath}, 60.0)
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("network block of the probe", False, True, type(error).__name__, "Run it again.")
        return
    held = done.returncode == 0
    found = "connections and look-ups are refused" if held else said[-1]
    yield Finding("network block of the probe", held, True, found, "" if held else "Report it.")


def _processes() -> Iterator[Finding]:
    shown = Path("/proc/self/environ").is_file()
    advice = "" if shown else "A process that leaves its group, or that a killed run left, has to be ended by hand."
    yield Finding(
        "clean-up of processes", shown, False, "by their mark in /proc" if shown else "this system does not show marks", advice
    )


def _postgres() -> Iterator[Finding]:
    """Say whether the cases that keep their thread in PostgreSQL have a server here; none is started."""
    try:
        yield Finding("PostgreSQL", True, False, postgres.outlook(interpreter.find(None)), "")
    except AuditError as error:
        yield Finding("PostgreSQL", False, False, error.message, error.hint)


def _program(thing: str, names: tuple[str, ...], advice: str) -> Iterator[Finding]:
    path = next(filter(None, map(shutil.which, names)), None)
    yield Finding(thing, path is not None, False, path or "none on the search path", "" if path else advice)


_LOOKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _pythons,
    _uv,
    _registry,
    _cache,
    _network_block,
    _processes,
    lambda: _program("browser", ("chromium", "chromium-browser", "google-chrome"), "Nothing here needs one yet."),
    _postgres,
)
