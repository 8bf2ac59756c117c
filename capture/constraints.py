"""Constraints: which releases of an axis cannot go with what stays fixed, as the fixed packages themselves say in their wheels."""

from collections.abc import Iterator
from dataclasses import replace
from zipfile import BadZipFile, ZipFile

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from capture import order, registry
from capture.axis import Axis
from capture.pin import Artifact, Pin

__all__ = ["fitted"]


def fitted(axis: Axis, fixed: Pin) -> Axis:
    """Return an axis with a mark at each release that does not go with a fixed pin, so that no resolver has to be asked."""
    exact = order.of(fixed.name)
    names = {**exact.wanted, **exact.beside} if exact else {}
    allowed = SpecifierSet()
    for name in names:
        for required in _required(fixed.artifact(name, "wheel")):
            if canonicalize_name(required.name) == axis.package and required.marker is None:
                allowed &= required.specifier
    releases = (replace(known, fits=allowed.contains(known.version, prereleases=True)) for known in axis.releases)
    return replace(axis, releases=tuple(releases))


def _required(wheel: Artifact) -> Iterator[Requirement]:
    """Yield what a wheel requires; what cannot be read is left for the resolver to say."""
    try:
        with ZipFile(registry.fetch(wheel)) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA") and name.count("/") == 1)
            raw, _ = parse_email(archive.read(name))
    except (BadZipFile, ValueError, KeyError):
        return
    for line in raw.get("requires_dist", ()):
        try:
            yield Requirement(line)
        except InvalidRequirement:
            continue
