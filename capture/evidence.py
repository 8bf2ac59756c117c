"""Evidence: what a run or a revision saved of what was seen at each pin, found and read again."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from capture import document, histories
from capture.document import Document
from capture.errors import InputRefused
from capture.saved import SavedHistory

__all__ = ["FILE", "Evidence", "in_file", "in_folder", "place"]

FILE = "history.jsonl"
"""The name of the history file of one pin."""


@dataclass(frozen=True)
class Evidence:
    """What was seen at a pin, and the SHA-256 of its history file."""

    history: SavedHistory
    digest: str


def in_file(path: Path) -> Evidence:
    """Read the history file of one pin."""
    data = document.read(path)
    return Evidence(SavedHistory.read(data, str(path)), document.digest(data))


def in_folder(folder: Path, results: Document) -> Mapping[str, Evidence]:
    """Return what a folder has of each pin of the results that has a history.

    One that is missing is refused, and so is one that the results leave out.
    """
    named = {pin["pin"] for pin in results["pins"] if pin["history"] is not None}
    found = _of_one(folder, results["pins"][0]["pin"], named) if len(results["pins"]) == 1 else _of_several(folder)
    for name in sorted(found.keys() ^ named):
        said = "there is no history of it" if name in named else "there is a history of it, but not in the results"
        raise InputRefused(f"{folder}: pin {name}: {said}.", "Restore the folder from where you got it.")
    return found


def place(folder: Path, pin: str) -> Path:
    """Return where the history file of a run's only pin is."""
    return folder / pin / FILE


def _of_one(folder: Path, pin: str, named: Collection[str]) -> Mapping[str, Evidence]:
    path = place(folder, pin)
    return {pin: in_file(path)} if pin in named or path.exists() else {}


def _of_several(folder: Path) -> Mapping[str, Evidence]:
    path = folder / histories.FILE
    found = histories.read(document.read(path), str(path))
    return {name: Evidence(history, document.digest(history.data())) for name, history in found.items()}
