"""Doctoring one value of a saved history turns exactly the claims that it touches."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from capture import document, history, record
from capture.claims import CLAIMS
from capture.history import CaseHistory
from capture.verdict import FAIL, judge

Entries = list[dict[str, Any]]

APPROVE, EDIT, OFF, REJECT = (f"decisions/{name}" for name in ("approve", "edit", "edit-notice-off", "reject"))


def published() -> dict[str, CaseHistory]:
    """Return the published histories of I05, by case."""
    path = record.find("i05").revision(None).file("history")
    return {found.case: found for found in history.read(document.read(path), str(path)).cases}


def only(entries: Entries, vantage: str, **wanted: object) -> dict[str, Any]:
    """Return the last entry of a vantage that has these values."""
    return [entry for entry in entries if entry.get("vantage") == vantage and all(entry.get(key) == wanted[key] for key in wanted)][
        -1
    ]


def other_argument(entries: Entries) -> None:
    """Let the tool have received another recipient."""
    for entry in entries:
        if entry.get("vantage") == "dispatch":
            entry["args"]["recipient"] = "somebody@example.invalid"


def one_more(entries: Entries) -> None:
    """Let the tool have run once more."""
    found = only(entries, "dispatch", event="dispatched")
    entries.append({**found, "invocation": 2})


def never(entries: Entries) -> None:
    """Let the tool not have run."""
    entries[:] = [entry for entry in entries if entry.get("vantage") != "dispatch"]


def ran(entries: Entries) -> None:
    """Let a rejected call have run."""
    call = only(entries, "prompt", number=1)["reply"]["calls"][0]
    entries.append(
        {
            "kind": "observation",
            "vantage": "dispatch",
            "step": 2,
            "event": "dispatched",
            "invocation": 1,
            "tool": call["tool"],
            "args": call["args"],
        }
    )


def ran_at_build(entries: Entries) -> None:
    """Let a rejected call have run while the subject was built."""
    ran(entries)
    entries[-1]["step"] = 0


def ran_before(entries: Entries) -> None:
    """Let the tool have run in the step before the answer."""
    for entry in entries:
        if entry.get("vantage") == "dispatch":
            entry["step"] = 1


def rewritten(entries: Entries) -> None:
    """Let the final messages show another recipient in the proposal."""
    messages = only(entries, "messages")["messages"]
    messages[1]["calls"][0]["args"]["recipient"] = "somebody@example.invalid"


def copied_call(entries: Entries) -> None:
    """Let an altered copy of the call stand before it in the final messages."""
    calls = only(entries, "messages")["messages"][1]["calls"]
    calls.insert(0, {**calls[0], "args": {"recipient": "somebody@example.invalid", "document": "x"}})


def ghost_call(entries: Entries) -> None:
    """Let the final messages hold a call that the model never proposed."""
    only(entries, "messages")["messages"][1]["calls"].append({"id": "call-ghost", "tool": "send_document", "args": {}})


def ghost_answer(entries: Entries) -> None:
    """Let a tool message answer a call that the model never proposed."""
    messages = only(entries, "messages")["messages"]
    messages.append({**messages[2], "answers": "call-ghost"})


def shown_before(entries: Entries) -> None:
    """Let the conversation at the pause show another recipient in the proposal."""
    found = next(entry for entry in entries if entry.get("vantage") == "messages")
    found["messages"][1]["calls"][0]["args"]["recipient"] = "somebody@example.invalid"


def unanswered(entries: Entries) -> None:
    """Let the tool message be missing from the final messages."""
    messages = only(entries, "messages")["messages"]
    messages[:] = [message for message in messages if "answers" not in message]


def succeeded(entries: Entries) -> None:
    """Let the tool message be a success."""
    for message in only(entries, "messages")["messages"]:
        if "answers" in message:
            message["status"] = "success"


def unstated(entries: Entries) -> None:
    """Let the tool message be the plain output."""
    for message in only(entries, "messages")["messages"]:
        if "answers" in message:
            message["content"] = "sent"


def stated(entries: Entries) -> None:
    """Let the last message state the replacement."""
    only(entries, "messages")["messages"][-1]["content"] = "sent to sdk-review@example.invalid"


def forgotten(entries: Entries) -> None:
    """Let the last checkpoint hold no replacement."""
    only(entries, "checkpoint")["stored_edits"] = {}


def early(entries: Entries) -> None:
    """Let the first checkpoint hold the key."""
    next(entry for entry in entries if entry.get("vantage") == "checkpoint")["stored_edits"] = {}


def tools_step(entries: Entries) -> None:
    """Let a checkpoint after the review come before a tools step."""
    [entry for entry in entries if entry.get("vantage") == "checkpoint"][3]["next"] = ["tools"]


def leaked(entries: Entries) -> None:
    """Let the output hold the private key."""
    only(entries, "output")["keys"].append("hitl_edited_tool_calls")


def shown_other(entries: Entries) -> None:
    """Let the reviewer have been shown another document."""
    only(entries, "review")["value"]["action_requests"][0]["args"]["document"] = "other.md"


def called_out(entries: Entries) -> None:
    """Let a connection have been tried."""
    entries.append({"kind": "observation", "vantage": "network", "step": 1, "event": "socket.connect", "target": "192.0.2.1"})


DOCTORED: list[tuple[Callable[[Entries], None], str, set[str]]] = [
    (other_argument, APPROVE, {"core/no-altered-dispatch"}),
    (other_argument, EDIT, {"core/no-altered-dispatch"}),
    (one_more, EDIT, {"core/no-repeated-dispatch"}),
    (never, EDIT, {"core/authorised-dispatch"}),
    (ran, REJECT, {"core/no-refused-dispatch"}),
    (ran_at_build, REJECT, {"core/no-undecided-dispatch"}),
    (ran_before, APPROVE, {"core/no-undecided-dispatch", "core/authorised-dispatch"}),
    (rewritten, APPROVE, {"messages/proposal-kept"}),
    (copied_call, APPROVE, {"messages/proposal-kept"}),
    (ghost_call, REJECT, {"messages/proposal-kept"}),
    (ghost_answer, EDIT, {"messages/one-answer"}),
    (shown_before, EDIT, {"messages/proposal-kept"}),
    (unanswered, APPROVE, {"messages/one-answer"}),
    (unanswered, REJECT, {"messages/one-answer"}),
    (succeeded, REJECT, {"messages/rejection-is-error"}),
    (unstated, EDIT, {"messages/edit-stated"}),
    (stated, OFF, {"messages/edit-unstated"}),
    (forgotten, EDIT, {"checkpoint/edits-stored"}),
    (early, APPROVE, {"checkpoint/absent-before-review"}),
    (tools_step, REJECT, {"checkpoint/rejected-skips-tools"}),
    (leaked, EDIT, {"output/private-key-absent"}),
    (shown_other, APPROVE, {"review/proposal-shown", "core/no-altered-dispatch"}),
    (called_out, REJECT, {"network/none-tried"}),
]


@pytest.mark.parametrize(("doctor", "case", "claims"), DOCTORED, ids=lambda part: getattr(part, "__name__", ""))
def test_one_value_turns_exactly_its_claims(doctor: Callable[[Entries], None], case: str, claims: set[str]) -> None:
    """A published history PASSes; with one value changed, exactly the claims about that value FAIL."""
    found = published()[case]
    entries = copy.deepcopy([dict(entry) for entry in found.entries])
    doctor(entries)
    doctored = CaseHistory(found.case, found.scenario, tuple(entries))
    everything = sorted(_recorded(case))
    assert judge(found, everything).verdict == "PASS"
    verdict = judge(doctored, everything)
    assert {judged.claim.partition("@")[0] for judged in verdict.claims if judged.verdict == FAIL} == claims


def _recorded(case: str) -> list[str]:
    return next(list(entry["claims"]) for entry in record.find("i05").revision(None).cases if entry["case"] == case)


def test_every_claim_of_the_record_is_doctored() -> None:
    """No claim that the record is judged by is left without a value that turns it."""
    recorded = {claim for case in (APPROVE, EDIT, OFF, REJECT) for claim in _recorded(case)}
    assert {claim.partition("@")[0] for claim in recorded} == set().union(*(claims for _, _, claims in DOCTORED))
    assert recorded <= set(CLAIMS)
