"""Claims about the wire: what a sink, which really listens, got of what was dispatched."""

from collections.abc import Iterator, Sequence

from capture.authority import Class, Ruling, same
from capture.claims.readings import by_ruling
from capture.claims.registry import Fault, Finding, claim, counted, evidence, numbered
from capture.document import line
from capture.history import CaseHistory
from capture.reception import Reception, receptions

_OURS = "Chosen by this project: what a person allowed is what a sink gets (docs/decisions/0022-beyond-one-process.md)."


@claim(
    "wire/as-dispatched",
    version=1,
    sentence="A sink gets what a tool dispatched, with exactly its arguments, and nothing else.",
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


_ONCE = "A sink gets a call that a person approved or edited once."

_NOTHING = "A sink gets nothing of a call that a person rejected, or answered in the tool's place."

_NOT_RUN = "langchain, HumanInTheLoopMiddleware: a rejected call is not executed; respond skips execution."

_SAME_KEY = "What is received again for one call carries the key of the first, so that whoever gets it can drop it."

_KEYS = "The idempotency key as web services use it: a request that is repeated has the key of the first."

_ALL = ("prompt", "review", "dispatch", "wire")


@claim("wire/received-once", version=1, sentence=_ONCE, promised=_OURS, vantages=_ALL)
def received_once_1(history: CaseHistory) -> Finding:
    """Examine every call of a token that was received, by its id alone."""

    def find(ruling: Ruling) -> Finding:
        granted = [token.call for token in ruling.tokens]
        found = [one for one in receptions(history, ruling) if one.call in granted]
        first = {evidence("wire", one.call) for one in found}
        again = [Fault(name, None, _content(one)) for name, one in _named(found) if name not in first]
        return Finding(len(first), tuple(again))

    return by_ruling(history, find)


@claim("wire/received-once", version=2, sentence=_ONCE, promised=_OURS, vantages=_ALL)
def received_once(history: CaseHistory) -> Finding:
    """Examine everything that was received of a dispatch that spent a token, or that came after one that had."""

    def find(ruling: Ruling) -> Finding:
        found = [one for one in receptions(history, ruling) if _is(one, Class.AUTHORISED, Class.REPEATED)]
        again = [Fault(name, None, _content(one)) for name, one in _named(found) if _is(one, Class.REPEATED)]
        return Finding(len(found), tuple(again))

    return by_ruling(history, find)


@claim("wire/nothing-refused", version=1, sentence=_NOTHING, promised=_NOT_RUN, vantages=("prompt", "review", "wire"))
def nothing_refused_1(history: CaseHistory) -> Finding:
    """Examine every call whose last answer forbids it, whenever it was received."""

    def find(ruling: Ruling) -> Finding:
        refused = ruling.refused()
        found = [one for one in receptions(history, ruling) if one.call in refused]
        return Finding(len(refused), tuple(Fault(name, None, _content(one)) for name, one in _named(found)))

    return by_ruling(history, find)


@claim("wire/nothing-refused", version=2, sentence=_NOTHING, promised=_NOT_RUN, vantages=("prompt", "review", "dispatch", "wire"))
def nothing_refused(history: CaseHistory) -> Finding:
    """Examine every call whose last answer forbids it: what was received of it before that answer was sent with leave."""

    def find(ruling: Ruling) -> Finding:
        found = [one for one in receptions(history, ruling) if _is(one, Class.REFUSED)]
        return Finding(len(ruling.refused()), tuple(Fault(name, None, _content(one)) for name, one in _named(found)))

    return by_ruling(history, find)


@claim("wire/key-shared", version=1, sentence=_SAME_KEY, promised=_KEYS, vantages=("dispatch", "wire"))
def key_shared_1(history: CaseHistory) -> Finding:
    """Examine every id of a call that was received more than once."""

    def find(ruling: Ruling) -> Finding:
        found = receptions(history, ruling)
        calls = dict.fromkeys(one.call for one in found)
        several = [same_call for call in calls if len(same_call := [one for one in found if one.call == call]) > 1]
        return Finding(len(several), tuple(fault for group in several for fault in _unlike(group)))

    return by_ruling(history, find)


@claim("wire/key-shared", version=2, sentence=_SAME_KEY, promised=_KEYS, vantages=("dispatch", "wire"))
def key_shared(history: CaseHistory) -> Finding:
    """Examine every call that was received again without an approval of its own: the same call, with the same content."""

    def find(ruling: Ruling) -> Finding:
        groups: dict[bytes, list[Reception]] = {}
        for one in receptions(history, ruling):
            if one.call is not None and (not _is(one, Class.AUTHORISED) or _key(one) not in groups):
                groups.setdefault(_key(one), []).append(one)
        several = [group for group in groups.values() if len(group) > 1]
        return Finding(len(several), tuple(fault for group in several for fault in _unlike(group)))

    return by_ruling(history, find)


def _is(one: Reception, *kinds: Class) -> bool:
    return one.ruled is not None and one.ruled.kind in kinds


def _key(one: Reception) -> bytes:
    return line([one.call, _content(one)])


def _named(found: Sequence[Reception]) -> Iterator[tuple[str, Reception]]:
    return zip(counted("wire", (one.call for one in found)), found, strict=True)


def _unlike(found: Sequence[Reception]) -> Iterator[Fault]:
    """Yield what came again for a call without the key of the first."""
    first = found[0].key
    yield from (Fault(name, first, one.key) for name, one in list(_named(found))[1:] if first is None or one.key != first)


def _ran(one: Reception, history: CaseHistory) -> bool:
    """Tell whether a dispatch has the content of what was received: it may be of no call, and was sent all the same."""
    ran = [entry for entry in history.of("dispatch", step=one.step) if entry["event"] == "dispatched"]
    return any(entry["tool"] == one.tool and same(entry["args"], one.args) for entry in ran)


def _content(one: Reception) -> object:
    return {"tool": one.tool, "args": one.args}
