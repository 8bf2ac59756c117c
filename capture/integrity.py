"""Integrity: whether an environment's files are still those that its wheels brought, by the RECORD of each distribution.

An environment is a cache: a disk, a person or another program may have changed it. What is looked at is every file that may
be imported: changed, missing, or brought by no wheel. Compiled bytecode is left out; Python checks it against its source.
"""

import base64
import csv
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from capture.document import digest

__all__ = ["Damage", "damage", "records"]

_OURS = ("_virtualenv.py", "_virtualenv.pth")
"""What the installer itself puts beside the packages."""


class Damage(NamedTuple):
    """A file that is not as it was installed: what is wrong with it, and the distribution that brought it, if any did."""

    what: str
    distribution: str | None = None


def records(environment: Path) -> Mapping[str, str]:
    """Return the SHA-256 of the RECORD of each distribution, by the path of its folder: what was installed."""
    place = _packages(environment)
    return {path.parent.name: digest(path.read_bytes()) for path in sorted(place.glob("*.dist-info/RECORD"))}


def damage(environment: Path, installed: Mapping[str, str]) -> Iterator[Damage]:
    """Yield each file that is not as it was installed, by its path below the environment's packages, with what is wrong."""
    place = _packages(environment)
    if records(environment) != installed:
        yield Damage("the distributions are not those that were installed")
        return
    known: set[str] = set()
    for folder in installed:
        for name, wanted in _rows(place / folder / "RECORD"):
            known.add(name)
            if wrong := _wrong(f"{place}/{name}", wanted):
                yield Damage(f"{name} {wrong}", folder.partition("-")[0])
    for name in _found(place):
        if name not in known:
            yield Damage(f"{name} was brought by no wheel")


def _packages(environment: Path) -> Path:
    return next(environment.glob("lib/python*/site-packages"), environment / "site-packages")


def _rows(record: Path) -> Iterator[tuple[str, str]]:
    for row in csv.reader(record.read_text(encoding="utf-8").splitlines()):
        yield row[0], row[1]


def _wrong(path: str, wanted: str) -> str | None:
    # Plain names, here and below: paths as objects take twice as long as reading thousands of files and their digests.
    try:
        with open(path, "rb") as file:  # noqa: PTH123 -- as above
            data = file.read()
    except OSError:
        return "is missing"
    return "was changed" if wanted and wanted != _encoded(data) else None


def _encoded(data: bytes) -> str:
    value = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={value}"


def _found(place: Path) -> Iterator[str]:
    for folder, below, files in os.walk(place):
        below[:] = [name for name in below if name != "__pycache__"]
        inside = folder.removeprefix(str(place)).removeprefix("/")
        yield from (f"{inside}/{name}" if inside else name for name in files if name not in _OURS)
