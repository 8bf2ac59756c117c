"""The picture of a case: for each call its way through model, reviewer, checkpoint, tool and messages, drawn from results as SVG.

It is narrow, so that two fit beside each other and one fits a phone, and holds every text in full, so that two can be compared.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from capture.authority import same
from capture.document import Document
from capture.render.cells import actions, status, stored_action
from capture.render.printable import visible
from capture.render.wrapping import wrapped

__all__ = ["STYLE", "WIDTH", "Box", "Panel", "boxes", "differing", "numbered", "panel", "picture"]

WIDTH = 386

_LEFT, _RIGHT, _SPINE, _HEAD, _LINE, _GAP = 88, WIDTH - 4, 79, 24, 15, 6

_COLUMNS, _MOST_LINES, _MOST_BOXES, _LONGEST = 41, 60, 12, 600

STYLE = """\
.way { font: 12px system-ui, sans-serif; }
.way text { fill: #22201d; font-weight: 600; }
.way .lane { fill: #6a665f; font-size: 11px; }
.way .tag { fill: #6a665f; font-size: 11px; font-weight: 400; text-anchor: end; }
.way .line { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; }
.way path { fill: none; stroke-linecap: round; stroke-linejoin: round; }
.way .band { fill: #f5f4f1; stroke: none; }
.way .spine { stroke: #c4bfb6; stroke-width: 2; }
.way .o path, .way .dots { fill: #e9f0fb; stroke: #3a66b7; }
.way .r path, .way .r.dots { fill: #fdeedd; stroke: #b3570c; stroke-width: 2; }
.way .n path { stroke: #78736a; stroke-dasharray: 4 3; }
.way .dots, .way .r.dots { stroke-width: 9; }
@media (prefers-color-scheme: dark) {
  .way .band { fill: #211f1d; }
  .way text { fill: #ece8e1; }
  .way .lane, .way .tag { fill: #a7a198; }
  .way .spine { stroke: #57524b; }
  .way .o path, .way .dots { fill: #1b2940; stroke: #7da7ee; }
  .way .r path, .way .r.dots { fill: #3d2711; stroke: #f0a35c; }
  .way .n path { stroke: #8d877d; }
}
"""
"""What the classes of a picture look like: once in a page, or inside a picture that stands alone."""


@dataclass(frozen=True)
class Box:
    """A box in a lane: the piece of evidence that it shows, what is said of it, and its lines, unescaped and not wrapped.

    `kind` says whether it holds what was proposed (`o`), a replacement (`r`), or nothing of that kind (`n`).
    """

    lane: str
    key: str
    head: str
    kind: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Panel:
    """The drawing of one call: the markup inside its SVG, already escaped, its height, and a frame around what differs."""

    call: str | None
    name: str
    markup: str
    height: int
    frame: str


def picture(case: Document) -> str:
    """Return the SVG of a case as a file of its own, a panel for each call that the model proposed, one below the other."""
    panels = [panel(call, name) for name, call in numbered(case["calls"])]
    height = sum(found.height + 2 * _GAP for found in panels)
    spoken = quoteattr(visible(_spoken(case)))
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" class="way" {size} role="img" aria-label={spoken}>']
    parts.append(f"<style>\n{STYLE}</style>")
    top = 0
    for found in panels:
        parts.append(f'<g transform="translate(0 {top})">\n{found.markup}\n</g>')
        top += found.height + 2 * _GAP
    return "\n".join([*parts, "</svg>"]) + "\n"


def _spoken(case: Document) -> str:
    return f"{case['case']}, {status(case)}: {'. '.join(map(_way, case['calls']))}"


def _way(call: Document) -> str:
    said = f"proposed {actions([call['proposed']])}, dispatched {actions(call['dispatched'])}"
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"


def numbered(calls: Sequence[Document]) -> list[tuple[str, Document]]:
    """Name calls by id and count, since calls can share an id or have none."""
    found, seen = [], Counter[str]()
    for call in calls:
        name = call["call"] or ""
        found.append((f"{name} {seen[name]}", call))
        seen[name] += 1
    return found


def differing(call: Document, other: Document | None) -> frozenset[str]:
    """Return the keys of the boxes of a call that another picture of it does not have in this form."""
    known = set(boxes(other)) if other else set()
    return frozenset(box.key for box in boxes(call) if box not in known)


# --- what the boxes say


def boxes(call: Document) -> list[Box]:
    """Return the way of a call, in the order in which it went, and in the end how the messages keep it."""
    dispatched = [list(group) for _, group in groupby(call["dispatched"], key=_json)]
    return [
        Box("model", "proposed", "proposes", "o", _action(call["proposed"])),
        *_several(call, "reviewer", "shown", call["shown"], _shown),
        *_several(call, "reviewer", "decided", call["decided"], _decided),
        *_several(call, "checkpoint", "stored", call["checkpointed"], _stored),
        *_several(call, "tool", "dispatched", dispatched, _dispatched),
        *_several(call, "sink", "received", call["sent"] or (), _received),
        *_several(call, "messages", "reported", call["reported"], _reported),
        _kept(call),
    ]


_NONE = {
    "shown": "is shown nothing",
    "stored": "stores no replacement",
    "dispatched": "never dispatched",
    "reported": "no answer",
}

_Said = tuple[str, str, tuple[str, ...]]
"""The head, the kind and the lines of a box."""


def _several(call: Document, lane: str, key: str, found: Sequence[Any], said: Callable[[Any, Document], _Said]) -> Iterator[Box]:
    """Yield a box for each of several pieces of evidence, but not for hundreds, and one that says so if there is none."""
    for number, one in enumerate(found[:_MOST_BOXES]):
        yield Box(lane, f"{key} {number}", *said(one, call))
    if len(found) > _MOST_BOXES:
        yield Box(lane, f"{key} more", f"… and {len(found) - _MOST_BOXES} more, in results.json", "n", ())
    if not found and key in _NONE:
        yield Box(lane, key, _NONE[key], "n", ())


def _shown(action: Document, call: Document) -> _Said:
    return "is shown", _origin(action, call), _action(action)


def _decided(decision: Document, call: Document) -> _Said:
    verb = f"{decision['type']}s"
    if "edited_action" in decision:
        action = {"tool": decision["edited_action"]["name"], "args": decision["edited_action"]["args"]}
        return verb, _origin(action, call), _action(action)
    message = tuple(decision["message"].split("\n")) if decision.get("message") else ()
    return verb, "o" if decision["type"] == "approve" else "n", message


def _stored(stored: Any, call: Document) -> _Said:
    action = stored_action(stored)
    kind, lines = ("r", (_json(stored),)) if action is None else (_origin(action, call), _action(action))
    return "stores a replacement", kind, lines


def _dispatched(group: Sequence[Document], call: Document) -> _Said:
    times = "" if len(group) == 1 else f" {len(group)} times"
    return f"dispatched{times}", _origin(group[0], call), _action(group[0])


def _received(sent: Document, call: Document) -> _Said:
    key = f", key {sent['key']}" if sent["key"] else ""
    action = {"tool": sent["tool"], "args": sent["args"] if isinstance(sent["args"], dict) else {"text": sent["args"]}}
    return f"gets it by {sent['protocol']}{key}", _origin(action, call), _action(action)


def _reported(reported: Document, _call: Document) -> _Said:
    content = reported["content"]
    lines = content.split("\n") if isinstance(content, str) else [_json(content)]
    if reported["status"] in ("success", "error"):
        return f"answer, {reported['status']}", "n", tuple(lines)
    return "answer", "n", (f"status: {_json(reported['status'])}", *lines)


def _kept(call: Document) -> Box:
    kept = call["kept"]
    if kept is None:
        return Box("messages", "kept", "do not keep the call", "n", ())
    return Box("messages", "kept", "keep the call", _origin(kept, call), _action(kept))


def _origin(action: Document, call: Document) -> str:
    return "o" if same(action, call["proposed"]) else "r"


def _action(action: Document) -> tuple[str, ...]:
    return (action["tool"], *(f"{key}: {_json(value)}" for key, value in sorted(action["args"].items())))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


# --- how they are drawn


def panel(call: Document, name: str, marked: Collection[str] = ()) -> Panel:
    """Return the drawing of a call, and the frame of the boxes whose keys are `marked`, beside it, so that equal ways are equal."""
    top, drawn, bands, places, frames = 0, [], [], [], []
    for lane, inside in groupby(boxes(call), key=lambda box: box.lane):
        band = top
        drawn.append(f'<text class="lane" x="4" y="{top + 22}">{lane}</text>')
        top += _GAP
        for box in inside:
            height, shape, markup = _drawn(box, top)
            drawn.append(markup)
            places.append((box.kind, top + 12))
            frames += [shape] if box.key in marked else []
            top += height + _GAP
        bands.append(f"M0 {band}h{WIDTH}v{top - band}H0z")
        top += 2
    ground = f'<path class="band" d="{"".join(bands)}"/>'
    return Panel(call["call"], name, "\n".join([ground, *_route(places), *drawn]), top - 2, "".join(frames))


def _route(places: Sequence[tuple[str, int]]) -> Iterator[str]:
    """Yield the line along which the call went, with a dot at each box that holds it."""
    yield f'<path class="spine" d="M{_SPINE} {places[0][1]}V{places[-1][1]}"/>'
    for kind in ("o", "r"):
        dots = "".join(f"M{_SPINE} {y}h0" for found, y in places if found == kind)
        if dots:
            yield f'<path class="dots {kind}" d="{dots}"/>'


def _drawn(box: Box, top: int) -> tuple[int, str, str]:
    """Return the height of a box, its outline and its markup."""
    lines = _lines(box)
    height = _HEAD + _LINE * len(lines) + (4 if lines else 0)
    shape = f"M{_LEFT} {top}H{_RIGHT}v{height}H{_LEFT}z"
    head = f'<text x="{_LEFT + 10}" y="{top + 17}">{escape(visible(box.head))}</text>'
    tag = f'<text class="tag" x="{_RIGHT - 8}" y="{top + 17}">not as proposed</text>' if box.kind == "r" else ""
    spans = "".join(
        f"<tspan {_place(number, top, first=first)}>{escape(line)}</tspan>" for number, (first, line) in enumerate(lines)
    )
    body = f'<text class="line">{spans}</text>' if lines else ""
    group = f'<g class="box {box.kind}" data-key="{box.key}">'
    return height, shape, f'{group}<path d="{shape}"/>{head}{tag}{body}</g>'


def _place(number: int, top: int, *, first: bool) -> str:
    return f'x="{_LEFT + (10 if first else 20)}" y="{top + 34 + _LINE * number}"'


def _lines(box: Box) -> list[tuple[bool, str]]:
    """Return the lines as they are drawn, each with whether it begins one of the box's; a very long text is cut, and says so."""
    found = [(not place, part) for line in box.lines for place, part in enumerate(wrapped(visible(line), _COLUMNS))]
    if len(found) <= _MOST_LINES:
        return found
    return [*found[:_MOST_LINES], (True, f"… and {len(found) - _MOST_LINES} lines more, in results.json")]
