"""The subject of a case and what the operator does to it, step by step."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from probe import middleware
from probe.journal import Journal
from probe.model import ScriptedModel
from probe.observer import checkpoints, message_record, reviews
from probe.tools import recording_tool

_CONFIG = {"configurable": {"thread_id": "thread-1"}}


class Subject:
    """An agent built from a case's data, on one thread, and the journal that records what is seen of it."""

    def __init__(self, case: dict[str, Any], journal: Journal) -> None:
        """Keep the case; nothing is built yet."""
        self._case = case
        self._journal = journal
        self._known: set[str] = set()
        self._agent: Any = None

    def build(self) -> str:
        """Build the agent; return `done`, `unsupported`, or `raised` if its own construction raised."""
        try:
            stack = middleware.build(self._case["subject"].get("middleware", []))
            self._agent = self._create(stack)
        except middleware.Unsupported as missing:
            self._journal.write("unsupported", feature=str(missing))
            return "unsupported"
        except Exception as error:
            self._journal.write("outcome", status="raised", error=type(error).__name__)
            return "raised"
        self._journal.write("outcome", status="built")
        return "done"

    def take(self, number: int) -> None:
        """Take the step with this number (from 1) and record what came of it."""
        self._journal.step = number
        try:
            output = self._agent.invoke(_input(self._case["steps"][number - 1], number), _CONFIG)
        except Exception as error:
            self._journal.write("outcome", status="raised", error=type(error).__name__)
        else:
            self._observe(output)
        self._observe_checkpoints()

    def _create(self, stack: list[Any]) -> Any:
        subject = self._case["subject"]
        tools = [recording_tool(tool, self._journal) for tool in subject["tools"]]
        model = ScriptedModel(script=self._case["script"], journal=self._journal)
        return create_agent(model, tools, middleware=stack, checkpointer=InMemorySaver())

    def _observe(self, output: dict[str, Any]) -> None:
        questions = reviews(output)
        self._journal.write("outcome", status="paused" if questions else "ended")
        for question in questions:
            self._journal.observe("review", **question)
        self._journal.observe("output", keys=sorted(output))
        self._journal.observe("messages", messages=[message_record(message) for message in output["messages"]])

    def _observe_checkpoints(self) -> None:
        for record in checkpoints(self._agent, _CONFIG):
            if record["checkpoint"] not in self._known:
                self._known.add(record["checkpoint"])
                self._journal.observe("checkpoint", **record)


def _input(step: dict[str, Any], number: int) -> Any:
    if step["do"] == "invoke":
        return {"messages": [HumanMessage(step["text"], id=f"human-{number}")]}
    decisions = [{key: decision[key] for key in decision if key != "call"} for decision in step["decisions"]]
    return Command(resume={"decisions": decisions})
