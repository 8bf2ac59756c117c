"""What the tests share: the real command line as a subprocess, and the Pythons that PYTHONS names."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from capture import cache

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Return a function that runs `dispatch-audit` with arguments, in a folder of its own, and returns what came of it."""

    def run(*arguments: str | Path, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "capture", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **(variables or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set a cache that has the environments of the real one and nothing else, and return its folder."""
    place = tmp_path / "cache"
    place.mkdir()
    (place / "environments").symlink_to(cache.folder("environments"))
    monkeypatch.setenv(cache.VARIABLE, str(place))
    return place


def pythons() -> list[str]:
    """Return the interpreters that the variable PYTHONS names, separated by spaces."""
    return os.environ.get("PYTHONS", "").split()


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache of this test run, in which the pins of locks are made once and none is left in the user's."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def cache_folder() -> str:
    """Return the cache that this test run uses, for a command that is given another HOME."""
    return str(cache.root())
