"""Accepted FAILs: a file in which a team says which claim may FAIL in which case, at which pins, and why."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from capture import document
from capture import pin as pins
from capture.diff import said
from capture.document import Document
from capture.errors import InputRefused
from capture.verdict import FAIL, UNKNOWN

__all__ = ["FAILS", "GONE", "NOT_RUN", "Accepted", "left", "read", "reasons", "report"]

FAILS, GONE, NOT_RUN = "FAILs", "no longer FAILs", "not run"
"""What became of an accepted FAIL; UNKNOWN is the fourth."""


@dataclass(frozen=True)
class Accepted:
    """A claim that may FAIL in a case, at the pins that are meant, and the reason why a team lives with it."""

    case: str
    claim: str
    reason: str
    pin: str | None = None

    def holds_at(self, pin: Document) -> bool:
        """Tell whether a pin is meant: all are, or the one of this name, or those whose packages meet a requirement."""
        wanted = _requirement(self.pin or "")
        if self.pin is None or wanted is None:
            return self.pin in (None, pin["pin"])
        versions = {canonicalize_name(name): version for name, version in pin["packages"].items()}
        version = _version(versions.get(canonicalize_name(wanted.name)))
        return version is not None and wanted.specifier.contains(version, prereleases=True)


def read(path: Path) -> tuple[Accepted, ...]:
    """Read a file of accepted FAILs; one without a reason, one for pins that cannot be meant, and one given twice are refused."""
    data = document.read_toml(path)
    document.check(data, "acceptance", str(path))
    found = tuple(Accepted(**entry) for entry in data.get("accepted", ()))
    for entry in found:
        if entry.pin is not None and _requirement(entry.pin) is None:
            pins.refuse_name(entry.pin, f"{path}: key pin")
    for complaint in _twice(found):
        raise InputRefused(f"{path}: {complaint}.", "Give each accepted FAIL once, with one reason.")
    return found


def reasons(accepted: Iterable[Accepted], pin: Document, case: Document) -> dict[str, str]:
    """Return the claims of a case that FAIL at a pin and may, each with the reason."""
    fails = [claim["claim"] for claim in case["claims"] if said(case, claim)[0] == FAIL]
    meant = [found for found in accepted if found.case == case["case"] and found.claim in fails and found.holds_at(pin)]
    return {found.claim: found.reason for found in meant}


def left(accepted: Sequence[Accepted], results: Document) -> set[str]:
    """Return the verdicts that are left of results without the FAILs that are accepted."""
    return {verdict for pin in results["pins"] for case in pin["cases"] for verdict in _left(accepted, pin, case)}


def report(accepted: Iterable[Accepted], results: Document) -> list[Document]:
    """Return what became of each accepted FAIL in results."""
    return [
        {"case": found.case, "claim": found.claim, "pin": found.pin, "reason": found.reason, "stands": _stands(found, results)}
        for found in accepted
    ]


def _left(accepted: Sequence[Accepted], pin: Document, case: Document) -> set[str]:
    if case["verdict"] != FAIL:
        return {case["verdict"]}
    known = reasons(accepted, pin, case)
    return {claim["verdict"] for claim in case["claims"] if claim["claim"] not in known}


def _stands(accepted: Accepted, results: Document) -> str:
    there = [case for pin in results["pins"] if accepted.holds_at(pin) for case in pin["cases"] if case["case"] == accepted.case]
    verdicts = {verdict for case in there for verdict in _verdicts(case, accepted.claim)}
    if not verdicts:
        return NOT_RUN
    return FAILS if FAIL in verdicts else UNKNOWN if UNKNOWN in verdicts else GONE


def _verdicts(case: Document, name: str) -> list[str]:
    """Return the verdict of a claim in a case; where there was no environment, nothing was judged and all are UNKNOWN."""
    if case["reason"] == "environment":
        return [UNKNOWN]
    return [said(case, claim)[0] for claim in case["claims"] if claim["claim"] == name]


def _twice(found: Sequence[Accepted]) -> Iterator[str]:
    named = [(entry.case, entry.claim, entry.pin) for entry in found]
    for case, claim, _ in sorted({name for name in named if named.count(name) > 1}, key=str):
        yield f"{claim} of case {case} is accepted twice"


def _requirement(text: str) -> Requirement | None:
    """Return a requirement such as `langchain<1.4.2`, or None for what can only be the name of a pin."""
    try:
        found = Requirement(text)
    except InvalidRequirement:
        return None
    return found if found.specifier and not (found.url or found.extras or found.marker) else None


def _version(text: str | None) -> Version | None:
    try:
        return Version(text) if text else None
    except InvalidVersion:
        return None
