"""The package registry: which files a release has, and their bytes by SHA-256. Its address is the installer's, never ours."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from capture import cache, document
from capture.errors import EnvironmentFailed
from capture.pin import Artifact

if TYPE_CHECKING:
    from pypi_simple import DistributionPackage, PyPISimple

__all__ = ["Release", "fetch", "release"]

_SECONDS = 60


@dataclass(frozen=True)
class Release:
    """The wheel and the source distribution of a release, and when the first of them was uploaded."""

    artifacts: tuple[Artifact, ...]
    uploaded: datetime | None


def release(name: str, version: str) -> Release:
    """Return what the registry has of a release; wheels for one platform only are left out, since a pin fits all."""
    with _asked(name) as client:
        found = [package for package in _packages(client, name) if _is(package, version)]
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
                _download(artifact, path)
    return path


def _download(artifact: Artifact, path: Path) -> None:
    with _asked(artifact.name) as client:
        for package in _packages(client, artifact.name):
            if package.digests.get("sha256") == artifact.sha256:
                part = path.with_suffix(".part")
                client.download_package(package, part, timeout=_SECONDS)
                part.replace(path)
                return
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


def _packages(client: "PyPISimple", name: str) -> list["DistributionPackage"]:
    return client.get_project_page(name, timeout=_SECONDS).packages


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
