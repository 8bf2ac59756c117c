"""Rejudgement: saved evidence judged again, by the claims of then or by those of the suite now. Nothing is run."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from capture import case, document, evidence, results
from capture.check import Check, report
from capture.compare import first_difference
from capture.document import Document
from capture.errors import InputRefused
from capture.evidence import Evidence
from capture.judgement import Judge
from capture.record import Record, Revision
from capture.saved import SavedHistory

__all__ = ["RECORDED", "SUITE", "again", "of_revision", "of_run"]

RECORDED, SUITE = "recorded", "suite"
"""By which claims to judge: those that the results name, or those of the suite now."""

Claims = Mapping[str, Iterable[str]]

Saved = Callable[[Document], Mapping[str, Evidence]]
"""Finds the evidence of each pin of results."""


def of_revision(record: Record, revision: Revision, claims: str = RECORDED) -> Document:
    """Judge the history of a published revision again and compare the bytes of its results."""
    checks, after = _judged(revision.file("results"), revision.evidence, claims)
    return report("rejudge", record.name, revision.name, checks, after)


def of_run(folder: Path, claims: str = RECORDED) -> Document:
    """Judge the histories in the folder of a run again and compare the bytes of its results."""
    checks, after = _judged(folder / "results.json", partial(evidence.in_folder, folder), claims)
    return report("rejudge", None, None, checks, after)


def again(path: Path, saved: Saved) -> list[Check]:
    """Return whether results follow from their evidence, by the claims that they name; `saved` finds it."""
    return _judged(path, saved, RECORDED)[0]


def _judged(path: Path, saved: Saved, claims: str) -> tuple[list[Check], Document]:
    data = document.read(path)
    before = results.read(data, str(path))
    found = saved(before)
    judge = Judge()
    pins = [_pin(pin, found.get(pin["pin"]), claims, judge) for pin in before["pins"]]
    after = results.build(pins, before["record"])
    difference = first_difference(data, document.canonical(results.packed(after)))
    checks = [_evidence(old, new) for old, new in zip(before["pins"], pins, strict=True)]
    return [*checks, Check("judged again", difference is None, difference or "the very bytes of results.json")], after


def _evidence(old: Document, new: Document) -> Check:
    name = f"evidence of pin {old['pin']}"
    if old["history"] is None:
        return Check(name, None, "none was saved: the environment could not be had")
    return Check(name, old["history"] == new["history"], f"SHA-256 {new['history']}")


def _pin(pin: Document, found: Evidence | None, claims: str, judge: Judge) -> Document:
    if found is None:
        return pin
    return judge.pin(found.history, found.digest, _recorded(pin, found.history) if claims == RECORDED else _suite(found.history))


def _recorded(pin: Document, saved: SavedHistory) -> Claims:
    claims = {entry["case"]: [claim["claim"] for claim in entry["claims"]] for entry in pin["cases"]}
    for name in sorted({entry.case for entry in saved.cases} - set(claims)):
        raise InputRefused(
            f"history of pin {pin['pin']}: case {name} is not in the results.", "Restore the file from where you got it."
        )
    return claims


def _suite(saved: SavedHistory) -> Claims:
    suite = {known.id: known.claims for known in case.all_cases()}
    for name in sorted({entry.case for entry in saved.cases} - set(suite)):
        raise InputRefused(f"case {name}: the suite does not have it.", "Judge it by the claims that were recorded.")
    return suite
