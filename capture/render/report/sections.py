"""The sections of a report: what is said of one case, over all its states."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from capture.claims import CLAIMS
from capture.diff import diff
from capture.document import Document, line
from capture.render import changes, lanes
from capture.render.cells import COLUMNS, row, status
from capture.render.lanes import Panel
from capture.render.report.releases import Releases
from capture.render.report.rows import Row

__all__ = ["Claim", "Difference", "Picture", "Section", "State", "section"]

Sources = Mapping[tuple[str, str], Sequence[Document]]
"""The sources of each case, by its id and the digest of its scenario."""


@dataclass(frozen=True)
class Claim:
    """A claim in its own words, with who promised it, and its judgement in each state; None where it was not judged."""

    name: str
    sentence: str
    promised: str
    judged: tuple[Document | None, ...]


@dataclass(frozen=True)
class Difference:
    """What became of a case between two pins, what differs, side by side, and the names of what differs besides."""

    before: str
    after: str
    headline: str
    evidence: tuple[tuple[str, str, str], ...]
    also: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    """The calls of a case as drawings, for all states in which they are the same."""

    number: int
    states: tuple[int, ...]
    panels: tuple[Panel, ...]
    spans: str


@dataclass(frozen=True)
class State:
    """One distinct thing that results say of a case: where, with which verdict, and what was seen."""

    number: int
    verdict: str
    status: str
    spans: str
    pins: int
    steps: tuple[str, ...]
    trigger: str
    picture: int
    seen: tuple[tuple[str, str], ...]
    faults: tuple[tuple[str, str, str, str], ...]
    difference: Difference | None


@dataclass(frozen=True)
class Section:
    """Everything that is said of one case; states and pictures from the newest to the oldest."""

    row: Row
    question: str
    sources: tuple[Document, ...]
    states: tuple[State, ...]
    pictures: tuple[Picture, ...]
    claims: tuple[Claim, ...]


def section(found: Row, releases: Releases, sources: Sources) -> Section:
    """Return the section of a case; its sources are those of the shipped case, if that is the same scenario."""
    pictures = sorted(_pictures(found, releases), key=lambda picture: min(map(found.order.index, picture.states)))
    number = {state: picture.number for picture in pictures for state in picture.states}
    states = tuple(_state(found, place, number[place], releases) for place in found.order)
    question = found.states[found.order[0]]["question"]
    return Section(
        found, question, tuple(sources.get((found.case, found.digest), ())), states, tuple(pictures), tuple(_claims(found.states))
    )


# --- pictures


def _pictures(found: Row, releases: Releases) -> tuple[Picture, ...]:
    groups: dict[bytes, list[int]] = {}
    for number, state in enumerate(found.states):
        groups.setdefault(line(state["calls"]), []).append(number)
    before: Mapping[str, Document] | None = None
    pictures = []
    for number, states in enumerate(groups.values()):
        calls = found.states[states[0]]["calls"]
        pictures.append(Picture(number, tuple(states), _panels(calls, before), _spans(found, states, releases)))
        before = dict(lanes.numbered(calls))
    return tuple(pictures)


def _panels(calls: Sequence[Document], before: Mapping[str, Document] | None) -> tuple[Panel, ...]:
    """Draw calls; what the picture before did not have is marked, if there is one."""
    named = lanes.numbered(calls)
    return tuple(lanes.panel(call, name, () if before is None else lanes.differing(call, before.get(name))) for name, call in named)


def _spans(found: Row, states: Sequence[int], releases: Releases) -> str:
    """Return at which pins a case has one of these states."""
    spans: list[tuple[int, int]] = []
    for run in found.runs():
        if run.state not in states:
            continue
        joined = spans and spans[-1][1] == run.first - 1
        first = spans.pop()[0] if joined else run.first
        spans.append((first, run.last))
    return ", ".join(releases.span(*span) for span in spans)


# --- states


def _state(found: Row, number: int, picture: int, releases: Releases) -> State:
    case = found.states[number]
    return State(
        number=number,
        verdict=case["verdict"],
        status=status(case),
        spans=_spans(found, [number], releases),
        pins=found.at.count(number),
        steps=tuple(map(_step, case["observations"]["outcomes"])),
        trigger=f"{case['trigger']['trigger']} {'happened' if case['trigger']['happened'] else 'did not happen'}",
        picture=picture,
        seen=_seen(found, number),
        faults=tuple(_faults(case)),
        difference=_difference(found, number, releases),
    )


def _seen(found: Row, number: int) -> tuple[tuple[str, str], ...]:
    """Return what each vantage saw, or nothing where the state above this one says the same."""
    place = found.order.index(number)
    words, *above = [row(found.states[state])[2:] for state in (number, *found.order[max(place - 1, 0) : place])]
    return () if words in above else tuple(zip(COLUMNS[2:], words, strict=True))


def _step(outcome: Document) -> str:
    branch = f" (branch {outcome['branch']})" if "branch" in outcome else ""
    return " ".join(filter(None, (outcome["do"] + branch, outcome["status"], outcome["error"])))


def _faults(case: Document) -> Iterator[tuple[str, str, str, str]]:
    for claim in case["claims"]:
        for fault in claim["faults"]:
            yield claim["claim"], fault["evidence"], _value(fault["expected"]), _value(fault["observed"])


def _value(value: object) -> str:
    return "nothing" if value is None else line(value).decode("utf-8", "surrogatepass").strip()


def _difference(found: Row, number: int, releases: Releases) -> Difference | None:
    """Return what became of a case where a state begins, in the words of `diff`; the first has nothing before it."""
    place = found.at.index(number)
    before = found.at[place - 1] if place else None
    if before is None:
        return None
    sides = found.states[before], found.states[number]
    compared = diff(*(_alone(side) for side in sides))["pins"][0]["cases"][0]
    # What became of claims stands in the table of claims already.
    rows = tuple(pair for pair in changes.evidence({**compared, "claims": []}) if pair[1] != pair[2])
    also = [name.removeprefix("observations.") for name in compared["also"] if name != "words"]
    words = changes.headline(compared)
    if rows:
        return Difference(releases.short(place - 1), releases.short(place), words, rows, tuple(also))
    return Difference(releases.short(place - 1), releases.short(place), words, tuple(_observed(also, *sides)), ())


def _alone(case: Document) -> Document:
    """Return results that hold one case, to be compared."""
    return {"pins": [{"pin": "", "packages": {}, "files": {}, "cases": [case]}]}


def _observed(names: Sequence[str], before: Document, after: Document) -> Iterator[tuple[str, str, str]]:
    """Yield the other observations that differ, in the part in which they begin to."""
    for name in names:
        values = [_value(side["observations"].get(name, side.get(name))) for side in (before, after)]
        yield name, changes.window(*values), changes.window(*reversed(values))


# --- claims


def _claims(states: Sequence[Document]) -> Iterator[Claim]:
    judged = [{claim["claim"]: claim for claim in state["claims"]} for state in states]
    for name in dict.fromkeys(name for found in judged for name in found):
        known = CLAIMS.get(name)
        words = (known.sentence, known.promised) if known else ("A claim that this version does not know.", "not known here")
        yield Claim(name, *words, tuple(found.get(name) for found in judged))
