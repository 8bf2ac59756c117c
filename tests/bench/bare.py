"""The four cases of I05 as a bare script: the packages under audit and nothing of ours. It is what a run is measured against."""

import json
import sys
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

ORIGINAL = {"recipient": "engineering@example.invalid", "document": "migration-note.md"}
EDITED = {"name": "send_document", "args": {**ORIGINAL, "recipient": "sdk-review@example.invalid"}}


class Model(BaseChatModel):
    """Proposes one call, then ends."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Model":
        """Accept tools."""
        return self

    def _generate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        spoken = any(isinstance(message, AIMessage) for message in messages)
        calls = [] if spoken else [{"id": "call-i05", "name": "send_document", "args": ORIGINAL}]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Done." if spoken else "", tool_calls=calls))])


def run(decision: dict[str, Any], **options: Any) -> list[dict[str, str]]:
    """Run one case and return what the tool received."""
    received = []

    @tool
    def send_document(recipient: str, document: str) -> str:
        """Send a document to a recipient."""
        received.append({"recipient": recipient, "document": document})
        return "sent"

    middleware = HumanInTheLoopMiddleware(interrupt_on={"send_document": True}, **options)
    agent = create_agent(Model(), [send_document], middleware=[middleware], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    agent.invoke({"messages": [("user", "Send the migration note to engineering.")]}, config)
    agent.invoke(Command(resume={"decisions": [decision]}), config)
    list(agent.get_state_history(config))
    return received


EDIT = {"type": "edit", "edited_action": EDITED}
found = [run({"type": "approve"}), run(EDIT), run({"type": "reject"}), run(EDIT, edit_notice=None)]
sys.exit(json.dumps(found) != json.dumps([[ORIGINAL], [EDITED["args"]], [], [EDITED["args"]]]))
