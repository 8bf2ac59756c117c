"""Evidence: what a run or a revision saved of what was seen at each pin, found and read again."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from capture import document, histories, sight
from capture.document import Document
from capture.errors import InputRefused
from capture.sight import Sight

__all__ = ["Evidence", "in_file", "in_folder", "place"]

FILE = "history.jsonl"
"""The name of the history file of one pin."""


@dataclass(frozen=True)
class Evidence:
    """What was seen at a pin, and the SHA-256 of its history file."""

    sight: Sight
    digest: str


def in_file(path: Path) -> Evidence:
    """Read the history file of one pin."""
    data = document.read(path)
    return Evidence(sight.read(data, str(path)), document.digest(data))


def in_folder(folder: Path, results: Document) -> Mapping[str, Evidence]:
    """Return what a folder has of each pin of the results that has a history; one that is missing is refused."""
    names = [pin["pin"] for pin in results["pins"] if pin["history"] is not None]
    if len(results["pins"]) == 1:
        return {name: in_file(folder / name / FILE) for name in names}
    path = folder / histories.FILE
    found = histories.read(document.read(path), str(path))
    for name in sorted(found.keys() ^ set(names)):
        said = "is not in it" if name in names else "is in it, but the results have no history of it"
        raise InputRefused(f"{path}: pin {name} {said}.", "Restore the file from where you got it.")
    return {name: Evidence(found[name], document.digest(found[name].data())) for name in names}


def place(folder: Path, pin: str) -> Path:
    """Return where the history file of a run's only pin is."""
    return folder / pin / FILE
