"""Text cut into lines that are as wide as a box, in columns of a font whose characters are all equally wide."""

import re

__all__ = ["wrapped"]

# What East Asian fonts draw twice as wide, and emoji; by ranges of our own, as each Python knows another Unicode.
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\U0001f300-\U0001faff\U00020000-\U0003fffd]"
)


def wrapped(text: str, columns: int) -> list[str]:
    """Return text in pieces that fit, broken behind a space where there is one; joined again they are the same text."""
    found, start = [], 0
    while start < len(text):
        piece = _piece(text[start : start + columns + 1], columns)
        found.append(piece)
        start += len(piece)
    return found or [""]


def _piece(text: str, columns: int) -> str:
    """Return what of a text fits: to its end, to the last space, or to the middle of a word that is a line long."""
    end = min(columns, len(text))
    while _width(text[:end]) > columns:
        end -= 1
    space = -1 if end == len(text) else text.rfind(" ", end // 2, end)
    return text[: space + 1] if space > 0 else text[:end]


def _width(text: str) -> int:
    return len(text) + len(_WIDE.findall(text))
