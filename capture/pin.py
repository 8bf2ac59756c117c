"""A pin: one revision under audit, as exact packages, a hash lock, and the digests of the files that decide."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from capture import document, library
from capture.errors import InputRefused
from capture.lock import Lock, Locked

__all__ = ["Artifact", "Pin", "Upstream", "all_names", "find", "find_all", "load", "refuse_name"]

_NAME = re.compile(r"[a-z0-9][a-z0-9._+-]*")


@dataclass(frozen=True)
class Artifact:
    """A file of a registry, named by package URL and SHA-256; `kind` is `wheel` or `sdist`."""

    purl: str
    kind: str
    sha256: str

    @property
    def name(self) -> str:
        """The distribution's name in the package URL."""
        return self.purl.removeprefix("pkg:pypi/").partition("@")[0]


@dataclass(frozen=True)
class Upstream:
    """The framework's own tests of what is audited: their lock, the module and its digest."""

    lock: Lock
    module: str
    sha256: str


@dataclass(frozen=True)
class Pin:
    """A pin that was read and whose locks are the ones it names."""

    name: str
    title: str
    python: SpecifierSet
    packages: Mapping[str, str]
    files: Mapping[str, str]
    lock: Lock
    artifacts: tuple[Artifact, ...]
    upstream: Upstream | None

    def artifact(self, name: str, kind: str) -> Artifact:
        """Return the artifact of a distribution and kind; a pin without it is refused."""
        for artifact in self.artifacts:
            if (artifact.name, artifact.kind) == (name, kind):
                return artifact
        raise InputRefused(f"pin {self.name}: no {kind} of {name} among its artifacts.", "Add it to pin.toml, with its SHA-256.")


def all_names() -> list[str]:
    """Return the names of the pins that are shipped."""
    return library.names(library.pins_folder(), "pin.toml")


def find(name: str) -> Pin:
    """Return the pin of this name, or the one in the folder of this path (a path has a separator in it)."""
    if "/" in name:
        return load(Path(name))
    if name not in all_names():
        raise InputRefused(f"pin {name!a}: there is no such pin.", "`dispatch-audit list pins` shows what there is.")
    return load(library.pins_folder() / name)


def find_all(names: Iterable[str]) -> list[Pin]:
    """Return the pins with these names or paths, in this order; two with one name are refused."""
    found = [find(name) for name in names]
    named = [pin.name for pin in found]
    for twice in sorted({name for name in named if named.count(name) > 1}):
        raise InputRefused(f"pin {twice}: named twice.", "Name each pin once.")
    return found


def load(folder: Path) -> Pin:
    """Read the pin of a folder; whatever is not as its pin.toml says is refused, with file and key."""
    path = folder / "pin.toml"
    data = document.read_toml(path)
    document.check(data, "pin", str(path))
    name = folder.resolve().name
    refuse_name(name, str(path))
    lock = _lock(folder, data["lock"])
    for complaint in _complaints(data, lock.packages()):
        raise InputRefused(f"{path}: {complaint}.", _CORRECT)
    return Pin(
        name=name,
        title=data["title"],
        python=SpecifierSet(data["python"]),
        packages=data["packages"],
        files=data["files"],
        lock=lock,
        artifacts=tuple(Artifact(**artifact) for artifact in data["artifacts"]),
        upstream=_upstream(folder, data.get("upstream")),
    )


def refuse_name(name: str, where: str) -> None:
    """Refuse a name that histories and results could not carry; a pin's name is that of its folder."""
    if not _NAME.fullmatch(name):
        raise InputRefused(
            f"{where}: {name!a} is no name for a pin.", "Use lower-case letters, digits, dots, hyphens, underscores and plus signs."
        )


_CORRECT = "Correct pin.toml, or restore it from where you got it."


def _lock(folder: Path, data: Mapping[str, Any], build: tuple[str, ...] = ()) -> Lock:
    path = folder / data["file"]
    found = document.digest(document.read(path))
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise InputRefused(f"{path}: a link out of the pin's folder.", "Put the lock itself there.")
    if found != data["sha256"]:
        raise InputRefused(
            f"{path}: the lock's SHA-256 is {found}, but pin.toml says {data['sha256']}.",
            "Restore the lock; a changed lock is another pin.",
        )
    return Lock(path, found, build)


def _upstream(folder: Path, data: Mapping[str, Any] | None) -> Upstream | None:
    if data is None:
        return None
    lock = _lock(folder, data["lock"], tuple(data.get("build", ())))
    for complaint in _not_locked("upstream.packages", data["packages"], lock.packages()):
        raise InputRefused(f"{folder / 'pin.toml'}: {complaint}.", _CORRECT)
    return Upstream(lock, data["module"], data["sha256"])


def _complaints(data: Mapping[str, Any], locked: Sequence[Locked]) -> Iterator[str]:
    try:
        SpecifierSet(data["python"])
    except InvalidSpecifier:
        yield f"key python: {data['python']!r} is not a version specifier"
    yield from _not_locked("packages", data["packages"], locked)
    hashes = {value for package in locked for value in package.hashes}
    named = [(artifact["purl"], artifact["kind"]) for artifact in data["artifacts"]]
    for purl, kind in sorted({pair for pair in named if named.count(pair) > 1}):
        yield f"key artifacts: {purl} ({kind}) stands twice"
    for artifact in data["artifacts"]:
        if artifact["sha256"] not in hashes:
            yield f"key artifacts: {artifact['purl']} ({artifact['kind']}): the lock does not have the SHA-256 {artifact['sha256']}"


def _not_locked(key: str, packages: Mapping[str, str], locked: Sequence[Locked]) -> Iterator[str]:
    found = {package.name: package.version for package in locked}
    for name, version in packages.items():
        if found.get(canonicalize_name(name)) != version:
            yield f"key {key}.{name}: {version} is pinned, but the lock has {found.get(canonicalize_name(name), 'none')}"
