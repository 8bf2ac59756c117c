"""Results for pages to show: one small history of releases, one whose texts try to be something else, and real ones."""

from functools import cache
from typing import Any

from capture import document, record, results
from capture.case import all_cases
from capture.document import Document
from capture.render.report import page
from tests.comparisons import FAIL, UNKNOWN, case, claim, observed, pin, row, smoked, unbuilt, written

MARKUP = (
    "<img src=x onerror=\"document.title='ran'\">",
    "</script><script>document.title='ran'</script>",
    "<svg onload=\"document.title='ran'\">",
    "<!-- <script>",
    "]]>&lt;b&gt;&amp;",
    "\"' onfocus='document.title=1' autofocus='",
    "{{ 7 * 7 }}{% include 'page.js' %}",
    "javascript:document.title='ran'",
    "</title></style></svg><base href='//example.invalid'>",
)
"""Texts that are markup somewhere."""

UNSEEN = "right\u202eleft\u2066 zero\u200bwidth bell\x07 nul\x00 line\u2028 half\ud800"
"""A text with what moves, hides or cannot be written."""

EDITED = {"tool": "pay", "args": {"bill": "B"}}

KEPT = row(
    decided=[{"type": "edit", "edited_action": {"name": "pay", "args": {"bill": "B"}}}],
    dispatched=[EDITED],
    checkpointed=[{"name": "pay", "args": {"bill": "B"}}],
)

LOST = {**KEPT, "kept": EDITED, "checkpointed": [], "reported": [{"status": "success", "content": "paid B"}]}


def history() -> Document:
    """Return ten releases: one case that began to PASS, one that never changed, one added later, one that ran twice for a while."""
    lost = case(
        "decisions/edit", claim("messages/proposal-kept@1", FAIL, observed="B"), claim("core/no-repeated-dispatch@1"), rows=[LOST]
    )
    kept = case("decisions/edit", claim("messages/proposal-kept@1"), claim("core/no-repeated-dispatch@1"), rows=[KEPT])
    once = case("turns/approve@async")
    action = {"tool": "pay", "args": {"bill": "A"}}
    twice = case("turns/approve@async", claim("core/one@1", FAIL), rows=[row(dispatched=[action, action])])
    late = case("turns/late", claim("core/two@1", UNKNOWN, "unsupported"), rows=[])
    constant = case("decisions/approve", rows=[row("c"), row("d", tool="delete")])
    shape = [(lost, once)] * 3 + [(lost, twice)] * 2 + [(kept, once)] * 4
    pins = [_pin(number, constant, *cases, *([late] if number > 5 else [])) for number, cases in enumerate(shape)]
    return written(*pins[:7], pin("langchain-1.0.7", *map(unbuilt, _NAMES)), *(_again(found) for found in pins[7:]))


_NAMES = ("decisions/approve", "decisions/edit", "turns/approve@async", "turns/late")


def _pin(number: int, *cases: dict[str, Any]) -> dict[str, Any]:
    return pin(f"langchain-1.0.{number}", *cases, version=f"1.0.{number}")


def _again(found: dict[str, Any]) -> dict[str, Any]:
    number = int(found["pin"].rpartition(".")[2]) + 1
    return _pin(number, *found["cases"])


def hostile() -> Document:
    """Return two releases in which tools, arguments, messages, ids, faults and details are texts of markup."""
    first, second = (written(pin(f"p-{number}", _hostile(number))) for number in (1, 2))
    return results.build([*first["pins"], *second["pins"]])


def _hostile(number: int) -> dict[str, Any]:
    texts = [f"{text}{number}" for text in (*MARKUP, UNSEEN)]
    calls = [_hostile_row(text) for text in texts]
    judged = claim("messages/proposal-kept@1", FAIL, observed={text: text for text in texts})
    judged["faults"] = [{"evidence": text, "expected": text, "observed": {text: [text]}} for text in texts]
    links = [{"call": text, "message": text, "status": text, "content": text} for text in texts]
    outcomes = [{"step": 0, "do": text, "status": text, "error": text} for text in texts]
    seen = observed(calls, links=links, told=[], outcomes=outcomes)
    keys: dict[str, Any] = {"question": " ".join(texts), "detail": " ".join(texts), "observations": seen}
    trigger = {"trigger": texts[0], "happened": True}
    return case("hostile/markup", judged, rows=calls, **keys, trigger=trigger)


def _hostile_row(text: str) -> dict[str, Any]:
    action = {"tool": text, "args": {text: text, "list": [text]}}
    edit = {"type": "edit", "edited_action": {"name": text, "args": {text: text}}}
    decided = [edit, {"type": "reject", "message": text}]
    told = [{"status": text, "content": text}, {"status": "success", "content": {text: text}}]
    return row(
        text, proposed=action, shown=[action], decided=decided, checkpointed=[text], dispatched=[action], kept=action, reported=told
    )


LONG = "withoutend" * 30
"""A name that fits nowhere."""

MANY = 60
"""More than anybody looks at."""


def extreme() -> Document:
    """Return two releases in which every name and every text is long, and there are hundreds of calls, steps, links and faults."""
    first, second = (written(pin(f"{LONG}-{number}", *_extreme(number), version=LONG)) for number in (1, 2))
    return results.build([*first["pins"], *second["pins"]])


def _extreme(number: int) -> list[dict[str, Any]]:
    text = f"{LONG}{number} {UNSEEN} {'word ' * 900}"
    action, other = ({"tool": LONG, "args": {LONG: value, LONG[1:]: text}} for value in (text, number))
    calls = [_hostile_row(f"{LONG}{place}") for place in range(MANY)]
    calls[0] |= {"dispatched": [action, other] * MANY, "shown": [action] * MANY, "checkpointed": [other] * MANY}
    judged = claim(f"core/{LONG}@1", FAIL, observed=text)
    judged["faults"] = [{"evidence": f"{text}{place}", "expected": text, "observed": place} for place in range(MANY)]
    links = [{"call": call["call"], "message": text, "status": text, "content": text} for call in calls]
    outcomes = [{"step": place, "do": LONG, "status": text, "error": text} for place in range(MANY)]
    seen = observed(calls, links=links, outcomes=outcomes)
    keys: dict[str, Any] = {"question": text, "detail": text, "observations": seen, "trigger": {"trigger": text, "happened": True}}
    names = [f"{LONG}/{LONG}@{LONG}", f"{LONG}/{LONG}@{LONG}-more"]
    return [case(name, judged, rows=calls, **keys) for name in names]


def smoke() -> Document:
    """Return two releases, one of which failed its smoke test."""
    return written(pin("a-1", case("x/y")), pin("a-2", smoked(case("x/y"))))


def published(name: str) -> Document:
    """Return the results of a record that is published here."""
    path = record.find(name).revision(None).file("results")
    return results.read(document.read(path), str(path))


def together() -> Document:
    """Return the published records as one document, in which most cases are at one pin only."""
    return results.build([pin for name in record.all_names() for pin in published(name)["pins"]])


@cache
def sources() -> dict[tuple[str, str], Any]:
    """Return the sources of the suite."""
    return {(known.id, known.digest): known.scenario["sources"] for known in all_cases()}


def made(found: Document) -> str:
    """Return the page of results."""
    return page(found, sources())
