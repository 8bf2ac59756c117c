"""The suite as a whole: each case alone gives what it gives among the others, in any order, again and again."""

import os
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from capture import case, document
from capture.case import Case
from capture.history import CaseHistory
from tests.seen import seen_at

PIN = "langchain-1.5.2"

EVERY_CASE = "EVERY_CASE"
"""The variable that asks for each case in a process of its own, which takes minutes; `.ci/run` sets it."""


def recorded(cases: Sequence[Case]) -> dict[str, bytes]:
    """Run cases in one probe and return the lines of each one's history."""
    return {known.case: lines(known.history()) for known in seen_at(PIN, cases).cases}


def lines(found: CaseHistory) -> bytes:
    """Return what was seen of a case, as bytes."""
    return b"".join(document.line(entry) for entry in found.entries)


@pytest.fixture(scope="module")
def batch() -> dict[str, bytes]:
    """Return the lines of every case, from a run in the suite's own order."""
    return recorded(case.contained())


def test_the_suite_is_large_enough_to_mean_something() -> None:
    """There are at least eighty cases, in nine families."""
    ids = [known.id for known in case.contained()]
    assert len(ids) >= 80
    assert {name.partition("/")[0] for name in ids} >= {
        "composition",
        "decisions",
        "delivery",
        "parallel",
        "per-call",
        "policy",
        "stream",
        "time-travel",
        "turns",
    }


@pytest.mark.parametrize("seed", ["reversed", "1", "2"])
def test_a_case_does_not_depend_on_the_order(seed: str, batch: dict[str, bytes]) -> None:
    """Run backwards, or shuffled, each case leaves the very same lines."""
    cases = case.contained()[::-1]
    if seed != "reversed":
        random.Random(seed).shuffle(cases)
    found = recorded(cases)
    assert {name for name in batch if found[name] != batch[name]} == set()


def test_a_case_does_not_depend_on_others(batch: dict[str, bytes]) -> None:
    """Alone in a process of its own, a case leaves the very same lines: one case a family, or each case if asked."""
    cases = case.contained()
    if EVERY_CASE not in os.environ:
        cases = list({known.id.partition("/")[0]: known for known in cases}.values())
    with ThreadPoolExecutor(max_workers=2) as executor:
        alone = list(executor.map(lambda known: recorded([known]), cases))
    assert {name for found in alone for name in found if found[name] != batch[name]} == set()


def test_every_claim_and_trigger_of_the_suite_is_there() -> None:
    """No case names its claims in another version than the newest, and every claim is judged in some case."""
    from capture.claims import current

    judged = {claim for known in case.all_cases() for claim in known.claims}
    assert judged == {known.name for known in current().values()}


def test_a_tool_that_needs_no_answer_is_watched_all_the_same() -> None:
    """Where a tool or a call is ungated, the claim that reads what it does is among the case's."""
    for known in case.all_cases():
        called = {call["tool"] for turn in known.scenario["script"] for call in turn.get("calls", [])}
        free = called - set(known.scenario["gated"])
        if free or "ungated" in known.scenario:
            assert "core/ungated-dispatch@1" in known.claims, known.id
