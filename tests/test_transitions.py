"""Since which pin each case and claim has which verdict: runs over the pins in their order, and nothing that never changes."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings

from capture import document, library
from capture.diff import said
from capture.document import Document
from capture.render import changes, markdown
from capture.transitions import transitions
from tests.comparisons import FAIL, PASS, UNKNOWN, case, claim, documents, pin, smoked, unbuilt, written
from tests.conftest import Command

NAME = "decisions/edit"

GOOD = case(NAME)
BAD = case(NAME, claim("core/one@1", FAIL))
LATE = case(NAME, claim("core/one@1", UNKNOWN, "timeout"))


def over(*cases: dict[str, Any]) -> Document:
    """Return the transitions of one case over pins named by letters, after checking that they fit their schema."""
    found = transitions(written(*(pin(name, known) for name, known in zip("abcdefgh", cases, strict=False))))
    document.check(found, "transitions", "transitions")
    return found


def sentences(found: Document) -> dict[str | None, str]:
    """Return the sentence of the case, under None, and of each claim."""
    return {row["claim"]: changes.sentence(row["runs"]) for row in found["changes"]}


@pytest.mark.parametrize(
    ("cases", "sentence"),
    [
        ((GOOD, GOOD, BAD, BAD), "PASS up to b, FAIL from c"),
        ((GOOD, BAD, LATE), "PASS up to a, FAIL at b, UNKNOWN (timeout) from c"),
        ((GOOD, LATE, LATE, BAD), "PASS up to a, UNKNOWN (timeout) from b to c, FAIL from d"),
        ((BAD, GOOD, BAD), "FAIL up to a, PASS at b, FAIL from c"),
        ((GOOD, unbuilt(NAME), BAD), "PASS up to a, UNKNOWN (environment) at b, FAIL from c"),
        ((GOOD, smoked(BAD), BAD), "PASS up to a, UNKNOWN (smoke) at b, FAIL from c"),
    ],
)
def test_a_transition_is_a_sentence(cases: tuple[dict[str, Any], ...], sentence: str) -> None:
    """Equal verdicts are one run, in the order of the pins; a claim that was not judged has what its case has."""
    found = over(*cases)
    assert sentences(found) == {None: sentence, "core/one@1": sentence}
    assert found["constant"] == []
    assert sentence in markdown.transitions(found)


@pytest.mark.parametrize("cases", [(GOOD,), (GOOD, GOOD), (GOOD, unbuilt(NAME), GOOD), (GOOD, smoked(BAD), GOOD)])
def test_what_never_changes_is_summarized(cases: tuple[dict[str, Any], ...]) -> None:
    """One verdict at every pin that answers is no transition; a pin that answers nothing is named once."""
    found = over(*cases)
    assert found["changes"] == []
    assert found["constant"] == [{"verdict": PASS, "reason": None, "cases": [NAME], "claims": 1}]
    assert [known["silent"] for known in found["pins"] if known["silent"]] == [
        known["reason"] for known in cases if known["verdict"] == UNKNOWN
    ]


def test_a_case_that_is_unknown_everywhere_is_constant() -> None:
    """Pins without any answer, all for one reason, have no transition among them."""
    assert over(unbuilt(NAME), unbuilt(NAME))["constant"] == [
        {"verdict": UNKNOWN, "reason": "environment", "cases": [NAME], "claims": 0}
    ]


def test_another_scenario_and_another_version_are_others() -> None:
    """What has another digest or version is not the same: it stands alone, and is not there at the other pins."""
    found = over(GOOD, case(NAME, claim("core/one@2"), digest="b"))
    rows = {(row["digest"][0], row["claim"]): changes.sentence(row["runs"]) for row in found["changes"]}
    assert rows == {
        ("a", None): "PASS up to a, not there from b",
        ("a", "core/one@1"): "PASS up to a, not there from b",
        ("b", None): "not there up to a, PASS from b",
        ("b", "core/one@2"): "not there up to a, PASS from b",
    }


def test_those_who_share_a_sentence_share_a_row() -> None:
    """A case and its claims with the same runs are shown once; many claims are counted."""
    few, many = ["core/a@1", "core/b@1"], [f"core/{letter}@1" for letter in "abcde"]
    for names, shown in ((few, "the case, core/a@1, core/b@1"), (many, "the case and 5 of its claims")):
        sides = [case(NAME, *(claim(name, verdict) for name in names)) for verdict in (PASS, FAIL)]
        assert changes.grouped(over(*sides)) == [(NAME, [(shown, "PASS up to a, FAIL from b")])]


@settings(derandomize=True, deadline=None)
@given(documents())
def test_runs_give_every_verdict_back(found: Document) -> None:
    """Laid end to end, the runs of a row cover each pin once, no two neighbours are alike, and they say what results say."""
    names = [known["pin"] for known in found["pins"]]
    for row in transitions(found)["changes"]:
        assert sum(run["pins"] for run in row["runs"]) == len(names)
        verdicts = [(run["verdict"], run["reason"]) for run in row["runs"]]
        assert all(one != two for one, two in pairwise(verdicts))
        at = [(run["verdict"], run["reason"]) for run in row["runs"] for _ in range(run["pins"])]
        assert [names.index(run[end]) for run in row["runs"] for end in ("first", "last")] == _ends(row["runs"])
        assert at == [_standing(known, row) for known in found["pins"]]


def _ends(runs: list[dict[str, Any]]) -> list[int]:
    ends = [sum(run["pins"] for run in runs[: place + 1]) for place in range(len(runs))]
    return [place for start, end in zip([0, *ends], ends, strict=False) for place in (start, end - 1)]


def _standing(known: Document, row: Document) -> tuple[str | None, str | None]:
    for entry in known["cases"]:
        if (entry["case"], entry["digest"]) == (row["case"], row["digest"]):
            if row["claim"] is None or entry["reason"] in ("environment", "smoke"):
                return said(entry)
            return next((said(entry, judged) for judged in entry["claims"] if judged["claim"] == row["claim"]), (None, None))
    return None, None


@settings(derandomize=True, deadline=None)
@given(documents())
def test_nothing_is_lost(found: Document) -> None:
    """Each case with its scenario is either in the transitions or in the summary, and every rendering takes them."""
    came = transitions(found)
    cases = {(entry["case"], entry["digest"]) for known in found["pins"] for entry in known["cases"]}
    changed = [(row["case"], row["digest"]) for row in came["changes"] if row["claim"] is None]
    assert len(changed) + sum(len(same["cases"]) for same in came["constant"]) == len(cases)
    assert markdown.transitions(came)


def test_transitions_of_saved_results(command: Command, tmp_path: Any) -> None:
    """The command takes a results file or a folder that has one, in every format, and always ends with 0."""
    results = document.canonical(written(pin("a", GOOD), pin("b", BAD)))
    (tmp_path / "results.json").write_bytes(results)
    done = command("transitions", "results.json")
    assert (done.returncode, sentences(json.loads(done.stdout))[None]) == (0, "PASS up to a, FAIL from b")
    document.check(json.loads(done.stdout), json.loads(command("transitions", "--schema").stdout)["$id"].split(".")[0], "output")
    for form in ("text", "markdown"):
        shown = command("transitions", tmp_path, "--format", form)
        assert (shown.returncode, "PASS up to a, FAIL from b" in shown.stdout) == (0, True)
    published = command("transitions", library.records_folder() / "i05" / "r1")
    assert (published.returncode, json.loads(published.stdout)["changes"]) == (0, [])


def test_results_of_many_pins_are_shown_by_what_changed() -> None:
    """In Markdown, one pin has its table; of many pins the counts are shown, and what changed among them."""
    many = markdown.results(written(pin("a", GOOD), pin("b", BAD)))
    assert "| `a` | 1 | 0 | 0 |\n| `b` | 0 | 1 | 0 |" in many
    assert "PASS up to a, FAIL from b" in many
    assert "(a) Proposal" not in many
    assert "(a) Proposal" in markdown.results(written(pin("a", GOOD)))
