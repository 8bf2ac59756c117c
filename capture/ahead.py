"""Ahead: a probe started before the orchestrator has read or imported anything else.

Importing what is audited takes longer than everything that the orchestrator does, so the two go on side by side. A probe
that was started and is not wanted in the end, because the input is refused or the environment damaged, has run no case.
"""

import tomllib
from pathlib import Path

from capture import environment, interpreter, library
from capture.document import digest
from capture.environment import Environment
from capture.errors import AuditError
from capture.session import Session

__all__ = ["end", "start", "start_for", "take"]

_started: dict[Path, tuple[bytes, Session]] = {}


def start(pin: str) -> None:
    """Start a probe for a pin, named as on the command line, if its environment is there for the Python that runs this.

    What cannot be read or started here is left for those who read it in earnest and say what is wrong.
    """
    # A requirement such as langchain==1.4.6 is the pin langchain-1.4.6.
    folder = Path(pin) if "/" in pin else library.pin_folder(pin.replace("==", "-"))
    if folder is None:
        return
    try:
        place = environment.of(digest((folder / "requirements.txt").read_bytes()), interpreter.find(None))
        if place.whole:
            _started[place.path] = (place.generation(), Session(place.python))
    except (OSError, ValueError, AuditError):
        return


def start_for(record: str) -> None:
    """Start a probe for the pin of a record, named as on the command line."""
    folder = Path(record) if "/" in record else library.records_folder() / record
    try:
        pin = tomllib.loads((folder / "record.toml").read_text(encoding="utf-8"))["pin"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if isinstance(pin, str):
        start(pin)


def take(place: Environment) -> tuple[bytes, Session] | None:
    """Return the probe that was started in an environment, if one was, and which building of it; it is the taker's to end."""
    return _started.pop(place.path, None)


def end() -> None:
    """End every probe that nobody has taken."""
    while _started:
        _started.popitem()[1][1].end()
