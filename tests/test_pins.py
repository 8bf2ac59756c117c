"""Pins: one of every release, proved against the registry; made of a lock, beside another package, or on demand."""

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from packaging.version import Version

from capture import adoption, cache, document, draft, installer, interpreter, library, lock, order, pin, proof, registry
from capture.errors import InputRefused
from capture.order import Order
from tests.conftest import Command
from tests.test_wheelhouse import tiny_pin

MOST_BYTES = 8 * 1024 * 1024

NOBODY = {"UV_OFFLINE": "1"}

HASH = "a" * 64


# --- what is shipped


def shipped() -> list[pin.Pin]:
    """Return the pins in the source tree."""
    return [pin.load(library.pins_folder() / name) for name in library.names(library.pins_folder(), "pin.toml")]


def test_every_stable_release_has_its_pin() -> None:
    """From 1.0.0 to the newest that is pinned no stable release is left out, and those that were yanked say so, with the reason."""
    pins = {known.packages["langchain"]: known for known in shipped() if known.is_release}
    newest = max(map(Version, pins))
    released = [version for version in registry.stable("langchain") if Version("1") <= Version(version) <= newest]
    assert sorted(pins, key=Version) == released
    assert {name: known.yanked for name, known in pins.items() if known.yanked} == {
        version: reason for version in released if (reason := registry.release("langchain", version).yanked)
    }
    assert {"1.2.5", "1.3.5"} <= {name for name, known in pins.items() if known.yanked}


def test_every_release_is_pinned_as_of_the_end_of_its_first_day() -> None:
    """The time of a release's own pin is its upload plus 24 hours."""
    for known in filter(lambda known: known.is_release, shipped()):
        uploaded = registry.release("langchain", known.packages["langchain"]).uploaded
        assert uploaded
        assert datetime.fromisoformat(known.as_of) == uploaded.replace(microsecond=0) + timedelta(days=1), known.name


def test_pins_say_what_decides_and_name_no_place() -> None:
    """Each pin has the digests of middleware, factory, tool node and interrupt code; none names a host or a path."""
    for known in shipped():
        assert set(draft.FILES[:4]) <= set(known.files), known.name
    for path in library.pins_folder().rglob("*"):
        if path.is_file():
            assert not re.search(r"https?:|pythonhosted|/(home|root|tmp|work)/", path.read_text()), path


def test_pins_stay_small() -> None:
    """All pins together are smaller than a repository notices."""
    assert sum(path.stat().st_size for path in library.pins_folder().rglob("*") if path.is_file()) < MOST_BYTES


def test_pins_are_listed_in_the_order_of_versions_with_the_yanked_ones_marked(command: Command) -> None:
    """`pin list` and `list pins` say the same, 1.4.10 after 1.4.9, and of a yanked release why."""
    done = command("pin", "list", "--format", "json")
    assert (done.returncode, done.stdout) == (0, command("list", "pins", "--format", "json").stdout)
    items = {item["id"]: item for item in json.loads(done.stdout)["items"]}
    own = [name for name in items if re.fullmatch(r"langchain-[0-9.]+", name)]
    assert own == sorted(own, key=lambda name: Version(name.removeprefix("langchain-")))
    assert "SummarizationMiddleware" in items["langchain-1.2.5"]["yanked"]
    assert "(yanked: Changed SummarizationMiddleware" in re.sub(r"\s+", " ", command("pin", "list", "--format", "text").stdout)


# --- matching


@pytest.mark.parametrize(
    ("requirement", "first", "last", "count"),
    [
        ("langchain", "1.0.0", None, None),
        ("langchain>=1.2,<1.3", "1.2.0", "1.2.18", 19),
        ("LangChain ~=1.4.0", "1.4.0", "1.4.10", 11),
        ("langchain==1.4.2", "1.4.2", "1.4.2", 1),
        ("langgraph<1.0.2", "1.0.0", "1.0.2", 3),
    ],
)
def test_a_requirement_gives_the_pins_of_matching_releases(
    requirement: str, first: str, last: str | None, count: int | None
) -> None:
    """Releases' own pins in the order of their versions; no record's pin, which is of the same release again."""
    found = [known.packages["langchain"] for known in pin.matching(requirement)]
    assert (found[0], last or found[-1], count or len(found)) == (first, found[-1], len(found))
    assert found == sorted(found, key=Version)
    assert {known.name for known in pin.matching(requirement)} == {f"langchain-{version}" for version in found}


@pytest.mark.parametrize(
    ("requirement", "says"),
    [
        ("langchain>=99", "no pin matches it"),
        ("nosuch", "no pin matches it"),
        ("langchain>=>1", "no package with a range of versions"),
        ("langchain[x]>=1", "no package with a range of versions"),
        ("langchain @ https://x.invalid/y", "no package with a range of versions"),
        ("", "no package with a range of versions"),
        ("\x1b[31m", "no package with a range of versions"),
    ],
)
def test_a_requirement_that_matches_nothing_is_refused(requirement: str, says: str) -> None:
    """What is no requirement, or matches no pin, is refused in one sentence."""
    with pytest.raises(InputRefused, match=says) as refusal:
        pin.matching(requirement)
    assert "\x1b" not in refusal.value.message


def test_a_pre_release_matches_only_if_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pin that was made on demand counts like a shipped one; a pre-release only where the requirement names one."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    for version in ("9.1", "9.2a1"):
        copy = Path(shutil.copytree(library.pins_folder() / "langchain-1.4.3", tmp_path / "pins" / f"langchain-{version}"))
        for path in copy.iterdir():
            path.write_text(re.sub(r"(langchain = \"|langchain==|langchain@)1\.4\.3", rf"\g<1>{version}", path.read_text()))
        text = (copy / "pin.toml").read_text()
        digest = document.digest((copy / "requirements.txt").read_bytes())
        (copy / "pin.toml").write_text(re.sub(r"(?<=requirements.txt\", sha256 = \")\w+", digest, text))
    assert [known.name for known in pin.matching("langchain>=9")] == ["langchain-9.1"]
    assert [known.name for known in pin.matching("langchain>=9.2a1")] == ["langchain-9.2a1"]
    assert [known.name for known in pin.all_pins()][-2:] == ["langchain-9.1", "langchain-9.2a1"]


# --- orders


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("langchain-1.5.3", Order({"langchain": "1.5.3"})),
        ("langchain==1.5.3", Order({"langchain": "1.5.3"})),
        ("LangChain == 1.4.0a4", Order({"langchain": "1.4.0a4"})),
        ("langchain-1.4.6+langgraph-1.2.16", Order({"langchain": "1.4.6"}, {"langgraph": "1.2.16"})),
        (
            "langchain-1.4.6+langgraph-1.2.16+langgraph-prebuilt-1.1.1",
            Order({"langchain": "1.4.6"}, {"langgraph": "1.2.16", "langgraph-prebuilt": "1.1.1"}),
        ),
        *(
            (name, None)
            for name in (
                "i05",
                "no-such",
                "./langchain-1.4.6",
                "langchain",
                "langchain-",
                "langchain-01.4",
                "langchain-1.4.6+",
                "langchain-1.4.6+lock.12345678",
                "langchain-1.4.6+as-of.20261023",
                "langchain-1.4.6+langgraph-1+langgraph-2",
                "langgraph-1.2.16",
                "langgraph==1.2.16",
                "langchain==1.4.*",
                "langchain==1.4.6,==1.4.7",
                "langchain==1.4.6; python_version > '3'",
                "langchain===1.4.6",
                "",
            )
        ),
    ],
)
def test_what_a_name_or_a_requirement_orders(asked: str, wanted: Order | None) -> None:
    """A release's name or exact requirement can be made on demand; everything else is a name that is there or is not."""
    assert order.of(asked) == wanted


def test_the_name_of_an_order_is_read_as_that_order() -> None:
    """The name that a pin on demand gets is the name that asks for it."""
    for wanted in (Order({"langchain": "1.4.6"}), Order({"langchain": "1.4.6"}, {"langgraph": "1.2.16", "anyio": "4.1"})):
        assert order.of(wanted.name) == wanted


# --- locks of others


def adopted(tmp_path: Path, text: str, name: str = "requirements.txt") -> Order:
    """Return the order for a lock with this text."""
    path = tmp_path / name
    path.write_text(text)
    return adoption.order(path, None)


PYLOCK = f"""lock-version = "1.0"
created-by = "uv"
requires-python = ">=3.12"

[[packages]]
name = "langchain"
version = "1.4.6+mine"
index = "https://secret.invalid/simple"
sdist = {{ url = "https://secret.invalid/langchain-1.4.6+mine.tar.gz", hashes = {{ sha256 = "{HASH}" }} }}
wheels = [{{ path = "./langchain-1.4.6+mine-py3-none-any.whl", hashes = {{ sha256 = "{"b" * 64}" }} }}]

[[packages]]
name = "anyio"
version = "4.13.0rc1"
marker = "sys_platform != 'win32'"
wheels = [{{ name = "anyio-4.13.0rc1-py3-none-any.whl", path = "x.whl", hashes = {{ sha256 = "{HASH}", md5 = "1" }} }}]
"""

REQUIREMENTS = f"""# made by hand
-i https://user:secret@secret.invalid/simple
--extra-index-url=https://secret.invalid/other
--trusted-host secret.invalid
--pre

langchain==1.4.6+mine \\
    --hash=sha256:{"b" * 64} \\
    --hash=sha512:{HASH} \\
    --hash=sha256:{HASH}
    # via -r requirements.in
anyio[trio]==4.13.0rc1 ; sys_platform != 'win32' --hash sha256:{HASH}  # via langchain
"""

OURS = f"""anyio==4.13.0rc1 ; sys_platform != "win32" \\
    --hash=sha256:{HASH}
langchain==1.4.6+mine \\
    --hash=sha256:{HASH} \\
    --hash=sha256:{"b" * 64}
"""


@pytest.mark.parametrize(("text", "name"), [(PYLOCK, "pylock.toml"), (REQUIREMENTS, "requirements.txt")])
def test_a_lock_of_others_is_the_same_lock_whoever_wrote_it(text: str, name: str, tmp_path: Path) -> None:
    """Both forms of a lock, with pre-releases and versions of a private index, give the same bytes, without host or path."""
    found = adopted(tmp_path, text, name)
    assert found.lock == OURS.encode()
    assert found.name == f"langchain-1.4.6+mine+lock.{document.digest(OURS.encode())[:8]}"
    assert found.python == (">=3.11,>=3.12" if name == "pylock.toml" else ">=3.11")


@pytest.mark.parametrize(
    ("times", "as_of"),
    [
        (("2026-10-19T20:14:24.7Z", "2026-10-19T22:14:23+02:00", "2025-01-01T00:00:00Z"), "2026-10-19T20:14:25Z"),
        (("2026-10-19T20:14:24Z", "2026-10-19T20:14:24", "2025-01-01T00:00:00Z"), None),
        (("2026-10-19T20:14:24Z",), None),
    ],
)
def test_the_time_of_a_pylock_is_that_of_its_newest_file(times: tuple[str, ...], as_of: str | None, tmp_path: Path) -> None:
    """If the lock says of each file when it was uploaded, the second after the last is its time; else the registry is asked."""
    stamps = iter(times)
    text = re.sub("hashes =", lambda found: f"upload-time = {time}, {found[0]}" if (time := next(stamps, "")) else found[0], PYLOCK)
    assert adopted(tmp_path, text, "pylock.toml").as_of == as_of


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("langchain==1.4.6\n", "line 1: 'langchain==1.4.6' has no SHA-256 hash"),
        (f"langchain==1.4.6 --hash=sha512:{HASH}\n", "line 1: 'langchain==1.4.6' has no SHA-256 hash"),
        (f"\nlangchain>=1.4 --hash=sha256:{HASH}\n", "line 2: .* is not an exact version"),
        ("-e .\n", "line 1: '-e .' is no requirement"),
        ("-r other.txt\n", "line 1: '-r other.txt' is no requirement"),
        ("./wheels/mine.whl\n", "line 1: .* is no requirement"),
        (f"mine @ https://x.invalid/mine.whl --hash=sha256:{HASH}\n", "line 1: .* is not an exact version"),
        (f"anyio==4.1 --hash=sha256:{HASH}\n", "it has no langchain"),
        (f"langchain==1.4.6 --hash=sha256:{HASH}\n" * 2, "langchain stands twice"),
        ("\x1b[31m==1\n", r"line 1: '\\x1b"),
        ("", "it has no langchain"),
    ],
)
def test_a_requirements_file_that_is_no_lock_is_refused(text: str, says: str, tmp_path: Path) -> None:
    """A lock without hashes, without exact versions, or with what no registry has is refused by file and line."""
    with pytest.raises(InputRefused, match=says) as refusal:
        adopted(tmp_path, text)
    assert ("requirements.txt" in refusal.value.message, bool(refusal.value.hint)) == (True, True)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('lock-version = "1.0"', "", "not a pylock.toml: .*lock-version"),
        ('lock-version = "1.0"', 'lock-version = "2.0"', "not a pylock.toml: .*2.0"),
        ('lock-version = "1.0"', "lock-version =", "not TOML"),
        ('version = "1.4.6+mine"\n', "", "package langchain: it has no version of a registry"),
        (f'sha256 = "{"b" * 64}"', 'md5 = "1"', "package langchain: one of its files has no SHA-256"),
        ("sys_platform != 'win32'", "'x' in extras", "package anyio: its marker asks which extras"),
        (
            '[[packages]]\nname = "anyio"',
            '[[packages]]\nname = "mine"\ndirectory = { path = "." }\n[[packages]]\nname = "anyio"',
            "package mine: it has no version of a registry",
        ),
        ('name = "langchain"', 'name = "langchaim"', "not a pylock.toml"),
    ],
)
def test_a_pylock_that_is_no_lock_is_refused(old: str, new: str, says: str, tmp_path: Path) -> None:
    """What the standard does not allow, and what is from no registry, is refused by file and package."""
    assert old in PYLOCK
    with pytest.raises(InputRefused, match=says) as refusal:
        adopted(tmp_path, PYLOCK.replace(old, new), "pylock.toml")
    assert ("pylock.toml" in refusal.value.message, bool(refusal.value.hint)) == (True, True)


@pytest.mark.parametrize("name", ["uv.lock", "poetry.lock"])
def test_another_tools_lock_is_refused_with_how_to_export_it(name: str, tmp_path: Path) -> None:
    """A lock that only its own tool reads is refused with the command that writes one that others can."""
    with pytest.raises(InputRefused, match="neither a requirements file nor a pylock"):
        adopted(tmp_path, "version = 1\n", name)


# --- making


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty cache, so that no pin of a test is left in the user's."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def versions(known: pin.Pin) -> dict[str, str]:
    """Return the version of each package in a pin's lock."""
    return {locked.name: locked.version for locked in known.lock.packages()}


@pytest.mark.usefixtures("own_cache")
def test_a_teams_lock_becomes_a_pin_that_runs_and_is_proved(command: Command, tmp_path: Path) -> None:
    """A pylock.toml as uv writes it becomes a pin with just its hashes; it runs like any other, and the registry proves it."""
    source = tmp_path / "pylock.toml"
    (tmp_path / "in.txt").write_text("langchain==1.4.6\nlanggraph==1.2.14\n")
    options = ["--universal", "--python-version", "3.11", "--exclude-newer", "2026-10-20T00:00:00Z"]
    installer.run("pip", "compile", *options, "--output-file", str(source), str(tmp_path / "in.txt"))
    done = command("pin", "add", "--from", source, "--name", "ours", "--to", tmp_path / "audit")
    assert done.returncode == 0, done.stderr
    made = pin.load(tmp_path / "audit" / "ours")
    assert {value for locked in made.lock.packages() for value in locked.hashes} == set(
        re.findall(r'sha256 = "(\w{64})"', source.read_text())
    )
    assert "://" not in (tmp_path / "audit" / "ours" / "requirements.txt").read_text()
    assert command("run", "--pin", "audit/ours", "--case", "decisions/approve").returncode == 0
    assert [done for done in proof.checks(made) if not done.held] == []


@pytest.mark.usefixtures("own_cache")
def test_a_second_axis_changes_one_package(command: Command, tmp_path: Path) -> None:
    """With another langgraph beside it, all else of the release's own lock stays; the files that decide tell the two apart."""
    done = command("pin", "add", "langchain==1.4.6", "--with", "langgraph==1.2.16", "--to", tmp_path)
    assert done.returncode == 0, done.stderr
    own, made = pin.find("langchain-1.4.6"), pin.load(tmp_path / "langchain-1.4.6+langgraph-1.2.16")
    assert {name: found for name, found in versions(made).items() if versions(own)[name] != found} == {"langgraph": "1.2.16"}
    assert {name: value for name, value in made.files.items() if own.files.get(name, value) != value} == {}
    assert "langgraph/pregel/_runner.py" in made.files
    assert made.as_of > own.as_of
    assert [done for done in proof.checks(made) if not done.held] == []


def test_a_pin_is_made_on_demand_once_and_works_like_a_shipped_one(own_cache: Path, tmp_path: Path) -> None:
    """Two runs that ask for a release without a pin, here a pre-release, make it once, in the cache; then it is there by name."""
    ask = [sys.executable, "-m", "capture", "run", "--pin", "langchain==1.4.0a4", "--case", "decisions/approve", "--format", "json"]
    runs = [subprocess.Popen(ask, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    said = [run.communicate(timeout=500) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert said[0][0] == said[1][0]
    assert [path.name for path in (own_cache / "pins").iterdir()] == ["langchain-1.4.0a4"]
    assert pin.find("langchain-1.4.0a4").packages["langchain"] == "1.4.0a4"
    assert "langchain-1.4.0a4" in pin.all_names()
    ask[5] = "langchain-1.4.0a4"
    again = subprocess.run(ask, cwd=tmp_path, capture_output=True, check=False, env={**os.environ, **NOBODY})
    assert (again.returncode, again.stdout) == (0, said[0][0]), again.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("run", "--pin", "langchain==99.0.0"), 5, "langchain 99.0.0: the registry has no such release"),
        (("run", "--pin", "langchain-99.0.0", "--pin", "no-such"), 4, "pin 'no-such': there is no such pin"),
        (("run", "--pin", "langchain>=1.4"), 4, "there is no such pin"),
        (("run", "--pin", "langchain-1.4.6", "--pin", "langchain==1.4.6"), 4, "named twice"),
        (("pin", "add", "langchain==one"), 5, "langchain one: the registry has no such release"),
        (("pin", "add", "langchain==99.0.0"), 5, "langchain 99.0.0: the registry has no such release"),
        (("pin", "add", "langchain==1.4.6", "--with", "nosuch==1", "--as-of", "2026-11-01T00:00:00Z"), 4, "has no such package"),
        (("pin", "add", "langchain==1.4.6", "--with", "langgraph==1.2.99"), 5, "langgraph 1.2.99: the registry has no such"),
        (("pin", "add", "langchain==1.4.6", "--with", "langgraph==1.0.0"), 5, "uv pip failed"),
        (("pin", "add", "langchain==1.4.6", "--as-of", "2999-01-01T00:00:00Z"), 4, "which is not past"),
        (("pin", "add", "langchain==1.4.6", "--as-of", "2026-13-01T00:00:00Z"), 4, "is not a full UTC time"),
        (("pin", "add", "langchain==1.2"), 4, "langchain==1.2: the release is called 1.2.0"),
        (("pin", "add", "langchain==1.2.0", "--as-of", "2026-11-30T00:00:00Z"), 5, "langchain 1.2.0: it cannot be imported"),
        (("pin", "add", "--from", "none.txt"), 4, "none.txt: there is no such file"),
        (("pin", "add"), 2, "one of them"),
        (("pin", "add", "--new", "langchain==1.4.6"), 2, "one of them"),
        (("pin", "add", "--new", "--name", "x"), 2, "--new goes with"),
        (("pin", "add", "--from", "x.txt", "--with", "langgraph==1"), 2, "--from not with --with"),
        (("pin", "check", "no-such"), 4, "there is no such pin"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else str(part),
)
def test_what_cannot_be_made_is_said_in_one_sentence(
    arguments: tuple[str, ...], code: int, says: str, own_cache: Path, command: Command, tmp_path: Path
) -> None:
    """A release that is not there, a time that is to come and a command that cannot be meant leave no pin, half or whole."""
    made = ("--to", tmp_path / "made") if arguments[:2] == ("pin", "add") else ()
    done = command(*arguments, *made)
    assert (done.returncode, says in re.sub(r"\s+", " ", done.stderr)) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert [*(tmp_path / "made").glob("*"), *(own_cache / "pins").glob("*"), *(own_cache / "scratch").glob("*")] == []


def test_a_release_is_pinned_when_its_first_day_is_over(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before that, what is uploaded would change the pin: it is not among the missing, and whoever asks for it is told when."""
    uploaded = registry.release("langchain", "1.5.1").uploaded
    assert uploaded
    monkeypatch.setattr(draft, "_now", lambda: uploaded.astimezone(UTC) + timedelta(hours=23))
    missing = [wanted.name for wanted in draft.missing(tmp_path)]
    assert ("langchain-1.5.0" in missing, "langchain-1.5.1" in missing) == (True, False)
    with pytest.raises(InputRefused, match=r"the first day of langchain-1\.5\.1 ends at 2026-11-19T15:44:56Z"):
        draft.add(Order({"langchain": "1.5.1"}), None, tmp_path / "pins", interpreter.find(None))
    assert not list(own_cache.glob("pins/*"))


def test_all_that_is_missing_is_made_and_what_cannot_be_had_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--new` goes on after a release that cannot be had; those that are there already are left alone."""
    made = {"1.0.1": tmp_path / "langchain-1.0.1"}

    def add(wanted: Order, name: str | None, folder: Path, python: interpreter.Interpreter) -> Path:
        del name, folder, python
        if wanted.wanted["langchain"] not in made:
            raise InputRefused("it cannot be had.", "Wait.")
        return made[wanted.wanted["langchain"]]

    (tmp_path / "langchain-1.0.0").mkdir()
    (tmp_path / "langchain-1.0.0" / "pin.toml").touch()
    monkeypatch.setattr(draft, "add", add)
    monkeypatch.setattr(registry, "stable", lambda _: ["0.3.27", "1.0.0", "1.0.1", "1.0.2"])
    found = dict(draft.add_missing(tmp_path, interpreter.find(None)))
    assert found.pop("langchain-1.0.1") == made["1.0.1"]
    assert [(name, str(error)) for name, error in found.items()] == [("langchain-1.0.2", "it cannot be had.")]


# --- proof


@pytest.fixture
def pinned(tmp_path: Path) -> Path:
    """Return a copy of the pin of 1.4.6, which has upstream tests."""
    return Path(shutil.copytree(library.pins_folder() / "langchain-1.4.6", tmp_path / "langchain-1.4.6"))


def swapped(folder: Path, name: str, old: str, new: str) -> None:
    """Put one text for another in a file of a pin, and the lock's new digest into pin.toml."""
    before = {path.name: document.digest(path.read_bytes()) for path in folder.iterdir()}
    text, count = re.subn(old, new, (folder / name).read_text(), count=1, flags=re.MULTILINE)
    assert count == 1
    (folder / name).write_text(text)
    toml = folder / "pin.toml"
    toml.write_text(toml.read_text().replace(before[name], document.digest(text.encode())))


@pytest.mark.parametrize(
    ("name", "old", "new", "failed"),
    [
        ("requirements.txt", r"(?<=anyio)(.*\n.*sha256:)....", r"\g<1>0000", "locks"),
        ("requirements.txt", r"(?<=anyio==)[\d.]+", "4.0.0", "locks"),
        ("requirements.txt", r"\Z", f"no-such-project-at-all==1 --hash=sha256:{HASH}\n", "locks"),
        ("checkpointers.txt", r"(?<=aiosqlite)(.*\n.*sha256:)....", r"\g<1>0000", "locks"),
        ("checkpointers.txt", r"(?<=aiosqlite==)[\d.]+", "0.1", "locks"),
        ("tests.txt", r"(?<=pytest==9.1.1)(.*\n.*sha256:)....", r"\g<1>0000", "locks"),
        ("pin.toml", "^as-of = .*", 'as-of = "2026-10-15T17:27:46Z"', "as-of"),
        ("pin.toml", "^as-of = .*", 'as-of = "2026-10-01T00:00:00Z"', "as-of"),
        ("pin.toml", r'kind = "sdist"(?=\nsha256 = "ad3)', 'kind = "wheel"', None),
        ("pin.toml", r"(?<=^purl = \"pkg:pypi/langgraph@)1\.2\.15", "1.2.14", "artifacts"),
        ("pin.toml", r"(?<=^\"langgraph/types.py\" = \")....", "0000", "files"),
        ("pin.toml", r"^\"langgraph/types.py\"", '"langgraph/none.py"', "files"),
        ("pin.toml", r"^lock = ", 'yanked = "no reason"\nlock = ', "yanked"),
        ("pin.toml", r"(?<=^sha256 = \")477b", "0000", "upstream"),
    ],
)
def test_a_pin_that_is_not_as_the_registry_says_is_found_out(
    name: str, old: str, new: str, failed: str | None, pinned: Path
) -> None:
    """Each thing that a pin says of the registry is checked, and what is wrong fails its own check."""
    swapped(pinned, name, old, new)
    if failed is None:
        with pytest.raises(InputRefused, match="stands twice"):
            pin.load(pinned)
        return
    found = {done.check.removeprefix("langchain-1.4.6: "): done.held for done in proof.checks(pin.load(pinned))}
    assert [check for check, held in found.items() if not held][:1] == [failed]


def test_a_yanked_release_must_be_marked(tmp_path: Path) -> None:
    """A pin of a yanked release without the mark does not hold."""
    copy = Path(shutil.copytree(library.pins_folder() / "langchain-1.2.5", tmp_path / "langchain-1.2.5"))
    assert all(done.held for done in proof.checks(pin.load(copy)))
    swapped(copy, "pin.toml", "^yanked = .*\n", "")
    assert [done.check for done in proof.checks(pin.load(copy)) if not done.held] == ["langchain-1.2.5: yanked"]


def test_checking_says_what_held_and_ends_with_4_if_something_did_not(command: Command, pinned: Path) -> None:
    """`pin check` prints its checks in the form of every command that checks; without a registry it is no answer but 5."""
    done = command("pin", "check", "i05", "langchain-1.5.2")
    assert (done.returncode, {check["held"] for check in json.loads(done.stdout)["checks"]}) == (0, {True}), done.stderr
    document.check(json.loads(done.stdout), "verification", "pin check")
    swapped(pinned, "pin.toml", r"(?<=^\"langgraph/types.py\" = \")....", "0000")
    done = command("pin", "check", pinned, "--format", "text")
    assert (done.returncode, "DIFFERS" in done.stdout) == (4, True)
    assert command("pin", "check", "i05", variables=NOBODY).returncode == 5


# --- indexes


@pytest.fixture
def index(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Serve a folder as an index on loopback, and give its address and the folder."""
    folder = tmp_path / "index"
    folder.mkdir()
    handler = _serving(folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple/", folder
        server.shutdown()


def _serving(folder: Path) -> Callable[..., http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, directory=str(folder), **options)  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


@pytest.mark.usefixtures("own_cache")
def test_a_private_package_of_a_teams_lock_comes_from_the_index_that_the_installer_asks(
    index: tuple[str, Path], command: Command, tmp_path: Path
) -> None:
    """With a private index beside the registry, a lock with a package of it becomes a pin that names neither, and is proved."""
    address, folder = index
    tiny = tiny_pin(tmp_path, folder, '<!DOCTYPE html><html><body><a href="{}">tiny-1.0-py3-none-any.whl</a></body></html>')
    source = tmp_path / "team.txt"
    own = pin.find("langchain-1.4.6").lock.path.read_text()
    source.write_text(f"--extra-index-url {address}\n{own}{(tiny / 'requirements.txt').read_text()}")
    variables = {"UV_INDEX": f"mine={address}"}
    done = command("pin", "add", "--from", source, "--name", "team", "--to", tmp_path / "made", variables=variables)
    assert done.returncode == 0, done.stderr
    made = tmp_path / "made" / "team"
    assert versions(pin.load(made))["tiny"] == "1.0"
    assert all("127.0.0.1" not in path.read_text() for path in made.iterdir())
    assert command("pin", "check", made, variables=variables).returncode == 0
    found = command("pin", "check", made)
    assert (found.returncode, "the registry lists no file of tiny 1.0" in found.stdout) == (4, True), found.stderr


def test_lines_of_a_lock_are_read_once() -> None:
    """A line that several locks have is the same object: there are many pins, and they have most lines in common."""
    first, second = (pin.find(name).lock.packages() for name in ("langchain-1.4.2", "langchain-1.4.2"))
    assert all(one is two for one, two in zip(first, second, strict=True))
    assert lock.locked(f"a==1 --hash=sha256:{HASH}", "x") is lock.locked(f"a==1 --hash=sha256:{HASH}", "y")
