"""Outcomes that were measured independently of this project, at real releases; where they disagree, the harness is wrong."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from capture import case, document, library, pin, survey
from tests.seen import judged_at

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
    """Return the results of the suite at a pin, by case; a decision without its family."""
    return {found["case"].removeprefix("decisions/"): found for found in judged_at(name, case.contained())["cases"]}


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


def outcomes(name: str, what: str) -> list[tuple[str, str | None]]:
    """Return how each step of a case ended at a pin, the construction not counted, with the type of what it raised."""
    return [(found["status"], found["error"]) for found in seen(name, what)["outcomes"][1:]]


def statuses(name: str, what: str) -> list[str]:
    """Return the statuses of the tool messages of a case's final conversation at a pin."""
    return [link["status"] for link in seen(name, what)["links"]]


ALL = [*BEFORE, *SINCE]


@pytest.mark.parametrize("name", ALL)
def test_respond_is_refused_up_to_1_2_16_and_a_success_since(name: str) -> None:
    """A tool gated with true can be answered in its place from 1.2.17 on; it never runs."""
    assert seen(name, "respond")["dispatches"] == 0
    if name in ("langchain-1.0.0", "langchain-1.2.0"):
        assert outcomes(name, "respond")[-1] == ("raised", "ValueError")
    else:
        (link,) = seen(name, "respond")["links"]
        (call,) = measured(name)["respond"]["calls"]
        assert (link["status"], link["content"]) == ("success", call["decided"][0]["message"])


@pytest.mark.parametrize("name", ALL)
def test_an_edit_into_another_tool(name: str) -> None:
    """An ungated tool runs with the edited arguments, and so does one that a person may only reject; an unknown one does not."""
    for what in ("edit-into-ungated-tool", "edit-into-reject-only-tool"):
        (call,) = measured(name)[what]["calls"]
        action = call["decided"][0]["edited_action"]
        (received,) = seen(name, what)["received"]
        assert (received["tool"], received["args"]) == (action["name"], action["args"])
    assert seen(name, "edit-into-unknown-tool")["dispatches"] == 0
    if name in BEFORE:
        assert outcomes(name, "edit-into-unknown-tool")[-1] == ("ended", None)
        assert statuses(name, "edit-into-unknown-tool") == ["error"]
    else:
        assert outcomes(name, "edit-into-unknown-tool")[1] == ("raised", "ValueError")
        assert seen(name, "edit-into-unknown-tool")["stored_edits"][-1]["next"] == ["tools"]


@pytest.mark.parametrize("name", ALL)
def test_an_edit_without_a_required_argument(name: str) -> None:
    """The tool is never entered, an error answers the call, and from 1.4.2 on that message states the call as executed."""
    found = seen(name, "edit-drops-required-argument")
    assert found["received"] == []
    (link,) = found["links"]
    assert (link["status"], "Executed instead" in link["content"]) == ("error", name in SINCE)


@pytest.mark.parametrize("name", ALL)
def test_a_jump_to_tools_runs_what_was_rejected(name: str) -> None:
    """The rejected tool runs once, and the messages hold an error and a success for one id."""
    assert seen(name, "composition/rejected-then-jump-to-tools")["dispatches"] == 1
    assert statuses(name, "composition/rejected-then-jump-to-tools") == ["error", "success"]


@pytest.mark.parametrize("name", ALL)
def test_a_misspelt_policy_is_refused_from_1_3_15(name: str) -> None:
    """Before, there is no pause and the tool runs unreviewed; since, the middleware cannot be built."""
    built = seen(name, "policy/misspelt-allowed-decisions")["outcomes"][0]
    if name in ("langchain-1.0.0", "langchain-1.2.0", "langchain-1.3.3"):
        assert (built["status"], outcomes(name, "policy/misspelt-allowed-decisions")) == ("built", [("ended", None)])
        assert seen(name, "policy/misspelt-allowed-decisions")["dispatches"] == 1
    else:
        assert (built["status"], built["error"]) == ("raised", "ValueError")


@pytest.mark.parametrize("name", ALL)
def test_too_few_decisions_leave_a_thread_stuck(name: str) -> None:
    """One decision for two calls raises, and so does the right answer after it."""
    assert outcomes(name, "parallel/too-few-then-right")[1:] == [("raised", "ValueError")] * 2
    assert seen(name, "parallel/too-few-then-right")["dispatches"] == 0


@pytest.mark.parametrize("name", ALL)
def test_the_first_answer_at_a_paused_checkpoint_counts(name: str) -> None:
    """Approved and then rejected there, it runs twice; rejected and then approved there, never."""
    assert seen(name, "time-travel/approve-then-reject-at-paused")["dispatches"] == 2
    assert seen(name, "time-travel/reject-then-approve-at-paused")["dispatches"] == 0


@pytest.mark.parametrize("name", ALL)
def test_to_run_on_with_no_answer_pauses_again(name: str) -> None:
    """Nothing runs before the answer that the case gives at last."""
    what = "time-travel/continue-from-paused-unanswered"
    assert outcomes(name, what) == [("paused", None), ("paused", None), ("ended", None)]
    assert (seen(name, what)["dispatches"], failing(measured(name)[what])) == (1, set())


@pytest.mark.parametrize("name", ALL)
def test_a_replay_before_tools_runs_it_again_without_a_question(name: str) -> None:
    """After a finished approval the tool runs a second time, and nobody is asked."""
    found = seen(name, "time-travel/replay-before-tools")
    assert (found["dispatches"], len(found["shown"])) == (2, 1)


def test_a_predicate_that_flips_up_to_the_release_that_knows_predicates() -> None:
    """At 1.0.0 the predicate is never called, and the rejection holds: what the case is about did not happen."""
    found = measured("langchain-1.0.0")["policy/when-true-then-false-rejected"]
    assert (found["verdict"], found["reason"], found["observations"]["dispatches"]) == ("UNKNOWN", "untriggered", 0)
    assert "predicates" not in found["observations"]


@pytest.mark.parametrize("name", ["langchain-1.3.3", "langchain-1.4.1", *SINCE])
def test_a_predicate_that_flips_loses_the_rejection(name: str) -> None:
    """From 1.3.3 on the tool runs, with the status success and no trace of the rejection."""
    assert seen(name, "policy/when-true-then-false-rejected")["dispatches"] == 1
    assert statuses(name, "policy/when-true-then-false-rejected") == ["success"]


@pytest.mark.parametrize(("name", "times"), [("langchain-1.4.6", 2), ("langchain-1.4.10", 1), ("langchain-1.5.2", 1)])
def test_together_with_one_invalid(name: str, times: int) -> None:
    """Run asynchronously, the approved call's tool is entered twice at 1.4.6 and once since."""
    found = measured(name)["per-call/together-one-invalid@async"]
    approved = found["calls"][0]["proposed"]["args"]
    assert sum(received["args"] == approved for received in found["observations"]["received"]) == times


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("what", ["stream/second-version", "stream/run"])
def test_the_second_version_and_the_run_of_a_stream_come_with_1_3_3(name: str, what: str) -> None:
    """Both are unsupported at 1.0.0 and 1.2.0; since, the pause can be seen in both."""
    found = measured(name)[what]
    if name in ("langchain-1.0.0", "langchain-1.2.0"):
        assert (found["verdict"], found["reason"]) == ("UNKNOWN", "unsupported")
    else:
        assert outcomes(name, what)[0] == ("paused", None)
        assert not failing(found) & {"output/second-version", "stream/pause-shown"}


@pytest.mark.parametrize("name", ["langchain-1.4.6", "langchain-1.4.10", "langchain-1.5.2"])
def test_a_retry_around_the_gate_runs_what_was_rejected(name: str) -> None:
    """Approved, failed before its effect, asked again and rejected: the tool is entered again and runs, with a success."""
    what = "per-call/retry-outside-gate-rejected-again"
    assert (len(seen(name, what)["received"]), seen(name, what)["dispatches"]) == (2, 1)
    assert statuses(name, what) == ["success"]


@pytest.mark.parametrize("name", ALL)
def test_a_retry_of_a_failure_before_the_effect_asks_once(name: str) -> None:
    """Approved once, failing until its last attempt, the tool is asked about once and runs once."""
    found = seen(name, "composition/retry-of-failure-before-effect")
    if measured(name)["composition/retry-of-failure-before-effect"]["reason"] != "unsupported":
        assert (found["dispatches"], len(found["shown"])) == (1, 1)


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


@pytest.mark.parametrize("name", sorted(set(MIDDLEWARE) - {"i05"}))
def test_the_published_survey_has_what_is_measured(name: str) -> None:
    """Each row of the survey at these releases is what a run here gives, to the last observation."""
    found = survey.load(library.records_folder() / "releases").published
    (published,) = [pin for pin in found["pins"] if pin["pin"] == name]
    rows = {row["case"]: row for row in measured(name).values()}
    assert len(published["cases"]) > 200
    for row in published["cases"]:
        assert document.line(rows[row["case"]]) == document.line(row), row["case"]
