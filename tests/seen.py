"""What a real probe sees at a real pin, for tests that look at it in ways of their own."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from capture import document, interpreter, pin
from capture.case import Case
from capture.document import Document
from capture.judgement import Judge
from capture.observation import Watch, observe
from capture.saved import SavedHistory

__all__ = ["judged_at", "seen_at"]


def seen_at(name: str, cases: Sequence[Case]) -> SavedHistory:
    """Return what is seen of cases at a pin, observed afresh."""
    with tempfile.TemporaryDirectory() as folder:
        return observe(pin.find(name), lambda: cases, Watch(interpreter.find(None), Path(folder)))


def judged_at(name: str, cases: Sequence[Case]) -> Document:
    """Return the results of cases at a pin, observed afresh."""
    saved = seen_at(name, cases)
    return Judge().pin(saved, document.digest(saved.data()), {case.id: case.claims for case in cases})
