"""Claims about the conversation: what it keeps of a proposal, and what the model is told about a call."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from capture.authority import Call, decided, proposals, same
from capture.claims.registry import Fault, Finding, claim, evidence
from capture.document import line
from capture.history import CaseHistory

_I05 = "The record I05, from its static trace of the middleware: history keeps the model's proposal under the same call id."
_NOTICE = "langchain, HumanInTheLoopMiddleware, `edit_notice`: text prepended to the result of an edited call; None adds nothing."


@claim(
    "messages/proposal-kept",
    version=1,
    sentence="The final conversation holds every proposed call under its id, with the tool and arguments that the model wrote.",
    promised=_I05,
    vantages=("prompt", "messages"),
)
def proposal_kept(history: CaseHistory) -> Finding:
    """Examine every proposed call, once the last step returned a conversation."""
    kept = {call["id"]: call for message in _messages(history) for call in message.get("calls", [])}
    wanted = _reported(history)
    faults = tuple(_not_kept(call, kept.get(call.id)) for call in wanted if not _keeps(kept.get(call.id), call))
    return Finding(len(wanted), faults)


@claim(
    "messages/one-answer",
    version=1,
    sentence="The final conversation answers every proposed call with exactly one tool message under its id.",
    promised="langchain, create_agent: every tool call in the conversation is paired with one tool message.",
    vantages=("prompt", "messages"),
)
def one_answer(history: CaseHistory) -> Finding:
    """Examine every proposed call of a run that ended."""
    if history.last_outcome() != "ended":
        return Finding(0)
    counts = {call.id: len(_answers(history, call.id)) for call in proposals(history)}
    faults = tuple(Fault(evidence("messages", call, count), 1, count) for call, count in counts.items() if count != 1)
    return Finding(len(counts), faults)


@claim(
    "messages/rejection-is-error",
    version=1,
    sentence="The tool message that answers a rejected call has the status error.",
    promised="langchain, HumanInTheLoopMiddleware: a rejection is answered with an error tool message.",
    vantages=("prompt", "review", "messages"),
)
def rejection_is_error(history: CaseHistory) -> Finding:
    """Examine every tool message that answers a rejected call."""
    answers = [(call, message) for call in decided(history, "reject") for message in _answers(history, call)]
    faults = tuple(
        Fault(evidence("messages", call), "error", message.get("status"))
        for call, message in answers
        if message.get("status") != "error"
    )
    return Finding(len(answers), faults)


@claim(
    "messages/edit-stated",
    version=1,
    sentence="The tool message that answers an edited call states the arguments that the edit put in place.",
    promised=_NOTICE,
    vantages=("prompt", "review", "messages"),
)
def edit_stated(history: CaseHistory) -> Finding:
    """Examine every tool message that answers an edited call."""
    edits = [
        (call, decision, message) for call, decision in decided(history, "edit").items() for message in _answers(history, call)
    ]
    faults = tuple(
        Fault(evidence("messages", call), value, message["content"])
        for call, decision, message in edits
        for value in _replaced(history, call, decision)
        if not _states(message["content"], value)
    )
    return Finding(len(edits), faults)


@claim(
    "messages/edit-unstated",
    version=1,
    sentence="With the notice off, no message of the final conversation states what an edit put in place.",
    promised=_NOTICE,
    vantages=("prompt", "review", "messages"),
)
def edit_unstated(history: CaseHistory) -> Finding:
    """Examine every edited call of a run that ended; what is looked for is each value that the edit changed."""
    edits = decided(history, "edit") if history.last_outcome() == "ended" else {}
    faults = tuple(
        Fault(evidence("messages", call, number), None, value)
        for call, decision in edits.items()
        for value in _replaced(history, call, decision)
        for number, message in enumerate(_messages(history), start=1)
        if _states(_visible(message), value)
    )
    return Finding(len(edits), faults)


def _messages(history: CaseHistory) -> Iterable[Mapping[str, Any]]:
    return history.final_messages() or []


def _reported(history: CaseHistory) -> list[Call]:
    """Return the calls proposed up to the last step that returned a conversation."""
    steps = [entry["step"] for entry in history.of("messages")]
    return proposals(history, steps[-1]) if steps else []


def _answers(history: CaseHistory, call: str | None) -> list[Mapping[str, Any]]:
    return [message for message in _messages(history) if "answers" in message and message["answers"] == call]


def _replaced(history: CaseHistory, call: str | None, decision: Mapping[str, Any]) -> Iterator[Any]:
    """Yield each argument value that an edit changed."""
    proposed = next((known.args for known in proposals(history) if known.id == call), {})
    for key, value in decision["edited_action"]["args"].items():
        if key not in proposed or not same(proposed[key], value):
            yield value


def _states(content: object, value: object) -> bool:
    """Tell whether a content shows a value, not as a part of a longer word: as itself if it is text, else as JSON."""
    text = value if isinstance(value, str) else line(value).decode().strip()
    shown = content if isinstance(content, str) else line(content).decode()
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", shown) is not None


def _visible(message: Mapping[str, Any]) -> object:
    return {key: message[key] for key in ("content", "calls") if key in message}


def _keeps(kept: Mapping[str, Any] | None, call: Call) -> bool:
    return kept is not None and bool(kept["tool"] == call.tool) and same(kept["args"], call.args)


def _not_kept(call: Call, kept: Mapping[str, Any] | None) -> Fault:
    expected = {"tool": call.tool, "args": call.args}
    return Fault(
        evidence("messages", call.id, int(kept is not None)),
        expected,
        kept and {"tool": kept["tool"], "args": kept["args"]},
    )
