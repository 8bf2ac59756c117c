"""What an answer allows, in histories that no framework has to produce: parallel calls, wrong orders, late and double answers."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from capture.authority import MOST_WALKS, Class, bad_answers, rulings, same
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


def ask_each(step: int, *calls: Call, schema: Mapping[str, Any] | None = None) -> list[Entry]:
    """Return the entries of a step that paused on calls, with a question about each."""
    questions = [
        {"type": "tool_approval", "name": tool, "args": args, "tool_call_id": name, "description": "?"}
        for name, tool, args in calls
    ]
    reviews = [
        seen(
            "review",
            step,
            question=f"q-{value['tool_call_id']}",
            value=value,
            schema=answers_to(str(value["name"])) if schema is None else schema,
        )
        for value in questions
    ]
    return [end(step, "paused"), *reviews]


def answers_to(tool: str, *kinds: str) -> dict[str, Any]:
    """Return the schema of the answers to a question about one call, as Pydantic writes it: all decisions, or these."""
    edited = {"properties": {"name": {"const": tool}, "args": {"type": "object"}}, "required": ["name", "args"]}
    extra: dict[str, Any] = {"edit": {"edited_action": edited}, "respond": {"message": {"type": "string"}}}
    known = {
        kind: {
            "type": "object",
            "properties": {"type": {"const": kind}, **extra.get(kind, {})},
            "required": ["type", *extra.get(kind, {})],
        }
        for kind in kinds or ALL
    }
    return {"$defs": known, "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in known]}


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


def decide(*pairs: tuple[str, str], by: str | None = None, action: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a resume step with decisions, each meant for a call, with what an edit puts in place and how they are addressed."""
    extra = {} if action is None else {"edited_action": action}
    addressed = {} if by is None else {"by": by}
    return {"do": "resume", "decisions": [{"call": call, "type": kind, **extra} for call, kind in pairs], **addressed}


def history(
    steps: Sequence[Mapping[str, Any]],
    *entries: Entry | list[Entry],
    gated: Sequence[str] = ("send",),
    tools: Sequence[Mapping[str, Any]] = (),
    **statements: Any,
) -> CaseHistory:
    """Return a history of a scenario with one invoke and these steps after it, and what else the case states."""
    flat = [part for entry in entries for part in (entry if isinstance(entry, list) else [entry])]
    planned = [{"do": "invoke", "text": "go"}, *steps]
    started = [{"kind": "step", "step": number, "do": step["do"]} for number, step in enumerate(planned, start=1)]
    middleware = [
        {"kind": "HumanInTheLoopMiddleware", "options": {"interrupt_on": {"send": True, "pay": {"allowed_decisions": ["reject"]}}}}
    ]
    scenario = {"steps": planned, "gated": list(gated), "subject": {"tools": tools, "middleware": middleware}, **statements}
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


def test_an_id_of_a_rejected_call_may_be_another_calls() -> None:
    """What is proposed after the rejection under the same id is not rejected: ungated it may run, gated it is undecided."""
    free: Call = ("a", "log", {"text": "hello"})
    again: Call = ("a", "send", {"to": "z"})
    rejected: list[Entry | list[Entry]] = [propose(1, A), ask(1, A)]
    found = history(
        [decide(("a", "reject"))], *rejected, propose(2, free, number=2), dispatch(2, free, named=True), end(2, "ended")
    )
    assert classes(found) == ["ungated"]
    found = history(
        [decide(("a", "reject"))], *rejected, propose(2, again, number=2), dispatch(2, again, named=True), end(2, "ended")
    )
    assert classes(found) == ["undecided"]
    found = history([decide(("a", "reject"))], *rejected, propose(2, free, number=2), dispatch(2, A, named=True), end(2, "ended"))
    assert classes(found) == ["refused"]


def test_an_answer_that_was_never_delivered_gives_nothing() -> None:
    """A step whose checkpoint is not there delivers nothing: it allows nothing, forbids nothing, and is no bad answer."""
    never = {**decide(("a", "approve")), "at": {"next": "tools"}}
    found = history([never, {"do": "continue"}], propose(1, A), ask(1, A), end(2, "impossible"), dispatch(3, A), end(3, "ended"))
    assert (classes(found), rulings(found).first.answers, bad_answers(found)) == (["undecided"], [], [])
    late = {**decide(("a", "reject")), "at": {"next": "tools"}}
    again = history(
        [decide(("a", "approve")), late, {"do": "continue"}],
        propose(1, A),
        ask(1, A),
        end(2, "raised"),
        end(3, "impossible"),
        dispatch(4, A),
        end(4, "ended"),
    )
    assert classes(again) == ["authorised"]
    assert (again.last_outcome(), history([never], end(1, "ended"), end(2, "impossible")).last_outcome()) == ("ended", "ended")


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
    action = {"name": "send", "args": {"to": "z"}}
    steps = [decide(("a", word), action=action if word == "edit" else None) for word in (first, second)]
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
    return decide((call, "edit"), action={"name": tool, "args": args})


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


# --- answers by id, bare, and to questions about one call


EACH_ASKED = [propose(1, A, B), *ask_each(1, A, B)]


def test_answers_by_id_go_to_the_questions_about_their_calls() -> None:
    """Two questions are answered by id, in whatever order: each decision allows or forbids its own call."""
    step = decide(("b", "reject"), ("a", "approve"), by="id")
    found = history([step], EACH_ASKED, dispatch(2, A), dispatch(2, B, 2), end(2, "ended"))
    assert classes(found) == ["authorised", "refused"]


def test_questions_about_one_call_can_be_answered_one_at_a_time() -> None:
    """Of two questions one is answered: its call may run, the other stays open and may run once it is answered too."""
    steps = [decide(("a", "approve"), by="id"), decide(("b", "approve"), by="id")]
    found = history(steps, EACH_ASKED, dispatch(2, A), dispatch(2, B, 2), ask_each(2, B), dispatch(3, B, 3), end(3, "ended"))
    assert classes(found) == ["authorised", "undecided", "authorised"]


@pytest.mark.parametrize(
    ("asked", "by", "kind"),
    [
        (ask_each(1, A), "value", "authorised"),
        (ask_each(1, A), "id", "authorised"),
        (ask_each(1, A), None, "undecided"),
        (ask(1, A), None, "authorised"),
        (ask(1, A), "id", "authorised"),
        (ask(1, A), "value", "undecided"),
        (ask_each(1, A, B), "value", "undecided"),
    ],
    ids=["alone, bare", "alone, by id", "alone, by position", "together", "together, by id", "together, bare", "two, bare"],
)
def test_an_answer_is_addressed_as_its_question_can_be(asked: list[Entry], by: str | None, kind: str) -> None:
    """A bare decision answers the only question, if that is about one call; a list by position answers one that lists calls."""
    found = history([decide(("a", "approve"), by=by)], propose(1, A, B), asked, dispatch(2, A), end(2, "ended"))
    assert classes(found) == [kind]
    assert bad_answers(found) == ([] if kind == "authorised" else [2])


def test_a_question_about_several_calls_is_answered_by_id_as_a_whole() -> None:
    """By id too, a question that lists two calls needs a decision for each, in the order shown."""
    for pairs, kinds in (
        ([("a", "approve"), ("b", "reject")], ["authorised", "refused"]),
        ([("a", "approve")], ["undecided", "undecided"]),
        ([("b", "reject"), ("a", "approve")], ["undecided", "undecided"]),
    ):
        step = decide(*pairs, by="id")
        assert classes(history([step], ASKED_BOTH, dispatch(2, A), dispatch(2, B, 2), end(2, "ended"))) == kinds


def test_a_valid_answer_beside_a_bad_one_keeps_its_token() -> None:
    """Two are answered, one of them with what does not fit, and the step raises: the other may run once, then or later."""
    both = decide(("a", "approve"), ("b", "edit"), by="id")
    for early, late in (([dispatch(2, A)], []), ([], [dispatch(3, A)])):
        found = history(
            [both, decide(("b", "approve"), by="id")],
            EACH_ASKED,
            early,
            end(2, "raised"),
            late,
            dispatch(3, B, 2),
            end(3, "ended"),
        )
        assert classes(found) == ["authorised", "authorised"]
        assert bad_answers(found) == [2]


def test_a_call_that_ran_in_a_step_that_raised_may_not_run_again() -> None:
    """Answering both again after a step that raised gives no second token to the one that ran."""
    found = history(
        [decide(("a", "approve"), ("b", "edit"), by="id"), decide(("a", "approve"), ("b", "approve"), by="id")],
        EACH_ASKED,
        dispatch(2, A),
        end(2, "raised"),
        dispatch(3, A, 2),
        dispatch(3, B, 3),
        end(3, "ended"),
    )
    assert classes(found) == ["authorised", "repeated", "authorised"]


def test_a_question_asked_again_after_a_retry_is_a_new_one() -> None:
    """The gate asks again because the tool failed and is retried: the second approval allows the second run."""
    approve = decide(("a", "approve"), by="id")
    ran = [dispatch(2, A), *ask_each(2, A), dispatch(3, A, 2)]
    assert classes(history([approve, approve], propose(1, A), ask_each(1, A), ran, end(3, "ended"))) == ["authorised", "authorised"]
    refuse = decide(("a", "reject"), by="id")
    assert classes(history([approve, refuse], propose(1, A), ask_each(1, A), ran, end(3, "ended"))) == ["authorised", "refused"]


def test_an_edit_into_another_tool_does_not_fit_a_question_about_one_call() -> None:
    """Where the schema shown names the tool, an edit into another one is no answer, though that one is ungated."""
    step = {**edit("a", "log", {"text": "z"}), "by": "id"}
    found = history([step], propose(1, A), ask_each(1, A), dispatch(2, A), end(2, "ended"))
    assert (classes(found), bad_answers(found)) == (["undecided"], [2])
    same_tool = {**edit("a", "send", {"to": "z"}), "by": "id"}
    found = history([same_tool], propose(1, A), ask_each(1, A), dispatch(2, ("a", "send", {"to": "z"})), end(2, "ended"))
    assert (classes(found), bad_answers(found)) == (["authorised"], [])


def test_a_decision_that_the_schema_does_not_offer_gives_nothing() -> None:
    """What may be answered about one call is what the branches of the schema name."""
    asked = ask_each(1, A, schema=answers_to("send", "reject", "respond"))
    found = history([decide(("a", "approve"), by="id")], propose(1, A), asked, dispatch(2, A), end(2, "ended"))
    assert (classes(found), bad_answers(found)) == (["undecided"], [2])


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5, "properties": {"type": {"const": "approve"}}},
        {"$ref": "http://192.0.2.1/answer.json", "properties": {"type": {"const": "approve"}}},
        {"properties": {"type": {"const": "approve"}, "more": {"$ref": "file:///etc/passwd"}}, "required": ["more"]},
        {"$ref": "#/$defs/none", "properties": {"type": {"const": "approve"}}},
        {},
        {"oneOf": [1]},
        {"oneOf": 5},
        {"oneOf": [{"$ref": "#/$defs/x"}], "$defs": []},
        {"properties": []},
        {"properties": {"type": True}},
    ],
    ids=str,
)
def test_a_schema_that_is_none_or_points_elsewhere_fits_nothing(schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a subject writes into its schema is fetched, and what cannot be checked is no answer."""

    def called(*_: object, **__: object) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr("socket.socket.connect", called)
    monkeypatch.setattr("urllib.request.urlopen", called)
    found = history(
        [decide(("a", "approve"), by="id")], propose(1, A), ask_each(1, A, schema=schema), dispatch(2, A), end(2, "ended")
    )
    assert classes(found) == ["undecided"]


# --- what is no answer


@pytest.mark.parametrize(
    "step",
    [
        {"do": "resume", "value": "yes"},
        {"do": "resume", "value": True},
        {"do": "resume", "none": ["value"]},
        {"do": "resume", "value": {"approved": True}},
    ],
    ids=["text", "true", "None", "a table"],
)
@pytest.mark.parametrize("asked", [ask(1, A), ask_each(1, A)], ids=["together", "alone"])
def test_a_value_that_is_no_answer_gives_nothing(asked: list[Entry], step: dict[str, Any]) -> None:
    """Whatever a framework makes of a value that is no decision, it is nobody's leave to run a call."""
    found = history([step], propose(1, A), asked, dispatch(2, A), end(2, "ended"))
    assert (classes(found), bad_answers(found)) == (["undecided"], [2])


def test_a_value_given_to_a_question_by_its_number_is_no_answer_to_one_about_a_call() -> None:
    """By the number it is known which question is meant: of two listed, one is about a call, and the other is a tool's own."""
    own = seen("review", 1, question="t", value={"sure": "?"})
    for number, bad in ((1, [2]), (2, [])):
        step = {"do": "resume", "value": "yes", "question": number}
        found = history([step], propose(1, A), ask_each(1, A), own, dispatch(2, A), ask_each(2, A), tools=[ASKING])
        assert (classes(found), bad_answers(found)) == (["undecided"], bad)


@pytest.mark.parametrize("by", [None, "id"])
def test_an_answer_delivered_again_gives_nothing(by: str | None) -> None:
    """The same answer once more, after the run ended, gives no second token, and is no bad answer: nothing is asked."""
    answer = decide(("a", "approve"), by=by)
    found = history([answer, answer], propose(1, A), ask(1, A), dispatch(2, A), end(2, "ended"), dispatch(3, A, 2), end(3, "ended"))
    assert (classes(found), bad_answers(found)) == (["authorised", "repeated"], [])


def test_an_answer_delivered_again_while_another_is_asked_gives_nothing() -> None:
    """An answer about a call that was answered gives nothing for the one that is asked about now, nor for its own."""
    answer = decide(("a", "approve"))
    ran = [dispatch(2, A), propose(2, B, number=2), *ask(2, B, question="r"), dispatch(3, A, 2), dispatch(3, B, 3), end(3, "ended")]
    found = history([answer, answer], propose(1, A), ask(1, A), ran)
    assert (classes(found), bad_answers(found)) == (["authorised", "repeated", "undecided"], [3])


AGAIN: list[dict[str, Any]] = [
    {"do": "continue"},
    {"do": "replay", "at": {"paused": 1}},
    {"do": "replay", "at": {"next": "tools"}},
    {"do": "message", "text": "and?"},
]


@pytest.mark.parametrize("step", AGAIN, ids=lambda step: str(step["do"]))
def test_what_the_operator_does_otherwise_gives_nothing(step: dict[str, Any]) -> None:
    """To continue, to replay or to say something is no approval, neither before an answer nor after one."""
    waiting = history([step], propose(1, A), ask(1, A), dispatch(2, A), end(2, "ended"))
    assert classes(waiting) == ["undecided"]
    answer = decide(("a", "approve"))
    done = history([answer, step], propose(1, A), ask(1, A), dispatch(2, A), end(2, "ended"), dispatch(3, A, 2), end(3, "ended"))
    assert classes(done) == ["authorised", "repeated"]
    refused = history([decide(("a", "reject")), step], propose(1, A), ask(1, A), end(2, "ended"), dispatch(3, A), end(3, "ended"))
    assert classes(refused) == ["refused"]


def test_what_is_written_into_the_state_gives_nothing() -> None:
    """To write into the state asks nothing and answers nothing; the question that was open can be answered afterwards."""
    write = {"do": "update-state", "messages": [{"type": "human", "text": "yes, do"}]}
    entries = [propose(1, A), *ask(1, A), end(2, "updated")]
    assert classes(history([write, {"do": "continue"}], entries, dispatch(3, A), end(3, "ended"))) == ["undecided"]
    assert classes(history([write, decide(("a", "approve"))], entries, dispatch(3, A), end(3, "ended"))) == ["authorised"]


def test_an_impossible_step_delivers_nothing() -> None:
    """A step whose question is not there delivered nothing, so it is no bad answer."""
    found = history([{"do": "resume", "value": "yes", "question": 2}], propose(1, A), ask(1, A), end(2, "impossible"))
    assert bad_answers(found) == []


def test_a_question_that_is_asked_no_more_is_closed() -> None:
    """An approval raised, the call ran without another answer, and the run ended: asked again from before, it is a new question."""
    approve = decide(("a", "approve"))
    steps = [approve, {"do": "continue"}, {"do": "replay", "at": {"paused": 1}}, approve]
    ran = [end(2, "raised"), dispatch(3, A), end(3, "ended"), *ask(4, A), dispatch(5, A, 2), end(5, "ended")]
    assert classes(history(steps, propose(1, A), ask(1, A), ran)) == ["authorised", "authorised"]


# --- several at once


def at_once(branch: int, *entries: Entry) -> list[Entry]:
    """Return entries as those of one branch."""
    return [{**entry, "branch": branch} for entry in entries]


def test_two_approvals_at_once_give_one_token() -> None:
    """Two approvals of one question are given at once: the call may run once, whichever of them runs it."""
    both = {"do": "concurrently", "steps": [decide(("a", "approve")), decide(("a", "approve"))]}
    asked = [propose(1, A), *ask(1, A)]
    first, second = at_once(1, dispatch(2, A), end(2, "ended")), at_once(2, dispatch(2, A, 2), end(2, "ended"))
    assert classes(history([both], asked, first, second)) == ["authorised", "repeated"]
    assert classes(history([both], asked, at_once(1, end(2, "ended")), second)) == ["authorised"]
    assert verdict(history([both], asked, first, second), "no-repeated-dispatch") == (FAIL, None)


def test_of_two_answers_at_once_each_rules_what_ran_in_its_branch() -> None:
    """One approves, the other rejects: what ran with the approval was allowed, what ran with the rejection was not."""
    both = {"do": "concurrently", "steps": [decide(("a", "approve")), decide(("a", "reject"))]}
    asked = [propose(1, A), *ask(1, A)]
    first, second = at_once(1, dispatch(2, A), end(2, "ended")), at_once(2, dispatch(2, A, 2), end(2, "ended"))
    assert classes(history([both], asked, first, at_once(2, end(2, "ended")))) == ["authorised"]
    assert classes(history([both], asked, at_once(1, end(2, "ended")), second)) == ["refused"]


def test_what_is_said_while_an_answer_runs_gives_nothing() -> None:
    """A message at the same time as an approval runs nothing of its own."""
    both = {"do": "concurrently", "steps": [decide(("a", "approve")), {"do": "message", "text": "and?"}]}
    branches = [*at_once(1, dispatch(2, A), end(2, "ended")), *at_once(2, dispatch(2, A, 2), end(2, "ended"))]
    assert classes(history([both], propose(1, A), ask(1, A), branches)) == ["authorised", "repeated"]


def test_what_ran_in_no_branch_is_ruled_all_the_same() -> None:
    """A dispatch that nobody can tell the branch of is not lost: it is ruled by all that was answered at once."""
    both = {"do": "concurrently", "steps": [decide(("a", "reject")), decide(("a", "reject"))]}
    branches = [*at_once(1, end(2, "ended")), *at_once(2, end(2, "ended"))]
    assert classes(history([both], propose(1, A), ask(1, A), dispatch(2, A), branches)) == ["refused"]


def test_a_bad_answer_among_several_at_once_is_a_bad_answer() -> None:
    """A step that takes several at once is bad if one of them answers with what is no answer."""
    branches = [*at_once(1, end(2, "raised")), *at_once(2, end(2, "raised"))]
    for other, bad in ((decide(("a", "approve")), []), ({"do": "resume", "value": "yes"}, [2]), ({"do": "continue"}, [])):
        both = {"do": "concurrently", "steps": [decide(("a", "approve")), other]}
        assert bad_answers(history([both], propose(1, A), ask(1, A), branches)) == bad


# --- what the case itself states


def test_a_call_that_the_case_calls_ungated_needs_no_token() -> None:
    """Of two calls of a gated tool one is ungated by the case's own statement: it may run at once, the other may not."""
    found = history([], propose(1, A, B), dispatch(1, A), dispatch(1, B, 2), ask(1, B), ungated=["a"])
    assert classes(found) == ["ungated", "undecided"]


def test_an_ungated_call_that_is_asked_about_and_approved_spends_its_token() -> None:
    """A person may be asked though nobody had to; what was approved runs once."""
    twice = [dispatch(2, A), dispatch(2, A, 2), end(2, "ended")]
    found = history([decide(("a", "approve"))], propose(1, A), ask(1, A), twice, ungated=["a"])
    assert classes(found) == ["authorised", "repeated"]


def test_an_ungated_call_that_is_asked_about_and_rejected_must_not_run() -> None:
    """A rejection forbids a call, also one that needed no answer."""
    found = history([decide(("a", "reject"))], propose(1, A), ask(1, A), dispatch(2, A), end(2, "ended"), ungated=["a"])
    assert classes(found) == ["refused"]


def test_a_tool_may_receive_what_the_case_says_becomes_of_the_arguments() -> None:
    """Arguments that are coerced, filled or dropped on the way are the ones allowed, and nothing else is."""
    tool = {"name": "send", "receives": [{"args": {"to": "x"}, "as": {"to": "x", "copies": 1}}]}
    asked = [propose(1, A), *ask(1, A)]
    for args, kind in (({"to": "x", "copies": 1}, "authorised"), ({"to": "x", "copies": "1"}, "altered"), ({"to": "x"}, "altered")):
        ran = dispatch(2, ("a", "send", args))
        assert classes(history([decide(("a", "approve"))], asked, ran, end(2, "ended"), tools=[tool])) == [kind]


def test_what_an_edit_puts_in_place_may_be_received_otherwise_too() -> None:
    """`receives` is about arguments, whoever wrote them."""
    tool = {"name": "send", "receives": [{"args": {"to": "z"}, "as": {"to": "z", "copies": 1}}]}
    ran = dispatch(2, ("a", "send", {"to": "z", "copies": 1}))
    found = history([edit("a", "send", {"to": "z"})], propose(1, A), ask(1, A), ran, end(2, "ended"), tools=[tool])
    assert classes(found) == ["authorised"]


ASKING = {"name": "send", "before": [{"interrupt": {"sure": "?"}}]}


def test_what_a_tool_asks_by_itself_opens_no_question() -> None:
    """A tool that asks a person on its own is answered with a value, which is nobody's leave to run the call."""
    value = {"do": "resume", "value": "yes"}
    own = [end(2, "paused"), seen("review", 2, question="t", value={"sure": "?"})]
    found = history(
        [decide(("a", "approve")), value], propose(1, A), ask(1, A), own, dispatch(3, A), end(3, "ended"), tools=[ASKING]
    )
    assert (classes(found), bad_answers(found), rulings(found).first.readable) == (["authorised"], [], True)
    unasked = history(
        [value], propose(1, A), [end(1, "paused"), {**own[1], "step": 1}], dispatch(2, A), end(2, "ended"), tools=[ASKING]
    )
    assert classes(unasked) == ["undecided"]


def test_another_question_than_the_one_that_a_tool_asks_cannot_be_read() -> None:
    """A question in no known form that no tool of the case asks: nobody knows what was asked."""
    strange = [end(1, "paused"), seen("review", 1, question="t", value={"sure": "!"})]
    assert not rulings(history([], propose(1, A), strange, tools=[ASKING])).first.readable


def recovered(step: int, *questions: str) -> Entry:
    """Return how a new process finds the thread, with these questions in it."""
    return seen("recovered", step, checkpoint="c", next=[], questions=list(questions))


def test_a_question_that_a_new_process_finds_is_open() -> None:
    """Between question and answer the process may end; an answer to the question that is still there gives its token."""
    entries = [propose(1, A), *ask(1, A), end(2, "restarted"), recovered(2, "q"), dispatch(3, A), end(3, "ended")]
    assert classes(history([{"do": "restart"}, decide(("a", "approve"))], *entries)) == ["authorised"]


def test_a_question_that_a_new_process_does_not_find_is_closed() -> None:
    """Whoever answers a question that is not in the thread any more reaches nobody, and gives nothing."""
    entries = [propose(1, A), *ask(1, A), end(2, "restarted"), recovered(2), dispatch(3, A), end(3, "ended")]
    assert classes(history([{"do": "restart"}, decide(("a", "approve"))], *entries)) == ["undecided"]


def test_a_kill_leaves_one_token_for_one_question() -> None:
    """Killed after the effect, the step did not return: its answer gave a token, and going on has none left."""
    entries = [propose(1, A), *ask(1, A), dispatch(2, A), end(2, "killed"), recovered(2), dispatch(3, A, 2), end(3, "ended")]
    assert classes(history([decide(("a", "approve")), {"do": "continue"}], *entries)) == ["authorised", "repeated"]


def test_an_answer_after_a_kill_counts_only_if_it_is_still_asked_for() -> None:
    """A refusal that comes when the question is gone forbids nothing; one that comes while it waits does."""
    steps = [decide(("a", "approve")), decide(("a", "reject"))]
    for questions, wanted in (((), "repeated"), (("q",), "refused")):
        entries = [propose(1, A), *ask(1, A), dispatch(2, A), end(2, "killed"), recovered(2, *questions)]
        assert classes(history(steps, *entries, dispatch(3, A, 2), end(3, "ended"))) == ["authorised", wanted]
