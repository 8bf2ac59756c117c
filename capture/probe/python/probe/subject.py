"""The subject of a case, an agent or a bare graph, and what the operator does to it, step by step."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.types import Command

from probe import gate, graph, middleware, updates, ways
from probe.checkpointer import Checkpointer, delegating, is_of_a_driver, is_there
from probe.death import Crash
from probe.journal import BRANCH, Journal
from probe.model import ScriptedModel
from probe.observer import checkpoints, message_record
from probe.questions import Impossible, Questions
from probe.tools import Body, recording_tool
from probe.ways import Returned

_THREAD = {"thread_id": "thread-1"}

_NOTHING_MOVES_SECONDS = 0.002


class Subject:
    """An agent or a graph built from a case's data, on one thread, and the journal that records what is seen of it."""

    def __init__(self, case: dict[str, Any], journal: Journal, place: dict[str, str], sinks: dict[str, Any]) -> None:
        """Keep the case, where its thread is kept, and the sinks of what its tools send; nothing is built yet."""
        self._case = case
        self._journal = journal
        self._place = place
        self._sinks = sinks
        self._known: set[str] = set()
        self._questions = Questions(case["subject"].get("questions", []))
        self._paused: list[str] = []
        self._crash = Crash(journal)
        self._checkpointer: Checkpointer | None = None
        self._agent: Any = None

    def build(self) -> str:
        """Build the agent; return `done`, `unsupported`, or `raised` if its own construction raised."""
        try:
            stack = middleware.build(self._case["subject"].get("middleware", []), self._journal)
            self._open()
            self._agent = self._create(stack)
            self._check()
        except middleware.Unsupported as missing:
            self._journal.write("unsupported", feature=str(missing))
            return "unsupported"
        except Exception as error:
            self._raised(error)
            return "raised"
        self._journal.write("outcome", status="built")
        return "done"

    def build_again(self, number: int, *, recovering: bool) -> str:
        """Build the agent in a new process, in the middle of a step, and record what of the thread is there."""
        self._journal.step = number
        entries = list(self._journal.entries())
        self._questions.recall(entries)
        self._known = {entry["checkpoint"] for entry in entries if entry.get("vantage") == "checkpoint"}
        try:
            self._open()
            self._agent = self._create(middleware.build(self._case["subject"].get("middleware", []), self._journal))
            if recovering:
                self.look()
                self._recover()
        except Exception as error:
            if not self._is_the_checkpointer(error):
                raise
            return "raised"
        return "done"

    def take(self, number: int) -> None:
        """Take the step with this number (from 1) and record what came of it."""
        self._journal.step = number
        step = self._case["steps"][number - 1]
        if step["do"] == "concurrently":
            gate.overlap([partial(self._do, part, number) for part in step["steps"]])
        else:
            self._do(step, number)
        self.look()

    def take_part(self, number: int, branch: int, held: Callable[[], None]) -> None:
        """Take one part of a step, the others of which are taken by other processes, and say so when a gate holds it."""
        self._journal.step = number
        part = self._case["steps"][number - 1]["steps"][branch - 1]
        gate.apart(branch, partial(self._do, part, number), held)

    def look(self) -> None:
        """Record the checkpoints that are new."""
        if self._case["subject"]["checkpointer"] == "none":
            return
        try:
            for record in checkpoints(self._agent, {"configurable": _THREAD}, self._known):
                self._journal.observe("checkpoint", **record)
        except Exception as error:
            if not self._is_the_checkpointer(error):
                raise

    def close(self) -> None:
        """Leave what keeps the thread."""
        if self._checkpointer is None:
            return
        try:
            self._checkpointer.close()
        except Exception as error:
            if not is_of_a_driver(error):
                raise

    def _open(self) -> None:
        kind = self._case["subject"]["checkpointer"]
        if not is_there(kind):
            raise middleware.Unsupported(f"checkpointer {kind}")
        self._checkpointer = Checkpointer(kind, self._place, is_async=self._case["subject"].get("run") == "async")

    def _create(self, stack: list[Any]) -> Any:
        subject = self._case["subject"]
        asked = subject.get("questions", [])
        bodies = {data["name"]: Body(data, self._journal, self._sinks, asked) for data in subject["tools"]}
        tools = [recording_tool(data, bodies[data["name"]]) for data in subject["tools"]]
        model = ScriptedModel(script=self._case["script"], journal=self._journal)
        if subject["kind"] == "graph":
            effects = {name: body.run for name, body in bodies.items()}
            return graph.build(self._case, self._journal, model, tools, effects, self._saver())
        return create_agent(model, tools, middleware=stack, checkpointer=self._saver())

    def _saver(self) -> Any:
        if self._checkpointer is None or not any("crash" in step for step in self._case["steps"]):
            return self._checkpointer and self._checkpointer.saver
        return delegating(self._checkpointer.saver, self._crash.told)

    def _recover(self) -> None:
        """Record how the thread is found: at which checkpoint, what comes next, what is asked."""
        if self._case["subject"]["checkpointer"] == "none":
            return
        state = self._agent.get_state({"configurable": _THREAD})
        self._journal.observe(
            "recovered",
            checkpoint=state.config["configurable"].get("checkpoint_id"),
            next=list(state.next),
            questions=[item.id for item in state.interrupts],
        )

    def _raised(self, error: Exception) -> None:
        if not self._is_the_checkpointer(error):
            self._journal.write("outcome", status="raised", error=type(error).__name__)

    def _is_the_checkpointer(self, error: Exception) -> bool:
        """Tell whether an error is of what keeps the thread, and then say that nothing can be known of the subject any more."""
        if not is_of_a_driver(error):
            return False
        kind = self._case["subject"]["checkpointer"]
        self._journal.write("fault", reason="checkpointer", detail=f"{kind}: {type(error).__name__}")
        return True

    def _check(self) -> None:
        """Refuse a release that lacks what the steps need, before any of them is taken."""
        if "durability" in self._case["subject"]:
            middleware.require(self._agent.invoke, "durability", "invoke")
        ways.check(self._agent, [part for step in self._case["steps"] for part in step.get("steps", [step])])

    def _do(self, step: dict[str, Any], number: int) -> None:
        """Do one thing and record how it ended."""
        self._crash.expect(step.get("crash"))
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
            self._raised(error)

    def _run(self, step: dict[str, Any], number: int) -> Returned:
        subject = self._case["subject"]
        options = {"durability": subject["durability"]} if "durability" in subject else {}
        given, config = self._given(step, number), self._config(step)
        execute = self._checkpointer.run if self._checkpointer and subject.get("run") == "async" else None
        return ways.run(self._agent, given, config, step.get("through"), execute=execute, options=options)

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
        self._journal.write("outcome", status="paused" if questions else self._left())
        if questions and self._case["subject"]["checkpointer"] != "none":
            self._paused.append(self._agent.get_state({"configurable": _THREAD}).config["configurable"]["checkpoint_id"])
        for question in questions:
            self._journal.observe("review", **question)
        if returned.streamed is None:
            form = {} if returned.form is None else {"form": returned.form}
            self._journal.observe("output", keys=sorted(returned.values), **form)
        else:
            self._journal.observe("stream", through=step["through"], **returned.streamed)
        # A graph that was resumed before anybody said anything returns no messages.
        self._journal.observe("messages", messages=[message_record(message) for message in returned.values.get("messages", [])])

    def _left(self) -> str:
        """Say how a step without a question left the thread: at a breakpoint of the graph, or at its end."""
        breaks = "interrupt_before" in self._case["subject"]
        return "stopped" if breaks and self._agent.get_state({"configurable": _THREAD}).next else "ended"
