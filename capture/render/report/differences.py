"""What differs between two releases that follow each other, in the words of `diff`, as far as no picture and no table shows it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from capture.diff import DETAIL, diff
from capture.document import Document
from capture.render import changes
from capture.render.cells import written
from capture.render.report.releases import Releases
from capture.render.report.rows import Row

__all__ = ["Difference", "Said", "difference"]

Said = dict[tuple[tuple[str, str, str], ...], str]
"""The evidence that was said already, by the first case that said it."""


@dataclass(frozen=True)
class Difference:
    """What became of a case between two pins, the names of what differs, and what stands nowhere else, side by side.

    What a case before this one has said in the same words is not said again: `alike` names that case.
    """

    before: str
    after: str
    headline: str
    names: tuple[str, ...]
    evidence: tuple[tuple[str, str, str], ...]
    alike: str | None = None


def difference(found: Row, number: int, releases: Releases, said: Said) -> Difference | None:
    """Return what became of a case where a state begins; the first has nothing before it."""
    place = found.at.index(number)
    before = found.at[place - 1] if place else None
    if before is None:
        return None
    sides = found.states[before], found.states[number]
    compared = diff(*map(_alone, sides))["pins"][0]["cases"][0]
    also = [name.removeprefix("observations.") for name in compared["also"]]
    drawn = compared["differs"] or "words" in also
    evidence = () if drawn else tuple(_observed(also, *sides))
    names = (*compared["differs"], *_claims(compared), *also)
    first = said.setdefault(evidence, found.key)
    told = Difference(releases.short(place - 1), releases.short(place), changes.headline(compared), names, evidence)
    return told if first == found.key or not evidence else replace(told, evidence=(), alike=first)


def _claims(compared: Document) -> Iterator[str]:
    """Yield whether claims differ, or only how much they examined."""
    if compared["claims"]:
        yield "examined" if {claim["status"] for claim in compared["claims"]} == {DETAIL} else "claims"


def _alone(case: Document) -> Document:
    """Return results that hold one case, to be compared."""
    return {"pins": [{"pin": "", "packages": {}, "files": {}, "cases": [case]}]}


def _observed(names: Sequence[str], before: Document, after: Document) -> Iterator[tuple[str, str, str]]:
    """Yield the other observations that differ, in the part in which they begin to."""
    for name in names:
        values = [written(side["observations"].get(name, side.get(name))) for side in (before, after)]
        yield name, changes.window(*values), changes.window(*reversed(values))
