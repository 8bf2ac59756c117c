"""Transitions: since which pin each case and claim has which verdict, over the pins of one results document in their order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from capture.diff import said
from capture.document import Document

__all__ = ["transitions"]

Standing = tuple[str | None, str | None]
"""Verdict and reason; no verdict at a pin that does not have the case or the claim."""

Row = tuple[str, str, str | None]
"""A case, the digest of its scenario, and one of its claims or none: what is the same at two pins only if all three are."""

_SILENT = ("environment", "smoke")

_ABSENT: Standing = (None, None)


def transitions(results: Document) -> Document:
    """Return the runs of equal verdicts of every case and claim that has more than one, and a summary of what is constant."""
    pins = results["pins"]
    silent = [_silence(pin) for pin in pins]
    changes: list[Document] = []
    constant: list[tuple[Row, Standing]] = []
    for row, standings in _rows(pins).items():
        heard = {standing for standing, quiet in zip(standings, silent, strict=True) if not quiet} or set(standings)
        if len(heard) > 1:
            changes.append({**_named(row), "runs": list(_runs(pins, standings))})
        else:
            constant.append((row, heard.pop()))
    heads = ({"pin": pin["pin"], "packages": pin["packages"], "silent": quiet} for pin, quiet in zip(pins, silent, strict=True))
    return {
        "transitions": 1,
        "pins": list(heads),
        "changes": changes,
        "constant": _summary(constant),
    }


def _silence(pin: Document) -> str | None:
    """Return why no answer of a pin counts, which is said once and not again for each of its cases."""
    reasons = {case["reason"] for case in pin["cases"]}
    return next((reason for reason in _SILENT if reasons == {reason}), None)


def _rows(pins: Sequence[Document]) -> Mapping[Row, list[Standing]]:
    """Return the standing of each case and claim at each pin; a claim has that of its case where nothing was judged."""
    cases = [{(case["case"], case["digest"]): case for case in pin["cases"]} for pin in pins]
    rows: dict[Row, list[Standing]] = {}
    for name, digest in sorted({key for found in cases for key in found}):
        there = [found.get((name, digest)) for found in cases]
        rows[name, digest, None] = [said(case) if case else _ABSENT for case in there]
        for claim in dict.fromkeys(claim["claim"] for case in there if case for claim in case["claims"]):
            rows[name, digest, claim] = [_claim(case, claim) for case in there]
    return rows


def _claim(case: Document | None, name: str) -> Standing:
    if case is None:
        return _ABSENT
    if case["reason"] in _SILENT:
        return said(case)
    return next((said(case, claim) for claim in case["claims"] if claim["claim"] == name), _ABSENT)


def _runs(pins: Sequence[Document], standings: Iterable[Standing]) -> Iterator[Document]:
    named = [(pin["pin"], standing) for pin, standing in zip(pins, standings, strict=True)]
    for (verdict, reason), run in groupby(named, key=lambda pair: pair[1]):
        names = [name for name, _ in run]
        yield {"verdict": verdict, "reason": reason, "first": names[0], "last": names[-1], "pins": len(names)}


def _named(row: Row) -> Document:
    case, digest, claim = row
    return {"case": case, "digest": digest, "claim": claim}


def _summary(constant: Sequence[tuple[Row, Standing]]) -> list[Document]:
    """Return what never changes: for each verdict and reason the cases, and how many claims."""
    found = sorted({standing for _, standing in constant}, key=str)
    return [
        {
            "verdict": verdict,
            "reason": reason,
            "cases": [row[0] for row, standing in constant if standing == (verdict, reason) and row[2] is None],
            "claims": sum(standing == (verdict, reason) and row[2] is not None for row, standing in constant),
        }
        for verdict, reason in found
    ]
