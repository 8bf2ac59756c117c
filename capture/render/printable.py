"""Text from pins, cases and histories, made harmless for a terminal or a page."""

__all__ = ["code", "printable"]


def printable(text: str) -> str:
    """Return text with every character that moves a cursor, changes direction or is no character written as its escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def code(text: str) -> str:
    """Return text as Markdown code, whatever backticks or line breaks are in it; a table wants its pipes escaped besides."""
    clean = printable(text)
    longest = max((len(run) for run in _runs(clean)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {clean} {fence}" if longest else f"`{clean}`"


def _runs(text: str) -> list[str]:
    kept = "".join(char if char == "`" else " " for char in text)
    return kept.split()
