"""A full disk, results or a cache that may not be written: 74, one sentence, nothing half-written. On real file systems."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from capture import cache
from tests.conftest import Command

Mount = Callable[[str], Path]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Return a function that mounts a small file system in memory with these options, and unmount all of it afterwards."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    mounted: list[Path] = []

    def mounting(options: str) -> Path:
        place = tmp_path / f"mount{len(mounted)}"
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        mounted.append(place)
        return place

    yield mounting
    for place in mounted:
        subprocess.run(["umount", "-l", place], check=False)


def refused(done: "subprocess.CompletedProcess[str]") -> None:
    """Demand exit code 74 and one sentence of ours at the end."""
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (74, "", False), done.stderr
    assert done.stderr.splitlines()[-1].startswith("dispatch-audit: ")


def wholes(place: Path) -> set[str]:
    """Return the names of the published kinds of files below a folder, whatever is in them."""
    return {path.name for path in place.rglob("*") if path.name in ("results.json", "history.jsonl", "upstream.json")}


@pytest.mark.parametrize("size", ["4k", "16k", "64k"])
def test_a_disk_that_is_full_for_the_results(size: str, mount: Mount, command: Command) -> None:
    """Results that do not fit are not half there."""
    place = mount(f"size={size}")
    refused(command("run", "--pin", "i05", "--out", place / "run"))
    assert "results.json" not in wholes(place)
    assert not list(place.rglob(".*"))


@pytest.mark.parametrize("size", ["64k", "8m", "40m"])
def test_a_disk_that_is_full_for_the_environment(size: str, mount: Mount, command: Command) -> None:
    """An environment that does not fit is not half there, and what was begun is deleted."""
    place = mount(f"size={size}")
    refused(command("run", "--pin", "i05", variables={cache.VARIABLE: str(place)}))
    assert not list(place.glob("environments/*"))
    assert not list(place.glob("scratch/*"))


def test_results_that_may_not_be_written(mount: Mount, command: Command) -> None:
    """A read-only place for the results is refused before anything is run."""
    refused(command("run", "--pin", "i05", "--out", mount("ro") / "run"))


def test_a_cache_that_may_not_be_written(mount: Mount, command: Command) -> None:
    """A read-only cache is said to be one."""
    refused(command("run", "--pin", "i05", variables={cache.VARIABLE: str(mount("ro"))}))
