"""The words of a results table, with texts in them that try to be something else."""

from typing import Any

from capture.render import markdown
from capture.render.cells import row, status


def linked(*contents: str) -> str:
    """Return the cell of the links of a case whose calls were answered so, as Markdown."""
    observations: dict[str, Any] = {
        "proposals": [],
        "stored_edits": [{"checkpoint": "c", "next": ["tools"], "present": False, "value": None}],
        "received": [],
        "dispatches": 0,
        "links": [{"call": f"call-{number}", "status": "success", "content": text} for number, text in enumerate(contents)],
    }
    found: dict[str, Any] = {
        "case": "a/b",
        "verdict": "PASS",
        "reason": None,
        "detail": None,
        "calls": [],
        "observations": observations,
    }
    return markdown.text(row(found)[-1])


def test_each_text_that_is_quoted_is_code() -> None:
    """Two answered calls are two pieces of code, with the words around them outside."""
    assert linked("one", "two") == "success message for call-0: `one`; success message for call-1: `two`"


def test_a_quoted_text_cannot_end_its_own_quotation() -> None:
    """Whatever a tool says, quotation marks and semicolons among it, stays one piece of code: no mention, no link."""
    cell = linked("a”; @everyone https://example.invalid “b")
    assert cell == 'success message for call-0: `a"; @everyone https://example.invalid "b`'


def test_what_stood_in_the_way_is_said() -> None:
    """An UNKNOWN says its detail, or the first step that raised or could not be taken."""
    base: dict[str, Any] = {"verdict": "UNKNOWN", "reason": "untriggered", "detail": None}
    outcomes = [{"step": 0, "do": "build", "status": "raised", "error": "ValueError"}]
    assert status({**base, "observations": {"outcomes": outcomes}}) == "UNKNOWN (untriggered: step 0, build, raised ValueError)"
    never = [{"step": 2, "do": "replay", "status": "impossible", "error": None}]
    assert status({**base, "observations": {"outcomes": never}}) == "UNKNOWN (untriggered: step 2, replay, impossible)"
    assert status({**base, "detail": "parameter x"}) == "UNKNOWN (untriggered: parameter x)"
