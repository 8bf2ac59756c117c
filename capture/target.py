"""A target: what a command line names, by how it is written. docs/decisions/0015-comparing.md has the rule."""

from enum import Enum, auto
from pathlib import Path

__all__ = ["Kind", "kind"]

_LOCKS = (".txt", ".toml", ".lock")


class Kind(Enum):
    """What a target can be."""

    FOLDER = auto()
    """The folder of a run, or else of a pin."""
    RESULTS = auto()
    """A file of results."""
    LOCK = auto()
    """A lock that somebody made elsewhere."""
    NAME = auto()
    """The name of a pin, or a requirement that says it."""


def kind(target: str) -> Kind:
    """Return what a target is: nothing that a file holds decides it, so that a broken file is refused as what it was meant for."""
    if target.endswith(_LOCKS):
        return Kind.LOCK
    is_path = "/" in target
    if is_path and Path(target).is_dir():
        return Kind.FOLDER
    if target.endswith(".json"):
        return Kind.RESULTS
    return Kind.LOCK if is_path else Kind.NAME
