"""Which release changed what, as a table: for each release the cases that turned, with the smallest of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from capture.document import Document
from capture.render import markdown, side_by_side
from capture.render.printable import code
from capture.render.report.history import Turn, changes_by_pin
from capture.transitions import transitions
from capture.verdict import VERDICTS

__all__ = ["survey", "table"]


def table(results: Document) -> str:
    """Return the table as Markdown, a row for each way in which cases turned at a release."""
    cases = {(row["case"], row["digest"]): row for pin in results["pins"] for row in pin["cases"]}
    changed = changes_by_pin(transitions(results), {key: key[0] for key in cases})
    rows = [row for change in changed for row in _rows(change.pin, change.turns, {row["case"]: row for row in cases.values()})]
    head = ("Since", "Verdict", "Cases", "The smallest of them", "What it asks")
    return markdown.table(head, rows) if rows else "No release changed the verdict of a case.\n"


def _rows(pin: str, turns: tuple[Turn, ...], cases: Mapping[str, Document]) -> Iterator[tuple[str, ...]]:
    for turn in turns:
        smallest = min((cases[name] for name in turn.cases), key=_size)
        yield (
            code(pin),
            markdown.text(f"{turn.before} → {turn.after}"),
            str(len(turn.cases)),
            code(smallest["case"]),
            markdown.text(smallest["question"]),
        )


def _size(case: Document) -> tuple[int, int, int, int, str]:
    """Return what makes a case larger than another: what is special about it, its steps, its calls, and then its name."""
    seen = case["observations"]
    return len(seen), len(seen["outcomes"]), len(case["calls"]), len(case["case"]), case["case"]


def survey(name: str, about: Mapping[str, Any], results: Document) -> str:
    """Return the README of a survey, from what it states and its results."""
    pins = results["pins"]
    counts = [
        (code(pin["pin"]), *(str(pin["counts"][verdict]) for verdict in VERDICTS), code(pin["history"] or "none")) for pin in pins
    ]
    both = side_by_side.tables(results, about.get("by")) + "\n" if side_by_side.concerns(results) else ""
    limits = "".join(f"- {markdown.text(limit)}\n" for limit in about["limits"])
    return f"""# {markdown.text(about["title"])}

{markdown.text(" ".join(about["question"].split()))}

Rendered from `results.json` in this folder, as [report.html](report.html) is: one page without network, with every case, every
picture and every claim. `dispatch-audit reproduce {name}` measures all of it again and compares the bytes,
`dispatch-audit verify {name}` judges the saved evidence in `histories.jsonl` again without running anything, and
`dispatch-audit transitions results/{name}` says it case by case and claim by claim.

{both}## Which release changed what

{len(pins)} releases, {len({row["case"] for pin in pins for row in pin["cases"]})} cases. A release that is not named changed no
verdict of a case. UNKNOWN (unsupported) means that a release lacks what the case needs.

{table(results)}
## Limits

{limits}
## Every release

{markdown.table(("Pin", *VERDICTS, "SHA-256 of its history"), counts)}"""
