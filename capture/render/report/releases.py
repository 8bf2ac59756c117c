"""The releases of a report: their names without what all share, and their columns, folded where nothing changed."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from capture.document import Document

__all__ = ["Column", "Releases", "releases"]


@dataclass(frozen=True)
class Column:
    """A column of the table: one pin, or a run of pins at which nothing changed."""

    first: int
    last: int

    @property
    def pins(self) -> int:
        """How many pins it stands for."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class Releases:
    """The pins by their places: full names, what all names begin with, and the columns."""

    names: tuple[str, ...]
    shared: str
    columns: tuple[Column, ...]

    def short(self, place: int) -> str:
        """Return the name of a pin without what all names begin with."""
        return self.names[place].removeprefix(self.shared)

    def span(self, first: int, last: int) -> str:
        """Return the names of the first and the last of several pins."""
        return self.short(first) if first == last else f"{self.short(first)} to {self.short(last)}"

    def spans(self, at: Sequence[int | None], states: Collection[int]) -> str:
        """Return the pins at which a case has one of these states; `at` is its state at each pin."""
        found = groupby(range(len(at)), key=lambda place: at[place] in states)
        runs = [list(places) for among, places in found if among]
        return ", ".join(self.span(places[0], places[-1]) for places in runs)


def releases(pins: Sequence[Document], transitions: Document) -> Releases:
    """Return the pins of results, unfolded where a case or claim has another verdict than before, or none is known."""
    names = tuple(pin["pin"] for pin in pins)
    begins = {run["first"] for row in transitions["changes"] for run in row["runs"]}
    silent = {pin["pin"] for pin in transitions["pins"] if pin["silent"]}
    shown = {names[0], names[-1], *begins, *silent}
    return Releases(names, _shared(names), tuple(_columns(names, shown)))


def _columns(names: Sequence[str], shown: Collection[str]) -> Iterator[Column]:
    for unfolded, group in groupby(enumerate(names), key=lambda pair: pair[1] in shown):
        places = [place for place, _ in group]
        if unfolded:
            yield from (Column(place, place) for place in places)
        else:
            yield Column(places[0], places[-1])


def _shared(names: Sequence[str]) -> str:
    """Return what all names begin with, up to the number of the version, such as `langchain-`."""
    found = {match[1] if (match := re.match(r"(.*?-)[0-9]", name)) else "" for name in names}
    return found.pop() if len(found) == 1 else ""
