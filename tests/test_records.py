"""Every published record: what it states is observed in its latest revision, and it comes out again, byte for byte."""

from pathlib import Path

import pytest

from capture import document, interpreter, record, reproduction, results, verification

RECORDS = record.all_names()


def test_the_records_are_there() -> None:
    """The investigation that started it, the story of the per-call mode, and the page of the documentation."""
    assert set(RECORDS) >= {"i05", "per-call-1.4.6", "hitl-docs"}


@pytest.mark.parametrize("name", RECORDS)
def test_what_is_published_holds(name: str) -> None:
    """Digests, counts and verdicts of each revision follow from what stands beside them."""
    found = record.find(name)
    for revision in found.revisions.values():
        assert [check for check in verification.of_revision(found, revision) if not check.held] == []


@pytest.mark.parametrize("name", RECORDS)
def test_every_statement_is_observed_or_says_why_not(name: str) -> None:
    """Each statement of a record's document names cases of the latest revision, or a reason."""
    found = record.find(name)
    published = {entry["case"] for entry in found.revision(None).cases}
    named = [case for statement in found.statements for case in statement.get("cases", [])]
    assert set(named) <= published
    assert all("cases" in statement or statement["unobserved"] for statement in found.statements)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_comes_out_again(name: str, tmp_path: Path) -> None:
    """Run again in this environment, the results and the history of the latest revision have the published bytes."""
    found, revision = record.find(name), record.find(name).revision(None)
    plan = reproduction.Plan(interpreter.find(None), tmp_path / "run", with_upstream=False)
    measured = reproduction.measure(found, revision.suite, plan)
    checks = {check.check: check.held for check in reproduction.compare(found, revision, measured)}
    assert (checks["results.json"], checks["history.jsonl"]) == (True, True)


def test_the_three_hazards_of_the_per_call_mode_show() -> None:
    """At langchain 1.4.6 each hazard that the story names is a FAIL of the claim about it."""
    path = record.find("per-call-1.4.6").revision(None).file("results")
    (pin,) = results.read(document.read(path), str(path))["pins"]
    failing = {
        case["case"]: {claim["claim"].partition("@")[0] for claim in case["claims"] if claim["verdict"] == "FAIL"}
        for case in pin["cases"]
    }
    assert failing["per-call/together-one-invalid@async"] == {"core/no-repeated-dispatch"}
    assert "core/no-refused-dispatch" in failing["policy/when-true-then-false-rejected@per_call"]
    assert failing["per-call/middleware-before-gate"] == {"middleware/entered-once"}


def test_a_page_that_says_two_things_is_ambiguous() -> None:
    """Where the page contradicts itself about respond, the case is UNKNOWN(ambiguous), and its sources are both places."""
    path = record.find("hitl-docs").revision(None).file("results")
    (pin,) = results.read(document.read(path), str(path))["pins"]
    (found,) = [case for case in pin["cases"] if case["case"] == "decisions/respond-as-refusal"]
    assert (found["verdict"], found["reason"]) == ("UNKNOWN", "ambiguous")
    sources = record.find("hitl-docs").revision(None).suite()
    (known,) = [case for case in sources if case.id == found["case"]]
    assert len({source["place"] for source in known.scenario["sources"]}) >= 2
