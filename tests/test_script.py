"""A case as a plain script sees what the probe saw: the same dispatches, the same questions, the same messages."""

import ast
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from capture import case, environment, history, interpreter, pin, runs
from capture.history import CaseHistory
from capture.render.script import script
from tests.conftest import Command

CASES = [found.id for found in case.all_cases()]


@pytest.fixture(scope="module")
def seen() -> dict[str, CaseHistory]:
    """Return the histories of the suite at the pin of I05, by case."""
    with tempfile.TemporaryDirectory() as folder:
        row = runs.record_pin(pin.find("i05"), case.all_cases, interpreter.find(None), Path(folder))
    return {found.case: found for found in history.read(row.history or b"", "history").cases}


def printed(text: str) -> Iterator[tuple[str, Any]]:
    """Run a script in the environment of I05 and yield what it printed."""
    place = environment.ensure(pin.find("i05").lock, interpreter.find(None))
    done = subprocess.run([place.python, "-I", "-c", text], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        name, _, value = line.partition(": ")
        yield name, ast.literal_eval(value)


def journalled(found: CaseHistory) -> Iterator[tuple[str, Any]]:
    """Yield what the script would print, from the journal."""
    for number, _ in found.steps():
        for entry in found.of("dispatch", step=number):
            if entry["event"] == "dispatched":
                yield "dispatch", (entry["tool"], entry["args"])
        yield from (("asked", entry["value"]) for entry in found.of("review", step=number))
        for entry in found.of("messages", step=number):
            yield from (("message", told(message)) for message in entry["messages"])


def told(message: Any) -> tuple[Any, ...]:
    """Return a message as the script prints it."""
    calls = [(call["tool"], call["args"], call["id"]) for call in message.get("calls", [])]
    return message["type"], message["content"], calls, (message["answers"], message["status"]) if "answers" in message else None


@pytest.mark.parametrize("name", CASES)
def test_the_script_sees_what_the_probe_saw(name: str, seen: dict[str, CaseHistory], command: Command) -> None:
    """`explain CASE --script` prints a script that, run alone, shows what the journal holds."""
    text = command("explain", name, "--script").stdout
    assert "capture" not in text
    assert list(printed(text)) == list(journalled(seen[name]))


def test_text_in_a_script_is_only_text() -> None:
    """Quotes, line breaks, braces and characters that turn text around, in a case, stay text in its script."""
    base = case.find(["decisions/approve"])[0]
    hostile = '"\'"""\n\\{}\u202e\U0001f600 import os'
    scenario = {**base.scenario, "question": hostile, "steps": [{"do": "invoke", "text": hostile}]}
    scenario["subject"] = {
        **base.scenario["subject"],
        "tools": [{**base.scenario["subject"]["tools"][0], "description": hostile, "returns": hostile}],
    }
    text = script([case.Case("test/hostile", scenario, ())])
    assert text.isascii()
    assert ("message", ("human", hostile, [], None)) in list(printed(text))
