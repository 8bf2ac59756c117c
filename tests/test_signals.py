"""However a run is ended, nothing of it stays behind, and the next run gives the same bytes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from capture import cache, children, histories
from capture.document import digest
from tests.conftest import Command

REPRODUCE = ["reproduce", "i05", "--format", "json"]
RUN = ["run", "--pin", "i05", "--case", "decisions/edit", "--format", "json"]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty cache and return its folder."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def started(arguments: list[str], place: Path) -> "subprocess.Popen[str]":
    """Start the command as a process that hears signals, also where the tests run in the background of a shell."""
    return subprocess.Popen(
        [sys.executable, "-m", "capture", *arguments],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_listening,
    )


def _listening() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def left(owner: int) -> list[str]:
    """Return the command lines of the processes that a run with this number has started and left."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{children.MARK}={owner}-".encode() in path.read_bytes():
                found.append((path.parent / "cmdline").read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue
    return found


def wait_for(said: str, process: "subprocess.Popen[str]") -> None:
    """Read what a process says on standard error until it says this."""
    assert process.stderr is not None
    for line in process.stderr:
        if said in line:
            return
    raise AssertionError(f"it never said {said!r}")


def scratch() -> Iterator[str]:
    """Yield the names of the working folders that are there."""
    yield from (path.name for path in (cache.root() / "scratch").glob("*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize("stage", ["running the upstream tests", "running 4 cases"])
def test_a_signal_ends_everything_at_once(number: signal.Signals, stage: str, tmp_path: Path) -> None:
    """Ctrl-C, SIGTERM and a closed terminal end the command with 130 within seconds, and its children with it."""
    with started([*REPRODUCE, "--out", "out"], tmp_path) as process:
        wait_for(stage, process)
        time.sleep(0.2)
        began = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in said) == (130, False), said
    assert time.monotonic() - began < 10
    assert left(process.pid) == []
    assert not [name for name in scratch() if name.startswith(f"{process.pid}-")]
    assert not (tmp_path / "out" / "results.json").exists()


def test_a_signal_while_an_environment_is_built(tmp_path: Path, empty_cache: Path, command: Command) -> None:
    """Ended in the middle of a build, a run leaves no half environment, and the next one builds it whole."""
    with started(RUN, tmp_path) as process:
        wait_for("building the environment", process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert not list(empty_cache.glob("environments/*"))
    assert not list(empty_cache.glob("scratch/*"))
    assert command(*RUN).returncode == 0


def test_what_a_kill_left_is_cleaned_up_by_the_next_run(tmp_path: Path, command: Command) -> None:
    """SIGKILL leaves what it leaves; the next run ends the processes, deletes the folders, and gives the published bytes."""
    with started([*REPRODUCE], tmp_path) as process:
        wait_for("running the upstream tests", process)
        time.sleep(1.0)
        process.kill()
        process.communicate()
    assert command("reproduce", "i05", "--skip-upstream").returncode == 0
    assert left(process.pid) == []
    assert not [name for name in scratch() if name.startswith(f"{process.pid}-")]


@pytest.mark.usefixtures("own_cache")
def test_twenty_kills_at_random_moments_change_no_byte(tmp_path: Path, command: Command) -> None:
    """A run over four pins, killed twenty times at random moments and then let finish, gives the bytes of one never killed.

    What the killed ones had seen whole is taken as they kept it.
    """
    pins = ["i05", "langchain-1.4.1", "langchain-1.4.2", "langchain-1.5.2"]
    arguments = ["run", *(part for pin in pins for part in ("--pin", pin)), "--format", "json"]
    moments = random.Random(20261130)
    for _ in range(20):
        with started([*arguments, "--out", "out"], tmp_path) as process:
            time.sleep(moments.uniform(0.05, 3.0))
            process.kill()
            process.communicate()
    finished = command(*arguments, "--out", tmp_path / "out")
    undisturbed = command(*arguments, "--fresh")
    assert (undisturbed.returncode, finished.returncode) == (1, 1), undisturbed.stderr
    assert finished.stdout == undisturbed.stdout
    seen = histories.read((tmp_path / "out" / histories.FILE).read_bytes(), histories.FILE)
    for found in json.loads(finished.stdout)["pins"]:
        assert digest(seen[found["pin"]].data()) == found["history"]


def test_a_mark_of_another_life_is_not_alive() -> None:
    """A process is told by its number and its start: a number used again is another process."""
    assert children.is_alive(children.OWNER)
    assert not children.is_alive(f"{os.getpid()}-1")
    assert not children.is_alive("not a number")
