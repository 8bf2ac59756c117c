"""The server of our own: it starts when it is asked for, lets nobody else in, and leaves nothing."""

import os
import stat
from pathlib import Path

import pytest

from capture import children, interpreter, postgres
from capture.errors import EnvironmentFailed
from capture.postgres import Postgres


def segments() -> set[str]:
    """Return the shared memory of the system that is named by an id."""
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return {line.split()[1] for line in lines}


def folder_of(address: str) -> Path:
    """Return the folder of the server at an address."""
    return Path(address.partition("host=")[2].partition(" ")[0])


def test_it_starts_once_and_leaves_nothing() -> None:
    """Two who ask get one server; after the end its folder, process and shared memory are gone."""
    before = segments()
    server = Postgres(interpreter.find(None))
    place = folder_of(server.address())
    assert folder_of(server.address()) == place
    state = (place / "data" / "postmaster.pid").read_text().splitlines()
    assert (place / ".s.PGSQL.5432").is_socket()
    server.end()
    server.end()
    assert not place.exists()
    assert not Path(f"/proc/{state[0]}").exists()
    assert segments() <= before


def test_only_its_user_can_enter_and_it_has_no_port() -> None:
    """The folder of the socket is closed to others, and the server listens nowhere else."""
    with Postgres(interpreter.find(None)) as server:
        place = folder_of(server.address())
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert (place / "data" / "postmaster.pid").read_text().splitlines()[5].strip() == ""


def test_a_server_that_died_is_followed_by_a_fresh_one() -> None:
    """After a kill the next address is another server's, and of the first nothing is left."""
    before = segments()
    with Postgres(interpreter.find(None)) as server:
        first = folder_of(server.address())
        server.kill()
        second = folder_of(server.address())
        assert (first.exists(), second.exists()) == (False, True)
        assert len(segments() - before) == 1
    assert segments() <= before


def test_an_address_that_was_given_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --postgres nothing of ours is started."""
    monkeypatch.setattr(children, "start", None)
    assert Postgres(interpreter.find(None), "host=elsewhere").address() == "host=elsewhere"


def test_a_server_that_cannot_start_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a place for its folder, or for its data, the reason is named and nothing is left."""
    monkeypatch.setattr(postgres, "_base", lambda: tmp_path / "missing")
    with pytest.raises(EnvironmentFailed, match=r"PostgreSQL: .*No such file"):
        Postgres(interpreter.find(None)).address()


def test_what_others_put_there_is_not_touched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A link, and what somebody else owns, is left alone; a folder of ours whose owner is gone is deleted."""
    monkeypatch.setattr(postgres, "_base", lambda: tmp_path)
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / f"{postgres._PREFIX}999999999-1-link").symlink_to(kept)
    gone = tmp_path / f"{postgres._PREFIX}999999999-1-gone"
    gone.mkdir()
    mine = tmp_path / f"{postgres._PREFIX}{children.OWNER}-mine"
    mine.mkdir()
    if os.geteuid() == 0:
        other = tmp_path / f"{postgres._PREFIX}999999999-1-other"
        other.mkdir()
        os.chown(other, 12345, 12345)
    postgres.clear()
    assert (kept.exists(), gone.exists(), mine.exists()) == (True, False, True)
    assert os.geteuid() != 0 or other.exists()
