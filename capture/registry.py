"""The package registry: which files a release has, and their bytes by SHA-256. Its address is the installer's, never ours."""

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache as cache_of
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from capture import cache, document
from capture.errors import EnvironmentFailed
from capture.pin import Artifact

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage, PyPISimple

__all__ = ["File", "Release", "download", "fetch", "files", "listed", "look_up", "release", "releases", "stable"]

_SECONDS = 60
_AT_ONCE = 8


@dataclass(frozen=True)
class Release:
    """The wheel and the source distribution of a release, when the first was uploaded, and why it was yanked, if it was."""

    artifacts: tuple[Artifact, ...]
    uploaded: datetime | None
    yanked: str | None


@dataclass(frozen=True)
class File:
    """A file of a project in the registry: its name, its SHA-256, and whether it was yanked."""

    name: str
    sha256: str
    yanked: bool
    package: "DistributionPackage"


def files(name: str) -> tuple[File, ...]:
    """Return every wheel and source distribution of a project; one whose name is a path is left out."""
    found = _files(name)
    if found is None:
        raise EnvironmentFailed(f"{name}: the registry has no such project.", "Check the name.")
    return found


def listed(name: str, version: str) -> tuple[File, ...]:
    """Return the files that the registry lists for a version of a project; none if there is no such project."""
    wanted = _version(version)
    return _versions(name).get(wanted, ()) if wanted else ()


def look_up(names: Iterable[str]) -> None:
    """Ask about several projects at once, so that asking about one of them afterwards costs nothing."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(_files, dict.fromkeys(names)))


def stable(name: str) -> list[str]:
    """Return the versions of a project that are no pre-releases, in their order."""
    files(name)
    return [str(version) for version in sorted(_versions(name)) if not version.is_prerelease]


def releases(name: str) -> Mapping[str, str | None]:
    """Return the versions of a project in their order, pre-releases too, each with why it was yanked, or None."""
    files(name)
    found = _versions(name)
    return {str(version): _yanked([file.package for file in found[version]]) for version in sorted(found)}


@cache_of
def _versions(name: str) -> Mapping[Version, tuple[File, ...]]:
    """Return the files of each version of a project; a large one has thousands of files, so versions are read once each."""
    found: dict[str, list[File]] = {}
    for file in _files(name) or ():
        found.setdefault(file.package.version or "", []).append(file)
    return {version: tuple(found[text]) for text in found if (version := _version(text))}


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


@cache_of
def _files(name: str) -> tuple[File, ...] | None:
    """Return what the first index that has the project says, as the installer does, or None if no index has it."""
    for address in _addresses():
        with _asked(name, address) as client:
            page = _page(client, name)
        if page is not None:
            return tuple(
                File(package.filename, package.digests["sha256"], bool(package.is_yanked), package)
                for package in page
                if "sha256" in package.digests and package.filename == Path(package.filename).name
            )
    return None


def release(name: str, version: str) -> Release:
    """Return what the registry has of a release; wheels for one platform only are left out, since a pin fits all."""
    files(name)
    found = [file.package for file in listed(name, version) if _fits_all(file.package)]
    if not found:
        raise EnvironmentFailed(f"{name} {version}: the registry has no such release.", "Check the name and the version.")
    times = [package.upload_time for package in found if package.upload_time]
    artifacts = tuple(_artifact(name, version, package) for package in found)
    return Release(artifacts, min(times, default=None), _yanked(found))


def fetch(artifact: Artifact) -> Path:
    """Return the path of an artifact's bytes in the cache, downloaded if they are not there; other bytes are refused."""
    path = cache.folder("artifacts") / artifact.sha256
    with cache.locked(f"artifact-{artifact.sha256}"):
        if not path.is_file() or document.digest(document.read(path)) != artifact.sha256:
            with cache.storage(path):
                download(_file(artifact), path)
    return path


def download(file: File, path: Path) -> None:
    """Put the bytes of a file at a path, at once and only if they have its SHA-256."""
    part = path.with_name(f"{path.name}.part")
    with _asked(file.name) as client:
        client.download_package(file.package, part, timeout=_SECONDS)
    found = document.digest(document.read(part))
    if found != file.sha256:
        raise EnvironmentFailed(
            f"{file.name}: the registry gave bytes with the SHA-256 {found}, not {file.sha256}.", "Fetch it again."
        )
    part.replace(path)


def _file(artifact: Artifact) -> File:
    for file in files(artifact.name):
        if file.sha256 == artifact.sha256:
            return file
    raise EnvironmentFailed(
        f"{artifact.purl} ({artifact.kind}): the registry has no file with the SHA-256 {artifact.sha256}.",
        "It was removed, or the pin is wrong.",
    )


def _addresses() -> list[str | None]:
    """Return the indexes that the installer asks, in its order; None is the one that it asks if it is told nothing."""
    extra = os.environ.get("UV_INDEX", "").split() + os.environ.get("UV_EXTRA_INDEX_URL", "").split()
    default = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL")
    # An index may have a name before it: mine=https://…
    return [re.sub(r"^[\w.-]+=", "", address) for address in (*extra, *filter(None, [default]))] + ([] if default else [None])


def _page(client: "PyPISimple", name: str) -> "list[DistributionPackage] | None":
    from pypi_simple import NoSuchProjectError

    try:
        return client.get_project_page(name, timeout=_SECONDS).packages
    except NoSuchProjectError:
        return None


@contextmanager
def _asked(name: str, address: str | None = None) -> Iterator["PyPISimple"]:
    """Give a client, and turn the ways in which a registry does not answer into one error."""
    if os.environ.get("UV_OFFLINE", "0").lower() not in ("", "0", "false"):
        raise EnvironmentFailed(
            f"{name}: the registry may not be asked, since UV_OFFLINE is set.", "Unset it, or run where it is cached."
        )
    from pypi_simple import PyPISimple

    try:
        with PyPISimple(address) if address else PyPISimple() as client:
            # uv reads this variable, requests does not: where one reaches the registry, the other should.
            client.s.verify = os.environ.get("SSL_CERT_FILE") or True
            yield client
    except OSError as error:
        # What requests raises is one too, but without a number of the operating system's.
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
            raise
        raise EnvironmentFailed(
            f"{name}: the registry did not answer ({type(error).__name__}).", "Check the network, then run it again."
        ) from None


def _fits_all(package: "DistributionPackage") -> bool:
    return package.package_type == "sdist" or package.filename.endswith("-none-any.whl")


def _yanked(found: "list[DistributionPackage]") -> str | None:
    """Return why a release was yanked: it is if each of its files is."""
    if not all(package.is_yanked for package in found):
        return None
    return next((package.yanked_reason for package in found if package.yanked_reason), "the registry gives no reason")


def _artifact(name: str, version: str, package: "DistributionPackage") -> Artifact:
    return Artifact(f"pkg:pypi/{name}@{version}", str(package.package_type), package.digests["sha256"])
