"""The drawings of a page: each is drawn once, and used again wherever a call went the same way."""

from capture.render.lanes import Panel

__all__ = ["Ways"]


class Ways:
    """Names drawings in the order in which they are asked for, and remembers them; one for each page."""

    def __init__(self) -> None:
        """Begin with none."""
        self._names: dict[str, str] = {}

    def again(self, panel: Panel) -> str | None:
        """Return the name of a drawing that was drawn before, or None if this is the first of its kind."""
        return self._names.get(panel.markup)

    def first(self, panel: Panel) -> str:
        """Return a name for a drawing that is drawn now."""
        return self._names.setdefault(panel.markup, f"way-{len(self._names) + 1}")
