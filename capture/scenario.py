"""A scenario: a case without the claims that judge it. Both a case file and a saved history carry one, so both are checked here."""

import keyword
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from capture import document
from capture.errors import InputRefused

__all__ = ["check", "unknown"]


def check(scenario: Mapping[str, Any], where: str, *, smoke: bool = False) -> None:
    """Refuse a scenario, with the key, if it does not fit the schema or if anything in it cannot be meant.

    Only the smoke test may plant a fault in the recording.
    """
    # A case file has one key more, its claims; any claim will do to fit the schema of both.
    document.check({**scenario, "claims": ["core/any"]}, "case", where)
    for complaint in _complaints(scenario, smoke=smoke):
        raise InputRefused(f"{where}: {complaint}.", "Correct the case.")


def unknown(key: str, names: Iterable[str], known: Iterable[str], what: str) -> Iterator[str]:
    """Yield a complaint for each name that is not among the known ones."""
    for name in names:
        if name not in known:
            yield f"key {key}: {name!r} is not {what}"


def _complaints(scenario: Mapping[str, Any], *, smoke: bool) -> Iterator[str]:
    tools = [tool["name"] for tool in scenario["subject"]["tools"]]
    calls = [call["id"] for turn in scenario["script"] for call in turn.get("calls", [])]
    if not smoke and any("plant" in tool for tool in scenario["subject"]["tools"]):
        yield "key subject.tools: only the smoke test may plant a fault"
    yield from _twice("subject.tools", tools)
    yield from _parameters(scenario["subject"]["tools"])
    yield from _twice("script.calls", calls)
    yield from unknown("gated", scenario["gated"], tools, "a tool of the subject")
    yield from _steps(scenario["steps"], calls)


_TAKEN = frozenset({"args", "callbacks", "config", "kwargs", "run_manager", "runtime", "self", "state", "store", "tool_call_id"})


def _parameters(tools: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a complaint for each parameter whose name the framework, or the class of its schema, takes for itself."""
    for tool in tools:
        for name in tool["parameters"]:
            if name in _TAKEN or name.startswith(("_", "model_")) or not name.isidentifier() or keyword.iskeyword(name):
                yield f"key subject.tools: {tool['name']} has a parameter {name!r}, which is not a name that a tool can have"


def _twice(key: str, names: list[str]) -> Iterator[str]:
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"key {key}: {name!r} stands twice"


def _steps(steps: list[Mapping[str, Any]], calls: list[str]) -> Iterator[str]:
    if steps[0]["do"] != "invoke":
        yield "key steps.0.do: a case starts with 'invoke'"
    for number, step in enumerate(steps):
        decided = [decision["call"] for decision in step.get("decisions", [])]
        yield from unknown(f"steps.{number}.decisions", decided, calls, "a call of the script")
