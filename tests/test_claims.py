"""Every claim is shown able to FAIL, and each fault shows in the claims that are about it and in no other."""

import pytest

from capture.authority import rulings
from capture.claims import CLAIMS, current
from capture.reception import receptions
from capture.verdict import FAIL, NOT_APPLICABLE, PASS, UNKNOWN, judge, judge_claim
from tests.miniatures import SUBJECTS
from tests.subjects import UNGATED, recorded, suite
from tests.test_authority import A, ask, decide, dispatch, end, history, propose, seen

APPROVE, EDIT, OFF, REJECT = (f"decisions/{name}" for name in ("approve", "edit", "edit-notice-off", "reject"))
BAD, EACH, MISSPELT, MIXED, RESPOND, SECOND, STREAMED, TURNS = (
    f"tests/{name}" for name in ("bad-answer", "each-call", "misspelt", "mixed", "respond", "second-version", "streamed", "turns")
)

VARIED = [f"tests/varied{suffix}" for suffix in ("", "@per_call", "@async", "@async,per_call")]

KEYED, SENT_REFUSED, RESTART, CRASH = (
    "tests/keyed",
    "sender/http-reject",
    "restart/approve@sqlite",
    "crash/tool-after-effect@sqlite",
)

ASKED, ASKED_TWICE, RETRIED, BREAKPOINT, RECORDED, FAILING = (
    "interrupt/approve",
    "interrupt/two-by-id",
    "interrupt/retried-after-answer",
    "interrupt/breakpoint",
    "interrupt-updates/two-in-one-node@updates",
    "interrupt-updates/answer-update-raises",
)

CORRECT = {
    **dict.fromkeys((ASKED, ASKED_TWICE, RETRIED, BREAKPOINT, RECORDED, FAILING), (PASS, None)),
    **dict.fromkeys(VARIED, (PASS, None)),
    **dict.fromkeys((KEYED, SENT_REFUSED, RESTART, CRASH), (PASS, None)),
    **dict.fromkeys((APPROVE, EDIT, OFF, REJECT, UNGATED, BAD, EACH, MISSPELT, MIXED, SECOND, STREAMED, TURNS), (PASS, None)),
    # What is told as a success keeps one of two promises and breaks the other, so even a subject without a fault cannot pass.
    RESPOND: (UNKNOWN, "ambiguous"),
}

PASSES_ALONE = {
    "promise/respond-refuses": ("responds-as-error", RESPOND),
    "wire/key-shared": ("runs-twice", KEYED),
}
"""Claims that only a subject with a fault passes, which is then another one."""

FAULTS = {
    ("runs-undecided", APPROVE): {"core/no-undecided-dispatch", "review/shown-first"},
    ("runs-refused", REJECT): {"core/no-refused-dispatch", "messages/told-truly"},
    ("runs-twice", APPROVE): {"core/no-repeated-dispatch"},
    ("runs-twice", EDIT): {"core/no-repeated-dispatch"},
    ("runs-original", EDIT): {"core/no-altered-dispatch"},
    ("swaps-arguments", APPROVE): {"core/no-altered-dispatch"},
    ("swaps-arguments", EDIT): {"core/no-altered-dispatch"},
    ("swaps-arguments", UNGATED): {"core/ungated-dispatch"},
    ("loses-call", APPROVE): {"core/authorised-dispatch", "messages/told-truly"},
    ("loses-call", EDIT): {"core/authorised-dispatch", "messages/told-truly"},
    ("loses-call", UNGATED): {"core/ungated-dispatch"},
    ("loses-answer", APPROVE): {"messages/one-answer"},
    ("loses-answer", REJECT): {"messages/one-answer"},
    ("answers-twice", APPROVE): {"messages/one-answer"},
    ("rejects-as-success", REJECT): {"messages/rejection-is-error", "messages/told-truly"},
    ("rewrites-messages", EDIT): {"messages/proposal-kept"},
    ("rewrites-messages", OFF): {"messages/proposal-kept", "messages/edit-unstated"},
    ("drops-proposal", REJECT): {"messages/proposal-kept"},
    ("hides-edit", EDIT): {"messages/edit-stated"},
    ("states-edit", OFF): {"messages/edit-unstated"},
    ("stores-nothing", EDIT): {"checkpoint/edits-stored"},
    ("stores-early", APPROVE): {"checkpoint/absent-before-review"},
    ("forgets-edit", EDIT): {"checkpoint/edits-stored"},
    ("passes-tools", REJECT): {"checkpoint/rejected-skips-tools"},
    ("leaks-key", APPROVE): {"output/private-key-absent"},
    ("shows-other", APPROVE): {"review/proposal-shown", "review/shown-first", "core/no-altered-dispatch"},
    ("opens-socket", APPROVE): {"network/none-tried"},
    ("runs-undecided", BAD): {"core/no-undecided-dispatch"},
    ("runs-undecided", MIXED): {"core/no-undecided-dispatch", "review/shown-first", "messages/told-truly"},
    ("runs-refused", MIXED): {"core/no-refused-dispatch", "messages/told-truly"},
    ("runs-responded", RESPOND): {"core/no-refused-dispatch", "promise/respond-refuses"},
    ("runs-twice", EACH): {"core/no-repeated-dispatch"},
    **{("runs-twice", case): {"core/no-repeated-dispatch"} for case in VARIED},
    ("swaps-arguments", STREAMED): {"core/no-altered-dispatch"},
    ("loses-call", MIXED): {"core/authorised-dispatch", "messages/told-truly"},
    ("loses-call", TURNS): {"core/authorised-dispatch", "core/ungated-dispatch", "messages/told-truly"},
    ("loses-answer", MIXED): {"messages/one-answer", "messages/reason-told"},
    ("answers-twice", RESPOND): {"messages/one-answer", "messages/respond-is-result"},
    ("rejects-as-success", EACH): {"messages/rejection-is-error", "messages/told-truly"},
    ("forgets-edit", TURNS): {"checkpoint/edits-stored"},
    ("keeps-edits", TURNS): {"checkpoint/edits-cleared"},
    ("shows-other", EACH): {"review/proposal-shown", "review/shown-first", "core/no-altered-dispatch"},
    ("shows-no-description", MIXED): {"review/description-shown"},
    ("offers-all", MIXED): {"review/decisions-offered"},
    ("offers-all", EACH): {"review/decisions-offered"},
    ("gates-nothing", MISSPELT): {"policy/misspelt-refused", "core/no-undecided-dispatch"},
    ("hides-reason", MIXED): {"messages/reason-told"},
    ("hides-reason", EACH): {"messages/reason-told"},
    ("tells-failure", MIXED): {"messages/told-truly"},
    ("tells-run", MIXED): {"messages/told-truly"},
    ("responds-as-error", RESPOND): {"messages/respond-is-result"},
    ("takes-bad-answer", BAD): {"answer/bad-refused"},
    ("spoils-thread", BAD): {"answer/recoverable"},
    ("enters-twice", EACH): {"middleware/entered-once"},
    ("hides-pause", STREAMED): {"stream/pause-shown"},
    ("streams-proposal", STREAMED): {"stream/dispatch-shown"},
    ("answers-in-first-version", SECOND): {"output/second-version"},
    ("runs-twice", KEYED): {"core/no-repeated-dispatch", "wire/received-once"},
    ("forgets-key", KEYED): {"core/no-repeated-dispatch", "wire/received-once", "wire/key-shared"},
    ("sends-other", KEYED): {"wire/as-dispatched"},
    ("runs-refused", SENT_REFUSED): {"core/no-refused-dispatch", "wire/nothing-refused"},
    ("forgets-thread", RESTART): {"recovery/thread-kept", "recovery/question-kept", "messages/one-answer"},
    ("forgets-decision", CRASH): {"recovery/decision-kept"},
    ("records-question", ASKED): {"interrupt/leaves-no-message"},
    ("goes-on-in-place", ASKED): {"interrupt/before-runs-again"},
    ("shares-ids", ASKED_TWICE): {"interrupt/ids-distinct"},
    ("forgets-answer", RETRIED): {"interrupt/answer-kept"},
    ("passes-breakpoint", BREAKPOINT): {"interrupt/breakpoint-holds"},
    ("records-nothing", RECORDED): {"updates/serialized", "updates/in-next-prompt", "updates/remembered", "updates/pair-once"},
    ("records-twice", RECORDED): {"updates/pair-once", "updates/ids-kept"},
    ("renames-messages", RECORDED): {"updates/ids-kept"},
    ("hides-update-error", FAILING): {"updates/error-clear"},
}


@pytest.mark.parametrize(("fault", "case"), FAULTS, ids=lambda name: name.replace("/", "."))
def test_a_fault_shows_in_the_claims_about_it(fault: str, case: str) -> None:
    """A miniature with one fault FAILs exactly the claims that are about that fault, and its case FAILs."""
    verdict = judge(recorded(fault, case), suite()[case].claims)
    assert {judged.claim.partition("@")[0] for judged in verdict.claims if judged.verdict == FAIL} == FAULTS[fault, case]
    assert verdict.verdict == FAIL


@pytest.mark.parametrize("case", CORRECT)
def test_a_correct_subject_has_no_fault(case: str) -> None:
    """No claim FAILs on the miniature without a fault, and but for what cannot be known it passes every case."""
    verdict = judge(recorded("correct", case), suite()[case].claims)
    assert [judged for judged in verdict.claims if judged.verdict == FAIL] == []
    assert (verdict.verdict, verdict.reason) == CORRECT[case]


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_every_claim_can_fail_and_can_pass(name: str) -> None:
    """Each claim, in each version, FAILs on the miniatures with its fault, and PASSes on one, having examined something."""
    claim = CLAIMS[name]
    failing = [key for key, claims in FAULTS.items() if claim.id in claims]
    found = [judge_claim(recorded(*key), claim) for key in failing]
    assert found
    assert all(judged.verdict == FAIL and judged.faults and judged.examined for judged in found)
    subjects = [PASSES_ALONE[claim.id]] if claim.id in PASSES_ALONE else [("correct", case) for case in CORRECT]
    passing = [judge_claim(recorded(*key), claim) for key in subjects]
    assert any(judged.verdict == PASS and judged.examined for judged in passing)


def test_a_call_id_of_two_turns_is_shown_twice() -> None:
    """Two turns may use one id: each call was shown before it ran, so nobody was passed over."""
    other = ("a", "send", {"to": "y"})
    approve = decide(("a", "approve"))
    turns = [propose(1, A), *ask(1, A), dispatch(2, A), propose(2, other, number=2), *ask(2, other), dispatch(3, other, 2)]
    finding = current()["review/shown-first"].find(history([approve, approve], *turns, end(3, "ended")))
    assert (finding.examined, finding.faults) == (2, ())


def test_where_nothing_was_built_no_claim_about_what_runs_is_applicable() -> None:
    """A policy that is refused as it should be leaves nothing to observe, which is no reason for UNKNOWN."""
    judged = judge_claim(recorded("correct", MISSPELT), current()["core/no-undecided-dispatch"])
    assert (judged.verdict, judged.reason, judged.examined) == (NOT_APPLICABLE, None, 0)


def test_every_miniature_is_used() -> None:
    """No miniature is left over: each is a fault that some test expects."""
    harness = {"correct", "crashes", "raises", "hangs", "forks", "spoils-journal", "shows-nothing-known"}
    assert set(SUBJECTS) == {fault for fault, _ in FAULTS} | harness


@pytest.mark.parametrize("claim", sorted(current()))
def test_a_claim_says_what_it_means(claim: str) -> None:
    """Each claim has a sentence, somebody who promised it, and a docstring that says what it examines."""
    found = current()[claim]
    assert found.sentence.endswith(".")
    assert found.promised.endswith(".")
    assert (found.find.__doc__ or "").startswith("Examine ")


def test_what_was_received_belongs_to_one_dispatch_each() -> None:
    """Two calls of the same content that were both sent once are no call that was sent twice."""
    other = ("b", *A[1:])
    body = {"protocol": "http", "method": "POST", "path": f"/{A[1]}", "headers": {}, "body": A[2]}
    entries = [propose(1, A, other), *ask(1, A, other), dispatch(2, A, 1, named=True), dispatch(2, other, 2, named=True)]
    found = history(
        [decide(("a", "approve"), ("b", "approve"))], *entries, seen("wire", 2, **body), seen("wire", 2, **body), end(2, "ended")
    )
    assert [one.call for one in receptions(found, rulings(found).first)] == ["a", "b"]
    assert current()["wire/received-once"].find(found).faults == ()
