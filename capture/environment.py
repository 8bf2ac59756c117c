"""Environments: built by uv from a hash lock, kept by the digest of lock and Python, and never used half-built."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from capture import cache, document, installer, integrity
from capture.errors import EnvironmentFailed, InputRefused
from capture.interpreter import Interpreter, plain

if TYPE_CHECKING:
    # A probe is started with this module before anything is read, so what only types need is not imported.
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from capture.integrity import Damage
    from capture.lock import Lock
    from capture.pin import Pin

__all__ = ["Environment", "allows", "damage", "differences", "ensure", "is_there", "of", "rebuild", "refuse_python", "sound"]

_LOG = logging.getLogger(__name__)

_MARKER = "dispatch-audit.json"


@dataclass(frozen=True)
class Environment:
    """A virtual environment that was built whole."""

    path: Path

    @property
    def python(self) -> Path:
        """The environment's own Python."""
        return self.path / "bin" / "python"

    @property
    def whole(self) -> bool:
        """Whether it was built to its end and its Python is still there."""
        return (self.path / _MARKER).is_file() and self.python.exists()

    def generation(self) -> bytes:
        """Return what tells this building of the environment from any other at the same place; nothing if there is none."""
        try:
            return (self.path / _MARKER).read_bytes()
        except OSError:
            return b""


def of(lock: str, python: Interpreter) -> Environment:
    """Return where the environment of a Python and of the lock with this SHA-256 is, or would be."""
    key = document.digest(f"{lock}\n{python.identity}\n".encode())[:32]
    return Environment(cache.root() / "environments" / key)


def ensure(lock: Lock, python: Interpreter) -> Environment:
    """Return the environment of a lock and a Python, building it if it is not there; two at once build it once."""
    found = of(lock.digest, python)
    if found.whole:
        return found
    with cache.locked(f"environment-{found.path.name}"):
        if not found.whole:
            _build(found, lock, python)
    return found


def damage(environment: Environment) -> str | None:
    """Return the first thing that is not as it was installed in an environment, or None."""
    if not environment.whole:
        return "it is not whole"
    try:
        marker = document.parse_json(environment.generation(), str(environment.path / _MARKER))
        found = next(integrity.damage(environment.path, marker.get("records", {})), None)
    except (OSError, InputRefused):
        return "it changed while it was looked at"
    return found.what if found else None


def rebuild(lock: Lock, python: Interpreter) -> Environment:
    """Build an environment again that is not as it was installed."""
    found = of(lock.digest, python)
    with cache.locked(f"environment-{found.path.name}"):
        reason = damage(found)
        if reason:
            _LOG.info("the environment of %s is damaged: %s", _title(lock), reason)
            _build(found, lock, python)
    return found


def sound(lock: Lock, python: Interpreter) -> Environment:
    """Return the environment of a lock and a Python, as it was installed; one that is not is built again."""
    found = ensure(lock, python)
    return rebuild(lock, python) if damage(found) else found


def is_there(lock: Lock, python: Interpreter) -> bool:
    """Tell whether the environment of a lock and a Python is built already."""
    return of(lock.digest, python).whole


def allows(pin: Pin, python: Interpreter) -> bool:
    """Tell whether a pin allows a Python."""
    return pin.python.contains(plain(python.version), prereleases=True)


def refuse_python(pin: Pin, python: Interpreter) -> None:
    """Refuse a Python that the pin does not allow."""
    if not allows(pin, python):
        raise InputRefused(
            f"pin {pin.name}: key python: Python {python.version} is not allowed, only {pin.python}.",
            "Name another with --python PATH.",
        )


def differences(pin: Pin, seen: Mapping[str, Any]) -> list[str]:
    """Return what the environment, read from inside, has otherwise than the pin says."""
    found = []
    for kind, wanted in (("packages", pin.packages), ("files", pin.files)):
        for name, value in wanted.items():
            if seen[kind].get(name) != value:
                found.append(f"key {kind}.{name}: pinned is {value}, the environment has {seen[kind].get(name) or 'none'}")
    return found


def _build(environment: Environment, lock: Lock, python: Interpreter) -> None:
    _LOG.info("building the environment of %s with Python %s; it is kept in the cache", _title(lock), python.version)
    with cache.scratch("environment") as scratch:
        place = scratch / "environment"
        installer.run("venv", "--no-project", "--relocatable", "--python", str(python.path), str(place))
        _install_from_cache(place, lock)
        if found := list(integrity.damage(place, integrity.records(place))):
            # The installer links from its own cache; what is damaged there is had afresh, past it.
            _install(place, lock, "--no-cache", *_afresh(found))
            for left in integrity.damage(place, integrity.records(place)):
                raise EnvironmentFailed(
                    f"the environment of {_title(lock)}: {left.what}, right after it was installed.", "Check the disk."
                )
        marker = {
            "lock": lock.digest,
            "python": python.version,
            "records": integrity.records(place),
            "generation": os.urandom(16).hex(),
        }
        document.write(place / _MARKER, document.canonical(marker))
        cache.folder("environments")
        with cache.storage(place):
            if environment.path.exists():
                environment.path.rename(scratch / "old")
            place.rename(environment.path)


def _install_from_cache(place: Path, lock: Lock) -> None:
    """Install what the installer has already without asking the registry, which takes longer than installing; else ask it."""
    if not lock.wheelhouse:
        with suppress(EnvironmentFailed):
            return _install(place, lock, "--offline")
    return _install(place, lock)


def _install(place: Path, lock: Lock, *options: str) -> None:
    python = str(place / "bin" / "python")
    sync = ["pip", "sync", "--require-hashes", "--link-mode", "hardlink", *_sources(lock), *_alone(lock), *options]
    files = [str(path) for path in (lock.base, lock.path) if path]
    installer.run(*sync, "--python", python, *files)


def _afresh(found: Iterable[Damage]) -> list[str]:
    """Return the options that install again what is damaged; all of it, if something is damaged that no distribution brought."""
    names = {damage.distribution for damage in found}
    return (
        ["--reinstall"] if None in names else [word for name in sorted(map(str, names)) for word in ("--reinstall-package", name)]
    )


def _alone(lock: Lock) -> list[str]:
    return ["--offline", "--no-index", "--find-links", str(lock.wheelhouse.absolute())] if lock.wheelhouse else []


def _title(lock: Lock) -> str:
    return f"{lock.path.parent.resolve().name}/{lock.path.name}"


def _sources(lock: Lock) -> list[str]:
    """Return the options that keep code from running at install: wheels only, but for what the pin names as having none."""
    options = ["--only-binary", ":all:"]
    for name in lock.build:
        options += ["--no-binary", name]
    return [*options, "--require-build-hashes", "--build-constraints", str(lock.path)] if lock.build else options
