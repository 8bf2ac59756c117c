"""What a question says: which calls it is about, what may be answered, and when it has no known form."""

from collections.abc import Mapping
from typing import Any

import pytest

from capture.question import Call, asked, fits, of_the_tool
from tests.test_authority import ALL, Entry, answers_to

REQUEST: dict[str, Any] = {"name": "send", "args": {"to": "x"}, "description": "Look."}
CONFIG: dict[str, Any] = {"action_name": "send", "allowed_decisions": ["approve", "reject"]}
ALONE: dict[str, Any] = {"type": "tool_approval", "tool_call_id": "a", **REQUEST}


def review(value: object, schema: object = None) -> Entry:
    """Return what is seen of a question."""
    return {"question": "q", "value": value, **({} if schema is None else {"schema": schema})}


def together(*requests: Any, configs: Any = (CONFIG,)) -> Entry:
    """Return a question that lists calls."""
    return review({"action_requests": list(requests), "review_configs": list(configs)})


def test_a_question_that_lists_calls_is_read() -> None:
    """Each call comes with its decisions and its description; which call of the model it is, the list does not say."""
    found = asked(together(REQUEST, {"name": "send", "args": {}}))
    assert found is not None
    assert [item.call for item in found] == [Call(None, "send", {"to": "x"}), Call(None, "send", {})]
    assert [item.allowed for item in found] == [("approve", "reject")] * 2
    assert [item.description for item in found] == ["Look.", None]
    assert not any(item.alone or item.schema for item in found)


def test_a_question_about_one_call_is_read() -> None:
    """It names its call, and the branches of its schema are the decisions that are offered, each once."""
    schema = answers_to("send")
    (item,) = asked(review(ALONE, schema)) or []
    assert (item.call, list(item.allowed), item.question, item.description) == (Call("a", "send", {"to": "x"}), ALL, "q", "Look.")
    assert (item.alone, item.schema) == (True, schema)


@pytest.mark.parametrize(
    ("schema", "offered"),
    [
        (answers_to("send", "reject"), ("reject",)),
        ({"anyOf": answers_to("send")["oneOf"], "$defs": answers_to("send")["$defs"]}, tuple(ALL)),
        ({"properties": {"type": {"const": "approve"}}}, ("approve",)),
        ({"oneOf": [{"properties": {"type": {"const": "edit"}}}] * 2}, ("edit",)),
        ({"oneOf": [{"properties": {"type": {"const": 5}}}, {"$ref": "#/$defs/none"}, {}]}, ()),
        ({"type": "object"}, ()),
        ({}, ()),
    ],
    ids=["one", "any of", "itself", "twice", "unreadable branches", "any object", "anything"],
)
def test_what_a_schema_offers_is_read_from_its_branches(schema: dict[str, Any], offered: tuple[str, ...]) -> None:
    """A decision is offered if a branch names its type; what names none offers none."""
    (item,) = asked(review(ALONE, schema)) or []
    assert item.allowed == offered


UNKNOWN: dict[str, Entry] = {
    "text": review("Are you sure?"),
    "nothing": review(None),
    "a list": review([REQUEST]),
    "other keys": review({"requests": []}),
    "no calls": together(),
    "a call without a name": together({"args": {}}),
    "a call without arguments": together({"name": "send"}),
    "arguments no table": together({**REQUEST, "args": [1]}),
    "a name no text": together({**REQUEST, "name": 5}, configs=[{**CONFIG, "action_name": 5}]),
    "a name no key": together({**REQUEST, "name": ["send"]}),
    "no decisions for it": together({**REQUEST, "name": "pay"}),
    "decisions no list": together(REQUEST, configs=[{**CONFIG, "allowed_decisions": "approve"}]),
    "decisions no texts": together(REQUEST, configs=[{**CONFIG, "allowed_decisions": [["approve"]]}]),
    "decisions that contradict": together(REQUEST, configs=[CONFIG, {**CONFIG, "allowed_decisions": ["approve"]}]),
    "requests no list": review({"action_requests": 5, "review_configs": [CONFIG]}),
    "configs no list": review({"action_requests": [REQUEST], "review_configs": 5}),
    "alone without a schema": review(ALONE),
    "alone without a call": review({key: ALONE[key] for key in ALONE if key != "tool_call_id"}, answers_to("send")),
    "alone with no text for a tool": review({**ALONE, "name": None}, answers_to("send")),
    "alone with no table for arguments": review({**ALONE, "args": "to x"}, answers_to("send")),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_question_of_no_known_form_is_not_guessed(name: str) -> None:
    """What cannot be read as one of the two forms is None, whatever part of it could be."""
    assert asked(UNKNOWN[name]) is None


def test_a_description_that_is_no_text_is_none() -> None:
    """A framework may put anything there; only text is shown to a person."""
    (item,) = asked(together({**REQUEST, "description": {"text": "Look."}})) or []
    assert item.description is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"type": "approve"}, True),
        ({"type": "reject", "message": "no"}, True),
        ({"type": "respond", "message": "done"}, True),
        ({"type": "respond"}, False),
        ({"type": "respond", "message": 5}, False),
        ({"type": "edit", "edited_action": {"name": "send", "args": {}}}, True),
        ({"type": "edit", "edited_action": {"name": "pay", "args": {}}}, False),
        ({"type": "edit", "edited_action": {"name": "send", "args": "x"}}, False),
        ({"type": "edit"}, False),
        ({"type": "allow"}, False),
        ("approve", False),
        (None, False),
    ],
    ids=str,
)
def test_an_answer_fits_the_schema_shown_or_does_not(answer: object, *, expected: bool) -> None:
    """The schema decides, with its own definitions; where none was shown, the form of the answer is not its business."""
    assert fits(answer, answers_to("send")) is expected
    assert fits(answer, None)


@pytest.mark.parametrize(
    ("acts", "value", "expected"),
    [
        ({"before": [{"interrupt": {"sure": "?"}}]}, {"sure": "?"}, True),
        ({"after": [{"wait": 1}, {"interrupt": {"sure": "?"}}]}, {"sure": "?"}, True),
        ({"before": [{"interrupt": 1}]}, True, False),
        ({"before": [{"interrupt": {"sure": "?"}}]}, {"sure": "!"}, False),
        ({"before": [{"raise": 1}]}, None, False),
        ({}, {"sure": "?"}, False),
    ],
    ids=["before", "after", "one is not true", "another", "a tool that raises", "a plain tool"],
)
def test_a_question_is_the_tools_own_if_the_case_says_so(acts: Mapping[str, Any], value: object, *, expected: bool) -> None:
    """Only a tool of the case that asks with this very value asks by itself."""
    assert of_the_tool(review(value), {"subject": {"tools": [{"name": "log"}, {"name": "send", **acts}]}}) is expected
