"""Verification: what is published, or what a run saved, checked without running anything. Digests, schemas, counts, verdicts."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from capture import document, evidence, persistence, rejudgement, results, run_folder
from capture.check import Check
from capture.document import Document
from capture.errors import InputRefused
from capture.evidence import Evidence
from capture.record import FILES, Record, Revision
from capture.saved import SavedHistory

__all__ = ["agreements", "counted", "listed", "of_revision", "of_run"]


def of_revision(record: Record, revision: Revision) -> Iterator[Check]:
    """Yield what was checked of a published revision."""
    yield _folders(record)
    yield from listed(revision.folder)
    for key, name in FILES.items():
        value = document.digest(document.read(revision.file(key)))
        yield Check(f"record.toml, {name}", value == revision.digests[key], f"SHA-256 {value}")
    found = results.read(document.read(revision.file("results")), str(revision.file("results")))
    upstream = document.parse_json(document.read(revision.file("upstream")), str(revision.file("upstream")))
    document.check(upstream, "upstream", str(revision.file("upstream")))
    yield counted(record, upstream)
    yield from agreements(found, revision.evidence(found))
    yield from rejudgement.again(revision.file("results"), revision.evidence)
    yield _names(record, found, upstream)
    yield _cases(found, revision)


def of_run(folder: Path) -> Iterator[Check]:
    """Yield what was checked of a run's folder: the results, and that its evidence is the one they name."""
    run_folder.refuse_unfinished(folder)
    found = results.read(document.read(folder / "results.json"), str(folder / "results.json"))
    yield Check("results.json", True, "fits its schema, its counts are right, its verdicts follow from its claims")
    yield from agreements(found, evidence.in_folder(folder, found))
    yield from rejudgement.again(folder / "results.json", partial(evidence.in_folder, folder))


def counted(record: Record, found: Document) -> Check:
    """Check the counts of the upstream tests against those of the record."""
    wanted = record.data["upstream"]
    counts = {key: found[key] for key in wanted}
    said = ", ".join(f"{count} {key}" for key, count in counts.items())
    detail = f"{said}; module {found['module_sha256']}"
    held = counts == wanted
    return Check("upstream tests", held, detail if held else f"{detail}; the record has {wanted['passed']} passed")


def _folders(record: Record) -> Check:
    """Check that the revisions beside record.toml are those that it names."""
    found = sorted(path.name for path in record.folder.iterdir() if path.is_dir())
    held = found == sorted(record.revisions)
    return Check("record.toml, revisions", held, ", ".join(found) if held else f"the folders are {', '.join(found) or 'none'}")


def listed(folder: Path) -> Iterator[Check]:
    """Check the digest of every file beside SHA256SUMS; one that it does not name is a difference."""
    named = dict(_lines(folder / "SHA256SUMS"))
    for name in sorted(path.name for path in folder.iterdir() if path.name != "SHA256SUMS"):
        value = document.digest(document.read(folder / name)) if (folder / name).is_file() else "none, it is a folder"
        yield Check(f"SHA256SUMS, {name}", named.pop(name, None) == value, f"SHA-256 {value}")
    for name in sorted(named):
        raise InputRefused(f"{folder / name}: there is no such file, but SHA256SUMS names it.", _RESTORE)


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    for line in document.read(path).decode("utf-8", "replace").splitlines():
        value, _, name = line.partition("  ")
        if not name or "/" in name or name in (".", ".."):
            raise InputRefused(f"{path}: {line!a} is not a digest and the name of a file beside it.", _RESTORE)
        yield name, value


_RESTORE = "Restore the file from where you got it."


def agreements(found: Document, saved: Mapping[str, Evidence]) -> Iterator[Check]:
    """Yield whether results and evidence are of the same pin, files, packages and scenarios."""
    for pin in found["pins"]:
        if pin["pin"] in saved:
            yield _agreement(pin, saved[pin["pin"]].history)


def _agreement(pin: Document, history: SavedHistory) -> Check:
    """Check that results and history are of the same pin, files, packages and scenarios."""
    head = [history.environment.get(key) for key in _HEAD] + [[(case.case, case.scenario) for case in history.cases]]
    results_head = [pin.get(key) for key in _HEAD] + [[(case["case"], case["digest"]) for case in pin["cases"]]]
    held = head == results_head
    detail = f"{len(history.cases)} cases" if held else "they are not of the same pin, packages, files and cases"
    return Check(f"results and evidence of pin {pin['pin']}", held, detail)


_HEAD = ("pin", "packages", "files", "blocked", persistence.KEY)


def _names(record: Record, found: Document, upstream: Document) -> Check:
    """Check that record, results and upstream tests speak of the same record and pin."""
    named = [(found["record"], pin["pin"], upstream["pin"]) for pin in found["pins"]]
    wanted = [(record.name, record.data["pin"], record.data["pin"])]
    held = named == wanted
    return Check("record and pin", held, f"{record.name} at {record.data['pin']}" if held else "the files name other ones")


def _cases(found: Document, revision: Revision) -> Check:
    judged = [
        {"case": case["case"], "digest": case["digest"], "claims": [claim["claim"] for claim in case["claims"]]}
        for pin in found["pins"]
        for case in pin["cases"]
    ]
    held = judged == [dict(entry) for entry in revision.cases]
    return Check("record.toml, cases and claims", held, f"{len(judged)} cases" if held else "results.json has other ones")
