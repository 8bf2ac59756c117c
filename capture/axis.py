"""The axis of a bisection: the releases of one package, in their order, each with the pin in which it is run."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from packaging.utils import canonicalize_name
from packaging.version import Version

from capture import library, order, pin, registry
from capture.errors import EnvironmentFailed, InputRefused
from capture.order import AUDITED, Order

__all__ = ["PACKAGES", "Axis", "Release", "of"]

PACKAGES = (AUDITED, "langgraph", "langchain-core")
"""The packages whose releases can vary."""

_FIRST = 1
"""The major version that brought the middleware which is audited."""

_SHOWN = 80

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Release:
    """A release of the package that varies, the name of the pin in which it is run, and why it was yanked, if it was."""

    version: str
    pin: str
    yanked: str | None
    fits: bool = True
    """Whether what stays fixed lets it be there."""


@dataclass(frozen=True)
class Axis:
    """The releases from the good end to the bad one, the package that varies, what stays fixed, and which ends were named."""

    package: str
    fixed: str | None
    releases: tuple[Release, ...]
    named: tuple[bool, bool]


def of(package: str, fixed: str | None, good: str | None, bad: str | None) -> Axis:
    """Return the axis of a package between two ends, which are versions or pins; without them from the oldest to the newest.

    Another package than langchain varies beside a pin that is `fixed`. Yanked releases are on the axis; pre-releases are if an
    end is one. What cannot be meant is refused, and a registry that is needed and does not answer is `EnvironmentFailed`.
    """
    beside = _fixed(package, fixed)
    ends = [_version(option, asked, package, beside) for option, asked in (("--good", good), ("--bad", bad))]
    known = _known(package, ends)
    low, high = (_end(known, end, package) for end in ends)
    versions = _on_axis(known, low, high)
    if versions[1:] == []:
        raise InputRefused(f"bisect: from one end to the other there is only {package} {low or high}.", "Name two releases.")
    releases = tuple(Release(version, _pin(package, version, beside), known[version]) for version in versions)
    return Axis(package, beside.name if beside else None, releases, (low is not None, high is not None))


def _fixed(package: str, asked: str | None) -> Order | None:
    """Return what stays fixed: a release of langchain, perhaps with others beside it, but not with what varies."""
    if package == AUDITED:
        if asked is not None:
            raise InputRefused(
                "bisect: --pin is what stays fixed, but langchain varies.", "Give --vary another package, or no --pin."
            )
        return None
    if asked is None:
        raise InputRefused(
            f"bisect: {package} varies beside a release of {AUDITED} that stays fixed.", f"Name it: --pin {AUDITED}==VERSION."
        )
    found = order.of(asked)
    if found is None:
        raise InputRefused(f"bisect: --pin {asked!a}: that is not the pin of a release.", f"Write {AUDITED}==VERSION.")
    if package in found.beside:
        raise InputRefused(f"bisect: --pin {asked!a} fixes {package}, which is to vary.", f"Write {AUDITED}==VERSION.")
    return found


def _version(option: str, asked: str | None, package: str, beside: Order | None) -> Version | None:
    """Return the version that an end names: alone, as NAME==VERSION, or as a pin of this axis."""
    if asked is None:
        return None
    shown = ascii(asked[:_SHOWN])
    pinned = order.of(asked)
    if pinned is not None:
        named = _of_pin(pinned, package, beside)
    else:
        name, exact, version = asked.partition("==")
        dashed = "" if exact else asked.removeprefix(f"{package}-")
        named = version if exact and canonicalize_name(name) == package else dashed
    try:
        return Version(named)
    except ValueError:  # of a number with thousands of digits too
        raise InputRefused(
            f"bisect: {option} {shown} is no release of {package}{_with(beside)}.", f"Write {package}==VERSION, or the version."
        ) from None


def _of_pin(pinned: Order, package: str, beside: Order | None) -> str:
    """Return the version of what varies in a pin, or nothing if the pin is not on the axis."""
    version = {**pinned.wanted, **pinned.beside}.get(package, "")
    return version if version and _pin(package, version, beside) == pinned.name else ""


def _with(beside: Order | None) -> str:
    return f" with {beside.name}" if beside else ""


def _pin(package: str, version: str, beside: Order | None) -> str:
    """Return the name of the pin in which a release is run."""
    if beside is None:
        return Order({package: version}).name
    return replace(beside, beside={**beside.beside, package: version}).name


def _known(package: str, ends: Iterable[Version | None]) -> Mapping[str, str | None]:
    """Return the releases that there are: the shipped pins' if both ends are among them, else those that the registry has."""
    if package != AUDITED:
        return registry.releases(package)
    shipped = {known.packages[AUDITED]: known.yanked for known in pin.matching(AUDITED) if _is_shipped(known.name)}
    ends = list(ends)
    are_shipped = all(end is None or _known_as(shipped, end) for end in ends)
    if are_shipped and None not in ends:
        return shipped
    try:
        return registry.releases(package)
    except EnvironmentFailed as error:
        if not are_shipped:
            raise
        _LOG.info("%s The axis is that of the pins that are here.", error.message)
        return shipped


def _is_shipped(name: str) -> bool:
    return (library.pins_folder() / name).is_dir()


def _known_as(known: Iterable[str], end: Version) -> str | None:
    """Return a version as the registry writes it, or None if there is no such release: 1.2 is 1.2.0."""
    return next((version for version in known if Version(version) == end and end.major >= _FIRST), None)


def _end(known: Mapping[str, str | None], end: Version | None, package: str) -> str | None:
    if end is None:
        return None
    found = _known_as(known, end)
    if found is None:
        versions = _on_axis(known, None, None)
        hint = f"Those that can be named go from {versions[0]} to {versions[-1]}." if versions else ""
        raise InputRefused(f"bisect: {package} {end}: there is no such release.", hint)
    return found


def _on_axis(known: Iterable[str], good: str | None, bad: str | None) -> list[str]:
    """Return the versions from one end to the other, in this direction; without an end, to the oldest or the newest."""
    ends = [Version(end) for end in (good, bad) if end]
    early = any(end.is_prerelease for end in ends)
    there = sorted(version for version in map(Version, known) if version.major >= _FIRST and (early or not version.is_prerelease))
    if not there:
        return []
    first, last = Version(good) if good else there[0], Version(bad) if bad else there[-1]
    inside = [str(version) for version in there if min(first, last) <= version <= max(first, last)]
    return inside if first <= last else inside[::-1]
