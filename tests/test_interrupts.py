"""What the survey of interrupt() found: since which release of langgraph, and what the proposal's way would change."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest

from capture import library, survey
from capture.document import Document

FIRST, NEWEST = "1.0.0", "1.2.23"

WAYS = "@updates"


@pytest.fixture(scope="module")
def published() -> Mapping[str, Mapping[str, Document]]:
    """Return the rows of each case, by the release of langgraph."""
    found: dict[str, dict[str, Document]] = {}
    for pin in survey.load(library.records_folder() / "interrupt-state-updates").published["pins"]:
        for row in pin["cases"]:
            found.setdefault(row["case"], {})[pin["packages"]["langgraph"]] = row
    return found


def unmet(row: Document) -> str:
    """Return the claims that do not hold, or the verdict if none FAILs."""
    failed = [claim["claim"].partition("@")[0] for claim in row["claims"] if claim["verdict"] == "FAIL"]
    return " ".join(failed) or " ".join(filter(None, (row["verdict"], row["reason"])))


def since(rows: Mapping[str, Document]) -> dict[str, str]:
    """Return what is unmet, by the release with which it begins."""
    said = [(version, unmet(row)) for version, row in rows.items()]
    return dict([said[0], *(now for before, now in pairwise(said) if now[1] != before[1])])


ALWAYS = {
    "interrupt/approve": "PASS",
    "interrupt/refuse": "PASS",
    "interrupt/unrecorded": "PASS",
    "interrupt/two-in-one-node": "PASS",
    "interrupt/continued-at-second": "core/no-undecided-dispatch",
    "interrupt/continued-after-restart@sqlite": "core/no-undecided-dispatch",
    "interrupt/continued-after-restart@postgres": "core/no-undecided-dispatch",
    "interrupt/continued-at-second-by-id": "PASS",
    "interrupt/resumed-at-breakpoint": "core/no-undecided-dispatch",
    "interrupt/resumed-first": "PASS",
    "interrupt/breakpoint": "PASS",
    "interrupt/effect-between": "core/no-repeated-dispatch",
    "interrupt/model-in-the-node": "core/no-altered-dispatch",
    "interrupt/one-task-crossed": "core/no-undecided-dispatch",
    "interrupt/parallel-tools": "PASS",
    "interrupt/parallel-nodes": "PASS",
    "interrupt/raised-after-answer": "PASS",
}


@pytest.mark.parametrize("case", ALWAYS)
def test_what_interrupt_does_at_every_release(case: str, published: Mapping[str, Mapping[str, Document]]) -> None:
    """From langgraph 1.0.0 on these never changed."""
    assert since(published[case]) == {FIRST: ALWAYS[case]}


CHANGED = {
    "interrupt/two-by-id": {FIRST: "interrupt/ids-distinct", "1.2.20": "PASS"},
    "interrupt/retried-after-answer": {FIRST: "interrupt/answer-kept", "1.2.20": "PASS"},
    "interrupt/typed": {FIRST: "UNKNOWN unsupported", "1.2.12": "PASS"},
    "interrupt/typed-misfit": {FIRST: "UNKNOWN unsupported", "1.2.12": "PASS"},
    "interrupt/schema-misfit": {FIRST: "UNKNOWN unsupported", "1.2.12": "core/no-undecided-dispatch answer/bad-refused"},
}


@pytest.mark.parametrize("case", CHANGED)
def test_since_which_release_interrupt_does_otherwise(case: str, published: Mapping[str, Mapping[str, Document]]) -> None:
    """The first release of each behaviour, among those that a release of langchain took."""
    assert since(published[case]) == CHANGED[case]


def test_the_second_question_takes_the_answer_to_the_first(published: Mapping[str, Mapping[str, Document]]) -> None:
    """Run on with no input, the effect that nobody was asked about yet is dispatched, once."""
    row = published["interrupt/continued-at-second"][NEWEST]
    assert [step["status"] for step in row["observations"]["outcomes"]] == ["built", "paused", "paused", "ended"]
    assert {call["call"]: (len(call["decided"]), len(call["dispatched"])) for call in row["calls"]} == {
        "delete": (1, 1),
        "backup": (0, 1),
    }


CONSEQUENCES = ("updates/serialized", "updates/in-next-prompt", "updates/remembered")


@pytest.mark.parametrize("case", ["colour", "colour-restarted@sqlite", "colour-restarted@postgres", "two-in-one-node"])
def test_the_three_consequences_of_the_proposal(case: str, published: Mapping[str, Mapping[str, Document]]) -> None:
    """Serialized, in the next prompt, remembered: not with interrupt(), and with the reference implementation, at every release."""
    plain, reference = f"interrupt-updates/{case}", f"interrupt-updates/{case}{',updates' if '@' in case else WAYS}"
    assert since(published[plain]) == {FIRST: " ".join((*CONSEQUENCES, "updates/pair-once"))}
    assert since(published[reference]) == {FIRST: "PASS"}


EXCEPT = {
    "proposal-example@updates": {FIRST: "core/no-repeated-dispatch"},
    "parallel-nodes-one-by-one@updates": {FIRST: "updates/serialized"},
    "replayed@updates": {
        FIRST: "core/no-repeated-dispatch",
        "1.1.0": "updates/serialized updates/pair-once",
        "1.1.10": "PASS",
    },
}
"""Where the reference implementation does not keep what it promises; the survey says why."""


def test_one_pair_for_each_interrupt_but_for_what_is_said(published: Mapping[str, Mapping[str, Document]]) -> None:
    """Under replay, retry, restart, a second answer, a kill and failing functions, at every release."""
    found = {
        name.partition("/")[2]: since(rows)
        for name, rows in published.items()
        if name.startswith("interrupt-updates/") and is_reference(list(rows.values()))
    }
    assert len(found) > 20
    assert {name: said for name, said in found.items() if said != {FIRST: "PASS"}} == EXCEPT


def is_reference(rows: Sequence[Document]) -> bool:
    """Tell whether a case asks through the reference implementation: its state has the key of it."""
    return any("interrupt_updates" in keys["keys"] for row in rows for keys in row["observations"]["output_keys"])
