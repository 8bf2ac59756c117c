"""Results and checks for a person at a terminal. rich is imported only when something is shown."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from capture.document import Document
from capture.render import bisected, changes
from capture.render.cells import COLUMNS, faults, row, written
from capture.render.printable import printable

__all__ = ["accepted", "bisection", "checks", "diagnosis", "difference", "facts", "pairs", "results", "transitions"]

if TYPE_CHECKING:
    from rich.text import Text

_COLOURS = {"PASS": "green", "FAIL": "red", "UNKNOWN": "yellow"}

_STYLES = {
    "held": "green",
    "works": "green",
    "DIFFERS": "bold red",
    "DOES NOT WORK": "bold red",
    "not checked": "yellow",
    "is missing": "yellow",
}


def results(document: Document) -> None:
    """Show the results, a table for each pin, and each claim that did not hold."""
    for pin in document["pins"]:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in pin["counts"].items())
        _print([f"pin {pin['pin']}: {counts}"])
        for case in pin["cases"]:
            _case(row(case))
        _print(_faults(pin))


def checks(document: Document) -> None:
    """Show what was checked, a row each, then the results that it is about."""
    marks = {True: "held", False: "DIFFERS", None: "not checked"}
    rows = ((marks[check["held"]], f"{check['check']}: {check['detail']}") for check in document["checks"])
    _rows(
        _head(
            f"{document['command']}: everything that was checked held"
            if document["held"]
            else f"{document['command']}: not everything held"
        ),
        rows,
    )
    if document["results"]:
        results(document["results"])


def difference(document: Document) -> None:
    """Show what changed between two results, with the evidence side by side."""
    _compared(document)
    if document["accepted"]:
        accepted(document["accepted"])
    _print([changes.ANSWERS[document["answer"]]])


def _compared(document: Document) -> None:
    for pin in document["pins"]:
        before, after = changes.sides(pin)
        _rows(_head(f"{before} → {after}: {changes.counted(pin['counts'])}"), ((fact,) for fact in changes.facts(pin)))
        for case in changes.listed(pin):
            rows = [("", "before", "after"), *changes.evidence(case)]
            _rows(_head(f"{case['case']}: {changes.headline(case)}"), rows)
        for status, found in changes.in_short(pin):
            pairs(status, found)


def accepted(found: Iterable[Document]) -> None:
    """Show what became of the FAILs that are accepted, each with its reason."""
    rows = ((entry["stands"], f"{entry['case']}, {entry['claim']}{_at(entry)}: {entry['reason']}") for entry in found)
    _rows(_head("accepted FAILs"), rows)


def _at(entry: Document) -> str:
    return f" at {entry['pin']}" if entry["pin"] else ""


def transitions(document: Document) -> None:
    """Show since which pin each case and claim has which verdict, and what never changes."""
    _print(f"every case is UNKNOWN ({pin['silent']}) at {pin['pin']}" for pin in document["pins"] if pin["silent"])
    for case, rows in changes.grouped(document):
        pairs(case, rows)
    pairs("the same at every pin", changes.constant(document))


def bisection(document: Document) -> None:
    """Show where an answer changed: what was tried, both sides, and how to run the script with each."""
    _rows(_head(f"{document['case']}, {document['axis']['package']}"), bisected.rows(document))
    if document["difference"]:
        _compared(document["difference"])
    if helpers := bisected.helpers(document):
        _rows(_head("packages beside those that decide"), ((fact,) for fact in helpers))
    if commands := bisected.commands(document):
        _print(["script/script.py, in the folder of the run and with the locks of both sides, shows it:"])
        # A command is there to be copied: only the terminal itself may break its line.
        _print((f"  with {release}: {command}" for release, command in commands), whole=True)
    _print(bisected.sentences(document))


def pairs(head: str, rows: Iterable[tuple[str, str]]) -> None:
    """Show rows of two columns under a head."""
    _rows(_head(head), rows)


def diagnosis(document: Document) -> None:
    """Show what the doctor found, a row each, with what to do below what does not work."""
    rows = []
    for finding in document["findings"]:
        mark = "works" if finding["works"] else "DOES NOT WORK" if finding["needed"] else "is missing"
        rows.append((mark, "\n".join(filter(None, (f"{finding['thing']}: {finding['found']}", finding["advice"])))))
    _rows(_head("everything that is needed works" if document["well"] else "something that is needed does not work"), rows)


def facts(document: Document) -> None:
    """Show an explanation, a field a line."""
    rows = [("", document["says"]), *((fact["field"], _shown(fact["value"])) for fact in document["fields"])]
    _rows(_head(f"{document['explanation']} {document['id']}"), rows)


def _head(text: str) -> "Text":
    from rich.text import Text

    return Text(printable(text), style="bold")


def _shown(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(_shown(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(part)}" for key, part in value.items())
    return str(value)


def _faults(pin: Document) -> Iterable[str]:
    for case, claim, fault in faults(pin):
        yield f"{case}: {claim} does not hold at {fault['evidence']}:"
        yield f"    expected {written(fault['expected'])}"
        yield f"    observed {written(fault['observed'])}"


def _case(cells: Sequence[str]) -> None:
    from rich.text import Text

    name, verdict = cells[:2]
    head = Text.assemble((printable(name), "bold"), "  ", (printable(verdict), _COLOURS[verdict.partition(" ")[0]]))
    _rows(head, zip(COLUMNS[2:], cells[2:], strict=True))


def _rows(head: "Text", rows: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for cells in rows:
        table.add_row(*(Text(_lines(cell), overflow="fold", style=_STYLES.get(cell, "")) for cell in cells))
    console = Console()
    console.print(head)
    console.print(Padding(table, (0, 0, 1, 2)))


def _print(lines: Iterable[str], *, whole: bool = False) -> None:
    from rich.console import Console
    from rich.text import Text

    for text in lines:
        Console().print(Text(printable(text)), soft_wrap=whole)


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))
