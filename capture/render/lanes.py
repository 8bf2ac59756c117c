"""The picture of a case: lanes for model, reviewer, checkpoint, tool and messages, drawn from its results as SVG."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from capture.authority import same
from capture.document import Document
from capture.render.cells import actions, status, stored_action
from capture.render.printable import printable

__all__ = ["picture"]

LANES = ("model", "reviewer", "checkpoint", "tool", "messages")

_WIDTH, _LANE, _TOP, _BOX, _LONGEST, _LINES = 1080, 92, 64, 214, 32, 3

_STYLE = """
  svg { font: 12px system-ui, sans-serif; }
  .page { fill: #fff; }
  .lane { fill: #f6f7f9; }
  .name { fill: #57606a; font-weight: 600; }
  .title { fill: #1f2328; font-size: 15px; font-weight: 600; }
  .head { fill: #1f2328; font-weight: 600; }
  .line { fill: #1f2328; font: 10px ui-monospace, monospace; }
  .original { fill: #ddf4ff; stroke: #0969da; }
  .replacement { fill: #fff1d6; stroke: #bc4c00; }
  .none { fill: none; stroke: #8c959f; stroke-dasharray: 4 3; }
  .arrow { fill: none; stroke: #8c959f; stroke-width: 1.5; }
  .tip { fill: #8c959f; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; }
    .lane { fill: #161b22; }
    .name { fill: #8d96a0; }
    .title, .head, .line { fill: #e6edf3; }
    .original { fill: #0c2d6b; stroke: #58a6ff; }
    .replacement { fill: #5a1e02; stroke: #f0883e; }
  }
"""


@dataclass(frozen=True)
class _Box:
    """A box in a lane: where it stands, what it is about, and the lines in it; `kind` is its colour."""

    lane: str
    x: int
    head: str
    kind: str
    lines: tuple[str, ...]


def picture(case: Document) -> str:
    """Return the SVG of a case, a panel for each call that the model proposed."""
    panels = list(case["calls"])
    height = _TOP + max(len(panels), 1) * (len(LANES) * _LANE + 16)
    title = f"{case['case']}: {status(case)}"
    spoken = quoteattr(printable(_spoken(case)))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label={spoken}>']
    parts += [f"<style>{_STYLE}</style>", f'<rect class="page" width="{_WIDTH}" height="{height}"/>']
    parts += [_text("title", 16, 28, title), _text("name", 16, 48, case["question"])]
    for number, call in enumerate(panels):
        parts += _panel(call, _TOP + number * (len(LANES) * _LANE + 16))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _spoken(case: Document) -> str:
    calls = [f"proposed {actions([call['proposed']])}, dispatched {actions(call['dispatched'])}" for call in case["calls"]]
    return f"{case['case']}, {status(case)}: {'. '.join(calls)}"


def _panel(call: Document, top: int) -> Iterator[str]:
    for number, lane in enumerate(LANES):
        y = top + number * _LANE
        yield f'<rect class="lane" x="8" y="{y}" width="{_WIDTH - 16}" height="{_LANE - 6}" rx="6"/>'
        yield _text("name", 20, y + 48, lane)
    boxes = list(_boxes(call))
    for left, right in pairwise(box for box in boxes if box.kind != "none" or box.lane in ("reviewer", "messages")):
        yield _arrow(left, right, top)
    for box in [*boxes, _kept(call)]:
        yield from _drawn(box, top)


def _boxes(call: Document) -> Iterator[_Box]:
    """Yield the way of a call, in the order in which it went."""
    yield _Box("model", 120, "proposes", "original", _action(call["proposed"]))
    for shown in call["shown"][:1]:
        yield _Box("reviewer", 240, "is shown", _origin(shown, call), _action(shown))
    for decision in call["decided"]:
        yield _decision(decision, call)
    yield _stored(call)
    yield _received(call)
    yield _reported(call)


def _decision(decision: Document, call: Document) -> _Box:
    if "edited_action" in decision:
        action = {"tool": decision["edited_action"]["name"], "args": decision["edited_action"]["args"]}
        return _Box("reviewer", 470, "edits", _origin(action, call), _action(action))
    message = (decision["message"],) if decision.get("message") else ()
    return _Box("reviewer", 470, f"{decision['type']}s", "original" if decision["type"] == "approve" else "none", message)


def _stored(call: Document) -> _Box:
    for stored in call["checkpointed"]:
        action = stored_action(stored)
        if action is None:
            return _Box("checkpoint", 590, "stores by call id", "replacement", (json.dumps(stored),))
        return _Box("checkpoint", 590, "stores by call id", _origin(action, call), _action(action))
    return _Box("checkpoint", 590, "stores no replacement", "none", ())


def _received(call: Document) -> _Box:
    dispatched = call["dispatched"]
    if not dispatched:
        return _Box("tool", 720, "never dispatched", "none", ())
    times = "" if len(dispatched) == 1 else f", {len(dispatched)} times"
    return _Box("tool", 720, f"dispatched{times}", _origin(dispatched[-1], call), _action(dispatched[-1]))


def _reported(call: Document) -> _Box:
    for reported in call["reported"]:
        content = (
            reported["content"] if isinstance(reported["content"], str) else json.dumps(reported["content"], ensure_ascii=False)
        )
        return _Box("messages", 848, f"answer, {reported['status']}", "none", tuple(_wrapped(content)))
    return _Box("messages", 848, "no answer", "none", ())


def _kept(call: Document) -> _Box:
    kept = call["kept"]
    if kept is None:
        return _Box("messages", 120, "do not keep the call", "none", ())
    return _Box("messages", 120, "keep" if same(kept, call["proposed"]) else "show instead", _origin(kept, call), _action(kept))


def _origin(action: Document, call: Document) -> str:
    return "original" if same(action, call["proposed"]) else "replacement"


def _action(action: Document) -> tuple[str, ...]:
    lines = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in sorted(action["args"].items())]
    return (f"{action['tool']}", *lines)


def _wrapped(text: str) -> Iterator[str]:
    words = printable(text.replace("\n", " ")).split(" ")
    line = ""
    for word in words:
        if line and len(line) + len(word) >= _LONGEST:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line


def _drawn(box: _Box, top: int) -> Iterator[str]:
    y = top + LANES.index(box.lane) * _LANE + 7
    full = "\n".join(map(printable, (box.head, *box.lines)))
    yield f"<g><title>{escape(full)}</title>"
    yield f'<rect class="{box.kind}" x="{box.x}" y="{y}" width="{_BOX}" height="{_LANE - 20}" rx="5"/>'
    yield _text("head", box.x + 9, y + 18, box.head)
    shown = box.lines if len(box.lines) <= _LINES else (*box.lines[: _LINES - 1], f"{box.lines[_LINES - 1]} …")
    for number, line in enumerate(shown):
        yield _text("line", box.x + 9, y + 34 + 15 * number, line)
    yield "</g>"


def _arrow(left: _Box, right: _Box, top: int) -> str:
    y1, y2 = (top + LANES.index(box.lane) * _LANE + 43 for box in (left, right))
    if left.lane == right.lane:
        x2 = right.x - 2
        return f'<path class="arrow" d="M{left.x + _BOX} {y1} H{x2}"/><path class="tip" d="M{x2} {y2} l-7 -4 v8 z"/>'
    # The answer is reached past the tool's box, which it must not seem to come from when nothing was dispatched.
    x, edge = right.x + (120 if right.lane == "messages" else 22), top + LANES.index(right.lane) * _LANE + 5
    start = min(left.x + _BOX, x)
    return f'<path class="arrow" d="M{start} {y1} H{x} V{edge}"/><path class="tip" d="M{x} {edge} l-4 -7 h8 z"/>'


def _text(kind: str, x: int, y: int, text: str) -> str:
    clean = printable(text)
    limit = _LONGEST if kind == "line" else 150
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(clean if len(clean) <= limit else clean[: limit - 1] + "…")}</text>'
