"""The ways in which an operator can run an agent: invoke, sync or async, in either version, or one of the streams."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from probe import reports
from probe.checkpointer import Run
from probe.middleware import Unsupported, require

_MODES = ("values", "updates", "messages", "tasks", "debug")


@dataclass(frozen=True)
class Returned:
    """What a run gave back: the state's values, the questions, and what was special about the form, or what was streamed."""

    values: Mapping[str, Any]
    interrupts: tuple[Any, ...]
    form: str | None = None
    streamed: Mapping[str, Any] | None = None


def check(agent: Any, steps: list[dict[str, Any]]) -> None:
    """Refuse a release that lacks a way in which a step wants to run."""
    ways = {step.get("through") for step in steps}
    if "v2" in ways:
        require(agent.invoke, "version", "invoke")
    if "stream_events" in ways and not hasattr(agent, "stream_events"):
        raise Unsupported("stream_events")


def run(
    agent: Any, given: Any, config: dict[str, Any], way: str | None, *, execute: Run | None, options: dict[str, Any]
) -> Returned:
    """Run an agent in one way, to the end or to the next question; asynchronously if something executes coroutines."""
    if way is None or way == "v2":
        options = {**options, **({"version": "v2"} if way else {})}
        return _returned(execute(agent.ainvoke(given, config, **options)) if execute else agent.invoke(given, config, **options))
    streamed = _streamed(agent, given, config, way, execute=execute, options=options)
    state = agent.get_state({"configurable": {"thread_id": config["configurable"]["thread_id"]}})
    return Returned(state.values, tuple(state.interrupts), streamed=streamed)


def _returned(output: Any) -> Returned:
    if isinstance(output, dict):
        return Returned(output, tuple(output.get("__interrupt__", ())))
    return Returned(output.value, tuple(output.interrupts), type(output).__name__)


def _streamed(
    agent: Any, given: Any, config: dict[str, Any], way: str, *, execute: Run | None, options: dict[str, Any]
) -> Mapping[str, Any]:
    if way in _MODES:
        options = {**options, "stream_mode": way}
        chunks = execute(_all(agent.astream(given, config, **options))) if execute else agent.stream(given, config, **options)
        return reports.of_mode(way, list(chunks))
    if way == "astream_events":
        return reports.of_events((execute or asyncio.run)(_all(agent.astream_events(given, config, version="v2", **options))))
    return reports.of_run(agent.stream_events(given, config, version="v3", **options))


async def _all(source: Any) -> list[Any]:
    return [item async for item in source]
