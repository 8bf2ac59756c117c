"""Claims about what the reviewer was shown."""

from collections.abc import Iterator
from typing import Any

from capture.authority import Call, Class, Item, Ruled, Ruling, needs_answer, proposals, same, shown
from capture.claims.readings import by_ruling
from capture.claims.registry import Fault, Finding, claim, evidence
from capture.history import CaseHistory


@claim(
    "review/proposal-shown",
    version=1,
    sentence="A step that returns has shown the reviewer every gated call that the model proposed in it, once and as proposed.",
    promised="langchain, HumanInTheLoopMiddleware: the request lists every call that needs approval with its name and arguments.",
    vantages=("prompt", "review"),
)
def proposal_shown(history: CaseHistory) -> Finding:
    """Examine every gated call proposed in a step that returned, and every call that a reviewer was shown."""
    returned = [number for number, _ in history.steps() if history.outcome(number) in ("paused", "ended")]
    listings = {number: shown(history, number) for number in returned}
    if any(listing is None for listing in listings.values()):
        return Finding(len(proposals(history)), unknown="unobservable")
    examined, faults = 0, []
    for number, listing in listings.items():
        wanted = _gated(history, number)
        examined += max(len(wanted), len(listing or []))
        faults += [*_unshown(wanted, listing or []), *_untrue(history, number, listing or [])]
    return Finding(examined, tuple(faults))


@claim(
    "review/shown-first",
    version=1,
    sentence="A gated call that ran was shown to a reviewer, with all its arguments as the model proposed them, in a step before.",
    promised="langchain, HumanInTheLoopMiddleware: the run pauses before the tool runs, and the request shows the call.",
    vantages=("prompt", "review", "dispatch"),
)
def shown_first(history: CaseHistory) -> Finding:
    """Examine every dispatch that belongs to a gated call."""
    calls = [call for call in proposals(history) if needs_answer(history.scenario, call)]
    gated = {call.id for call in calls}

    def find(ruling: Ruling) -> Finding:
        ran = [ruled for ruled in ruling.dispatches if ruled.call in gated or ruled.kind is Class.UNDECIDED]
        hidden = [ruled for ruled in ran if not _was_shown(history, ruled, calls)]
        return Finding(len(ran), tuple(Fault(evidence("review", ruled.call), "shown before it ran", None) for ruled in hidden))

    return by_ruling(history, find)


def _was_shown(history: CaseHistory, ruled: Ruled, calls: list[Call]) -> bool:
    own = [call for call in calls if call.id == ruled.call]
    steps = [number for number, _ in history.steps() if number < ruled.entry["step"]]
    items = [item.call for number in steps for item in shown(history, number) or []]
    return any(item.id == call.id and item.tool == call.tool and same(item.args, call.args) for item in items for call in own)


def _gated(history: CaseHistory, step: int) -> list[Call]:
    """Return the gated calls that the model proposed in a step."""
    before = len(proposals(history, step - 1))
    return [call for call in proposals(history, step)[before:] if needs_answer(history.scenario, call)]


def _unshown(wanted: list[Call], listing: list[Item]) -> Iterator[Fault]:
    for call in wanted:
        count = sum(_is_same(item.call, call) for item in listing)
        times = sum(_is_same(other, call) for other in wanted)
        if count != times:
            yield Fault(evidence("review", call.id, count), {"times": times, **_action(call)}, {"times": count})


def _is_same(one: Call, other: Call) -> bool:
    """Tell whether two calls are one: by id, or those without by what they are."""
    return one.id == other.id and (one.id is not None or same(_action(one), _action(other)))


def _untrue(history: CaseHistory, step: int, listing: list[Item]) -> Iterator[Fault]:
    """Yield a fault for each call shown that is not as the model proposed it last: an older call may be shown again."""
    proposed = proposals(history, step)
    for item in listing:
        own = [call for call in proposed if _is_same(call, item.call)]
        if not own or not same(_action(own[-1]), _action(item.call)):
            yield Fault(evidence("review", item.call.id), _action(own[-1]) if own else None, _action(item.call))


def _action(call: Call) -> dict[str, Any]:
    return {"tool": call.tool, "args": call.args}
