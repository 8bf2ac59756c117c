"""Text from pins, cases and histories, made harmless for a terminal or a page."""

import re

__all__ = ["code", "printable", "visible"]

# Controls, separators but the space, formats (bidirectional ones among them), surrogates, private use, what may be ignored when it
# is shown, and what will never be a character: written out, since each Python knows another Unicode.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0xF0000, 0x10000))
    + "]"
)


def printable(text: str) -> str:
    """Return text with every character that moves a cursor, changes direction or is no character written as its escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def visible(text: str) -> str:
    """Return text as `printable` does, but by a table of our own, so that a page has the same bytes on every Python.

    A character that only a newer Unicode assigns stays as it is.
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def code(text: str) -> str:
    """Return text as Markdown code, whatever backticks or line breaks are in it; a table wants its pipes escaped besides."""
    clean = printable(text)
    longest = max((len(run) for run in _runs(clean)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {clean} {fence}" if longest else f"`{clean}`"


def _runs(text: str) -> list[str]:
    kept = "".join(char if char == "`" else " " for char in text)
    return kept.split()
