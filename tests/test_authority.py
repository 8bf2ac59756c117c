"""What an answer allows, in histories that no framework has to produce: parallel calls, wrong orders, late and double answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from capture.authority import MOST_WALKS, Class, rulings, same
from capture.claims import current
from capture.history import CaseHistory
from capture.verdict import FAIL, PASS, UNKNOWN

Entry = dict[str, Any]
Call = tuple[str, str, Mapping[str, Any]]

A: Call = ("a", "send", {"to": "x"})
B: Call = ("b", "send", {"to": "y"})
FREE: Call = ("f", "log", {"text": "hello"})

ALL = ["approve", "edit", "reject", "respond"]


def ask(step: int, *calls: Call, allowed: Sequence[str] = ALL, question: str = "q") -> list[Entry]:
    """Return the entries of a step that paused on calls."""
    value = {
        "action_requests": [{"name": tool, "args": args} for _, tool, args in calls],
        "review_configs": [{"action_name": tool, "allowed_decisions": list(allowed)} for _, tool, _ in calls],
    }
    return [end(step, "paused"), seen("review", step, question=question, value=value)]


def propose(step: int, *calls: Call, number: int = 1) -> Entry:
    """Return the entry of a model call that proposed calls."""
    reply = {"text": "", "calls": [{"id": name, "tool": tool, "args": args} for name, tool, args in calls]}
    return seen("prompt", step, number=number, messages=[], reply=reply)


def dispatch(step: int, call: Call, invocation: int = 1, *, named: bool = False) -> Entry:
    """Return the entry of a dispatch; `named` if the tool recorded its call id."""
    name, tool, args = call
    extra = {"call": name} if named else {}
    return seen("dispatch", step, event="dispatched", invocation=invocation, tool=tool, args=args, **extra)


def seen(vantage: str, step: int, **fields: Any) -> Entry:
    """Return an observation."""
    return {"kind": "observation", "vantage": vantage, "step": step, **fields}


def end(step: int, status: str) -> Entry:
    """Return how a step ended."""
    return {"kind": "outcome", "step": step, "status": status}


def decide(*pairs: tuple[str, str], **extra: Any) -> dict[str, Any]:
    """Return a resume step with decisions, each meant for a call."""
    return {"do": "resume", "decisions": [{"call": call, "type": kind, **extra} for call, kind in pairs]}


def history(steps: Sequence[Mapping[str, Any]], *entries: Entry | list[Entry], gated: Sequence[str] = ("send",)) -> CaseHistory:
    """Return a history of a scenario with one invoke and these steps after it."""
    flat = [part for entry in entries for part in (entry if isinstance(entry, list) else [entry])]
    planned = [{"do": "invoke", "text": "go"}, *steps]
    started = [{"kind": "step", "step": number, "do": step["do"]} for number, step in enumerate(planned, start=1)]
    middleware = [
        {"kind": "HumanInTheLoopMiddleware", "options": {"interrupt_on": {"send": True, "pay": {"allowed_decisions": ["reject"]}}}}
    ]
    scenario = {"steps": planned, "gated": list(gated), "subject": {"tools": [], "middleware": middleware}}
    built = [{"kind": "step", "step": 0, "do": "build"}, end(0, "built")]
    return CaseHistory("test/case", scenario, (*built, *started, *flat))


def classes(found: CaseHistory) -> list[str]:
    """Return the class of each dispatch of a history that has one ruling."""
    (ruling,) = rulings(found).rulings
    return [ruled.kind.value for ruled in ruling.dispatches]


def verdict(found: CaseHistory, claim: str) -> tuple[str, str | None]:
    """Return what a core claim finds in these few entries, which are not a whole observation, as a verdict and its reason."""
    finding = current()[f"core/{claim}"].find(found)
    if finding.faults:
        return FAIL, None
    return (UNKNOWN, finding.unknown) if finding.unknown else (PASS, None)


ASKED_BOTH = [propose(1, A, B), *ask(1, A, B)]


def test_mixed_decisions_each_allow_their_own_call() -> None:
    """One of two calls is approved, the other rejected: the approved one may run, the other not."""
    found = history([decide(("a", "approve"), ("b", "reject"))], ASKED_BOTH, dispatch(2, A), dispatch(2, B, 2), end(2, "ended"))
    assert classes(found) == ["authorised", "refused"]


def test_decisions_in_another_order_than_shown_give_nothing() -> None:
    """A decision that is delivered in the place of another call allows neither."""
    found = history([decide(("b", "approve"), ("a", "reject"))], ASKED_BOTH, dispatch(2, A), end(2, "ended"))
    assert classes(found) == ["undecided"]


@pytest.mark.parametrize("decisions", [[("a", "approve")], [("a", "approve"), ("b", "approve"), ("a", "approve")]])
def test_too_few_or_too_many_decisions_give_nothing(decisions: list[tuple[str, str]]) -> None:
    """An answer with another count than what was shown is invalid as a whole."""
    found = history([decide(*decisions)], ASKED_BOTH, dispatch(2, A), end(2, "ended"))
    assert classes(found) == ["undecided"]


def test_a_decision_that_was_not_offered_gives_nothing() -> None:
    """A decision that the reviewer was not offered is invalid."""
    found = history([decide(("a", "approve"))], propose(1, A), ask(1, A, allowed=["reject"]), dispatch(2, A), end(2, "ended"))
    assert classes(found) == ["undecided"]


@pytest.mark.parametrize("kind", ["edit", "respond"])
def test_a_decision_without_its_content_gives_nothing(kind: str) -> None:
    """An edit without an action, or a response without a message, is not in shape."""
    found = history([decide(("a", kind))], propose(1, A), ask(1, A), dispatch(2, A), end(2, "ended"))
    assert classes(found) == ["undecided"]


def test_an_answer_to_no_question_gives_nothing() -> None:
    """An answer that comes before a question, or after the run has ended, allows nothing."""
    early = history([decide(("a", "approve"))], propose(1, A), end(1, "ended"), dispatch(2, A), end(2, "ended"))
    assert classes(early) == ["undecided"]
    answer = decide(("a", "approve"))
    late = history([answer, answer], propose(1, A), ask(1, A), dispatch(2, A), end(2, "ended"), dispatch(3, A, 2), end(3, "ended"))
    assert classes(late) == ["authorised", "repeated"]


def test_a_second_answer_to_an_open_question_gives_no_second_token() -> None:
    """A step that raised leaves the question open; approving again allows no second run."""
    answer = decide(("a", "approve"))
    found = history(
        [answer, answer], propose(1, A), ask(1, A), dispatch(2, A), end(2, "raised"), dispatch(3, A, 2), end(3, "ended")
    )
    assert classes(found) == ["authorised", "repeated"]
    assert verdict(found, "no-repeated-dispatch") == (FAIL, None)


@pytest.mark.parametrize(
    ("first", "second", "ran", "kind"),
    [
        ("approve", "edit", A, "altered"),
        ("approve", "edit", ("a", "send", {"to": "z"}), "authorised"),
        ("edit", "approve", A, "authorised"),
        ("edit", "approve", ("a", "send", {"to": "z"}), "altered"),
        ("reject", "approve", A, "authorised"),
        ("approve", "reject", A, "refused"),
    ],
)
def test_the_last_word_about_an_open_question_counts(first: str, second: str, ran: Call, kind: str) -> None:
    """A step that raised leaves the question open: what is answered then replaces what was answered before."""
    extra = {"edited_action": {"name": "send", "args": {"to": "z"}}}
    steps = [decide(("a", word), **(extra if word == "edit" else {})) for word in (first, second)]
    found = history(steps, propose(1, A), ask(1, A), end(2, "raised"), dispatch(3, ran), end(3, "ended"))
    assert classes(found) == [kind]


def test_an_answer_that_raised_keeps_its_token() -> None:
    """What was approved in a step that raised may run once in the step that follows."""
    answer = decide(("a", "approve"))
    found = history([answer, answer], propose(1, A), ask(1, A), end(2, "raised"), dispatch(3, A), end(3, "ended"))
    assert classes(found) == ["authorised"]
    assert verdict(found, "authorised-dispatch") == (PASS, None)


def test_a_rejection_takes_an_unspent_token_back() -> None:
    """A call that was approved, did not run, was asked about again and rejected, must not run."""
    found = history(
        [decide(("a", "approve")), decide(("a", "reject"))],
        propose(1, A),
        ask(1, A),
        ask(2, A),
        dispatch(3, A),
        end(3, "ended"),
    )
    assert classes(found) == ["refused"]


def test_a_question_asked_again_can_be_answered_again() -> None:
    """A call that was run and asked about again may run again once it is approved again."""
    found = history(
        [decide(("a", "approve")), decide(("a", "approve"))],
        propose(1, A),
        ask(1, A),
        dispatch(2, A),
        ask(2, A),
        dispatch(3, A, 2),
        end(3, "ended"),
    )
    assert classes(found) == ["authorised", "authorised"]


def test_a_listing_repeated_opens_no_second_question() -> None:
    """A step that pauses again on the same call after raising nothing new gives one token in all."""
    again = {"do": "invoke", "text": "anything?"}
    found = history(
        [again, decide(("a", "approve"))], propose(1, A), ask(1, A), ask(2, A), dispatch(3, A), dispatch(3, A, 2), end(3, "ended")
    )
    assert classes(found) == ["authorised", "repeated"]


def edit(call: str, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resume step with one edit."""
    return decide((call, "edit"), edited_action={"name": tool, "args": args})


def test_an_edit_allows_exactly_its_replacement() -> None:
    """After an edit the replacement may run; the original, or anything else, is altered."""
    step = edit("a", "send", {"to": "z"})
    for ran, kind in ((("a", "send", {"to": "z"}), "authorised"), (A, "altered"), (("a", "send", {"to": "w"}), "altered")):
        assert classes(history([step], propose(1, A), ask(1, A), dispatch(2, ran), end(2, "ended"))) == [kind]


def test_an_edit_may_go_into_an_ungated_tool() -> None:
    """An edit into a tool that needs no answer gives a token, which its dispatch spends."""
    found = history(
        [edit("a", "log", {"text": "z"})], propose(1, A), ask(1, A), dispatch(2, ("a", "log", {"text": "z"})), end(2, "ended")
    )
    assert classes(found) == ["authorised"]


def test_an_edit_may_not_go_into_a_tool_that_nobody_may_approve() -> None:
    """Our rule: an edit into another gated tool whose policy offers neither approve nor edit gives nothing."""
    ran = ("a", "pay", {"sum": "1"})
    found = history(
        [edit("a", "pay", {"sum": "1"})], propose(1, A), ask(1, A), dispatch(2, ran), end(2, "ended"), gated=["send", "pay"]
    )
    assert classes(found) == ["undecided"]


def test_an_ungated_call_needs_no_token() -> None:
    """A call of a tool that is not gated is ungated, even beside one that waits."""
    found = history([], propose(1, A, FREE), dispatch(1, FREE), ask(1, A))
    assert classes(found) == ["ungated"]


def test_equal_calls_without_ids_are_ambiguous() -> None:
    """Two equal calls, one approved and one rejected, and one dispatch that names no call: nobody can know which ran."""
    twin: Call = ("b", "send", {"to": "x"})
    step = decide(("a", "approve"), ("b", "reject"))
    found = history([step], propose(1, A, twin), ask(1, A, twin), dispatch(2, A), end(2, "ended"))
    assert [ruling.dispatches[0].kind for ruling in rulings(found).rulings] == [Class.AUTHORISED, Class.REFUSED]
    assert verdict(found, "no-refused-dispatch") == (UNKNOWN, "ambiguous")


@pytest.mark.parametrize(("ran", "expected"), [("a", PASS), ("b", FAIL)])
def test_equal_calls_with_ids_are_not_ambiguous(ran: str, expected: str) -> None:
    """The same two calls, when the tool records its call id: the dispatch belongs to the call that it names."""
    twin: Call = ("b", "send", {"to": "x"})
    step = decide(("a", "approve"), ("b", "reject"))
    done = dispatch(2, (ran, "send", {"to": "x"}), named=True)
    found = history([step], propose(1, A, twin), ask(1, A, twin), done, end(2, "ended"))
    assert verdict(found, "no-refused-dispatch")[0] == expected


def test_more_readings_than_are_worth_walking_are_ambiguous() -> None:
    """Very many equal dispatches of equal calls are not walked to the end, and never called PASS."""
    twin: Call = ("b", "send", {"to": "x"})
    many = [dispatch(2, A, number) for number in range(MOST_WALKS)]
    step = decide(("a", "approve"), ("b", "approve"))
    found = history([step], propose(1, A, twin), ask(1, A, twin), many, end(2, "ended"))
    assert not rulings(found).complete
    assert len(rulings(found).first.dispatches) == MOST_WALKS
    assert verdict(found, "no-repeated-dispatch") == (UNKNOWN, "ambiguous")


def test_a_token_left_is_unfinished_while_the_thread_waits() -> None:
    """What was allowed and did not run is UNKNOWN(unfinished) while the run has not ended, and FAIL once it has."""
    step = decide(("a", "approve"))
    assert verdict(history([step], propose(1, A), ask(1, A), ask(2, B)), "authorised-dispatch") == (UNKNOWN, "unfinished")
    assert verdict(history([step], propose(1, A), ask(1, A), end(2, "raised")), "authorised-dispatch") == (UNKNOWN, "unfinished")
    assert verdict(history([step], propose(1, A), ask(1, A), end(2, "ended")), "authorised-dispatch") == (FAIL, None)


def test_an_error_that_answers_the_call_excuses_a_token_left() -> None:
    """An approved call whose tool never ran is no FAIL if an error tool message answers it."""
    answer = {"type": "tool", "content": "no", "answers": "a", "status": "error"}
    found = history([decide(("a", "approve"))], propose(1, A), ask(1, A), end(2, "ended"), seen("messages", 2, messages=[answer]))
    assert verdict(found, "authorised-dispatch") == (PASS, None)


def test_a_dispatch_of_a_call_that_nobody_proposed_is_undecided() -> None:
    """A gated tool that runs without any proposal ran without an answer."""
    assert classes(history([], propose(1), dispatch(1, A), end(1, "ended"))) == ["undecided"]


def test_values_are_compared_as_json() -> None:
    """True is not 1, the text of a number is not the number, and the order of keys does not matter."""
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not same(True, 1)
    assert not same("1", 1)
    assert not same([1, 2], [2, 1])
