"""Readings: what a claim finds where a history can be read in several ways."""

from collections.abc import Callable

from capture.authority import Ruling, proposals, rulings
from capture.claims.registry import Finding
from capture.history import CaseHistory

__all__ = ["by_ruling"]


def by_ruling(history: CaseHistory, find: Callable[[Ruling], Finding]) -> Finding:
    """Find under every ruling; where they disagree about whether the claim holds, nobody can know."""
    readings = rulings(history)
    # Calls without ids are told apart by nothing: what answers or runs one may be about another.
    if not readings.complete or [call.id for call in proposals(history)].count(None) > 1:
        return Finding(1, unknown="ambiguous")
    if not readings.first.readable:
        return Finding(1, unknown="unobservable")
    findings = [find(ruling) for ruling in readings.rulings]
    if len({(bool(finding.faults), finding.unknown) for finding in findings}) > 1:
        return Finding(max(finding.examined for finding in findings), unknown="ambiguous")
    return findings[0]
