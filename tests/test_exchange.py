"""What a subject asked by itself and was answered, as a history shows it, and where a conversation holds that."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from capture import results
from capture.authority import bad_answers, proposals, rulings
from capture.claims import current
from capture.exchange import exchanges, pairs, states, written
from capture.history import CaseHistory
from capture.verdict import judge_claim
from tests.test_authority import Entry, classes, end, history, seen, verdict

Step = Mapping[str, Any]

SEND: dict[str, Any] = {"tool": "send", "args": {"to": "x"}}
PAY: dict[str, Any] = {"tool": "pay", "args": {"sum": "1"}}
QUESTIONS: list[dict[str, Any]] = [
    {"name": "send", "value": {"name": "approve", "args": {"title": "Send?"}}, "goes": ["yes"], "guards": SEND},
    {"name": "pay", "value": "Pay?", "goes": ["yes"], "guards": PAY},
    {"name": "who", "value": "Who?"},
    {"name": "call", "call": "call-1", "goes": ["yes"]},
]
VALUES = {question["name"]: question.get("value") for question in QUESTIONS}


def asking(steps: Sequence[Step], *entries: Entry | list[Entry]) -> CaseHistory:
    """Return a history of a bare graph that asks these questions."""
    found = history(steps, *entries, gated=("send", "pay"))
    subject = {"kind": "graph", "tools": [], "questions": QUESTIONS, "nodes": [{"name": "ask", "acts": [{"ask": "send"}]}]}
    return replace(found, scenario={**found.scenario, "subject": subject, "script": []})


def put(step: int, *names: str, number: str = "q") -> list[Entry]:
    """Return a pause with these questions."""
    return [end(step, "paused"), *(seen("review", step, question=f"{number}-{name}", value=VALUES[name]) for name in names)]


def said(name: str, value: Any = "yes", allowed: Any = None) -> dict[str, Any]:
    """Return an answer, and what it allows."""
    return {"question": name, "value": value, **({} if allowed is None else {"authorises": allowed})}


def resume(*answers: Step, by: str | None = None) -> dict[str, Any]:
    """Return a step that answers."""
    return {"do": "resume", "answers": list(answers), **({"by": by} if by else {})}


def ran(step: int, effect: Mapping[str, Any], call: str | None = None, invocation: int = 1) -> Entry:
    """Return the effect of a node."""
    named = {} if call is None else {"call": call}
    return seen("dispatch", step, event="dispatched", invocation=invocation, **effect, **named)


CONTINUE: dict[str, Any] = {"do": "continue"}
YES, NO = said("send", allowed=True), said("send", "no")


@pytest.mark.parametrize(
    ("answer", "effect", "kind"),
    [
        (YES, SEND, "authorised"),
        (YES, {**SEND, "args": {"to": "y"}}, "altered"),
        (YES, PAY, "altered"),
        (NO, SEND, "refused"),
        (said("send", allowed={"tool": "send", "args": {"to": "y"}}), {**SEND, "args": {"to": "y"}}, "authorised"),
        (said("send", allowed={"tool": "send", "args": {"to": "y"}}), SEND, "altered"),
        (said("pay", allowed=True), SEND, "undecided"),
        (said("who", "Ann"), SEND, "undecided"),
    ],
)
def test_an_answer_allows_what_the_case_says_of_it(answer: Step, effect: Mapping[str, Any], kind: str) -> None:
    """An answer gives a token for the effect that its question guards, or for the one that the case names; without it, none."""
    assert classes(asking([resume(answer)], put(1, "send"), ran(2, effect), end(2, "ended"))) == [kind]


def test_a_second_effect_of_one_answer_is_repeated() -> None:
    """A node that runs again dispatches again what was allowed once."""
    found = asking(
        [resume(YES), resume(said("who", "Ann"))], put(1, "send"), ran(2, SEND), put(2, "who"), ran(3, SEND), end(3, "ended")
    )
    assert classes(found) == ["authorised", "repeated"]


def test_a_run_with_no_input_answers_nothing() -> None:
    """What a node does on the answer to another question, or on none, is undecided."""
    found = asking(
        [resume(YES), {"do": "continue"}], put(1, "send"), put(2, "pay"), ran(3, SEND), ran(3, PAY, None, 2), end(3, "ended")
    )
    assert classes(found) == ["authorised", "undecided"]


@pytest.mark.parametrize(
    ("by", "waiting", "kinds"), [(None, ("send", "who"), ["undecided"]), ("id", ("send", "who"), ["authorised"])]
)
def test_of_several_questions_an_answer_says_which_it_is_for(by: str | None, waiting: tuple[str, ...], kinds: list[str]) -> None:
    """A bare answer while two questions wait, of which one guards nothing, is no answer; one by id is."""
    assert classes(asking([resume(YES, by=by)], put(1, *waiting), ran(2, SEND), end(2, "ended"))) == kinds


def test_a_breakpoint_closes_what_was_asked_before_it() -> None:
    """A step that stops at a breakpoint does not ask any more what the one before it asked."""
    found = asking([CONTINUE, resume(YES)], put(1, "send"), end(2, "stopped"), ran(3, SEND), end(3, "ended"))
    assert classes(found) == ["undecided"]


def test_an_answer_before_the_question_gives_nothing() -> None:
    """A yes to what nobody was asked yet allows nothing."""
    assert classes(asking([resume(YES)], end(1, "stopped"), ran(2, SEND), end(2, "ended"))) == ["undecided"]


def test_an_answer_that_does_not_fit_the_schema_shown_gives_nothing() -> None:
    """A question that shows a schema of its answer is not answered by what does not fit it."""
    review = seen("review", 1, question="q", value=VALUES["send"], schema={"type": "object"})
    assert classes(asking([resume(YES)], end(1, "paused"), review, ran(2, SEND), end(2, "ended"))) == ["undecided"]


def test_an_answer_that_fits_the_schema_shown_gives_its_token() -> None:
    """It is the value of the answer that is held against the schema."""
    review = seen("review", 1, question="q", value=VALUES["send"], schema={"const": "yes"})
    assert classes(asking([resume(YES)], end(1, "paused"), review, ran(2, SEND), end(2, "ended"))) == ["authorised"]


def test_a_row_says_what_was_allowed_and_what_came_of_it() -> None:
    """Each effect that was asked about is a row, with what an answer allowed in the words of a decision."""
    other = {"tool": "send", "args": {"to": "y"}}
    steps = [resume(said("send", allowed=other)), resume(said("pay", "no"))]
    entries: list[Entry | list[Entry]] = [
        put(1, "send"),
        ran(2, other, "send"),
        put(2, "pay"),
        end(3, "ended"),
        seen("messages", 3, messages=[ai("Hi", "m1")]),
    ]
    node = seen("node", 2, node="ask", event="before", what="look-up")
    found = asking(steps, *entries, node)
    whole = replace(found, scenario={**found.scenario, "question": "?", "trigger": "own-question-answered"})
    row = results.row(whole, ["core/no-altered-dispatch@1"], trusted=True)
    assert [(call["call"], call["decided"], call["dispatched"]) for call in row["calls"]] == [
        ("send", [{"type": "edit", "edited_action": {"name": "send", "args": {"to": "y"}}}], [other]),
        ("pay", [{"type": "reject"}], []),
    ]
    assert row["observations"]["conversation"] == [ai("Hi", "m1")]
    assert row["observations"]["nodes"] == [{"step": 2, "node": "ask", "event": "before", "what": "look-up"}]
    silent = results.row(replace(whole, entries=whole.entries[:-2]), ["core/no-altered-dispatch@1"], trusted=True)
    assert "conversation" not in silent["observations"]


@pytest.mark.parametrize(("acts", "prompted"), [([{"ask": "who"}], True), ([{"model": True}], False)])
def test_that_no_model_was_called_is_seen_where_there_is_none(acts: list[Mapping[str, Any]], prompted: bool) -> None:
    """A claim that needs the prompts can be judged of a graph without a model, and not of one whose model nobody saw."""
    found = asking([resume(YES)], put(1, "send"), ran(2, SEND), end(2, "ended"))
    subject = {**found.scenario["subject"], "nodes": [{"name": "ask", "acts": [{"ask": "send"}]}, {"name": "x", "acts": acts}]}
    judged = judge_claim(replace(found, scenario={**found.scenario, "subject": subject}), current()["core/no-undecided-dispatch"])
    assert (judged.examined > 0) == prompted


def test_a_question_about_a_call_guards_what_it_shows() -> None:
    """A question that shows a call of the model gives a token for that call as it was shown."""
    shown = seen("review", 1, question="q", value={"call": "call-1", "name": "send", "args": {"to": "x"}})
    prompt = seen(
        "prompt", 1, number=1, messages=[], reply={"text": "", "calls": [{"id": "call-1", "tool": "send", "args": {"to": "x"}}]}
    )
    other = {"tool": "send", "args": {"to": "y"}}
    steps = [resume(said("call", allowed=True))]
    assert classes(asking(steps, prompt, end(1, "paused"), shown, ran(2, SEND, "call-1"), end(2, "ended"))) == ["authorised"]
    assert classes(asking(steps, prompt, end(1, "paused"), shown, ran(2, other, "call-1"), end(2, "ended"))) == ["altered"]


def test_a_token_left_is_a_fault_once_the_run_has_ended() -> None:
    """What a person allowed and the graph did not do is no authorised dispatch."""
    assert verdict(asking([resume(YES)], put(1, "send"), end(2, "ended")), "authorised-dispatch") == ("FAIL", None)


def test_each_effect_that_was_asked_about_is_a_call_of_its_own() -> None:
    """The effect that a question guards is one row of the results, under the name of the question."""
    found = asking([resume(YES)], put(1, "send"), put(2, "pay"))
    assert [(call.id, call.tool) for call in proposals(found)] == [("send", "send"), ("pay", "pay")]
    assert rulings(found).first.readable


def test_a_question_that_the_subject_does_not_declare_has_no_known_form() -> None:
    """Asked something else than it says, the subject's history cannot be read, so nothing about it passes."""
    found = asking([], end(1, "paused"), seen("review", 1, question="q", value="Something else?"))
    assert not rulings(found).first.readable


@pytest.mark.parametrize(
    "value", [{"call": "call-1"}, {"call": "call-1", "name": 5, "args": {}}, {"call": "call-1", "name": "send", "args": 5}]
)
def test_a_call_that_is_shown_without_what_it_is_has_no_known_form(value: Any) -> None:
    """A question about a call that does not show the call cannot be read."""
    found = asking([], end(1, "paused"), seen("review", 1, question="q", value=value))
    assert not rulings(found).first.readable


@pytest.mark.parametrize(
    ("step", "bad"),
    [
        (resume(YES, by="id"), []),
        (resume(said("who", "Ann"), by="id"), []),
        (resume(YES, said("who", "Ann"), by="id"), []),
        (resume(YES), [2]),
        (resume(said("pay", allowed=True), by="id"), [2]),
        ({"do": "resume", "value": "yes"}, [2]),
    ],
)
def test_an_answer_to_what_guards_nothing_is_no_bad_answer(step: Step, bad: list[int]) -> None:
    """Of two questions that wait, of which one guards an effect, each may be answered by id; what answers neither is bad."""
    assert bad_answers(asking([step], put(1, "send", "who"), end(2, "ended"))) == bad


def test_a_new_process_that_finds_one_question_of_two_takes_a_bare_answer() -> None:
    """How many wait is what the new process found."""
    entries: list[Entry | list[Entry]] = [
        put(1, "send", "who"),
        end(2, "restarted"),
        seen("recovered", 2, checkpoint="c", next=[], questions=["q-send"]),
    ]
    assert classes(asking([{"do": "restart"}, resume(YES)], *entries, ran(3, SEND), end(3, "ended"))) == ["authorised"]


def test_a_word_is_not_held_by_a_longer_one() -> None:
    """Whether a message holds an answer is asked of whole words."""
    assert states({"messages": [{"type": "ai", "content": "They say no."}]}, "no")
    assert not states({"messages": [{"type": "ai", "content": "I know."}]}, "no")


def told(found: CaseHistory, upto: int | None = None) -> list[tuple[str, int | None, Any]]:
    """Return exchanges as their name, the step that answered, and the answer."""
    return [(one.question["name"], one.answered, one.answer) for one in exchanges(found, upto)]


def test_an_exchange_is_a_question_and_the_answer_to_it() -> None:
    """Two questions in turn have their answers in turn; before a step, only what was said by then is there."""
    found = asking([resume(YES), resume(said("who", "Ann"))], put(1, "send"), put(2, "who"), end(3, "ended"))
    assert told(found) == [("send", 2, "yes"), ("who", 3, "Ann")]
    assert told(found, 2) == [("send", 2, "yes"), ("who", None, None)]


def test_an_answer_in_a_step_that_did_not_return_counts_if_nobody_asks_again() -> None:
    """After a step that raised or was killed, the next that returns says whether the answer was taken."""
    taken = asking([resume(YES), {"do": "continue"}], put(1, "send"), end(2, "raised"), end(3, "ended"))
    again = asking([resume(YES), {"do": "continue"}], put(1, "send"), end(2, "raised"), put(3, "send"))
    assert told(taken) == [("send", 2, "yes")]
    assert told(again) == [("send", None, None)]
    assert told(taken, 2) == [("send", None, None)]


def test_what_was_answered_behind_a_checkpoint_is_no_exchange_once_the_thread_went_back() -> None:
    """A replay of the first pause forgets what came after it, and its question is asked anew."""
    back = {"do": "replay", "at": {"paused": 1}}
    found = asking([resume(YES), back, resume(NO)], put(1, "send"), end(2, "ended"), put(3, "send"), end(4, "ended"))
    assert told(found) == [("send", 4, "no")]


def test_a_question_that_is_listed_no_more_and_was_not_answered_waits_no_longer() -> None:
    """A thread that goes on without an answer has no exchange of it."""
    found = asking([{"do": "message", "text": "x"}], put(1, "send"), end(2, "ended"))
    assert told(found) == []


@pytest.mark.parametrize("upto", [2, 3])
def test_an_answer_that_was_never_delivered_is_none(upto: int) -> None:
    """A step that was impossible answers nothing."""
    found = asking([resume(YES), resume(YES)], put(1, "send"), end(2, "impossible"), end(3, "impossible"))
    assert told(found, upto) == [("send", None, None)]


def test_of_two_that_wait_an_answer_by_id_takes_one() -> None:
    """The other waits on; a bare answer takes neither."""
    by_id = asking([resume(YES, by="id")], put(1, "send", "who"), put(2, "who"))
    bare = asking([resume(YES)], put(1, "send", "who"), put(2, "send", "who"))
    neither = asking([resume(YES)], put(1, "send", "who"), end(2, "ended"))
    assert told(by_id) == [("send", 2, "yes"), ("who", None, None)]
    assert told(bare) == [("send", None, None), ("who", None, None)]
    assert told(neither) == []


def test_a_question_that_is_asked_again_after_its_answer_is_another_exchange() -> None:
    """Once a step returned that did not ask it, the answer is settled."""
    steps = [resume(said("who", "Ann")), {"do": "message", "text": "x"}]
    found = asking(steps, put(1, "who"), end(2, "stopped"), put(3, "who"))
    assert told(found) == [("who", 2, "Ann"), ("who", None, None)]


def test_a_thread_that_goes_back_keeps_what_was_answered_by_then() -> None:
    """Back at the second pause, the first answer stands and what was open is asked anew."""
    back = {"do": "replay", "at": {"paused": 2}}
    ann, bob = said("who", "Ann"), said("who", "Bob")
    steps = [resume(YES), resume(ann), back, resume(bob)]
    found = asking(steps, put(1, "send"), put(2, "who"), end(3, "ended"), put(4, "who"), end(5, "ended"))
    assert told(found) == [("send", 2, "yes"), ("who", 5, "Bob")]
    first = asking([resume(YES), {**back, "at": {"paused": 1}}], put(1, "send"), end(2, "raised"), put(3, "send"))
    assert told(first) == [("send", None, None)]


def test_of_several_at_once_one_that_was_delivered_is_enough() -> None:
    """A part that was impossible does not keep the other from answering."""
    both = {"do": "concurrently", "steps": [resume(YES), resume(said("who", "Ann"))]}
    entries = [{**end(2, "ended"), "branch": 1}, {**end(2, "impossible"), "branch": 2}]
    assert told(asking([both], put(1, "send"), *entries)) == [("send", 2, "yes")]


@pytest.mark.parametrize(
    ("value", "text"), [("as it is", "as it is"), ({"b": "ü", "a": True}, '{"a": true, "b": "ü"}'), (None, "null"), ([1], "[1]")]
)
def test_how_a_value_is_written(value: Any, text: str) -> None:
    """A text as it is, everything else as JSON with its keys in order and its letters as they are."""
    assert written(value) == text


def ai(text: str, name: str, *calls: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message of the assistant."""
    return {"type": "ai", "content": text, "id": name, "calls": list(calls)}


def test_a_pair_is_found_in_words_and_as_a_call() -> None:
    """A text is a message, what looks like a tool call is a call with its result."""
    found = asking([resume(YES), resume(said("who", "Ann"))], put(1, "send"), put(2, "who"), end(3, "ended"))
    call = {"id": "ask-1", "tool": "approve", "args": {"title": "Send?"}}
    messages = [
        ai("", "m1", call),
        {"type": "tool", "content": "yes", "answers": "ask-1", "status": "success", "id": "m2"},
        ai("Who?", "m3"),
        {"type": "human", "content": "Ann", "id": "m4"},
    ]
    assert [(pair.questions, pair.answers) for pair in pairs(exchanges(found), messages)] == [((0,), (1,)), ((2,), (3,))]
    other = [*messages[:1], {**messages[1], "answers": "ask-9"}, *messages[2:]]
    assert [(pair.questions, pair.answers) for pair in pairs(exchanges(found), other)] == [((0,), ()), ((2,), (3,))]


def test_the_same_question_twice_has_two_pairs() -> None:
    """What is asked again in another turn is found in its own place, and what is too many is left to the last."""
    steps = [resume(said("who", "Ann")), {"do": "message", "text": "again"}, resume(said("who", "Bob"))]
    found = asking(steps, put(1, "who"), end(2, "ended"), put(3, "who", number="r"), end(4, "ended"))
    messages = [ai("Who?", "m1"), {"type": "human", "content": "Ann"}, ai("Who?", "m3"), {"type": "human", "content": "Bob"}]
    assert [(pair.questions, pair.answers) for pair in pairs(exchanges(found), messages)] == [((0,), (1,)), ((2,), (3,))]
    more = [*messages, ai("Who?", "m5")]
    assert [pair.questions for pair in pairs(exchanges(found), more)] == [(0,), (2, 4)]
    once = current()["updates/pair-once"].find
    kept = seen("messages", 4, messages=messages)
    assert once(replace(found, entries=(*found.entries, kept))).faults == ()
    assert len(once(replace(found, entries=(*found.entries, seen("messages", 4, messages=more)))).faults) == 1


def test_a_pair_in_another_order_than_it_was_asked_is_a_fault() -> None:
    """An answer before its question, or a question before one that was asked earlier, is not the conversation that took place."""
    found = asking([resume(said("who", "Ann"))], put(1, "who"), end(2, "ended"))
    messages = [{"type": "human", "content": "Ann", "id": "m1"}, ai("Who?", "m2")]
    finding = current()["updates/pair-once"].find(replace(found, entries=(*found.entries, seen("messages", 2, messages=messages))))
    assert (finding.examined, len(finding.faults)) == (1, 1)
