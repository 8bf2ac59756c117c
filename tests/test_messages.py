"""What a message states, whatever the value is: quotes, line breaks, other alphabets, words that stand there anyway."""

import copy
import json
from typing import Any

import pytest

from capture.claims import Finding, current
from capture.history import CaseHistory
from tests.test_doctored import EDIT, OFF, published

OLD = "sdk-review@example.invalid"

ODD = ['say "hi"', "C:\\tmp", "first\nsecond", "Zoë ☃", 'a "b" \\ c\nd', "\U0001f600"]


def replaced(value: Any, new: str, *, ascii_only: bool) -> Any:
    """Return a value with another replacement of the edit: as itself, or within a longer text as JSON."""
    if isinstance(value, dict):
        return {key: replaced(part, new, ascii_only=ascii_only) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [replaced(part, new, ascii_only=ascii_only) for part in value]
    if not isinstance(value, str):
        return value
    return new if value == OLD else value.replace(OLD, json.dumps(new, ensure_ascii=ascii_only)[1:-1])


def with_value(case: str, new: str, *, ascii_only: bool = True) -> CaseHistory:
    """Return the published history of a case as it would be with another value in the edit."""
    found = published()[case]
    entries = replaced(copy.deepcopy(list(found.entries)), new, ascii_only=ascii_only)
    return CaseHistory(found.case, replaced(found.scenario, new, ascii_only=ascii_only), tuple(entries))


def stating(history: CaseHistory, text: str) -> CaseHistory:
    """Return a history whose last message says something else."""
    entries: list[Any] = copy.deepcopy(list(history.entries))
    last = [entry for entry in entries if entry.get("vantage") == "messages"][-1]
    last["messages"][-1]["content"] = text
    return CaseHistory(history.case, history.scenario, tuple(entries))


def finding(history: CaseHistory, claim: str) -> Finding:
    """Return what a claim finds."""
    return current()[f"messages/{claim}"].find(history)


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_an_odd_value_is_seen_in_the_notice(value: str, ascii_only: bool) -> None:
    """The notice states the value as JSON, with or without characters beyond ASCII: that is stating it."""
    assert finding(with_value(EDIT, value, ascii_only=ascii_only), "edit-stated") == Finding(1)


@pytest.mark.parametrize("value", ODD)
def test_an_odd_value_is_seen_where_it_must_not_be(value: str) -> None:
    """With the notice off, a message that states the value as it is, is a fault."""
    history = with_value(OFF, value)
    assert finding(history, "edit-unstated") == Finding(1)
    assert finding(stating(history, f"It went to {value}, as told."), "edit-unstated").faults


@pytest.mark.parametrize("value", ["", "sent", "Done.", "migration-note.md"])
def test_a_value_that_stands_there_anyway_says_nothing(value: str) -> None:
    """A value that is empty, or that the script, the tool or the proposal says by itself, cannot be looked for."""
    for case, claim in ((EDIT, "edit-stated"), (OFF, "edit-unstated")):
        assert finding(with_value(case, value), claim) == Finding(0)


def test_a_value_within_a_longer_word_is_not_stated() -> None:
    """A value is stated as a word of its own."""
    history = with_value(OFF, "paid")
    assert not finding(stating(history, "It was unpaid and prepaid."), "edit-unstated").faults
    assert finding(stating(history, "It was paid."), "edit-unstated").faults


def test_names_of_keys_are_not_said() -> None:
    """A value that is also the name of a key is not stated by that key."""
    assert finding(with_value(OFF, "content"), "edit-unstated") == Finding(1)


def test_another_calls_answer_does_not_count() -> None:
    """Only the tool message that answers the edited call is asked whether it states the edit."""
    history = published()[EDIT]
    entries: list[Any] = copy.deepcopy(list(history.entries))
    messages = [entry for entry in entries if entry.get("vantage") == "messages"][-1]["messages"]
    messages.append({**messages[2], "answers": "another", "content": "sent"})
    assert finding(CaseHistory(history.case, history.scenario, tuple(entries)), "edit-stated") == Finding(1)
