"""The rows of a report: each case with its distinct states, and which of them it has at each pin."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from capture import document
from capture.document import Document

__all__ = ["Row", "Run", "rows"]

_SHORT = 8

_LONGEST = 200


@dataclass(frozen=True)
class Run:
    """Pins one after the other, from `first` to `last` by their places, at which a case has one state; None: it is not there."""

    state: int | None
    first: int
    last: int


@dataclass(frozen=True)
class Row:
    """A case in one form of its scenario: what results say of it, once for each distinct state, and the state at each pin."""

    key: str
    case: str
    digest: str
    states: tuple[Document, ...]
    at: tuple[int | None, ...]

    @property
    def family(self) -> str:
        """The folder of the case."""
        return self.case.partition("/")[0]

    @property
    def order(self) -> list[int]:
        """The states, from the one that was seen last to the one that went first."""
        last = {state: place for place, state in enumerate(self.at)}
        return sorted(range(len(self.states)), key=lambda state: -last[state])

    def runs(self) -> Iterator[Run]:
        """Yield the runs of equal states, in the order of the pins."""
        for state, group in groupby(enumerate(self.at), key=lambda pair: pair[1]):
            places = [place for place, _ in group]
            yield Run(state, places[0], places[-1])


def rows(results: Document) -> list[Row]:
    """Return the rows of a results document, in the order of the cases; a case of which there are two forms is two rows."""
    pins = results["pins"]
    digests = _digests(pins)
    forms = sorted({(case["case"], case["digest"]) for pin in pins for case in pin["cases"]})
    at = {form: [None] * len(pins) for form in forms}
    for place, pin in enumerate(pins):
        for case in pin["cases"]:
            at[case["case"], case["digest"]][place] = case
    return [_row(key, *form, at[form], digests) for key, form in zip(_keys(forms), forms, strict=True)]


def _digests(pins: Sequence[Document]) -> dict[int, str]:
    """Return the digest of what each pin says of each case, by the identity of the object: one that pins share is read once."""
    cases = {id(case): case for pin in pins for case in pin["cases"]}
    return {name: document.digest(document.canonical(case)) for name, case in cases.items()}


def _row(key: str, name: str, digest: str, at: Sequence[Document | None], digests: dict[int, str]) -> Row:
    states: dict[str, Document] = {}
    for case in at:
        if case is not None:
            states.setdefault(digests[id(case)], case)
    numbers = {known: number for number, known in enumerate(states)}
    places = (None if case is None else numbers[digests[id(case)]] for case in at)
    return Row(key, name, digest, tuple(states.values()), tuple(places))


def _keys(forms: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a name for each form of a case: its id, with as much of the digest as it takes if there are several forms.

    An id without end is cut: it stands in links and attributes.
    """
    ids = Counter(name for name, _ in forms)
    short = Counter((name, digest[:_SHORT]) for name, digest in forms)
    for name, digest in forms:
        known = digest[:_SHORT] if short[name, digest[:_SHORT]] == 1 else digest
        short_name = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}~{document.digest(name.encode())}"
        yield short_name if ids[name] == 1 else f"{short_name}~{known}"
