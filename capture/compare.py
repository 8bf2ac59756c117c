"""The first difference between what is published and what was measured, named by case and key."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from capture import document
from capture.errors import InputRefused

__all__ = ["first_difference"]

_ABSENT = object()
_LONGEST = 200
_NAMES = ("case", "pin", "claim", "call", "test")


def first_difference(published: bytes, measured: bytes) -> str | None:
    """Return where two documents (JSON, or JSON lines) differ first, or None if their bytes are equal."""
    if published == measured:
        return None
    for place, left, right in _differences(_parsed(published), _parsed(measured), ()):
        return f"{' '.join(place) or 'the whole'}: published {_text(left)}, measured {_text(right)}"
    return "only the way of writing differs, not the values"


def _parsed(data: bytes) -> Any:
    try:
        return document.parse_json(data, "document")
    except InputRefused:
        return [_line(line) for line in data.splitlines()]


def _line(line: bytes) -> Any:
    try:
        return document.parse_json(line, "line")
    except InputRefused:
        return line.decode("utf-8", "replace")


def _differences(left: Any, right: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in sorted({*left, *right}, key=lambda key: (key in _LATE, key)):
            yield from _differences(left.get(key, _ABSENT), right.get(key, _ABSENT), (*place, key))
    elif isinstance(left, list) and isinstance(right, list):
        for name, one, other in _paired(left, right):
            yield from _differences(one, other, (*place, name))
    elif type(left) is not type(right) or left != right:
        yield place, left, right


# Counts and digests differ because something else does; that something is worth naming first.
_LATE = ("counts", "history", "digest", "entries", "verdict", "claims")


def _paired(left: list[Any], right: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    """Pair the items of two lists: by the name that each item has, if all have different ones, else by position."""
    for key in _NAMES:
        names = [{str(item[key]): item for item in side if isinstance(item, Mapping) and key in item} for side in (left, right)]
        if [len(names[0]), len(names[1])] == [len(left), len(right)] and left and right:
            for name in dict.fromkeys([*names[0], *names[1]]):
                yield f"{key} {name}", names[0].get(name, _ABSENT), names[1].get(name, _ABSENT)
            return
    for number, (one, other) in enumerate(zip_longest(left, right, fillvalue=_ABSENT), start=1):
        yield f"item {number}", one, other


def _text(value: object) -> str:
    text = "nothing" if value is _ABSENT else document.line(value).decode().strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
