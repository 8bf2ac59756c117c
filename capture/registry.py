"""The package registry: which files a release has, and their bytes by SHA-256. Its address is the installer's, never ours."""

import errno
import os
from collections.abc import Iterator
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

__all__ = ["File", "Release", "download", "fetch", "files", "release"]

_SECONDS = 60


@dataclass(frozen=True)
class Release:
    """The wheel and the source distribution of a release, and when the first of them was uploaded."""

    artifacts: tuple[Artifact, ...]
    uploaded: datetime | None


@dataclass(frozen=True)
class File:
    """A file of a project in the registry: its name, its SHA-256, and whether it was yanked."""

    name: str
    sha256: str
    yanked: bool
    package: "DistributionPackage"


@cache_of
def files(name: str) -> tuple[File, ...]:
    """Return every wheel and source distribution of a project; one whose name is a path is left out."""
    with _asked(name) as client:
        found = client.get_project_page(name, timeout=_SECONDS).packages
    return tuple(
        File(package.filename, package.digests["sha256"], bool(package.is_yanked), package)
        for package in found
        if "sha256" in package.digests and package.filename == Path(package.filename).name
    )


def release(name: str, version: str) -> Release:
    """Return what the registry has of a release; wheels for one platform only are left out, since a pin fits all."""
    found = [file.package for file in files(name) if _is(file.package, version)]
    if not found:
        raise EnvironmentFailed(f"{name} {version}: the registry has no such release.", "Check the name and the version.")
    times = [package.upload_time for package in found if package.upload_time]
    return Release(tuple(_artifact(name, version, package) for package in found), min(times, default=None))


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


@contextmanager
def _asked(name: str) -> Iterator["PyPISimple"]:
    """Give a client, and turn the ways in which a registry does not answer into one error."""
    if os.environ.get("UV_OFFLINE", "0").lower() not in ("", "0", "false"):
        raise EnvironmentFailed(
            f"{name}: the registry may not be asked, since UV_OFFLINE is set.", "Unset it, or run where it is cached."
        )
    from pypi_simple import NoSuchProjectError, PyPISimple

    address = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL")
    try:
        with PyPISimple(address) if address else PyPISimple() as client:
            # uv reads this variable, requests does not: where one reaches the registry, the other should.
            client.s.verify = os.environ.get("SSL_CERT_FILE") or True
            yield client
    except NoSuchProjectError:
        raise EnvironmentFailed(f"{name}: the registry has no such project.", "Check the name.") from None
    except OSError as error:
        # What requests raises is one too, but without a number of the operating system's.
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
            raise
        raise EnvironmentFailed(
            f"{name}: the registry did not answer ({type(error).__name__}).", "Check the network, then run it again."
        ) from None


def _is(package: "DistributionPackage", version: str) -> bool:
    kinds = ("sdist", "wheel")
    if package.package_type not in kinds or package.version is None or "sha256" not in package.digests:
        return False
    if package.package_type == "wheel" and not package.filename.endswith("-none-any.whl"):
        return False
    try:
        return Version(package.version) == Version(version)
    except InvalidVersion:
        return False


def _artifact(name: str, version: str, package: "DistributionPackage") -> Artifact:
    return Artifact(f"pkg:pypi/{name}@{version}", str(package.package_type), package.digests["sha256"])
