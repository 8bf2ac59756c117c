"""Bisection: the first place in an order at which an answer changed, found with few questions.

Pure: it knows neither releases nor verdicts. A place without an answer is stepped over, to a neighbour; if such places lie
between the last that answers as the good end and the first that does not, what comes out is an interval.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import ne
from typing import Generic, TypeVar

__all__ = ["CHANGED", "INTERVAL", "NOT_KNOWN", "UNCHANGED", "Outcome", "search", "steps"]

CHANGED, INTERVAL, UNCHANGED, NOT_KNOWN = "changed", "interval", "unchanged", "not known"

Place = TypeVar("Place")
Answer = TypeVar("Answer")

Differs = Callable[[Answer, Answer], bool | None]
"""Tells whether two answers differ; None if nobody can tell."""


@dataclass
class Outcome(Generic[Place, Answer]):
    """What came of a search: the places that were asked, by their number, and which of them matter."""

    places: Sequence[Place]
    asked: dict[int, Answer | None] = field(default_factory=dict)
    unlike: dict[int, bool | None] = field(default_factory=dict)
    """Of the places that were asked, whether the answer is another than that of the good end; None if nobody can tell."""
    good: int | None = None
    """The end that the others are compared with."""
    bad: int | None = None
    """The other end, if it has an answer that can be compared."""
    last: int | None = None
    """The last place, from the good end on, that answers as it does."""
    first: int | None = None
    """The first one that answers otherwise."""

    @property
    def between(self) -> range:
        """The places between the last and the first: none of them has an answer."""
        return range(0) if self.last is None or self.first is None else range(self.last + 1, self.first)

    @property
    def kind(self) -> str:
        """What is known: the place of a change, an interval that has it, that the ends are the same, or nothing."""
        if self.good is None or self.bad is None:
            return NOT_KNOWN
        if self.first is None:
            return UNCHANGED
        return INTERVAL if self.between else CHANGED


def search(
    places: Sequence[Place],
    answer: Callable[[Place], Answer | None],
    differs: Differs[Answer] = ne,
    *,
    named: tuple[bool, bool] = (False, False),
    told: Callable[[Place, int | None], None] = lambda *_: None,
) -> Outcome[Place, Answer]:
    """Return where the answer changes on the way from the first place, the good end, to the last one, the bad end.

    An end that was `named` has to have an answer, or nothing is known; of the others, the outermost that has one is the end.
    No place is asked twice. One change is assumed: where there are several, it is the place of one of them that comes out.
    `told` hears of each place before it is asked, with how many are left between the ends, or None for an end.
    """
    searching = _Search(Outcome[Place, Answer](places), answer, differs, told)
    found = searching.found
    inside = range(len(places))
    found.good = next((place for place in _ends(inside, named=named[0]) if searching.ask(place) is not None), None)
    if found.good is None:
        return found
    others = inside[: found.good : -1]
    found.bad = next((place for place in _ends(others, named=named[1]) if searching.ask(place) is not None), None)
    if found.bad is not None and found.unlike[found.bad]:
        found.last, found.first = searching.narrowed(found.good, found.bad)
    return found


def steps(left: int) -> int:
    """Return how many answers settle a search in which so many places are left."""
    return left.bit_length()


def _ends(places: range, *, named: bool) -> range:
    """Return the places that may be an end, the best first; for one that was named no other will do."""
    return places[:1] if named else places


@dataclass
class _Search(Generic[Place, Answer]):
    found: Outcome[Place, Answer]
    answer: Callable[[Place], Answer | None]
    differs: Differs[Answer]
    told: Callable[[Place, int | None], None]

    def ask(self, place: int, left: int | None = None) -> bool | None:
        """Ask, and tell whether the answer is another than that of the good end, or than its own before there is one."""
        self.told(self.found.places[place], left)
        given = self.answer(self.found.places[place])
        good = given if self.found.good is None else self.found.asked[self.found.good]
        unlike = None if given is None or good is None else given is not good and self.differs(good, given)
        self.found.asked[place], self.found.unlike[place] = given, unlike
        return unlike

    def narrowed(self, last: int, first: int) -> tuple[int, int]:
        """Return the last place that is like the good end, and the first that is not, once all between were asked in vain."""
        left = list(range(last + 1, first))
        while left:
            # The middle of what has not been asked yet: an answer halves that, and silence takes one away.
            place = left[len(left) // 2]
            unlike = self.ask(place, len(left))
            last, first = (place, first) if unlike is False else (last, place) if unlike else (last, first)
            left = [other for other in left if last < other < first and other != place]
        return last, first
