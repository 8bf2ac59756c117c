"""What does not hold in a case: each claim that FAILs in some state, with its faults, each said once for all releases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from capture.claims import CLAIMS
from capture.document import Document
from capture.render.cells import written
from capture.render.report.releases import Releases
from capture.render.report.rows import Row

__all__ = ["Fault", "Unmet", "sentence", "unmet"]

_MOST = 20


@dataclass(frozen=True)
class Fault:
    """A piece of evidence that is not as a claim expects it, and at which pins if not wherever the claim FAILs."""

    evidence: str
    expected: str
    observed: str
    spans: str


@dataclass(frozen=True)
class Unmet:
    """A claim that FAILs, in its own words, the pins at which it does, its faults, and how many more there are."""

    claim: str
    sentence: str
    spans: str
    faults: tuple[Fault, ...]
    left: int


def sentence(name: str) -> str:
    """Return what a claim says, or that nobody knows it here."""
    known = CLAIMS.get(name)
    return known.sentence if known else "A claim that this version does not know."


def unmet(found: Row, releases: Releases) -> list[Unmet]:
    """Return the claims that FAIL somewhere, those of the newest state first."""
    failed: dict[str, list[tuple[int, Document]]] = {}
    for state in found.order:
        for claim in found.states[state]["claims"]:
            if claim["verdict"] == "FAIL" or claim["faults"]:
                failed.setdefault(claim["claim"], []).append((state, claim))
    return [_unmet(name, judged, found, releases) for name, judged in failed.items()]


def _unmet(name: str, judged: Sequence[tuple[int, Document]], found: Row, releases: Releases) -> Unmet:
    where = releases.spans(found.at, [state for state, _ in judged])
    faults = list(_faults(judged, found, releases))
    shown = tuple(Fault(*said, "" if spans == where else spans) for said, spans in faults[:_MOST])
    return Unmet(name, sentence(name), where, shown, len(faults) - len(shown))


def _faults(judged: Sequence[tuple[int, Document]], found: Row, releases: Releases) -> Iterator[tuple[tuple[str, str, str], str]]:
    seen: dict[tuple[str, str, str], list[int]] = {}
    for state, claim in judged:
        for fault in claim["faults"]:
            said = fault["evidence"], written(fault["expected"]), written(fault["observed"])
            seen.setdefault(said, []).append(state)
    for said, states in seen.items():
        yield said, releases.spans(found.at, states)
