"""Proof: a pin against the registry. What the pin says of releases, files, times and digests is what the registry has."""

import tarfile
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime

from capture import document, draft, registry
from capture.check import Check
from capture.lock import Lock
from capture.pin import Artifact, Pin, Upstream
from capture.registry import File

__all__ = ["checks"]

Finding = tuple[bool | None, str]
"""Whether what was checked held, None if it could not be checked, and what was found."""


def checks(pin: Pin) -> Iterator[Check]:
    """Yield what was checked of a pin: its locks, time, artifacts, the files that decide, yanking, and the upstream module."""
    registry.look_up(locked.name for lock in _locks(pin) for locked in lock.own())
    yield Check(f"{pin.name}: locks", *_hashes(pin))
    yield Check(f"{pin.name}: as-of", *_time(pin))
    yield Check(f"{pin.name}: artifacts", *_artifacts(pin))
    yield Check(f"{pin.name}: files", *_files(pin))
    yield Check(f"{pin.name}: yanked", *_yanked(pin))
    if pin.upstream is not None:
        yield Check(f"{pin.name}: upstream", *_module(pin, pin.upstream))


def _locks(pin: Pin) -> list[Lock]:
    return [lock for lock in (pin.lock, pin.upstream and pin.upstream.lock, pin.checkpointers) if lock]


def _hashes(pin: Pin) -> Finding:
    """Every hash of a lock is that of a file which the registry lists for this very version."""
    count = 0
    for lock in _locks(pin):
        for locked in lock.own():
            known = {file.sha256 for file in registry.listed(locked.name, locked.version)}
            for value in locked.hashes:
                if value not in known:
                    return False, f"{lock.path.name}: the registry lists no file of {locked.name} {locked.version} with {value}"
                count += 1
    return True, f"the registry lists all {count} files"


def _time(pin: Pin) -> Finding:
    """Nothing that is locked was uploaded later, and a release's own pin is as of the end of the release's first day."""
    limit = datetime.fromisoformat(pin.as_of)
    times = {file.name: file.package.upload_time for file in _locked_files(pin)}
    known = {name: time.astimezone(UTC) for name, time in times.items() if time}
    for name, time in sorted(known.items()):
        if time > limit:
            return False, f"{name} was uploaded at {time:%Y-%m-%dT%H:%M:%SZ}, later than {pin.as_of}"
    return _first_day(pin, limit) if known else (None, "the registry does not say when its files were uploaded")


def _first_day(pin: Pin, limit: datetime) -> Finding:
    if not pin.is_release:
        return True, f"nothing was uploaded after {pin.as_of}"
    uploaded = registry.release("langchain", pin.packages["langchain"]).uploaded
    if uploaded is None or uploaded.astimezone(UTC).replace(microsecond=0) + draft.FIRST_DAY != limit:
        return False, f"{pin.as_of} is not 24 hours after the release's upload, which was at {uploaded}"
    return True, f"nothing was uploaded after {pin.as_of}, the release's upload plus 24 hours"


def _locked_files(pin: Pin) -> Iterator[File]:
    for lock in _locks(pin):
        for locked in lock.own():
            yield from (file for file in registry.listed(locked.name, locked.version) if file.sha256 in locked.hashes)


def _artifacts(pin: Pin) -> Finding:
    """Each artifact is a file that the registry lists for the version that the pin has of the package, and of that kind."""
    for artifact in pin.artifacts:
        version = artifact.purl.partition("@")[2]
        if not _is_listed(artifact) or pin.packages.get(artifact.name, version) != version:
            return (
                False,
                f"the registry lists no {artifact.kind} {artifact.purl} with {artifact.sha256}, or it is not the pinned one",
            )
    return True, f"the registry lists all {len(pin.artifacts)}"


def _is_listed(artifact: Artifact) -> bool:
    listed = registry.listed(artifact.name, artifact.purl.partition("@")[2])
    return [file.package.package_type for file in listed if file.sha256 == artifact.sha256] == [artifact.kind]


def _files(pin: Pin) -> Finding:
    """Each file that decides has, inside a wheel of the registry, the digest that the pin says."""
    wanted = dict(pin.files)
    for artifact in pin.artifacts:
        if wanted and artifact.kind == "wheel" and _is_listed(artifact):
            for name, value in _inside(artifact, list(wanted)).items():
                if wanted.pop(name) != value:
                    return False, f"{name} has the SHA-256 {value} in the wheel of {artifact.purl}"
    return (False, f"{next(iter(wanted))} is in no wheel of the pin") if wanted else (True, f"the wheels hold all {len(pin.files)}")


def _inside(artifact: Artifact, names: list[str]) -> dict[str, str]:
    with zipfile.ZipFile(registry.fetch(artifact)) as wheel:
        there = set(wheel.namelist())
        return {name: document.digest(wheel.read(name)) for name in names if name in there}


def _yanked(pin: Pin) -> Finding:
    """The pin says that its release is yanked if the registry says so."""
    if "langchain" not in pin.packages:
        return None, "it is of no release of langchain"
    found = registry.release("langchain", pin.packages["langchain"]).yanked
    if bool(found) != bool(pin.yanked):
        return False, f"the registry says {found!a}, the pin {pin.yanked!a}"
    return True, f"yanked: {found}" if found else "not yanked"


def _module(pin: Pin, upstream: Upstream) -> Finding:
    """The module of the upstream tests has its digest inside the release's source distribution."""
    with tarfile.open(registry.fetch(pin.artifact("langchain", "sdist"))) as archive:
        member = f"langchain-{pin.packages['langchain']}/{upstream.module}"
        found = archive.extractfile(member) if member in archive.getnames() else None
        value = document.digest(found.read()) if found else "none"
    return value == upstream.sha256, f"{upstream.module} has the SHA-256 {value}"
