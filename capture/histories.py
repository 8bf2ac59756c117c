"""The histories of several pins in one file, in which what pins have in common stands once.

First how much follows; then every line that the history of a case has at any pin; then each such history, as the numbers of
its lines; then each pin, as its environment and the numbers of its cases. The history file of every pin can be had from it,
byte for byte.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from capture import document, history
from capture.document import Document
from capture.errors import InputRefused
from capture.saved import SavedCase, SavedHistory

__all__ = ["FILE", "read", "write"]

Item = TypeVar("Item")

FILE = "histories.jsonl"
"""The name of the file in the folder of a run."""


def write(found: Iterable[SavedHistory]) -> bytes:
    """Return the bytes of the file."""
    lines: dict[bytes, int] = {}
    cases: dict[str, int] = {}
    shared: list[Document] = []
    pins: list[Document] = []
    for pin in found:
        for seen in (*pin.smoke, *pin.cases):
            if cases.setdefault(seen.digest, len(cases)) == len(shared):
                numbers = [lines.setdefault(line, len(lines)) for line in seen.lines.splitlines(keepends=True)]
                shared.append({"kind": "case", "lines": numbers})
        numbers = [cases[seen.digest] for seen in (*pin.smoke, *pin.cases)]
        pins.append({"kind": "pin", "environment": pin.environment, "cases": numbers})
    head = {"kind": "histories", "histories": 1, "lines": len(lines), "cases": len(cases), "pins": len(pins)}
    return b"".join([document.line(head), *lines, *(document.line(entry) for entry in (*shared, *pins))])


def read(data: bytes, where: str) -> Mapping[str, SavedHistory]:
    """Read the file; return what was seen at each pin, by its name. Refuse what is no such file, or not whole."""
    rest = iter(enumerate(data.splitlines(keepends=True), start=1))
    head = _parsed(next(rest, (1, b"")), "histories", where)
    lines = [line for _, line in islice(rest, head["lines"])]
    cases = [
        SavedCase.read(_bounded(_picked(lines, _parsed(entry, "case", where)["lines"], where), where), where)
        for entry in islice(rest, head["cases"])
    ]
    pins = [_of_pin(_parsed(entry, "pin", where), cases, where) for entry in islice(rest, head["pins"])]
    if len(pins) != head["pins"] or next(rest, None):
        raise InputRefused(f"{where}: it has other lines than its first one counts.", _RESTORE)
    found = {str(pin.environment["pin"]): pin for pin in pins}
    if len(found) != len(pins):
        raise InputRefused(f"{where}: a pin stands twice.", _RESTORE)
    return found


_LARGEST_CASE = 16 * 1024 * 1024

_RESTORE = "Restore the file from where you got it."


def _parsed(numbered: tuple[int, bytes], kind: str, where: str) -> Document:
    number, line = numbered
    found: Document = document.parse_json(line, f"{where}, line {number}")
    document.check(found, "histories", f"{where}, line {number}", kind)
    return found


def _picked(items: Sequence[Item], numbers: Iterable[int], where: str) -> list[Item]:
    try:
        return [items[number] for number in numbers]
    except IndexError:
        raise InputRefused(f"{where}: a number in it is that of nothing.", _RESTORE) from None


def _bounded(lines: list[bytes], where: str) -> list[bytes]:
    """Refuse lines that would take far more memory than the history of a case ever does: a few bytes can name a line again."""
    if sum(map(len, lines)) > _LARGEST_CASE:
        raise InputRefused(f"{where}: the history of a case is larger than {_LARGEST_CASE} bytes.", _RESTORE)
    return lines


def _of_pin(pin: Document, cases: Sequence[SavedCase], where: str) -> SavedHistory:
    environment = history.read_environment(pin["environment"], where)
    return SavedHistory.of_cases(environment, _picked(cases, pin["cases"], where))
