"""Rejudgement: saved evidence judged again, by the claims of then or by those of the suite now. Nothing is run."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from capture import case, document, history, results
from capture.compare import first_difference
from capture.document import Document
from capture.errors import InputRefused
from capture.record import Record, Revision
from capture.reproduction import Check, document_of

__all__ = ["of_revision", "of_run"]

Claims = Mapping[str, Iterable[str]]


def of_revision(record: Record, revision: Revision, claims: str) -> Document:
    """Judge the history of a published revision again and compare the bytes of its results."""
    saved = document.read(revision.file("results"))
    pins = results.read(saved, str(revision.file("results")))["pins"]
    histories = {pin["pin"]: revision.file("history") for pin in pins}
    return _judged(saved, histories, str(revision.file("results")), claims, record.name, revision.name)


def of_run(folder: Path, claims: str) -> Document:
    """Judge the histories in the folder of a run again and compare the bytes of its results."""
    path = folder / "results.json"
    saved = document.read(path)
    histories = {pin["pin"]: folder / pin["pin"] / "history.jsonl" for pin in results.read(saved, str(path))["pins"]}
    return _judged(saved, histories, str(path), claims, None, None)


def _judged(
    saved: bytes, histories: Mapping[str, Path], where: str, claims: str, record: str | None, revision: str | None
) -> Document:
    before = results.read(saved, where)
    pins = [_pin(pin, histories[pin["pin"]], claims) for pin in before["pins"]]
    after = results.build(pins, before["record"])
    difference = first_difference(saved, document.canonical(after))
    evidence = [
        Check(f"evidence of pin {old['pin']}", old["history"] == new["history"], f"SHA-256 {new['history']}")
        for old, new in zip(before["pins"], pins, strict=True)
    ]
    verdicts = Check("results.json", difference is None, difference or "the very bytes that were saved")
    return document_of("rejudge", record, revision, [*evidence, verdicts], after)


def _pin(pin: Document, path: Path, claims: str) -> Document:
    if pin["history"] is None:
        return pin
    data = document.read(path)
    found = history.read(data, str(path))
    return results.pin_results(found, data, _recorded(pin, found, str(path)) if claims == "recorded" else _suite(found))


def _recorded(pin: Document, found: history.History, where: str) -> Claims:
    claims = {entry["case"]: [claim["claim"] for claim in entry["claims"]] for entry in pin["cases"]}
    for name in sorted({entry.case for entry in found.cases} - set(claims)):
        raise InputRefused(f"{where}: case {name} is not in the results.", "Restore the file from where you got it.")
    return claims


def _suite(found: history.History) -> Claims:
    return {entry.case: case.find([entry.case])[0].claims for entry in found.cases}
