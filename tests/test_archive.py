"""The archive way: the record from a source archive in the layout of its commit, unpacked with care, gives the same bytes."""

import io
import json
import shutil
import tarfile
import threading
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from capture import archive, document, library, registry, unpack
from capture.errors import InputRefused
from tests.conftest import Command

LAYOUT = {
    ("langchain", "1.4.2"): "langchain_v1",
    ("langchain-core", "1.6.3"): "core",
    ("langchain-openai", "1.6.2"): "partners/openai",
    ("langchain-text-splitters", "1.1.2"): "text-splitters",
    ("langchain-tests", "1.1.9"): "standard-tests",
}

UV_LOCK = "libs/langchain_v1/uv.lock"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an archive in the layout of the commit from source distributions, and return its path."""
    place = tmp_path_factory.mktemp("archive")
    libs = place / "langchain-commit" / "libs"
    (libs / "partners").mkdir(parents=True)
    for (name, version), folder in LAYOUT.items():
        kinds = {artifact.kind: artifact for artifact in registry.release(name, version).artifacts}
        unpack.unpack(registry.fetch(kinds["sdist"]), place / name)
        next((place / name).iterdir()).rename(libs / folder)
    with tarfile.open(place / "commit.tar.gz", "w:gz") as made:
        made.add(place / "langchain-commit", "langchain-commit")
    return place / "commit.tar.gz"


@pytest.fixture
def record(source: Path, tmp_path: Path) -> Path:
    """Return a copy of the record that pins the uv.lock of this archive, which is the source distribution's."""
    copied = Path(shutil.copytree(library.records_folder() / "i05", tmp_path / "i05"))
    lock = (source.parent / "langchain-commit" / UV_LOCK).read_bytes()
    path = copied / "record.toml"
    lines = path.read_text().splitlines(keepends=True)
    changed = [f'"{UV_LOCK}" = "{document.digest(lock)}"\n' if UV_LOCK in line else line for line in lines]
    path.write_text("".join(changed))
    return copied


def test_the_archive_gives_the_published_bytes(source: Path, record: Path, command: Command) -> None:
    """From the archive's own lock, with other helpers than the pin's, the tests and every byte come out as published."""
    done = command("reproduce", record, "--archive", source)
    assert done.returncode == 0, done.stderr + done.stdout
    checks = {check["check"]: check["held"] for check in json.loads(done.stdout)["checks"]}
    assert (checks[f"archive, {UV_LOCK}"], checks["archive"], checks["history.jsonl"]) == (True, None, True)


def test_an_archive_can_be_had_from_an_address(source: Path, record: Path, command: Command) -> None:
    """An archive at an address is fetched first; one that is not there is said so."""

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, directory=str(source.parent), **options)  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        found = command("reproduce", record, "--archive", f"{address}/commit.tar.gz", "--skip-upstream")
        missing = command("reproduce", record, "--archive", f"{address}/none.tar.gz")
        server.shutdown()
    assert (found.returncode, missing.returncode) == (0, 5), found.stderr


def test_another_commit_is_refused(source: Path, command: Command) -> None:
    """An archive whose pinned files are not those of the record is refused before anything in it is built."""
    done = command("reproduce", "i05", "--archive", source)
    assert (done.returncode, UV_LOCK in done.stderr) == (4, True)


def member(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """Return a member of an archive."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


HOSTILE = {
    "a path outside": [member("top/../../out.txt", b"x")],
    "an absolute path": [member("/tmp/dispatch-audit-out.txt", b"x"), member("top/../..//out.txt", b"x")],
    "a link outside": [member("top/link", type=tarfile.SYMTYPE, linkname="../../out.txt"), member("top/link/x", b"x")],
    "a hard link outside": [member("top/link", type=tarfile.LNKTYPE, linkname="../../../../etc/passwd")],
    "a device": [member("top/null", type=tarfile.CHRTYPE, devmajor=1, devminor=3)],
    "no project": [member("top/readme.txt", b"x")],
    "two projects": [member(f"{top}/{UV_LOCK}", b"x") for top in ("one", "two")],
    "a name twice": [member("top/a", b"x"), member("top/a", b"y")],
    "a folder made a link": [member("top/a", type=tarfile.SYMTYPE, linkname="."), member("top/a/../../b", b"x")],
    "a file in the way of a folder": [member("top", b"x"), member(f"top/{UV_LOCK}", b"x")],
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_archive_is_refused(hostile: str, command: Command, tmp_path: Path) -> None:
    """What leads out of the folder, or is no archive of this repository, is refused, and nothing lies outside."""
    path = tmp_path / "hostile.tar"
    with tarfile.open(path, "w") as made:
        for info, data in HOSTILE[hostile]:
            made.addfile(info, io.BytesIO(data))
    before = sorted(tmp_path.rglob("*"))
    done = command("reproduce", "i05", "--archive", path)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (4, "", False), done.stderr
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("/tmp/dispatch-audit-out.txt").exists()


@pytest.mark.parametrize("spoil", [lambda data: data[:-100], lambda _: b"", lambda data: b"\0" * 1024 + data])
def test_a_damaged_archive_is_refused(spoil: Callable[[bytes], bytes], command: Command, tmp_path: Path) -> None:
    """Bytes that are cut, empty or no archive are refused in one sentence."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as made:
        info, data = member("top/a", b"x" * 5000)
        made.addfile(info, io.BytesIO(data))
    path = tmp_path / "damaged.tar.gz"
    path.write_bytes(spoil(buffer.getvalue()))
    done = command("reproduce", "i05", "--archive", path)
    assert (done.returncode, "Traceback" in done.stderr) == (4, False), done.stderr


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More members than an archive of the repository can have are not unpacked."""
    monkeypatch.setattr(unpack, "MOST_MEMBERS", 10)
    path = tmp_path / "many.tar"
    with tarfile.open(path, "w") as made:
        for number in range(20):
            made.addfile(tarfile.TarInfo(f"top/{number}"))
    with pytest.raises(InputRefused, match="more than 10 members"):
        archive._unpacked(path, tmp_path / "unpacked")


@pytest.mark.parametrize("where", ["file:///etc/passwd", "ftp://127.0.0.1/x", "/nonexistent.tar.gz"])
def test_only_files_and_web_addresses(where: str, command: Command) -> None:
    """Another kind of address, or a file that is not there, is refused."""
    assert command("reproduce", "i05", "--archive", where).returncode == 4
