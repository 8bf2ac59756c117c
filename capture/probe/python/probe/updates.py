"""What an operator writes into a thread's messages: added, put in another's place, or removed."""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage


def messages(items: list[dict[str, Any]]) -> list[BaseMessage]:
    """Return the messages that a step of a case describes; one with the id of another takes its place."""
    return [_message(item) for item in items]


def _message(item: dict[str, Any]) -> BaseMessage:
    kind, text, name = item["type"], item.get("text", ""), item.get("id")
    if kind == "remove":
        return RemoveMessage(id=item["id"])
    if kind == "tool":
        return ToolMessage(text, tool_call_id=item["answers"], status=item.get("status", "success"), id=name)
    if kind == "human":
        return HumanMessage(text, id=name)
    calls = [{"id": call.get("id"), "name": call["tool"], "args": dict(call["args"])} for call in item.get("calls", [])]
    return AIMessage(text, tool_calls=calls, id=name)
