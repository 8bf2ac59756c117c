"""The compact form of results over several pins: what pins have in common stands once.

Releases that follow each other mostly do the same. So each case has its states, each with the pins at which it was seen, and
equal lists of claims, calls and observations stand in tables that states refer to by number. In memory results have one form
only, that of one pin: what is unpacked is the same objects at every pin that shares them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from capture import document
from capture.document import Document
from capture.errors import InputRefused

__all__ = ["VERSION", "pack", "unpack"]

VERSION = 2
"""What the compact form says of itself in the key `results`."""

_MOST_ROWS = 500_000
"""How many cases of all pins are read: some thirty times as many as there are, and no more than memory can hold."""

_SCENARIO = ("case", "digest", "question")
"""What all states of a case have in common."""


def pack(found: Document) -> Document:
    """Return the compact form of results."""
    values = _Values()
    places: dict[tuple[str, ...], dict[bytes, list[int]]] = {}
    rows: dict[bytes, Document] = {}
    for place, pin in enumerate(found["pins"]):
        for case in pin["cases"]:
            key = values.key(case)
            rows[key] = case
            places.setdefault((case["case"], case["digest"], case["question"]), {}).setdefault(key, []).append(place)
    names = [pin["pin"] for pin in found["pins"]]
    return {
        "results": VERSION,
        "record": found["record"],
        "counts": found["counts"],
        "pins": [{key: value for key, value in pin.items() if key != "cases"} for pin in found["pins"]],
        "cases": [
            {
                **dict(zip(_SCENARIO, scenario, strict=True)),
                "states": [{"at": _spans(at, names), **_state(rows[key], values)} for key, at in states.items()],
            }
            for scenario, states in sorted(places.items())
        ],
        "values": values.tables,
    }


def unpack(packed: Document, where: str) -> Document:
    """Return results from their compact form; refuse a number, a pin or a state that cannot be meant."""
    names = {pin["pin"]: place for place, pin in enumerate(packed["pins"])}
    if len(names) != len(packed["pins"]):
        raise InputRefused(f"{where}: key pins: one of them stands twice.", _RESTORE)
    inside: list[list[Document]] = [[] for _ in packed["pins"]]
    if len(names) * len(packed["cases"]) > _MOST_ROWS:
        raise InputRefused(f"{where}: more than {_MOST_ROWS} pins times cases.", "Compare fewer at a time.")
    for case in packed["cases"]:
        place = f"{where}: case {case['case']}"
        seen: set[int] = set()
        for number, state in enumerate(case["states"]):
            row = _row(case, state, _value(packed["values"], f"{place}, state {number}"))
            for pin in _pins(state["at"], names, f"{place}, state {number}"):
                if pin in seen:
                    raise InputRefused(f"{place}: two states at pin {packed['pins'][pin]['pin']}.", _RESTORE)
                seen.add(pin)
                inside[pin].append(row)
    pins = [{**pin, "cases": cases} for pin, cases in zip(packed["pins"], inside, strict=True)]
    return {"results": 1, "record": packed["record"], "counts": packed["counts"], "pins": pins}


_RESTORE = "Restore the file from where you got it."


class _Values:
    """The tables of values that stand once, each value at the number at which it was first seen."""

    def __init__(self) -> None:
        self.tables: dict[str, list[Any]] = {}
        self._numbers: dict[tuple[str, bytes], int] = {}
        self._keys: dict[int, bytes] = {}

    def key(self, row: Document) -> bytes:
        """Return the bytes of a row, which are made once for a row that many pins share."""
        return self._keys.get(id(row)) or self._keys.setdefault(id(row), document.line(row))

    def number(self, table: str, value: Any) -> int:
        """Return the number of a value in its table."""
        rows = self.tables.setdefault(table, [])
        number = self._numbers.setdefault((table, document.line(value)), len(rows))
        if number == len(rows):
            rows.append(value)
        return number


def _state(row: Document, values: _Values) -> Mapping[str, Any]:
    kept = {key: value for key, value in row.items() if key not in (*_SCENARIO, "claims", "calls", "observations")}
    return {
        **kept,
        "claims": values.number("claims", [values.number("claim", claim) for claim in row["claims"]]),
        "calls": values.number("calls", row["calls"]),
        "observations": {key: values.number(key, seen) for key, seen in row["observations"].items()},
    }


def _row(case: Document, state: Document, value: Callable[[str, int], Any]) -> Document:
    kept = {key: part for key, part in state.items() if key not in ("at", "claims", "calls", "observations")}
    return {
        **{key: case[key] for key in _SCENARIO},
        **kept,
        "claims": [value("claim", number) for number in value("claims", state["claims"])],
        "calls": value("calls", state["calls"]),
        "observations": {key: value(key, number) for key, number in state["observations"].items()},
    }


def _value(values: Mapping[str, Sequence[Any]], where: str) -> Callable[[str, int], Any]:
    """Return the function that gives the value of a table at a number, or refuses it."""

    def value(table: str, number: int) -> Any:
        rows = values.get(table, ())
        if number >= len(rows):
            raise InputRefused(f"{where}: {table} {number} is not among the values.", _RESTORE)
        return rows[number]

    return value


def _spans(places: Iterable[int], names: Sequence[str]) -> list[list[str]]:
    """Return the first and the last pin of each run of neighbours."""
    runs = groupby(enumerate(places), key=lambda pair: pair[1] - pair[0])
    found = [[place for _, place in run] for _, run in runs]
    return [[names[run[0]], names[run[-1]]] for run in found]


def _pins(spans: Iterable[Sequence[str]], names: Mapping[str, int], where: str) -> Iterator[int]:
    for first, last in spans:
        if not {first, last} <= names.keys() or names[first] > names[last]:
            raise InputRefused(f"{where}: there are no pins from {first} to {last}.", _RESTORE)
        yield from range(names[first], names[last] + 1)
