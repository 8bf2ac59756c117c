"""What a stream reports of a run: which calls with which arguments, which results, and whether the pause can be seen.

A stream has many chunks, in an order that tasks race for, with clocks and ids in them. What is kept of it is the set of what
it reports, each with the place where it stands.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Interrupt

from probe.plain import plain

Report = tuple[str, dict[str, Any]]


def of_mode(mode: str, chunks: list[Any]) -> dict[str, Any]:
    """Return what the chunks of a stream mode report."""
    return _collected([report for chunk in chunks for report in _chunk(mode, chunk)])


def of_events(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the events of `astream_events` report; a tool's start has its arguments."""
    found = [report for event in events for report in _walk(event["data"], _place(event["event"], event["name"]))]
    return _collected([*found, *(_start(event) for event in events if event["event"] == "on_tool_start")])


def of_run(run: Any) -> dict[str, Any]:
    """Return what a run of `stream_events` in its third version reports: its values, its tool calls, and its pause."""
    # Read side by side: a channel that is read after another one has ended is empty.
    found = [report for name, item in run.interleave("values", "tool_calls") for report in _item(name, item)]
    pauses = [("pause", {"place": "interrupts"}) for _ in (run.interrupts if run.interrupted else ())]
    return _collected([*found, *pauses])


def _item(channel: str, item: Any) -> Iterator[Report]:
    if channel == "values":
        yield from _walk(item, channel)
    else:
        yield "call", {"place": channel, "call": item.tool_call_id, "tool": item.tool_name, "args": plain(item.input)}


def _chunk(mode: str, chunk: Any) -> Iterator[Report]:
    if mode == "updates":
        for node, update in chunk.items():
            yield from _walk(update, _place(mode, node))
    elif mode == "messages":
        yield from _walk(chunk[0], _place(mode, chunk[1]["langgraph_node"]))
    elif mode in ("tasks", "debug"):
        payload = chunk["payload"] if mode == "debug" else chunk
        yield from _walk(payload, _place(mode, str(payload.get("name", "checkpoint")) if mode == "tasks" else chunk["type"]))
    else:
        yield from _walk(chunk, mode)


def _place(*names: str) -> str:
    return ":".join(names)


def _start(event: dict[str, Any]) -> Report:
    args = event["data"].get("input")
    return "call", {"place": _place(event["event"], event["name"]), "call": None, "tool": event["name"], "args": plain(args)}


def _walk(value: Any, place: str) -> Iterator[Report]:
    """Yield each call, tool result and question in a value, wherever it stands."""
    if isinstance(value, BaseMessage):
        yield from _message(value, place)
    elif isinstance(value, Interrupt):
        yield "pause", {"place": place}
    elif isinstance(value, Mapping) and {"name", "args", "id"} <= value.keys():
        yield "call", {"place": place, "call": value["id"], "tool": value["name"], "args": plain(value["args"])}
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _interrupts(part, place) if key in ("interrupts", "__interrupt__") else _walk(part, place)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _walk(part, place)


def _interrupts(value: Any, place: str) -> Iterator[Report]:
    """Yield a pause for each question, which some streams give as a plain dictionary."""
    yield from (("pause", {"place": place}) for _ in value or ())


def _message(message: BaseMessage, place: str) -> Iterator[Report]:
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            yield "call", {"place": place, "call": call.get("id"), "tool": call["name"], "args": plain(call["args"])}
    if isinstance(message, ToolMessage):
        content = plain(message.content)
        yield "told", {"place": place, "call": message.tool_call_id, "status": message.status, "content": content}


def _collected(reports: Iterable[Report]) -> dict[str, Any]:
    texts = sorted({(kind, json.dumps(report, sort_keys=True)) for kind, report in reports})
    kinds: dict[str, list[Any]] = {"call": [], "told": [], "pause": []}
    for kind, text in texts:
        kinds[kind].append(json.loads(text))
    return {"calls": kinds["call"], "told": kinds["told"], "pauses": [pause["place"] for pause in kinds["pause"]]}
