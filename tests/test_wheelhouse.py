"""Years later: a pin's artifacts from a folder alone, without a registry; what is not there any more is named."""

import hashlib
import http.server
import shutil
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from capture import cache, environment, interpreter, pin
from capture.errors import EnvironmentFailed
from capture.wheelhouse import fetch, only
from tests.conftest import Command

NOWHERE = {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_OFFLINE": "1"}


@pytest.fixture(scope="module")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fetch the artifacts of I05 and of its upstream tests into a folder."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    assert list(fetch(pin.find("i05"), folder, interpreter.find(None), everything=False))
    return folder


def alone(tmp_path: Path) -> dict[str, str]:
    """Return the variables of a machine with empty caches and no registry."""
    return {**NOWHERE, cache.VARIABLE: str(tmp_path / "cache"), "UV_CACHE_DIR": str(tmp_path / "uv")}


def test_a_record_is_reproduced_from_a_folder_alone(wheelhouse: Path, command: Command, tmp_path: Path) -> None:
    """With empty caches, no registry and a wheelhouse, the upstream tests and every byte come out as published."""
    done = command("reproduce", "i05", "--wheelhouse", wheelhouse, variables=alone(tmp_path))
    assert done.returncode == 0, done.stderr


def test_no_network_and_a_cold_cache(command: Command, tmp_path: Path) -> None:
    """Without a registry, a wheelhouse and an environment, a run ends with 5 and one sentence."""
    done = command("run", "--pin", "i05", variables=alone(tmp_path))
    assert (done.returncode, done.stdout) == (5, "")
    assert [line for line in done.stderr.splitlines() if line.startswith("dispatch-audit: ")] == done.stderr.splitlines()[-1:]


def test_no_network_and_a_warm_cache(command: Command) -> None:
    """Without a registry but with its environments built, the record is reproduced."""
    assert command("reproduce", "i05").returncode == 0
    assert command("reproduce", "i05", variables=NOWHERE).returncode == 0


@pytest.mark.parametrize("name", ["langchain_core", "forbiddenfruit", "setuptools", "langchain-1.4.2.tar.gz"])
def test_an_artifact_that_is_not_there_is_named(name: str, wheelhouse: Path, command: Command, tmp_path: Path) -> None:
    """A wheelhouse without one file that is needed is refused by the file's package URL, before anything is run."""
    folder = Path(shutil.copytree(wheelhouse, tmp_path / "some"))
    for path in folder.glob(f"{name}*"):
        path.unlink()
    done = command("reproduce", "i05", "--wheelhouse", folder)
    assert (done.returncode, done.stdout) == (5, "")
    assert "dispatch-audit: pkg:pypi/" in done.stderr


def test_another_file_under_a_wheels_name_is_no_wheel(wheelhouse: Path, command: Command, tmp_path: Path) -> None:
    """A file in a wheelhouse counts by its SHA-256, not by its name."""
    folder = Path(shutil.copytree(wheelhouse, tmp_path / "some"))
    next(folder.glob("langchain_core-*")).write_bytes(b"other")
    done = command("reproduce", "i05", "--wheelhouse", folder)
    assert (done.returncode, "pkg:pypi/langchain-core@1.6.3" in done.stderr) == (5, True)


def test_checkpointers_come_from_a_folder_alone(wheelhouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a pin and its checkpointers is built from a wheelhouse, with empty caches and no registry."""
    for name, value in alone(tmp_path).items():
        monkeypatch.setenv(name, value)
    found = only(pin.find("i05"), wheelhouse, interpreter.find(None)).checkpointers
    assert found
    assert environment.damage(environment.ensure(found, interpreter.find(None))) is None


def test_a_wheelhouse_from_before_the_checkpointers_serves_the_rest(
    wheelhouse: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without their files the record is reproduced all the same; their own environment cannot be built, which is said."""
    folder = Path(shutil.copytree(wheelhouse, tmp_path / "some"))
    for path in folder.glob("psycopg*"):
        path.unlink()
    variables = alone(tmp_path)
    assert command("reproduce", "i05", "--skip-upstream", "--wheelhouse", folder, variables=variables).returncode == 0
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = only(pin.find("i05"), folder, interpreter.find(None)).checkpointers
    assert found
    with pytest.raises(EnvironmentFailed, match="psycopg"):
        environment.ensure(found, interpreter.find(None))


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Serve a folder as a registry on loopback, and give its address and the folder."""
    folder = tmp_path / "registry"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, directory=str(folder), **options)  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple", folder
        server.shutdown()


def tiny_pin(tmp_path: Path, folder: Path, page: str) -> Path:
    """Make a pin of one tiny package, whose file a registry serves with this page; `{}` in the page is the file's link."""
    wheel = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("tiny.py", "")
        file.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        file.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("tiny-1.0.dist-info/RECORD", "")
    value = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (folder / "simple" / "tiny").mkdir(parents=True)
    (folder / "simple" / "tiny" / "index.html").write_text(page.replace("{}", f"../../{wheel.name}#sha256={value}"))
    lock = f"tiny==1.0 \\\n    --hash=sha256:{value}\n"
    pin = tmp_path / "tiny"
    pin.mkdir()
    (pin / "requirements.txt").write_text(lock)
    (pin / "pin.toml").write_text(
        f"""title = "tiny"
python = ">=3.11"
as-of = "2026-11-30T00:00:00Z"
lock = {{ file = "requirements.txt", sha256 = "{hashlib.sha256(lock.encode()).hexdigest()}" }}
packages = {{ tiny = "1.0" }}
files = {{ "tiny.py" = "{hashlib.sha256(b"").hexdigest()}" }}
artifacts = [{{ purl = "pkg:pypi/tiny@1.0", kind = "wheel", sha256 = "{value}" }}]
"""
    )
    return pin


@pytest.mark.parametrize(
    ("page", "code", "said"),
    [
        ('<a href="{}">tiny-1.0-py3-none-any.whl</a>', 0, "tiny-1.0-py3-none-any.whl\n"),
        ('<a href="{}" data-yanked="broken">tiny-1.0-py3-none-any.whl</a>', 0, "tiny-1.0-py3-none-any.whl (yanked)"),
        ("", 5, "pkg:pypi/tiny@1.0: the registry does not have it any more"),
    ],
    ids=["there", "yanked", "vanished"],
)
def test_what_was_yanked_or_vanished_is_named(
    page: str, code: int, said: str, registry: tuple[str, Path], command: Command, tmp_path: Path
) -> None:
    """Fetching says which artifact was yanked, and fails with the package URL of one that is gone."""
    address, folder = registry
    pin = tiny_pin(tmp_path, folder, f"<!DOCTYPE html><html><body>{page}</body></html>")
    done = command("pin", "fetch", pin, "--to", tmp_path / "wheels", variables={"UV_DEFAULT_INDEX": address})
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert [path.name for path in (tmp_path / "wheels").iterdir()] == (["tiny-1.0-py3-none-any.whl"] if code == 0 else [])


def test_a_checkpointer_that_vanished_is_named(registry: tuple[str, Path], command: Command, tmp_path: Path) -> None:
    """Fetching does not say that all is there while the registry has no file of a checkpointer any more."""
    address, folder = registry
    place = tiny_pin(tmp_path, folder, '<!DOCTYPE html><html><body><a href="{}">tiny-1.0-py3-none-any.whl</a></body></html>')
    (place / "checkpointers.txt").write_text(f"gone==1.0 --hash=sha256:{'a' * 64}\n")
    (folder / "simple" / "gone").mkdir()
    (folder / "simple" / "gone" / "index.html").write_text("<!DOCTYPE html><html><body></body></html>")
    done = command("pin", "fetch", place, "--to", tmp_path / "wheels", variables={"UV_DEFAULT_INDEX": address})
    assert (done.returncode, done.stdout) == (5, ""), done.stderr
    assert "pkg:pypi/gone@1.0: the registry does not have it any more" in done.stderr
