"""A bare graph as the subject: its nodes do what the case says, ask by interrupt() or by the reference implementation, and act."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, RetryPolicy, interrupt
from pydantic import BaseModel, create_model

from probe import interrupt_updates
from probe.interrupt_updates import InterruptConfig, update_messages_interrupt_config
from probe.journal import Journal
from probe.middleware import require
from probe.tools import TYPES

Effects = Mapping[str, Callable[..., str]]
"""The body of each tool of the case, by name: it records the dispatch."""


class NodeFailed(Exception):
    """What a node raises where its case says that it fails."""


class UpdateFailed(Exception):
    """What an update function raises where its case says that it fails."""


def build(case: Mapping[str, Any], journal: Journal, model: Any, tools: list[BaseTool], effects: Effects, saver: Any) -> Any:
    """Return the graph that a case describes, compiled; what a release has not is unsupported."""
    subject = case["subject"]
    questions = {question["name"]: question for question in subject.get("questions", [])}
    if any("schema" in question or "typed" in question for question in questions.values()):
        require(interrupt, "response_schema", "interrupt")
    acting = _Acting(questions, journal, model, effects, updates="interrupt" in subject)
    builder = StateGraph(interrupt_updates.State if acting.updates else MessagesState)
    for data in subject["nodes"]:
        _add(builder, data, subject["nodes"], acting, tools)
    _start(builder, subject["nodes"])
    return builder.compile(checkpointer=saver, interrupt_before=subject.get("interrupt_before", []))


def _add(builder: Any, data: Mapping[str, Any], nodes: list[Mapping[str, Any]], acting: "_Acting", tools: list[BaseTool]) -> None:
    """Add a node and the edges that leave it; one that asks through the reference implementation says itself where it leads."""
    name = data["name"]
    following = [node["name"] for node in nodes if _before(node, nodes) == name] or [END]
    policy = RetryPolicy(max_attempts=data["retries"] + 1, initial_interval=0, jitter=False) if "retries" in data else None
    leads = acting.updates and any("ask" in act for act in data.get("acts", []))
    if "tools" in data:
        action: Any = ToolNode(tools)
    elif leads:
        action = interrupt_updates.node(name, acting.node(data), following)
    else:
        action = acting.node(data)
    builder.add_node(name, action, retry_policy=policy)
    for then in [] if leads else following:
        builder.add_edge(name, then)


def _before(node: Mapping[str, Any], nodes: list[Mapping[str, Any]]) -> str:
    """Return what a node follows: what it says, the start if it waits for a text there, else the node before it."""
    place = nodes.index(node)
    usual = "start" if "on" in node or not place else str(nodes[place - 1]["name"])
    return str(node.get("after", usual))


def _start(builder: Any, nodes: list[Mapping[str, Any]]) -> None:
    """Begin with the nodes that follow the start: those that wait for the text said last, or else those that wait for none."""
    first = [node for node in nodes if _before(node, nodes) == "start"]

    def chosen(state: Mapping[str, Any]) -> list[str]:
        said = state["messages"][-1].content if state.get("messages") else None
        waiting = [node["name"] for node in first if node.get("on") == said and "on" in node]
        return waiting or [node["name"] for node in first if "on" not in node] or [END]

    if any("on" in node for node in first):
        builder.add_conditional_edges(START, chosen, [*(node["name"] for node in first), END])
        return
    for node in first:
        builder.add_edge(START, node["name"])


@dataclass
class _Run:
    """One run of a node: what it was answered, what the model proposed in it, and what it adds to the messages."""

    node: str
    state: Mapping[str, Any]
    messages: list[AnyMessage] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    calls: list[Any] = field(default_factory=list)


class _Acting:
    """What the nodes of a case do, act by act."""

    def __init__(self, questions: Mapping[str, Any], journal: Journal, model: Any, effects: Effects, *, updates: bool) -> None:
        self.updates = updates
        self._questions = questions
        self._journal = journal
        self._model = model
        self._effects = effects
        self._acts: Mapping[str, Callable[[Mapping[str, Any], _Run], None]] = {
            "before": self._before,
            "ask": self._ask,
            "effect": self._effect,
            "proposed": self._proposed,
            "say": self._say,
            "model": self._speak,
            "raise": self._raise,
        }

    def node(self, data: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Any]:
        """Return the function of a node."""

        def run(state: Mapping[str, Any]) -> dict[str, Any]:
            at_hand = _Run(data["name"], state)
            for act in data["acts"]:
                (does,) = (does for name, does in self._acts.items() if name in act)
                does(act, at_hand)
            return {"messages": at_hand.messages}

        # Of the type of the state langgraph learns from the annotation, and a plain mapping is none.
        run.__annotations__ = {}
        return run

    def _before(self, act: Mapping[str, Any], run: _Run) -> None:
        self._journal.observe("node", node=run.node, event="before", what=act["before"])

    def _ask(self, act: Mapping[str, Any], run: _Run) -> None:
        question = self._questions[act["ask"]]
        value = _shown(run.calls, question["call"]) if "call" in question else question["value"]
        if self.updates:
            run.answers[act["ask"]] = interrupt_updates.interrupt(value, self._config(question, run))
        else:
            answer = interrupt(value, **_schema(question))
            run.answers[act["ask"]] = answer.model_dump() if isinstance(answer, BaseModel) else answer

    def _effect(self, act: Mapping[str, Any], run: _Run) -> None:
        if not self._goes(act, run):
            return
        answers = {name: run.answers[question] for name, question in act.get("answers", {}).items()}
        about = {"tool_call_id": act["if"]} if "if" in act else {}
        self._effects[act["effect"]](**act.get("args", {}), **answers, **about)

    def _proposed(self, act: Mapping[str, Any], run: _Run) -> None:
        if self._goes(act, run):
            for call in run.calls:
                self._effects[call["name"]](**call["args"], tool_call_id=call["id"])

    def _goes(self, act: Mapping[str, Any], run: _Run) -> bool:
        return "if" not in act or run.answers[act["if"]] in self._questions[act["if"]].get("goes", [])

    def _say(self, act: Mapping[str, Any], run: _Run) -> None:
        run.messages.append(AIMessage(act["say"]))

    def _speak(self, act: Mapping[str, Any], run: _Run) -> None:
        said: BaseMessage = self._model.invoke([*run.state.get("messages", []), *run.messages])
        run.messages.append(said)
        run.calls += said.tool_calls if isinstance(said, AIMessage) else []

    def _raise(self, act: Mapping[str, Any], run: _Run) -> None:
        if self._journal.count("node", node=run.node, event="raised") < act["raise"]:
            self._journal.observe("node", node=run.node, event="raised", what=NodeFailed.__name__)
            raise NodeFailed

    def _config(self, question: Mapping[str, Any], run: _Run) -> InterruptConfig:
        """Return the ready-made configuration, one function of which fails first where the case says so."""
        config = update_messages_interrupt_config.copy()
        if "fails" in question:
            which = f"on_{question['fails']['on']}_update"
            config[which] = self._failing(question, run, config[which])  # type: ignore[literal-required]
        return config

    def _failing(self, question: Mapping[str, Any], run: _Run, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        how, runs = question["fails"]["how"], question["fails"]["runs"]

        def update(value: Any) -> Any:
            if self._journal.count("node", node=run.node, event="refused", what=question["name"]) >= runs:
                return function(value)
            self._journal.observe("node", node=run.node, event="refused", what=question["name"])
            if how == "raise":
                raise UpdateFailed
            return "no update" if how == "return-text" else Command(update={"messages": 5})

        return update


def _schema(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an answer, if the case gives one: as it is, or as a model against which langgraph holds the answer."""
    if "typed" in question:
        fields: dict[str, Any] = {name: (TYPES[kind], ...) for name, kind in question["typed"].items()}
        return {"response_schema": create_model("Answer", **fields)}
    return {"response_schema": question["schema"]} if "schema" in question else {}


def _shown(calls: list[Any], wanted: str) -> dict[str, Any]:
    """Return what is shown of a call that the model proposed in this run."""
    (call,) = (call for call in calls if call["id"] == wanted)
    return {"call": wanted, "name": call["name"], "args": call["args"]}
