"""The shape of a claim and of what it finds, and the table of all claims."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from capture.history import CaseHistory

__all__ = ["CLAIMS", "Claim", "Fault", "Finding", "claim", "counted", "current", "evidence", "numbered"]


@dataclass(frozen=True)
class Fault:
    """One place where a claim does not hold: the evidence by vantage, call and count, what was expected, what was seen."""

    evidence: str
    expected: Any
    observed: Any


@dataclass(frozen=True)
class Finding:
    """What a claim examined, where it does not hold, and a reason if that cannot be known."""

    examined: int
    faults: tuple[Fault, ...] = ()
    unknown: str | None = None


@dataclass(frozen=True)
class Claim:
    """A claim: `id` and `version` name what it means; a claim whose meaning changes gets a new version."""

    id: str
    version: int
    sentence: str
    promised: str
    vantages: tuple[str, ...]
    find: Callable[[CaseHistory], Finding]

    @property
    def name(self) -> str:
        """The claim with its version, as results and records write it."""
        return f"{self.id}@{self.version}"


CLAIMS: dict[str, Claim] = {}
"""Every claim by its name with version. An old version stays, so that what was judged by it can be judged again."""


def current() -> dict[str, Claim]:
    """Return the newest version of each claim, by id."""
    return {known.id: known for known in sorted(CLAIMS.values(), key=lambda known: known.version)}


def claim(
    id: str, *, version: int, sentence: str, promised: str, vantages: tuple[str, ...]
) -> Callable[[Callable[[CaseHistory], Finding]], Callable[[CaseHistory], Finding]]:
    """Enter a function into the table of claims; two with one name are a mistake in the code."""

    def enter(find: Callable[[CaseHistory], Finding]) -> Callable[[CaseHistory], Finding]:
        made = Claim(id, version, sentence, promised, vantages, find)
        if made.name in CLAIMS:
            raise ValueError(f"the claim {made.name} is defined twice")
        CLAIMS[made.name] = made
        return find

    return enter


def evidence(vantage: str, call: str | None, count: int = 1) -> str:
    """Name a piece of evidence by vantage, call and count."""
    return f"{vantage}/{call or 'no call'}/{count}"


def counted(vantage: str, calls: Iterable[str | None]) -> Iterator[str]:
    """Name several pieces of evidence, each by its call and by how many of the call there were up to it."""
    counts: Counter[str | None] = Counter()
    for call in calls:
        counts[call] += 1
        yield evidence(vantage, call, counts[call])


def numbered(vantage: str, count: int) -> str:
    """Name a piece of evidence that is about no call, such as the fourth checkpoint."""
    return f"{vantage}/{count}"
