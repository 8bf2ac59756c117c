"""A reference implementation of the proposal that interrupt() may update the state. It is ours: langgraph has no such parameter.

The proposal (langgraph, "Extend interrupt() to Support State Updates") gives interrupt() a configuration of two functions, each of
which turns a value into a state update. Here that stands on langgraph's public names alone. A node writes into the state only by
ending, so this interrupt() ends its node twice for each question, each time with an update and the order to run the node again:

1. The question is new: the node ends with what `on_interrupt_update` makes of it.
2. The node runs again, the question is in the state: langgraph's interrupt() pauses.
3. It runs again with the answer: the node ends with what `on_resume_update` makes of that.
4. It runs again, the answer is in the state: interrupt() returns it, and the node goes on.

Each of these is one checkpoint, so neither a replay, nor a retry, nor a new process writes a pair twice. The price is that what
stands before a question runs four times, not two. A node that asks says where it leads, by `then`: an edge of langgraph's would
be followed each time that the node ends. Neither parallel nodes that meet again, nor Send, nor tools are supported.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph import types
from langgraph.errors import GraphInterrupt
from langgraph.graph import MessagesState, add_messages
from langgraph.types import Command

KEY = "interrupt_updates"
"""The key of the state under which stands what each node has asked and been answered in its present visit."""


class InterruptConfig(TypedDict):
    """What becomes of a question, and of its answer: functions from the value to a Command that has an update."""

    on_interrupt_update: Callable[[Any], Command[Any]]
    on_resume_update: Callable[[Any], Command[Any]]


class UpdateRefused(ValueError):
    """An update function raised, or returned something that is no update. The question may be answered, or asked, again."""


@dataclass(frozen=True)
class Asked:
    """The question that an update is made for: an id of its own in the thread, and its value."""

    id: str
    value: Any


def _joined(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return {**(left or {}), **(right or {})}


class State(MessagesState):
    """The state of a graph with such nodes."""

    interrupt_updates: Annotated[Mapping[str, Any], _joined]


class _Ends(BaseException):
    """Ends the node with an update; no `except Exception` of the node's own may catch it."""

    def __init__(self, update: Mapping[str, Any], asked: list[Any]) -> None:
        self.update, self.asked = update, asked


@dataclass
class _Visit:
    """One run of a node: the messages, what its visit has asked so far, how many visits before did, and how far it has come."""

    node: str
    messages: Sequence[Any]
    asked: list[Any]
    before: int
    come: int = field(default=0)


_VISIT: ContextVar[_Visit] = ContextVar("visit")

_ASKED: ContextVar[Asked] = ContextVar("asked")


def asked() -> Asked:
    """Return the question that an update function is called for: an answer alone does not say what it answers."""
    return _ASKED.get()


def node(name: str, function: Callable[[Any], Any], then: Sequence[str]) -> Callable[[Any], Command[Any]]:
    """Return a node that may ask: `function` takes the state and returns an update of it, or nothing, and `then` come next."""

    def run(state: Any) -> Command[Any]:
        known = (state.get(KEY) or {}).get(name, {"asked": [], "before": 0})
        visit = _Visit(name, state.get("messages") or [], known["asked"], known["before"])
        _VISIT.set(visit)
        try:
            update = function(state) or {}
        except _Ends as end:
            return Command(update={**end.update, KEY: {name: {**known, "asked": end.asked}}}, goto=name)
        return Command(update={**update, KEY: {name: {"asked": [], "before": visit.before + visit.come}}}, goto=list(then))

    return run


def interrupt(value: Any, config: InterruptConfig) -> Any:
    """Ask a person and return the answer, with the question and the answer in the state; only inside of a `node`."""
    visit = _VISIT.get()
    number = visit.come
    visit.come += 1
    question = Asked(f"{visit.node}-{visit.before + number + 1}", value)
    if number == len(visit.asked):
        raise _Ends(_update(config, "on_interrupt_update", question, value), [*visit.asked, {}])
    known, before = visit.asked[number], visit.asked[:number]
    if "answer" in known:
        return known["answer"]
    answer = _answer(value, known)
    try:
        update = _update(config, "on_resume_update", question, answer)
    except UpdateRefused as refused:
        # An error here would leave the bad answer with the task, and langgraph would give it to the node again and again.
        raise _Ends({}, [*before, {"refused": str(refused)}]) from None
    raise _Ends(update, [*before, {"answer": answer}])


def _answer(value: Any, known: Mapping[str, Any]) -> Any:
    """Pause for the answer; where the one before was refused, say so in place of the pause, as langgraph's task is a new one."""
    try:
        return types.interrupt(value)
    except GraphInterrupt:
        if "refused" in known:
            raise UpdateRefused(known["refused"]) from None
        raise


def _update(config: InterruptConfig, which: str, question: Asked, value: Any) -> Mapping[str, Any]:
    _ASKED.set(question)
    try:
        made = config[which](value)  # type: ignore[literal-required]
    except Exception as error:
        raise UpdateRefused(f"{which} raised {type(error).__name__}: {error}") from error
    update = made.update if isinstance(made, Command) else None
    if not isinstance(update, Mapping):
        raise UpdateRefused(f"{which} returned a {type(made).__name__}, which is no Command with an update")
    try:
        add_messages(list(_VISIT.get().messages), update.get("messages", []))
    except Exception as error:
        raise UpdateRefused(f"{which} returned messages that cannot be added: {type(error).__name__}") from error
    return update


def _question(value: Any) -> Command[Any]:
    """Write a text as a message of the assistant, and what has the shape of a tool call as a call of it."""
    name = f"{asked().id}-question"
    if _is_call(value):
        calls = [{"name": value["name"], "args": value["args"], "id": asked().id}]
        return Command(update={"messages": [AIMessage("", tool_calls=calls, id=name)]})
    return Command(update={"messages": [AIMessage(_text(value), id=name)]})


def _result(value: Any) -> Command[Any]:
    """Write the answer to a call as its result, and every other as a message of the person."""
    name = f"{asked().id}-answer"
    if _is_call(asked().value):
        return Command(update={"messages": [ToolMessage(_text(value), tool_call_id=asked().id, id=name)]})
    return Command(update={"messages": [HumanMessage(_text(value), id=name)]})


def _is_call(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("name"), str) and isinstance(value.get("args"), Mapping)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


update_messages_interrupt_config: InterruptConfig = {"on_interrupt_update": _question, "on_resume_update": _result}
"""The ready-made configuration of the proposal."""
