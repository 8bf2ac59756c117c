"""Checkpointers beside a pin: a lock of their own that changes nothing of the pin, and an environment that has both."""

import json
import logging
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.markers import default_environment

from capture import cache, document, draft, environment, interpreter, library, lock, persistence, pin
from capture.errors import EnvironmentFailed, InputRefused, Unresolved
from capture.lock import Lock
from capture.order import Order
from tests.conftest import Command

PIN = "langchain-1.5.2"

SHIPPED = library.names(library.pins_folder(), "pin.toml")

IMPORTS = """
import importlib.metadata, json
import langgraph.checkpoint.sqlite, langgraph.checkpoint.sqlite.aio
import langgraph.checkpoint.postgres, langgraph.checkpoint.postgres.aio
import psycopg
found = {each.name.lower().replace("_", "-"): each.version for each in importlib.metadata.distributions()}
print(json.dumps([psycopg.pq.__impl__, found]))
"""


def beside(known: pin.Pin) -> Lock:
    """Return the lock of a pin's checkpointers, which must be there."""
    assert known.checkpointers
    return known.checkpointers


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty cache and return its folder."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Return a copy of a pin that has no checkpointers yet."""
    copy = Path(shutil.copytree(library.pins_folder() / PIN, tmp_path / "pins" / PIN))
    (copy / pin.CHECKPOINTERS).unlink()
    return copy


def relocked(folder: Path, text: str) -> None:
    """Put another lock into a pin, and its digest into pin.toml."""
    path, toml = folder / "requirements.txt", folder / "pin.toml"
    before = document.digest(path.read_bytes())
    path.write_text(text)
    toml.write_text(toml.read_text().replace(before, document.digest(text.encode())))


# --- what is shipped


@pytest.mark.parametrize("name", SHIPPED)
def test_a_pin_has_checkpointers_and_is_the_same_without(name: str, tmp_path: Path) -> None:
    """Every pin has them; they are other packages than its own, with hashes; without the file all else of the pin is equal."""
    known = pin.find(name)
    own, base = {each.name for each in beside(known).own()}, {each.name for each in known.lock.packages()}
    assert (own & base, set(persistence.PACKAGES) - own, "psycopg-binary" in own) == (set(), set(), True)
    assert beside(known).packages() == (*known.lock.packages(), *beside(known).own())
    copy = Path(shutil.copytree(known.lock.path.parent, tmp_path / name))
    (copy / pin.CHECKPOINTERS).unlink()
    without = pin.load(copy)
    assert without.checkpointers is None
    assert (without.lock.digest, without.packages, without.files) == (known.lock.digest, known.packages, known.files)
    assert beside(known).digest not in (
        known.lock.digest,
        document.digest((known.lock.path.parent / pin.CHECKPOINTERS).read_bytes()),
    )


# --- the environment of both


@pytest.mark.parametrize("name", ["langchain-1.0.0", "langchain-1.2.0", "langchain-1.4.6", PIN])
def test_the_environment_of_both_has_all_of_the_pin_and_the_checkpointers(name: str) -> None:
    """SQLite's and PostgreSQL's checkpointers import, with psycopg's own binary; every package has the locked version."""
    known, python = pin.find(name), interpreter.find(None)
    place = environment.ensure(beside(known), python)
    assert place != environment.of(known.lock.digest, python)
    assert (environment.damage(place), environment.is_there(beside(known), python)) == (None, True)
    done = subprocess.run([place.python, "-I", "-c", IMPORTS], capture_output=True, text=True, check=True)
    implementation, found = json.loads(done.stdout)
    variables = {key: str(value) for key, value in default_environment().items()}
    assert found == {each.name: each.version for each in beside(known).packages() if each.applies(variables)}
    assert implementation == "binary"


@pytest.mark.usefixtures("empty_cache")
def test_an_environment_of_both_that_is_damaged_is_built_again() -> None:
    """A package of either lock that is missing is noticed; what is built again is whole, and nothing else was built."""
    known, python = pin.find(PIN), interpreter.find(None)
    for name in ("aiosqlite", "tenacity"):
        place = environment.ensure(beside(known), python)
        shutil.rmtree(next(place.path.glob(f"lib/python*/site-packages/{name}")))
        assert environment.damage(place)
        assert (environment.rebuild(beside(known), python), environment.damage(place)) == (place, None)
    assert not environment.is_there(known.lock, python)


# --- making


def test_the_file_is_made_once_and_is_the_same_whoever_makes_it(plain: Path, command: Command) -> None:
    """`pin checkpointers` gives a pin the published bytes and touches no other file; a file that is there stays as it is."""
    before = {path.name: path.read_bytes() for path in plain.iterdir()}
    done = command("pin", "checkpointers", plain)
    assert (done.returncode, done.stdout) == (0, f"made {plain / pin.CHECKPOINTERS}\n"), done.stderr
    made = {path.name: path.read_bytes() for path in plain.iterdir()}
    assert made.pop(pin.CHECKPOINTERS) == (library.pins_folder() / PIN / pin.CHECKPOINTERS).read_bytes()
    assert made == before
    again = command("pin", "checkpointers", plain)
    assert (again.returncode, f"{pin.CHECKPOINTERS} is there already" in again.stderr) == (4, True)


@pytest.mark.parametrize("name", ["langgraph-checkpoint", "langchain-core"])
def test_a_pin_that_cannot_have_them_has_none_and_that_is_said(name: str, plain: Path, command: Command) -> None:
    """A conflict is known however long the installer explains it; nothing is left of the attempt."""
    text, count = re.subn(rf"(?m)^{name}==\S+", f"{name}==0.1.0+mine", (plain / "requirements.txt").read_text())
    assert count == 1
    (plain / "pin.toml").write_text(re.sub(rf"(?m)^{name} = .*\n", "", (plain / "pin.toml").read_text()))
    relocked(plain, text)
    done = command("pin", "checkpointers", plain)
    assert (done.returncode, done.stdout) == (0, f"{PIN}: none of that time go with its packages\n"), done.stderr
    assert "has no checkpointers beyond memory" in done.stderr
    assert not (plain / pin.CHECKPOINTERS).exists()


@pytest.mark.usefixtures("empty_cache")
def test_a_pin_is_made_although_it_cannot_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """`pin add` leaves out the file, says so in one sentence, and makes the rest as ever."""
    monkeypatch.setattr(draft, "CHECKPOINTERS", ("langgraph-checkpoint-sqlite", "langgraph-checkpoint<2"))
    with caplog.at_level(logging.INFO, "capture.draft"):
        made = pin.load(draft.add(Order({"langchain": "1.5.2"}), None, tmp_path / "made", interpreter.find(None)))
    assert (made.checkpointers, made.lock.digest) == (None, pin.find(PIN).lock.digest)
    assert [each.getMessage().count("has no checkpointers") for each in caplog.records if each.name == "capture.draft"] == [1]


def test_a_registry_that_was_not_asked_is_no_conflict(
    plain: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline, and with nobody at the registry's address, nothing is said about what goes together: that is 5."""
    for variables in ({"UV_OFFLINE": "1"}, {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0"}):
        done = command("pin", "checkpointers", plain, variables={**variables, "UV_CACHE_DIR": str(tmp_path / "uv")})
        assert (done.returncode, done.stdout) == (5, ""), done.stderr
        assert "has no checkpointers" not in done.stderr
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    with pytest.raises(EnvironmentFailed) as failure:
        draft.add_checkpointers(pin.load(plain))
    assert not isinstance(failure.value, Unresolved)


@pytest.mark.parametrize("count", [1, None])
def test_what_a_teams_lock_has_of_them_already_is_not_locked_again(count: int | None, plain: Path) -> None:
    """Some or all of the checkpointers may stand in the pin's own lock; the rest stands beside it, and all are named."""
    blocks = [block for block in re.split(r"(?m)^(?=\S)", (library.pins_folder() / PIN / pin.CHECKPOINTERS).read_text()) if block]
    relocked(plain, (plain / "requirements.txt").read_text() + "".join(blocks[:count]))
    path = draft.add_checkpointers(pin.load(plain))
    assert path
    assert path.read_text() == ("".join(blocks[count:]) if count else "")
    made, published = beside(pin.load(plain)), beside(pin.find(PIN))
    assert {each.name: each.version for each in made.packages()} == {each.name: each.version for each in published.packages()}
    known = pin.find(PIN)
    assert persistence.widened(known, made).packages == persistence.widened(known, published).packages
    assert persistence.widened(known, made).packages.keys() - known.packages.keys() == set(persistence.PACKAGES)
    assert environment.damage(environment.ensure(made, interpreter.find(None))) is None


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("form", ["--with", "--from"])
def test_every_way_to_make_a_pin_gives_it_checkpointers(form: str, command: Command, tmp_path: Path) -> None:
    """Beside another package, and of a team's lock: the file is there, and has nothing of the pin's own lock."""
    own = library.pins_folder() / "langchain-1.4.6" / "requirements.txt"
    said = ("langchain==1.4.6", "--with", "langgraph==1.2.16") if form == "--with" else ("--from", own)
    done = command("pin", "add", *said, "--name", "mine", "--to", tmp_path / "made")
    assert done.returncode == 0, done.stderr
    made = pin.load(tmp_path / "made" / "mine")
    assert {"langgraph-checkpoint-sqlite", "psycopg-binary"} <= set(lock.versions(beside(made).path))


def test_a_pin_that_was_changed_into_having_its_own_twice_is_refused(plain: Path) -> None:
    """A package in both locks is refused, at the same version as at another: the file would say it again, or change the pin."""
    first = re.split(r"(?m)^(?=\S)", (plain / "requirements.txt").read_text())[1]
    for text in (first, re.sub(r"==\S+", "==0.0.1", first, count=1)):
        (plain / pin.CHECKPOINTERS).write_text(text)
        with pytest.raises(InputRefused, match=r"checkpointers\.txt: \S+ stands in the pin's own lock already"):
            pin.load(plain)
