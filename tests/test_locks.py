"""A team's lock as a side of `diff` and a pin of `run`: made a pin once, found again by its digest, or refused in one sentence."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from capture import cache, demand, library
from capture.errors import InputRefused
from capture.interpreter import find as python
from capture.target import Kind, kind
from tests.conftest import Command

NAME = "decisions/edit"

HASH = "a" * 64

LANGCHAIN = f"langchain==1.4.6 --hash=sha256:{HASH}\n"

OFFLINE = {"UV_OFFLINE": "1"}


def locked(version: str) -> str:
    """Return the lock of a shipped pin, as a team could have it."""
    return (library.pins_folder() / f"langchain-{version}" / "requirements.txt").read_text()


def turned(text: str) -> str:
    """Return a lock whose lines stand in another order, with comments and an index that no pin names."""
    entries = re.split(r"\n(?=\S)", text.rstrip())
    return "".join(
        ["# ours\n--index-url https://secret.invalid/simple\n", *(f"{entry}\n    # via us\n" for entry in reversed(entries))]
    )


@pytest.fixture
def variables(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """Return the variables of a command in the cache that these tests share, which they use too."""
    monkeypatch.setenv(cache.VARIABLE, str(shared_cache))
    return {cache.VARIABLE: str(shared_cache)}


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("requirements.txt", Kind.LOCK),
        ("pylock.toml", Kind.LOCK),
        ("pylock.prod.toml", Kind.LOCK),
        ("uv.lock", Kind.LOCK),
        ("./requirements", Kind.LOCK),
        ("/dev/fd/63", Kind.LOCK),
        ("folder.txt", Kind.LOCK),
        ("results.json", Kind.RESULTS),
        ("./none/results.json", Kind.RESULTS),
        ("./folder.txt", Kind.LOCK),
        ("./folder", Kind.FOLDER),
        ("./folder.json", Kind.FOLDER),
        ("i05", Kind.NAME),
        ("langchain==1.4.6", Kind.NAME),
        ("langchain-1.4.6+lock.12345678", Kind.NAME),
        ("folder", Kind.NAME),
        ("", Kind.NAME),
    ],
)
def test_a_target_is_what_it_is_written_as(target: str, meant: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends as a lock is one, whatever lies there; a folder needs its separator; what is no path is a name."""
    monkeypatch.chdir(tmp_path)
    for name in ("folder", "folder.txt", "folder.json"):
        Path(name).mkdir()
    assert kind(target) is meant


def test_two_locks_are_compared_and_the_registry_is_asked_once(
    command: Command, variables: Mapping[str, str], tmp_path: Path
) -> None:
    """The second time the same packages, in other words and under another name, are the same pins, and no registry is needed."""
    (tmp_path / "old.txt").write_text(locked("1.4.1"))
    (tmp_path / "new.txt").write_text(locked("1.4.2"))
    done = command("diff", "old.txt", "./new.txt", "--case", NAME, variables=variables)
    assert done.returncode == 1, done.stderr
    (compared,) = json.loads(done.stdout)["pins"]
    assert re.fullmatch(r"langchain-1\.4\.1\+lock\.[0-9a-f]{8}", compared["before"])
    assert [(case["before"]["verdict"], case["after"]["verdict"]) for case in compared["cases"]] == [("FAIL", "PASS")]
    assert compared["packages"] == [{"name": "langchain", "before": "1.4.1", "after": "1.4.2"}]
    (tmp_path / "pinned").mkdir()
    (tmp_path / "pinned" / "base").write_text(turned(locked("1.4.1")))
    again = command("diff", "./pinned/base", "new.txt", "--case", NAME, variables={**variables, **OFFLINE})
    assert (again.returncode, again.stdout) == (1, done.stdout), again.stderr
    assert "making" not in again.stderr


def test_a_lock_is_compared_with_a_pin_and_with_results(command: Command, variables: Mapping[str, str], tmp_path: Path) -> None:
    """A lock runs like any pin: nothing changed from the pin that it was copied from, nor from its own results."""
    (tmp_path / "requirements.txt").write_text(locked("1.4.1"))
    ran = command("run", "--pin", "./requirements.txt", "--case", NAME, "--out", "saved", variables=variables)
    assert ran.returncode == 1, ran.stderr
    assert json.loads(ran.stdout)["pins"][0]["pin"].startswith("langchain-1.4.1+lock.")
    assert command("rejudge", "./saved", variables=variables).returncode == 0
    for other in ("langchain-1.4.1", "saved/results.json", "./saved"):
        done = command("diff", other, "requirements.txt", "--case", NAME, variables=variables)
        assert (done.returncode, json.loads(done.stdout)["answer"]) == (0, "unchanged"), done.stderr


def test_locks_with_the_same_lines_are_one_pin(command: Command, variables: Mapping[str, str], tmp_path: Path) -> None:
    """Two files that lock the same are compared as the one pin that they are; a run of both names it twice."""
    (tmp_path / "old.txt").write_text(locked("1.4.1"))
    (tmp_path / "new.txt").write_text(turned(locked("1.4.1")))
    done = command("diff", "old.txt", "new.txt", "--case", NAME, variables=variables)
    (compared,) = json.loads(done.stdout)["pins"]
    assert (done.returncode, compared["before"], compared["unchanged"]) == (0, compared["after"], [NAME]), done.stderr
    twice = command("run", "--pin", "old.txt", "--pin", "new.txt", variables=variables)
    assert (twice.returncode, "named twice" in twice.stderr) == (4, True), twice.stderr


def test_locks_with_other_helpers_are_two_pins(command: Command, variables: Mapping[str, str], tmp_path: Path) -> None:
    """Where only another package differs both are run, since it may matter."""
    (tmp_path / "old.txt").write_text(locked("1.4.1"))
    helper = r"(?m)^zstandard==.*\\\n(    --hash.*\n)+"
    assert re.search(helper, locked("1.4.1"))
    (tmp_path / "new.txt").write_text(re.sub(helper, "", locked("1.4.1")))
    done = command("diff", "old.txt", "new.txt", "--case", NAME, variables=variables)
    (compared,) = json.loads(done.stdout)["pins"]
    assert (done.returncode, compared["packages"], compared["unchanged"]) == (0, [], [NAME]), done.stderr
    assert compared["before"] != compared["after"]


def test_the_pin_of_another_lock_is_not_believed(command: Command, tmp_path: Path) -> None:
    """A pin in the cache that has the name of a lock's pin, and not its lock, is refused: eight digits can be made to agree."""
    (tmp_path / "new.txt").write_text(LANGCHAIN)
    (tmp_path / "cache").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
        name = demand._order(str(tmp_path / "new.txt"))
        assert name
        shutil.copytree(library.pins_folder() / "langchain-1.4.6", library.cached_pins_folder() / name.name)
        with pytest.raises(InputRefused, match="it is the pin of another lock"):
            demand.find(str(tmp_path / "new.txt"), python(None))
    done = command("diff", "i05", "new.txt", variables={cache.VARIABLE: str(tmp_path / "cache")})
    assert (done.returncode, "it is the pin of another lock" in done.stderr) == (4, True)


NO_LOCKS = [
    ("reqs.txt", "langchain==1.4.6\n", "line 1: 'langchain==1.4.6' has no SHA-256 hash"),
    ("reqs.txt", f"anyio==4.1 --hash=sha256:{HASH}\n", "it has no langchain."),
    ("reqs.txt", f"{LANGCHAIN}-e .\n", "line 2: '-e .' is no requirement"),
    ("reqs.txt", f"{LANGCHAIN}./mine.whl\n", "line 2: './mine.whl' is no requirement"),
    ("reqs.txt", f"{LANGCHAIN}x @ https://x.invalid/x.whl --hash=sha256:{HASH}\n", "line 2: .* is not an exact version"),
    ("reqs.txt", f"{LANGCHAIN}x @ git+https://x.invalid/x@main\n", "line 2: .* is not an exact version"),
    ("reqs.txt", f"{LANGCHAIN}$(touch pwned)\n", r"line 2: '\$\(touch pwned\)' is no requirement"),
    ("reqs.txt", f"{LANGCHAIN}\x1b[31m<img>| `x`==1 --hash=sha256:{HASH}\n", r"line 2: '\\x1b.* is no requirement"),
    ("reqs.txt", "", "it has no langchain."),
    ("uv.lock", "version = 1\n", "that is neither a requirements file nor a pylock.toml."),
    ("pyproject.toml", "[project]\n", "not a pylock.toml"),
    ("pylock.toml", "\x00", "not TOML"),
    ("none.txt", None, "there is no such file."),
]


@pytest.mark.parametrize(("name", "text", "says"), NO_LOCKS)
def test_what_is_no_lock_is_refused_with_the_sentence_of_pin_add(
    name: str, text: str | None, says: str, command: Command, tmp_path: Path
) -> None:
    """Whichever command is given it, what cannot be a pin is refused in the same sentence, before anything is made or run."""
    if text is not None:
        (tmp_path / name).write_text(text)
    variables = {cache.VARIABLE: str(tmp_path / "cache"), **OFFLINE}
    asks = (("pin", "add", "--from", name), ("diff", "i05", name), ("diff", name, "langchain==1.4.0a4"), ("run", "--pin", name))
    said = {(done.returncode, done.stdout, done.stderr) for done in (command(*ask, variables=variables) for ask in asks)}
    ((code, out, error),) = said
    assert (code, out, bool(re.match(f"dispatch-audit: {name}.*{says}", error))) == (4, "", True), error
    assert ("Traceback" in error, error.count("\n")) == (False, 1)
    assert not list((tmp_path / "cache").glob("pins/*"))


@pytest.mark.parametrize("command_line", [("run", "--pin", "i05", "--against"), ("transitions",), ("report",)])
def test_a_lock_is_no_results(command_line: tuple[str, ...], command: Command, tmp_path: Path) -> None:
    """Where only what was saved can be meant, a lock is refused."""
    (tmp_path / "reqs.txt").write_text(LANGCHAIN)
    done = command(*command_line, "./reqs.txt")
    assert (done.returncode, "neither a results file nor the folder of a run" in done.stderr) == (4, True), done.stderr
