"""Cases that outlive their process: what the record found, what a broken checkpointer leaves, and that nothing stays behind."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from capture import cache, case, children, document, environment, interpreter, operator, pin, postgres, record, results
from capture.document import Document
from capture.judgement import Judge
from capture.observation import Watch, observe
from capture.operator import Operator
from capture.postgres import Postgres
from capture.session import Session
from tests.conftest import Command
from tests.test_signals import left, started, wait_for

PIN = "langchain-1.5.2"

FEW = ["restart/approve@sqlite", "decisions/approve"]


def judged(folder: Path, *names: str, server: Postgres | None = None) -> Mapping[str, Document]:
    """Run cases at the pin, and return the row of each."""
    known = pin.find(PIN)
    cases = case.find(names)
    saved = observe(known, lambda: cases, Watch(interpreter.find(None), folder, postgres=server))
    found = Judge().pin(saved, document.digest(saved.data()), {each.id: each.claims for each in cases})
    return {row["case"]: row for row in found["cases"]}


@pytest.fixture(scope="module")
def published() -> Mapping[str, Document]:
    """Return the rows of the published record, which test_records measures again."""
    path = record.find("persistent-approvals").revision(None).file("results")
    (found,) = results.read(document.read(path), str(path))["pins"]
    return {row["case"]: row for row in found["cases"]}


@pytest.mark.parametrize("kept", ["sqlite", "postgres", "async,sqlite", "async,postgres"])
@pytest.mark.parametrize("name", ["approve", "edit", "reject"])
def test_a_restart_keeps_every_decision_right(name: str, kept: str, published: Mapping[str, Document]) -> None:
    """Closed and opened again between pause and resume, each decision has the effect that it has without."""
    assert published[f"restart/{name}@{kept}"]["verdict"] == "PASS"


@pytest.mark.parametrize(
    ("name", "dispatched"),
    [
        ("crash/tool-entered", 1),
        ("crash/tool-after-effect", 2),
        ("crash/before-the-result-is-written", 2),
        ("crash/before-the-result-is-kept", 1),
        ("crash/before-the-refusal-is-kept", 0),
        ("concurrency/approve-twice-at-once", 2),
        ("concurrency/approve-twice-late", 1),
    ],
)
def test_how_often_one_approval_runs(name: str, dispatched: int, published: Mapping[str, Document]) -> None:
    """A kill after the effect and before its result is written lets one approval run twice, with either checkpointer."""
    found = {kept: published[f"{name}@{kept}"]["observations"]["dispatches"] for kept in ("sqlite", "postgres")}
    assert found == dict.fromkeys(found, dispatched)


def test_a_sink_can_tell_what_comes_again_by_its_key(published: Mapping[str, Document]) -> None:
    """What is sent again after a crash has the key of the first where the case sends one, and nothing to tell it by elsewhere."""
    claims = {
        key: {claim["claim"]: claim["verdict"] for claim in published[f"sender/crash-after-effect-{key}@sqlite"]["claims"]}
        for key in ("with-key", "without-key")
    }
    assert {key: found["wire/key-shared@1"] for key, found in claims.items()} == {"with-key": "PASS", "without-key": "FAIL"}
    assert [len(call["sent"]) for call in published["sender/crash-after-effect-with-key@sqlite"]["calls"]] == [2]


def _folder(place: Path) -> None:
    place.mkdir(exist_ok=True)


def _garbage(place: Path) -> None:
    if not place.is_dir():
        place.write_bytes(b"this is no database" * 100)


def _full(place: Path) -> None:
    if not place.is_symlink():
        place.symlink_to("/dev/full")


def _other_schema(place: Path) -> None:
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS checkpoints (version_of_tomorrow TEXT)")


def _locked(place: Path) -> None:
    if _HELD:
        return
    connection = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    connection.execute("CREATE TABLE IF NOT EXISTS t (x)")
    connection.execute("BEGIN EXCLUSIVE")
    _HELD.append(connection)


_HELD: list[sqlite3.Connection] = []


@pytest.fixture
def released() -> Iterator[None]:
    """Let go what a test has locked."""
    yield
    while _HELD:
        _HELD.pop().close()


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("spoil", [_folder, _garbage, _full, _other_schema, _locked], ids=lambda spoil: spoil.__name__[1:])
def test_a_broken_file_spoils_its_case_alone(
    spoil: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that is no file, no database, full, of another schema or locked: UNKNOWN (checkpointer), and the rest goes on."""
    monkeypatch.setattr(operator, "_remove", spoil)
    found = judged(tmp_path, *FEW)
    row = found["restart/approve@sqlite"]
    assert (row["verdict"], row["reason"]) == ("UNKNOWN", "checkpointer")
    assert row["detail"].startswith("sqlite: ")
    assert found["decisions/approve"]["verdict"] == "PASS"


def test_a_server_that_is_not_reached_spoils_its_cases_alone(tmp_path: Path) -> None:
    """Nobody listens at the address that was given: UNKNOWN (checkpointer), and the rest goes on."""
    found = judged(tmp_path, "restart/approve@postgres", *FEW, server=Postgres(interpreter.find(None), "host=/nonexistent"))
    assert {name: (row["verdict"], row["reason"]) for name, row in found.items()} == {
        "restart/approve@postgres": ("UNKNOWN", "checkpointer"),
        "restart/approve@sqlite": ("PASS", None),
        "decisions/approve": ("PASS", None),
    }


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the URL of a server that is reached by the name of its host, as somebody else's is."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {**postgres._SETTINGS, "listen_addresses": "localhost", "port": str(port)}
    monkeypatch.setattr(postgres, "_SETTINGS", settings)
    with Postgres(interpreter.find(None)) as server:
        server.address()
        yield f"postgresql://postgres@localhost:{port}/postgres"


def test_a_server_elsewhere_is_reached_by_its_name(remote: str, tmp_path: Path) -> None:
    """`--postgres URL` names a host: to look that one up is no attempt of the subject to reach the network."""
    names = ["restart/approve@postgres", "restart/approve@async,postgres"]
    found = judged(tmp_path, *names, server=Postgres(interpreter.find(None), remote))
    assert {name: (row["verdict"], row["reason"]) for name, row in found.items()} == dict.fromkeys(names, ("PASS", None))


def test_an_address_that_is_none_is_a_checkpointer_that_is_not_reached(tmp_path: Path) -> None:
    """What nobody can connect to, because it is no address, says nothing of the subject."""
    found = judged(tmp_path, "restart/approve@postgres", server=Postgres(interpreter.find(None), "no address at all"))
    assert found["restart/approve@postgres"]["reason"] == "checkpointer"


def test_a_server_that_dies_spoils_the_case_at_hand_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between question and answer, the server takes that case with it; the next case gets a server that runs."""
    kept = Operator._restart
    with Postgres(interpreter.find(None)) as server:

        def restart(self: Operator, do: str) -> bool:
            if self._case.id == "restart/approve@postgres":
                server.kill()
            return kept(self, do)

        monkeypatch.setattr(Operator, "_restart", restart)
        found = judged(tmp_path, "restart/approve@postgres", "restart/edit@postgres", *FEW, server=server)
    said = {name: (row["verdict"], row["reason"]) for name, row in found.items()}
    assert said.pop("restart/approve@postgres") == ("UNKNOWN", "checkpointer")
    assert set(said.values()) == {("PASS", None)}


def test_a_pin_without_checkpointers_does_not_support_them(tmp_path: Path, command: Command) -> None:
    """Without the lock the case is UNKNOWN (unsupported), said without running it."""
    place = tmp_path / "pins" / PIN
    shutil.copytree(pin.find(PIN).lock.path.parent, place)
    (place / pin.CHECKPOINTERS).unlink()
    done = command("run", "--pin", place, "--case", FEW[0], "--case", FEW[1], "--format", "json", "--out", tmp_path / "out")
    (found,) = results.read((tmp_path / "out" / "results.json").read_bytes(), "results.json")["pins"]
    assert done.returncode == 3, done.stderr
    assert [(row["case"], row["reason"], row["detail"]) for row in found["cases"]] == [
        (FEW[1], None, None),
        (FEW[0], "unsupported", "checkpointer sqlite"),
    ]
    assert "checkpointers" not in found


def test_nothing_is_left_of_a_run(tmp_path: Path, command: Command) -> None:
    """After a run no database, server, process or folder of it is there."""
    before = set(postgres._base().glob(f"{postgres._PREFIX}*"))
    done = command("run", "--pin", PIN, "--case", "restart/approve@postgres", "--case", FEW[0], "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "out").rglob("*.sqlite*")) == []
    # Another run on this machine may have begun meanwhile: what counts is what nobody owns any more.
    found = set(postgres._base().glob(f"{postgres._PREFIX}*")) - before
    assert [place for place in found if not children.is_alive(place.name.removeprefix(postgres._PREFIX).rpartition("-")[0])] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_a_kill_leaves_the_next_run_clears(number: signal.Signals, tmp_path: Path, command: Command) -> None:
    """A run that is ended while its server runs leaves nothing, or what the next run ends and deletes."""
    process = started(["run", "--pin", PIN, "--case", "crash", "--out", str(tmp_path / "out")], tmp_path)
    wait_for("running", process)
    while not _folders(process.pid):
        assert process.poll() is None
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    done = command("run", "--pin", PIN, "--case", FEW[0], "--out", tmp_path / "next")
    assert done.returncode == 0, done.stderr
    assert (_folders(process.pid), left(process.pid)) == ([], [])
    assert list((tmp_path / "out").rglob("*.sqlite*")) == []
    left_there = list(cache.folder("scratch").glob("*-thread-*"))
    assert [place for place in left_there if not children.is_alive("-".join(place.name.split("-")[:2]))] == []


def _folders(owner: int) -> list[Path]:
    return list(postgres._base().glob(f"{postgres._PREFIX}{owner}-*"))


@pytest.mark.parametrize(
    "name",
    ["restart/approve@postgres", "crash/tool-entered@async,postgres", "concurrency/approve-twice-late@postgres"],
    ids=lambda name: name.replace("/", "."),
)
def test_nothing_is_left_in_a_database_that_was_given(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case deletes its own scope in a server that others use as well, also if its step was not the last."""
    asked = []
    kept = Session.ask

    def ask(self: Session, command: str, seconds: float, **fields: Any) -> dict[str, Any]:
        answer = kept(self, command, seconds, **fields)
        asked.append((command, fields.get("scope")))
        return answer

    monkeypatch.setattr(Session, "ask", ask)
    with Postgres(interpreter.find(None)) as server:
        address = server.address()
        judged(tmp_path, name, server=Postgres(interpreter.find(None), address))
        (scope,) = {scope for command, scope in asked if scope}
        assert asked[-1] == ("close", scope)
        said = schemas(address)
    assert "public" in said
    assert "dispatch_audit" not in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_a_kill_leaves_in_a_database_that_was_given_the_next_run_clears(
    number: signal.Signals, tmp_path: Path, command: Command
) -> None:
    """A run that is ended while it has a scope in a server of others cannot delete it; the next run with the server does."""
    with Postgres(interpreter.find(None)) as server:
        address = server.address()
        process = started(["run", "--pin", PIN, "--case", "crash", "--postgres", address, "--out", str(tmp_path / "out")], tmp_path)
        while "dispatch_audit" not in schemas(address):
            assert process.poll() is None
        os.kill(process.pid, number)
        process.communicate(timeout=60)
        done = command("run", "--pin", PIN, "--case", "restart/approve@postgres", "--postgres", address, "--out", tmp_path / "next")
        assert done.returncode == 0, done.stderr
        assert "dispatch_audit" not in schemas(address)
    assert [claim for claim in cache.folder("scopes").iterdir() if claim.name.startswith(f"{process.pid}-")] == []


def schemas(address: str) -> str:
    """Return the names of the schemas of a database."""
    known = pin.find(PIN)
    place = environment.ensure(known.checkpointers or known.lock, interpreter.find(None))
    listed = "import sys, psycopg; print(psycopg.connect(sys.argv[1]).execute('SELECT nspname FROM pg_namespace').fetchall())"
    return subprocess.run([place.python, "-I", "-c", listed, address], capture_output=True, text=True, check=True).stdout
