"""Results as Markdown, for a README, a record's page or a summary in CI."""

import re
from collections.abc import Iterable, Iterator, Sequence

from capture.document import Document, line
from capture.render.cells import COLUMNS, faults, row
from capture.render.printable import code, printable

__all__ = ["checks", "results", "table", "text"]

_SPECIAL = "\\`*_{}[]<>#|~"

_QUOTED = re.compile(r"“(.*)”", re.DOTALL)


def text(value: str) -> str:
    """Return text with everything that Markdown or HTML would take for markup escaped; what is quoted in it becomes code.

    What a framework or a case said is quoted, and in code no address becomes a link and no name a mention.
    """
    quoted = _QUOTED.search(value)
    if quoted:
        return f"{_escaped(value[: quoted.start()])}{code(quoted[1])}{_escaped(value[quoted.end() :])}"
    return _escaped(value)


def _escaped(value: str) -> str:
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in printable(value)).replace("&", "&amp;")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already; a pipe that is not escaped yet would end its cell, even in code."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_PIPE.sub(_ESCAPED_PIPE, cell) for cell in cells)} |" for cells in lines) + "\n"


_PIPE, _ESCAPED_PIPE = re.compile(r"(?<!\\)\|"), r"\\|"


def results(document: Document) -> str:
    """Return the results, a table for each pin and what did not hold below it."""
    return "\n".join(part for pin in document["pins"] for part in _pin(pin))


def checks(document: Document) -> str:
    """Return what was checked, a row each, and the results that it is about."""
    marks = {True: "held", False: "**differs**", None: "not checked"}
    rows = ([text(check["check"]), marks[check["held"]], text(check["detail"])] for check in document["checks"])
    shown = table(("Check", "", "Detail"), rows)
    return f"{shown}\n{results(document['results'])}" if document["results"] else shown


def _pin(pin: Document) -> Iterator[str]:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in pin["counts"].items())
    yield f"### Pin {code(pin['pin'])}: {counts}\n"
    yield table(COLUMNS, ([code(cells[0]), *(text(cell) for cell in cells[1:])] for cells in map(row, pin["cases"])))
    yield from _faults(pin)


def _faults(pin: Document) -> Iterator[str]:
    lines = [
        f"- {code(case)}, {code(claim)} at {code(fault['evidence'])}: "
        f"expected {_value(fault['expected'])}, observed {_value(fault['observed'])}"
        for case, claim, fault in faults(pin)
    ]
    if lines:
        yield "What did not hold:\n\n" + "\n".join(lines) + "\n"


def _value(value: object) -> str:
    return "nothing" if value is None else code(line(value).decode().strip())
