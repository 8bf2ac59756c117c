"""Environments: built by uv from a hash lock, kept by the digest of lock and Python, and never used half-built."""

import json
import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capture import cache, document, installer
from capture.errors import InputRefused
from capture.interpreter import Interpreter, plain
from capture.pin import Lock, Pin

__all__ = ["Environment", "differences", "ensure", "refuse_python"]

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


def ensure(lock: Lock, python: Interpreter) -> Environment:
    """Return the environment of a lock and a Python, building it if it is not there; two at once build it once."""
    key = document.digest(f"{lock.digest}\n{python.identity}\n".encode())[:32]
    found = Environment(cache.root() / "environments" / key)
    if _whole(found):
        return found
    with cache.locked(f"environment-{key}"):
        if not _whole(found):
            _build(found, lock, python)
    return found


def refuse_python(pin: Pin, python: Interpreter) -> None:
    """Refuse a Python that the pin does not allow."""
    if not pin.python.contains(plain(python.version), prereleases=True):
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


def _whole(environment: Environment) -> bool:
    return (environment.path / _MARKER).is_file() and environment.python.exists()


def _build(environment: Environment, lock: Lock, python: Interpreter) -> None:
    _LOG.info("building the environment of %s with Python %s; it is kept in the cache", _title(lock), python.version)
    place = cache.folder("environments") / f"{environment.path.name}.building"
    with cache.storage(place):
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(environment.path, ignore_errors=True)
    installer.run("venv", "--no-project", "--relocatable", "--python", str(python.path), str(place))
    installer.run(
        "pip",
        "sync",
        "--require-hashes",
        "--link-mode",
        "hardlink",
        *_sources(lock),
        "--python",
        str(place / "bin" / "python"),
        str(lock.path),
    )
    with cache.storage(place):
        (place / _MARKER).write_text(
            json.dumps({"lock": lock.digest, "python": python.version, "uv": installer.version()}), encoding="utf-8"
        )
        place.rename(environment.path)


def _title(lock: Lock) -> str:
    return f"{lock.path.parent.resolve().name}/{lock.path.name}"


def _sources(lock: Lock) -> list[str]:
    """Return the options that keep code from running at install: wheels only, but for what the pin names as having none."""
    options = ["--only-binary", ":all:"]
    for name in lock.build:
        options += ["--no-binary", name]
    return [*options, "--require-build-hashes", "--build-constraints", str(lock.path)] if lock.build else options
