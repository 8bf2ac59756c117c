"""The drawings of a page: each is drawn once, and used again wherever a call went the same way."""

from dataclasses import dataclass

from capture.render.lanes import Panel

__all__ = ["Way", "Ways"]


@dataclass(frozen=True)
class Way:
    """The name of a drawing, and the case in which it stands."""

    name: str
    case: str


class Ways:
    """Names drawings in the order in which they are asked for, and remembers them; one for each page."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[str, Way] = {}

    def again(self, panel: Panel) -> Way | None:
        """Return a drawing that was drawn before, or None if this is the first of its kind."""
        return self._known.get(panel.markup)

    def first(self, panel: Panel, case: str) -> str:
        """Return a name for a drawing that is drawn now, in a case."""
        return self._known.setdefault(panel.markup, Way(f"w{len(self._known) + 1}", case)).name
