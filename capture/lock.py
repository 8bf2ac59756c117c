"""A lock: a requirements file with hashes. Only exact versions of registry packages with SHA-256 hashes may stand in it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from packaging.markers import Marker, UndefinedComparison
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from capture import document
from capture.errors import InputRefused

__all__ = ["Lock", "Locked", "lines", "locked", "parse", "versions"]

_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Locked:
    """One line of a lock: a package at a version, where it applies, and the SHA-256 of each of its files."""

    name: str
    version: str
    marker: Marker | None
    hashes: tuple[str, ...]

    def applies(self, environment: Mapping[str, str]) -> bool:
        """Tell whether the package is installed in an environment with these marker variables."""
        try:
            return self.marker is None or self.marker.evaluate(dict(environment))
        except UndefinedComparison as error:
            raise InputRefused(f"{self.name}=={self.version}: its marker cannot be evaluated: {error}.", _HINT) from None


@dataclass(frozen=True)
class Lock:
    """A lock that was read: its path, its SHA-256, and the packages that it allows to be built from source.

    With a `wheelhouse` its packages come from that folder alone, else from the registry. With a `base`, the file of a lock that
    it stands on, both are installed; the digest and the packages are then of both.
    """

    path: Path
    digest: str
    build: tuple[str, ...] = ()
    wheelhouse: Path | None = None
    base: Path | None = None

    def packages(self) -> tuple[Locked, ...]:
        """Return what is locked, that of the base first."""
        return (*(parse(self.base) if self.base else ()), *self.own())

    def own(self) -> tuple[Locked, ...]:
        """Return what is locked without that of the base."""
        return parse(self.path)


def parse(path: Path) -> tuple[Locked, ...]:
    """Return what a lock holds; a line that is anything but an exact version with hashes is refused."""
    text = document.read(path).decode("utf-8", "replace")
    return tuple(locked(line, f"{path}, line {number}") for number, line in lines(text))


def versions(path: Path) -> Mapping[str, str]:
    """Return the version of each package of a lock; one that differs between platforms keeps the last."""
    return {package.name: package.version for package in parse(path)}


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line that says something, with the number of its first part; a backslash continues a line, but no comment."""
    whole, first = "", 1
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if not whole and line.lstrip().startswith("#"):
            continue
        whole, first = (whole, first) if whole else ("", number)
        whole += line.removesuffix("\\") + " "
        if not line.endswith("\\"):
            if whole.strip():
                yield first, whole.strip()
            whole = ""


def locked(line: str, where: str) -> Locked:
    """Return what one whole line locks; `where` names it in the refusal."""
    try:
        return _locked(line)
    except ValueError as error:
        raise InputRefused(f"{where}: {line[:80]!a} {error}.", _HINT) from None


@lru_cache(4096)
def _locked(line: str) -> Locked:
    # Kept, since the locks of neighbouring releases have most lines in common, and there are many pins.
    required, *options = re.split(r"\s+(?=--)", line)
    hashes = [_HASH.fullmatch(option.strip()) for option in options]
    try:
        requirement = Requirement(required)
    except InvalidRequirement:
        raise ValueError("is no requirement") from None
    exact = [pin for pin in requirement.specifier if pin.operator == "==" and not pin.version.endswith("*")]
    if requirement.url or len(exact) != 1 or len(requirement.specifier) != 1 or not hashes or None in hashes:
        raise ValueError("is not an exact version with SHA-256 hashes")
    found = tuple(match.group(1) for match in hashes if match)
    return Locked(canonicalize_name(requirement.name), exact[0].version, requirement.marker, found)


_HINT = "A lock holds exact versions of registry packages with hashes, and nothing else: no options, no addresses, no paths."
