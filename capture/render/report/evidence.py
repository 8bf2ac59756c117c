"""The table of a case: what was done, what each vantage saw, and which claims hold, a column for each state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from capture.document import Document
from capture.render.cells import COLUMNS, row
from capture.render.report.rows import Row

__all__ = ["Cell", "Judged", "Line", "judged", "lines"]

_RANKS = {"FAIL": 0, "UNKNOWN": 1, "PASS": 2, "not applicable": 3}


@dataclass(frozen=True)
class Cell:
    """What holds for one state, or for several that stand beside each other: words, and for a claim its verdict."""

    words: str
    verdict: str | None
    states: int


@dataclass(frozen=True)
class Line:
    """What was seen, over the states."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Judged:
    """Claims that have the same verdicts in all states."""

    claims: tuple[str, ...]
    cells: tuple[Cell, ...]


def lines(found: Row) -> list[Line]:
    """Return what was seen in each state, from the newest to the oldest."""
    columns = [_seen(found.states[state]) for state in found.order]
    names = ("Steps", "Trigger", *COLUMNS[2:])
    return [Line(name, _joined([(words, None) for words in said])) for name, *said in zip(names, *columns, strict=True)]


def _seen(case: Document) -> tuple[str, ...]:
    steps = " → ".join(map(_step, case["observations"]["outcomes"])) or "no step was taken"
    happened = "happened" if case["trigger"]["happened"] else "did not happen"
    return steps, f"{case['trigger']['trigger']} {happened}", *row(case)[2:]


def _step(outcome: Document) -> str:
    branch = f" (branch {outcome['branch']})" if "branch" in outcome else ""
    return " ".join(filter(None, (outcome["do"] + branch, outcome["status"], outcome["error"])))


def judged(found: Row) -> list[Judged]:
    """Return the claims over the states, those that FAIL somewhere first and those that are never applicable last."""
    columns = [dict(_verdicts(found.states[state])) for state in found.order]
    names = dict.fromkeys(name for column in columns for name in column)
    groups: dict[tuple[tuple[str, str | None], ...], list[str]] = {}
    for name in names:
        groups.setdefault(tuple(column.get(name, ("", None)) for column in columns), []).append(name)
    ranked = sorted(groups, key=lambda said: sorted(_RANKS.get(verdict or "", 4) for _, verdict in said))
    return [Judged(tuple(groups[said]), _joined(said)) for said in ranked]


def _verdicts(case: Document) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Yield the verdict of each claim, with the reason if it is not that of the case."""
    for claim in case["claims"]:
        reason = claim["reason"] if claim["reason"] != case["reason"] else None
        yield claim["claim"], (reason or "", claim["verdict"])


def _joined(said: Sequence[tuple[str, str | None]]) -> tuple[Cell, ...]:
    return tuple(Cell(*words, len(list(group))) for words, group in groupby(said))
