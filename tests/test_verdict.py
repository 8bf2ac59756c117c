"""The verdict of a case: its order, its emptiness, its trigger; and nothing counts at a pin whose smoke test failed."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture import document, history, record, smoke
from capture.claims import Fault
from capture.document import Document
from capture.history import CaseHistory, History
from capture.judgement import Judge
from capture.saved import SavedHistory
from capture.verdict import FAIL, NOT_APPLICABLE, PASS, REASONS, UNKNOWN, Judgement, judge, merge

VERDICTS = st.sampled_from([PASS, FAIL, UNKNOWN, NOT_APPLICABLE])


def judged(verdict: str, reason: str | None = None) -> Judgement:
    """Return the judgement of some claim."""
    faults = (Fault("dispatch/a/1", None, None),) if verdict == FAIL else ()
    return Judgement("core/any@1", verdict, reason or ("ambiguous" if verdict == UNKNOWN else None), 1, faults)


@pytest.mark.parametrize(
    ("verdicts", "obstacle", "triggered", "expected"),
    [
        ([PASS], None, True, (PASS, None)),
        ([PASS, NOT_APPLICABLE], None, True, (PASS, None)),
        ([PASS], None, False, (UNKNOWN, "untriggered")),
        ([], None, True, (UNKNOWN, "untriggered")),
        ([NOT_APPLICABLE, NOT_APPLICABLE], None, True, (UNKNOWN, "untriggered")),
        ([PASS, UNKNOWN], None, True, (UNKNOWN, "ambiguous")),
        ([PASS], "timeout", True, (UNKNOWN, "timeout")),
        ([UNKNOWN], "error", False, (UNKNOWN, "error")),
        ([PASS, FAIL], None, True, (FAIL, None)),
        ([FAIL, UNKNOWN], "error", False, (FAIL, None)),
    ],
)
def test_the_order_of_verdicts(
    verdicts: list[str], obstacle: str | None, triggered: bool, expected: tuple[str, str | None]
) -> None:
    """FAIL stands before everything, an obstacle before what claims say, UNKNOWN before PASS, and nothing is no PASS."""
    assert merge([judged(verdict) for verdict in verdicts], obstacle, triggered=triggered) == expected


@given(st.lists(VERDICTS, max_size=4), st.booleans())
def test_the_order_of_claims_does_not_matter(verdicts: list[str], triggered: bool) -> None:
    """The verdict is the same whatever the order of the claims."""
    found = {merge([judged(verdict) for verdict in order], None, triggered=triggered) for order in permutations(verdicts)}
    assert len(found) == 1


@given(st.lists(VERDICTS, max_size=4), st.booleans(), VERDICTS)
def test_one_claim_more_never_makes_it_better(verdicts: list[str], triggered: bool, more: str) -> None:
    """A claim that FAILs or is UNKNOWN never turns a case to PASS, and one that PASSes never hides a FAIL."""
    rank = {FAIL: 0, UNKNOWN: 1, PASS: 2}
    before, _ = merge([judged(verdict) for verdict in verdicts], None, triggered=triggered)
    after, _ = merge([judged(verdict) for verdict in [*verdicts, more]], None, triggered=triggered)
    assert more == PASS or rank[after] <= rank[before]
    assert before != FAIL or after == FAIL


def published() -> History:
    """Return the published history of I05."""
    path = record.find("i05").revision(None).file("history")
    return history.read(document.read(path), str(path))


def planted_gone(found: History) -> History:
    """Let the planted fault not have been recorded."""
    cases = {case.case: case for case in found.smoke}
    return replace(
        found,
        smoke=(
            CaseHistory("smoke/planted", cases["smoke/planted"].scenario, cases["smoke/ungated"].entries, True),
            cases["smoke/ungated"],
        ),
    )


def true_answer_wrong(found: History) -> History:
    """Let the true answer have come out wrong."""
    cases = {case.case: case for case in found.smoke}
    return replace(
        found,
        smoke=(
            cases["smoke/planted"],
            CaseHistory("smoke/ungated", cases["smoke/ungated"].scenario, cases["smoke/planted"].entries, True),
        ),
    )


def no_smoke(found: History) -> History:
    """Let there be no smoke test."""
    return replace(found, smoke=())


def judged_by(found: History, claims: Mapping[str, list[str]]) -> Document:
    """Return the results of a history as it is saved."""
    saved = SavedHistory.of(found, {})
    return Judge().pin(saved, document.digest(saved.data()), claims)


@pytest.mark.parametrize("change", [planted_gone, true_answer_wrong, no_smoke])
def test_nothing_counts_without_the_smoke_test(change: Callable[[History], History]) -> None:
    """Where the smoke test did not come out as it must, every case is UNKNOWN(smoke), whatever its claims say."""
    found = published()
    claims = {entry["case"]: entry["claims"] for entry in record.find("i05").revision(None).cases}
    assert smoke.holds(found.smoke)
    assert judged_by(found, claims)["smoke"] == PASS
    changed = change(found)
    assert not smoke.holds(changed.smoke)
    judged_again = judged_by(changed, claims)
    assert judged_again["smoke"] == FAIL
    assert {(case["verdict"], case["reason"]) for case in judged_again["cases"]} == {(UNKNOWN, "smoke")}


def test_a_case_whose_answer_was_no_answer_is_untriggered() -> None:
    """An answer that was not offered is none: what the case is about did not happen, so it cannot PASS."""
    found = next(case for case in published().cases if case.case == "decisions/reject")
    entries = copy.deepcopy([dict(entry) for entry in found.entries])
    for entry in entries:
        if entry.get("vantage") == "review":
            entry["value"]["review_configs"][0]["allowed_decisions"] = ["approve"]
    changed = CaseHistory(found.case, found.scenario, tuple(entries))
    verdict = judge(changed, ["review/proposal-shown@1", "network/none-tried@1"])
    assert (verdict.verdict, verdict.reason, verdict.triggered) == (UNKNOWN, "untriggered", False)


def test_every_reason_is_explained() -> None:
    """The reasons that results may hold are those that are explained."""
    reasons = document.schema("results")["$defs"]["case"]["properties"]["reason"]["enum"]
    assert {reason for reason in reasons if reason} == set(REASONS)
