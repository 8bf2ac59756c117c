"""Adoption: a lock that somebody else made, as a lock of ours: the same versions and hashes, without addresses and paths."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.markers import Marker
from packaging.pylock import Package, PackageSdist, PackageWheel, Pylock, PylockUnsupportedVersionError, PylockValidationError
from packaging.specifiers import SpecifierSet

from capture import document
from capture import lock as lock_of
from capture.errors import InputRefused
from capture.lock import Locked
from capture.order import AUDITED, Order, second_after

__all__ = ["order"]

_PYTHON = SpecifierSet(">=3.11")

_SOURCES = re.compile(
    r"(-i|-f|--(index-url|extra-index-url|no-index|find-links|trusted-host|pre|prefer-binary|require-hashes|no-binary|only-binary))"
    r"([\s=].*)?"
)
"""Options that say where packages come from: that is the installer's to know, and no pin names a host."""

_OTHER_HASH = re.compile(r"\s--hash[= ](?!sha256:)\S+")

_HASHED = "Hash it first: `uv pip compile --no-deps --generate-hashes --output-file hashed.txt requirements.txt`."
_EXACT = "Leave out your own code and what comes from a path or an address: a pin holds what a registry has."
_EXPORTED = "Export it: `uv export --format requirements.txt`, or your tool's like, and give that file."


def order(path: Path, as_of: str | None) -> Order:
    """Return the order for the packages of a requirements file with hashes, or of a pylock.toml."""
    if path.name.endswith(".lock"):
        raise InputRefused(f"{path}: that is neither a requirements file nor a pylock.toml.", _EXPORTED)
    python, found, newest = _pylock(path) if path.suffix == ".toml" else (_PYTHON, list(_requirements(path)), None)
    _refuse_twice(found, path)
    versions = {locked.name: locked.version for locked in found}
    if AUDITED not in versions:
        raise InputRefused(f"{path}: it has no {AUDITED}.", "Give the lock of a project that uses it.")
    return Order({AUDITED: versions[AUDITED]}, as_of=as_of or newest, lock=_written(found), python=str(python))


def _requirements(path: Path) -> Iterator[Locked]:
    for number, whole in lock_of.lines(document.read(path).decode("utf-8-sig", "replace")):
        line = re.sub(r"(^|\s)#.*", "", whole).strip()
        if not line or _SOURCES.fullmatch(line):
            continue
        where = f"{path}, line {number}"
        line = _OTHER_HASH.sub("", line.replace("--hash sha256:", "--hash=sha256:"))
        if re.match(r"[A-Za-z0-9]", line) and "--hash=" not in line and "@" not in line:
            raise InputRefused(f"{where}: {line[:80]!a} has no SHA-256 hash, so nobody can tell which bytes it means.", _HASHED)
        try:
            yield lock_of.locked(line, where)
        except InputRefused as error:
            raise InputRefused(error.message, _EXACT) from None


def _pylock(path: Path) -> tuple[SpecifierSet, list[Locked], str | None]:
    try:
        found = Pylock.from_dict(document.read_toml(path))
    except (PylockValidationError, PylockUnsupportedVersionError) as error:
        raise InputRefused(f"{path}: not a pylock.toml: {str(error).rstrip('.')!a}.", _EXPORTED) from None
    packages = [_package(package, path) for package in found.packages]
    return _PYTHON & (found.requires_python or SpecifierSet()), packages, _newest(found.packages)


def _package(package: Package, path: Path) -> Locked:
    where = f"{path}: package {package.name}"
    if package.is_direct or package.version is None:
        raise InputRefused(f"{where}: it has no version of a registry.", _EXACT)
    if re.search(r"\b(extras|dependency_groups)\b", str(package.marker)):
        raise InputRefused(f"{where}: its marker asks which extras and groups are chosen.", "Export the lock of one choice.")
    hashes = tuple(file.hashes.get("sha256", "").lower() for file in _files(package))
    if not all(re.fullmatch("[0-9a-f]{64}", value) for value in hashes):
        raise InputRefused(f"{where}: one of its files has no SHA-256, so nobody can tell which bytes it means.", _EXPORTED)
    return Locked(package.name, str(package.version), package.marker, hashes)


def _files(package: Package) -> list[PackageWheel | PackageSdist]:
    return [*(package.wheels or ()), *([package.sdist] if package.sdist else [])]


def _newest(packages: Iterable[Package]) -> str | None:
    """Return when the newest file was uploaded, if the lock says it of each: then the registry need not be asked for all."""
    times = [file.upload_time for package in packages for file in _files(package)]
    known = [time for time in times if time and time.tzinfo]
    return second_after(max(known)) if known and len(known) == len(times) else None


def _refuse_twice(found: Iterable[Locked], path: Path) -> None:
    seen: set[tuple[str, Marker | None]] = set()
    for locked in found:
        if (locked.name, locked.marker) in seen:
            raise InputRefused(f"{path}: {locked.name} stands twice.", "Lock each package once.")
        seen.add((locked.name, locked.marker))


def _written(found: Iterable[Locked]) -> bytes:
    """Return the bytes of a lock, in an order of their own, so that the same lock is the same pin whoever wrote it."""
    return "".join(sorted(_line(locked) for locked in found)).encode()


def _line(locked: Locked) -> str:
    marker = f" ; {locked.marker}" if locked.marker else ""
    return (
        " \\\n    ".join(
            [f"{locked.name}=={locked.version}{marker}", *(f"--hash=sha256:{value}" for value in sorted(set(locked.hashes)))]
        )
        + "\n"
    )
