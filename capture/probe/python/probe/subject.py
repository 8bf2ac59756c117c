"""The subject of a case and what the operator does to it, step by step."""

import time
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from probe import gate, middleware, updates, ways
from probe.journal import BRANCH, Journal
from probe.model import ScriptedModel
from probe.observer import checkpoints, message_record
from probe.questions import Impossible, Questions
from probe.tools import recording_tool
from probe.ways import Returned

_THREAD = {"thread_id": "thread-1"}

_NOTHING_MOVES_SECONDS = 0.002


class Subject:
    """An agent built from a case's data, on one thread, and the journal that records what is seen of it."""

    def __init__(self, case: dict[str, Any], journal: Journal) -> None:
        """Keep the case; nothing is built yet."""
        self._case = case
        self._journal = journal
        self._known: set[str] = set()
        self._questions = Questions()
        self._paused: list[str] = []
        self._agent: Any = None

    def build(self) -> str:
        """Build the agent; return `done`, `unsupported`, or `raised` if its own construction raised."""
        try:
            stack = middleware.build(self._case["subject"].get("middleware", []), self._journal)
            self._agent = self._create(stack)
            self._check()
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
        step = self._case["steps"][number - 1]
        if step["do"] == "concurrently":
            gate.overlap([partial(self._do, part, number) for part in step["steps"]])
        else:
            self._do(step, number)
        if self._case["subject"]["checkpointer"] != "none":
            self._observe_checkpoints()

    def _create(self, stack: list[Any]) -> Any:
        subject = self._case["subject"]
        tools = [recording_tool(tool, self._journal) for tool in subject["tools"]]
        saver = InMemorySaver() if subject["checkpointer"] == "memory" else None
        model = ScriptedModel(script=self._case["script"], journal=self._journal)
        return create_agent(model, tools, middleware=stack, checkpointer=saver)

    def _check(self) -> None:
        """Refuse a release that lacks what the steps need, before any of them is taken."""
        if "durability" in self._case["subject"]:
            middleware.require(self._agent.invoke, "durability", "invoke")
        ways.check(self._agent, [part for step in self._case["steps"] for part in step.get("steps", [step])])

    def _do(self, step: dict[str, Any], number: int) -> None:
        """Do one thing and record how it ended."""
        try:
            if step["do"] == "wait":
                self._wait()
            elif step["do"] == "update-state":
                self._update(step)
            else:
                self._observe(self._run(step, number), step)
        except Impossible:
            self._journal.write("outcome", status="impossible")
        except Exception as error:
            self._journal.write("outcome", status="raised", error=type(error).__name__)

    def _run(self, step: dict[str, Any], number: int) -> Returned:
        subject = self._case["subject"]
        options = {"durability": subject["durability"]} if "durability" in subject else {}
        given, config = self._given(step, number), self._config(step)
        return ways.run(self._agent, given, config, step.get("through"), is_async=subject.get("run") == "async", options=options)

    def _given(self, step: dict[str, Any], number: int) -> Any:
        """Return what the step puts in: a message, an answer, or nothing."""
        branch = [str(BRANCH.get())] if BRANCH.get() else []
        if step["do"] in ("invoke", "message"):
            return {"messages": [HumanMessage(step["text"], id="-".join(["human", str(number), *branch]))]}
        return Command(resume=self._questions.answer(step)) if step["do"] == "resume" else None

    def _config(self, step: dict[str, Any]) -> dict[str, Any]:
        place = {"checkpoint_id": self._chosen(step["at"]), "checkpoint_ns": ""} if "at" in step else {}
        limit = {key: value for key, value in self._case["subject"].items() if key == "max_concurrency"}
        return {"configurable": {**_THREAD, **place}, **limit}

    def _chosen(self, at: dict[str, Any]) -> str:
        """Return the id of the checkpoint that a step goes back to: one that was paused, or one by what comes next."""
        if "paused" in at:
            found = self._paused
            number = at["paused"]
        else:
            snapshots = reversed(list(self._agent.get_state_history({"configurable": _THREAD})))
            found = [item.config["configurable"]["checkpoint_id"] for item in snapshots if at["next"] in item.next]
            number = at.get("number", len(found))
        if not 0 < number <= len(found):
            raise Impossible
        return str(found[number - 1])

    def _update(self, step: dict[str, Any]) -> None:
        """Write into the thread's messages, as another node would."""
        self._agent.update_state(self._config(step), {"messages": updates.messages(step["messages"])}, as_node=step.get("as_node"))
        self._journal.write("outcome", status="updated")

    def _wait(self) -> None:
        """Wait until no run of a tool's body is under way; how long that may take is the orchestrator's limit for a step."""
        counts = self._journal.count
        while counts("dispatch", event="entered") > counts("dispatch", event="returned") + counts("dispatch", event="raised"):
            time.sleep(_NOTHING_MOVES_SECONDS)
        self._journal.write("outcome", status="waited")

    def _observe(self, returned: Returned, step: dict[str, Any]) -> None:
        questions = self._questions.ask(returned.interrupts)
        self._journal.write("outcome", status="paused" if questions else "ended")
        if questions and self._case["subject"]["checkpointer"] != "none":
            self._paused.append(self._agent.get_state({"configurable": _THREAD}).config["configurable"]["checkpoint_id"])
        for question in questions:
            self._journal.observe("review", **question)
        if returned.streamed is None:
            form = {} if returned.form is None else {"form": returned.form}
            self._journal.observe("output", keys=sorted(returned.values), **form)
        else:
            self._journal.observe("stream", through=step["through"], **returned.streamed)
        self._journal.observe("messages", messages=[message_record(message) for message in returned.values["messages"]])

    def _observe_checkpoints(self) -> None:
        for record in checkpoints(self._agent, {"configurable": _THREAD}, self._known):
            self._journal.observe("checkpoint", **record)
