"""Claims about the wire: what a receiver that really listens got of what was dispatched."""

from collections import Counter
from collections.abc import Iterable

from capture.authority import Ruling, same
from capture.claims.readings import by_ruling
from capture.claims.registry import Fault, Finding, claim, evidence, numbered
from capture.history import CaseHistory
from capture.reception import Reception, receptions

_OURS = "Chosen by this project: what a person allowed is what a receiver gets (docs/decisions/0022-outliving-the-process.md)."


@claim(
    "wire/as-dispatched",
    version=1,
    sentence="A receiver gets what a tool dispatched, with exactly its arguments, and nothing else.",
    promised=_OURS,
    vantages=("dispatch", "wire"),
)
def as_dispatched(history: CaseHistory) -> Finding:
    """Examine everything that was received."""

    def find(ruling: Ruling) -> Finding:
        found = receptions(history, ruling)
        strange = [(number, one) for number, one in enumerate(found, start=1) if one.call is None and not _ran(one, history)]
        return Finding(len(found), tuple(Fault(numbered("wire", number), None, _content(one)) for number, one in strange))

    return by_ruling(history, find)


@claim(
    "wire/received-once",
    version=1,
    sentence="A receiver gets a call that a person approved or edited once.",
    promised=_OURS,
    vantages=("prompt", "review", "dispatch", "wire"),
)
def received_once(history: CaseHistory) -> Finding:
    """Examine every call of a token that was received."""

    def find(ruling: Ruling) -> Finding:
        granted = [token.call for token in ruling.tokens]
        found = [one for one in receptions(history, ruling) if one.call in granted]
        return Finding(len({one.call for one in found}), tuple(_again(found)))

    return by_ruling(history, find)


@claim(
    "wire/nothing-refused",
    version=1,
    sentence="A receiver gets nothing of a call that a person rejected, or answered in the tool's place.",
    promised="langchain, HumanInTheLoopMiddleware: a rejected call is not executed; respond skips execution.",
    vantages=("prompt", "review", "wire"),
)
def nothing_refused(history: CaseHistory) -> Finding:
    """Examine every call whose last answer forbids it."""

    def find(ruling: Ruling) -> Finding:
        refused = ruling.refused()
        found = [one for one in receptions(history, ruling) if one.call in refused]
        faults = [Fault(evidence("wire", one.call, count), None, _content(one)) for count, one in enumerate(found, start=1)]
        return Finding(len(refused), tuple(faults))

    return by_ruling(history, find)


@claim(
    "wire/key-shared",
    version=1,
    sentence="What is received again for one call carries the key of the first, so the receiver can drop it.",
    promised="The idempotency key as web services use it: a request that is repeated has the key of the first.",
    vantages=("dispatch", "wire"),
)
def key_shared(history: CaseHistory) -> Finding:
    """Examine every call that was received more than once."""

    def find(ruling: Ruling) -> Finding:
        found = receptions(history, ruling)
        calls = [call for call, times in Counter(one.call for one in found).items() if times > 1]
        faults = [fault for call in calls for fault in _keys(call, [one for one in found if one.call == call])]
        return Finding(len(calls), tuple(faults))

    return by_ruling(history, find)


def _again(found: Iterable[Reception]) -> Iterable[Fault]:
    counts: Counter[str | None] = Counter()
    for one in found:
        counts[one.call] += 1
        if counts[one.call] > 1:
            yield Fault(evidence("wire", one.call, counts[one.call]), None, _content(one))


def _keys(call: str | None, found: list[Reception]) -> Iterable[Fault]:
    first = found[0].key
    for count, one in enumerate(found[1:], start=2):
        if first is None or one.key != first:
            yield Fault(evidence("wire", call, count), first, one.key)


def _ran(one: Reception, history: CaseHistory) -> bool:
    """Tell whether a dispatch has the content of what was received: it may be of no call, and was sent all the same."""
    ran = [entry for entry in history.of("dispatch", step=one.step) if entry["event"] == "dispatched"]
    return any(entry["tool"] == one.tool and same(entry["args"], one.args) for entry in ran)


def _content(one: Reception) -> object:
    return {"tool": one.tool, "args": one.args}
