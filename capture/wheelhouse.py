"""A wheelhouse: a folder with every artifact of a pin, so that the pin can be had years later, without a registry."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.markers import default_environment
from packaging.tags import Tag, compatible_tags, cpython_tags, platform_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from capture import cache, document, registry
from capture.errors import EnvironmentFailed, InputRefused
from capture.interpreter import Interpreter
from capture.lock import Lock, Locked
from capture.pin import Pin
from capture.registry import File

__all__ = ["fetch", "find", "only"]


def fetch(pin: Pin, folder: Path, python: Interpreter, *, everything: bool) -> Iterator[str]:
    """Put the artifacts of a pin, its checkpointers and its upstream tests into a folder; yield what was done, or is missing.

    Those that this machine and Python need; or `everything` that the locks name, for every platform. A file that is there
    already is not fetched again.
    """
    with cache.storage(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for name, wanted in _wanted(pin, python, everything=everything).items():
        for file in registry.files(name):
            if file.sha256 in wanted:
                yield from _put(file, folder)
    if pin.upstream is not None:
        source = pin.artifact("langchain", "sdist")
        yield from (found for file in registry.files("langchain") if file.sha256 == source.sha256 for found in _put(file, folder))
    for missing in _missing(pin, _all_locks(pin), folder, python):
        raise EnvironmentFailed(
            f"{missing}: the registry does not have it any more.", "Somebody who fetched it before may have it."
        )


def only(pin: Pin, folder: Path, python: Interpreter) -> Pin:
    """Return the pin with its artifacts from a folder alone; one that this Python needs and that is not there is named.

    The checkpointers are not asked for: a wheelhouse from before a pin had them serves all cases but theirs.
    """
    if not folder.is_dir():
        raise InputRefused(f"--wheelhouse {folder}: there is no such folder.", "`dispatch-audit pin fetch` makes one.")
    for missing in _missing(pin, _locks(pin), folder, python):
        raise EnvironmentFailed(f"{missing}: it is not in the wheelhouse {folder}.", "`dispatch-audit pin fetch` puts it there.")
    upstream = pin.upstream and replace(pin.upstream, lock=replace(pin.upstream.lock, wheelhouse=folder))
    checkpointers = pin.checkpointers and replace(pin.checkpointers, wheelhouse=folder)
    return replace(pin, lock=replace(pin.lock, wheelhouse=folder), upstream=upstream, checkpointers=checkpointers)


def find(folder: Path, sha256: str) -> Path | None:
    """Return the file of a folder that has this SHA-256, or None."""
    return next(
        (path for path in sorted(folder.iterdir()) if path.is_file() and document.digest(document.read(path)) == sha256), None
    )


def _locks(pin: Pin) -> Sequence[Lock]:
    return [pin.lock, pin.upstream.lock] if pin.upstream else [pin.lock]


def _all_locks(pin: Pin) -> Sequence[Lock]:
    return [*_locks(pin), pin.checkpointers] if pin.checkpointers else _locks(pin)


def _applying(locks: Iterable[Lock], python: Interpreter) -> Iterator[tuple[Lock, Locked]]:
    variables = _variables(python)
    for lock in locks:
        yield from ((lock, locked) for locked in lock.own() if locked.applies(variables))


def _variables(python: Interpreter) -> Mapping[str, str]:
    short = ".".join(python.version.split(".")[:2])
    found = {key: str(value) for key, value in default_environment().items()}
    return {**found, "python_version": short, "python_full_version": python.version, "implementation_version": python.version}


def _wanted(pin: Pin, python: Interpreter, *, everything: bool) -> Mapping[str, set[str]]:
    """Return the SHA-256 of what is wanted of each project."""
    wanted: dict[str, set[str]] = {}
    locks = _all_locks(pin)
    packages = [(lock, locked) for lock in locks for locked in lock.own()] if everything else list(_applying(locks, python))
    tags = _tags(python)
    for lock, locked in packages:
        files = [] if everything else [file for file in registry.files(locked.name) if file.sha256 in locked.hashes]
        found = set(locked.hashes) if everything else {file.sha256 for file in files if _fits(file.name, lock, locked, tags)}
        wanted.setdefault(locked.name, set()).update(found)
    return wanted


def _tags(python: Interpreter) -> frozenset[Tag]:
    version = [int(part) for part in python.version.split(".")[:2]]
    platforms = list(platform_tags())
    interpreter = f"cp{version[0]}{version[1]}"
    return frozenset([*cpython_tags(version, platforms=platforms), *compatible_tags(version, interpreter, platforms)])


def _fits(name: str, lock: Lock, locked: Locked, tags: frozenset[Tag]) -> bool:
    """Tell whether a file can be installed here: a wheel with a tag of this Python, or a source that the lock lets be built."""
    if locked.name in lock.build:
        return name.endswith((".tar.gz", ".zip"))
    try:
        return bool(parse_wheel_filename(name)[3] & tags)
    except InvalidWheelFilename:
        return False


def _missing(pin: Pin, locks: Iterable[Lock], folder: Path, python: Interpreter) -> Iterator[str]:
    """Yield each artifact of these locks that this Python needs and of which no file that fits is in a folder, by package URL."""
    there = {document.digest(document.read(path)): path.name for path in folder.iterdir() if path.is_file()}
    tags = _tags(python)
    for lock, locked in _applying(locks, python):
        if not any(value in there and _fits(there[value], lock, locked, tags) for value in locked.hashes):
            yield f"pkg:pypi/{locked.name}@{locked.version}"
    if pin.upstream is not None:
        source = pin.artifact("langchain", "sdist")
        if source.sha256 not in there:
            yield f"{source.purl} (sdist)"


def _put(file: File, folder: Path) -> Iterator[str]:
    path = folder / file.name
    if path.is_file() and document.digest(document.read(path)) == file.sha256:
        return
    with cache.storage(path):
        registry.download(file, path)
    yield f"{file.name}{' (yanked)' if file.yanked else ''}"
