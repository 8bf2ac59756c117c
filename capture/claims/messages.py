"""Claims about the conversation: what it keeps of a proposal, and what the model is told about a call."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from capture.authority import Answer, Call, decided, proposals, same
from capture.claims.conversation import Message, answers, unread
from capture.claims.registry import Fault, Finding, claim, evidence
from capture.history import CaseHistory

_I05 = "The record I05, from its static trace of the middleware: history keeps the model's proposal under the same call id."
_REJECTION = "langchain, HumanInTheLoopMiddleware: a rejection is answered with an error tool message."
_NOTICE = "langchain, HumanInTheLoopMiddleware, `edit_notice`: text prepended to the result of an edited call; None adds nothing."


@claim(
    "messages/proposal-kept",
    version=1,
    sentence="Each conversation returned holds every call proposed by then once, under its id as the model wrote it, and no other.",
    promised=_I05,
    vantages=("prompt",),
)
def proposal_kept(history: CaseHistory) -> Finding:
    """Examine every proposed call, in each conversation that a step returned."""
    wanted = proposals(history)
    if history.final_messages() is None:
        return unread(len(wanted))
    faults = [fault for entry in history.of("messages") for fault in _unkept(proposals(history, entry["step"]), entry["messages"])]
    return Finding(len(wanted), tuple(faults))


@claim(
    "messages/one-answer",
    version=1,
    sentence="Once the run has ended, exactly one tool message answers each proposed call, and none answers anything else.",
    promised="langchain, create_agent: every tool call in the conversation is paired with one tool message.",
    vantages=("prompt",),
)
def one_answer(history: CaseHistory) -> Finding:
    """Examine every proposed call of a run that ended, and every tool message."""
    wanted = [call.id for call in proposals(history)]
    messages = history.final_messages()
    if messages is None or history.last_outcome() != "ended":
        return unread(len(wanted))
    answered = [message["answers"] for message in messages if "answers" in message]
    counts = {call: answered.count(call) for call in [*wanted, *answered]}
    wrong = {call: count for call, count in counts.items() if count != int(call in wanted)}
    return Finding(
        len(counts), tuple(Fault(evidence("messages", call, count), int(call in wanted), count) for call, count in wrong.items())
    )


@claim(
    "messages/rejection-is-error",
    version=1,
    sentence="The tool message that answers a rejected call has the status error.",
    promised=_REJECTION,
    vantages=("prompt", "review"),
)
def rejection_is_error(history: CaseHistory) -> Finding:
    """Examine every tool message that answers a rejected call."""
    return _rejections(history, answers)


@claim(
    "messages/rejection-is-error",
    version=2,
    sentence="The last tool message that answers a rejected call has the status error.",
    promised=_REJECTION,
    vantages=("prompt", "review"),
)
def last_answer_of_rejection_is_error(history: CaseHistory) -> Finding:
    """Examine the last tool message that answers each rejected call: an id may have been another call's before."""
    return _rejections(history, lambda messages, call: answers(messages, call)[-1:])


def _rejections(history: CaseHistory, told: Callable[[list[Message], str | None], list[Message]]) -> Finding:
    """Find what is wrong with those messages that count as what was told about each rejected call."""
    rejected = decided(history, "reject")
    messages = history.final_messages()
    if messages is None:
        return unread(len(rejected))
    pairs = [(call, message) for call in rejected for message in told(messages, call)]
    wrong = [(call, message) for call, message in pairs if message["status"] != "error"]
    return Finding(len(pairs), tuple(Fault(evidence("messages", call), "error", message["status"]) for call, message in wrong))


@claim(
    "messages/edit-stated",
    version=1,
    sentence="The tool message that answers an edited call states each value that the edit put in place.",
    promised=_NOTICE,
    vantages=("prompt", "review"),
)
def edit_stated(history: CaseHistory) -> Finding:
    """Examine every value that an edit put in place and that nothing else in the case would state, in the call's answer."""
    values = list(_edited(history))
    messages = history.final_messages()
    if messages is None:
        return unread(len(values))
    pairs = [(call, value, message) for call, value in values for message in answers(messages, call)]
    unstated = [(call, value, message) for call, value, message in pairs if not _states(message, value)]
    return Finding(
        len(pairs), tuple(Fault(evidence("messages", call), value, message["content"]) for call, value, message in unstated)
    )


@claim(
    "messages/edit-unstated",
    version=1,
    sentence="With the notice off, no message of the final conversation states a value that an edit put in place.",
    promised=_NOTICE,
    vantages=("prompt", "review"),
)
def edit_unstated(history: CaseHistory) -> Finding:
    """Examine every value that an edit put in place and that nothing else in the case would state, in every message."""
    values = list(_edited(history))
    messages = history.final_messages()
    if messages is None or history.last_outcome() != "ended":
        return unread(len(values))
    stated = [
        (call, value, number)
        for call, value in values
        for number, message in enumerate(messages, start=1)
        if _states(message, value)
    ]
    return Finding(len(values), tuple(Fault(evidence("messages", call, number), None, value) for call, value, number in stated))


def _unkept(wanted: list[Call], messages: list[Message]) -> Iterator[Fault]:
    """Yield a fault for each call that a conversation does not hold once and as proposed, and for each that it makes up."""
    kept = [Call(call["id"], call["tool"], call["args"]) for message in messages for call in message.get("calls", [])]
    for call in wanted:
        own = [found for found in kept if found.id == call.id]
        if len(own) != 1 or own[0].tool != call.tool or not same(own[0].args, call.args):
            yield Fault(evidence("messages", call.id, len(own)), _action(call), [_action(found) for found in own])
    for found in kept:
        if found.id not in [call.id for call in wanted]:
            yield Fault(evidence("messages", found.id), None, _action(found))


def _action(call: Call) -> dict[str, Any]:
    return {"tool": call.tool, "args": call.args}


def _edited(history: CaseHistory) -> Iterator[tuple[str | None, Any]]:
    """Yield each value that an edit put in place, with its call; not one that the case itself makes others say."""
    subject = history.scenario["subject"]
    # What a body receives is said to nobody.
    tools = [{key: value for key, value in tool.items() if key != "receives"} for tool in subject["tools"]]
    said = list(_leaves([history.scenario["script"], {**subject, "tools": tools}, _texts(history)]))
    for call, answer in decided(history, "edit").items():
        for value in _replaced(history, call, answer):
            if value != "" and not any(_in(form, text) for form in _forms(value) for text in said):
                yield call, value


def _texts(history: CaseHistory) -> list[str]:
    return [step["text"] for step in history.scenario["steps"] if "text" in step]


def _replaced(history: CaseHistory, call: str | None, answer: Answer) -> Iterator[Any]:
    proposed = next((known.args for known in proposals(history) if known.id == call), {})
    for key, value in answer.decision["edited_action"]["args"].items():
        if key not in proposed or not same(proposed[key], value):
            yield value


def _states(message: Message, value: Any) -> bool:
    """Tell whether what a message says, or the arguments of its calls, show a value."""
    leaves = list(_leaves([message.get("content"), [call["args"] for call in message.get("calls", [])]]))
    return any(_in(form, text) for form in _forms(value) for text in leaves)


def _forms(value: Any) -> set[str]:
    """Return the ways in which a text may show a value: as it is, or as JSON with or without characters beyond ASCII."""
    if isinstance(value, str):
        return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return {json.dumps(value), json.dumps(value, ensure_ascii=False)}


def _in(form: str, text: str) -> bool:
    """Tell whether a text holds a form, not as a part of a longer word."""
    return re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text) is not None


def _leaves(value: Any) -> Iterator[str]:
    """Yield every text in a value, and every other value without parts as its JSON; names of keys are not said."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    elif value is not None:
        yield value if isinstance(value, str) else json.dumps(value)
