"""Observations: what the framework shows of a thread, as plain JSON."""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from probe.plain import plain

STORED_EDITS = "hitl_edited_tool_calls"
"""The middleware's private state key, by the name that its source gives it."""


def message_record(message: BaseMessage) -> dict[str, Any]:
    """Return what a message says, and the ids that link it."""
    record: dict[str, Any] = {"type": message.type, "content": plain(message.content)}
    if message.id is not None:
        record["id"] = message.id
    if message.name is not None:
        record["name"] = message.name
    if isinstance(message, AIMessage):
        record["calls"] = [{"id": call.get("id"), "tool": call["name"], "args": plain(call["args"])} for call in message.tool_calls]
    if isinstance(message, ToolMessage):
        record |= {"answers": message.tool_call_id, "status": message.status}
    return record


def checkpoints(agent: Any, config: dict[str, Any], known: set[str]) -> list[dict[str, Any]]:
    """Return what each checkpoint of a thread holds that is newer than all known ones, the oldest first, and make them known."""
    found = []
    for snapshot in agent.get_state_history(config):
        # The history begins with the newest: behind one that is known there is nothing new, and reading it would take long.
        if snapshot.config["configurable"]["checkpoint_id"] in known:
            break
        found.append(_checkpoint(snapshot))
    known.update(record["checkpoint"] for record in found)
    return found[::-1]


def _checkpoint(snapshot: Any) -> dict[str, Any]:
    values = snapshot.values
    record = {
        "checkpoint": snapshot.config["configurable"]["checkpoint_id"],
        "parent": snapshot.parent_config and snapshot.parent_config["configurable"]["checkpoint_id"],
        "next": list(snapshot.next),
        "keys": sorted(values),
        "messages": [message_record(message) for message in values.get("messages", [])],
    }
    return {**record, "stored_edits": plain(values[STORED_EDITS])} if STORED_EDITS in values else record
