"""One file makes several cases: each is the file with one way to run changed, and nothing else."""

import copy
from typing import Any

import pytest

from capture.case import load
from capture.scenario import PER_CALL, is_per_call
from capture.variant import variants
from tests.subjects import CASES

GATE: dict[str, Any] = {"kind": "HumanInTheLoopMiddleware", "options": {"interrupt_on": {"send": True}}}
COUNTER: dict[str, Any] = {"kind": "counter"}
ANSWER: dict[str, Any] = {"do": "resume", "decisions": [{"call": "a", "type": "approve"}]}
VALUE: dict[str, Any] = {"do": "resume", "value": "yes"}

DATA: dict[str, Any] = {
    "question": "?",
    "subject": {"kind": "create_agent", "middleware": [COUNTER, GATE]},
    "steps": [{"do": "invoke", "text": "go"}, ANSWER, VALUE],
}


def made(**vary: list[str]) -> dict[str, dict[str, Any]]:
    """Return the scenarios of the file's content if it varies so, by suffix."""
    return dict(variants({**DATA, "vary": vary} if vary else DATA))


def test_a_file_that_does_not_vary_is_one_case() -> None:
    """Without `vary` the scenario is the file's content, and its id that of the file."""
    assert made() == {"": DATA}


@pytest.mark.parametrize(
    ("vary", "suffixes"),
    [
        ({"run": ["sync"]}, [""]),
        ({"run": ["async"]}, ["@async"]),
        ({"run": ["sync", "async"]}, ["", "@async"]),
        ({"mode": ["batched", "per_call"]}, ["", "@per_call"]),
        ({"mode": ["batched", "per_call"], "run": ["sync", "async"]}, ["", "@per_call", "@async", "@async,per_call"]),
        ({"mode": ["per_call"], "run": ["async"]}, ["@async,per_call"]),
    ],
    ids=str,
)
def test_each_combination_is_a_case(vary: dict[str, list[str]], suffixes: list[str]) -> None:
    """The usual way is not named, another one is, always in the same order; a scenario itself varies no more."""
    found = made(**vary)
    assert list(found) == suffixes
    assert not any("vary" in scenario for scenario in found.values())


def test_an_asynchronous_case_differs_in_how_it_runs() -> None:
    """`@async` says so in the subject, and changes nothing else."""
    found = made(run=["async"])["@async"]
    assert found.pop("subject") == {**DATA["subject"], "run": "async"}
    assert found == {key: value for key, value in DATA.items() if key != "subject"}


def test_a_case_in_per_call_mode_asks_and_answers_about_each_call() -> None:
    """`@per_call` is an option of the middleware that asks, and of no other; decisions go by id, values as they are."""
    found = made(mode=["per_call"])["@per_call"]
    assert is_per_call(found)
    assert found["subject"]["middleware"] == [COUNTER, {**GATE, "options": {**GATE["options"], "interrupt_mode": PER_CALL}}]
    assert found["steps"] == [DATA["steps"][0], {**ANSWER, "by": "id"}, VALUE]


def test_a_step_that_says_how_it_is_addressed_keeps_that() -> None:
    """A bare answer stays bare in per_call mode, and each of several at once is addressed too."""
    bare, both = {**ANSWER, "by": "value"}, {"do": "concurrently", "steps": [ANSWER, {"do": "continue"}]}
    found = dict(variants({**DATA, "steps": [bare, both], "vary": {"mode": ["per_call"]}}))["@per_call"]
    assert found["steps"] == [bare, {**both, "steps": [{**ANSWER, "by": "id"}, {"do": "continue"}]}]


def test_varying_leaves_the_file_as_it_is() -> None:
    """The scenarios share what they do not change with the file's content, which is not written to."""
    before = copy.deepcopy(DATA)
    made(mode=["batched", "per_call"], run=["sync", "async"])
    assert before == DATA


def test_variants_differ_in_id_and_digest() -> None:
    """What is run differs, so the digests do too; the claims are those of the file."""
    found = load(CASES / "varied.toml", "tests/varied")
    assert [known.id for known in found] == [f"tests/varied{suffix}" for suffix in ("", "@per_call", "@async", "@async,per_call")]
    assert len({known.digest for known in found}) == 4
    assert len({known.claims for known in found}) == 1
