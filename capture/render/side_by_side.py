"""Plain interrupt() and the reference implementation of the proposal side by side: point by point, and case by case."""

from collections.abc import Iterator, Mapping, Sequence

from capture.claims import CLAIMS
from capture.document import Document
from capture.render import markdown
from capture.render.cells import status
from capture.render.printable import code

__all__ = ["concerns", "points", "tables"]

_REFERENCE = "updates"

_Rows = Mapping[str, Sequence[Document]]
"""The rows of each case, one for each pin, in the order of the pins."""


def concerns(results: Document) -> bool:
    """Tell whether there is anything to show: a case that was run both ways."""
    return any(True for _ in _pairs(_by_case(results)))


def tables(results: Document, by: str | None) -> str:
    """Return both tables as Markdown; releases are named by their version of the package `by`, or by their pins."""
    labels = [pin["packages"].get(by, pin["pin"]) if by else pin["pin"] for pin in results["pins"]]
    newest = " ".join(filter(None, (by, labels[-1])))
    found = _by_case(results)
    pairs = list(_pairs(found))
    cases = markdown.table(("Case", "What it asks", "interrupt()", "Reference implementation"), _cases(found, pairs, labels))
    return f"""## The proposal, point by point

In how many of the cases that examine it each point holds, at {markdown.text(newest)}, the newest release here.

{points(results)}
## Case by case

Where a verdict changed from one release to another, each stands behind the release that it begins with.

{cases}"""


def points(results: Document) -> str:
    """Return in how many cases each point holds at the newest release, as Markdown."""
    found = _by_case(results)
    return markdown.table(("Point", "interrupt()", "Reference implementation"), _points(found, list(_pairs(found))))


def _by_case(results: Document) -> _Rows:
    rows: dict[str, list[Document]] = {}
    for pin in results["pins"]:
        for row in pin["cases"]:
            rows.setdefault(row["case"], []).append(row)
    return rows


def _pairs(found: _Rows) -> Iterator[tuple[str, str]]:
    """Yield each case that was run through interrupt() with its twin that was run through the reference implementation."""
    for name in found:
        base, _, way = name.partition("@")
        words = way.split(",")
        if _REFERENCE in words:
            plain = "@".join(filter(None, (base, ",".join(word for word in words if word != _REFERENCE))))
            if plain in found:
                yield plain, name


def _points(found: _Rows, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, ...]]:
    newest = {name: {claim["claim"]: claim["verdict"] for claim in rows[-1]["claims"]} for name, rows in found.items()}
    names = dict.fromkeys(name for plain, _ in pairs for name in newest[plain])
    for name in names:
        sides = [[newest[case][name] for case in side if name in newest[case]] for side in zip(*pairs, strict=True)]
        if any("FAIL" in side for side in sides):
            yield markdown.text(CLAIMS[name].sentence), *map(_held, sides)


def _held(verdicts: Sequence[str]) -> str:
    examined = [verdict for verdict in verdicts if verdict != "not applicable"]
    return f"{examined.count('PASS')} of {len(examined)}"


def _cases(found: _Rows, pairs: Sequence[tuple[str, str]], labels: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for plain, reference in pairs:
        sides = [_over(found[name], labels) for name in (plain, reference)]
        yield code(plain), markdown.text(found[plain][-1]["question"]), *sides


def _over(rows: Sequence[Document], labels: Sequence[str]) -> str:
    """Say a case's verdict, or each with the release that it begins with."""
    said = [_said(row) for row in rows]
    begins = [number for number, text in enumerate(said) if number == 0 or text != said[number - 1]]
    if begins == [0]:
        return said[0]
    return "<br>".join(f"{markdown.text(labels[number])}: {said[number]}" for number in begins)


def _said(row: Document) -> str:
    unmet = [code(claim["claim"].partition("@")[0]) for claim in row["claims"] if claim["verdict"] == "FAIL"]
    return ", ".join([markdown.text(status(row)), *unmet])
