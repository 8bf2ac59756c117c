"""The picture of a case: for each call its way through model, reviewer, checkpoint, tool and messages, drawn from results as SVG.

It is narrow, so that two fit beside each other and one fits a phone, and holds every text in full, so that two can be compared.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
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

LANES = ("model", "reviewer", "checkpoint", "tool", "messages")

WIDTH = 400

_LEFT, _SPINE, _HEAD, _LINE, _GAP = 94, 83, 24, 15, 6

_COLUMNS, _MOST_LINES, _LONGEST = 41, 60, 600

STYLE = """\
.way { font: 12px system-ui, sans-serif; }
.way .band { fill: #f5f4f1; }
.way .lane { fill: #6a665f; font-size: 11px; font-weight: 600; }
.way .head { fill: #22201d; font-weight: 600; }
.way .tag { fill: #6a665f; font-size: 11px; text-anchor: end; }
.way .line { fill: #22201d; font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre; }
.way path { fill: none; stroke-linecap: round; stroke-linejoin: round; }
.way .band, .way .original, .way .replacement { stroke: none; }
.way .spine { stroke: #c4bfb6; stroke-width: 2; }
.way .o { fill: #e9f0fb; stroke: #3a66b7; }
.way .r { fill: #fdeedd; stroke: #b3570c; stroke-width: 2; }
.way .n { fill: none; stroke: #a9a49b; stroke-dasharray: 4 3; }
.way .dots { stroke-width: 9; }
@media (prefers-color-scheme: dark) {
  .way .band { fill: #211f1d; }
  .way .lane, .way .tag { fill: #a7a198; }
  .way .head, .way .line { fill: #ece8e1; }
  .way .spine { stroke: #57524b; }
  .way .o { fill: #1b2940; stroke: #7da7ee; }
  .way .r { fill: #3d2711; stroke: #f0a35c; }
  .way .n { stroke: #78736a; }
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
    """The drawing of one call: what it shows in words, the markup inside its SVG, already escaped, and its height."""

    call: str | None
    name: str
    spoken: str
    markup: str
    height: int


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
    ids = [call["call"] or "" for call in calls]
    return [(f"{name} {ids[:place].count(name)}", call) for place, (name, call) in enumerate(zip(ids, calls, strict=True))]


def differing(call: Document, other: Document | None) -> frozenset[str]:
    """Return the keys of the boxes of a call that another picture of it does not have in this form."""
    known = set(boxes(other)) if other else set()
    return frozenset(box.key for box in boxes(call) if box not in known)


# --- what the boxes say


def boxes(call: Document) -> list[Box]:
    """Return the way of a call, in the order in which it went, and in the end how the messages keep it."""
    return [
        Box("model", "proposed", "proposes", "o", _action(call["proposed"])),
        *_shown(call),
        *_decided(call),
        *_stored(call),
        *_dispatched(call),
        *_reported(call),
        _kept(call),
    ]


def _shown(call: Document) -> Iterator[Box]:
    for number, action in enumerate(call["shown"]):
        yield Box("reviewer", f"shown {number}", "is shown", _origin(action, call), _action(action))
    if not call["shown"]:
        yield Box("reviewer", "shown", "is shown nothing", "n", ())


def _decided(call: Document) -> Iterator[Box]:
    for number, decision in enumerate(call["decided"]):
        key, verb = f"decided {number}", f"{decision['type']}s"
        if "edited_action" in decision:
            action = {"tool": decision["edited_action"]["name"], "args": decision["edited_action"]["args"]}
            yield Box("reviewer", key, verb, _origin(action, call), _action(action))
        else:
            message = tuple(decision["message"].split("\n")) if decision.get("message") else ()
            yield Box("reviewer", key, verb, "o" if decision["type"] == "approve" else "n", message)


def _stored(call: Document) -> Iterator[Box]:
    for number, stored in enumerate(call["checkpointed"]):
        action = stored_action(stored)
        kind, lines = ("r", (_json(stored),)) if action is None else (_origin(action, call), _action(action))
        yield Box("checkpoint", f"stored {number}", "stores a replacement", kind, lines)
    if not call["checkpointed"]:
        yield Box("checkpoint", "stored", "stores no replacement", "n", ())


def _dispatched(call: Document) -> Iterator[Box]:
    groups = [list(group) for _, group in groupby(call["dispatched"], key=_json)]
    for number, group in enumerate(groups):
        times = "" if len(group) == 1 else f" {len(group)} times"
        yield Box("tool", f"dispatched {number}", f"dispatched{times}", _origin(group[0], call), _action(group[0]))
    if not groups:
        yield Box("tool", "dispatched", "never dispatched", "n", ())


def _reported(call: Document) -> Iterator[Box]:
    for number, reported in enumerate(call["reported"]):
        content = reported["content"]
        lines = content.split("\n") if isinstance(content, str) else [_json(content)]
        known = reported["status"] in ("success", "error")
        head, before = (f"answer, {reported['status']}", []) if known else ("answer", [f"status: {_json(reported['status'])}"])
        yield Box("messages", f"reported {number}", head, "n", (*before, *lines))
    if not call["reported"]:
        yield Box("messages", "reported", "no answer", "n", ())


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
    """Return the drawing of a call; the boxes whose keys are `marked` are drawn as differing from another picture."""
    top, drawn, bands, places = 0, [], [], []
    for lane, inside in groupby(boxes(call), key=lambda box: box.lane):
        band = top
        top += _GAP
        for box in inside:
            height, markup = _drawn(box, top, marked=box.key in marked)
            drawn.append(markup)
            places.append((box.kind, top + 12))
            top += height + _GAP
        bands.append((lane, band, top - band))
        top += 2
    return Panel(call["call"], name, _way(call), "\n".join([*_lanes(bands), *_route(places), *drawn]), top - 2)


def _lanes(bands: Iterable[tuple[str, int, int]]) -> Iterator[str]:
    known = list(bands)
    path = "".join(f"M0 {top}h{WIDTH}v{height}H0z" for _, top, height in known)
    yield f'<path class="band" d="{path}"/>'
    yield f'<text class="lane">{"".join(f"""<tspan x="8" y="{top + 22}">{lane}</tspan>""" for lane, top, _ in known)}</text>'


def _route(places: Sequence[tuple[str, int]]) -> Iterator[str]:
    """Yield the line along which the call went, with a dot at each box that holds it."""
    yield f'<path class="spine" d="M{_SPINE} {places[0][1]}V{places[-1][1]}"/>'
    for kind in ("o", "r"):
        dots = "".join(f"M{_SPINE} {y}h0" for found, y in places if found == kind)
        if dots:
            yield f'<path class="dots {kind}" d="{dots}"/>'


def _drawn(box: Box, top: int, *, marked: bool) -> tuple[int, str]:
    """Return the height of a box and its markup."""
    lines = _lines(box)
    height = _HEAD + _LINE * len(lines) + (4 if lines else 0)
    text = f'<text class="head" x="{_LEFT + 10}" y="{top + 17}">{escape(visible(box.head))}</text>'
    tag = f'<text class="tag" x="{WIDTH - 14}" y="{top + 17}">not as proposed</text>' if box.kind == "r" else ""
    spans = "".join(
        f"<tspan {_place(number, top, first=first)}>{escape(line)}</tspan>" for number, (first, line) in enumerate(lines)
    )
    body = f'<text class="line">{spans}</text>' if lines else ""
    shape = f'<path class="{box.kind}" d="M{_LEFT} {top}H{WIDTH - 6}v{height}H{_LEFT}z"/>'
    group = f'<g class="box differs" data-key="{box.key}">' if marked else f'<g class="box" data-key="{box.key}">'
    return height, f"{group}{shape}{text}{tag}{body}</g>"


def _place(number: int, top: int, *, first: bool) -> str:
    return f'x="{_LEFT + (10 if first else 22)}" y="{top + 34 + _LINE * number}"'


def _lines(box: Box) -> list[tuple[bool, str]]:
    """Return the lines as they are drawn, each with whether it begins one of the box's; a very long text is cut, and says so."""
    found = [(not place, part) for line in box.lines for place, part in enumerate(wrapped(visible(line), _COLUMNS))]
    if len(found) <= _MOST_LINES:
        return found
    return [*found[:_MOST_LINES], (True, f"… and {len(found) - _MOST_LINES} lines more, in results.json")]
