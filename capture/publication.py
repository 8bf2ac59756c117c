"""Publication: a new revision of a record. What is published is never changed afterwards; what changes is the next revision."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from capture import cache, document
from capture.case import Case
from capture.errors import InputRefused
from capture.record import FILES, Record
from capture.render import page
from capture.reproduction import Measured

__all__ = ["SUMS", "publish", "sums"]

SUMS = "SHA256SUMS"
"""The file that has the digest of every other in a folder that is published."""


def publish(record: Record, measured: Measured, cases: Sequence[Case]) -> Path:
    """Write the next revision beside the others, enter it in record.toml, and return its folder."""
    for complaint in _unfit(record, measured):
        raise InputRefused(
            f"record {record.name}: {complaint}.", "Nothing was published; a revision shows the subject, not the machine."
        )
    name = f"r{max((int(known[1:]) for known in record.revisions), default=0) + 1}"
    folder = record.folder / name
    files = _files(record, measured, name)
    with cache.storage(folder):
        # A folder that record.toml does not name was left by a publication that did not come to its end.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    for file, data in files.items():
        document.write(folder / file, data)
    path = record.folder / "record.toml"
    document.write(path, document.read(path) + "".join(_entry(name, measured.files, cases)).encode())
    return folder


def sums(files: Mapping[str, bytes]) -> bytes:
    """Return the bytes of the file of digests, in the form that `sha256sum` checks."""
    return "".join(f"{document.digest(data)}  {name}\n" for name, data in sorted(files.items())).encode()


def _unfit(record: Record, measured: Measured) -> Iterator[str]:
    """Yield what is wrong with the measurement itself; a FAIL or a feature that a release lacks is worth publishing."""
    pin = measured.results["pins"][0]
    if pin["smoke"] != "PASS":
        yield "the smoke test did not come out right"
    for case in pin["cases"]:
        if case["reason"] in ("checkpointer", "environment", "error", "smoke", "timeout"):
            yield f"case {case['case']} is UNKNOWN ({case['reason']})"
    counts = document.parse_json(measured.files["upstream"], "upstream.json")
    if any(counts[key] != wanted for key, wanted in record.data["upstream"].items()):
        yield "the upstream tests did not come out as the record says"


def _files(record: Record, measured: Measured, name: str) -> Mapping[str, bytes]:
    files = {FILES[key]: data for key, data in measured.files.items()}
    counts = document.parse_json(measured.files["upstream"], "upstream.json")
    files["README.md"] = page.revision(record, measured.results, counts, name).encode()
    return {**files, SUMS: sums(files)}


def _entry(name: str, files: Mapping[str, bytes], cases: Sequence[Case]) -> Iterable[str]:
    yield f"\n[revisions.{name}]\n"
    for key in FILES:
        yield f'{key} = "{document.digest(files[key])}"\n'
    for case in cases:
        claims = _strings(case.claims)
        yield f'\n[[revisions.{name}.cases]]\ncase = "{case.id}"\ndigest = "{case.digest}"\nclaims = {claims}\n'


def _strings(values: Iterable[Any]) -> str:
    return "[\n" + "".join(f'  "{value}",\n' for value in values) + "]"
