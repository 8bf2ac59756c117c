"""Properties of the judge, over scenarios made up by hypothesis and the histories that a simulated subject leaves of them."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from capture import history
from capture.authority import Class, rulings
from capture.claims import current
from capture.completeness import gap
from capture.history import CaseHistory, History, from_journal
from capture.verdict import FAIL, NOT_APPLICABLE, PASS, UNKNOWN, Judgement, judge, merge
from tests.simulation import ALL, Simulation, scenario, simulated

BOUNDED = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
MOST_STEPS = 9

Plan = dict[str, Any]
Step = dict[str, Any]
Draw = st.DrawFn


@dataclass(frozen=True)
class Want:
    """What a scenario has to hold so that a fault can show in it; without it, anything that can be meant."""

    kind: str | None = None
    per_call: bool | None = None
    notice: bool | None = None
    turns: tuple[str, ...] = ()
    through: str | None = None
    bad: bool = False
    pay: bool = False
    calm: bool = False
    named: bool | None = None
    options: bool = False
    counter: bool = False
    talks: bool = False


ANYTHING = Want()


@st.composite
def plans(draw: Draw, want: Want = ANYTHING) -> Plan:
    """Return a scenario with its steps, which end it in most cases and leave it waiting in some."""
    plan, talks = draw(_heads(want))
    correct = Simulation(plan)
    noisy = not want.calm and draw(st.booleans())
    step: Step | None = {"do": "invoke", "text": "Go."}
    while step is not None and len(plan["steps"]) < MOST_STEPS:
        if "through" not in step:
            step |= _through(draw, want)
        plan["steps"].append(step)
        correct.take(step)
        step = draw(_next(plan, correct, want, noisy=noisy, talks=talks))
    return plan


@st.composite
def _heads(draw: Draw, want: Want) -> tuple[Plan, bool]:
    named = draw(st.booleans()) if want.named is None else want.named
    talks = want.talks or draw(st.booleans())
    turns = _turns(draw, want, named=named)
    script: list[dict[str, Any]] = []
    for turn in turns:
        script += [{"text": "And now?"}] if script and talks else []
        script.append({"calls": turn})
    policies = {"send": True} | _policy(draw, want)
    per_call = draw(st.booleans()) if want.per_call is None else want.per_call
    prefix = want.options or draw(st.booleans())
    options = {"interrupt_mode": "per_call"} if per_call else {}
    options |= {"description_prefix": "Look closely"} if prefix else {}
    head = {
        "named": named,
        "options": options,
        "fails": want == ANYTHING and draw(st.booleans()),
        "notice": draw(st.booleans()) if want.notice is None else want.notice,
        "counter": want.counter or draw(st.booleans()),
    }
    return scenario([*script, {"text": "Done."}], policies, **head), talks and len(turns) > 1


def _policy(draw: Draw, want: Want) -> dict[str, Any]:
    some = [
        {"allowed_decisions": ["approve", "reject"]},
        {"allowed_decisions": ["approve", "edit"], "description": "Mind the sum."},
    ]
    found = draw(st.sampled_from([True, *some] if want.pay else [None, True, *some]))
    return {} if found is None else {"pay": found}


def _turns(draw: Draw, want: Want, *, named: bool) -> list[list[dict[str, Any]]]:
    """Return one turn or two, of one call to three; equal calls only where the tools record their call ids."""
    sizes = [len(turn.split()) for turn in want.turns] or draw(
        st.sampled_from([[1], [2], [3], [4], [1, 1], [2, 1], [1, 2], [2, 2]])
    )
    tools = [turn.split() for turn in want.turns] or [
        [
            "send" if want.kind and not number and not turn else draw(st.sampled_from(["send", "pay", "log"]))
            for number in range(size)
        ]
        for turn, size in enumerate(sizes)
    ]
    found: list[list[dict[str, Any]]] = []
    for turn in tools:
        found.append([])
        for tool in turn:
            number = sum(map(len, found)) + 1
            to = draw(st.sampled_from(["x", "y"])) if named else f"to-{number}"
            found[-1].append({"id": f"call-{number}", "tool": tool, "args": {"to": to}})
    return found


def _through(draw: Draw, want: Want) -> dict[str, str]:
    way = want.through or draw(st.sampled_from([None, None, "v2", "tasks"]))
    return {} if way is None else {"through": way}


@st.composite
def _next(draw: Draw, plan: Plan, correct: Simulation, want: Want, *, noisy: bool, talks: bool) -> Step | None:
    """Return what the operator does where the correct subject stands now, or None if that is enough."""
    waiting = correct.waiting
    steps = plan["steps"]
    answers = [step for step in steps if "decisions" in step]
    if any(step["do"] == "replay" for step in steps) and "text" not in steps[-1]:
        want = replace(want, kind=want.kind or "approve")
    if correct.failed:
        again = [dict(answers[-1])] if answers and not correct.per_call else []
        return dict(draw(st.sampled_from([{"do": "continue"}, *again])))
    if want.bad and waiting and len(steps) == 1:
        return draw(_bad(correct, want))
    if waiting:
        return draw(_noise(correct, want, answers)) if noisy and draw(st.booleans()) else draw(_good(correct, want))
    if talks and not any(step["do"] == "message" for step in steps):
        return {"do": "message", "text": "And more."}
    return draw(_after(plan, correct, answers)) if noisy else None


@st.composite
def _good(draw: Draw, correct: Simulation, want: Want) -> Step:
    """Return an answer to what is asked: to all of it, or in per_call mode to some of it."""
    asked = list(correct.waiting)
    if correct.per_call and draw(st.booleans()):
        asked = asked[: draw(st.integers(1, len(asked)))]
    decisions = [draw(_decision(call["id"], call["tool"], correct, want)) for call in asked]
    ways = [{"by": "id"}] if correct.per_call else [{}, {"by": "id"}]
    if correct.per_call and len(correct.waiting) == 1:
        ways.append({"by": "value"})
    return {"do": "resume", "decisions": decisions, **draw(st.sampled_from(ways))}


@st.composite
def _decision(draw: Draw, call: str, tool: str, correct: Simulation, want: Want) -> dict[str, Any]:
    offered = correct.offered({"tool": tool})
    kind = want.kind if want.kind in offered else draw(st.sampled_from(offered))
    found: dict[str, Any] = {"call": call, "type": kind}
    if kind == "edit":
        others = [] if correct.per_call else [name for name in ("send", "pay", "log") if want.kind is None]
        fresh = {"to": f"fresh-{call}-{len(correct.entries)}"}
        args = draw(st.sampled_from([fresh, {"to": "x"}, {"to": "y"}])) if correct.named and want.kind is None else fresh
        found["edited_action"] = {"name": draw(st.sampled_from([tool, *others])), "args": args}
    if kind == "respond" or (kind == "reject" and (want.kind or draw(st.booleans()))):
        found["message"] = f"because-{call}"
    return found


@st.composite
def _bad(draw: Draw, correct: Simulation, want: Want) -> Step:
    """Return a resume that is no answer to what is asked."""
    asked = list(correct.waiting)
    good = [draw(_decision(call["id"], call["tool"], correct, want)) for call in asked]
    by = {"by": "id"} if correct.per_call else {}
    found: list[Step] = [{"value": "yes"}, {"value": 1}]
    found.append({"decisions": [{"call": asked[0]["id"], "type": "edit"}, *good[1:]], **by})
    found.append({"decisions": [*good, good[-1]], **by})
    if len(asked) > 1:
        found.append({"decisions": good} if correct.per_call else {"decisions": good[::-1]})
    if len(asked) > 1 and not correct.per_call:
        found.append({"decisions": good[1:]})
    if len(asked) == 1 and not correct.per_call:
        found.append({"decisions": good, "by": "value"})
    unoffered = [kind for kind in ALL if kind not in correct.offered(asked[-1])]
    if unoffered:
        decision = {"call": asked[-1]["id"], "type": unoffered[-1], "message": "no"}
        found.append({"decisions": [*good[:-1], decision], **by})
    return {"do": "resume", **draw(st.sampled_from(found))}


@st.composite
def _noise(draw: Draw, correct: Simulation, want: Want, answers: list[Step]) -> Step:
    """Return what the operator may do while a question waits, and what decides nothing."""
    listings = [{"do": "continue"}, {"do": "replay", "at": {"paused": correct.pauses}}]
    found = [draw(_bad(correct, want)), *listings, *([dict(answers[-1])] if answers else [])]
    return dict(draw(st.sampled_from(found)))


@st.composite
def _after(draw: Draw, plan: Plan, correct: Simulation, answers: list[Step]) -> Step | None:
    """Return what the operator may do once the run has ended: deliver an answer again, go back to a pause, or nothing."""
    # Ungated calls of the turn, and a middleware around it, would rightly be seen a second time.
    tools = [{call["tool"] for call in turn["calls"]} for turn in plan["script"] if "calls" in turn]
    alone = len(tools) == 1 and tools[0] <= set(plan["gated"]) and len(plan["subject"]["middleware"]) == 1
    # What was rejected on the way back was run or answered before: what the model is told then says no more than that.
    alone = alone and _approves(answers)
    back = [{"do": "replay", "at": {"paused": number}} for number in range(1, correct.pauses + 1) if alone]
    found: list[Step | None] = [None, *([dict(answers[-1])] if answers else []), *back]
    return draw(st.sampled_from(found))


def _approves(answers: list[Step]) -> bool:
    return all(decision["type"] == "approve" for step in answers for decision in step["decisions"])


def _claims(plan: Plan) -> list[str]:
    """Return every claim that can be asked of a scenario: whether the notice has to be there depends on it."""
    off = "none" in plan["subject"]["middleware"][-1]
    return sorted(set(current()) - {"messages/edit-stated" if off else "messages/edit-unstated"})


def _verdict(name: str, found: CaseHistory) -> str:
    """Return what a claim finds; which vantages were there, and what is missing, is asked elsewhere."""
    finding = current()[name].find(found)
    known = UNKNOWN if finding.unknown else PASS
    return FAIL if finding.faults else known if finding.examined or finding.unknown else NOT_APPLICABLE


@settings(BOUNDED, max_examples=150)
@given(plans())
def test_a_correct_subject_never_fails(plan: Plan) -> None:
    """Whatever the scenario, a correct subject FAILs no claim, and once its run has ended no core claim is UNKNOWN."""
    found = simulated(plan).history()
    assert gap(found) is None
    verdicts = {name: _verdict(name, found) for name in _claims(plan)}
    assert [name for name, verdict in verdicts.items() if verdict == FAIL] == []
    core = [name for name, verdict in verdicts.items() if name.startswith("core/") and verdict == UNKNOWN]
    assert core == [] or found.last_outcome() != "ended"


APPROVED, EDITED, REJECTED = (Want(kind=kind, calm=True, turns=("send",)) for kind in ("approve", "edit", "reject"))

FAULTS: dict[str, tuple[str, Want]] = {
    "runs-undecided": ("core/no-undecided-dispatch", Want(kind="approve")),
    "runs-refused": ("core/no-refused-dispatch", Want(kind="reject")),
    "runs-twice": ("core/no-repeated-dispatch", Want(kind="approve")),
    "runs-other-args": ("core/no-altered-dispatch", Want(kind="approve")),
    "runs-other-tool": ("core/no-altered-dispatch", Want(kind="approve", pay=True)),
    "runs-ungated-tool": ("core/ungated-dispatch", Want(kind="edit")),
    "runs-original": ("core/no-altered-dispatch", Want(kind="edit")),
    "loses-call": ("core/authorised-dispatch", Want(kind="approve", calm=True)),
    "ungated-twice": ("core/ungated-dispatch", Want(turns=("send log", "log"))),
    "ungated-other-args": ("core/ungated-dispatch", Want(turns=("log", "send log"))),
    "ungated-lost": ("core/ungated-dispatch", Want(turns=("log send", "log"), calm=True)),
    "skips-review": ("review/shown-first", Want(kind="approve", calm=True, per_call=False)),
    "shows-other": ("review/proposal-shown", Want(kind="reject")),
    "shows-twice": ("review/proposal-shown", Want(kind="reject")),
    "hides-call": ("review/proposal-shown", Want(kind="reject", turns=("send send",), calm=True)),
    "offers-less": ("review/decisions-offered", Want(kind="reject")),
    "describes-nothing": ("review/description-shown", Want(kind="reject", options=True)),
    "takes-bad-answer": ("answer/bad-refused", replace(APPROVED, bad=True)),
    "raises-at-good": ("answer/recoverable", replace(APPROVED, bad=True)),
    "drops-proposal": ("messages/proposal-kept", Want(kind="approve")),
    "rewrites-proposal": ("messages/proposal-kept", Want(kind="approve")),
    "renames-proposal": ("messages/proposal-kept", Want(kind="edit")),
    "copies-proposal": ("messages/proposal-kept", Want(kind="approve")),
    "invents-proposal": ("messages/proposal-kept", Want(kind="edit")),
    "loses-answer": ("messages/one-answer", Want(kind="approve", calm=True)),
    "answers-twice": ("messages/one-answer", Want(kind="reject", calm=True)),
    "rejects-as-success": ("messages/rejection-is-error", Want(kind="reject", calm=True)),
    "hides-reason": ("messages/reason-told", Want(kind="reject", calm=True)),
    "rewrites-response": ("messages/respond-is-result", Want(kind="respond", calm=True)),
    "hides-edit": ("messages/edit-stated", Want(kind="edit", calm=True, notice=True)),
    "states-edit": ("messages/edit-unstated", Want(kind="edit", calm=True, notice=False)),
    "stores-nothing": ("checkpoint/edits-stored", Want(kind="edit", per_call=False)),
    "stores-other": ("checkpoint/edits-stored", Want(kind="edit", per_call=False)),
    "invents-stored-edit": ("checkpoint/edits-stored", Want(kind="approve", calm=True, per_call=False)),
    "stores-early": ("checkpoint/absent-before-review", Want(kind="edit", calm=True, per_call=False)),
    "keeps-old-edit": ("checkpoint/edits-cleared", Want(kind="edit", turns=("send", "log"), calm=True, talks=True, per_call=False)),
    "passes-tools": ("checkpoint/rejected-skips-tools", replace(REJECTED, per_call=False)),
    "leaks-key": ("output/private-key-absent", Want(kind="approve", calm=True, through="v2", per_call=False)),
    "returns-dict": ("output/second-version", Want(through="v2")),
    "streams-no-pause": ("stream/pause-shown", Want(kind="approve", through="tasks")),
    "streams-other": ("stream/dispatch-shown", Want(kind="approve", through="tasks")),
    "enters-twice": ("middleware/entered-once", Want(kind="approve", counter=True)),
    "opens-socket": ("network/none-tried", Want(kind="approve")),
}
"""Each fault of the simulated subject, with the claim that is about it, and what a scenario has to hold so that it can show."""

ELSEWHERE = {
    "messages/told-truly": "a call that is lost is told as a success: test_what_was_lost_is_not_told_truly",
    "policy/misspelt-refused": "nothing runs: the agent is not built",
    "promise/respond-refuses": "two promises of one page that contradict each other: never PASS",
    **dict.fromkeys(
        (claim for claim in current() if claim.startswith(("recovery/", "wire/"))),
        "the simulated subject lives in one process and sends nothing: the miniatures do (test_claims.py)",
    ),
    **dict.fromkeys(
        (claim for claim in current() if claim.startswith(("interrupt/", "updates/"))),
        "the simulated subject asks through the middleware alone: the miniatures ask by themselves (test_claims.py)",
    ),
}


def test_each_claim_has_a_fault() -> None:
    """Every claim is about a fault of the simulated subject, or it is said why not."""
    assert {claim for claim, _ in FAULTS.values()} | set(ELSEWHERE) == set(current())


@pytest.mark.parametrize("fault", FAULTS)
@settings(BOUNDED, max_examples=8)
@given(data=st.data())
def test_a_fault_is_always_caught(fault: str, data: st.DataObject) -> None:
    """Wherever a fault shows, the claim about it FAILs; if tools record no call id, then at least the case does not PASS."""
    claim, want = FAULTS[fault]
    plan = data.draw(plans(want))
    faulty = simulated(plan, fault)
    assume(faulty.planted)
    found = faulty.history()
    assert _verdict(claim, found) == FAIL or not (faulty.named and found.last_outcome() == "ended")
    assert (
        judge(found, [known.name for known in current().values() if known.id.startswith("core/") or known.id == claim]).verdict
        != PASS
    )


@settings(BOUNDED, max_examples=20)
@given(plans(Want(kind="approve", calm=True, named=True)))
def test_what_was_lost_is_not_told_truly(plan: Plan) -> None:
    """A call that never ran and that is answered as a success was not told truly."""
    faulty = simulated(plan, "loses-call")
    assert not faulty.planted or _verdict("messages/told-truly", faulty.history()) == FAIL


@st.composite
def _idle(draw: Draw, plan: Plan) -> Plan:
    """Return a plan with one step more that decides nothing: a listing, an answer delivered again, a replay to the same pause."""
    steps = list(plan["steps"])
    place = draw(st.integers(1, len(steps)))
    before = simulated({**plan, "steps": steps[:place]})
    delivered = [dict(step) for step in steps[:place] if "decisions" in step]
    found = [{"do": "continue"}, *delivered]
    if before.waiting:
        found.append({"do": "replay", "at": {"paused": before.pauses}})
    return {**plan, "steps": [*steps[:place], draw(st.sampled_from(found)), *steps[place:]]}


@pytest.mark.parametrize("fault", [None, "reruns"])
@settings(BOUNDED, max_examples=40)
@given(data=st.data())
def test_what_decides_nothing_gives_no_token(fault: str | None, data: st.DataObject) -> None:
    """A listing, a redelivery or a replay gives no token and authorises nothing, even of a subject that runs calls again then."""
    plan = data.draw(plans(Want(kind="approve", calm=True, named=True)))
    longer = simulated(data.draw(_idle(plan)), fault)
    before, after = rulings(simulated(plan).history()).first, rulings(longer.history()).first
    assert len(after.tokens) <= len(before.tokens)
    assert [ruled.call for ruled in after.of(Class.AUTHORISED)] == [ruled.call for ruled in before.of(Class.AUTHORISED)]
    assert len(after.dispatches) == len(before.dispatches) + longer.planted
    assert not longer.planted or judge(longer.history(), ["core/no-repeated-dispatch@1"]).verdict == FAIL


ENVIRONMENT = {"kind": "environment", "history": 1, "pin": "i05", "packages": {}, "files": {}, "blocked": []}


def _judged(found: CaseHistory) -> object:
    verdict = judge(found, sorted(known.name for known in current().values()))
    return replace(verdict, claims=tuple(sorted(verdict.claims, key=lambda judged: judged.claim)))


@settings(BOUNDED, max_examples=20)
@given(plans())
def test_a_saved_history_is_judged_the_same(plan: Plan) -> None:
    """A history that was written, read, and written again is the same bytes and has the same verdicts."""
    found = simulated(plan).history()
    data = history.write(History(ENVIRONMENT, (), (found,)))
    again = history.read(data, "a test")
    assert history.write(again) == data
    assert _judged(again.cases[0]) == _judged(found)


def _lane(entry: Mapping[str, Any]) -> object:
    """Return what keeps an order of its own in a journal: a vantage, and where calls race each run of a tool or a middleware."""
    racing = entry.get("vantage") in ("dispatch", "middleware")
    return entry["step"], entry.get("vantage", entry["kind"]), entry.get("invocation", entry.get("call")) if racing else None


def _shuffled(lines: bytes, chance: random.Random) -> bytes:
    """Return a journal in another order: each lane keeps its own, and which one is next is by chance."""
    lanes: dict[object, list[bytes]] = {}
    for line in lines.splitlines():
        lanes.setdefault(_lane(json.loads(line)), []).append(line)
    found = []
    while lanes:
        lane = chance.choice(list(lanes))
        found.append(lanes[lane].pop(0))
        if not lanes[lane]:
            del lanes[lane]
    return b"\n".join(found)


@settings(BOUNDED, max_examples=25)
@given(plans(), st.randoms(use_true_random=False))
def test_the_order_of_what_races_does_not_matter(plan: Plan, chance: random.Random) -> None:
    """Vantages of a step in any order, and parallel runs in any order: the history is the same, entry by entry."""
    lines = simulated(plan).journal()
    found = from_journal("test/simulated", plan, lines)
    assert from_journal("test/simulated", plan, _shuffled(lines, chance)).entries == found.entries
    assert found.entries == simulated(plan).history().entries


@settings(BOUNDED, max_examples=25)
@given(plans(), st.sampled_from([None, "runs-twice", "runs-refused", "rewrites-proposal", "loses-answer"]))
def test_ids_are_only_names(plan: Plan, fault: str | None) -> None:
    """Other random ids give the same history, and other names of calls the same verdicts."""
    faulty = simulated(plan, fault)
    found = faulty.history()
    lines = faulty.journal()
    for kind in ("checkpoint-", "question-", "human-", "ai-", "tool-", "run-"):
        lines = lines.replace(f'"{kind}'.encode(), f'"{kind[::-1]}'.encode())
    assert from_journal("test/simulated", plan, lines).entries == found.entries
    renamed = json.loads(json.dumps(plan).replace("call-", "zz."))
    other = simulated(renamed, fault).history()
    names = sorted(current())
    assert [_counted(name, other) for name in names] == [_counted(name, found) for name in names]


def _counted(name: str, found: CaseHistory) -> tuple[int, int, str | None]:
    finding = current()[name].find(found)
    return finding.examined, len(finding.faults), finding.unknown


def test_merge_takes_the_worst() -> None:
    """FAIL stands before UNKNOWN, UNKNOWN before PASS; nothing applicable, or nothing triggered, is never PASS."""
    for size in range(4):
        for verdicts in product((PASS, FAIL, UNKNOWN, NOT_APPLICABLE), repeat=size):
            judged = [Judgement("core/any@1", verdict, "ambiguous" if verdict == UNKNOWN else None, 1, ()) for verdict in verdicts]
            for triggered, obstacle in product((True, False), (None, "timeout")):
                verdict, reason = merge(judged, obstacle, triggered=triggered)
                clean = triggered and not obstacle and UNKNOWN not in verdicts
                worst = PASS if PASS in verdicts and clean else UNKNOWN
                assert verdict == (FAIL if FAIL in verdicts else worst)
                assert (reason is None) == (verdict != UNKNOWN)
                assert FAIL in verdicts or obstacle is None or reason == obstacle
