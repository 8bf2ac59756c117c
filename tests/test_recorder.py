"""Whatever becomes of a probe, its case is UNKNOWN with a reason, nothing of it is left behind, and the next case runs."""

import sys
import time
from pathlib import Path

import pytest

from capture import environment, history, interpreter, library, pin
from capture.case import Case
from capture.environment import Environment
from capture.errors import ProbeFailed
from capture.recorder import Recorder
from capture.session import Session
from capture.verdict import PASS, UNKNOWN, judge
from tests.miniatures import ANSWERS
from tests.subjects import MINIATURES, record, recorded, suite

EDIT = "decisions/edit"


@pytest.mark.parametrize("fault", ["crashes", "raises", *ANSWERS])
def test_a_probe_that_fails_is_unknown_error(fault: str) -> None:
    """A probe that dies, fails, or answers with what is no answer leaves UNKNOWN(error), never PASS."""
    verdict = judge(recorded(fault, EDIT), suite()[EDIT].claims)
    assert (verdict.verdict, verdict.reason) == (UNKNOWN, "error")
    assert verdict.detail


def test_a_probe_that_hangs_is_unknown_timeout() -> None:
    """A step that does not come back within its limit is UNKNOWN(timeout)."""
    verdict = judge(recorded("hangs", EDIT, 1.0), suite()[EDIT].claims)
    assert (verdict.verdict, verdict.reason) == (UNKNOWN, "timeout")


def test_a_journal_that_is_none_is_unknown_error() -> None:
    """A line that does not fit the schema of a history makes the whole journal worthless, even one that says PASS."""
    verdict = judge(recorded("spoils-journal", EDIT), suite()[EDIT].claims)
    assert (verdict.verdict, verdict.reason) == (UNKNOWN, "error")


LIMITED = """
import resource, runpy, sys
most = int(sys.argv[2])
sys.dont_write_bytecode = True  # cut short by the limit it would be left behind, and no probe could import it any more
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.mark.parametrize("most", [900, 2000, 4000, 6000])
def test_what_cannot_be_written_down_is_a_fault(most: int, tmp_path: Path) -> None:
    """A probe whose journal takes no more ends: as an error of the tool the missing line would look like the subject's doing."""
    place = environment.ensure(pin.find("langchain-1.5.2").lock, interpreter.find(None))
    with Recorder(place, tmp_path, 60.0, ["-c", LIMITED, str(library.probe_folder()), str(most)]) as recorder:
        recorder.describe([], [])
        found = recorder.record(suite()[EDIT]).result()
    assert [entry["reason"] for entry in found.of("fault")] == ["error"]
    verdict = judge(found, suite()[EDIT].claims)
    assert (verdict.verdict, verdict.reason) == (UNKNOWN, "error")


def test_a_journal_that_is_none_spoils_no_other_case() -> None:
    """What is left of such a case can be saved and read again beside the others."""
    found = recorded("spoils-journal", EDIT)
    head = {"kind": "environment", "history": 1, "pin": "x", "packages": {}, "files": {}, "blocked": []}
    data = history.write(history.History(head, (), (found,)))
    assert judge(history.read(data, "history").cases[0], suite()[EDIT].claims).reason == "error"


def test_a_question_in_an_unknown_form_is_unobservable() -> None:
    """What the reviewer was shown cannot be read: nobody knows what the answer allowed."""
    verdict = judge(recorded("shows-nothing-known", EDIT), suite()[EDIT].claims)
    assert (verdict.verdict, verdict.reason) == (UNKNOWN, "unobservable")


@pytest.mark.parametrize("fault", ["crashes", "hangs", "floods"])
def test_the_next_case_runs_in_a_new_probe(fault: str, tmp_path: Path) -> None:
    """A probe that failed is replaced: the case after it gives what it gives alone."""
    program = [str(MINIATURES), fault, str(library.probe_folder())]
    with Recorder(Environment(Path(sys.prefix)), tmp_path, 2.0, program) as recorder:
        recorder.describe([], [])
        first = recorder.record(suite()[EDIT]).result()
        # Only a resume crashes or hangs, and a case with nothing to answer has none; a flood is stopped in its own case.
        second = recorder.record(suite()["smoke/ungated"]).result()
    assert judge(first, suite()[EDIT].claims).verdict == UNKNOWN
    expected = UNKNOWN if fault == "floods" else PASS
    assert judge(second, suite()["smoke/ungated"].claims).verdict == expected


@pytest.mark.parametrize("fault", ["correct", "crashes", "hangs", "floods", "forks"])
def test_no_process_is_left_behind(fault: str, tmp_path: Path) -> None:
    """When a recorder is left, no process of its probe is there any more."""
    record(fault, EDIT, tmp_path, 2.0)
    assert [pid for pid in _processes() if str(MINIATURES) in _command(pid) and fault in _command(pid)] == []


def test_what_a_probe_prints_is_kept_up_to_a_limit(tmp_path: Path) -> None:
    """What a probe prints goes to its log and not into the answers; a flood is cut at a mebibyte."""
    program = tmp_path / "loud.py"
    program.write_text("import sys\nsys.stderr.write('x' * 3_000_000)\nsys.stderr.flush()\n")
    with Recorder(Environment(Path(sys.prefix)), tmp_path, 2.0, [str(program)]) as recorder, pytest.raises(ProbeFailed):
        recorder.describe([], [])
    assert (tmp_path / "probe.log").stat().st_size == 1024 * 1024


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def test_a_probe_that_does_not_read_is_a_timeout(tmp_path: Path) -> None:
    """A command longer than a pipe holds, to a probe that never reads, ends within the limit."""
    program = tmp_path / "deaf.py"
    program.write_text("import time\ntime.sleep(60)\n")
    base = suite()[EDIT]
    case = Case(base.id, {**base.scenario, "question": "x" * 300_000}, base.claims)
    started = time.monotonic()
    with Session(Path(sys.executable), [str(program)]) as session, pytest.raises(ProbeFailed) as failure:
        session.ask("open", 1.0, journal=str(tmp_path / "journal"), case=dict(case.scenario))
    assert failure.value.reason == "timeout"
    assert time.monotonic() - started < 30
