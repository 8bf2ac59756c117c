"""What an answer allowed: an answer gives a token, a dispatch spends it.

The history is walked once, step by step. The judge decides what each answer allowed, from the case's own statement of what
is gated and from what the reviewer was shown; how the framework reads its policy plays no part. Where a dispatch does not
say which call it belongs to and could belong to several, every possible assignment is walked and gives a ruling of its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from typing import Any

from capture import scenario as plan
from capture.history import CaseHistory, Entry
from capture.question import Call, Item, asked, declared, fits, of_the_tool, own, same

__all__ = [
    "Answer",
    "Call",
    "Class",
    "Item",
    "Readings",
    "Ruled",
    "Ruling",
    "Token",
    "bad_answers",
    "decided",
    "needs_answer",
    "proposals",
    "received",
    "rulings",
    "same",
    "shown",
    "valid",
]

MOST_WALKS = 64


class Class(StrEnum):
    """What a dispatch was, in respect of the answers given before it. Every dispatch is exactly one of these."""

    UNGATED = "ungated"
    AUTHORISED = "authorised"
    REPEATED = "repeated"
    ALTERED = "altered"
    REFUSED = "refused"
    UNDECIDED = "undecided"


@dataclass
class Token:
    """The right to dispatch one call once, with exactly this tool and these arguments."""

    call: str | None
    tool: str
    args: Mapping[str, Any]
    spent: bool = False


@dataclass(frozen=True)
class Ruled:
    """A dispatch, the call that it was assigned to, its class, and the token's content if it was altered."""

    entry: Entry
    call: str | None
    kind: Class
    allowed: Token | None = None


@dataclass(frozen=True)
class Answer:
    """A valid answer to an open question: the step that gave it, the call, and the decision as the case writes it."""

    step: int
    call: str | None
    decision: Mapping[str, Any]


@dataclass
class Ruling:
    """One way to read a history: each dispatch with its class, the valid answers, and the tokens that they gave."""

    dispatches: list[Ruled] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    readable: bool = True

    def of(self, kind: Class) -> list[Ruled]:
        """Return the dispatches of a class."""
        return [ruled for ruled in self.dispatches if ruled.kind is kind]

    def last(self) -> dict[str | None, Answer]:
        """Return the last valid answer about each call."""
        return {answer.call: answer for answer in self.answers}

    def refused(self) -> list[str | None]:
        """Return the calls whose last valid answer forbids them."""
        return [call for call, answer in self.last().items() if answer.decision["type"] in _FORBID]


@dataclass(frozen=True)
class Readings:
    """The rulings that a history allows; `complete` unless there are more than are worth walking."""

    rulings: tuple[Ruling, ...]
    complete: bool

    @property
    def first(self) -> Ruling:
        """One of the rulings; what a person was shown and answered is the same in all."""
        return self.rulings[0] if self.rulings else Ruling()


_FORBID = ("reject", "respond")


def proposals(history: CaseHistory, upto: int | None = None) -> list[Call]:
    """Return the calls that the model proposed, in order, up to a step or in all, and the effects that the subject asked about."""
    steps = [entry["step"] for entry in history.of("step") if upto is None or entry["step"] <= upto]
    return [call for step in steps for call in (*_replied(history, step), *_guarded(history, step))]


def _replied(history: CaseHistory, step: int) -> Iterator[Call]:
    for entry in history.of("prompt", step=step):
        for call in entry["reply"]["calls"] if entry["reply"] else ():
            yield Call(call["id"], call["tool"], call["args"])


def _guarded(history: CaseHistory, step: int) -> Iterator[Call]:
    """Yield the effect of each question that the subject asks by itself, unless the question is about a call of the model."""
    for review in history.of("review", step=step):
        question = declared(review, history.scenario)
        item = own(question, review) if question and "call" not in question else None
        if item:
            yield item.call


def needs_answer(scenario: Mapping[str, Any], call: Call) -> bool:
    """Tell whether a call must not run without an answer: by the case's own statement, never by what the framework reads."""
    return call.tool in scenario["gated"] and call.id not in scenario.get("ungated", ())


def shown(history: CaseHistory, step: int) -> list[Item] | None:
    """Return what the reviewer was shown when a step paused, call by call, or None if that has no known form.

    What the subject asks by itself is listed if an effect rests on it; what a tool asks without such a statement is not.
    """
    items: list[Item] = []
    for review in history.of("review", step=step):
        question = declared(review, history.scenario)
        if question is not None:
            item = own(question, review)
            items += [item] if item else []
            continue
        if of_the_tool(review, history.scenario):
            continue
        found = asked(review)
        if found is None:
            return None
        for item in found:
            call = item.call.id or _identify(item.call, history, step, {known.call.id for known in items})
            items.append(replace(item, call=replace(item.call, id=call)))
    return items


@lru_cache(maxsize=4)
def rulings(history: CaseHistory) -> Readings:
    """Return the rulings that the history allows: one, unless a dispatch could belong to several calls."""
    found: list[Ruling] = []
    open_ends: list[tuple[int, ...]] = [()]
    walks = 0
    while open_ends and (walks < MOST_WALKS or not found):
        walks += 1
        choices = open_ends.pop()
        walk = _Walk(history, choices)
        try:
            walk.run()
        except _Fork as fork:
            open_ends.extend((*choices, choice) for choice in reversed(range(fork.branches)))
        else:
            found.append(walk.ruling)
    return Readings(tuple(found), not open_ends)


def decided(history: CaseHistory, *kinds: str) -> Mapping[str | None, Answer]:
    """Return the last valid answer about each call, if it is of these kinds."""
    answers = rulings(history).first.last()
    return {call: answer for call, answer in answers.items() if answer.decision["type"] in kinds}


def bad_answers(history: CaseHistory) -> list[int]:
    """Return the steps that delivered something else than a valid answer while a question was listed.

    A step that answers several questions one by one is bad if one of its decisions is no answer.
    """
    found: list[int] = []
    listed: int | None = None
    for number, _ in history.steps():
        reached = [part for branch, part in history.parts(number) if history.ended(number, branch) not in (None, "impossible")]
        if listed and any(_is_bad(part, history, listed) for part in reached):
            found.append(number)
        if history.outcome(number) in ("paused", "ended"):
            listed = number
    return found


def _is_bad(part: Mapping[str, Any], history: CaseHistory, listed: int) -> bool:
    """Tell whether a step answers what a step before it listed with something else than an answer."""
    listing = shown(history, listed)
    if part["do"] != "resume" or not listing:
        return False
    asked = history.of("review", step=listed)
    numbered = asked[: part.get("question", 0)]
    if numbered and of_the_tool(numbered[-1], history.scenario):
        return False
    given = [answer for answer in part.get("answers", []) if answer["question"] not in _idle(asked, history)]
    if "answers" in part and not given:
        return False
    given = part.get("decisions", given)
    return len(valid(part, listing, len(asked))) != max(1, len(given))


def _idle(asked: list[Entry], history: CaseHistory) -> list[str]:
    """Return the questions among those listed on which no effect rests: whatever answers them is no bad answer."""
    found = [(declared(review, history.scenario), review) for review in asked]
    return [question["name"] for question, review in found if question and own(question, review) is None]


class _Fork(Exception):
    def __init__(self, branches: int) -> None:
        self.branches = branches


class _Walk:
    """One walk through a history, taking the n-th choice where a dispatch could belong to several calls."""

    def __init__(self, history: CaseHistory, choices: tuple[int, ...]) -> None:
        self.history = history
        self.choices = list(choices)
        self.ruling = Ruling()
        self.gated = frozenset(history.scenario["gated"])
        self.listing: list[Item] = []
        self.waiting = 0
        self.given: dict[str | None, Token] = {}

    def run(self) -> None:
        # Step 0 builds the subject: nothing was asked yet, so whatever runs then is undecided.
        for number in [0, *(number for number, _ in self.history.steps())]:
            answered: list[str | None] = []
            parts = self.history.parts(number)
            for branch, part in parts:
                answered += self._answer(number, branch, part)
                self._dispatches(number, branch)
            if len(parts) > 1:
                self._dispatches(number, None)
            self._turn(number, answered)

    def _dispatches(self, number: int, branch: int | None) -> None:
        """Rule what ran in a branch, or in none: where several go on at once, a thread of the framework may belong to no branch."""
        for entry in self.history.of("dispatch", step=number):
            if entry["event"] == "dispatched" and entry.get("branch") == branch:
                self.ruling.dispatches.append(self._rule(entry, number))

    def _turn(self, number: int, answered: list[str | None]) -> None:
        """Close the questions that were answered, or are asked no more, and open those that the step paused on."""
        outcome = self.history.outcome(number)
        if outcome in ("killed", "restarted"):
            self._recover(number)
        if outcome not in ("built", "paused", "stopped", "ended"):
            return
        listing = shown(self.history, number) if outcome == "paused" else []
        self.ruling.readable &= listing is not None
        self._close({item.call.id for item in listing or []} - set(answered))
        self.listing = listing or []
        self.waiting = len(self.history.of("review", step=number))

    def _recover(self, number: int) -> None:
        """Close the questions that a new process did not find in the thread: there is nobody to whom an answer could go."""
        found = {question for entry in self.history.of("recovered", step=number) for question in entry["questions"]}
        self.listing = [item for item in self.listing if item.question in found]
        self.waiting = len(found)
        self._close({item.call.id for item in self.listing})

    def _close(self, still: set[str | None]) -> None:
        """Let every question but those that are still asked be one that may be asked anew."""
        self.given = {call: token for call, token in self.given.items() if call in still}

    def _answer(self, number: int, branch: int | None, part: Mapping[str, Any]) -> list[str | None]:
        """Let the decisions of a step give their tokens; return the calls whose question, one of those listed, they answered."""
        given = valid(part, self.listing, self.waiting) if self.history.delivered(number, branch) else []
        for item, decision in given:
            self._decide(number, item, decision)
        return [item.call.id for item, _ in given]

    def _decide(self, number: int, item: Item, decision: Mapping[str, Any]) -> None:
        """Let the last word about a call count: it takes an unspent token back, and gives one if its question gave none."""
        call = item.call.id
        self.ruling.answers.append(Answer(number, call, decision))
        self.ruling.tokens = [token for token in self.ruling.tokens if token.spent or token.call != call]
        content = self._content(item, decision)
        if content is not None and not (call in self.given and self.given[call].spent):
            self.given[call] = Token(call, *content)
            self.ruling.tokens.append(self.given[call])

    def _content(self, item: Item, decision: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
        if decision["type"] in _FORBID:
            return None
        if decision["type"] == "approve":
            return item.call.tool, item.call.args
        action = decision["edited_action"]
        if action["name"] == item.call.tool or self._may_become(action["name"]):
            return action["name"], action["args"]
        return None

    def _may_become(self, tool: str) -> bool:
        """Our rule: an edit may go into another tool only if that one is ungated, or a person may approve or edit it."""
        if tool not in self.gated:
            return True
        return bool({"approve", "edit"} & set(_policy(self.history.scenario, tool)))

    def _rule(self, entry: Entry, step: int) -> Ruled:
        candidates = self._candidates(entry, step)
        if len(candidates) > 1:
            if not self.choices:
                raise _Fork(len(candidates))
            candidates = [candidates[self.choices.pop(0)]]
        if not candidates:
            return Ruled(entry, None, Class.UNDECIDED if entry["tool"] in self.gated else Class.UNGATED)
        return self._classify(entry, candidates[0])

    def _classify(self, entry: Entry, call: str | None) -> Ruled:
        tokens = [token for token in self.ruling.tokens if token.call == call]
        exact = [token for token in tokens if self._fits(entry, token.tool, token.args)]
        for token in exact:
            if not token.spent:
                token.spent = True
                return Ruled(entry, call, Class.AUTHORISED)
        if call in self.ruling.refused() and not self._is_newer(call, entry):
            return Ruled(entry, call, Class.REFUSED)
        if not exact and self._is_free(call, entry):
            return Ruled(entry, call, Class.UNGATED)
        if exact:
            return Ruled(entry, call, Class.REPEATED)
        return Ruled(entry, call, Class.ALTERED, tokens[-1]) if tokens else Ruled(entry, call, Class.UNDECIDED)

    def _is_free(self, call: str | None, entry: Entry) -> bool:
        """Tell whether a dispatch needs no answer: by its tool, or by its call as long as it runs the tool that it calls."""
        if entry["tool"] not in self.gated:
            return True
        own = [known for known in proposals(self.history, entry["step"]) if known.id == call and known.tool == entry["tool"]]
        return any(not needs_answer(self.history.scenario, known) for known in own)

    def _is_newer(self, call: str | None, entry: Entry) -> bool:
        """Tell whether a dispatch is of a call proposed under this id since the last answer about the id: it is another call."""
        answered = self.ruling.last()[call].step
        before = len(proposals(self.history, answered - 1))
        since = proposals(self.history, entry["step"])[before:]
        return any(known.id == call and self._fits(entry, known.tool, known.args) for known in since)

    def _fits(self, entry: Entry, tool: str, args: Mapping[str, Any]) -> bool:
        return bool(entry["tool"] == tool) and same(entry["args"], received(self.history.scenario, tool, args))

    def _candidates(self, entry: Entry, step: int) -> list[str | None]:
        """Return the calls that a dispatch could belong to: the one it names, else those that fit best."""
        known = proposals(self.history, step)
        if entry.get("call") is not None:
            return [entry["call"]]
        granted = [token.call for token in self.ruling.tokens if self._fits(entry, token.tool, token.args)]
        proposed = [call.id for call in known if self._fits(entry, call.tool, call.args)]
        alike = [call.id for call in known if call.tool == entry["tool"]]
        if entry["tool"] not in self.gated:
            return list(dict.fromkeys([*granted, *proposed]))
        gated = [call.id for call in known if call.tool in self.gated]
        return list(dict.fromkeys([*granted, *proposed] or alike or gated))


def received(scenario: Mapping[str, Any], tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a tool's body receives for arguments: those and its defaults, unless the case says what becomes of them."""
    for data in scenario["subject"]["tools"]:
        if data["name"] == tool:
            said = [item["as"] for item in data.get("receives", []) if same(item["args"], args)]
            return said[0] if said else {**data.get("defaults", {}), **args}
    return args


def valid(part: Mapping[str, Any], listing: list[Item], waiting: int) -> list[tuple[Item, Mapping[str, Any]]]:
    """Return the decisions of a step that are answers, by what the reviewer was shown, each with what it answers.

    A question is answered as a whole: with one decision for each call in it, in the order shown, each of them offered and in
    shape, and each meant for the very call in whose place it is. Of several that are `waiting`, an answer says which it is for.
    """
    if "answers" in part:
        return list(_named(part, listing)) if part.get("by") == "id" or waiting == 1 else []
    decisions = part.get("decisions", [])
    questions = [list(group) for _, group in groupby(listing, key=lambda item: item.question)]
    return [pair for question in questions for pair in _pairs(question, decisions, part.get("by"), alone=len(questions) == 1)]


def _pairs(
    question: list[Item], decisions: list[Mapping[str, Any]], by: str | None, *, alone: bool
) -> list[tuple[Item, Mapping[str, Any]]]:
    """Return the decisions that answer a question, if it is addressed in the way in which it can be, and answered as a whole."""
    # By id, a decision goes to the question about its call; otherwise all of them go to the only question there is.
    calls = [item.call.id for item in question]
    given = [decision for decision in decisions if decision.get("call") in calls] if by == "id" else decisions
    one = question[0].alone
    addressed = by == "id" or (alone and (by == "value") == one)
    if not addressed or len(given) != len(question) or not all(map(_offered, given, question)):
        return []
    return [(item, decision) for item, decision in zip(question, given, strict=True) if decision.get("call") == item.call.id]


def _named(part: Mapping[str, Any], listing: list[Item]) -> Iterator[tuple[Item, Mapping[str, Any]]]:
    """Yield each answer to a question that the subject asks by itself, as the decision that the case says it is."""
    for answer in part["answers"]:
        for item in listing:
            if item.name == answer["question"] and fits(answer.get("value"), item.schema):
                yield item, _meant(answer)


def _meant(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    allowed = answer.get("authorises")
    if isinstance(allowed, Mapping):
        return {"type": "edit", "edited_action": {"name": allowed["tool"], "args": allowed["args"]}}
    return {"type": "approve" if allowed else "reject"}


_NEEDS = {"approve": (), "reject": (), "edit": ("edited_action",), "respond": ("message",)}


def _offered(decision: Mapping[str, Any], item: Item) -> bool:
    """Tell whether a decision is one that the reviewer was offered, with everything that it needs, in the shape shown."""
    if decision["type"] not in item.allowed or not all(key in decision for key in _NEEDS[decision["type"]]):
        return False
    return fits({key: decision[key] for key in decision if key != "call"}, item.schema)


def _identify(shown: Call, history: CaseHistory, step: int, taken: set[str | None]) -> str | None:
    """Return the call that was shown: the same tool and arguments, else the same tool, the latest turn first."""
    turns = [entry["reply"]["calls"] for entry in history.of("prompt") if entry["reply"] and entry["step"] <= step]
    calls = [call for turn in reversed(turns) for call in turn if call["id"] not in taken]
    exact = [call["id"] for call in calls if call["tool"] == shown.tool and same(call["args"], shown.args)]
    alike = [call["id"] for call in calls if call["tool"] == shown.tool]
    return next(iter([*exact, *alike]), None)


def _policy(scenario: Mapping[str, Any], tool: str) -> Iterator[str]:
    """Yield the decisions that the case's policy lets a person take about a tool; a policy of no known form lets none."""
    for policy in (policy for name, policy in plan.policies(scenario) if name == tool):
        allowed = policy.get("allowed_decisions") if isinstance(policy, Mapping) else None
        if policy is True:
            yield from ("approve", "edit", "reject", "respond")
        elif isinstance(allowed, list):
            yield from (name for name in allowed if isinstance(name, str))
