"""The pictures of a case: its calls as drawings, once for all states in which they went the same way."""

from collections.abc import Mapping
from dataclasses import dataclass

from capture.document import Document, line
from capture.render import lanes
from capture.render.lanes import Panel
from capture.render.report.releases import Releases
from capture.render.report.rows import Row

__all__ = ["Picture", "pictures"]

_MOST = 40


@dataclass(frozen=True)
class Picture:
    """The calls of a case as drawings, for all states in which they are the same; of hundreds the first, and how many are left."""

    number: int
    states: tuple[int, ...]
    panels: tuple[Panel, ...]
    left: int
    spans: str


def pictures(found: Row, releases: Releases) -> list[Picture]:
    """Return the pictures of a case, from the newest to the oldest; each marks what the one before it in time did not have."""
    groups: dict[bytes, list[int]] = {}
    for number, state in enumerate(found.states):
        groups.setdefault(line(state["calls"]), []).append(number)
    before: Mapping[str, Document] | None = None
    drawn = []
    for number, states in enumerate(groups.values()):
        named = lanes.numbered(found.states[states[0]]["calls"])
        panels = tuple(_panel(call, name, before) for name, call in named[:_MOST])
        drawn.append(Picture(number, tuple(states), panels, len(named) - len(panels), releases.spans(found.at, states)))
        before = dict(named)
    place = {state: place for place, state in enumerate(found.order)}
    return sorted(drawn, key=lambda picture: min(place[state] for state in picture.states))


def _panel(call: Document, name: str, before: Mapping[str, Document] | None) -> Panel:
    return lanes.panel(call, name, () if before is None else lanes.differing(call, before.get(name)))
