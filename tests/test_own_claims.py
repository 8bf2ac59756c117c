"""The claims about what a subject asks by itself, on histories made by hand: exactly what they examine, and what they find."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from capture.claims import current
from capture.history import CaseHistory
from tests.test_authority import Entry, end, seen
from tests.test_exchange import SEND, VALUES, ai, asking, put, ran, resume, said

Fault = tuple[str, Any, Any]

NODES = [
    {"name": "look", "acts": [{"before": "look-up"}, {"ask": "send"}, {"effect": "send"}]},
    {"name": "plain", "acts": [{"ask": "who"}, {"before": "afterwards"}]},
]
SCRIPT = [{"text": "You are Ann.", "remembers": "Ann", "otherwise": "I do not know."}, {"text": "Bye."}]

YES, WHO = said("send", allowed=True), said("who", "Ann")
CONTINUE = {"do": "continue"}


def found(steps: Sequence[Mapping[str, Any]], *entries: Entry | list[Entry]) -> CaseHistory:
    """Return a history of a graph with two nodes that ask, and a model that may remember."""
    made = asking(steps, *entries)
    return replace(made, scenario={**made.scenario, "subject": {**made.scenario["subject"], "nodes": NODES}, "script": SCRIPT})


def finds(claim: str, history: CaseHistory) -> tuple[int, list[Fault]]:
    """Return how much a claim examined, and where it does not hold."""
    finding = current()[claim].find(history)
    assert finding.unknown is None
    return finding.examined, [(fault.evidence, fault.expected, fault.observed) for fault in finding.faults]


def node(step: int, event: str, name: str = "look", what: str = "x") -> Entry:
    """Return what is seen of a node."""
    return seen("node", step, node=name, event=event, what=what)


def human(text: str, name: str = "h") -> dict[str, Any]:
    """Return a message of the person."""
    return {"type": "human", "content": text, "id": name}


def result(content: str, name: str = "t") -> dict[str, Any]:
    """Return the result of the question that is written as a call."""
    return {"type": "tool", "content": content, "answers": "ask-1", "status": "success", "id": name}


CALL = ai("", "c", {"id": "ask-1", "tool": "approve", "args": {"title": "Send?"}})
ASKED = ai("Who?", "w")
PAIR = [ASKED, human("Ann")]


def point(step: int, *messages: Mapping[str, Any], following: Sequence[str] = (), name: str = "c") -> Entry:
    """Return a checkpoint."""
    return seen("checkpoint", step, checkpoint=name, parent=None, next=list(following), keys=[], messages=list(messages))


def prompt(step: int, number: int, *messages: Mapping[str, Any], text: str | None = "Bye.") -> Entry:
    """Return a call of the model, which says a text or nothing."""
    reply = None if text is None else {"text": text, "calls": []}
    return seen("prompt", step, number=number, messages=list(messages), reply=reply)


def returned(step: int, *messages: Mapping[str, Any]) -> Entry:
    """Return the messages that a step returned."""
    return seen("messages", step, messages=list(messages))


WHO_ANSWERED: list[Entry | list[Entry]] = [put(1, "who"), end(2, "ended")]

LEAVES_NO_MESSAGE: list[tuple[Any, int, list[Fault]]] = [
    ([*WHO_ANSWERED, returned(2, human("hi"))], 1, []),
    ([*WHO_ANSWERED, returned(1, human("hi")), returned(2, ASKED)], 1, [("messages/2", None, "Who?")]),
    ([*WHO_ANSWERED, point(1), point(2, human("it is Ann"))], 1, [("checkpoint/2", None, "Ann")]),
    ([*WHO_ANSWERED, prompt(2, 1, *PAIR)], 1, [("prompt/1", None, "Who?"), ("prompt/1", None, "Ann")]),
    # What was said before the question was put is not what it left behind.
    ([end(1, "ended"), returned(1, human("Who?")), put(2, "who"), end(3, "ended")], 1, []),
    ([put(1, "send"), returned(1, CALL)], 1, [("messages/1", None, VALUES["send"])]),
    ([put(1, "send"), returned(1, ai("", "c", {"id": "x", "tool": "approve", "args": {}}))], 1, []),
    (
        [put(1, "send"), returned(1, human('{"args": {"title": "Send?"}, "name": "approve"}'))],
        1,
        [("messages/1", None, VALUES["send"])],
    ),
    # An answer that nobody gave yet is in no message, whatever stands there.
    ([put(1, "who"), returned(1, human("None"))], 1, []),
    ([end(1, "ended")], 0, []),
]


@pytest.mark.parametrize(("entries", "examined", "faults"), LEAVES_NO_MESSAGE)
def test_a_question_leaves_no_message(entries: Any, examined: int, faults: list[Fault]) -> None:
    """In none of the places where messages are seen, from the step on in which it was asked."""
    later = any(isinstance(entry, dict) and entry["step"] == 3 for entry in entries)
    steps = [{"do": "message", "text": "x"}, resume(WHO)] if later else [resume(WHO)]
    assert finds("interrupt/leaves-no-message", found(steps, *entries)) == (examined, faults)


@pytest.mark.parametrize(
    ("entries", "examined", "faults"),
    [
        ([node(1, "before"), put(1, "send"), node(2, "before"), end(2, "ended")], 1, []),
        ([node(1, "before"), put(1, "send"), end(2, "ended")], 1, [("node/look/2", "before", None)]),
        ([put(1, "send"), node(2, "raised"), end(2, "ended")], 1, [("node/look/2", "before", None)]),
        ([put(1, "send"), node(2, "before", "plain"), end(2, "ended")], 1, [("node/look/2", "before", None)]),
        ([node(1, "before"), put(1, "send")], 0, []),
    ],
)
def test_what_stands_before_a_question_runs_again(entries: Any, examined: int, faults: list[Fault]) -> None:
    """In the step that takes the answer, by the node that asked."""
    assert finds("interrupt/before-runs-again", found([resume(YES)], *entries)) == (examined, faults)


def test_a_node_that_does_nothing_before_it_asks_is_not_examined() -> None:
    """What it does afterwards is another thing."""
    assert finds("interrupt/before-runs-again", found([resume(WHO)], *WHO_ANSWERED)) == (0, [])


def test_ids_are_compared_where_there_are_two_questions() -> None:
    """Two questions under one id are a fault, one question under two ids or twice under its own is none."""
    one = found([resume(YES)], put(1, "send"), put(2, "send"))
    two = found([resume(YES)], put(1, "send", "who"))
    same = found([resume(YES)], put(1, "send"), end(2, "paused"), seen("review", 2, question="q-send", value=VALUES["who"]))
    assert finds("interrupt/ids-distinct", one) == (0, [])
    assert finds("interrupt/ids-distinct", two) == (2, [])
    assert finds("interrupt/ids-distinct", same) == (1, [("review/q-send", None, ["send", "who"])])
    stranger = found([], put(1, "send"), seen("review", 1, question="q-send", value="?"))
    assert finds("interrupt/ids-distinct", stranger) == (0, [])


AGAIN: Fault = ("review/send/1", None, "asked again")

ANSWER_KEPT: list[tuple[Any, Any, int, list[Fault]]] = [
    ([resume(YES)], [put(1, "send"), node(2, "raised"), end(2, "ended")], 1, []),
    ([resume(YES)], [put(1, "send"), node(2, "raised"), put(2, "send")], 1, [AGAIN]),
    ([resume(YES)], [put(1, "send"), node(2, "raised"), put(2, "who")], 1, []),
    ([resume(YES), CONTINUE], [put(1, "send"), node(2, "raised"), end(2, "raised"), put(3, "send")], 1, [AGAIN]),
    ([resume(YES), CONTINUE], [put(1, "send"), node(2, "raised"), end(2, "raised"), end(3, "stopped")], 1, []),
    ([resume(YES), CONTINUE], [put(1, "send"), node(2, "raised"), end(2, "raised"), end(3, "raised")], 1, []),
    # Asked again later, with the run over in between: another visit of the node.
    ([resume(YES), CONTINUE], [put(1, "send"), node(2, "raised"), end(2, "ended"), put(3, "send")], 1, []),
    ([resume(YES)], [put(1, "send"), node(2, "before"), put(2, "send")], 0, []),
    ([CONTINUE], [put(1, "send"), node(2, "raised"), put(2, "send")], 0, []),
    ([resume(YES), CONTINUE], [put(1, "send"), end(2, "ended"), node(3, "raised"), put(3, "send")], 0, []),
    ([resume(YES)], [put(1, "send"), node(2, "raised"), end(2, "impossible")], 0, []),
    ([resume(YES)], [put(1, "send"), node(2, "raised"), end(2, "paused"), seen("review", 2, question="q", value="?")], 1, []),
]


@pytest.mark.parametrize(("steps", "entries", "examined", "faults"), ANSWER_KEPT)
def test_a_node_that_failed_does_not_ask_again(steps: Any, entries: Any, examined: int, faults: list[Fault]) -> None:
    """Once it was answered, in the first step that returns."""
    assert finds("interrupt/answer-kept", found(steps, *entries)) == (examined, faults)


@pytest.mark.parametrize(
    ("entries", "faults"),
    [
        ([], []),
        ([node(1, "before")], [("outcome/1", None, "look")]),
        ([node(1, "before", "plain")], []),
        ([ran(1, SEND)], [("outcome/1", None, "send")]),
        ([ran(1, {"tool": "pay", "args": {}})], []),
        ([ran(2, SEND), node(2, "before")], []),
    ],
)
def test_nothing_behind_a_breakpoint_runs(entries: list[Entry], faults: list[Fault]) -> None:
    """Of the nodes that come next, in the step that stopped."""
    stop: list[Entry | list[Entry]] = [
        end(1, "stopped"),
        point(1),
        point(1, following=["look", "__end__"], name="d"),
        end(2, "ended"),
    ]
    assert finds("interrupt/breakpoint-holds", found([CONTINUE], *stop, *entries)) == (1, faults)


SERIALIZED: list[tuple[Any, int, list[Fault]]] = [
    ([put(1, "who"), point(1, ASKED), end(2, "ended"), point(2, *PAIR)], 2, []),
    ([put(1, "who"), point(1), end(2, "ended"), point(2, *PAIR)], 2, [("checkpoint/1", "Who?", None)]),
    ([put(1, "who"), point(1, ASKED), end(2, "ended"), point(2, ASKED)], 2, [("checkpoint/2", "Ann", None)]),
    # The newest checkpoint counts, also where a step put none of its own.
    ([put(1, "who"), point(1, ASKED), end(2, "ended")], 2, [("checkpoint/1", "Ann", None)]),
    ([put(1, "who"), point(1, *PAIR), point(1, name="d"), end(2, "raised")], 1, [("checkpoint/2", "Who?", None)]),
    ([put(1, "who"), end(2, "ended"), point(2, *PAIR)], 1, []),
]


@pytest.mark.parametrize(("entries", "examined", "faults"), SERIALIZED)
def test_what_was_said_is_serialized(entries: Any, examined: int, faults: list[Fault]) -> None:
    """In the newest checkpoint, after each step that returned."""
    assert finds("updates/serialized", found([resume(WHO)], *entries)) == (examined, faults)


PROMPTED: list[tuple[Any, int, list[Fault]]] = [
    ([prompt(3, 1, *PAIR)], 1, []),
    ([prompt(3, 1, ASKED)], 1, [("prompt/1", "Ann", None)]),
    ([prompt(1, 1), prompt(3, 2, human("Ann"))], 1, [("prompt/2", "Who?", None)]),
    ([prompt(2, 1)], 0, []),
]


@pytest.mark.parametrize(("entries", "examined", "faults"), PROMPTED)
def test_what_was_said_is_in_the_next_prompt(entries: list[Entry], examined: int, faults: list[Fault]) -> None:
    """In each prompt of a step after the one that answered."""
    steps = [resume(WHO), {"do": "message", "text": "Who am I?"}]
    assert finds("updates/in-next-prompt", found(steps, *WHO_ANSWERED, *entries, end(3, "ended"))) == (examined, faults)


@pytest.mark.parametrize(
    ("texts", "examined", "faults"),
    [
        (["You are Ann."], 1, []),
        (["I do not know."], 1, [("prompt/1", "You are Ann.", "I do not know.")]),
        ([None, "Bye.", "I do not know."], 1, [("prompt/3", "You are Ann.", "I do not know.")]),
        (["Bye."], 0, []),
    ],
)
def test_what_the_model_remembers(texts: list[str | None], examined: int, faults: list[Fault]) -> None:
    """Each turn that rests on a fact, and no other."""
    entries = [prompt(1, number, text=text) for number, text in enumerate(texts, start=1)]
    assert finds("updates/remembered", found([], *entries, end(1, "ended"))) == (examined, faults)


BOTH: list[Entry | list[Entry]] = [put(1, "send"), put(2, "who"), end(3, "ended")]

ONCE: list[tuple[list[Mapping[str, Any]], list[Fault]]] = [
    ([CALL, result("yes"), *PAIR], []),
    ([*PAIR, CALL, result("yes")], [("messages/who/1", "in the order of asking", [0, 1])]),
    ([CALL, result("yes"), human("Ann"), ASKED], [("messages/who/1", "in the order of asking", [3, 2])]),
    ([CALL, result("yes"), ASKED], [("messages/who/1", [1, 1], [1, 0])]),
    ([CALL, result("yes"), result("yes", "t2"), *PAIR], [("messages/send/1", [1, 1], [1, 2])]),
    ([CALL, CALL, result("yes"), *PAIR], [("messages/send/1", [1, 1], [2, 1])]),
    ([CALL, result("no"), *PAIR], [("messages/send/1", [1, 1], [1, 0])]),
    ([human("Who?"), CALL, result("yes"), human("Ann")], [("messages/who/1", [1, 1], [0, 1])]),
]


@pytest.mark.parametrize(("messages", "faults"), ONCE)
def test_each_pair_stands_once(messages: list[Mapping[str, Any]], faults: list[Fault]) -> None:
    """Once, its answer behind it, in the order of asking."""
    assert finds("updates/pair-once", found([resume(YES), resume(WHO)], *BOTH, returned(3, *messages))) == (2, faults)


def test_a_pair_cannot_be_known_while_no_conversation_was_returned() -> None:
    """What was answered and never returned is UNKNOWN; a question that waits is not examined."""
    once = current()["updates/pair-once"].find
    assert (once(found([resume(WHO)], *WHO_ANSWERED)).unknown, once(found([resume(WHO)], *WHO_ANSWERED)).examined) == (
        "unfinished",
        1,
    )
    waits = once(found([], put(1, "who")))
    assert (waits.unknown, waits.examined) == (None, 0)
    assert finds("updates/pair-once", found([], put(1, "who"), returned(1, ASKED))) == (0, [])


KEPT: list[tuple[list[Entry], int, list[Fault]]] = [
    ([point(1, ASKED), point(2, *PAIR, name="d")], 2, []),
    ([point(1, ASKED), point(2, ai("Who?", "z"), human("Ann"), name="d")], 2, [("checkpoint/who/1", "one id", ["w", "z"])]),
    ([point(1, {"type": "ai", "content": "Who?"})], 1, [("checkpoint/who/1", "one id", ["None"])]),
    ([point(2, ASKED, human("Ann", "a"), human("Ann", "b"))], 2, [("checkpoint/who/1", "one id", ["a", "b"])]),
    ([point(1), point(2)], 0, []),
]


@pytest.mark.parametrize(("entries", "examined", "faults"), KEPT)
def test_a_message_keeps_its_id(entries: list[Entry], examined: int, faults: list[Fault]) -> None:
    """In every checkpoint since the question was asked."""
    assert finds("updates/ids-kept", found([resume(WHO)], *WHO_ANSWERED, *entries)) == (examined, faults)


def test_a_message_before_the_question_was_asked_is_another_one() -> None:
    """The same words, said earlier, do not count."""
    steps = [{"do": "message", "text": "x"}, resume(WHO)]
    entries: list[Entry | list[Entry]] = [
        end(1, "ended"),
        point(1, ai("Who?", "z")),
        put(2, "who"),
        point(2, ASKED, name="d"),
        end(3, "ended"),
    ]
    assert finds("updates/ids-kept", found(steps, *entries)) == (1, [])


def refused(step: int, what: str = "who") -> Entry:
    """Return what is seen of an update function that fails."""
    return node(step, "refused", "plain", what)


def raised(step: int, error: str) -> Entry:
    """Return a step that raised."""
    return {**end(step, "raised"), "error": error}


CLEAR: list[tuple[Any, Any, int, list[Fault]]] = [
    ([resume(WHO), resume(WHO)], [put(1, "who"), refused(2), raised(2, "UpdateRefused"), end(3, "ended")], 1, []),
    (
        [resume(WHO), resume(WHO)],
        [put(1, "who"), refused(2), raised(2, "ValueError"), end(3, "ended")],
        1,
        [("outcome/1", "UpdateRefused", ["ValueError"])],
    ),
    ([resume(WHO)], [put(1, "who"), refused(2), raised(2, "UpdateRefused")], 1, [("outcome/1", "an answer to it", None)]),
    (
        [resume(WHO), CONTINUE],
        [put(1, "who"), refused(2), raised(2, "UpdateRefused"), end(3, "ended")],
        1,
        [("outcome/1", "an answer to it", None)],
    ),
    ([resume(WHO)], [put(1, "who"), end(2, "ended")], 0, []),
]


@pytest.mark.parametrize(("steps", "entries", "examined", "faults"), CLEAR)
def test_a_failing_update_is_clear(steps: Any, entries: Any, examined: int, faults: list[Fault]) -> None:
    """The error has its name, and the question comes to an answer after it."""
    assert finds("updates/error-clear", found(steps, *entries)) == (examined, faults)
