"""Environments: built once, shared, never used half-built; and what a subject in one gets to see of the machine."""

import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from capture import cache, document, environment, installer, interpreter, pin
from capture.environment import Environment
from capture.errors import ProbeFailed
from capture.lock import Lock
from capture.recorder import Recorder
from tests.conftest import Command

PIN = "i05"


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty cache and return its folder."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def built(folder: Path) -> list[str]:
    """Return the names of what stands among the environments of a cache."""
    return sorted(path.name for path in (folder / "environments").iterdir())


def test_two_runs_at_once_share_one_environment(empty_cache: Path, command: Command) -> None:
    """Two runs on one empty cache build the environment once and give the same results."""
    done: list[subprocess.CompletedProcess[str]] = []
    runs = [
        threading.Thread(target=lambda: done.append(command("run", "--pin", PIN, "--case", "decisions/edit", "--format", "json")))
        for _ in range(2)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [found.returncode for found in done] == [0, 0], done[0].stderr + done[1].stderr
    assert done[0].stdout == done[1].stdout
    assert sum(found.stderr.count("building the environment") for found in done) == 1
    assert len(built(empty_cache)) == 1


@pytest.mark.parametrize("left", ["no marker", "no Python", "in the middle"])
def test_a_half_built_environment_is_never_used(left: str, empty_cache: Path) -> None:
    """What an interrupted build left behind is built again, whole."""
    lock, python = pin.find(PIN).lock, interpreter.find(None)
    whole = environment.ensure(lock, python)
    if left == "no marker":
        (whole.path / "dispatch-audit.json").unlink()
    elif left == "no Python":
        whole.python.unlink()
    else:
        nobody = empty_cache / "scratch" / "1-1-environment-0" / "environment"
        nobody.parent.mkdir()
        whole.path.rename(nobody)
        cache.clear()
    again = environment.ensure(lock, python)
    assert again == whole
    assert subprocess.run([again.python, "-I", "-c", "import langchain.agents"], check=False).returncode == 0
    assert built(empty_cache) == [whole.path.name]
    assert not list((empty_cache / "scratch").iterdir())


def test_packages_are_hard_linked(empty_cache: Path) -> None:
    """An environment's files are links to the installer's cache, so a second one costs next to nothing."""
    whole = environment.ensure(pin.find(PIN).lock, interpreter.find(None))
    found = next(whole.path.glob("lib/*/site-packages/langchain/agents/factory.py"))
    if empty_cache.stat().st_dev != Path.home().stat().st_dev:
        pytest.skip("the installer's cache is on another file system")
    assert found.stat().st_nlink > 1


def test_no_secret_reaches_the_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in an environment sees a plain PATH, the time zone and the locale, and no other variable of the user's."""
    for name in ("OPENAI_API_KEY", "LANGSMITH_API_KEY", "LANGCHAIN_TRACING_V2", "HTTPS_PROXY", "PYTHONPATH", "HOME"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_TIME", "C")
    program = tmp_path / "show.py"
    program.write_text("import os, sys\nprint(sorted(os.environ.items()), sys.flags.isolated, file=sys.stderr, flush=True)\n")
    with Recorder(Environment(Path(sys.prefix)), tmp_path, 5.0, [str(program)]) as recorder, pytest.raises(ProbeFailed):
        recorder.describe([], [])
    shown = (tmp_path / "probe.log").read_text()
    assert "secret" not in shown
    assert ("'TZ', 'Asia/Tokyo'" in shown, "'LC_TIME', 'C'" in shown, shown.strip().endswith(" 1")) == (True, True, True)


SPOILED: dict[str, Callable[[Path], object]] = {
    "a file that is not pinned was changed": lambda site: _replace(
        site / "langchain_core" / "messages" / "ai.py", b"\n# changed\n"
    ),
    "a file is missing": lambda site: (site / "langchain_core" / "messages" / "ai.py").unlink(),
    "a package is missing": lambda site: shutil.rmtree(site / "tenacity"),
    "a distribution is missing": lambda site: shutil.rmtree(next(site.glob("tenacity-*.dist-info"))),
    "a file was added": lambda site: (site / "sitecustomize.py").write_text("raise SystemExit"),
}


@pytest.mark.parametrize("spoiled", SPOILED)
def test_a_damaged_environment_is_noticed_and_built_again(spoiled: str, empty_cache: Path, command: Command) -> None:
    """An environment in the cache that is not as it was installed is said to be damaged, built again, and then right."""
    whole = environment.ensure(pin.find(PIN).lock, interpreter.find(None))
    SPOILED[spoiled](next(whole.path.glob("lib/python*/site-packages")))
    assert environment.damage(whole)
    done = command("reproduce", "i05", "--skip-upstream")
    assert (done.returncode, "is damaged" in done.stderr) == (0, True), done.stderr
    assert environment.damage(whole) is None
    assert built(empty_cache) == [whole.path.name]


def _replace(path: Path, more: bytes) -> None:
    # The file is a link into the installer's cache, which must not change: it is replaced, never written into.
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data + more)


def test_a_probe_of_a_replaced_environment_does_not_count(empty_cache: Path) -> None:
    """A probe that began to import one building of an environment is dropped when another stands in its place."""
    lock, python = pin.find(PIN).lock, interpreter.find(None)
    whole = environment.ensure(lock, python)
    with Recorder(whole, empty_cache, 60.0) as recorder:
        assert recorder.is_current()
        (whole.path / "dispatch-audit.json").unlink()
        assert environment.rebuild(lock, python) == whole
        assert not recorder.is_current()


def test_runs_beside_one_that_repairs_see_no_damage(empty_cache: Path, command: Command) -> None:
    """Runs that start while another finds the damage and builds anew give the published bytes, each of them."""
    whole = environment.ensure(pin.find(PIN).lock, interpreter.find(None))
    site = next(whole.path.glob("lib/python*/site-packages"))
    _replace(site / "langchain_core" / "messages" / "tool.py", b"\nToolMessage.__doc__ = 'changed'\nTOOL = print('damaged')\n")
    done: list[subprocess.CompletedProcess[str]] = []
    runs = [threading.Thread(target=lambda: done.append(command("reproduce", "i05", "--skip-upstream"))) for _ in range(4)]
    for run in runs:
        run.start()
        time.sleep(0.3)
    for run in runs:
        run.join()
    assert [found.returncode for found in done] == [0] * 4, "\n".join(found.stderr for found in done)
    assert not list((empty_cache / "runs").glob("*/*/journals/probe.log"))


def heard(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Return what the installer is asked from now on; it is asked all the same."""
    asked: list[tuple[str, ...]] = []
    kept = installer.run

    def run(*arguments: str) -> str:
        asked.append(arguments)
        return kept(*arguments)

    monkeypatch.setattr(installer, "run", run)
    return asked


def test_what_is_damaged_in_the_installers_cache_is_had_afresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The installer links what it has; a file that was changed there is fetched again, with its own distribution and no other."""
    text = pin.find(PIN).lock.path.read_text()
    blocks = [block for block in re.split(r"(?m)^(?=\S)", text) if block.startswith(("idna==", "sniffio=="))]
    (tmp_path / "lock.txt").write_text("".join(blocks))
    lock, python = Lock(tmp_path / "lock.txt", document.digest("".join(blocks).encode())), interpreter.find(None)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "one"))
    with next(environment.ensure(lock, python).path.glob("lib/python*/site-packages/idna/core.py")).open("ab") as linked:
        linked.write(b"# changed")
    asked = heard(monkeypatch)
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "two"))
    assert environment.damage(environment.ensure(lock, python)) is None
    again = [arguments for arguments in asked if "--no-cache" in arguments]
    assert [[word for word in arguments if word in ("idna", "sniffio", "--reinstall")] for arguments in again] == [["idna"]]


@pytest.mark.usefixtures("empty_cache")
def test_what_the_installer_has_is_installed_without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its packages are in the installer's cache, an environment is built in one go and offline."""
    lock, python = pin.find(PIN).lock, interpreter.find(None)
    environment.ensure(lock, python)
    shutil.rmtree(cache.root() / "environments")
    asked = heard(monkeypatch)
    assert environment.damage(environment.ensure(lock, python)) is None
    assert [(arguments[0], "--offline" in arguments) for arguments in asked] == [("venv", False), ("pip", True)]
