"""Which release changed what: the runs of `transitions`, told by the pins at which they begin."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from capture.document import Document
from capture.render.cells import status

__all__ = ["Change", "Turn", "changes_by_pin"]


@dataclass(frozen=True)
class Turn:
    """Cases that went from one verdict to another at one pin."""

    before: str
    after: str
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """What changed at a pin: cases, those of which only claims changed, and the claims that began or ceased to FAIL."""

    pin: str
    turns: tuple[Turn, ...]
    beside: tuple[str, ...]
    broken: tuple[tuple[str, int], ...]
    mended: tuple[tuple[str, int], ...]

    @property
    def cases(self) -> int:
        """How many cases changed, in their verdict or in that of a claim."""
        return len(self.beside) + sum(len(turn.cases) for turn in self.turns)


@dataclass(frozen=True)
class _Step:
    """One row of transitions at the pin at which it changed."""

    pin: str
    case: str
    claim: str | None
    before: Document
    after: Document


def changes_by_pin(transitions: Document, keys: Mapping[tuple[str, str], str]) -> list[Change]:
    """Return what changed at each pin, in the order of the pins; `keys` names each case with its digest as the report does."""
    order = {pin["pin"]: place for place, pin in enumerate(transitions["pins"])}
    silent = {pin["pin"] for pin in transitions["pins"] if pin["silent"]}
    steps = [
        _Step(after["first"], keys[row["case"], row["digest"]], row["claim"], before, after)
        for row in transitions["changes"]
        for before, after in pairwise(_heard(row["runs"], silent))
    ]
    steps.sort(key=lambda step: order[step.pin])
    return [_change(pin, list(group)) for pin, group in groupby(steps, key=lambda step: step.pin)]


def _heard(runs: Sequence[Document], silent: set[str]) -> Iterator[Document]:
    """Yield the runs without pins that answer nothing; what is the same before and after those is one run."""
    last = None
    for run in runs:
        said = (run["verdict"], run["reason"])
        if said != last and not (run["first"] in silent and run["last"] in silent):
            yield run
            last = said


def _change(pin: str, steps: Sequence[_Step]) -> Change:
    turned: dict[tuple[str, str], list[str]] = {}
    for step in steps:
        if step.claim is None:
            turned.setdefault((_words(step.before), _words(step.after)), []).append(step.case)
    cases = {case for found in turned.values() for case in found}
    turns = sorted(turned.items(), key=lambda item: (-len(item[1]), item[0]))
    beside = sorted({step.case for step in steps} - cases)
    return Change(pin, tuple(Turn(*words, tuple(found)) for words, found in turns), tuple(beside), *_fails(steps))


def _fails(steps: Sequence[_Step]) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
    """Return the claims that FAIL from here on, and those that no longer do, each with the number of cases."""
    judged = [step for step in steps if step.claim]
    begun = Counter(step.claim for step in judged if step.after["verdict"] == "FAIL")
    ended = Counter(step.claim for step in judged if step.before["verdict"] == "FAIL")
    return _ranked(begun), _ranked(ended)


def _ranked(counted: Counter[str | None]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(((str(claim), count) for claim, count in counted.items()), key=lambda pair: (-pair[1], pair[0])))


def _words(run: Document) -> str:
    return status(run) if run["verdict"] else "not there"
