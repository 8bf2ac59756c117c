"""Histories of the miniatures, each recorded once by the real recorder from a real process."""

import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from capture import case, library
from capture.case import Case
from capture.environment import Environment
from capture.history import CaseHistory
from capture.recorder import Recorder

MINIATURES = Path(__file__).parent / "miniatures.py"

CASES = Path(__file__).parent / "cases"

UNGATED = "smoke/ungated"


@cache
def suite() -> Mapping[str, Case]:
    """Return the suite, the ungated case of the smoke test, and the cases that only the tests have, by id."""
    own = [known for path in sorted(CASES.glob("*.toml")) for known in case.load(path, f"tests/{path.stem}")]
    return {known.id: known for known in (*case.all_cases(), *case.smoke(), *own)}


@cache
def recorded(fault: str, case_id: str, seconds: float = 20.0) -> CaseHistory:
    """Return the history of a case with a miniature that has this fault."""
    with tempfile.TemporaryDirectory() as folder:
        return record(fault, case_id, Path(folder), seconds)


def record(fault: str, case_id: str, folder: Path, seconds: float = 20.0) -> CaseHistory:
    """Record a case with a miniature, in a folder."""
    program = (MINIATURES, fault, library.probe_folder())
    with Recorder(Environment(Path(sys.prefix)), folder, seconds, [str(part) for part in program]) as recorder:
        recorder.describe([], [])
        return recorder.record(suite()[case_id]).result()
