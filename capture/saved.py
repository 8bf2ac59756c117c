"""A history as the bytes that are saved of it: kept, shared between pins, and judged.

Releases that do the same leave the same bytes: in the lines of a case nothing says at which pin they were seen.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from capture import document, history
from capture.history import CaseHistory, Entry, History

__all__ = ["SavedCase", "SavedHistory"]


@dataclass(frozen=True, eq=False)
class SavedCase:
    """The history of one case: its id, the SHA-256 of its scenario, whether it is the smoke test's, and its lines."""

    case: str
    scenario: str
    smoke: bool
    lines: bytes

    @classmethod
    def read(cls, lines: Sequence[bytes], where: str) -> Self:
        """Return the history of a case, whose first line names it; the other lines are read when it is judged."""
        head = document.parse_json(lines[0], where)
        document.check(head, "history", where, "case")
        return cls(head["case"], head["digest"], head["smoke"], b"".join(lines))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the lines."""
        return document.digest(self.lines)

    @property
    def spoiled(self) -> bool:
        """Whether the machine kept it from being whole: a time-out, or a probe that failed."""
        suspects = [line for line in self.lines.splitlines() if b'"fault"' in line]
        return any(document.parse_json(line, self.case)["kind"] == "fault" for line in suspects)

    def history(self) -> CaseHistory:
        """Read the lines, as anybody else would who was given them."""
        return history.read_case(self.lines, f"the history of {self.case}")


@dataclass(frozen=True, eq=False)
class SavedHistory:
    """The history of a pin: its environment from inside, the smoke test, the cases; and what the probe said beyond them."""

    environment: Entry
    smoke: tuple[SavedCase, ...]
    cases: tuple[SavedCase, ...]
    machine: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, found: History, machine: Mapping[str, Any]) -> Self:
        """Return what is saved of a history that was just made."""
        cases = [SavedCase(case.case, case.digest, case.smoke, history.body(case)) for case in (*found.smoke, *found.cases)]
        return replace(cls.of_cases(found.environment, cases), machine=machine)

    @classmethod
    def read(cls, data: bytes, where: str) -> Self:
        """Read the history file of a pin; it is refused if it is not whole."""
        found = history.read(data, where)
        cases = [SavedCase.read(lines, where) for lines in _cases(data.splitlines(keepends=True)[1:-1])]
        return cls.of_cases(found.environment, cases)

    @classmethod
    def of_cases(cls, environment: Entry, cases: Sequence[SavedCase]) -> Self:
        """Return the history of a pin from all cases there, those of the smoke test among them."""
        return cls(environment, tuple(case for case in cases if case.smoke), tuple(case for case in cases if not case.smoke))

    def data(self) -> bytes:
        """Return the bytes of the pin's history file."""
        return history.whole(self.environment, [case.lines for case in (*self.smoke, *self.cases)])

    def shared(self, known: dict[str, SavedCase]) -> Self:
        """Return it with what is `known` already, by its SHA-256, in the place of the same again."""
        smoke, cases = (tuple(known.setdefault(case.digest, case) for case in part) for part in (self.smoke, self.cases))
        return replace(self, smoke=smoke, cases=cases)


def _cases(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines of each case: the last of them is its `end`."""
    case: list[bytes] = []
    for line in lines:
        case.append(line)
        if b'"end"' in line and document.parse_json(line, "history")["kind"] == "end":
            yield case
            case = []
