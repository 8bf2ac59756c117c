"""Rejudgement: saved evidence judged again, by the claims of then or by those of the suite now. Nothing is run."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from capture import case, document, history, results
from capture.check import Check, report
from capture.compare import first_difference
from capture.document import Document
from capture.errors import InputRefused
from capture.record import Record, Revision

__all__ = ["RECORDED", "SUITE", "again", "of_revision", "of_run"]

RECORDED, SUITE = "recorded", "suite"
"""By which claims to judge: those that the results name, or those of the suite now."""

Claims = Mapping[str, Iterable[str]]


def of_revision(record: Record, revision: Revision, claims: str = RECORDED) -> Document:
    """Judge the history of a published revision again and compare the bytes of its results."""
    checks, after = _judged(revision.file("results"), lambda _: revision.file("history"), claims)
    return report("rejudge", record.name, revision.name, checks, after)


def of_run(folder: Path, claims: str = RECORDED) -> Document:
    """Judge the histories in the folder of a run again and compare the bytes of its results."""
    checks, after = _judged(folder / "results.json", lambda pin: folder / pin / "history.jsonl", claims)
    return report("rejudge", None, None, checks, after)


def again(path: Path, history_of: Callable[[str], Path]) -> list[Check]:
    """Return whether results follow from their evidence, by the claims that they name; `history_of` finds that of a pin."""
    return _judged(path, history_of, RECORDED)[0]


def _judged(path: Path, history_of: Callable[[str], Path], claims: str) -> tuple[list[Check], Document]:
    saved = document.read(path)
    before = results.read(saved, str(path))
    pins = [_pin(pin, history_of(pin["pin"]), claims) for pin in before["pins"]]
    after = results.build(pins, before["record"])
    difference = first_difference(saved, document.canonical(after))
    evidence = [_evidence(old, new) for old, new in zip(before["pins"], pins, strict=True)]
    return [*evidence, Check("judged again", difference is None, difference or "the very bytes of results.json")], after


def _evidence(old: Document, new: Document) -> Check:
    name = f"evidence of pin {old['pin']}"
    if old["history"] is None:
        return Check(name, None, "none was saved: the environment could not be had")
    return Check(name, old["history"] == new["history"], f"SHA-256 {new['history']}")


def _pin(pin: Document, path: Path, claims: str) -> Document:
    if pin["history"] is None:
        return pin
    data = document.read(path)
    found = history.read(data, str(path))
    return results.pin_results(found, data, _recorded(pin, found, str(path)) if claims == RECORDED else _suite(found))


def _recorded(pin: Document, found: history.History, where: str) -> Claims:
    claims = {entry["case"]: [claim["claim"] for claim in entry["claims"]] for entry in pin["cases"]}
    for name in sorted({entry.case for entry in found.cases} - set(claims)):
        raise InputRefused(f"{where}: case {name} is not in the results.", "Restore the file from where you got it.")
    return claims


def _suite(found: history.History) -> Claims:
    suite = {known.id: known.claims for known in case.all_cases()}
    for name in sorted({entry.case for entry in found.cases} - set(suite)):
        raise InputRefused(f"case {name}: the suite does not have it.", "Judge it by the claims that were recorded.")
    return suite
