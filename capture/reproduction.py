"""Reproduction: a record run again as it was published, judged again, and compared byte for byte.

A revision of a record is three files: results.json, upstream.json and history.jsonl. Each is compared on its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from capture import document, history, results, runs, upstream
from capture.compare import first_difference
from capture.document import Document
from capture.errors import InputRefused
from capture.interpreter import Interpreter
from capture.pin import find as find_pin
from capture.record import FILES, Record, Revision

__all__ = ["Check", "Measured", "compare", "document_of", "measure", "timed_out", "verify", "verify_run"]


@dataclass(frozen=True)
class Check:
    """One thing that was checked; `held` is None if it was not."""

    check: str
    held: bool | None
    detail: str


@dataclass(frozen=True)
class Measured:
    """What a reproduction measured: the results, and the bytes of each file of a revision that was measured."""

    results: Document
    files: Mapping[str, bytes]


def measure(
    record: Record, cases: runs.Cases, python: Interpreter, asked: str | None, folder: Path, *, with_upstream: bool
) -> Measured:
    """Run a record's cases at its pin, and its upstream tests beside them; what is measured is saved in `folder`, as a run's."""
    pin = find_pin(record.data["pin"])
    started = datetime.now(UTC)
    with ThreadPoolExecutor(max_workers=1) as executor:
        tests = executor.submit(upstream.rerun, pin, python) if with_upstream else None
        row = runs.record_pin(pin, cases, python, folder / pin.name, record.data.get("timeout-seconds", runs.STEP_SECONDS))
        found = results.build([row.results], record.name)
        files = {"results": document.canonical(found), "history": row.history or b""}
        if tests:
            files["upstream"] = document.canonical(tests.result())
    for key in files.keys() - {"history"}:
        document.write(folder / FILES[key], files[key])
    document.write(folder / "run.json", document.canonical(runs.about(started, asked, python, {pin.name: row.machine})))
    return Measured(found, files)


def compare(record: Record, revision: Revision, measured: Measured) -> Iterator[Check]:
    """Yield what was checked of a reproduction, from the environment to the bytes."""
    pin = measured.results["pins"][0]
    yield Check("environment", True, ", ".join(f"{name} {version}" for name, version in sorted(pin["packages"].items())))
    for name, value in sorted(pin["files"].items()):
        yield Check(f"file {name}", True, f"{value}, as imported")
    yield Check(
        "smoke test",
        pin["smoke"] == "PASS",
        "one true and one planted answer came out right" if pin["smoke"] == "PASS" else "the probe cannot be believed",
    )
    yield Check("network, before any case", not pin["blocked"], "nothing was tried" if not pin["blocked"] else "an import tried it")
    yield _upstream_check(record, measured)
    for key, name in FILES.items():
        yield _bytes_check(name, revision.file(key), measured.files.get(key))


def verify(record: Record, revision: Revision) -> Iterator[Check]:
    """Yield what was checked of a published revision without running anything: digests, schemas, counts."""
    yield from _sums(revision.folder)
    for key, name in FILES.items():
        found = document.digest(document.read(revision.file(key)))
        yield Check(f"record.toml, {name}", found == revision.digests[key], f"SHA-256 {found}")
    found_results = results.read(document.read(revision.file("results")), str(revision.file("results")))
    found_upstream = document.parse_json(document.read(revision.file("upstream")), str(revision.file("upstream")))
    document.check(found_upstream, "upstream", str(revision.file("upstream")))
    yield _counted(record, found_upstream)
    yield from _evidence(found_results, {found_results["pins"][0]["pin"]: revision.file("history")})
    yield from _cases_check(found_results, revision)


def verify_run(folder: Path) -> Iterator[Check]:
    """Yield what was checked of a run's folder: the results, and that its evidence is the one they name."""
    found = results.read(document.read(folder / "results.json"), str(folder / "results.json"))
    yield Check("results.json", True, "fits its schema, and its counts are right")
    yield from _evidence(found, {pin["pin"]: folder / pin["pin"] / "history.jsonl" for pin in found["pins"] if pin["history"]})


def timed_out(found: Document) -> bool:
    """Tell whether a limit of this machine kept a case from an answer, which is never a difference."""
    return any(case["reason"] == "timeout" for pin in found["pins"] for case in pin["cases"])


def document_of(
    command: str, record: str | None, revision: str | None, checks: Sequence[Check], found: Document | None
) -> Document:
    """Return the JSON document that a command prints about its checks."""
    return {
        "verification": 1,
        "command": command,
        "record": record,
        "revision": revision,
        "held": all(check.held is not False for check in checks),
        "checks": [{"check": check.check, "held": check.held, "detail": check.detail} for check in checks],
        "results": found,
    }


def _upstream_check(record: Record, measured: Measured) -> Check:
    if "upstream" not in measured.files:
        return Check("upstream tests", None, "left out, as asked")
    return _counted(record, document.parse_json(measured.files["upstream"], "upstream.json"))


def _counted(record: Record, found: Document) -> Check:
    wanted = record.data["upstream"]
    counts = {key: found[key] for key in wanted}
    said = ", ".join(f"{count} {key}" for key, count in counts.items())
    detail = f"{said}; module {found['module_sha256']}"
    return Check(
        "upstream tests",
        counts == wanted,
        detail if counts == wanted else f"{detail}; the record has {wanted['passed']} passed",
    )


def _bytes_check(name: str, published: Path, measured: bytes | None) -> Check:
    if measured is None:
        return Check(name, None, "not measured")
    difference = first_difference(document.read(published), measured)
    return Check(name, difference is None, difference or f"the published bytes, SHA-256 {document.digest(measured)}")


def _sums(folder: Path) -> Iterator[Check]:
    path = folder / "SHA256SUMS"
    for line in document.read(path).decode("utf-8", "replace").splitlines():
        wanted, _, name = line.partition("  ")
        if not name or "/" in name or name in (".", ".."):
            raise InputRefused(
                f"{path}: {line!a} is not a digest and the name of a file beside it.",
                "Restore the file from where you got it.",
            )
        found = document.digest(document.read(folder / name))
        yield Check(f"SHA256SUMS, {name}", found == wanted, f"SHA-256 {found}")


def _evidence(found: Document, histories: Mapping[str, Path]) -> Iterator[Check]:
    for pin in found["pins"]:
        if pin["pin"] not in histories:
            continue
        path = histories[pin["pin"]]
        data = document.read(path)
        history.read(data, str(path))
        value = document.digest(data)
        yield Check(f"evidence of pin {pin['pin']}", value == pin["history"], f"SHA-256 {value}")


def _cases_check(found: Document, revision: Revision) -> Iterator[Check]:
    judged = [
        {"case": case["case"], "digest": case["digest"], "claims": [claim["claim"] for claim in case["claims"]]}
        for pin in found["pins"]
        for case in pin["cases"]
    ]
    wanted = [dict(entry) for entry in revision.cases]
    yield Check(
        "record.toml, cases and claims",
        judged == wanted,
        f"{len(judged)} cases" if judged == wanted else "results.json has other ones",
    )
