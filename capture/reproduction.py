"""Reproduction: a record run again as it was published, judged again, and compared byte for byte.

A revision of a record is three files: results.json, upstream.json and history.jsonl. Each is compared on its own.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from capture import document, results, runs, upstream
from capture import wheelhouse as wheelhouses
from capture.check import Check
from capture.compare import first_difference
from capture.document import Document
from capture.interpreter import Interpreter
from capture.pin import find as find_pin
from capture.record import FILES, Record, Revision
from capture.verification import counted

__all__ = ["Measured", "compare", "measure", "timed_out"]


@dataclass(frozen=True)
class Measured:
    """What a reproduction measured: the results, and the bytes of each file of a revision that was measured."""

    results: Document
    files: Mapping[str, bytes]


def measure(
    record: Record,
    cases: runs.Cases,
    python: Interpreter,
    folder: Path,
    *,
    with_upstream: bool,
    wheelhouse: Path | None = None,
) -> Measured:
    """Run a record's cases at its pin, and its upstream tests beside them; what is measured is saved in `folder`, as a run's."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    pin = find_pin(record.data["pin"])
    if wheelhouse is not None:
        pin = wheelhouses.only(pin, wheelhouse, python)
    seconds = record.data["timeout-seconds"]
    with runs.claimed(folder), ThreadPoolExecutor(max_workers=1) as executor:
        tests = executor.submit(upstream.rerun, pin, python) if with_upstream else None
        row = runs.record_pin(pin, cases, python, folder / pin.name, seconds)
        found = results.build([row.results], record.name)
        files = {"results": document.canonical(found), "history": row.history or b""}
        if tests:
            files["upstream"] = document.canonical(tests.result())
        for key in files.keys() - {"history"}:
            document.write(folder / FILES[key], files[key])
        document.write(folder / "run.json", document.canonical(runs.about(started, python, {pin.name: row.machine})))
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


def timed_out(found: Document) -> bool:
    """Tell whether a limit of this machine kept a case from an answer, which is never a difference."""
    return any(case["reason"] == "timeout" for pin in found["pins"] for case in pin["cases"])


def _upstream_check(record: Record, measured: Measured) -> Check:
    if "upstream" not in measured.files:
        return Check("upstream tests", None, "left out, as asked")
    return counted(record, document.parse_json(measured.files["upstream"], "upstream.json"))


def _bytes_check(name: str, published: Path, measured: bytes | None) -> Check:
    if measured is None:
        return Check(name, None, "not measured")
    difference = first_difference(document.read(published), measured)
    return Check(name, difference is None, difference or f"the published bytes, SHA-256 {document.digest(measured)}")
