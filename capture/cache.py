"""The user's cache: environments, artifacts, and the folders of recent runs. All of it can be deleted at any time."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from capture import children
from capture.errors import InputRefused, StorageFailed

__all__ = ["VARIABLE", "clear", "folder", "locked", "new_run", "root", "scratch"]

VARIABLE = "DISPATCH_AUDIT_CACHE"

_RUNS_KEPT = 20


def root() -> Path:
    """Return the cache's folder: the variable DISPATCH_AUDIT_CACHE, else the place that the platform has for caches."""
    named = os.environ.get(VARIABLE)
    if not named:
        return Path(platformdirs.user_cache_dir("dispatch-audit"))
    try:
        return Path(named).expanduser().absolute()
    except RuntimeError:
        raise InputRefused(f"{VARIABLE}: {named!a} names the home of nobody.", "Set it to the path of a folder.") from None


def folder(name: str) -> Path:
    """Return a folder of the cache, made if it is not there."""
    path = root() / name
    with storage(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn an operating system's refusal to write into the error that says so."""
    try:
        yield
    except OSError as error:
        hint = f"Check its permissions and the free space, or name another folder with --out or {VARIABLE}."
        raise StorageFailed(f"{error.filename or path}: cannot be written ({error.strerror or error}).", hint) from None


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock of this name among all processes that share the cache; it is released when the holder dies."""
    from filelock import FileLock

    path = folder("locks") / f"{name}.lock"
    lock = FileLock(path)
    with storage(path):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """Give a folder to work in, on the cache's own disk, and delete it afterwards; a killed process leaves it to the next."""
    place = folder("scratch") / f"{children.OWNER}-{purpose}-{os.urandom(4).hex()}"
    with storage(place):
        place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def clear() -> None:
    """Delete the working folders of processes that are no longer there."""
    for place in folder("scratch").iterdir():
        if not children.is_alive("-".join(place.name.split("-")[:2])):
            shutil.rmtree(place, ignore_errors=True)


def new_run() -> Path:
    """Make and return the folder of a new run, named by start and process; of the oldest, those are deleted that are over."""
    runs = folder("runs")
    path = runs / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}-{children.OWNER}"
    with storage(path):
        path.mkdir()
    for old in sorted(runs.iterdir())[:-_RUNS_KEPT]:
        if not children.is_alive(old.name.partition("-")[2]):
            shutil.rmtree(old, ignore_errors=True)
    return path
