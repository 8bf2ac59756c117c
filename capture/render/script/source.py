"""Python source of plain values. Whatever a case says stays text in it: escaped, in ASCII, on one line."""

import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Code", "block", "call", "comment", "text", "value"]

_WIDTH = 100
_ESCAPED, _APOSTROPHE = "\\'", "'"
_BRACKETS: Mapping[type, str] = {dict: "{}", list: "[]", tuple: "()"}


@dataclass(frozen=True, order=True)
class Code:
    """An expression that we wrote, to stand as it is among values."""

    source: str


def value(given: Any, indent: int) -> str:
    """Return a value as Python source, a list or dict with its parts on lines of their own if it is long."""
    short = _source(given)
    if len(short) + indent <= _WIDTH or type(given) not in _BRACKETS or not given:
        return short
    inner = " " * (indent + 4)
    pairs = sorted(given.items()) if isinstance(given, dict) else ((None, part) for part in given)
    parts = [inner + (f"{_source(key)}: " if isinstance(given, dict) else "") + value(part, indent + 4) for key, part in pairs]
    brackets = _BRACKETS[type(given)]
    return f"{brackets[0]}\n" + ",\n".join(parts) + f",\n{' ' * indent}{brackets[1]}"


def call(name: str, arguments: Mapping[str, Any], *first: str) -> Code:
    """Return a call with keyword arguments, after the expressions that come first; one that is no identifier goes into a dict."""
    plain = [f"{key}={_source(part)}" for key, part in arguments.items() if _is_name(key)]
    others = {key: part for key, part in arguments.items() if not _is_name(key)}
    return Code(f"{name}({', '.join([*first, *plain, *([f'**{_source(others)}'] if others else [])])})")


def block(lines: Iterable[str]) -> str:
    """Return lines as the body of something; text in source has no line breaks of its own, so that each line is code."""
    return "".join(f"    {line}\n" for part in lines for line in part.splitlines())


def text(given: str) -> str:
    """Return a text as a literal."""
    # Beyond ASCII everything is escaped, so that nothing in a case can hide in the script.
    literal = ascii(given)
    return literal if '"' in literal else f'"{literal[1:-1].replace(_ESCAPED, _APOSTROPHE)}"'


def comment(given: str) -> str:
    """Return a text as one line of a comment."""
    return "".join(char if " " <= char <= "~" else ascii(char)[1:-1] for char in " ".join(given.split()))


def _source(given: Any) -> str:
    if isinstance(given, Code):
        return given.source
    if isinstance(given, dict):
        return "{" + ", ".join(f"{_source(key)}: {_source(part)}" for key, part in sorted(given.items())) + "}"
    if isinstance(given, list | tuple):
        inner = ", ".join(map(_source, given))
        return f"[{inner}]" if isinstance(given, list) else f"({inner}{',' if len(given) == 1 else ''})"
    return text(given) if isinstance(given, str) else repr(given)


def _is_name(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
