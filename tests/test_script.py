"""A case as a plain script sees what the probe saw: the same dispatches, the same questions, the same messages.

The scripts of the whole suite run in one process, each in a namespace of its own; a few run alone, as a maintainer would run them.
"""

import ast
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from capture import case, environment, interpreter, pin
from capture.case import Case
from capture.errors import InputRefused
from capture.history import CaseHistory
from capture.render.script import is_shown, script
from tests.conftest import Command
from tests.seen import seen_at

PIN = "langchain-1.5.2"

DRIVER = """
import json, sys

def run(name, text):
    lines = []
    try:
        exec(compile(text, name, "exec"), {"__name__": "__main__", "print": lines.append})
    except Exception as error:
        lines.append(f"failed: {type(error).__name__!r}")
    return lines

texts = json.load(sys.stdin)
json.dump({name: run(name, text) for name, text in texts.items()}, sys.stdout)
"""

ALONE = ("decisions/approve", "decisions/edit", "decisions/edit-notice-off", "decisions/reject")

RACING = ("before", "dispatch", "middleware", "predicate", "asked")
"""What parallel calls print in an order that they race for."""

PROCESSES = os.cpu_count() or 1

SCRIPTED = [known for known in case.contained() if is_shown(known)]

Line = tuple[str, Any]

Observed = tuple[Mapping[str, list[Line]], Mapping[str, CaseHistory]]


@pytest.fixture(scope="module")
def observed() -> Observed:
    """Return what the scripts of the suite print, and what the probe sees, by case; both run at the same time."""
    cases = SCRIPTED
    # Written and read in one thread: CPython before 3.11.9 loses count if several make syntax trees at once.
    texts = [{known.id: script([known]) for known in cases[start::PROCESSES]} for start in range(PROCESSES)]
    with ThreadPoolExecutor() as pool:
        seen = pool.submit(recorded, cases)
        printed = {name: said for part in pool.map(printed_by, texts) for name, said in part.items()}
        return {name: list(read(said)) for name, said in printed.items()}, seen.result()


def recorded(cases: list[Case]) -> dict[str, CaseHistory]:
    """Return what the probe sees of cases, by their ids."""
    return {found.case: found.history() for found in seen_at(PIN, cases).cases}


def printed_by(texts: Mapping[str, str]) -> Mapping[str, list[str]]:
    """Return what scripts print, each run in a namespace of its own in one process."""
    output: Mapping[str, list[str]] = json.loads(run("-c", DRIVER, given=json.dumps(texts)))
    return output


def lines_of(cases: list[Case]) -> dict[str, list[Line]]:
    """Return what the scripts of cases print, line by line."""
    printed = printed_by({known.id: script([known]) for known in cases})
    return {name: list(read(said)) for name, said in printed.items()}


def run(*arguments: str, given: str | None = None) -> str:
    """Run the Python of the environment under audit."""
    done = subprocess.run([python(), "-I", *arguments], input=given, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout


@cache
def python() -> Path:
    """Return the Python of the environment under audit."""
    return environment.ensure(pin.find(PIN).lock, interpreter.find(None)).python


def read(lines: Iterable[str]) -> Iterator[Line]:
    """Yield what a script printed, without the chunks of streams, whose form is the framework's."""
    for line in lines:
        name, _, value = line.partition(": ")
        if name != "chunk":
            yield name, ast.literal_eval(value)


def journalled(found: CaseHistory) -> Iterator[Line]:
    """Yield what the script would print, from the journal."""
    yield from (("failed", entry.get("error", "TypeError")) for entry in found.of("outcome", step=0) if entry["status"] == "raised")
    for number, _ in found.steps():
        branches = sorted({entry.get("branch", 0) for entry in found.of("outcome", step=number)})
        yield from inside(found, number)
        for branch in branches:
            yield from outcome([entry for entry in found.entries if entry["step"] == number and entry.get("branch", 0) == branch])


def inside(found: CaseHistory, number: int) -> Iterator[Line]:
    """Yield what a script would print while a step runs."""
    for entry in found.of("predicate", step=number):
        yield "predicate", (entry["call"], entry["answer"])
    for entry in found.of("middleware", step=number):
        if entry["name"] in counters(found):
            yield "middleware", (entry["name"], entry["event"], entry["call"])
    for entry in found.of("node", step=number):
        if entry["event"] == "before":
            yield "before", entry["what"]
    for entry in found.of("dispatch", step=number):
        if entry["event"] == "dispatched":
            yield "dispatch", (entry["tool"], entry["args"])


def counters(found: CaseHistory) -> set[str]:
    """Return the names of the counters, which are the middleware that a script lets speak."""
    stack = found.scenario["subject"].get("middleware", [])
    return {item.get("options", {}).get("name", "counter") for item in stack if item["kind"] == "counter"}


def outcome(entries: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    """Yield what a script would print of what came of a step."""
    for entry in entries:
        if entry.get("status") == "raised":
            yield "raised", entry["error"]
        if entry.get("status") == "impossible":
            yield "impossible", None
        if entry.get("vantage") == "review":
            yield "asked", entry["value"]
        if entry.get("vantage") == "messages":
            yield from (("message", told(message)) for message in entry["messages"])


def told(message: Any) -> tuple[Any, ...]:
    """Return a message as the script prints it."""
    calls = [(call["tool"], call["args"], call["id"]) for call in message.get("calls", [])]
    return message["type"], message["content"], calls, (message["answers"], message["status"]) if "answers" in message else None


def settled(lines: Iterable[Line], known: Case) -> list[Line]:
    """Return lines in an order that no race decides: within a step, or if steps overlap, of the case."""
    if any(step["do"] in ("concurrently", "wait") for step in known.scenario["steps"]):
        return sorted(lines, key=exactly)
    groups = groupby(lines, key=lambda line: line[0] in RACING)
    return [line for is_racing, group in groups for line in (sorted(group, key=exactly) if is_racing else group)]


def exactly(line: Line) -> str:
    """Return a line as a text that does not depend on the order of keys."""
    return json.dumps(line, sort_keys=True)


@pytest.mark.parametrize("known", SCRIPTED, ids=lambda known: known.id)
def test_the_script_sees_what_the_probe_saw(known: Case, observed: Observed) -> None:
    """The script of a case shows what the journal holds, and never ends with a traceback, where the subject can be built."""
    printed, seen = observed
    if seen[known.id].of("unsupported"):
        assert printed[known.id][0][0] == "failed"
    else:
        assert settled(printed[known.id], known) == settled(journalled(seen[known.id]), known)


def test_a_script_that_sees_something_else_is_noticed(observed: Observed) -> None:
    """A dispatch less or more, another argument and another order of messages are differences: the comparison can fail."""
    known = case.find(["decisions/approve"])[0]
    lines = observed[0][known.id]
    place = next(index for index, (name, _) in enumerate(lines) if name == "dispatch")
    altered: Line = ("dispatch", ("send_document", {**lines[place][1][1], "recipient": "other@example.invalid"}))
    expected = settled(journalled(observed[1][known.id]), known)
    assert settled(lines, known) == expected
    for changed in (lines[:place] + lines[place + 1 :], [*lines, lines[place]], [altered, *lines], lines[::-1]):
        assert settled(changed, known) != expected


@pytest.mark.parametrize("name", ALONE)
def test_a_script_runs_alone(name: str, command: Command, observed: Observed, tmp_path: Path) -> None:
    """`explain CASE --script` prints a program that needs only the packages under audit, and shows the same as with others."""
    text = command("explain", name, "--script").stdout
    place = tmp_path / "script.py"
    place.write_text(text)
    assert "capture" not in text
    assert list(read(run(str(place)).splitlines())) == observed[0][name]


def test_several_cases_in_one_script(observed: Observed) -> None:
    """A script of several cases shows what each of them shows, one after the other."""
    cases = case.find(["decisions/approve", "decisions/edit", "time-travel/approve-then-reject-at-paused"])
    lines = list(read(run("-c", script(cases)).splitlines()))
    assert lines == [line for known in cases for line in observed[0][known.id]]


def test_a_simple_case_has_a_simple_script() -> None:
    """A script has only what its case needs: one call approved needs no helper but the model and what prints."""
    text = script(case.find(["decisions/approve"]))
    defined = [line.split("(")[0] for line in text.splitlines() if line.startswith(("def ", "class "))]
    assert defined == ["class ScriptedModel", "def show", "def show_state", "def send_document"]
    assert not {"asyncio", "threading", "step()", "Annotated", "raise_on", "# if", "# unless"} & set(text.split())


def varied(subject: Mapping[str, Any], **scenario: Any) -> Case:
    """Return the case of an approved call, with another subject."""
    base = case.find(["decisions/approve"])[0].scenario
    return Case("test/varied", {**base, **scenario, "subject": {**base["subject"], **subject}}, ())


def test_text_in_a_script_is_only_text() -> None:
    """Quotes, line breaks, braces and characters that turn text around, in a case, stay text in its script."""
    hostile = '"\'"""\n\\{}\u202e\U0001f600 import os  # if paused'
    tool = {"name": "send", "description": hostile, "returns": hostile, "parameters": ["to"], "before": [{"interrupt": hostile}]}
    known = varied({"tools": [tool], "middleware": []}, question=hostile, steps=[{"do": "invoke", "text": hostile}])
    assert script([known]).isascii()
    assert ("message", ("human", hostile, [], None)) in lines_of([known])["test/varied"]


def test_text_in_the_script_of_a_graph_is_only_text() -> None:
    """What a graph asks, says and is answered stays text, whatever stands in it."""
    hostile = '"\'"""\n\\{}\u202e import os  # if paused'
    question = {"name": "sure", "value": hostile, "goes": [hostile], "guards": {"tool": "class", "args": {"to": hostile}}}
    acts = [{"before": hostile}, {"ask": "sure"}, {"effect": "class", "args": {"to": hostile}, "if": "sure"}, {"say": hostile}]
    subject = {
        "kind": "graph",
        "checkpointer": "memory",
        "tools": [{"name": "class", "description": "d", "parameters": ["to"], "returns": ""}],
        "questions": [question],
        "nodes": [{"name": "ask", "on": hostile, "acts": acts}],
    }
    steps = [{"do": "invoke", "text": hostile}, {"do": "resume", "answers": [{"question": "sure", "value": hostile}], "by": "id"}]
    known = Case("test/graph", {"question": hostile, "gated": [], "script": [], "steps": steps, "subject": subject}, ())
    assert script([known]).isascii()
    lines = lines_of([known])["test/graph"]
    assert ("asked", hostile) in lines
    assert ("dispatch", ("class", {"to": hostile})) in lines
    assert lines[-1] == ("message", ("ai", hostile, [], None))


def test_what_is_in_no_package_has_no_script() -> None:
    """A case that asks through the reference implementation is refused, as one beyond a process is."""
    for name in ("interrupt-updates/colour@updates", "interrupt/restarted@sqlite"):
        with pytest.raises(InputRefused, match=name):
            script(case.find([name]))


def test_an_option_that_is_no_identifier_is_no_code() -> None:
    """The name of a middleware's option is checked by nobody before the framework; as source it stays a text."""
    hostile = "x=1); print('escaped'); print("
    known = varied({"middleware": [{"kind": "HumanInTheLoopMiddleware", "options": {hostile: 1}}]})
    assert lines_of([known])["test/varied"] == [("failed", "TypeError")]


def test_names_of_tools_do_not_hide_those_of_the_script() -> None:
    """A tool may be called like a word of Python, a function of the script or a helper; so may a parameter."""
    names = ["class", "show", "print", "Command", "open", "branch_1", "agent"]
    args = {"show": "now", "time": "now"}
    lines = lines_of([named(name, args) for name in names])
    for name in names:
        assert lines[f"test/{name}"][0] == ("dispatch", (name, args))
        assert lines[f"test/{name}"][-1] == ("message", ("ai", "Done.", [], None))


def named(name: str, args: Mapping[str, str]) -> Case:
    """Return the case of a call of a tool with a name, beside the tool whose name Python would have it change to."""
    tool = {"name": name, "description": "d", "returns": "r", "parameters": list(args), "before": [{"wait": 1}]}
    other = {"name": f"{name}_", "description": "d", "returns": "r", "parameters": []}
    turns = [{"calls": [{"id": "call-1", "tool": name, "args": args}]}, {"text": "Done."}]
    known = varied({"tools": [tool, other], "middleware": []}, script=turns, steps=[{"do": "invoke", "text": "Go."}])
    return Case(f"test/{name}", known.scenario, ())


def test_a_limit_of_calls_at_once_stands_in_every_config() -> None:
    """The config of a checkpoint does not have it, so a step that goes back adds it."""
    (known,) = case.find(["time-travel/replay-before-tools"])
    limited = replace(known, scenario={**known.scenario, "subject": {**known.scenario["subject"], "max_concurrency": 1}})
    assert any("at" in step for step in known.scenario["steps"])
    text = script([limited])
    assert 'config = {"configurable": {"thread_id": "1"}, "max_concurrency": 1}' in text
    assert text.count('"max_concurrency": 1}') == 1 + sum("at" in step for step in known.scenario["steps"])
    assert "max_concurrency" not in script([known])
