"""Exchanges: what a subject asked by itself and was answered, as the operator saw it, and the messages that would hold that."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from capture.history import CaseHistory, Entry
from capture.question import declared, same

__all__ = ["Exchange", "Pair", "exchanges", "pairs", "states", "written"]

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Exchange:
    """A question that the subject asked: since which step it waits, under which id, and in which step it was answered with what."""

    question: Mapping[str, Any]
    asked: Any
    """What the reviewer was shown."""
    opened: int
    answered: int | None = None
    answer: Any = None
    settled: bool = False
    """Whether a step returned since it was answered that does not ask it any more."""


@dataclass(frozen=True)
class Pair:
    """The places of an exchange in a conversation: of the messages that are its question, and of those that are its answer."""

    questions: tuple[int, ...]
    answers: tuple[int, ...]


def exchanges(history: CaseHistory, upto: int | None = None) -> list[Exchange]:
    """Return the exchanges of the thread in the order in which they were asked, as they stood after a step, or at the end.

    What was answered behind a checkpoint to which the thread went back is none of its exchanges any more. An answer in a step that
    did not return was taken if the next one that returns does not ask again.
    """
    found: list[Exchange] = []
    for number, step in history.steps():
        if upto is not None and number > upto:
            break
        if any(history.delivered(number, branch) for branch, _ in history.parts(number)):
            found = _gone_back(found, step, history)
            for _, part in history.parts(number):
                found = _answered(found, part, number)
            if history.outcome(number) in ("paused", "stopped", "ended"):
                found = list(_listed(found, history, number))
    return [one if one.settled else replace(one, answered=None, answer=None) for one in found]


def _gone_back(found: list[Exchange], step: Mapping[str, Any], history: CaseHistory) -> list[Exchange]:
    """Return what is left of exchanges when the thread goes back to a pause: what was answered by then."""
    if "paused" not in step.get("at", {}):
        return found
    paused = [number for number, _ in history.steps() if history.outcome(number) == "paused"]
    place = paused[step["at"]["paused"] - 1]
    return [one for one in found if one.answered is not None and one.answered <= place]


def _answered(found: list[Exchange], part: Mapping[str, Any], number: int) -> list[Exchange]:
    """Return exchanges with the answers that a step gave: bare, if only one question waits, or each by its question."""
    waiting = [one for one in found if not one.settled]
    given = {answer["question"]: answer.get("value") for answer in part.get("answers", [])}
    if part.get("by") != "id" and len(waiting) != 1:
        return found
    names = [one.question["name"] if one in waiting else None for one in found]
    return [
        replace(one, answered=number, answer=given[name]) if name in given else one for one, name in zip(found, names, strict=True)
    ]


def _listed(found: list[Exchange], history: CaseHistory, number: int) -> Iterator[Exchange]:
    """Yield exchanges as a step left them: what it does not list any more was answered, or waits no longer."""
    listed = [(declared(review, history.scenario), review["value"]) for review in history.of("review", step=number)]
    names = [question["name"] for question, _ in listed if question]
    for one in found:
        if one.settled or one.question["name"] in names:
            yield one
        elif one.answered is not None:
            yield replace(one, settled=True)
    known = [one.question["name"] for one in found if not one.settled]
    for question, value in listed:
        if question and question["name"] not in known:
            yield Exchange(question, value, number)


def pairs(made: Sequence[Exchange], messages: Sequence[Message]) -> list[Pair]:
    """Return where question and answer of each exchange stand in a conversation, as the ready-made configuration writes them.

    What several exchanges have in common goes to them in turn, and what is left over to the last of them.
    """
    questions = _dealt([_questions(one, messages) for one in made])
    answers = _dealt([_answers(one, places, messages) for one, places in zip(made, questions, strict=True)])
    return [Pair(*found) for found in zip(questions, answers, strict=True)]


def _questions(one: Exchange, messages: Sequence[Message]) -> tuple[int, ...]:
    return tuple(place for place, message in enumerate(messages) if _asks(message, one.asked))


def _answers(one: Exchange, questions: tuple[int, ...], messages: Sequence[Message]) -> tuple[int, ...]:
    if one.answered is None:
        return ()
    calls = [call["id"] for place in questions for call in messages[place].get("calls", [])]
    return tuple(place for place, message in enumerate(messages) if _replies(message, one.answer, calls))


def _dealt(found: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Deal the places that several have in common, one to each in turn, and the rest to the last."""
    dealt = []
    for number, places in enumerate(found):
        turn = found[:number].count(places)
        dealt.append(places[turn:] if places not in found[number + 1 :] else places[turn : turn + 1])
    return dealt


def _asks(message: Message, asked: Any) -> bool:
    return message["type"] == "ai" and (message["content"] == written(asked) or any(same(call, asked) for call in _calls(message)))


def _replies(message: Message, answer: Any, calls: list[str]) -> bool:
    linked = message["type"] == "human" if not calls else message.get("answers") in calls
    return linked and bool(message["content"] == written(answer))


def written(value: Any) -> str:
    """Return a question or an answer as a message would hold it: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def states(entry: Entry, value: Any) -> bool:
    """Tell whether any message of an observation holds a question or an answer, in its text or as a call."""
    # Not as a part of a longer word: "no" is not said by "know".
    said = re.compile(rf"(?<!\w){re.escape(written(value))}(?!\w)")
    return any(
        said.search(str(message["content"])) or any(same(call, value) for call in _calls(message)) for message in entry["messages"]
    )


def _calls(message: Message) -> list[dict[str, Any]]:
    """Return the calls of a message in the words of a question."""
    return [{"name": call["tool"], "args": call["args"]} for call in message.get("calls", [])]
