"""Recording tools: the body writes where a real one would send, pay or delete. That line is the dispatch."""

from collections.abc import Callable
from typing import Annotated, Any

from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool
from pydantic import create_model

from probe.journal import Journal
from probe.plain import plain

_CALL_ID = "tool_call_id"


def recording_tool(data: dict[str, Any], journal: Journal) -> BaseTool:
    """Return the tool that a case describes: it takes required strings and returns a constant."""
    fields: dict[str, Any] = dict.fromkeys(data["parameters"], (str, ...))
    if data.get("call_id"):
        fields[_CALL_ID] = (Annotated[str, InjectedToolCallId], ...)
    schema = create_model(data["name"], **fields)
    return StructuredTool.from_function(
        func=_body(data, journal), name=data["name"], description=data["description"], args_schema=schema
    )


def _body(data: dict[str, Any], journal: Journal) -> Callable[..., str]:
    def body(**received: Any) -> str:
        call = {_CALL_ID: received.pop(_CALL_ID)} if data.get("call_id") else {}
        seen = {
            "invocation": journal.invocation(),
            "tool": data["name"],
            "args": {**plain(received), **data.get("plant", {})},
            **({"call": call[_CALL_ID]} if call else {}),
        }
        journal.observe("dispatch", event="entered", **seen)
        journal.observe("dispatch", event="dispatched", **seen)
        journal.observe("dispatch", event="returned", **seen)
        return str(data["returns"])

    return body
