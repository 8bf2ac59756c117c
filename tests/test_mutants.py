"""What the mutants of the judge need to be noticed: whole findings, with their evidence, and whole results, byte by byte."""

import json
from dataclasses import replace
from typing import Any

import pytest

from capture import document, history, record, results
from capture.authority import rulings
from capture.case import Case
from capture.claims import current
from capture.errors import InputRefused
from capture.history import CaseHistory
from capture.verdict import NOT_APPLICABLE, judge_claim
from capture.verdict import UNKNOWN as UNSEEN
from tests.mutants.examples import ENVIRONMENT, FINDINGS, PLANS, found, histories
from tests.test_authority import A, ask, dispatch, edit, end, propose
from tests.test_authority import history as made


@pytest.mark.parametrize("name", PLANS)
def test_what_is_found_is_what_was_found(name: str) -> None:
    """In a fixed scenario, each claim finds the same faults with the same evidence as ever, and the results have the same bytes.

    What changes on purpose is written again with `python -m tests.mutants.examples`, and read before it is committed.
    """
    expected = json.loads(FINDINGS.read_bytes())
    assert expected.keys() == PLANS.keys()
    # A claim that is new since then is not in the file, and does not count.
    known = expected[name]["correct"].keys()
    now = {fault: {key: said[key] for key in said if key in known} for fault, said in found(name).items()}
    assert now.keys() == expected[name].keys()
    assert [(fault, said) for fault, said in json.loads(document.line(now)).items() if said != expected[name][fault]] == []


def test_published_results_follow_from_the_published_history() -> None:
    """Judged again by the claims of the record, the published history gives the published bytes."""
    revision = record.find("i05").revision(None)
    data = document.read(revision.file("history"))
    claims = {entry["case"]: entry["claims"] for entry in revision.cases}
    judged = results.build([results.pin_results(history.read(data, "i05"), data, claims)], "i05")
    assert document.canonical(judged) == document.read(revision.file("results"))


def test_results_of_an_environment_that_could_not_be_had_are_read_again() -> None:
    """Where nothing could be built every case is UNKNOWN (environment), and the document that says so is one that is read."""
    cases = [Case(name, plan, ()) for name, plan in (("test/mixed", PLANS["mixed"]), ("test/ungated", PLANS["ungated"]))]
    unbuilt = results.build([results.unbuilt("langchain-9.9.9", cases)])
    assert results.read(document.canonical(unbuilt), "a file") == unbuilt
    assert unbuilt["counts"] == unbuilt["pins"][0]["counts"] == {"PASS": 0, "FAIL": 0, "UNKNOWN": 2}
    pin = {key: value for key, value in unbuilt["pins"][0].items() if key not in ("cases", "counts")}
    empty: dict[str, Any] = {"packages": {}, "files": {}, "blocked": [], "smoke": "UNKNOWN", "history": None}
    assert pin == {"pin": "langchain-9.9.9", **empty}
    assert [case["case"] for case in unbuilt["pins"][0]["cases"]] == ["test/mixed", "test/ungated"]
    assert all(case["claims"] == case["calls"] == [] and not case["trigger"]["happened"] for case in unbuilt["pins"][0]["cases"])


def test_what_a_tool_was_given_beside_its_arguments_is_observed_once_a_run() -> None:
    """Injected values stand in the results once for each run of the tool, and not among its arguments."""
    case = histories("ungated")["correct"]
    entries = [{**entry, "injected": {"state": 1}} if entry.get("vantage") == "dispatch" else entry for entry in case.entries]
    pin = results.pin_results(history.History(ENVIRONMENT, (), (replace(case, entries=tuple(entries)),)), b"", {case.case: []})
    assert pin["cases"][0]["observations"]["injected"] == [
        {"tool": "log", "values": {"state": 1}},
        {"tool": "pay", "values": {"state": 1}},
    ]


def test_an_agent_that_was_not_built_leaves_nothing_to_judge() -> None:
    """Where the construction raised, no claim about what an agent does is UNKNOWN: there was nothing to see."""
    built = [{"kind": "step", "step": 0, "do": "build"}, {"kind": "outcome", "step": 0, "status": "raised", "error": "ValueError"}]
    case = CaseHistory("test/raised", PLANS["mixed"], tuple(built))
    verdicts = {name: judge_claim(case, known).verdict for name, known in current().items()}
    assert {name for name, verdict in verdicts.items() if verdict != NOT_APPLICABLE} == {"network/none-tried"}


@pytest.mark.parametrize("vantage", ["prompt", "checkpoint", "output", "stream", "middleware"])
def test_a_claim_without_its_vantage_is_unknown(vantage: str) -> None:
    """A claim that needs a vantage which saw nothing examines nothing, and is UNKNOWN."""
    case = histories("mixed")["correct"]
    left = [entry for entry in case.entries if entry.get("vantage") != vantage]
    for known in current().values():
        judged = judge_claim(CaseHistory(case.case, case.scenario, tuple(left)), known)
        if vantage in known.vantages:
            assert (judged.verdict, judged.examined) == (UNSEEN, 0)


@pytest.mark.parametrize(("allowed", "kind"), [(["approve"], "authorised"), (["edit"], "authorised"), (["respond"], "undecided")])
def test_an_edit_may_go_where_a_person_may_approve_or_edit(allowed: list[str], kind: str) -> None:
    """One of both is enough for an edit into another gated tool; what is offered there beside them is not."""
    found = made([edit("a", "pay", {"sum": "1"})], propose(1, A), ask(1, A), end(2, "ended"), gated=["send", "pay"])
    found.scenario["subject"]["middleware"][0]["options"]["interrupt_on"]["pay"] = {"allowed_decisions": allowed}
    ran = dispatch(2, ("a", "pay", {"sum": "1"}), named=True)
    ruling = rulings(replace(found, entries=(*found.entries, ran))).first
    assert [ruled.kind.value for ruled in ruling.dispatches] == [kind]


def test_an_ungated_dispatch_is_one_of_its_own_tool() -> None:
    """Another ungated tool that ran with the arguments of a call is not that call."""
    found = made(
        [], propose(1, ("f", "log", {"text": "x"})), dispatch(1, ("f", "note", {"text": "x"}), named=True), end(1, "ended")
    )
    evidence = [fault.evidence for fault in current()["core/ungated-dispatch"].find(found).faults]
    assert evidence == ["dispatch/f/1", "dispatch/f/0"]


def test_a_question_that_nobody_can_read_is_no_review() -> None:
    """Where the reviewer was shown something of no known form, what was shown and what was allowed is UNKNOWN."""
    case = histories("waiting")["correct"]
    entries = [{**entry, "value": "?"} if entry.get("vantage") == "review" else entry for entry in case.entries]
    changed = CaseHistory(case.case, case.scenario, tuple(entries))
    core = [name for name in current() if name.startswith("core/")]
    for name in ("review/proposal-shown", "review/shown-first", *core):
        finding = current()[name].find(changed)
        assert (bool(finding.examined), finding.faults, finding.unknown) == (True, (), "unobservable")


@pytest.mark.parametrize(("equal", "complete"), [((3, 4, 4), True), ((4, 3, 4), False)])
def test_exactly_so_many_walks_are_enough(equal: tuple[int, ...], complete: bool) -> None:
    """Dispatches that could belong to so many equal calls each take 64 walks, which are taken, or 65, which are not."""
    calls = [(f"c{place}-{number}", str(place)) for place, count in enumerate(equal) for number in range(count)]
    asked = propose(1, *((name, "log", {"text": text}) for name, text in calls))
    ran = [dispatch(1, ("", "log", {"text": str(place)}), place) for place in range(len(equal))]
    assert rulings(made([], asked, ran, end(1, "ended"))).complete == complete


def _published() -> dict[str, Any]:
    published: dict[str, Any] = json.loads(document.read(record.find("i05").revision(None).file("results")))
    return published


def _refused(changed: dict[str, Any]) -> str:
    with pytest.raises(InputRefused) as refusal:
        results.read(document.canonical(changed), "a file")
    return refusal.value.message


def _case(changed: dict[str, Any], number: int = 0) -> dict[str, Any]:
    case: dict[str, Any] = changed["pins"][0]["cases"][number]
    return case


def test_results_that_count_wrong_are_refused() -> None:
    """A count that is not that of the cases is refused, at the top and at each pin."""
    changed = _published()
    changed["counts"]["PASS"] += 1
    assert _refused(changed) == "a file: top level: key counts does not count the cases that are there."
    changed = _published()
    changed["pins"][0]["counts"]["FAIL"] += 1
    assert _refused(changed) == "a file: pin i05: key counts does not count the cases that are there."


def test_results_with_something_twice_are_refused() -> None:
    """A pin or a case that stands twice is refused, with its name."""
    changed = _published()
    changed["pins"].append(changed["pins"][0])
    assert "pins: i05 stands twice" in _refused(changed)
    changed = _published()
    changed["pins"][0]["cases"].append(_case(changed))
    assert f"pin i05: {_case(changed)['case']} stands twice" in _refused(changed)


@pytest.mark.parametrize(
    "changes",
    [
        {"examined": 0},
        {"verdict": "FAIL"},
        {"verdict": "UNKNOWN"},
        {"reason": "error"},
        {"faults": [{"evidence": "dispatch/a/1", "expected": None, "observed": None}]},
        {"verdict": "not applicable", "reason": "error"},
    ],
)
def test_a_claim_that_contradicts_itself_is_refused(changes: dict[str, Any]) -> None:
    """PASS needs something examined, FAIL a fault, UNKNOWN a reason, and no other has one."""
    changed = _published()
    _case(changed)["claims"][0] |= changes
    assert "its verdict does not agree with its faults or with what it examined" in _refused(changed)


FAILED = {"verdict": "FAIL", "faults": [{"evidence": "dispatch/a/1", "expected": None, "observed": None}]}
UNKNOWN = {"verdict": "UNKNOWN", "reason": "ambiguous"}
NOTHING = {"verdict": "not applicable", "examined": 0}


@pytest.mark.parametrize(
    ("case", "claims", "follows"),
    [
        ({}, {}, True),
        ({}, FAILED, False),
        ({"verdict": "FAIL"}, FAILED, True),
        ({"verdict": "FAIL", "reason": "error"}, FAILED, False),
        ({"verdict": "FAIL"}, {}, False),
        ({"verdict": "UNKNOWN", "reason": "error"}, FAILED, False),
        ({"verdict": "UNKNOWN", "reason": "ambiguous"}, UNKNOWN, True),
        ({"verdict": "UNKNOWN"}, UNKNOWN, False),
        ({}, UNKNOWN, False),
        ({"reason": "error"}, {}, False),
        ({}, NOTHING, False),
        ({"trigger": {"trigger": "answer-delivered", "happened": False}}, {}, False),
        ({"trigger": {"trigger": "answer-delivered", "happened": False}, "verdict": "UNKNOWN", "reason": "untriggered"}, {}, True),
    ],
)
def test_a_verdict_follows_from_its_claims(case: dict[str, Any], claims: dict[str, Any], follows: bool) -> None:
    """The verdict of a case is read only if it follows from its claims and its trigger."""
    changed = _published()
    own = _case(changed)
    own |= case
    own["claims"] = [own["claims"][0] | claims]
    _count(changed)
    if follows:
        results.read(document.canonical(changed), "a file")
    else:
        assert "its verdict does not follow from its claims and its trigger" in _refused(changed)


def test_without_a_smoke_test_or_a_history_nothing_is_a_verdict() -> None:
    """After a failed smoke test every case is UNKNOWN(smoke), without a history UNKNOWN(environment) with no claims."""
    changed = _published()
    changed["pins"][0]["smoke"] = "FAIL"
    assert "after a smoke test that failed every case is UNKNOWN (smoke)" in _refused(changed)
    for case in changed["pins"][0]["cases"]:
        case |= {"verdict": "UNKNOWN", "reason": "smoke"}
    _count(changed)
    results.read(document.canonical(changed), "a file")
    changed["pins"][0] |= {"history": None, "smoke": "UNKNOWN"}
    assert "without a history every case is UNKNOWN (environment)" in _refused(changed)
    for case in changed["pins"][0]["cases"]:
        case |= {"reason": "environment"}
    assert "without a history every case is UNKNOWN (environment)" in _refused(changed)
    for case in changed["pins"][0]["cases"]:
        case["claims"] = []
    results.read(document.canonical(changed), "a file")


def _count(changed: dict[str, Any]) -> None:
    verdicts = [case["verdict"] for case in changed["pins"][0]["cases"]]
    counts = {verdict: verdicts.count(verdict) for verdict in ("PASS", "FAIL", "UNKNOWN")}
    changed["counts"] = changed["pins"][0]["counts"] = counts
