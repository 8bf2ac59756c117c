"""The real command line: what it prints fits the schema that it prints, and its exit code says what happened."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

from capture import case, document
from capture.claims import current
from capture.verdict import REASONS
from tests.conftest import Command

EDIT = "decisions/edit"


def fits(value: Any, schema: Any) -> None:
    """Refuse a value that does not fit a schema."""

    def retrieve(uri: str) -> Any:
        return Resource.from_contents(document.schema(uri.removesuffix(".schema.json")))

    jsonschema.Draft202012Validator(schema, registry=Registry(retrieve=retrieve)).validate(value)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "--pin", "i05", "--case", EDIT), 0),
        (("run", "--pin", "i05", "--pin", "langchain-1.4.1", "--case", EDIT), 1),
        (("reproduce", "i05", "--skip-upstream"), 0),
        (("verify", "i05"), 0),
        (("rejudge", "i05"), 0),
        (("rejudge", "i05", "--claims", "suite"), 1),
        (("list", "cases"), 0),
        (("list", "claims"), 0),
        (("list", "pins"), 0),
        (("list", "records"), 0),
        (("list", "reasons"), 0),
        (("explain", EDIT), 0),
        (("explain", "core/no-refused-dispatch"), 0),
        (("explain", "untriggered"), 0),
        (("doctor",), 0),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else str(part),
)
def test_piped_output_fits_the_schema_that_the_command_prints(arguments: tuple[str, ...], code: int, command: Command) -> None:
    """Piped, a command prints JSON in canonical bytes, which fits what the same command prints for --schema."""
    done = command(*arguments)
    assert done.returncode == code, done.stderr
    schema = json.loads(command(*arguments, "--schema").stdout)
    fits(json.loads(done.stdout), schema)
    assert document.canonical(json.loads(done.stdout)) == done.stdout.encode()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run", "--pin", "i05", "--case", EDIT), 0),
        (("run", "--pin", "langchain-1.4.1", "--case", EDIT), 1),
        (("run", "--pin", "langchain-1.4.1", "--case", "decisions/edit-notice-off"), 3),
        (("run",), 2),
        (("run", "--pin", "no-such-pin"), 4),
        (("explain", "no-such-thing"), 4),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else str(part),
)
def test_the_exit_code_says_what_happened(arguments: tuple[str, ...], code: int, command: Command) -> None:
    """A FAIL is 1, an UNKNOWN without a FAIL 3, a wrong usage 2, a refused input 4, and everything else 0."""
    assert command(*arguments).returncode == code


@pytest.mark.parametrize("name", [*(known.id for known in case.all_cases()), *current(), *REASONS])
def test_everything_is_explained(name: str, command: Command) -> None:
    """Each case, claim and reason is explained, as text too."""
    done = command("explain", name, "--format", "text")
    assert (done.returncode, done.stderr) == (0, "")
    assert name in done.stdout


def test_a_run_can_be_verified_and_judged_again(command: Command, tmp_path: Path) -> None:
    """What a run saved is verified and judged again from its folder; changed evidence and changed results are differences."""
    folder = tmp_path / "run"
    assert command("run", "--pin", "i05", "--case", EDIT, "--out", folder).returncode == 0
    assert [command(name, folder).returncode for name in ("verify", "rejudge")] == [0, 0]
    history = folder / "i05" / "history.jsonl"
    history.write_bytes(history.read_bytes().replace(b"sdk-review@", b"sdk-secret@", 1))
    assert [command(name, folder).returncode for name in ("verify", "rejudge")] == [4, 4]
    results = folder / "results.json"
    results.write_bytes(results.read_bytes().replace(b'"verdict": "PASS"', b'"verdict": "FAIL"', 1))
    assert command("verify", folder).returncode == 4


def test_a_difference_is_named_by_case_and_key(command: Command, tmp_path: Path) -> None:
    """A reproduction that differs exits 1 and names the first difference by case and key."""
    copy = tmp_path / "i05"
    _copy_record(copy)
    results = copy / "r1" / "results.json"
    results.write_bytes(results.read_bytes().replace(b'"dispatches": 1', b'"dispatches": 2', 1))
    done = command("reproduce", copy, "--skip-upstream")
    checks = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
    assert (done.returncode, checks["results.json"]["held"], checks["history.jsonl"]["held"]) == (1, False, True)
    assert "case decisions/approve observations dispatches: published 2, measured 1" in checks["results.json"]["detail"]


def test_text_from_a_case_is_harmless(command: Command, tmp_path: Path) -> None:
    """Terminal escapes, markup and Markdown in a case are shown as text, in every format."""
    hostile = "\\u001b[31mred\\u001b[0m [bold]<script>alert(1)</script> | `x` \\u202e"
    text = (Path(case.__file__).parent / "cases" / "decisions" / "approve.toml").read_text().replace("migration-note.md", hostile)
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine" / "hostile.toml"
    path.write_text(re.sub("^vary.*", "", text.replace("A person approves", f"{hostile} A person approves"), flags=re.MULTILINE))
    for form in ("text", "markdown", "json"):
        done = command("run", "--pin", "i05", "--case", path, "--format", form)
        assert done.returncode == 0, done.stderr
        assert "\x1b[31m" not in done.stdout
        assert form == "json" or "\u202e" not in done.stdout


def test_a_terminal_gets_text_and_a_pipe_gets_json(tmp_path: Path) -> None:
    """At a terminal the same command shows text."""
    main, secondary = pty.openpty()
    arguments = [sys.executable, "-m", "capture", "explain", "timeout"]
    with subprocess.Popen(arguments, stdout=secondary, stderr=subprocess.DEVNULL, cwd=tmp_path) as process:
        os.close(secondary)
        shown = os.read(main, 65536).decode()
        process.wait(30)
    os.close(main)
    assert "reason timeout" in re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert not shown.startswith("{")


def test_interrupting_a_run_leaves_nothing_half_done(tmp_path: Path) -> None:
    """Ctrl-C ends a run with 130, with no traceback, no results and no probe left; the same command then runs."""
    folder = tmp_path / "run"
    arguments = [sys.executable, "-m", "capture", "run", "--pin", "i05", "--case", EDIT, "--out", str(folder)]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, preexec_fn=_listening
    ) as process:
        while process.poll() is None and not (folder / "i05" / "journals").is_dir():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert not (folder / "results.json").exists()
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(folder).encode() in _bytes(path)]
    assert subprocess.run(arguments, capture_output=True, check=False, cwd=tmp_path).returncode == 0


def _listening() -> None:
    """Hear Ctrl-C even where the tests run in the background of a shell, which ignores it for its jobs."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _copy_record(target: Path) -> None:
    import shutil

    from capture import library

    shutil.copytree(library.records_folder() / "i05", target)


def test_the_doctor_says_what_does_not_work_and_what_to_do(command: Command, tmp_path: Path) -> None:
    """A cache that cannot be written is said to be needed, with advice, and ends with 5; a registry out of reach is not."""
    (tmp_path / "file").write_text("")
    done = command("doctor", variables={"DISPATCH_AUDIT_CACHE": str(tmp_path / "file" / "cache"), "UV_OFFLINE": "1"})
    findings = {finding["thing"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert (done.returncode, findings["cache"]["works"], findings["registry"]["works"]) == (5, False, False)
    assert findings["cache"]["advice"]
    assert findings["registry"]["advice"]
    assert findings["network block of the probe"]["works"]
    assert findings["PostgreSQL"]["works"]
    assert "built on first use" in findings["PostgreSQL"]["found"]
    assert command("doctor", "--format", "text").returncode == 0
