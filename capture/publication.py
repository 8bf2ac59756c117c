"""Publication: a new revision of a record. What is published is never changed afterwards; what changes is the next revision."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from capture import cache, document
from capture.case import Case
from capture.claims import CLAIMS
from capture.record import FILES, Record
from capture.render import page
from capture.reproduction import Measured

__all__ = ["publish"]


def publish(record: Record, measured: Measured, cases: Sequence[Case]) -> Path:
    """Write the next revision beside the others, enter it in record.toml, and return its folder."""
    name = f"r{max((int(known[1:]) for known in record.revisions), default=0) + 1}"
    folder = record.folder / name
    files = {FILES[key]: data for key, data in measured.files.items()}
    files["README.md"] = page.revision(
        measured.results, document.parse_json(measured.files["upstream"], "upstream.json"), name
    ).encode()
    with cache.storage(folder):
        folder.mkdir()
    for file, data in files.items():
        document.write(folder / file, data)
    document.write(
        folder / "SHA256SUMS",
        "".join(f"{document.digest(data)}  {file}\n" for file, data in sorted(files.items())).encode(),
    )
    path = record.folder / "record.toml"
    document.write(path, document.read(path) + "".join(_entry(name, measured.files, cases)).encode())
    return folder


def _entry(name: str, files: Mapping[str, bytes], cases: Sequence[Case]) -> Iterable[str]:
    yield f"\n[revisions.{name}]\n"
    for key in FILES:
        yield f'{key} = "{document.digest(files[key])}"\n'
    for case in cases:
        claims = _strings(CLAIMS[claim].name for claim in case.claims)
        yield f'\n[[revisions.{name}.cases]]\ncase = "{case.id}"\ndigest = "{case.digest}"\nclaims = {claims}\n'


def _strings(values: Iterable[Any]) -> str:
    return "[\n" + "".join(f'  "{value}",\n' for value in values) + "]"
