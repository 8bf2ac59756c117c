"""The sections of a report: what is said of one case, over all its states."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from capture.document import Document
from capture.render.cells import status
from capture.render.report.differences import Difference, Said, difference
from capture.render.report.evidence import Judged, Line, judged, lines
from capture.render.report.faults import Unmet, unmet
from capture.render.report.heat import Cell, heat
from capture.render.report.pictures import Picture, pictures
from capture.render.report.releases import Releases
from capture.render.report.rows import Row

__all__ = ["Section", "Sources", "State", "sections"]

Sources = Mapping[tuple[str, str], Sequence[Document]]
"""The sources of each case, by its id and the digest of its scenario."""


@dataclass(frozen=True)
class State:
    """One distinct thing that results say of a case: where, with which verdict, its picture, and what is new in it."""

    number: int
    verdict: str
    why: str
    spans: str
    pins: int
    picture: int
    difference: Difference | None


@dataclass(frozen=True)
class Section:
    """Everything that is said of one case; states and pictures from the newest to the oldest."""

    row: Row
    heat: tuple[Cell, ...]
    question: str
    sources: tuple[Document, ...]
    states: tuple[State, ...]
    unmet: tuple[Unmet, ...]
    pictures: tuple[Picture, ...]
    lines: tuple[Line, ...]
    judged: tuple[Judged, ...]


def sections(found: Iterable[Row], releases: Releases, sources: Sources) -> list[Section]:
    """Return the section of each case; its sources are those of the shipped case, if that is the same scenario."""
    said: Said = {}
    return [_section(row, releases, sources, said) for row in found]


def _section(found: Row, releases: Releases, sources: Sources, said: Said) -> Section:
    drawn = tuple(pictures(found, releases))
    number = {state: picture.number for picture in drawn for state in picture.states}
    return Section(
        row=found,
        heat=tuple(heat(found, releases.columns)),
        question=found.states[found.order[0]]["question"],
        sources=tuple(sources.get((found.case, found.digest), ())),
        states=tuple(_state(found, state, number[state], releases, said) for state in found.order),
        unmet=tuple(unmet(found, releases)),
        pictures=drawn,
        lines=tuple(lines(found)),
        judged=tuple(judged(found)),
    )


def _state(found: Row, number: int, picture: int, releases: Releases, said: Said) -> State:
    case = found.states[number]
    return State(
        number=number,
        verdict=case["verdict"],
        why=status(case).removeprefix(case["verdict"]).strip(),
        spans=releases.spans(found.at, [number]),
        pins=found.at.count(number),
        picture=picture,
        difference=difference(found, number, releases, said),
    )
