"""Rejudgement: saved evidence judged again, by the claims of then or by those of the suite now. Nothing is run."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from capture import case, document, history, results
from capture.compare import first_difference
from capture.document import Document
from capture.record import Record, Revision, claim_id
from capture.reproduction import Check, document_of

__all__ = ["of_revision", "of_run"]

Claims = Mapping[str, Iterable[str]]


def of_revision(record: Record, revision: Revision, claims: str) -> Document:
    """Judge the history of a published revision again and compare the bytes of its results."""
    saved = document.read(revision.file("results"))
    pin = results.read(saved, str(revision.file("results")))["pins"][0]["pin"]
    return _judged(saved, {pin: revision.file("history")}, str(revision.file("results")), claims, record.name, revision.name)


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
    pins = [_pin(pin, histories[pin["pin"]], where, claims) for pin in before["pins"]]
    after = results.build(pins, before["record"])
    difference = first_difference(saved, document.canonical(after))
    evidence = [
        Check(f"evidence of pin {old['pin']}", old["history"] == new["history"], f"SHA-256 {new['history']}")
        for old, new in zip(before["pins"], pins, strict=True)
    ]
    verdicts = Check("results.json", difference is None, difference or "the very bytes that were saved")
    return document_of("rejudge", record, revision, [*evidence, verdicts], after)


def _pin(pin: Document, path: Path, where: str, claims: str) -> Document:
    if pin["history"] is None:
        return pin
    data = document.read(path)
    found = history.read(data, str(path))
    return results.pin_results(found, data, _recorded(pin, where) if claims == "recorded" else _suite(found))


def _recorded(pin: Document, where: str) -> Claims:
    return {found["case"]: [claim_id(claim["claim"], where) for claim in found["claims"]] for found in pin["cases"]}


def _suite(found: history.History) -> Claims:
    return {entry.case: case.find([entry.case])[0].claims for entry in found.cases}
