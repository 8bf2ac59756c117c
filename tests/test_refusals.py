"""What is refused: for bad input the real command line says one clear sentence, exits with the right code, and leaves nothing.

Each row spoils a copy of a real file in one way. A row's fragments say what the sentence must name: the file, the key, the value.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from capture import cache, case, document, history, interpreter, library, pin, record, results, upstream
from capture.errors import ExitCode, InputRefused
from tests.conftest import Command
from tests.subjects import CASES

Spoil = Callable[[Path], object]
Change = Callable[[bytes], bytes]
Lines = list[dict[str, Any]]

HOSTILE = "\x1b]0;owned\x07\x1b[31m\u202e"
HARMLESS = r"\x1b]0;owned\x07\x1b[31m\u202e"
DIGEST = "0" * 64
DEEP = b"[" * 100_000
NESTED = "[" * 200 + "]" * 200
LONG = "9" * 5000

TOOL = '[[subject.tools]]\nname = "send_document"\ndescription = "d"\nparameters = []\nreturns = ""\n\n'
CALL = '{{ id = "{}", tool = "send_document", args = {{}} }}'

REVISION = record.find("i05").revision(None).name
EDIT = "decisions/edit"
CLAIM = case.find([EDIT])[0].claims[0]


class Row(NamedTuple):
    """One way to spoil a copy, what the sentence about it must say, the exit code, and the command that must notice."""

    name: str
    spoil: Spoil
    says: tuple[str, ...]
    code: int = ExitCode.REFUSED
    arguments: tuple[str, ...] = ("verify", "./i05")


class Said(NamedTuple):
    """Arguments that are refused as they are, what the sentence about them must say, and the exit code."""

    name: str
    arguments: tuple[str, ...]
    says: tuple[str, ...]
    code: int = ExitCode.REFUSED


def table(*rows: Row | Said) -> pytest.MarkDecorator:
    """Return the mark that runs a test once for each row, under the row's name."""
    return pytest.mark.parametrize("row", rows, ids=[row.name for row in rows])


def listing(folder: Path) -> dict[str, str]:
    """Return everything below a folder: the digest of each file, the target of each link, and each folder."""
    return {path.relative_to(folder).as_posix(): _content(path) for path in folder.rglob("*")}


def left(folder: Path, before: Mapping[str, str]) -> set[str]:
    """Return the files that are there now, and were not before or had other content."""
    return {name for name, content in listing(folder).items() if before.get(name) != content != "folder"}


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    return document.digest(path.read_bytes()) if path.is_file() else "folder"


def sentence(said: str) -> str:
    """Return the one line in which standard error says what is wrong and what to do; only progress may stand before it."""
    lines = [line for line in said.split("\n") if not line.startswith(("running ", "building ", "the environment of "))]
    assert (len(lines), lines[-1]) == (2, ""), said
    assert re.fullmatch(r"dispatch-audit: .+\. [A-Z`].+\.", lines[0]), said
    assert lines[0].isprintable(), said
    return lines[0]


def refused(done: subprocess.CompletedProcess[str], says: Iterable[str], code: int) -> None:
    """Check that a command refused: its code, nothing on standard output, no traceback, and one sentence with these fragments."""
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    said = sentence(done.stderr)
    assert [part for part in says if part not in said] == [], said


def removed(name: str) -> Spoil:
    """Return what removes a file."""
    return lambda folder: (folder / name).unlink()


def written(name: str, data: bytes) -> Spoil:
    """Return what puts these bytes in the place of a file."""
    return lambda folder: (folder / name).write_bytes(data)


def appended(name: str, text: str) -> Spoil:
    """Return what adds text at the end of a file."""
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + text.encode())


def preceded(name: str, text: str) -> Spoil:
    """Return what adds text at the beginning of a file, which is a TOML table's top level."""
    return lambda folder: (folder / name).write_bytes(text.encode() + (folder / name).read_bytes())


def swapped(name: str, old: str, new: str) -> Spoil:
    """Return what puts a text in the place of the first one that matches a pattern, which must be there."""

    def spoil(folder: Path) -> None:
        text, count = re.subn(old, lambda _: new, (folder / name).read_text(), count=1, flags=re.MULTILINE)
        assert count == 1, f"{name} has no {old}"
        (folder / name).write_text(text)

    return spoil


def linked(name: str, target: str) -> Spoil:
    """Return what puts a link in the place of a file, and the file itself beside its folder."""

    def spoil(folder: Path) -> None:
        (folder / name).rename(folder.parent / name)
        (folder / name).symlink_to(target)

    return spoil


# --- pins


def relocked(old: str, new: str) -> Spoil:
    """Return what changes the lock and its digest in pin.toml, so that only what reads the lock can notice."""

    def spoil(folder: Path) -> None:
        before = document.digest((folder / "requirements.txt").read_bytes())
        swapped("requirements.txt", old, new)(folder)
        swapped("pin.toml", before, document.digest((folder / "requirements.txt").read_bytes()))(folder)

    return spoil


def one_digit(name: str, key: str) -> Spoil:
    """Return what changes the first hexadecimal digit of the digest that a key of a TOML file has."""

    def spoil(folder: Path) -> None:
        found = re.search(rf'^"?{re.escape(key)}"? = "([0-9a-f])', (folder / name).read_text(), re.MULTILINE)
        assert found
        swapped(name, re.escape(found[0]), found[0][:-1] + ("1" if found[1] == "0" else "0"))(folder)

    return spoil


@pytest.fixture
def pinned(tmp_path: Path) -> Path:
    """Return a copy of the pin i05."""
    return Path(shutil.copytree(library.pins_folder() / "i05", tmp_path / "i05"))


@table(
    Row("no pin.toml", removed("pin.toml"), ("i05/pin.toml", "there is no such file")),
    Row("not TOML", preceded("pin.toml", "title\n"), ("i05/pin.toml", "not TOML", "line 1")),
    Row("not UTF-8", written("pin.toml", b"# \xff\n"), ("i05/pin.toml", "not TOML", "0xff")),
    Row("nested without end", written("pin.toml", b"deep = " + DEEP), ("i05/pin.toml", "not TOML", "nested too deeply")),
    Row("a number too long", preceded("pin.toml", f"long = {LONG}\n"), ("i05/pin.toml", "not TOML", "5000 digits")),
    Row("key twice", preceded("pin.toml", 'title = "first"\n'), ("i05/pin.toml", "not TOML")),
    Row("unknown key", preceded("pin.toml", "surprise = 1\n"), ("i05/pin.toml", "top level", "unknown key 'surprise'")),
    Row("hostile key", preceded("pin.toml", f"{json.dumps(HOSTILE)} = 1\n"), ("i05/pin.toml", "unknown key", HARMLESS)),
    Row("hostile value", swapped("pin.toml", "^python = .*", f"python = {json.dumps(HOSTILE)}"), ("key python", HARMLESS)),
    Row("wrong type", swapped("pin.toml", "^title = .*", "title = 5"), ("i05/pin.toml", "key title", "type string, not 5")),
    Row("a date", swapped("pin.toml", "^as-of = .*", "as-of = 2026-10-23T23:59:59Z"), ("key as-of", "type string")),
    Row("missing key", swapped("pin.toml", "^as-of = .*", ""), ("i05/pin.toml", "the key 'as-of' is missing")),
    Row("no specifier", swapped("pin.toml", "^python = .*", 'python = ">=>3"'), ("key python", "'>=>3'", "version specifier")),
    Row("lock outside", swapped("pin.toml", r'file = "requirements\.txt"', 'file = "../x.txt"'), ("key lock.file", "'../x.txt'")),
    Row(
        "lock linked out",
        linked("requirements.txt", "../requirements.txt"),
        ("i05/requirements.txt", "a link out of the pin's folder"),
    ),
    Row(
        "lock linked to itself",
        linked("requirements.txt", "requirements.txt"),
        ("i05/requirements.txt", "cannot be read"),
        ExitCode.STORAGE,
    ),
    Row("lock changed", swapped("requirements.txt", "sha256:....", "sha256:0000"), ("i05/requirements.txt", "pin.toml says")),
    Row("lock missing", removed("requirements.txt"), ("i05/requirements.txt", "there is no such file")),
    Row("tests lock changed", swapped("tests.txt", "sha256:....", "sha256:0000"), ("i05/tests.txt", "pin.toml says")),
    Row(
        "not locked", swapped("pin.toml", "^langchain = .*", 'langchain = "9.9"'), ("packages.langchain: 9.9", "the lock has 1.4.2")
    ),
    Row("in no lock", swapped("pin.toml", "^langchain = .*", 'nosuch = "1"'), ("packages.nosuch", "has none")),
    Row("lock without a version", relocked(r"^langchain==\S+", "langchain=="), ("i05/requirements.txt, line", "'langchain==")),
    Row("lock with an option", relocked(r"\A", "--index-url https://x\n"), ("i05/requirements.txt, line 1: '--index-url",)),
    Row("lock with an address", relocked(r"\A", "x @ https://x --hash=sha256:1\n"), ("i05/requirements.txt, line 1: 'x @ https",)),
    Row("lock without a hash", relocked(r"\A", "x==1\n"), ("i05/requirements.txt, line 1: 'x==1' is not an exact version",)),
    Row("lock with a comment going on", relocked(r"\A", "# \\\nx==1\n"), ("i05/requirements.txt, line 2: 'x==1' is not",)),
    Row("lock with a line going on", relocked(r"\Z", "x==1 \\\n"), ("i05/requirements.txt, line", "'x==1' is not")),
    Row(
        "checkpointers that the pin has",
        written("checkpointers.txt", f"langchain==1 --hash=sha256:{DIGEST}\n".encode()),
        ("i05/checkpointers.txt: langchain stands in the pin's own lock",),
    ),
    Row("checkpointers without a hash", written("checkpointers.txt", b"x==1\n"), ("i05/checkpointers.txt, line 1: 'x==1'",)),
    Row(
        "checkpointers linked out",
        linked("checkpointers.txt", "../checkpointers.txt"),
        ("i05/checkpointers.txt", "a link out of the pin's folder"),
    ),
    Row(
        "checkpointers linked to themselves",
        linked("checkpointers.txt", "checkpointers.txt"),
        ("i05/checkpointers.txt", "cannot be read"),
        ExitCode.STORAGE,
    ),
    Row("checkpointers linked to nothing", linked("checkpointers.txt", "none.txt"), ("i05/checkpointers.txt", "no such file")),
    Row("test not locked", swapped("pin.toml", 'pytest = ".*"', 'pytest = "1"'), ("upstream.packages.pytest: 1", "the lock has")),
    Row(
        "artifact twice",
        appended("pin.toml", f'\n[[artifacts]]\npurl = "pkg:pypi/langchain@1.4.2"\nkind = "wheel"\nsha256 = "{DIGEST}"\n'),
        ("i05/pin.toml", "key artifacts", "pkg:pypi/langchain@1.4.2 (wheel) stands twice"),
    ),
    Row(
        "artifact not in the lock",
        appended("pin.toml", f'\n[[artifacts]]\npurl = "pkg:pypi/other@1"\nkind = "wheel"\nsha256 = "{DIGEST}"\n'),
        ("i05/pin.toml", "key artifacts: pkg:pypi/other@1 (wheel)", DIGEST),
    ),
    Row("file outside", swapped("pin.toml", '^"langchain/agents/factory.py"', '"langchain/../../x"'), ("key files", "/../../x'")),
    Row("Python not allowed", swapped("pin.toml", "^python = .*", 'python = ">=3.99"'), ("pin i05: key python", "only >=3.99")),
)
def test_a_spoiled_pin_is_refused(row: Row, pinned: Path, command: Command, tmp_path: Path) -> None:
    """A pin that is not as it says is refused before anything is built or run."""
    row.spoil(pinned)
    before = listing(tmp_path)
    refused(command("run", "--pin", "./i05", "--case", EDIT, "--out", "out"), row.says, row.code)
    assert listing(tmp_path) == before


@pytest.mark.parametrize("name", ["My Pin", "I05", "-i05", f"{HOSTILE}"], ids=ascii)
def test_a_folder_whose_name_is_none_for_a_pin_is_refused(name: str, pinned: Path, command: Command, tmp_path: Path) -> None:
    """A pin's name stands in histories and results, so a folder with another kind of name is refused before it is run."""
    pinned.rename(tmp_path / name)
    refused(command("run", "--pin", f"./{name}", "--case", EDIT), ("pin.toml", "is no name for a pin"), ExitCode.REFUSED)


@table(
    Row("one digit", one_digit("pin.toml", "langchain/agents/factory.py"), ("key files.langchain/agents/factory.py: pinned is",)),
    Row(
        "no such file",
        swapped("pin.toml", '^"langchain/agents/factory.py"', '"langchain/agents/none.py"'),
        ("key files.langchain/agents/none.py: pinned is", "the environment has none"),
    ),
)
def test_an_environment_that_is_not_as_pinned_is_refused(row: Row, pinned: Path, command: Command, tmp_path: Path) -> None:
    """The digests are read inside the environment: one that differs stops the run before its first case, with no results."""
    row.spoil(pinned)
    before = listing(tmp_path)
    refused(command("run", "--pin", "./i05", "--case", EDIT, "--out", "out"), ("pin i05", *row.says), ExitCode.REFUSED)
    assert left(tmp_path, before) <= {"out/i05/journals/probe.log"}


SDIST = r'\[\[artifacts\]\]\npurl = "pkg:pypi/langchain@.*\nkind = "sdist"\n.*\n'


@table(
    Row(
        "one digit", swapped("pin.toml", r'^sha256 = "....(?=\w+"\nbuild)', 'sha256 = "0000'), ("upstream.sha256: pinned is 0000",)
    ),
    Row("no such module", swapped("pin.toml", "^module = .*", 'module = "tests/none.py"'), ("upstream.sha256", "have none")),
    Row("no source distribution", swapped("pin.toml", SDIST, ""), ("no sdist of langchain",)),
    Row("no upstream tests", swapped("pin.toml", r"\[upstream\](.|\n)*", ""), ("key upstream is missing",)),
)
def test_an_upstream_module_that_is_not_the_pinned_one_is_refused(row: Row, pinned: Path) -> None:
    """The upstream tests count only if the module is the pinned one; a record names shipped pins, so this is called directly."""
    row.spoil(pinned)
    with pytest.raises(InputRefused) as refusal:
        upstream.rerun(pin.load(pinned), interpreter.find(None))
    assert [part for part in row.says if part not in refusal.value.message] == [], refusal.value.message
    assert refusal.value.hint


@table(
    Said("unknown", ("run", "--pin", "no-such"), ("pin 'no-such'", "no such pin")),
    Said("hostile", ("run", "--pin", HOSTILE), ("pin '", HARMLESS, "no such pin")),
    Said("no folder", ("run", "--pin", "./none"), ("none: there is no such file",)),
    Said("not UTF-8", ("run", "--pin", os.fsdecode(b"./\xff")), (r"\udcff: there is no such file",)),
    Said("twice", ("run", "--pin", "i05", "--pin", "i05"), ("pin i05", "named twice")),
    Said("not exact", ("pin", "add", "langchain>=1"), ("pin add", "'langchain>=1'", "NAME==VERSION")),
    Said("no langchain", ("pin", "add", "langgraph==1.0"), ("pin add", "no langchain==VERSION")),
    Said("is there", ("pin", "add", "langchain==1.4.2", "--name", "i05"), ("pin i05", "is there already")),
    Said("outside", ("pin", "add", "langchain==1.4.2", "--name", "../x"), ("pin add", "'../x'", "no name for a pin")),
    Said("no name", ("pin", "add", "langchain==1.4.2", "--name", HOSTILE), ("pin add", HARMLESS, "no name for a pin")),
    Said("--python no path", ("run", "--pin", "i05", "--python", "/nonexistent"), ("--python '/nonexistent'", "does not answer")),
    Said("--python no version", ("run", "--pin", "i05", "--python", "no-such"), ("--python 'no-such'", "no such Python")),
    Said("--python nothing", ("run", "--pin", "i05", "--python", ""), ("--python ''", "no such Python")),
    Said("--python an option", ("run", "--pin", "i05", "--python=--help"), ("--python '--help'", "that is no Python")),
    Said("--python hostile", ("run", "--pin", "i05", "--python", f"/{HOSTILE}"), ("--python '/", HARMLESS)),
)
def test_a_pin_or_python_that_is_not_there_is_refused(row: Said, command: Command, tmp_path: Path) -> None:
    """Names that lead nowhere, or out of their folder, are refused with what there is instead."""
    refused(command(*row.arguments, variables={"UV_OFFLINE": "1"}), row.says, row.code)
    assert listing(tmp_path) == {}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("null", "does not answer as a Python does"),
        ("[1, 2]", "does not answer as a Python does"),
        ('["CPython", "three", "/usr", "x86_64"]', "does not answer as a Python does"),
        ('["CPython", "3.9.0+", "/usr", "x86_64"]', "Python 3.9.0+ is not allowed, only >=3.11"),
    ],
)
def test_a_program_that_is_no_python_for_the_pin_is_refused(answer: str, says: str, command: Command, tmp_path: Path) -> None:
    """What --python names is asked what it is; a relative path means the file here, not one of that name on PATH."""
    (tmp_path / "python").write_text(f"#!/bin/sh\necho '{answer}'\n")
    (tmp_path / "python").chmod(0o755)
    refused(command("run", "--pin", "i05", "--case", EDIT, "--python", "./python"), (says,), ExitCode.REFUSED)


# --- cases


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Return a folder with a copy of a case of the suite."""
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(library.cases_folder() / f"{EDIT}.toml", folder)
    return folder


FILE = "edit.toml"


@table(
    Row("not TOML", preceded(FILE, "=\n"), ("mine/edit.toml", "not TOML", "line 1")),
    Row("empty", written(FILE, b""), ("mine/edit.toml", "top level", "is missing")),
    Row("missing", removed(FILE), ("mine/edit.toml", "there is no such file")),
    Row(
        "linked to itself",
        linked(FILE, FILE),
        ("mine/edit.toml", "cannot be read"),
        ExitCode.STORAGE,
    ),
    Row("nested", swapped(FILE, "^options.*", f"options.deep = {NESTED}"), ("mine/edit.toml", "not TOML", "nested too deeply")),
    Row("unknown key", preceded(FILE, "surprise = 1\n"), ("mine/edit.toml", "top level", "unknown key 'surprise'")),
    Row("unknown key inside", swapped(FILE, "^checkpointer", "surprise = 1\ncheckpointer"), ("key subject", "key 'surprise'")),
    Row("hostile key", preceded(FILE, f"{json.dumps(HOSTILE)} = 1\n"), ("mine/edit.toml", "unknown key", HARMLESS)),
    Row("hostile value", swapped(FILE, "^gated = .*", f"gated = [{json.dumps(HOSTILE)}]"), ("key gated.0", HARMLESS)),
    Row("wrong type", swapped(FILE, "^gated = .*", 'gated = "send_document"'), ("key gated", "type array, not 'send_document'")),
    Row("missing key", swapped(FILE, "^question = .*", ""), ("mine/edit.toml", "the key 'question' is missing")),
    Row(
        "call twice",
        swapped(FILE, r"^calls = \[", f"calls = [{CALL.format('call-i05')},"),
        ("script.0.calls", "'call-i05' stands twice"),
    ),
    Row(
        "tool twice", swapped(FILE, r"^\[\[subject\.m", f"{TOOL}[[subject.m"), ("key subject.tools", "'send_document' stands twice")
    ),
    Row("unknown claim", swapped(FILE, "core/no-undecided-dispatch", "core/none"), ("key claims", "'core/none' is not a claim")),
    Row("claim twice", swapped(FILE, "core/no-undecided-dispatch", "core/no-altered-dispatch"), ("key claims", "everything once")),
    Row("unknown trigger", swapped(FILE, "^trigger = .*", 'trigger = "none"'), ("key trigger", "'none' is not a trigger")),
    Row("unknown gated tool", swapped(FILE, "^gated = .*", 'gated = ["none"]'), ("key gated", "'none' is not a tool")),
    Row("unknown call", swapped(FILE, "^call = .*", 'call = "none"'), ("key steps.1.decisions", "'none', which is not a call")),
    Row("no invoke first", swapped(FILE, r"^\[\[steps\]\]\ndo = .*\ntext = .*\n", ""), ("key steps.0.do", "starts with 'invoke'")),
    Row("unknown step", swapped(FILE, "^do = .*", 'do = "explode"'), ("key steps.0.do", "must be one of", "'explode'")),
    Row("planted fault", swapped(FILE, "^returns = .*", 'returns = ""\nplant = {}'), ("key subject.tools", "may plant a fault")),
)
def test_a_spoiled_case_is_refused(row: Row, mine: Path, command: Command, tmp_path: Path) -> None:
    """A case in which something cannot be meant is refused with its file and key, before anything is run."""
    row.spoil(mine)
    before = listing(tmp_path)
    refused(command("explain", "mine/edit.toml"), row.says, row.code)
    assert listing(tmp_path) == before


WHOLE = "mixed.toml"

OTHER = "\n[[steps]]\n{}\n"
GATE = 'kind = "HumanInTheLoopMiddleware"'
STEP = f"{WHOLE}: key steps.2"


def tool(text: str) -> Spoil:
    """Return what adds a line to the first tool of the case."""
    return swapped(WHOLE, "^returns = .*", f'returns = ""\n{text}')


def stack(text: str) -> Spoil:
    """Return what puts a middleware around the one that asks."""
    return swapped(WHOLE, r"^\[\[subject\.m", f"[[subject.middleware]]\n{text}\n\n[[subject.m")


def ruled(text: str) -> Spoil:
    """Return what gives the tool pay a policy with a line more."""
    return swapped(
        WHOLE, "^options.*pay = true", f'options.interrupt_on.pay.allowed_decisions = ["reject"]\noptions.interrupt_on.pay.{text}'
    )


def both(*spoils: Spoil) -> Spoil:
    """Return what spoils a folder in several ways."""

    def spoil(folder: Path) -> None:
        for one in spoils:
            one(folder)

    return spoil


def unkept(text: str) -> Spoil:
    """Return what adds a step to the case and takes its checkpointer away."""
    return both(swapped(WHOLE, '^checkpointer = "memory"', 'checkpointer = "none"'), last_step(text))


def last_step(text: str) -> Spoil:
    """Return what adds a step at the end of the case."""
    return appended(WHOLE, OTHER.format(text))


def said(text: str) -> Spoil:
    """Return what gives the script another last turn."""
    return swapped(WHOLE, "^text = .Done.*", text)


MEANINGLESS = (
    # Steps that stand where they cannot, or miss what they need.
    Row("invoke later", last_step('do = "invoke"\ntext = "x"'), (f"{STEP}.do", "only the first step is 'invoke'", "'message'")),
    Row(
        "after the script",
        last_step('do = "message"\ntext = "x"\n' + OTHER.format('do = "message"\ntext = "y"')),
        ("key steps.3", "at its end"),
    ),
    Row("message without text", last_step('do = "message"'), (STEP, "the key 'text' is missing")),
    Row("continue with text", last_step('do = "continue"\ntext = "x"'), (STEP, "unknown key 'text'")),
    Row("resume with nothing", last_step('do = "resume"'), (STEP,)),
    Row("resume with both", last_step('do = "resume"\nvalue = 1\nnone = ["value"]'), (STEP,)),
    Row("replay from nowhere", last_step('do = "replay"'), (STEP, "the key 'at' is missing")),
    Row("replay from two places", last_step('do = "replay"\nat = { paused = 1, next = "tools" }'), (f"{STEP}.at",)),
    Row("replay from the 0th", last_step('do = "replay"\nat = { paused = 0 }'), (f"{STEP}.at.paused",)),
    Row("a number of nothing", last_step('do = "replay"\nat = { paused = 1, number = 2 }'), (f"{STEP}.at",)),
    Row("unknown way", last_step('do = "continue"\nthrough = "custom"'), (f"{STEP}.through", "'custom'")),
    Row("write nothing", last_step('do = "update-state"\nmessages = []'), (f"{STEP}.messages",)),
    Row("write a system message", last_step('do = "update-state"\nmessages = [{ type = "system" }]'), (f"{STEP}.messages.0.type",)),
    Row("remove no message", last_step('do = "update-state"\nmessages = [{ type = "remove" }]'), (f"{STEP}.messages.0", "'id'")),
    Row("one at once", last_step('do = "concurrently"\nsteps = [{ do = "continue" }]'), (f"{STEP}.steps", "at least 2")),
    Row("wait at once", last_step('do = "concurrently"\nsteps = [{ do = "continue" }, { do = "wait" }]'), (f"{STEP}.steps.1",)),
    # Answers to what cannot be asked, and values that are answers.
    Row(
        "answer about no call",
        swapped(WHOLE, 'call = "call-1", type', 'call = "none", type'),
        ("key steps.1.decisions", "'none', which is not a call"),
    ),
    Row(
        "answer without a call", swapped(WHOLE, 'call = "call-1", type', "type"), ("key steps.1.decisions", "a call without an id")
    ),
    Row(
        "answer about what nobody asks",
        swapped(WHOLE, "^options.*pay = true", ""),
        ("key steps.1.decisions", "'call-2' calls pay, about which"),
    ),
    Row(
        "answer about what is let through",
        swapped(WHOLE, "pay = true", "pay = false"),
        ("key steps.1.decisions", "'call-2' calls pay, about which"),
    ),
    Row(
        "answers at once",
        last_step(
            'do = "concurrently"\nsteps = [{ do = "continue" }, { do = "resume", decisions = [{ call = "x", type = "reject" }] }]'
        ),
        (f"{STEP}.steps.1.decisions", "'x'"),
    ),
    Row("two bare", swapped(WHOLE, "^decisions = ", 'by = "value"\ndecisions = '), ("key steps.1.by", "only one decision")),
    Row("addressed value", last_step('do = "resume"\nvalue = 1\nby = "id"'), (STEP,)),
    Row("answers and a question", swapped(WHOLE, "^decisions = ", "question = 1\ndecisions = "), ("key steps.1",)),
    Row("value an answer", last_step('do = "resume"\nvalue = { type = "approve" }'), (f"{STEP}.value", "write it as decisions")),
    Row(
        "value a list of answers",
        last_step('do = "resume"\nvalue.decisions = [{ type = "reject" }]'),
        (f"{STEP}.value", "write it as decisions"),
    ),
    Row("unknown decision", swapped(WHOLE, 'type = "approve" }', 'type = "allow" }'), ("key steps.1.decisions.1.type", "'allow'")),
    # Tools and calls.
    Row(
        "taken parameter",
        swapped(WHOLE, '"recipient", "document"', '"config"'),
        ("key subject.tools", "send_document has a parameter 'config'"),
    ),
    Row("private parameter", swapped(WHOLE, '"recipient", "document"', '"_x"'), ("key subject.tools", "a parameter '_x'")),
    Row("model_ parameter", swapped(WHOLE, '"recipient", "document"', '"model_x"'), ("key subject.tools", "a parameter 'model_x'")),
    Row("keyword parameter", swapped(WHOLE, '"recipient", "document"', '"class"'), ("key subject.tools", "a parameter 'class'")),
    Row(
        "type of nothing",
        tool('types = { none = "integer" }'),
        ("key subject.tools.types", "'none' is not a parameter of send_document"),
    ),
    Row("unknown type", tool('types = { document = "number" }'), ("key subject.tools.0.types.document", "'number'")),
    Row("default of nothing", tool('defaults = { none = "x" }'), ("key subject.tools.defaults", "'none' is not a parameter of")),
    Row(
        "schema with a call id",
        tool('arguments = "json-schema"\ncall_id = true'),
        ("key subject.tools: send_document", "JSON schema"),
    ),
    Row(
        "schema with a state",
        tool('arguments = "json-schema"\ninjected = ["state"]'),
        ("key subject.tools: send_document", "JSON schema"),
    ),
    Row("unknown injection", tool('injected = ["store"]'), ("key subject.tools.0.injected.0", "'store'")),
    Row("gate alone", tool("before = [{ gate = true }]"), ("key subject.tools: send_document waits at a gate", "several at once")),
    Row("gate afterwards", tool("after = [{ wait = 1 }, { gate = true }]"), ("key subject.tools: send_document waits at a gate",)),
    Row("two acts in one", tool("before = [{ raise = 1, wait = 1 }]"), ("key subject.tools.0.before.0",)),
    Row("a wait too long", tool("after = [{ wait = 60000 }]"), ("key subject.tools.0.after.0.wait", "60000")),
    Row("ungated no call", preceded(WHOLE, 'ungated = ["none"]\n'), ("key ungated", "'none' is not a call of the script")),
    # The kit and other middleware.
    Row(
        "counter with options",
        stack('kind = "counter"\noptions.tool = "pay"'),
        ("key subject.middleware: counter takes the options name",),
    ),
    Row(
        "handler with options",
        stack('kind = "error-handler"\noptions.text = "x"'),
        ("key subject.middleware: error-handler takes",),
    ),
    Row("jump with options", stack('kind = "jump-to-tools"\noptions.to = "x"'), ("key subject.middleware: jump-to-tools takes",)),
    Row("rewrite without options", stack('kind = "rewrite-tool-call"'), ("rewrite-tool-call takes the options args, name, tool",)),
    Row(
        "rewrite without a tool",
        stack('kind = "rewrite-after-model"\noptions.args = {}'),
        ("rewrite-after-model takes the options",),
    ),
    Row(
        "rewrite of no table",
        stack('kind = "rewrite-tool-call"\noptions = { tool = "pay", args = 5 }'),
        ("rewrite-tool-call has a text as its name and a table as its args",),
    ),
    Row("unknown kit", stack('kind = "retry"'), ("key subject.middleware.0.kind",)),
    Row("a shell", stack('kind = "ShellToolMiddleware"\noptions.startup_commands = ["id"]'), ("key subject.middleware.0.kind",)),
    Row("files", stack('kind = "FilesystemFileSearchMiddleware"\noptions.root_path = "/"'), ("key subject.middleware.0.kind",)),
    Row("self", stack('kind = "ToolRetryMiddleware"\noptions.self = 1'), ("key subject.middleware", "'self' is no option")),
    Row(
        "a fraction", stack('kind = "ToolRetryMiddleware"\noptions.backoff_factor = 1.5'), ("the option 'backoff_factor'", "whole")
    ),
    Row(
        "an option and None",
        stack('kind = "ToolRetryMiddleware"\noptions.max_delay = 1\nnone = ["max_delay"]'),
        ("'max_delay' stands among the options and under none",),
    ),
    Row("None for the kit", stack('kind = "counter"\nnone = ["name"]'), ("key subject.middleware: counter takes no None",)),
    Row("a number for a name", stack('kind = "counter"\noptions.name = 5'), ("counter has a text as its name",)),
    Row(
        "rewrite of no tool",
        stack('kind = "rewrite-tool-call"\noptions = { tool = "none", args = {} }'),
        ("'none' is not a tool of the subject, which rewrite-tool-call needs",),
    ),
    # Policies whose functions say nothing.
    Row(
        "policies in a list",
        both(
            swapped(WHOLE, "^options.*pay = true", 'options.interrupt_on = ["pay"]'),
            swapped(WHOLE, r"^\[subject\.middleware\.options.*\nallowed.*\ndescription.*\n", ""),
        ),
        ("interrupt_on is a table",),
    ),
    Row("description of nothing", ruled("description = {}"), ("the policy of pay has a description that is neither",)),
    Row("description of a number", ruled("description = { returns = 5 }"), ("the policy of pay has a description",)),
    Row("predicate of no table", ruled("when = true"), ("the policy of pay has a predicate",)),
    Row("predicate of no answers", ruled("when = { call-2 = [] }"), ("the policy of pay has a predicate",)),
    Row("predicate of words", ruled('when = { call-2 = ["no"] }'), ("the policy of pay has a predicate",)),
    Row("predicate of no call", ruled("when = { none = [true] }"), ("'none' is not a call of the script, but a predicate",)),
    # What does not go together.
    Row(
        "gate beside a call",
        both(
            tool("before = [{ gate = true }]"), last_step('do = "concurrently"\nsteps = [{ do = "continue" }, { do = "continue" }]')
        ),
        ("each turn of the script has one call",),
    ),
    Row("stream without state", unkept('do = "continue"\nthrough = "updates"'), (STEP, "without a checkpointer")),
    Row("write without state", unkept('do = "update-state"\nmessages = [{ type = "human", text = "x" }]'), (STEP, "without a")),
    Row("back without state", unkept('do = "replay"\nat.paused = 1'), (STEP, "without a checkpointer")),
    Row(
        "vary what is said",
        both(
            preceded(WHOLE, 'vary.run = ["async"]\n'),
            swapped(WHOLE, "^kind = .create_agent.", 'kind = "create_agent"\nrun = "async"'),
        ),
        ("key vary.run", "nothing varies"),
    ),
    Row(
        "vary the mode that is said",
        both(
            preceded(WHOLE, 'vary.mode = ["per_call"]\n'), swapped(WHOLE, "^options.desc.*", 'options.interrupt_mode = "batched"')
        ),
        ("key vary.mode",),
    ),
    Row(
        "vary what is kept",
        both(
            preceded(WHOLE, 'vary.checkpointer = ["sqlite"]\n'),
            swapped(WHOLE, "^checkpointer = .memory.", 'checkpointer = "sqlite"'),
        ),
        ("key vary.checkpointer",),
    ),
    # Where processes end.
    Row("crash of nothing", last_step('do = "continue"\ncrash = { when = "before", put = "writes" }'), (STEP, "number")),
    Row(
        "crash in memory",
        last_step('do = "continue"\ncrash = { when = "before", put = "writes", number = 1 }'),
        (STEP, "only what is persistent"),
    ),
    Row(
        "processes in memory",
        last_step('do = "concurrently"\nprocesses = true\nsteps = [{ do = "continue" }, { do = "continue" }]'),
        ("they share nothing but what is persistent",),
    ),
    Row(
        "killed among several",
        both(tool("before = [{ kill = 1 }]"), last_step('do = "concurrently"\nsteps = [{ do = "continue" }, { do = "continue" }]')),
        ("leaves nobody to tell which",),
    ),
    Row(
        "back to a pause after a kill",
        both(tool("after = [{ kill = 1 }]"), last_step('do = "replay"\nat.paused = 1')),
        ("go back by",),
    ),
    Row(
        "stream that is cut", both(tool("after = [{ kill = 1 }]"), last_step('do = "continue"\nthrough = "updates"')), ("a stream",)
    ),
    Row("killed no time", tool("before = [{ kill = 0 }]"), ("kill", "at least 1")),
    Row("key of nothing", tool("key = true"), ("key subject.tools", "has a key, so it also needs")),
    Row("sent by pigeon", tool('sends = "pigeon"'), ("'pigeon'",)),
    Row("human with calls", last_step('do = "update-state"\nmessages = [{ type = "human", text = "x", calls = [] }]'), (STEP,)),
    Row("remove with text", last_step('do = "update-state"\nmessages = [{ type = "remove", id = "a", text = "x" }]'), (STEP,)),
    # The script.
    Row("call twice", swapped(WHOLE, '"call-2", tool', '"call-1", tool'), ("key script.0.calls", "'call-1' stands twice")),
    Row("raise at no call", said("raise = true"), ("key script.1.raise", "at which call of the model")),
    Row("raise and speak", said('raise = true\non_call = 2\ntext = "x"'), ("key script.1.raise", "nothing else")),
    Row("a turn of nothing", said(""), ("key script.1",)),
    Row(
        "one call of the model twice",
        said('text = "x"\non_call = 2\n\n[[script]]\ntext = "y"\non_call = 2'),
        ("key script.on_call", "'2' stands twice"),
    ),
    # Names.
    Row("unknown trigger", swapped(WHOLE, "^trigger = .*", 'trigger = "none"'), ("key trigger", "'none' is not a trigger")),
    Row("unknown claim", swapped(WHOLE, "core/no-undecided-dispatch", "core/none"), ("key claims", "'core/none' is not a claim")),
    Row("vary nothing", preceded(WHOLE, "vary = {}\n"), ("key vary",)),
    Row("vary twice", preceded(WHOLE, 'vary.run = ["sync", "sync"]\n'), ("key vary.run",)),
    Row("vary what is not", preceded(WHOLE, 'vary.run = ["threads"]\n'), ("key vary.run.0", "'threads'")),
    Row("source without words", swapped(WHOLE, "^says = .*", ""), ("key sources.0", "the key 'says' is missing")),
    Row("source at no address", swapped(WHOLE, "^says = .*", 'says = "x"\nurl = "http://x"'), ("key sources.0.url",)),
)


@table(*MEANINGLESS)
def test_a_case_that_cannot_be_meant_is_refused(row: Row, tmp_path: Path) -> None:
    """A case that says something that no run can be is refused with its file and the key, and with what to do."""
    path = Path(shutil.copy(CASES / WHOLE, tmp_path))
    assert case.load(path, "mine/mixed")
    row.spoil(tmp_path)
    with pytest.raises(InputRefused) as refusal:
        case.load(path, "mine/mixed")
    assert refusal.value.message.startswith(str(path))
    assert [part for part in row.says if part not in refusal.value.message] == [], refusal.value.message
    assert refusal.value.hint


@pytest.mark.parametrize("name", [f"{EDIT}@threads", f"{EDIT}@", f"{EDIT}@per_call,async", f"{EDIT}@{HOSTILE}"], ids=ascii)
def test_a_variant_that_a_file_does_not_make_is_refused(name: str) -> None:
    """A case that varies in no such way is refused with the cases that its file makes."""
    with pytest.raises(InputRefused) as refusal:
        case.find([name])
    assert [part for part in (ascii(name), f"the file makes {EDIT}") if part not in refusal.value.message] == []


def test_two_files_with_one_id_are_refused(tmp_path: Path) -> None:
    """The id of a file outside the suite is its folder and its name, and two such files can have the same."""
    names = [tmp_path / place / "mine" / WHOLE for place in ("here", "there")]
    for name in names:
        name.parent.mkdir(parents=True)
        shutil.copy(CASES / WHOLE, name)
    assert [found.id for found in case.find([str(names[0])])] == ["mine/mixed"]
    with pytest.raises(InputRefused, match="case mine/mixed: named twice"):
        case.find(map(str, names))


@pytest.mark.parametrize("pins", [("i05",), ("i05", "langchain-1.4.1")], ids=["a pin", "two pins"])
def test_a_run_refuses_a_spoiled_case(pins: tuple[str, ...], mine: Path, command: Command, tmp_path: Path) -> None:
    """A run reads its cases while the probe starts: a spoiled one ends the run, is no row UNKNOWN, and leaves no results."""
    preceded(FILE, "surprise = 1\n")(mine)
    before = listing(tmp_path)
    options = [part for name in pins for part in ("--pin", name)]
    done = command("run", *options, "--case", "mine/edit.toml", "--out", "out")
    refused(done, ("mine/edit.toml", "unknown key 'surprise'"), ExitCode.REFUSED)
    assert left(tmp_path, before) <= {"out/i05/journals/probe.log"}


@pytest.mark.parametrize(
    "name", ["mine/My Case.toml", "mine/.toml", f"mine/{HOSTILE}.toml", "My Folder/edit.toml", "smoke/planted.toml"]
)
def test_a_file_whose_name_makes_no_id_is_refused(name: str, mine: Path, command: Command, tmp_path: Path) -> None:
    """A case's id is its folder and file; names that make none, or one of the smoke test's, are refused."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (mine / FILE).rename(tmp_path / name)
    refused(command("run", "--pin", "i05", "--case", name), ("is no id for a case",), ExitCode.REFUSED)


def test_a_file_with_the_id_of_a_case_named_beside_it_is_refused(mine: Path, command: Command, tmp_path: Path) -> None:
    """Two cases with one id could not be told apart in results, though they come from different files."""
    mine.rename(tmp_path / "decisions")
    done = command("run", "--pin", "i05", "--case", EDIT, "--case", f"./{EDIT}.toml")
    refused(done, (f"case {EDIT}", "named twice"), ExitCode.REFUSED)


@table(
    Said("no case", ("run", "--pin", "i05", "--case", "decisions/none"), ("case 'decisions/none'", "no such case")),
    Said("no file", ("run", "--pin", "i05", "--case", "none/none.toml"), ("none/none.toml", "there is no such file")),
    Said("hostile", ("run", "--pin", "i05", "--case", HOSTILE), ("case '", HARMLESS, "no such case")),
    Said("twice", ("run", "--pin", "i05", "--case", EDIT, "--case", EDIT), (f"case {EDIT}", "named twice")),
    Said("twice, by family", ("run", "--pin", "i05", "--case", "decisions", "--case", EDIT), (f"case {EDIT}", "named twice")),
    Said("explain nothing", ("explain", "none"), ("'none'", "no such case, claim or reason")),
    Said("explain no case", ("explain", "decisions/none"), ("'decisions/none'", "no such case")),
    Said("explain an old claim", ("explain", "core/no-refused-dispatch@99"), ("'core/no-refused-dispatch@99'",)),
    Said("no record", ("verify", "none"), ("record 'none'", "no such record")),
    Said("no record, hostile", ("rejudge", HOSTILE), ("record '", HARMLESS, "no such record")),
    Said("no record, by path", ("reproduce", "./none"), ("none/record.toml", "there is no such file")),
    Said("no revision", ("verify", "i05", "--revision", "r99"), ("record i05", "no revision 'r99'", f"the latest is {REVISION}")),
    Said("no revision to judge", ("rejudge", "i05", "--revision", ""), ("record i05", "no revision ''")),
)
def test_a_name_that_leads_nowhere_is_refused(row: Said, command: Command, tmp_path: Path) -> None:
    """A case, claim, record or revision that is not there, or named twice, is refused with where to look."""
    refused(command(*row.arguments), row.says, row.code)
    assert listing(tmp_path) == {}


# --- records


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Return a copy of the record i05 with what it published."""
    return Path(shutil.copytree(library.records_folder() / "i05", tmp_path / "i05"))


def sum_of(name: str) -> Spoil:
    """Return what adds a line for this file to the digests of the latest revision."""
    return appended(f"{REVISION}/SHA256SUMS", f"{DIGEST}  {name}\n")


REPRODUCE = ("reproduce", "./i05", "--skip-upstream")


@table(
    Row("no record.toml", removed("record.toml"), ("i05/record.toml", "there is no such file")),
    Row("not TOML", preceded("record.toml", "title\n"), ("i05/record.toml", "not TOML", "line 1")),
    Row("unknown key", preceded("record.toml", "surprise = 1\n"), ("i05/record.toml", "unknown key 'surprise'")),
    Row("missing key", swapped("record.toml", "^question = .*", ""), ("i05/record.toml", "the key 'question' is missing")),
    Row("no revision's name", swapped("record.toml", r"^\[revisions\.r\d+\]", "[revisions.x]"), ("key revisions", "'x'")),
    Row("no revision", swapped("record.toml", r"^\[revisions(.|\n)*", ""), ("record i05", "nothing is published yet")),
    Row(
        "case twice",
        swapped("record.toml", '^case = "decisions/edit"', 'case = "decisions/approve"'),
        ("decisions/approve stands",),
    ),
    Row("unknown pin", swapped("record.toml", "^pin = .*", 'pin = "none"'), ("pin 'none'", "no such pin"), arguments=REPRODUCE),
    Row("pin outside", swapped("record.toml", "^pin = .*", 'pin = "../i05"'), ("key pin", "'../i05'"), arguments=REPRODUCE),
    Row("other case", one_digit("record.toml", "digest"), ("has the SHA-256", "was published with"), arguments=REPRODUCE),
    Row("no such case", swapped("record.toml", '^case = "', 'case = "old-'), ("'old-decisions/", "no such"), arguments=REPRODUCE),
    Row("other claim", swapped("record.toml", CLAIM, f"{CLAIM}9"), (f"i05/{REVISION}", f"'{CLAIM}9' is not"), arguments=REPRODUCE),
    Row("no results", removed(f"{REVISION}/results.json"), (f"i05/{REVISION}/results.json", "no such file")),
    Row("no upstream tests", removed(f"{REVISION}/upstream.json"), (f"i05/{REVISION}/upstream.json", "no such file")),
    Row("no history", removed(f"{REVISION}/history.jsonl"), (f"i05/{REVISION}/history.jsonl", "no such file")),
    Row("no digests", removed(f"{REVISION}/SHA256SUMS"), (f"i05/{REVISION}/SHA256SUMS", "no such file")),
    Row("digest outside", sum_of("../x"), (f"i05/{REVISION}/SHA256SUMS", "'" + DIGEST + "  ../x'", "a file beside it")),
    Row("digest of root", sum_of("/etc/passwd"), (f"i05/{REVISION}/SHA256SUMS", "/etc/passwd'")),
    Row("digest of a folder", sum_of(".."), (f"i05/{REVISION}/SHA256SUMS", "  ..'")),
    Row("digest of nothing", appended(f"{REVISION}/SHA256SUMS", "what\n"), (f"i05/{REVISION}/SHA256SUMS", "'what'")),
    Row("digest of a NUL", sum_of("a\0b"), (rf"i05/{REVISION}/a\x00b", "no such file")),
    Row("digest of a hostile name", sum_of(HOSTILE), (f"i05/{REVISION}/{HARMLESS}", "no such file")),
    Row(
        "nothing to judge", removed(f"{REVISION}/history.jsonl"), ("history.jsonl", "no such file"), arguments=("rejudge", "./i05")
    ),
)
def test_a_spoiled_record_is_refused(row: Row, published: Path, command: Command, tmp_path: Path) -> None:
    """A record that is not what it must be, or whose files are not there, is refused before anything is run or judged."""
    row.spoil(published)
    before = listing(tmp_path)
    refused(command(*row.arguments), row.says, row.code)
    assert listing(tmp_path) == before


# --- histories, results, upstream tests


def sealed(folder: Path, name: str, data: bytes) -> None:
    """Put bytes in the place of a published file, and their digest wherever the old one stands: only a reader can notice."""
    path = folder / REVISION / name
    old, new = document.digest(path.read_bytes()), document.digest(data)
    path.write_bytes(data)
    for other in (folder / REVISION / "SHA256SUMS", folder / "record.toml"):
        other.write_text(other.read_text().replace(old, new))
    if name == "history.jsonl":
        kept = (folder / REVISION / "results.json").read_bytes()
        sealed(folder, "results.json", kept.replace(old.encode(), new.encode()))


def changed(name: str, change: Change) -> Spoil:
    """Return what changes the bytes of a published file and seals it again."""
    return lambda folder: sealed(folder, name, change((folder / REVISION / name).read_bytes()))


def raw(old: bytes, new: bytes) -> Spoil:
    """Return what puts bytes in the place of the first that are there in the history."""

    def change(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new, 1)

    return changed("history.jsonl", change)


def entries(change: Callable[[Lines], object]) -> Spoil:
    """Return what changes the entries of the history."""

    def changed_bytes(data: bytes) -> bytes:
        lines = [json.loads(line) for line in data.splitlines()]
        change(lines)
        return b"".join(map(document.line, lines))

    return changed("history.jsonl", changed_bytes)


def first(lines: Lines, **wanted: object) -> int:
    """Return the place of the first entry that has these values."""
    return next(place for place, entry in enumerate(lines) if all(entry.get(key) == wanted[key] for key in wanted))


def put(value: object, *keys: str | int, **wanted: object) -> Spoil:
    """Return what puts a value at a key of the first entry that has these values."""

    def change(lines: Lines) -> None:
        found: Any = lines[first(lines, **wanted)]
        for key in keys[:-1]:
            found = found[key]
        found[keys[-1]] = value

    return entries(change)


def taken(**wanted: object) -> Spoil:
    """Return what takes the first entry with these values away."""
    return entries(lambda lines: lines.pop(first(lines, **wanted)))


def doubled(**wanted: object) -> Spoil:
    """Return what puts the first entry with these values into the first case, once more if it is there, and counts it."""

    def change(lines: Lines) -> None:
        end = first(lines, kind="end")
        lines[end]["entries"] += 1
        lines[-1]["entries"] += 1
        lines.insert(end, lines[first(lines, **wanted)])

    return entries(change)


def case_twice(lines: Lines) -> None:
    """Put the first case there twice, and count it."""
    start, end = first(lines, kind="case"), first(lines, kind="end") + 1
    lines[end:end] = lines[start:end]
    lines[-1]["entries"] += end - start
    lines[-1]["cases"] += 1


def other_question(lines: Lines) -> None:
    """Change a scenario in a way that no case can be meant, and its digest too."""
    head = lines[first(lines, kind="case")]
    head["scenario"]["gated"] = ["none"]
    head["digest"] = document.digest(document.canonical(head["scenario"]))


def unanswered(lines: Lines) -> None:
    """Leave out the status of the first tool message."""
    messages = [message for entry in lines for message in entry.get("messages", [])]
    del next(message for message in messages if "answers" in message)["status"]


BOTH = pytest.mark.parametrize("name", ["verify", "rejudge"])


def alternating(rows: Sequence[Row]) -> list[Row]:
    """Return every third row, for verify and rejudge in turn: both read with the same reader, and that meets every row."""
    return [row._replace(arguments=(("verify", "rejudge")[place % 2], "./i05")) for place, row in enumerate(rows[::3])]


HISTORIES = (
    Row("empty", changed("history.jsonl", lambda _: b""), ("does not begin with its environment",)),
    Row("not JSON", raw(b"{", b"("), ("line 1: not JSON",)),
    Row("an empty line", raw(b"\n", b"\n\n"), ("line 2: not JSON",)),
    Row("garbage", changed("history.jsonl", lambda data: data + b"\xff\xfe\x00"), ("not JSON", "0xff")),
    Row("not an object", raw(b"\n", b"\n[]\n"), ("line 2: ", "type object, not []")),
    Row("unknown key", put(1, "surprise", kind="step"), ("line 3: ", "unknown key 'surprise'")),
    Row("hostile key", put(1, HOSTILE, kind="step"), ("line 3: ", "unknown key", HARMLESS)),
    Row("key twice", raw(b'"kind":"step"', b'"kind":"step","kind":"step"'), ("line 3: not JSON", "the key 'kind' stands twice")),
    Row("wrong type", put("one", "step", kind="step"), ("line 3: key step", "type integer, not 'one'")),
    Row("missing key", raw(b',"step":0', b""), ("line 3: ", "the key 'step' is missing")),
    Row("a float", raw(b'"step":0', b'"step":0.0'), ("line 3: not JSON", "0.0 is not an integer")),
    Row("a float inside", raw(b'"args":{', b'"args":{"price":9.99,'), ("not JSON", "9.99 is not an integer")),
    Row("NaN", raw(b'"step":0', b'"step":NaN'), ("line 3: not JSON", "NaN is not an integer")),
    Row("Infinity", raw(b'"step":0', b'"step":-Infinity'), ("line 3: not JSON", "Infinity is not an integer")),
    Row("a number too long", raw(b'"step":0', f'"step":{LONG}'.encode()), ("line 3: not JSON", "5000 digits")),
    Row("nested", raw(b'"args":{', f'"args":{{"deep":{NESTED},'.encode()), ("not JSON", "nested too deeply")),
    Row("nested without end", raw(b"\n", b"\n" + DEEP + b"\n"), ("line 2: not JSON", "nested too deeply")),
    Row("other version", put(2, "history", kind="environment"), ("line 1: key history: must be 1, not 2",)),
    Row("unknown kind", put("dream", "kind", kind="step"), ("line 3: key kind: must be one of", "'dream'")),
    Row("unknown vantage", put("dream", "vantage", vantage="prompt"), ("key vantage: must be one of", "'dream'")),
    Row("wrong count of cases", put(99, "cases", kind="footer"), ("the footer counts 99 cases",)),
    Row("wrong count of entries", put(99, "entries", kind="footer"), ("the footer counts", "99 entries")),
    Row("no environment", taken(kind="environment"), ("does not begin with its environment",)),
    Row("no footer", taken(kind="footer"), ("does not end with its footer",)),
    Row("no end", taken(kind="end"), ("its end says otherwise",)),
    Row("no last end", entries(lambda lines: lines.pop(-2)), ("has no end",)),
    Row("other end", put(99, "entries", kind="end"), ("its end says otherwise",)),
    Row("entry left out", taken(kind="outcome"), ("its end says otherwise",)),
    Row("case twice", entries(case_twice), ("stands twice",)),
    Row("case without head", taken(kind="case"), ("stands outside a case",)),
    Row("other kind in a case", doubled(kind="environment"), ("kind environment stands inside a case",)),
    Row("scenario changed", put("Why?", "scenario", "question", kind="case"), ("the scenario's SHA-256 is",)),
    Row("scenario not meant", entries(other_question), ("key gated", "'none' is not a tool")),
    Row("scenario no case", put({}, "scenario", kind="case"), ("is missing",)),
    Row("scenario that varies", put({"run": ["async"]}, "scenario", "vary", kind="case"), ("key vary", "does not vary itself")),
    Row("a branch of nothing", put(1, "branch", kind="outcome"), ("has no branch 1",)),
    Row("step never planned", put(99, "step", kind="outcome"), ("step 99",)),
    Row("step twice", doubled(kind="step"), ("two entries of kind step",)),
    Row("answer without status", entries(unanswered), ("key messages.", "the key 'status' is missing")),
)


def commands_refuse(row: Row, name: str, published: Path, command: Command, tmp_path: Path) -> None:
    """Demand that the row's command refuses a spoiled file of a revision, and leaves everything as it was."""
    row.spoil(published)
    before = listing(tmp_path)
    refused(command(*row.arguments), (f"i05/{REVISION}/{name}", *row.says), row.code)
    assert listing(tmp_path) == before


def reader_refuses(row: Row, name: str, published: Path, read: Callable[[bytes, str], object]) -> None:
    """Demand that the reader of a file refuses it once it is spoiled, with what the row says."""
    row.spoil(published)
    with pytest.raises(InputRefused) as refusal:
        read((published / REVISION / name).read_bytes(), "file x")
    assert refusal.value.message.startswith("file x")
    assert [part for part in row.says if part not in refusal.value.message] == []


@table(*alternating(HISTORIES))
def test_a_spoiled_history_is_refused(row: Row, published: Path, command: Command, tmp_path: Path) -> None:
    """A history that no run can have left is refused by every command that reads it, even where all digests fit."""
    commands_refuse(row, "history.jsonl", published, command, tmp_path)


@table(*HISTORIES)
def test_the_reader_of_histories_refuses(row: Row, published: Path) -> None:
    """The reader itself refuses what the commands refuse, whatever digest was checked before it."""
    reader_refuses(row, "history.jsonl", published, history.read)


def values(change: Callable[[Any], object], name: str = "results.json") -> Spoil:
    """Return what changes the value of a published JSON file."""

    def changed_bytes(data: bytes) -> bytes:
        value = json.loads(data)
        change(value)
        return document.canonical(value)

    return changed(name, changed_bytes)


RESULTS = (
    Row("empty", changed("results.json", lambda _: b""), ("not JSON",)),
    Row("not an object", changed("results.json", lambda _: b"[]"), ("top level", "type object, not []")),
    Row("garbage", changed("results.json", lambda data: data + b"\xff"), ("not JSON", "0xff")),
    Row("a float", changed("results.json", lambda data: data.replace(b'"results": 1', b'"results": 1.0')), ("not JSON", "1.0")),
    Row("nested without end", changed("results.json", lambda _: DEEP), ("not JSON", "nested too deeply")),
    Row("other version", values(lambda found: found.update(results=2)), ("key results: must be 1, not 2",)),
    Row("unknown key", values(lambda found: found.update(surprise=1)), ("top level", "unknown key 'surprise'")),
    Row("hostile key", values(lambda found: found.update({HOSTILE: 1})), ("unknown key", HARMLESS)),
    Row("missing key", values(lambda found: found.pop("counts")), ("top level", "the key 'counts' is missing")),
    Row("key twice", changed("results.json", lambda data: data.replace(b"{", b'{"pins": [],', 1)), ("'pins' stands twice",)),
    Row("wrong type", values(lambda found: found["pins"][0].update(cases={})), ("key pins.0.cases", "type array")),
    Row("wrong count", values(lambda found: found["counts"].update(PASS=99)), ("top level: key counts",)),
    Row("wrong count of a pin", values(lambda found: found["pins"][0]["counts"].update(FAIL=99)), ("pin i05: key counts",)),
    Row("case twice", values(lambda found: found["pins"][0]["cases"].append(found["pins"][0]["cases"][0])), ("stands twice",)),
    Row("pin twice", values(lambda found: found["pins"].append(found["pins"][0])), ("pins: i05 stands twice",)),
    Row("no pin", values(lambda found: found.update(pins=[])), ("key pins", "at least 1")),
    Row("pin outside", values(lambda found: found["pins"][0].update(pin="../i05")), ("key pins.0.pin", "'../i05'")),
)


@table(*alternating(RESULTS))
def test_spoiled_results_are_refused(row: Row, published: Path, command: Command, tmp_path: Path) -> None:
    """Results that do not fit their schema or do not count what they hold are refused, even where all digests fit."""
    commands_refuse(row, "results.json", published, command, tmp_path)


@table(*RESULTS)
def test_the_reader_of_results_refuses(row: Row, published: Path) -> None:
    """The reader itself refuses what the commands refuse, whatever digest was checked before it."""
    reader_refuses(row, "results.json", published, results.read)


@table(
    Row("not JSON", changed("upstream.json", lambda _: b"{"), ("not JSON",)),
    Row("other version", values(lambda found: found.update(upstream=2), "upstream.json"), ("key upstream: must be 1, not 2",)),
    Row("unknown key", values(lambda found: found.update(surprise=1), "upstream.json"), ("unknown key 'surprise'",)),
    Row("wrong type", values(lambda found: found.update(passed="all"), "upstream.json"), ("key passed", "type integer")),
)
def test_spoiled_upstream_tests_are_refused(row: Row, published: Path, command: Command) -> None:
    """The published outcome of the upstream tests is read as strictly as the results."""
    row.spoil(published)
    refused(command(*row.arguments), (f"i05/{REVISION}/upstream.json", *row.says), row.code)


@table(
    Row("unknown claim", values(lambda found: _claims(found)[0].update(claim="core/none@1")), ("'core/none@1' is not a claim",)),
    Row("case left out", values(lambda found: _leave_out(found, EDIT)), ("history of pin i05", f"case {EDIT} is not in the")),
)
def test_results_that_cannot_be_judged_again_are_refused(row: Row, published: Path, command: Command) -> None:
    """Evidence is judged again only by claims that there are, and only for cases that the results name."""
    row.spoil(published)
    refused(command("rejudge", "./i05"), row.says, row.code)


def _claims(found: Any) -> Any:
    return found["pins"][0]["cases"][0]["claims"]


def _leave_out(found: Any, name: str) -> None:
    pins = found["pins"][0]
    pins["cases"] = [entry for entry in pins["cases"] if entry["case"] != name]
    for counted in (found, pins):
        counted["counts"] = {key: sum(entry["verdict"] == key for entry in pins["cases"]) for key in counted["counts"]}


def policy(value: Mapping[str, object]) -> Spoil:
    """Return what lets an edit go into another gated tool, for which the middleware has a policy of no known form."""

    def change(lines: Lines) -> None:
        head = lines[first(lines, kind="case", case=EDIT)]
        found = head["scenario"]
        found["subject"]["tools"].append({"name": "other", "description": "d", "parameters": [], "returns": ""})
        found["subject"]["middleware"][0]["options"]["interrupt_on"] |= value
        found["gated"].append("other")
        found["steps"][1]["decisions"][0]["edited_action"]["name"] = "other"
        head["digest"] = document.digest(document.canonical(found))

    return entries(change)


REQUEST = ("value", "action_requests", 0, "args")


@table(
    Row("policy a number", policy({"other": 5}), (), ExitCode.DIFFERENCE),
    Row("decisions no list", policy({"other": {"allowed_decisions": 5}}), (), ExitCode.DIFFERENCE),
    Row("decisions no names", policy({"other": {"allowed_decisions": [["edit"]]}}), (), ExitCode.DIFFERENCE),
    Row("arguments no object", put([[1, 2], ["a", 3]], *REQUEST, vantage="review"), (), ExitCode.DIFFERENCE),
    Row("nothing to review", put(None, "value", vantage="review"), (), ExitCode.DIFFERENCE),
)
def test_evidence_of_no_known_form_is_judged(row: Row, published: Path, command: Command) -> None:
    """What a policy or a review may hold is the framework's: a form that the judge does not know is judged, and breaks nothing."""
    row.spoil(published)
    done = command("rejudge", "./i05")
    assert (done.returncode, done.stderr) == (row.code, "")
    assert json.loads(done.stdout)["held"] is False


@BOTH
def test_a_second_pin_in_a_revision_is_a_difference(name: str, published: Path, command: Command) -> None:
    """A revision has one history, so results of a second pin cannot come from it: they differ, and nothing breaks."""

    def second(found: Any) -> None:
        found["pins"].append(found["pins"][0] | {"pin": "i06"})
        found["counts"] = {key: 2 * count for key, count in found["counts"].items()}

    values(second)(published)
    done = command(name, "./i05")
    assert (done.returncode, done.stderr) == (ExitCode.DIFFERENCE, "")
    assert json.loads(done.stdout)["held"] is False


@BOTH
@table(
    Row("no results", removed("results.json"), ("i05/results.json", "no such file")),
    Row("no history", removed("i05/history.jsonl"), ("i05/i05/history.jsonl", "no such file")),
    Row("results spoiled", written("results.json", b"{}"), ("i05/results.json", "is missing")),
    Row("history spoiled", appended("i05/history.jsonl", "{}"), ("i05/i05/history.jsonl, line", "'kind' is missing")),
)
def test_a_spoiled_run_is_refused(row: Row, name: str, published: Path, command: Command, tmp_path: Path) -> None:
    """The folder of a run is read as strictly as a published revision."""
    kept = tmp_path / "kept"
    (published / REVISION).rename(kept)
    (kept / "i05").mkdir()
    (kept / "history.jsonl").rename(kept / "i05" / "history.jsonl")
    (kept / "run.json").write_text('{"run": 1, "started": "", "ended": ""}')
    shutil.rmtree(published)
    kept.rename(published)
    row.spoil(published)
    before = listing(tmp_path)
    refused(command(name, "./i05"), row.says, row.code)
    assert listing(tmp_path) == before


# --- usage


@table(
    Said("no command", (), ("Usage: dispatch-audit", "Commands:"), ExitCode.USAGE),
    Said("unknown command", ("conjure",), ("Error: No such command 'conjure'",), ExitCode.USAGE),
    Said("hostile command", (HOSTILE,), ("Error: No such command", HARMLESS), ExitCode.USAGE),
    Said("no pin", ("run",), ("Error: name a pin with --pin",), ExitCode.USAGE),
    Said("no record", ("verify",), ("Error: Missing argument 'RECORD|SURVEY|FOLDER'",), ExitCode.USAGE),
    Said("unknown option", ("verify", "i05", "--surprise"), ("Error: No such option", "--surprise"), ExitCode.USAGE),
    Said("option without value", ("verify", "i05", "--revision"), ("Error: Option '--revision'",), ExitCode.USAGE),
    Said("one argument more", ("explain", "timeout", "more"), ("Error: Got unexpected extra argument (more)",), ExitCode.USAGE),
    Said("one hostile argument more", ("explain", "timeout", f"\a{HOSTILE}"), ("Error: Got unexpected", r"\x07"), ExitCode.USAGE),
    Said("unknown listing", ("list", "dreams"), ("Error: Invalid value", "'dreams' is not one of"), ExitCode.USAGE),
    Said("unknown format", ("verify", "i05", "--format", "xml"), ("Error: Invalid value for '--format'", "'xml'"), ExitCode.USAGE),
    Said(
        "--postgres nothing",
        ("run", "--pin", "i05", "--postgres", ""),
        ("'--postgres'", "no address of a PostgreSQL"),
        ExitCode.USAGE,
    ),
    Said("--postgres another", ("run", "--pin", "i05", "--postgres", "mysql://u:p@h/d"), ("no address",), ExitCode.USAGE),
    Said("--postgres half a percent", ("run", "--pin", "i05", "--postgres", "postgres://u:%zz@h/d"), ("as %25",), ExitCode.USAGE),
    Said("--out a file", ("run", "--pin", "i05", "--out", sys.executable), ("Error: Invalid value for '--out'",), ExitCode.USAGE),
)
def test_wrong_usage_is_said_with_the_usage(row: Said, command: Command, tmp_path: Path) -> None:
    """Wrong usage ends with click's code 2, the usage, and one error line in which nothing can steer a terminal."""
    done = command(*row.arguments)
    assert (done.returncode, done.stdout) == (row.code, ""), done.stderr
    assert [part for part in row.says if part not in done.stderr] == [], done.stderr
    assert done.stderr.startswith(("Usage: dispatch-audit", "Error: "))
    assert "Traceback" not in done.stderr
    assert all(line.isprintable() for line in done.stderr.split("\n"))
    assert listing(tmp_path) == {}


# --- storage

RUN = ("run", "--pin", "i05", "--case", EDIT)


@table(
    Said("--out where nothing can be", (*RUN, "--out", "/proc/none"), ("/proc/none", "cannot be written"), ExitCode.STORAGE),
    Said("--out below a file", (*RUN, "--out", "file/out"), ("file/out", "cannot be written"), ExitCode.STORAGE),
    Said("a record's name too long", ("verify", f"./{'a' * 300}"), ("aaa/record.toml", "too long"), ExitCode.STORAGE),
)
def test_a_place_that_cannot_be_used_is_a_storage_failure(row: Said, command: Command, tmp_path: Path) -> None:
    """Where nothing can be written or read, the sentence names the place; the permissions of root do not matter for these."""
    (tmp_path / "file").write_text("")
    (tmp_path / "x").mkdir()
    refused(command(*row.arguments), row.says, row.code)
    assert sorted(listing(tmp_path)) == ["file", "x"]


@pytest.mark.parametrize("place", ["file", "file/cache", "/proc/none"])
def test_a_cache_that_cannot_be_used_is_a_storage_failure(place: str, command: Command, tmp_path: Path) -> None:
    """A cache at or below a file, or where nothing can be made, is named with the variable that moves it."""
    (tmp_path / "file").write_text("")
    done = command(*RUN, variables={cache.VARIABLE: place})
    refused(done, (place, "cannot be written", cache.VARIABLE), ExitCode.STORAGE)
    assert list(listing(tmp_path)) == ["file"]


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_full_disk_behind_standard_output_is_a_storage_failure(form: str, unbuffered: str, tmp_path: Path) -> None:
    """What cannot be written to standard output is a storage failure, said once, also when Python would try again as it exits."""
    with Path("/dev/full").open("wb") as full:
        done = _shown(full.fileno(), form, unbuffered, tmp_path)
    assert (done.returncode, "No space left" in sentence(done.stderr)) == (ExitCode.STORAGE, True), done.stderr


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_reader_that_went_away_is_no_difference(form: str, tmp_path: Path) -> None:
    """Standard output that nobody reads any more is a storage failure: the code 1 says that something differs."""
    reader, writer = os.pipe()
    os.close(reader)
    done = _shown(writer, form, "", tmp_path)
    os.close(writer)
    assert (done.returncode, "closed before" in sentence(done.stderr)) == (ExitCode.STORAGE, True), done.stderr


def _shown(output: int, form: str, unbuffered: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "capture", "verify", "i05", "--format", form],
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        timeout=60,
    )
