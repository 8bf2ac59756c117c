"""Outcomes that were measured independently of this project, at real releases; where they disagree, the harness is wrong."""

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from capture import case, interpreter, pin, runs

BEFORE = ["langchain-1.0.0", "langchain-1.2.0", "langchain-1.3.3", "langchain-1.4.1"]
SINCE = ["i05", "langchain-1.4.2", "langchain-1.4.6", "langchain-1.4.10", "langchain-1.5.2"]

MIDDLEWARE = {
    "langchain-1.0.0": "37b56ddf5ae51d2ec9f9c0341010d2da69505be48cbefc720308c19c063dbd95",
    "langchain-1.4.1": "d47a54ec85d9377329f6cc84f4aab152276d85d16b0920f2536fa33de1a066f1",
    "langchain-1.4.2": "e7143b5022639c244ab20222229fe45e6d0ae48338f15439971cad31b0608f31",
    "langchain-1.4.6": "9b9a84d3f0f917f801db07f49440f7f4af06f36c21ab9e1af5d3a9b408f1b146",
    "langchain-1.5.2": "b04fe5774538e0639780896e32ba2e3b00c65864ad79962376ca4960e583c18b",
    "i05": "e7143b5022639c244ab20222229fe45e6d0ae48338f15439971cad31b0608f31",
}

ORIGINAL = {"recipient": "engineering@example.invalid", "document": "migration-note.md"}
REPLACEMENT = {"recipient": "sdk-review@example.invalid", "document": "migration-note.md"}

Results = Mapping[str, Any]


@cache
def measured(name: str) -> Mapping[str, Results]:
    """Return the results of the decisions at a pin, by case."""
    with tempfile.TemporaryDirectory() as folder:
        row = runs.record_pin(pin.find(name), lambda: case.find(["decisions"]), interpreter.find(None), Path(folder))
    return {found["case"].removeprefix("decisions/"): found for found in row.results["cases"]}


def seen(name: str, what: str) -> Mapping[str, Any]:
    """Return the observations of a case at a pin."""
    found: Mapping[str, Any] = measured(name)[what]["observations"]
    return found


def failing(found: Results) -> set[str]:
    """Return the claims that FAIL."""
    return {claim["claim"].partition("@")[0] for claim in found["claims"] if claim["verdict"] == "FAIL"}


@pytest.mark.parametrize("name", sorted(MIDDLEWARE))
def test_the_pin_is_the_release(name: str) -> None:
    """The middleware that a pin names is the one inside the release's wheel."""
    assert pin.find(name).files["langchain/agents/middleware/human_in_the_loop.py"] == MIDDLEWARE[name]


@pytest.mark.parametrize("name", [*BEFORE, *SINCE])
@pytest.mark.parametrize("what", ["approve", "reject"])
def test_approve_and_reject_hold_everywhere(name: str, what: str) -> None:
    """At every pin an approved call runs once as proposed, and a rejected one never."""
    assert measured(name)[what]["verdict"] == "PASS"
    assert [found["args"] for found in seen(name, what)["received"]] == ([ORIGINAL] if what == "approve" else [])


@pytest.mark.parametrize("name", [*BEFORE, *SINCE])
def test_a_rejection_is_one_error_and_no_tools_step(name: str) -> None:
    """At every pin a rejected call has one error tool message, and the graph goes back to the model without a tools step."""
    assert [(link["call"], link["status"]) for link in seen(name, "reject")["links"]] == [("call-i05", "error")]
    assert [found["next"] for found in seen(name, "reject")["stored_edits"] if "tools" in found["next"]] == []


@pytest.mark.parametrize("name", [*BEFORE, *SINCE])
def test_an_edit_runs_once_as_replaced_everywhere(name: str) -> None:
    """At every pin the tool receives the replacement, once."""
    assert [found["args"] for found in seen(name, "edit")["received"]] == [REPLACEMENT]
    assert not {claim for claim in failing(measured(name)["edit"]) if claim.startswith("core/")}


@pytest.mark.parametrize("name", BEFORE)
def test_up_to_1_4_1_the_messages_show_the_replacement(name: str) -> None:
    """Up to 1.4.1 the replacement stands in the messages under the call's id, and no checkpoint stores an edit."""
    assert measured(name)["edit"]["verdict"] == "FAIL"
    assert failing(measured(name)["edit"]) == {"messages/proposal-kept", "messages/edit-stated", "checkpoint/edits-stored"}
    assert [found["args"] for found in seen(name, "edit")["proposals"]] == [REPLACEMENT]
    assert not any(found["present"] for found in seen(name, "edit")["stored_edits"])


@pytest.mark.parametrize("name", BEFORE)
def test_up_to_1_4_1_the_notice_cannot_be_turned_off(name: str) -> None:
    """Up to 1.4.1 the middleware has no parameter edit_notice, which is UNKNOWN(unsupported)."""
    found = measured(name)["edit-notice-off"]
    assert (found["verdict"], found["reason"]) == ("UNKNOWN", "unsupported")
    assert found["detail"] == "parameter edit_notice of HumanInTheLoopMiddleware"


@pytest.mark.parametrize("name", SINCE)
@pytest.mark.parametrize("what", ["edit", "edit-notice-off"])
def test_from_1_4_2_the_messages_keep_the_proposal(name: str, what: str) -> None:
    """From 1.4.2 the messages keep the proposal, checkpoints store the edit to the end, and the output lacks the key."""
    assert measured(name)[what]["verdict"] == "PASS"
    assert [found["args"] for found in seen(name, what)["proposals"]] == [ORIGINAL]
    stored = [found for found in seen(name, what)["stored_edits"] if found["present"]]
    assert stored == seen(name, what)["stored_edits"][-4:]
    assert all(found["value"] == {"call-i05": {"name": "send_document", "args": REPLACEMENT}} for found in stored)
    assert all("hitl_edited_tool_calls" not in found["keys"] for found in seen(name, what)["output_keys"])


@pytest.mark.parametrize("name", SINCE)
def test_from_1_4_2_the_notice_states_the_replacement(name: str) -> None:
    """From 1.4.2 the tool message begins with a notice that states the replacement, and with the notice off no message does."""
    (link,) = seen(name, "edit")["links"]
    assert link["content"].startswith("Note:")
    assert REPLACEMENT["recipient"] in link["content"]
    (link,) = seen(name, "edit-notice-off")["links"]
    assert link["content"] == "sent"


def test_every_cell_of_the_records_table() -> None:
    """At the pin of I05 each case is PASS, with what the record's table says of it."""
    for what, args, count, stored in (
        ("approve", [ORIGINAL], 1, {}),
        ("edit", [REPLACEMENT], 1, {"call-i05": {"name": "send_document", "args": REPLACEMENT}}),
        ("reject", [], 0, {}),
        ("edit-notice-off", [REPLACEMENT], 1, {"call-i05": {"name": "send_document", "args": REPLACEMENT}}),
    ):
        found = seen("i05", what)
        assert measured("i05")[what]["verdict"] == "PASS"
        assert [(kept["call"], kept["args"]) for kept in found["proposals"]] == [("call-i05", ORIGINAL)]
        assert [item["args"] for item in found["shown"][0]["value"]["action_requests"]] == [ORIGINAL]
        assert [received["args"] for received in found["received"]] == args
        assert found["dispatches"] == count
        present = [checkpoint["present"] for checkpoint in found["stored_edits"]]
        assert present == [False] * 3 + [True] * (len(present) - 3)
        assert all(checkpoint["value"] == stored for checkpoint in found["stored_edits"][3:])
        assert [link["call"] for link in found["links"]] == ["call-i05"]
    (rejected,) = seen("i05", "reject")["links"]
    assert (rejected["status"], "The tool was not executed" in rejected["content"]) == ("error", True)
