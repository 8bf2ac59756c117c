"""Recording tools: the body writes where a real one would send, pay or delete. That line is the dispatch.

What the case says a tool does before that line, or after it, happens there: it fails, waits, is held at a gate, or asks.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from langchain.tools import InjectedState, ToolRuntime
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from langgraph.types import interrupt
from pydantic import create_model

from probe import death, gate, wire
from probe.journal import Journal
from probe.plain import plain

_CALL_ID = "tool_call_id"

TYPES: dict[str, type] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
"""The types that a case can give a parameter or a field, by their names in JSON schema."""

_INJECTED: dict[str, Any] = {"state": Annotated[dict[str, Any], InjectedState], "runtime": ToolRuntime}


_DECLINED = "declined"
"""What a tool tells that asked about its call, and was answered that it shall not run."""


class ToolFailed(Exception):
    """What a tool raises where its case says that it fails."""


def recording_tool(data: dict[str, Any], body: "Body") -> BaseTool:
    """Return the tool that a case describes: it takes what the case says, strings if nothing, and returns a constant."""
    bodies = {"func": body.run, "coroutine": body.arun}
    if "run" in data:
        bodies.pop("coroutine" if data["run"] == "sync" else "func")
    return StructuredTool.from_function(**bodies, name=data["name"], description=data["description"], args_schema=_arguments(data))


def _arguments(data: dict[str, Any]) -> Any:
    """Return a Pydantic model of the arguments, or a JSON schema, which the framework shows but does not check."""
    types = {name: data.get("types", {}).get(name, "string") for name in data["parameters"]}
    defaults = data.get("defaults", {})
    if data.get("arguments") == "json-schema":
        properties = {name: {"type": kind} for name, kind in types.items()}
        required = [name for name in types if name not in defaults]
        return {"type": "object", "title": data["name"], "properties": properties, "required": required}
    fields: dict[str, Any] = {name: (TYPES[kind], defaults.get(name, ...)) for name, kind in types.items()}
    if data.get("call_id"):
        fields[_CALL_ID] = (Annotated[str, InjectedToolCallId], ...)
    fields |= {name: (_INJECTED[name], ...) for name in data.get("injected", [])}
    return create_model(data["name"], __config__={"arbitrary_types_allowed": True} if data.get("injected") else None, **fields)


class Body:
    """The body of a tool, to be run in either way: by the framework, or by a node of the case that acts."""

    def __init__(self, data: dict[str, Any], journal: Journal, sinks: dict[str, Any], questions: list[dict[str, Any]]) -> None:
        """Keep what the case says of the tool, where it records itself, where it sends, and what the subject asks by itself."""
        self._data = data
        self._journal = journal
        self._sinks = sinks
        self._questions = questions

    def run(self, **received: Any) -> str:
        """Do what the case says, and return what the tool tells."""
        with self._recorded(received) as seen:
            for act in self._data.get("before", []):
                if not self._act(act, "before", seen):
                    return _DECLINED
            self._dispatch(seen)
            for act in self._data.get("after", []):
                self._act(act, "after", seen)
        return str(self._data["returns"])

    async def arun(self, **received: Any) -> str:
        """Do the same asynchronously."""
        with self._recorded(received) as seen:
            for act in self._data.get("before", []):
                if not await self._aact(act, "before", seen):
                    return _DECLINED
            self._dispatch(seen)
            for act in self._data.get("after", []):
                await self._aact(act, "after", seen)
        return str(self._data["returns"])

    @contextmanager
    def _recorded(self, received: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Record that the body is entered and how it is left; what is yielded is what every record of this run says."""
        # Of the step in which it began, even if it ends in a later one.
        seen = {"invocation": self._journal.invocation(), "step": self._journal.step, **self._seen(received)}
        self._journal.observe("dispatch", event="entered", **seen)
        try:
            yield seen
        except BaseException as error:
            self._journal.observe("dispatch", event="raised", error=type(error).__name__, **seen)
            raise
        self._journal.observe("dispatch", event="returned", **seen)

    def _dispatch(self, seen: dict[str, Any]) -> None:
        self._journal.observe("dispatch", event="dispatched", **seen)
        if "sends" in self._data:
            key = seen["call"] if self._data.get("key") else None
            wire.send(self._sinks[self._data["sends"]], self._data["sends"], seen["tool"], seen["args"], key)

    def _seen(self, received: dict[str, Any]) -> dict[str, Any]:
        data = self._data
        # A node of the case says itself which call or question it acts for.
        call = {"call": received.pop(_CALL_ID)} if _CALL_ID in received else {}
        injected = {name: _injected(received.pop(name)) for name in data.get("injected", []) if name in received}
        # As the defaults of a function would: older releases pass only what was sent, newer ones what the model fills in.
        args = {"args": {**data.get("defaults", {}), **plain(received), **data.get("plant", {})}}
        return {"tool": data["name"], **args, **call, **({"injected": injected} if injected else {})}

    def _act(self, act: dict[str, Any], when: str, seen: dict[str, Any]) -> bool:
        """Do one thing, and tell whether the body goes on after it."""
        if "wait" in act:
            time.sleep(act["wait"] / 1000)
            return True
        return self._at_once(act, when, seen)

    async def _aact(self, act: dict[str, Any], when: str, seen: dict[str, Any]) -> bool:
        if "wait" in act:
            await asyncio.sleep(act["wait"] / 1000)
            return True
        return self._at_once(act, when, seen)

    def _at_once(self, act: dict[str, Any], when: str, seen: dict[str, Any]) -> bool:
        tool = self._data["name"]
        if "ask" in act:
            return self._asked(seen)
        if "gate" in act:
            gate.hold()
        elif "interrupt" in act:
            interrupt(act["interrupt"])
        elif self._journal.count("dispatch", event="entered", tool=tool) <= act.get("kill", act.get("raise", 0)):
            if "kill" in act:
                death.die(self._journal, when, "dispatch", tool=tool)
            raise ToolFailed
        return True

    def _asked(self, seen: dict[str, Any]) -> bool:
        """Ask about the call at hand, and tell whether the answer is one on which the tool goes on."""
        (question,) = (question for question in self._questions if question.get("call") == seen["call"])
        return interrupt({"call": seen["call"], "name": seen["tool"], "args": seen["args"]}) in question.get("goes", [])


def _injected(value: Any) -> Any:
    """Return what can be said of an injected value in stable words: the keys of a state, the call of a runtime."""
    return sorted(value) if isinstance(value, dict) else {"call": value.tool_call_id}
