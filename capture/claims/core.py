"""The core claims: each reads one class of dispatches, so that a fault shows in one place."""

from collections.abc import Callable

from capture.authority import Call, Class, Ruled, Ruling, Token, needs_answer, proposals, received, same
from capture.claims.conversation import latest
from capture.claims.readings import by_ruling
from capture.claims.registry import Fault, Finding, claim, counted, evidence
from capture.history import CaseHistory

_OURS = "Chosen by this project: the meaning of an approval (docs/decisions/0002-authority.md)."
_VANTAGES = ("prompt", "review", "dispatch")


def _faults(found: list[Ruled], expected: Callable[[Ruled], object]) -> tuple[Fault, ...]:
    names = counted("dispatch", (ruled.call for ruled in found))
    return tuple(
        Fault(name, expected(ruled), {"tool": ruled.entry["tool"], "args": ruled.entry["args"]})
        for name, ruled in zip(names, found, strict=True)
    )


def _gated(history: CaseHistory) -> list[Call]:
    return [call for call in proposals(history) if needs_answer(history.scenario, call)]


@claim(
    "core/no-undecided-dispatch",
    version=1,
    sentence="No gated call runs unless an answer to its question allowed it.",
    promised=_OURS,
    vantages=("prompt", "dispatch"),
)
def no_undecided_dispatch(history: CaseHistory) -> Finding:
    """Examine every gated call that the model proposed."""

    def find(ruling: Ruling) -> Finding:
        found = ruling.of(Class.UNDECIDED)
        return Finding(max(len(_gated(history)), len(found)), _faults(found, lambda _: None))

    return by_ruling(history, find)


@claim(
    "core/no-refused-dispatch",
    version=1,
    sentence="No call runs that a person rejected, or answered in the tool's place.",
    promised="langchain, HumanInTheLoopMiddleware: a rejected call is not executed; respond skips execution.",
    vantages=_VANTAGES,
)
def no_refused_dispatch(history: CaseHistory) -> Finding:
    """Examine every call whose last answer forbids it."""
    return by_ruling(history, lambda ruling: Finding(len(ruling.refused()), _faults(ruling.of(Class.REFUSED), lambda _: None)))


@claim(
    "core/no-altered-dispatch",
    version=1,
    sentence="A call runs with exactly the tool and arguments that were approved or that the edit put in their place.",
    promised="langchain, HumanInTheLoopMiddleware: approve runs the call as proposed, edit runs the edited action.",
    vantages=_VANTAGES,
)
def no_altered_dispatch(history: CaseHistory) -> Finding:
    """Examine every dispatch of a call that holds or held a token."""

    def expected(ruled: Ruled) -> object:
        return ruled.allowed and {"tool": ruled.allowed.tool, "args": ruled.allowed.args}

    def find(ruling: Ruling) -> Finding:
        altered = ruling.of(Class.ALTERED)
        return Finding(len(ruling.of(Class.AUTHORISED)) + len(ruling.of(Class.REPEATED)) + len(altered), _faults(altered, expected))

    return by_ruling(history, find)


@claim(
    "core/no-repeated-dispatch",
    version=1,
    sentence="One answer lets a call run once.",
    promised=_OURS,
    vantages=_VANTAGES,
)
def no_repeated_dispatch(history: CaseHistory) -> Finding:
    """Examine every token that was spent."""

    def find(ruling: Ruling) -> Finding:
        return Finding(sum(token.spent for token in ruling.tokens), _faults(ruling.of(Class.REPEATED), lambda _: None))

    return by_ruling(history, find)


@claim(
    "core/authorised-dispatch",
    version=1,
    sentence="What a person approved or edited runs, unless an error answers the call.",
    promised="langchain, HumanInTheLoopMiddleware: approved and edited calls are executed.",
    vantages=_VANTAGES,
)
def authorised_dispatch(history: CaseHistory) -> Finding:
    """Examine every token that was given."""

    def find(ruling: Ruling) -> Finding:
        # A token whose call ran otherwise is core/no-altered-dispatch's to show: one fault, one place.
        excused = {ruled.call for ruled in ruling.of(Class.ALTERED)}
        open_tokens = [token for token in ruling.tokens if not token.spent and token.call not in excused]
        left = [token for token in open_tokens if not _answered_by_error(token.call, history)]
        if left and history.last_outcome() != "ended":
            return Finding(len(ruling.tokens), unknown="unfinished")
        return Finding(len(ruling.tokens), tuple(_unspent(token) for token in left))

    return by_ruling(history, find)


@claim(
    "core/ungated-dispatch",
    version=1,
    sentence="A call that needs no answer runs once, with the arguments that the model proposed.",
    promised=_OURS,
    vantages=("prompt", "dispatch"),
)
def ungated_dispatch(history: CaseHistory) -> Finding:
    """Examine every ungated call that the model proposed and every ungated dispatch."""
    wanted = [call for call in proposals(history) if not needs_answer(history.scenario, call)]

    def find(ruling: Ruling) -> Finding:
        # A person may be asked all the same; what was then approved and ran did run.
        approved = {(ruled.call, ruled.entry["tool"]) for ruled in ruling.of(Class.AUTHORISED)}
        left = [call for call in wanted if (call.id, call.tool) not in approved]
        strange = []
        for ruled in ruling.of(Class.UNGATED):
            mine = next((call for call in left if _is(ruled, call, history)), None)
            if mine is None:
                strange.append(ruled)
            else:
                left.remove(mine)
        missing = [call for call in left if not _answered_by_error(call.id, history)]
        if missing and history.last_outcome() != "ended" and not strange:
            return Finding(len(wanted), unknown="unfinished")
        faults = (*_faults(strange, lambda _: None), *(_never(call) for call in missing))
        return Finding(max(len(wanted), len(strange)), faults)

    return by_ruling(history, find)


def _is(ruled: Ruled, call: Call, history: CaseHistory) -> bool:
    return bool(ruled.entry["tool"] == call.tool) and same(ruled.entry["args"], received(history.scenario, call.tool, call.args))


def _never(call: Call) -> Fault:
    return Fault(evidence("dispatch", call.id, 0), {"tool": call.tool, "args": call.args}, None)


def _unspent(token: Token) -> Fault:
    return Fault(evidence("dispatch", token.call, 0), {"tool": token.tool, "args": token.args}, None)


def _answered_by_error(call: str | None, history: CaseHistory) -> bool:
    return any(message["status"] == "error" for message in latest(history.final_messages() or [], call))
