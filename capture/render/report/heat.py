"""The row of a case in the table of verdicts, with neighbours that are alike in one cell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from capture.render.report.releases import Column
from capture.render.report.rows import Row

__all__ = ["Cell", "heat"]


@dataclass(frozen=True)
class Cell:
    """The verdict of a case in one column or several; None: it is not there. `changed`: the evidence is another than before."""

    verdict: str | None
    changed: bool
    columns: int


def heat(found: Row, columns: Sequence[Column]) -> list[Cell]:
    """Return the cells of a case; one that is as the one before it is joined to it."""
    joined: list[Cell] = []
    for cell in _cells(found, columns):
        if joined and cell.verdict == joined[-1].verdict and not cell.changed:
            before = joined.pop()
            joined.append(Cell(before.verdict, before.changed, before.columns + 1))
        else:
            joined.append(cell)
    return joined


def _cells(found: Row, columns: Sequence[Column]) -> Iterator[Cell]:
    for column in columns:
        state = found.at[column.last]
        seen = set(found.at[max(column.first - 1, 0) : column.last + 1])
        verdict = None if state is None else found.states[state]["verdict"]
        yield Cell(verdict, column.first > 0 and len(seen) > 1, 1)
