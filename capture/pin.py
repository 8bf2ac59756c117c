"""A pin: one revision under audit, as exact packages, a hash lock, and the digests of the files that decide."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from capture import document, library
from capture.errors import InputRefused
from capture.lock import Lock, Locked, parse

__all__ = [
    "CHECKPOINTERS",
    "Artifact",
    "Pin",
    "Upstream",
    "all_names",
    "all_pins",
    "find",
    "find_all",
    "load",
    "matching",
    "refuse_name",
    "refuse_twice",
]

CHECKPOINTERS = "checkpointers.txt"
"""The file beside a pin's own lock with what keeps a thread beyond its process. The pin is the same with it and without."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._+-]*")
_RELEASE = re.compile(r"langchain-([0-9]+(?:\.[0-9]+)*(?:(?:a|b|rc)[0-9]+)?)")


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
    as_of: str
    python: SpecifierSet
    packages: Mapping[str, str]
    files: Mapping[str, str]
    lock: Lock
    artifacts: tuple[Artifact, ...]
    upstream: Upstream | None
    yanked: str | None = None
    """Why the registry has yanked the release under audit, if it has."""
    checkpointers: Lock | None = None
    """The lock of what keeps a thread beyond its process, which stands on the pin's own; a pin need not have one."""

    @property
    def is_release(self) -> bool:
        """Whether it is a release's own pin: nothing but the release is chosen, and it is called after it."""
        return self.name == f"langchain-{self.packages.get('langchain')}"

    def artifact(self, name: str, kind: str) -> Artifact:
        """Return the artifact of a distribution and kind; a pin without it is refused."""
        for artifact in self.artifacts:
            if (artifact.name, artifact.kind) == (name, kind):
                return artifact
        raise InputRefused(f"pin {self.name}: no {kind} of {name} among its artifacts.", "Add it to pin.toml, with its SHA-256.")


def all_names() -> list[str]:
    """Return the names of the pins that are shipped, and of those that were made on demand."""
    folders = (library.pins_folder(), library.cached_pins_folder())
    return sorted({name for folder in folders for name in library.names(folder, "pin.toml")})


def all_pins() -> list[Pin]:
    """Return the pins that are shipped or were made on demand, in the order of their versions of langchain."""
    return _ordered(find(name) for name in all_names())


def matching(requirement: str) -> list[Pin]:
    """Return the releases' own pins that a requirement such as `langchain>=1.2` matches, in the order of their versions.

    The requirement may be about another package that the pins fix. Pins with a second axis, and those of a team's lock, are
    named one by one: which of them there are is an accident of the cache.
    """
    wanted = _requirement(requirement)
    name = canonicalize_name(wanted.name)
    names = [known for known in all_names() if _may_match(known, wanted)]
    found = [pin for pin in map(find, names) if pin.is_release and _is_in(pin.packages.get(name), wanted.specifier)]
    if not found:
        raise InputRefused(f"{requirement!a}: no pin matches it.", "`dispatch-audit list pins` shows what there is.")
    return _ordered(found)


def find(name: str) -> Pin:
    """Return the pin of this name, or the one in the folder of this path (a path has a separator in it)."""
    if "/" in name:
        return load(Path(name))
    folder = library.pin_folder(name)
    if folder is None:
        raise InputRefused(f"pin {name!a}: there is no such pin.", "`dispatch-audit list pins` shows what there is.")
    return load(folder)


def find_all(names: Iterable[str]) -> list[Pin]:
    """Return the pins with these names or paths, in this order; two with one name are refused."""
    found = [find(name) for name in names]
    refuse_twice(known.name for known in found)
    return found


def refuse_twice(names: Iterable[str]) -> None:
    """Refuse names of pins of which two are the same."""
    named = list(names)
    for twice in sorted({name for name in named if named.count(name) > 1}):
        raise InputRefused(f"pin {twice}: named twice.", "Name each pin once.")


def load(folder: Path) -> Pin:
    """Read the pin of a folder; whatever is not as its pin.toml says is refused, with file and key."""
    path = folder / "pin.toml"
    data = document.read_toml(path)
    document.check(data, "pin", str(path))
    name = folder.resolve().name
    refuse_name(name, str(path))
    lock = _lock(folder, data["lock"])
    locked = lock.packages()
    for complaint in _complaints(data, locked):
        raise InputRefused(f"{path}: {complaint}.", _CORRECT)
    return Pin(
        name=name,
        title=data["title"],
        as_of=data["as-of"],
        python=SpecifierSet(data["python"]),
        packages=data["packages"],
        files=data["files"],
        lock=lock,
        artifacts=tuple(Artifact(**artifact) for artifact in data["artifacts"]),
        upstream=_upstream(folder, data.get("upstream")),
        yanked=data.get("yanked"),
        checkpointers=_checkpointers(folder, lock, locked),
    )


def refuse_name(name: str, where: str) -> None:
    """Refuse a name that histories and results could not carry; a pin's name is that of its folder."""
    if not _NAME.fullmatch(name):
        raise InputRefused(
            f"{where}: {name!a} is no name for a pin.", "Use lower-case letters, digits, dots, hyphens, underscores and plus signs."
        )


def _ordered(pins: Iterable[Pin]) -> list[Pin]:
    return sorted(pins, key=lambda pin: (Version(pin.packages.get("langchain", "0")), not pin.is_release, pin.name))


def _requirement(text: str) -> Requirement:
    try:
        found = Requirement(text)
    except InvalidRequirement:
        found = None
    if found is None or found.url or found.extras or found.marker:
        raise InputRefused(f"{text!a} is no package with a range of versions.", "Write it as 'langchain>=1.2,<1.5'.")
    return found


def _may_match(name: str, wanted: Requirement) -> bool:
    """Tell by its name alone whether a pin can match, so that the others are not read."""
    found = _RELEASE.fullmatch(name)
    return found is not None and (canonicalize_name(wanted.name) != "langchain" or _is_in(found[1], wanted.specifier))


def _is_in(version: str | None, wanted: SpecifierSet) -> bool:
    # Left to itself, the library takes a pre-release where it is asked about that one alone.
    return version is not None and wanted.contains(version, prereleases=bool(wanted.prereleases))


_CORRECT = "Correct pin.toml, or restore it from where you got it."


def _lock(folder: Path, data: Mapping[str, Any], build: tuple[str, ...] = ()) -> Lock:
    path = folder / data["file"]
    found = document.digest(document.read(path))
    _refuse_link(path, folder)
    if found != data["sha256"]:
        raise InputRefused(
            f"{path}: the lock's SHA-256 is {found}, but pin.toml says {data['sha256']}.",
            "Restore the lock; a changed lock is another pin.",
        )
    return Lock(path, found, build)


def _refuse_link(path: Path, folder: Path) -> None:
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise InputRefused(f"{path}: a link out of the pin's folder.", "Put the lock itself there.")


def _checkpointers(folder: Path, base: Lock, locked: Sequence[Locked]) -> Lock | None:
    """Return the lock of the checkpointers, if one lies there: it says nothing about what the pin has locked already."""
    path = folder / CHECKPOINTERS
    if not (path.exists() or path.is_symlink()):
        return None
    # Read first: a link to itself cannot be read, and cannot be resolved either.
    digest = document.digest(document.read(path))
    _refuse_link(path, folder)
    for twice in sorted({package.name for package in parse(path)} & {package.name for package in locked}):
        raise InputRefused(
            f"{path}: {twice} stands in the pin's own lock already.", "`dispatch-audit pin checkpointers` makes one."
        )
    return Lock(path, document.digest(f"{base.digest}\n{digest}\n".encode()), base=base.path)


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
