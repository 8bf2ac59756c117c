"""The same bytes again: run after run, in other folders, time zones and locales, and on every Python that is named."""

from pathlib import Path

import pytest

from tests.conftest import Command, pythons

PLACES = [
    {},
    {"TZ": "Asia/Tokyo"},
    {"TZ": "America/St_Johns", "LC_ALL": "C"},
    {"TZ": "UTC", "LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8"},
    {"LC_ALL": "tr_TR.UTF-8"},
    {"LC_ALL": "POSIX", "LANG": ""},
    {"TZ": "Pacific/Kiritimati", "LANG": "ja_JP.eucJP"},
    {"PYTHONHASHSEED": "1"},
    {"PYTHONHASHSEED": "2", "TZ": "Europe/Berlin"},
    {"HOME": "/nonexistent", "PYTHONUTF8": "0"},
]


@pytest.mark.parametrize("number", range(len(PLACES)))
def test_ten_runs_give_the_published_bytes(number: int, command: Command, tmp_path: Path, cache_folder: str) -> None:
    """Ten runs, each with a hash seed, folder, time zone and locale of its own, give results and history as published."""
    done = command(
        "reproduce",
        "i05",
        "--skip-upstream",
        "--out",
        tmp_path / f"run {number}",
        variables={**PLACES[number], **_cache(cache_folder)},
    )
    assert (done.returncode, done.stderr.count("DIFFERS")) == (0, 0), done.stdout


@pytest.mark.parametrize("python", pythons() or [pytest.param("", marks=pytest.mark.skip("PYTHONS names no other interpreters"))])
def test_every_python_gives_the_published_bytes(python: str, command: Command) -> None:
    """Each Python that PYTHONS names gives results, history and upstream tests as published."""
    done = command("reproduce", "i05", "--python", python)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def _cache(folder: str) -> dict[str, str]:
    # A run with another HOME would build its environments again.
    return {"DISPATCH_AUDIT_CACHE": folder}
