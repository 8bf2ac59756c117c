"""verify and rejudge notice what was doctored, also where digests were made to fit again."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from capture import document, library, record, results, verification
from tests.conftest import Command


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a copy of the record I05."""
    return Path(shutil.copytree(library.records_folder() / "i05", tmp_path / "i05"))


def fitting(record: Path) -> None:
    """Make every digest fit the files again, as whoever doctors a publication would."""
    revision = record / "r1"
    names = {"results": "results.json", "upstream": "upstream.json", "history": "history.jsonl"}
    toml = (record / "record.toml").read_text()
    for key, name in names.items():
        value = document.digest((revision / name).read_bytes())
        toml = re.sub(rf'(\n\[revisions\.r1\]\n(?:.*\n)*?{key} = ")[0-9a-f]{{64}}', rf"\g<1>{value}", toml)
    (record / "record.toml").write_text(toml)
    files = sorted(path for path in revision.iterdir() if path.name != "SHA256SUMS")
    (revision / "SHA256SUMS").write_text("".join(f"{document.digest(path.read_bytes())}  {path.name}\n" for path in files))


def swap(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Return what replaces a text in a file of the record."""

    def change(record: Path) -> None:
        path = record / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return change


def no_sums(record: Path) -> None:
    """Empty SHA256SUMS."""
    (record / "r1" / "SHA256SUMS").write_text("")


def more_file(record: Path) -> None:
    """Add a file."""
    (record / "r1" / "notes.txt").write_text("more")


def more_revision(record: Path) -> None:
    """Add a revision that record.toml does not name."""
    shutil.copytree(record / "r1", record / "r2")


def claim_dropped(record: Path) -> None:
    """Judge a case by one claim less, and make the digests fit."""
    path = record / "r1" / "results.json"
    results = json.loads(path.read_bytes())
    del results["pins"][0]["cases"][0]["claims"][0]
    path.write_bytes(document.canonical(results))
    fitting(record)


def observation_changed(record: Path) -> None:
    """Let a rejected call have been dispatched, in the results alone, and make the digests fit."""
    path = record / "r1" / "results.json"
    results = json.loads(path.read_bytes())
    results["pins"][0]["cases"][3]["observations"]["dispatches"] = 1
    path.write_bytes(document.canonical(results))
    fitting(record)


DOCTORED: dict[str, Callable[[Path], None]] = {
    "SHA256SUMS emptied": no_sums,
    "README changed": swap("r1/README.md", "4 PASS", "5 PASS"),
    "a file more": more_file,
    "a revision more": more_revision,
    "another pin": swap("record.toml", 'pin = "i05"', 'pin = "langchain-1.4.2"'),
    "another count of upstream tests": swap("record.toml", "passed = 53", "passed = 54"),
    "results changed": swap("r1/results.json", '"dispatches": 1', '"dispatches": 2'),
    "a claim dropped, digests fitting": claim_dropped,
    "an observation changed, digests fitting": observation_changed,
}


@pytest.mark.parametrize("doctored", DOCTORED)
def test_verify_notices_a_doctored_publication(doctored: str, copied: Path, command: Command) -> None:
    """What is not as it was published is a difference, with the check that shows it."""
    assert command("verify", copied).returncode == 0
    DOCTORED[doctored](copied)
    done = command("verify", copied)
    assert done.returncode == 1, done.stderr
    assert [check for check in json.loads(done.stdout)["checks"] if check["held"] is False]


def verdict_turned(results: dict[str, object]) -> None:
    """Let a case with a claim that FAILs be PASS."""
    cases = results["pins"][0]["cases"]  # type: ignore[index]
    cases[0]["claims"][0] |= {"verdict": "FAIL", "faults": [{"evidence": "dispatch/x/1", "expected": None, "observed": None}]}


def evidence_dropped(results: dict[str, object]) -> None:
    """Let there be no evidence for verdicts that PASS."""
    results["pins"][0]["history"] = None  # type: ignore[index]


def untriggered(results: dict[str, object]) -> None:
    """Let a case PASS in which what it is about did not happen."""
    results["pins"][0]["cases"][0]["trigger"]["happened"] = False  # type: ignore[index]


@pytest.mark.parametrize("change", [verdict_turned, evidence_dropped, untriggered])
@pytest.mark.parametrize("name", ["verify", "rejudge"])
def test_results_that_contradict_themselves_are_refused(
    change: Callable[[dict[str, object]], None], name: str, copied: Path, command: Command
) -> None:
    """A verdict that does not follow from what stands beside it is refused before anything is compared."""
    path = copied / "r1" / "results.json"
    results = json.loads(path.read_bytes())
    change(results)
    path.write_bytes(document.canonical(results))
    fitting(copied)
    assert command(name, copied).returncode == 4


def test_a_name_is_a_record_whatever_lies_here(command: Command, tmp_path: Path) -> None:
    """A run saved in a folder with a record's name is not taken for the record."""
    assert command("run", "--pin", "i05", "--case", "decisions/edit", "--out", tmp_path / "i05").returncode == 0
    assert json.loads(command("verify", "i05").stdout)["record"] == "i05"
    assert json.loads(command("verify", "./i05").stdout)["record"] is None


def test_a_run_goes_into_no_folder_of_something_else(command: Command, copied: Path) -> None:
    """--out refuses a folder with anything else in it, a published revision above all, and changes nothing there."""
    before = {path.name: path.read_bytes() for path in (copied / "r1").iterdir()}
    assert command("run", "--pin", "i05", "--out", copied / "r1").returncode == 4
    assert {path.name: path.read_bytes() for path in (copied / "r1").iterdir()} == before


def test_a_run_may_go_into_its_own_folder_again(command: Command, tmp_path: Path) -> None:
    """The same run into the same folder gives the same results; what was there of it is replaced."""
    first, second = (
        command("run", "--pin", "i05", "--case", "decisions/edit", "--out", tmp_path / "run", "--format", "json") for _ in range(2)
    )
    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout == second.stdout


def test_a_run_that_did_not_come_to_its_end_is_not_verified(command: Command, tmp_path: Path) -> None:
    """A folder whose run was interrupted says so, whatever an earlier run had left in it."""
    folder = tmp_path / "run"
    assert command("run", "--pin", "i05", "--case", "decisions/edit", "--out", folder).returncode == 0
    (folder / "run.json").write_text('{"run": 1, "started": "2026-11-30T00:00:00+00:00"}')
    assert command("verify", folder).returncode == 4


def test_a_run_json_of_somebody_else_protects_its_folder(command: Command, tmp_path: Path) -> None:
    """A folder is a run's by what run.json says, not by its name."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text('{"mine": 1}')
    (tmp_path / "other" / "results.json").write_text("precious")
    assert command("run", "--pin", "i05", "--out", tmp_path / "other").returncode == 4
    assert (tmp_path / "other" / "results.json").read_text() == "precious"


def test_an_exit_code_does_not_depend_on_who_reads(tmp_path: Path) -> None:
    """With nobody reading standard error, a refused input is still 4."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "capture", "run", "--pin", "nope"], cwd=tmp_path, stderr=write, check=False)
    os.close(write)
    assert done.returncode == 4


def test_other_checkpointers_than_those_of_the_evidence_are_noticed() -> None:
    """What results say of the checkpointers has to be what the history was read to have."""
    revision = record.find("persistent-approvals").revision(None)
    found = results.read(document.read(revision.file("results")), "results.json")
    saved = revision.evidence(found)
    assert [check.held for check in verification.agreements(found, saved)] == [True]
    found["pins"][0]["checkpointers"]["psycopg"] = "1"
    assert [check.held for check in verification.agreements(found, saved)] == [False]
