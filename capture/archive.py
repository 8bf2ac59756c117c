"""The archive way: a record run from the source archive of its commit, as the investigation itself did, and not from wheels.

The archive is unpacked with care, the files that the record pins by digest are checked, and its own uv.lock is synced. That
builds the packages in it, which runs code of theirs: what is trusted is the archive, as far as its pinned files are.
"""

import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from capture import cache, document, installer
from capture.environment import Environment
from capture.errors import EnvironmentFailed, InputRefused
from capture.interpreter import Interpreter
from capture.unpack import MOST_BYTES, unpack

__all__ = ["Source", "opened"]

PROJECT = Path("libs") / "langchain_v1"
_SECONDS = 60
_PIECE = 1024 * 1024


@dataclass(frozen=True)
class Source:
    """An archive that was unpacked and synced: its SHA-256, the project in it, and the environment that runs it."""

    digest: str
    project: Path
    environment: Environment


@contextmanager
def opened(where: str, files: Mapping[str, str], python: Interpreter) -> Iterator[Source]:
    """Give the archive of a file or an address, unpacked, checked against these digests, and synced; then delete it all."""
    with cache.scratch("archive") as place:
        path = _obtained(where, place / "archive")
        top = _unpacked(path, place / "source")
        _refuse_others(top, files)
        yield Source(_digest(path), top / PROJECT, _synced(top / PROJECT, place / "environment", python))


def _obtained(where: str, target: Path) -> Path:
    """Return the path of the archive's bytes, downloaded if they are at an address, up to the limit."""
    if "://" not in where:
        if not Path(where).is_file():
            raise InputRefused(f"--archive {where!a}: there is no such file.", "Give the commit's tar.gz, or its address.")
        return Path(where)
    if not where.startswith(("http://", "https://")):
        raise InputRefused(f"--archive {where!a}: only http and https are addresses here.", "Or give the path of a file.")
    try:
        with urllib.request.urlopen(where, timeout=_SECONDS) as answer, cache.storage(target), target.open("wb") as file:  # noqa: S310 -- checked above
            _copy(answer, file)
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        raise EnvironmentFailed(f"--archive {where!a}: it cannot be had ({type(error).__name__}).", "Check the network.") from None
    return target


def _copy(answer: IO[bytes], file: IO[bytes]) -> None:
    size = 0
    while piece := answer.read(_PIECE):
        size += len(piece)
        if size > MOST_BYTES:
            raise InputRefused(f"--archive: more than {MOST_BYTES} bytes.", "That is no archive of this repository.")
        file.write(piece)


def _digest(path: Path) -> str:
    return document.digest(path.read_bytes())


def _unpacked(path: Path, target: Path) -> Path:
    """Unpack an archive and return its one project's folder; what leads out of it, or too much in it, is refused."""
    try:
        with cache.storage(target):
            unpack(path, target)
    except (tarfile.TarError, EOFError, ValueError, zlib.error) as error:
        raise InputRefused(f"--archive {path}: {str(error)[:200]!a}.", "It is damaged, or not what it should be.") from None
    tops = [found for found in target.iterdir() if (found / PROJECT / "uv.lock").is_file()]
    if len(tops) != 1:
        raise InputRefused(f"--archive {path}: it has no folder with {PROJECT}/uv.lock in it.", "Give the archive of the commit.")
    return tops[0]


def _refuse_others(top: Path, files: Mapping[str, str]) -> None:
    for name, wanted in files.items():
        path = top / name
        found = _digest(path) if path.is_file() and not path.is_symlink() else "none"
        if found != wanted:
            raise InputRefused(f"--archive: {name} has the SHA-256 {found}, the record has {wanted}.", "It is another commit.")


def _synced(project: Path, place: Path, python: Interpreter) -> Environment:
    """Sync the archive's own lock, hashes and all, into an environment."""
    variables = {"UV_PROJECT_ENVIRONMENT": str(place)}
    installer.run(
        "sync", "--frozen", "--group", "test", "--python", str(python.path), "--project", str(project), variables=variables
    )
    return Environment(place)
