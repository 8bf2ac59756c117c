"""Reproduction: a record run again as it was published, judged again, and compared byte for byte.

A revision of a record is three files: results.json, upstream.json and history.jsonl. Each is compared on its own.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from capture import archive, document, evidence, results, run_folder, runs, upstream, wheelhouse
from capture.check import Check, same_bytes
from capture.document import Document
from capture.errors import InputRefused
from capture.interpreter import Interpreter
from capture.judgement import Judge
from capture.observation import Cases, Watch, observe, observe_in
from capture.pin import Pin
from capture.pin import find as find_pin
from capture.postgres import Postgres
from capture.record import FILES, Record, Revision
from capture.saved import SavedHistory
from capture.verification import counted

__all__ = ["Measured", "Plan", "compare", "limited", "measure"]


@dataclass(frozen=True)
class Plan:
    """How to run a record: the Python, where to save, and whether from a wheelhouse alone or from an archive."""

    python: Interpreter
    folder: Path
    with_upstream: bool = True
    wheelhouse: Path | None = None
    archive: str | None = None
    postgres: Postgres | None = None
    """The server for the cases that need one, which ends with the reproduction."""


@dataclass(frozen=True)
class Measured:
    """What a reproduction measured: the results, the bytes of each file of a revision, and what was checked on the way."""

    results: Document
    files: Mapping[str, bytes]
    checks: tuple[Check, ...] = ()


def measure(record: Record, cases: Cases, plan: Plan) -> Measured:
    """Run a record's cases at its pin, and its upstream tests; what is measured is saved as a run's."""
    pin = find_pin(record.data["pin"])
    if plan.wheelhouse is not None:
        pin = wheelhouse.only(pin, plan.wheelhouse, plan.python)
    with run_folder.claimed(plan.folder), plan.postgres or nullcontext():
        seen, tests, checks = _from_archive(record, pin, cases, plan) if plan.archive else _from_lock(record, pin, cases, plan)
        found = results.build([runs.judged(pin.name, seen, cases(), Judge())], record.name)
        files = {"results": document.canonical(found), "history": seen.data()}
        if tests is not None:
            files["upstream"] = document.canonical(tests)
        for key in files.keys() - {"history"}:
            document.write(plan.folder / FILES[key], files[key])
        document.write(evidence.place(plan.folder, pin.name), files["history"])
        run_folder.end(plan.folder, plan.python, {pin.name: seen.machine})
    return Measured(found, files, checks)


_Run = tuple[SavedHistory, Document | None, tuple[Check, ...]]


def _from_lock(record: Record, pin: Pin, cases: Cases, plan: Plan) -> _Run:
    """Run from the pin's lock, the upstream tests beside the cases."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        tests = executor.submit(upstream.rerun, pin, plan.python) if plan.with_upstream else None
        seen = observe(pin, cases, _watch(record, pin, plan))
        return seen, tests.result() if tests else None, ()


def _from_archive(record: Record, pin: Pin, cases: Cases, plan: Plan) -> _Run:
    """Run from the archive of the record's commit: its pinned files, its upstream tests, then the cases."""
    provenance = record.data["provenance"]
    if "commit" not in provenance:
        raise InputRefused(f"record {record.name}: it names no commit, so it has no archive.", "Reproduce it without --archive.")
    pinned = provenance.get("files", {})
    with archive.opened(str(plan.archive), pinned, plan.python) as source:
        tests = upstream.rerun_in(pin, source.environment, source.project) if plan.with_upstream else None
        seen = observe_in(source.environment, pin, cases, _watch(record, pin, plan))
    named = provenance.get("archive-sha256")
    held, said = (True, "the one of the record") if source.digest == named else (None, f"the record had {named}")
    files = [Check(f"archive, {name}", True, value) for name, value in pinned.items()]
    return seen, tests, (Check("archive", held, f"SHA-256 {source.digest}, {said}"), *files)


def _watch(record: Record, pin: Pin, plan: Plan) -> Watch:
    return Watch(plan.python, plan.folder / pin.name, record.data["timeout-seconds"], postgres=plan.postgres)


def compare(record: Record, revision: Revision, measured: Measured) -> Iterator[Check]:
    """Yield what was checked of a reproduction, from the environment to the bytes."""
    pin = measured.results["pins"][0]
    yield from measured.checks
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
        yield same_bytes(name, document.read(revision.file(key)), measured.files.get(key))


def limited(found: Document) -> bool:
    """Tell whether a limit of this machine, or an environment that cannot be had, kept a case from an answer: no difference."""
    return any(case["reason"] in ("checkpointer", "environment", "timeout") for pin in found["pins"] for case in pin["cases"])


def _upstream_check(record: Record, measured: Measured) -> Check:
    if "upstream" not in measured.files:
        return Check("upstream tests", None, "left out, as asked")
    return counted(record, document.parse_json(measured.files["upstream"], "upstream.json"))
