"""Run by an environment's own Python: the two examples of the proposal through the reference implementation, with assertions.

`python reference_check.py PATH` loads the reference implementation from its one file, since nothing else of the probe is needed.
"""

import importlib.util
import sys
from importlib.metadata import version
from typing import Any

from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

spec = importlib.util.spec_from_file_location("interrupt_updates", sys.argv[1])
assert spec is not None
assert spec.loader is not None
updates: Any = importlib.util.module_from_spec(spec)
sys.modules["interrupt_updates"] = updates
spec.loader.exec_module(updates)

done: list[str] = []


def ask(_: Any) -> None:
    """Ask whether to delete, and for a name, as the example of the proposal does."""
    answer = updates.interrupt(
        {"name": "approve", "args": {"title": "Really delete xyz?"}}, updates.update_messages_interrupt_config
    )
    name = updates.interrupt("What's your name?", updates.update_messages_interrupt_config)
    if answer["delete"]:
        done.append(f"some_file, by {name}")


def said() -> list[tuple[str, Any, bool]]:
    """Return what the conversation holds."""
    messages = graph.get_state(thread).values["messages"]
    return [(message.type, message.content, bool(getattr(message, "tool_calls", None))) for message in messages]


builder: Any = StateGraph(updates.State)
builder.add_node("ask", updates.node("ask", ask, [END]))
builder.add_edge(START, "ask")
graph: Any = builder.compile(checkpointer=MemorySaver())
thread: Any = {"configurable": {"thread_id": "1"}}

CALL = [("human", "Clean up.", False), ("ai", "", True)]
RESULT = [("tool", '{"delete": true}', False), ("ai", "What's your name?", False)]

graph.invoke({"messages": [("human", "Clean up.")]}, thread)
assert said() == CALL, said()
graph.invoke(Command(resume={"delete": True}), thread)
assert said() == CALL + RESULT, said()
graph.invoke(Command(resume="Ann"), thread)
assert said() == [*CALL, *RESULT, ("human", "Ann", False)], said()
assert done == ["some_file, by Ann"], done
assert not graph.get_state(thread).next
print("works with langgraph", version("langgraph"))
