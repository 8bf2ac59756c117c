"""What the mutants of the judge need to be noticed: whole findings, with their evidence, and whole results, byte by byte."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from capture import document, history, record, results, verdict
from capture.authority import bad_answers, proposals, received, rulings
from capture.case import Case
from capture.claims import CLAIMS, Claim, Fault, Finding, current, registry
from capture.errors import InputRefused
from capture.history import CaseHistory
from capture.judgement import Judge
from capture.question import asked, fits
from capture.saved import SavedHistory
from capture.verdict import NOT_APPLICABLE, judge_claim
from capture.verdict import UNKNOWN as UNSEEN
from tests import comparisons as small
from tests.judging import judged
from tests.mutants.examples import ENVIRONMENT, FINDINGS, PLANS, found, histories
from tests.test_authority import FREE, A, B, ask, ask_each, decide, dispatch, edit, end, propose, seen
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
    found = Judge().pin(SavedHistory.read(data, "i05"), document.digest(data), claims)
    assert document.canonical(results.build([found], "i05")) == document.read(revision.file("results"))


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
    pin = judged(history.History(ENVIRONMENT, (), (replace(case, entries=tuple(entries)),)), {case.case: []})
    assert pin["cases"][0]["observations"]["injected"] == [
        {"tool": "log", "values": {"state": 1}},
        {"tool": "pay", "values": {"state": 1}},
    ]


def test_an_agent_that_was_not_built_leaves_nothing_to_judge() -> None:
    """Where the construction raised, no claim about what an agent does is UNKNOWN: there was nothing to see."""
    built = [{"kind": "step", "step": 0, "do": "build"}, {"kind": "outcome", "step": 0, "status": "raised", "error": "ValueError"}]
    case = CaseHistory("test/raised", PLANS["mixed"], tuple(built))
    verdicts = {name: judge_claim(case, known).verdict for name, known in current().items()}
    assert {name for name, said in verdicts.items() if said != NOT_APPLICABLE} == {"network/none-tried"}


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


# --- findings of histories that no framework has to produce

APPROVE = decide(("a", "approve"))
TWICE = decide(("a", "approve"), ("a", "approve"))
RESPOND = {"do": "resume", "decisions": [{"call": "a", "type": "respond", "message": "not now"}]}
REJECT = {"do": "resume", "decisions": [{"call": "a", "type": "reject", "message": "too much"}]}
ASKED = [propose(1, A), *ask(1, A)]
ENDED = [*ASKED, end(2, "ended")]


def finding(claim: str, case: CaseHistory) -> Finding:
    """Return what a claim finds."""
    return current()[claim].find(case)


def told(step: int, *messages: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conversation that a step returned."""
    return seen("messages", step, messages=list(messages))


def tool_message(call: str, content: str, status: str = "success") -> dict[str, Any]:
    """Return the message that answers a call."""
    return {"answers": call, "status": status, "content": content}


def turn(*calls: Any) -> dict[str, Any]:
    """Return the message of a model that proposed calls."""
    return {"content": "", "calls": [{"id": name, "tool": tool, "args": args} for name, tool, args in calls]}


def checkpoint(step: int, *calls: Any, **fields: Any) -> dict[str, Any]:
    """Return a checkpoint whose last turn proposed calls."""
    return seen("checkpoint", step, checkpoint="c", next=[], messages=[turn(*calls)], **fields)


def policy(case: CaseHistory, **said: Any) -> CaseHistory:
    """Return a history whose case has these policies, and nothing else in its middleware."""
    case.scenario["subject"]["middleware"][0]["options"]["interrupt_on"] = said
    return case


def observed(case: CaseHistory) -> Any:
    """Return the results of a case without claims."""
    scenario = {**case.scenario, "question": "?", "trigger": "agent-built"}
    found = replace(case, scenario=scenario)
    pin = judged(history.History(ENVIRONMENT, (), (found,)), {case.case: []})
    return pin["cases"][0]


def a_claim(*vantages: str) -> Claim:
    """Return a claim that examines one thing, and needs these vantages."""
    return Claim("test/any", 1, "One thing.", "Nobody.", vantages, lambda _: Finding(1))


def test_each_reason_of_unknown_has_its_sentence() -> None:
    """Those that are explained are these, and what stands in the way of a PASS is given as the reason."""
    machines = {"checkpointer", "environment", "error", "smoke", "timeout"}
    reasons = {*machines, "ambiguous", "unfinished", "unobservable", "unsupported", "untriggered"}
    assert set(verdict.REASONS) == reasons
    # By a function of the judge: of the tests that call none, a mutant is not shown to any.
    assert {verdict.merge([], reason, triggered=True) for reason in reasons} == {("UNKNOWN", reason) for reason in reasons}


def test_a_gap_is_named_where_it_decides() -> None:
    """A fault of the probe makes a claim UNKNOWN for its reason, and a case says what is missing unless it FAILs anyway."""
    case = histories("mixed")["correct"]
    broken = replace(case, entries=(*case.entries, {"kind": "fault", "step": 1, "reason": "timeout", "detail": "too slow"}))
    judged = judge_claim(broken, a_claim())
    assert (judged.verdict, judged.reason, judged.examined) == (UNSEEN, "timeout", 1)
    said = verdict.judge(broken, ["network/none-tried@1"])
    assert (said.verdict, said.reason, said.detail) == (UNSEEN, "timeout", "too slow")
    tried = {"kind": "observation", "vantage": "network", "step": 1, "event": "socket.connect", "target": "example"}
    said = verdict.judge(replace(broken, entries=(*broken.entries, tried)), ["network/none-tried@1"])
    assert (said.verdict, said.reason, said.detail) == ("FAIL", None, None)


def test_a_vantage_that_nobody_watched_is_unobservable() -> None:
    """No review is an observation of the operator, once a step was seen to end; no stream is none of anybody."""
    case = replace(histories("ungated")["correct"])
    assert case.of("review") == case.of("stream") == []
    judged = judge_claim(case, a_claim("review"))
    assert (judged.verdict, judged.examined) == ("PASS", 1)
    judged = judge_claim(case, a_claim("stream"))
    assert (judged.verdict, judged.reason, judged.examined) == (UNSEEN, "unobservable", 0)
    left = tuple(entry for entry in case.entries if entry["kind"] != "outcome")
    assert judge_claim(replace(case, entries=left), a_claim("review")).examined == 0


def test_a_claim_is_entered_once() -> None:
    """What is entered is the function itself; a second claim of one name is a mistake in the code."""
    about: dict[str, Any] = {"version": 1, "sentence": "One thing.", "promised": "Nobody.", "vantages": ()}
    try:
        entered = registry.claim("test/entered", **about)(a_claim().find)
        assert CLAIMS["test/entered@1"].find is entered
        assert entered(made([])) == Finding(1)
        with pytest.raises(ValueError, match="the claim test/entered@1 is defined twice"):
            registry.claim("test/entered", **about)(entered)
    finally:
        CLAIMS.pop("test/entered@1", None)


def test_results_are_narrowed_to_pins_and_cases() -> None:
    """Only the pins and cases that are named stay, and are counted again."""
    one, two = small.case("x/one"), small.case("x/two", small.claim("core/one@1", "FAIL"))
    found = results.build([small.pin("a", one, two), small.pin("b", one)], "i05")
    assert results.narrowed(found, ["a"], ["x/two"]) == results.build([small.pin("a", two)], "i05")


def test_results_that_contradict_themselves_are_refused() -> None:
    """A claim twice, a key that is not known, an UNKNOWN claim beside a PASS, another reason where nothing could be built."""
    changed = _published()
    _case(changed)["claims"].append(_case(changed)["claims"][0])
    assert f"claims: {_case(changed)['claims'][0]['claim']} stands twice" in _refused(changed)
    assert "more" in _refused(_published() | {"more": 1})
    changed = _published()
    _case(changed)["claims"] = [small.claim("core/one@1"), small.claim("core/two@1", "UNKNOWN", "error")]
    assert "its verdict does not follow from its claims and its trigger" in _refused(changed)
    other = small.unbuilt("x/two") | {"reason": "error"}
    assert "without a history" in _refused(dict(results.build([small.pin("a", small.unbuilt("x/one"), other)])))


def test_after_a_smoke_test_that_failed_no_verdict_has_to_follow() -> None:
    """A claim may FAIL under a case that is UNKNOWN (smoke)."""
    failed = small.smoked(small.case("x/one", small.claim("core/one@1", "FAIL")))
    assert small.written(small.pin("a", failed))["counts"] == {"PASS": 0, "FAIL": 0, "UNKNOWN": 1}


def test_results_say_what_has_no_place_of_its_own() -> None:
    """A message without an id, a step that nobody saw end, branches of a step, predicates, a question of no known form."""
    steps: list[dict[str, Any]] = [{"do": "resume", "steps": [APPROVE, APPROVE]}, {"do": "continue"}]
    ends = [{**end(2, "ended"), "branch": 1}, {**end(2, "raised"), "branch": 2, "error": "E"}]
    messages = told(3, turn(A), tool_message("a", "sent"))
    unread = [end(1, "paused"), seen("review", 1, question="q", value="?")]
    case = observed(made(steps, propose(1, A), unread, ends, seen("predicate", 1, tool="send", result=True), messages))
    assert case["calls"][0]["shown"] == []
    assert case["observations"]["proposals"] == [{"call": "a", "message": "", "tool": "send", "args": {"to": "x"}}]
    assert case["observations"]["links"] == [{"call": "a", "message": "", "status": "success", "content": "sent"}]
    assert case["observations"]["predicates"] == [{"step": 1, "tool": "send", "result": True}]
    assert [tuple(found.values()) for found in case["observations"]["outcomes"]] == [
        (0, "build", "built", None),
        (1, "invoke", "paused", None),
        (2, "resume", "ended", None, 1),
        (2, "resume", "raised", "E", 2),
        (3, "continue", "not seen", None),
    ]
    assert "branch" in case["observations"]["outcomes"][2]


def test_a_schema_is_read_as_it_is_written(tmp_path: Path) -> None:
    """Nothing is fetched from elsewhere, and a definition that nobody points to offers nothing."""
    elsewhere = tmp_path / "schema.json"
    elsewhere.write_text("{}", encoding="utf-8")
    assert fits({}, {"$ref": elsewhere.as_uri()}) is False
    assert fits({}, {"type": "object"}) is True
    schema = {"$defs": {"!": {"properties": {"type": {"const": "approve"}}}}, "properties": {"type": {"const": "reject"}}}
    (review,) = ask_each(1, A, schema=schema)[1:]
    (item,) = asked(review) or []
    assert item.allowed == ("reject",)


def test_a_list_with_one_unreadable_call_or_decision_has_no_known_form() -> None:
    """One call or decision that can be read does not make up for another that cannot."""
    paused, review = ask(1, A, B)
    review["value"]["action_requests"][1]["args"] = 5
    assert (paused["status"], asked(review)) == ("paused", None)
    (_, review) = ask(1, A)
    review["value"]["review_configs"][0]["allowed_decisions"] = ["approve", 5]
    assert asked(review) is None


# --- authority


def test_a_model_call_without_a_reply_proposes_nothing() -> None:
    """It died, so it proposed nothing, and what was shown later belongs to another turn."""
    died = seen("prompt", 1, number=1, messages=[], reply=None)
    found = made([APPROVE], died, propose(1, A, number=2), ask(1, A), dispatch(2, A), end(2, "ended"))
    assert [call.id for call in proposals(found)] == ["a"]
    assert [ruled.kind.value for ruled in rulings(found).first.dispatches] == ["authorised"]


TOOLS = [{"name": "log", "before": [{"interrupt": {"ask": 1}}]}]


def test_an_answer_to_what_a_tool_asked_is_none_to_a_question_about_a_call() -> None:
    """Which question is meant is counted among those of the pause; without a number no tool's question is meant."""
    of_tool = seen("review", 1, question="t", value={"ask": 1})
    both = made([TWICE], propose(1, A), of_tool, ask(1, A), end(2, "raised"), tools=TOOLS)
    assert bad_answers(both) == [2]
    first = made([{**TWICE, "question": 1}], propose(1, A), of_tool, ask(1, A), end(2, "raised"), tools=TOOLS)
    assert bad_answers(first) == []
    steps = [{"do": "resume", "value": "yes"}, {**TWICE, "question": 1}]
    later = made(steps, propose(1, A), of_tool, end(1, "paused"), ask(2, A), end(3, "raised"), tools=TOOLS)
    assert bad_answers(later) == [3]


def test_an_answered_question_that_is_listed_again_unanswered_is_no_new_one() -> None:
    """The approved call ran in a step that raised, and a step that answered nothing listed it again: there is no second token."""
    ran = [dispatch(2, A), end(2, "raised"), *ask(3, A), dispatch(4, A, 2), end(4, "ended")]
    found = made([APPROVE, {"do": "continue"}, APPROVE], ASKED, ran)
    assert [ruled.kind.value for ruled in rulings(found).first.dispatches] == ["authorised", "repeated"]


def test_a_branch_is_bad_only_if_it_was_delivered() -> None:
    """What a branch did not deliver is no bad answer, nor is what a step delivered that nobody saw end."""
    for bad, number in ((TWICE, 1), (APPROVE, 2)):
        branches: list[dict[str, Any]] = [bad, APPROVE if number == 1 else TWICE]
        ends = [{**end(2, "impossible" if branch == number else "ended"), "branch": branch} for branch in (1, 2)]
        assert bad_answers(made([{"do": "resume", "steps": branches}], ASKED, ends)) == []
    assert bad_answers(made([TWICE], ASKED)) == []
    assert bad_answers(made([TWICE], ASKED, end(2, "raised"))) == [2]


def test_a_refused_call_is_not_allowed_by_an_equal_one() -> None:
    """What is proposed after the rejection under another id is not this call."""
    equal = ("z", *A[1:])
    found = made([REJECT], ASKED, propose(2, equal, number=2), dispatch(2, A, named=True), end(2, "ended"))
    assert [ruled.kind.value for ruled in rulings(found).first.dispatches] == ["refused"]


def test_an_edit_may_stay_in_its_own_tool() -> None:
    """What the policy says of other edits does not matter: the reviewer was offered this one."""
    call = ("a", "pay", {"sum": "2"})
    ran = ("a", "pay", {"sum": "1"})
    steps = [edit("a", "pay", {"sum": "1"})]
    found = made(steps, propose(1, call), ask(1, call), dispatch(2, ran), end(2, "ended"), gated=["send", "pay"])
    assert [ruled.kind.value for ruled in rulings(found).first.dispatches] == ["authorised"]


def test_a_policy_with_what_is_no_word_allows_its_words() -> None:
    """What stands in a list of decisions and is no text is none."""
    found = made([edit("a", "pay", {"sum": "1"})], propose(1, A), ask(1, A), end(2, "ended"), gated=["send", "pay"])
    policy(found, send=True, pay={"allowed_decisions": [["reject"], "edit"]})
    ran = dispatch(2, ("a", "pay", {"sum": "1"}), named=True)
    ruling = rulings(replace(found, entries=(*found.entries, ran))).first
    assert [ruled.kind.value for ruled in ruling.dispatches] == ["authorised"]


def test_a_tool_receives_its_defaults_and_what_the_case_says() -> None:
    """Only for the very arguments for which the case says something is it that."""
    tool = {"name": "send", "defaults": {"cc": ""}, "receives": [{"args": {"to": "x"}, "as": {"to": "X"}}]}
    scenario = made([], tools=[tool]).scenario
    assert received(scenario, "send", {"to": "x"}) == {"to": "X"}
    assert received(scenario, "send", {"to": "y"}) == {"to": "y", "cc": ""}


def test_which_call_is_meant_is_no_part_of_what_must_fit() -> None:
    """A schema that allows nothing else allows the decision: to whom it goes is said beside it."""
    strict = {"type": "object", "properties": {"type": {"const": "approve"}}, "additionalProperties": False}
    found = made([{**APPROVE, "by": "value"}], propose(1, A), ask_each(1, A, schema=strict), dispatch(2, A), end(2, "ended"))
    assert [ruled.kind.value for ruled in rulings(found).first.dispatches] == ["authorised"]


# --- claims


@pytest.mark.parametrize(("failed", "faults"), [(None, 1), (1, 1), (3, 0)])
def test_a_valid_answer_may_raise_only_if_a_tool_did(failed: int | None, faults: int) -> None:
    """The tool must have raised in the step of the answer."""
    steps = [decide(("a", "approve"), ("a", "approve")), APPROVE]
    raised = [] if failed is None else [{**dispatch(failed, FREE, 2), "event": "raised", "error": "E"}]
    found = finding("answer/recoverable", made(steps, ASKED, end(2, "raised"), dispatch(3, A), end(3, "raised"), raised))
    assert (found.examined, len(found.faults)) == (1, faults)


def test_only_an_answer_after_a_bad_one_shows_that_it_was_no_end() -> None:
    """A valid answer that raised before the bad one was given recovers nothing, and is no fault of the recovery."""
    steps = [APPROVE, TWICE, APPROVE]
    case = made(steps, ASKED, end(2, "raised"), end(3, "raised"), dispatch(4, A), end(4, "ended"))
    assert bad_answers(case) == [3]
    assert finding("answer/recoverable", case) == Finding(1)


def test_a_question_stays_the_one_to_ask_again_while_answers_raise() -> None:
    """Of two bad answers to one question the first raised and the second led to the question again: both were refused."""
    case = made([TWICE, TWICE], ASKED, end(2, "raised"), ask(3, A))
    assert finding("answer/bad-refused", case) == Finding(2)


def test_a_pause_of_no_known_form_is_not_to_ask_again() -> None:
    """The question that got the bad answer had a known form, and would have it again."""
    case = made([TWICE], ASKED, end(2, "paused"), seen("review", 2, question="r", value="?"))
    assert finding("answer/bad-refused", case) == Finding(1, (Fault("outcome/2", "raised", "paused"),))


def test_a_question_of_a_step_that_ended_is_no_crash() -> None:
    """Evidence that contradicts itself so is judged all the same: what was answered is what was listed, and it is asked again."""
    (_, review) = ask(1, A)
    case = made([TWICE], propose(1, A), end(1, "ended"), review, ask(2, A))
    assert finding("answer/bad-refused", case) == Finding(1)


def test_edits_are_cleared_from_the_step_of_the_edit_on() -> None:
    """A checkpoint of a step before it says nothing, nor does one where each call is asked about on its own."""
    edited = edit("a", "send", {"to": "z"})
    unread = [end(3, "paused"), seen("review", 3, question="q", value="?")]
    stored = checkpoint(1, FREE, stored_edits={"a": 1})
    case = made([edited, {"do": "continue"}], ASKED, stored, end(2, "ended"), checkpoint(2, FREE), unread)
    assert finding("checkpoint/edits-cleared", case) == Finding(1)
    case.scenario["subject"]["middleware"][0]["options"]["interrupt_mode"] = "per_call"
    assert finding("checkpoint/edits-cleared", CaseHistory(case.case, case.scenario, case.entries)) == Finding(0)


def test_what_has_no_id_is_not_stored_by_it() -> None:
    """An edited call without an id owes the checkpoint nothing."""
    call: Any = (None, "send", {"to": "x"})
    edited = {"do": "resume", "decisions": [{"type": "edit", "edited_action": {"name": "send", "args": {"to": "z"}}}]}
    case = made([edited], propose(1, call), ask(1, call), end(2, "ended"), checkpoint(2, call))
    assert finding("checkpoint/edits-stored", replace(case)) == Finding(1)


def test_a_turn_is_reviewed_when_all_its_answers_are_there() -> None:
    """A checkpoint between two answers to one turn holds what nobody can say yet."""
    steps = [{**APPROVE, "by": "id"}, {**decide(("b", "approve")), "by": "id"}]
    case = made(steps, propose(1, A, B), ask_each(1, A, B), checkpoint(2, A, B), ask_each(2, B), end(3, "ended"))
    assert finding("checkpoint/edits-stored", case) == Finding(0)


def test_an_ungated_call_that_was_asked_about_ran_once() -> None:
    """It was approved and ran; that is its run."""
    case = made([decide(("f", "approve"))], propose(1, FREE), ask(1, FREE), dispatch(2, FREE), end(2, "ended"))
    assert finding("core/ungated-dispatch", case) == Finding(1)


def test_an_ungated_call_may_end_with_an_error() -> None:
    """A call that an error answers did not have to run; an error that answers nothing excuses none, not even one without an id."""
    case = made([], propose(1, FREE), end(1, "ended"), told(1, tool_message("f", "no", "error")))
    assert finding("core/ungated-dispatch", case) == Finding(1)
    nameless: Any = (None, *FREE[1:])
    no_answer = told(1, {"content": "no", "status": "error"})
    found = finding("core/ungated-dispatch", made([], propose(1, nameless), end(1, "ended"), no_answer))
    assert [fault.evidence for fault in found.faults] == ["dispatch/no call/0"]
    assert finding("core/ungated-dispatch", made([], propose(1, FREE), end(1, "raised"))) == Finding(1, unknown="unfinished")
    strange = dispatch(1, ("f", "note", {"text": "x"}), named=True)
    assert len(finding("core/ungated-dispatch", made([], propose(1, FREE), strange, end(1, "raised"))).faults) == 2


def test_what_cannot_be_read_or_walked_examines_one_thing() -> None:
    """Where nobody can know, the finding says so about one thing."""
    unread = made([], propose(1, A), end(1, "paused"), seen("review", 1, question="q", value="?"))
    assert finding("core/no-undecided-dispatch", unread) == Finding(1, unknown="unobservable")
    assert finding("review/decisions-offered", replace(unread)) == Finding(0)
    calls = [(f"c{place}-{number}", "log", {"text": str(place)}) for place in range(2) for number in range(9)]
    ran = [dispatch(1, ("", "log", {"text": str(place)}), place) for place in range(2)]
    many = made([], propose(1, *calls), ran, end(1, "ended"))
    assert finding("core/no-undecided-dispatch", many) == Finding(1, unknown="ambiguous")


def _said(value: Any, *messages: Mapping[str, Any], how: str = "ended", **case: Any) -> Finding:
    """Return what the claim that an edit is not stated finds, with an edit of call a into a value."""
    entries = [propose(1, B, A), *ask(1, A), end(2, how), told(2, *messages)]
    return finding("messages/edit-unstated", made([edit("a", "send", {"to": value})], *entries, script=[], **case))


def test_a_value_of_an_edit_counts_if_nobody_else_says_it() -> None:
    """Not one that is empty or that the case says; one that only a body receives or that another call has does count."""
    assert _said("") == _said("go") == Finding(0)
    tool = {"name": "send", "receives": [{"args": {"to": "fresh"}, "as": {"to": "fresh"}}]}
    assert _said("fresh", tools=[tool]) == _said("y") == Finding(1)
    assert _said("fresh", how="paused") == Finding(1, unknown="unfinished")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("fresh", "it is fresh"),
        ('é"x', 'it is é"x now'),
        ('é"x', 'it is \\u00e9\\"x now'),
        ('é"x', 'it is é\\"x now'),
        (["é"], 'it is ["é"] now'),
        (["é"], 'it is ["\\u00e9"] now'),
    ],
)
def test_a_value_is_stated_in_any_of_its_forms(value: Any, text: str) -> None:
    """As it is, or as JSON with or without characters beyond ASCII, in a text or in the arguments of a call."""
    assert len(_said(value, {"content": text}).faults) == 1
    assert len(_said(value, {"content": "", "calls": [{"args": {"note": text}}]}).faults) == 1
    assert _said(value, {"content": "nothing"}) == Finding(1)


def test_a_middleware_is_entered_once_for_each_call() -> None:
    """Only being entered counts, once for each name and call."""
    entries = [seen("middleware", 1, name="m", call=call, event=event) for call in "ab" for event in ("entered", "left", "left")]
    assert finding("middleware/entered-once", made([], entries)) == Finding(2)
    (fault,) = finding("middleware/entered-once", made([], entries, entries[0])).faults
    assert (fault.evidence, fault.observed) == ("middleware/m/a/1", 2)


def test_an_output_shows_the_private_key_or_the_question() -> None:
    """The key in an output is a leak though no checkpoint has it, and a question among the keys is not the second version."""
    leak = seen("output", 1, keys=["messages", "hitl_edited_tool_calls"])
    assert (finding("output/private-key-absent", made([], leak)).examined, made([], leak).of("checkpoint")) == (1, [])
    outputs = [seen("output", 2, form="GraphOutput", keys=keys) for keys in (["messages"], ["messages", "__interrupt__"])]
    found = finding("output/second-version", made([{**APPROVE, "through": "v2"}], outputs))
    assert (found.examined, [fault.evidence for fault in found.faults]) == (2, ["output/2"])


def test_a_policy_without_decisions_is_refused_as_a_whole() -> None:
    """An agent that was built in spite of two such policies is one fault."""
    built = policy(made([]), send={}, pay={"allowed": ["approve"]}, log=True)
    found = finding("policy/misspelt-refused", built)
    assert found == Finding(2, (Fault("outcome/0", "raised", "built"),))
    refused = tuple({**entry, "status": "raised"} if entry["kind"] == "outcome" else entry for entry in built.entries)
    assert finding("policy/misspelt-refused", replace(built, entries=refused)) == Finding(2)


def test_a_call_without_a_policy_may_offer_anything() -> None:
    """Only what the policy says can be compared with what was offered."""
    case = made([], propose(1, FREE, A), ask(1, FREE, A, allowed=["approve"]))
    found = finding("review/decisions-offered", case)
    assert (found.examined, len(found.faults)) == (1, 1)


@pytest.mark.parametrize(
    ("said", "shown", "holds"),
    [
        ("Mind.", "Mind.", True),
        ("Mind.", "Mind. More", False),
        ({"returns": "Mind."}, "Mind.", True),
        ("", None, True),
        ("Mind.", None, False),
        (None, "Look: send x", True),
        (None, "send x Look", False),
        (None, "Look: send", False),
        (None, None, False),
    ],
)
def test_what_a_description_has_to_hold(said: Any, shown: str | None, holds: bool) -> None:
    """The policy's own text and nothing else, or the prefix first, then the tool and its arguments."""
    paused, review = ask(1, A)
    review["value"]["action_requests"][0] |= {"description": shown}
    case = policy(made([], propose(1, A), paused, review), send={"allowed_decisions": ["approve"], "description": said})
    case.scenario["subject"]["middleware"][0]["options"]["description_prefix"] = "Look"
    found = finding("review/description-shown", case)
    assert (found.examined, not found.faults) == (1, holds)


def test_a_gated_call_that_ran_was_shown_itself() -> None:
    """Neither an equal call, nor another tool under its id, nor nothing at all stands for it."""
    twin = ("b", "send", {"to": "x"})
    other = ("a", "pay", {"to": "x"})
    nothing = made([], propose(1, FREE), dispatch(1, A), end(1, "ended"))
    equal = made([APPROVE], propose(1, A, twin), ask_each(1, A), dispatch(2, twin, named=True), end(2, "ended"))
    under = made([APPROVE], propose(1, A), ask_each(1, other), dispatch(2, A, named=True), end(2, "ended"))
    for case, call in ((nothing, "no call"), (equal, "b"), (under, "a")):
        found = finding("review/shown-first", case)
        assert (found.examined, [fault.evidence for fault in found.faults]) == (1, [f"review/{call}/1"])
    (fault,) = finding("review/proposal-shown", under).faults
    assert (fault.expected, fault.observed) == ({"tool": "send", "args": A[2]}, {"tool": "pay", "args": A[2]})
    unread = [seen("review", 1, question="q", value="?"), end(1, "raised")]
    raised = made([{"do": "continue"}], propose(1, A), unread, dispatch(2, A), end(2, "ended"))
    assert len(finding("review/shown-first", raised).faults) == 1


def test_calls_without_an_id_are_shown_by_what_they_are() -> None:
    """One of two that was shown twice does not stand for the other."""
    one: Any = (None, "send", {"to": "x"})
    two: Any = (None, "send", {"to": "y"})
    assert finding("review/proposal-shown", made([], propose(1, one, two), ask(1, one, two))) == Finding(2)
    found = finding("review/proposal-shown", made([], propose(1, one, two), ask(1, one, one)))
    assert [fault.observed for fault in found.faults] == [{"times": 2}, {"times": 0}]


def test_a_stream_shows_the_call_that_ran() -> None:
    """Neither another tool nor another call stands for it; the evidence is what was reported of it, each once."""
    told_of = [("a", "pay", "x"), ("b", "send", "x"), ("b", "send", "w"), ("a", "pay", "x"), (None, "pay", "z")]
    reports = [{"call": call, "tool": tool, "args": {"to": to}} for call, tool, to in told_of]
    case = made([APPROVE], ASKED, dispatch(2, A, named=True), end(2, "ended"), seen("stream", 2, pauses=[], calls=reports))
    (fault,) = finding("stream/dispatch-shown", case).faults
    assert fault.observed == [{"to": "x"}, {"to": "z"}]


@pytest.mark.parametrize(
    ("event", "message", "faults"),
    [
        (None, tool_message("a", "send executed instead", "error"), 1),
        (None, tool_message("a", "refused", "error"), 0),
        (None, tool_message("a", "sent"), 1),
        (None, tool_message("stranger", "sent"), 0),
        ("raised", tool_message("a", "broken", "error"), 0),
        ("returned", tool_message("a", "broken", "error"), 1),
        ("returned", tool_message("a", "sent"), 0),
    ],
)
def test_what_the_model_is_told_of_a_run(event: str | None, message: dict[str, Any], faults: int) -> None:
    """That it ran only if it did, and an error only if no run came to its end."""
    ran = [] if event is None else [dispatch(2, A, named=True), {**dispatch(2, A), "event": event}]
    found = finding("messages/told-truly", made([APPROVE], ASKED, ran, end(2, "ended"), told(2, message)))
    assert (found.examined, len(found.faults)) == (int(message["answers"] == "a"), faults)


@pytest.mark.parametrize(
    ("claim", "part"),
    [("messages/respond-is-result", RESPOND), ("messages/reason-told", REJECT), ("promise/respond-refuses", RESPOND)],
)
def test_what_nobody_was_told_yet_is_unfinished(claim: str, part: dict[str, Any]) -> None:
    """Without a conversation, or with one that does not answer the call of a run that has not ended, nobody can know."""
    unfinished = Finding(1, unknown="unfinished")
    assert finding(claim, made([part], ENDED)) == unfinished
    assert finding(claim, made([], ASKED)) == Finding(0)
    open_end = made([part], ASKED, end(2, "raised"), told(2, turn(A)))
    assert finding(claim, open_end) == (Finding(1) if claim == "promise/respond-refuses" else unfinished)


def test_what_was_told_is_judged_though_the_run_goes_on() -> None:
    """The run waits for an answer about another call; what the model was told of this one will not change."""
    other = [propose(2, B, number=2), *ask(2, B, question="r")]
    for content, faults in (("not now", 0), ("later", 1)):
        case = made([RESPOND], ASKED, other, told(2, turn(A), tool_message("a", content), turn(B)))
        found = finding("messages/respond-is-result", case)
        assert (found.examined, len(found.faults), found.unknown) == (1, faults, None)


def test_one_call_that_was_told_does_not_stand_for_another() -> None:
    """Two calls were answered in the tool's place, and the run was left before the model was told of the second."""
    both = {"do": "resume", "decisions": [{"call": call, "type": "respond", "message": "not now"} for call in "ab"]}
    partly = told(2, turn(A, B), tool_message("a", "not now"))
    case = made([both], propose(1, A, B), ask(1, A, B), end(2, "raised"), partly)
    assert finding("messages/respond-is-result", case) == Finding(2, unknown="unfinished")


def test_a_response_is_told_as_the_result_of_its_own_turn() -> None:
    """What answers another call that had its id before does not count."""
    messages = [turn(A), tool_message("a", "sent"), turn(A), tool_message("a", "not now")]
    assert finding("messages/respond-is-result", made([RESPOND], ENDED, told(2, *messages))) == Finding(1)
    assert finding("messages/respond-is-result", made([RESPOND], ENDED, told(2, *messages[2:]))) == Finding(1)
    assert len(finding("messages/respond-is-result", made([RESPOND], ENDED, told(2, *messages[:2]))).faults) == 1
