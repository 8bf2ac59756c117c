"""Results as Markdown, for a README, a record's page or a summary in CI."""

import re
from collections.abc import Iterable, Iterator, Sequence

from capture.document import Document
from capture.render import bisected, changes
from capture.render.cells import COLUMNS, faults, row, written
from capture.render.printable import code, printable
from capture.transitions import transitions as transitions_of
from capture.verdict import VERDICTS

__all__ = ["accepted", "bisection", "checks", "difference", "results", "table", "text", "transitions"]

_SPECIAL = "\\`*_{}[]<>#|~"

_QUOTED = re.compile(r"“([^“”]*)”")


def text(value: str) -> str:
    """Return text with everything that Markdown or HTML would take for markup escaped; what is quoted in it becomes code.

    What a framework or a case said is quoted, and in code no address becomes a link and no name a mention.
    """
    parts = _QUOTED.split(value)
    return "".join(code(part) if number % 2 else _escaped(part) for number, part in enumerate(parts))


def _escaped(value: str) -> str:
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in printable(value)).replace("&", "&amp;")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already; a pipe that is not escaped yet would end its cell, even in code."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_PIPE.sub(_ESCAPED_PIPE, cell) for cell in cells)} |" for cells in lines) + "\n"


_PIPE, _ESCAPED_PIPE = re.compile(r"(?<!\\)\|"), r"\\|"


def results(document: Document) -> str:
    """Return the results: of one pin a table and what did not hold below it, of many the counts and what changed among them."""
    if len(document["pins"]) == 1:
        return "\n".join(_pin(document["pins"][0]))
    counts = ([code(pin["pin"]), *(str(pin["counts"][verdict]) for verdict in VERDICTS)] for pin in document["pins"])
    shown = table(("Pin", *VERDICTS), counts)
    return f"{shown}\n{transitions(transitions_of(document))}"


def transitions(document: Document) -> str:
    """Return since which pin each case and claim has which verdict, and what never changes."""
    parts = [f"Every case is UNKNOWN ({pin['silent']}) at {code(pin['pin'])}.\n" for pin in document["pins"] if pin["silent"]]
    rows = [[code(case), text(who), text(when)] for case, found in changes.grouped(document) for who, when in found]
    parts.append(table(("Case", "What", "Since when"), rows) if rows else "No verdict changes from pin to pin.\n")
    constant = "".join(f"- {text(verdict)}: {text(amount)}\n" for verdict, amount in changes.constant(document))
    return "\n".join([*parts, *([f"The same at every pin:\n\n{constant}"] if constant else [])])


def difference(document: Document) -> str:
    """Return what changed between two results, with the evidence side by side."""
    parts = [f"**{changes.ANSWERS[document['answer']]}**\n", *(part for pin in document["pins"] for part in _compared(pin))]
    return "\n".join([*parts, *([accepted(document["accepted"])] if document["accepted"] else [])])


def bisection(document: Document) -> str:
    """Return where an answer changed: what was tried, both sides, and the script with how to run it with each."""
    first, *others = map(text, bisected.sentences(document))
    tried = table(("Release", "Verdict", ""), ([code(cell) for cell in cells] for cells in bisected.rows(document)))
    parts = [f"**{first}**\n", *([" ".join(others) + "\n"] if others else []), tried]
    if document["difference"]:
        parts += [part for pin in document["difference"]["pins"] for part in _compared(pin)]
    if found := bisected.helpers(document):
        parts.append("Packages beside those that decide:\n\n" + "".join(f"- {text(fact)}\n" for fact in found))
    return "\n".join([*parts, *_script(document)])


def _script(document: Document) -> Iterator[str]:
    """Yield the commands and the text of a script; no line of Python, and none of a command, can close a fence."""
    for release, command in bisected.commands(document):
        yield f"With {code(release)}:\n\n```sh\n{command}\n```\n"
    if document["script"]:
        yield f"`script.py`:\n\n```python\n{document['script']['text'].strip()}\n```\n"


def accepted(found: Iterable[Document]) -> str:
    """Return what became of the FAILs that are accepted, each with its reason."""
    return "Accepted FAILs:\n\n" + "".join(
        f"- {code(entry['case'])}, {_claim_at(entry)}: {text(entry['stands'])}; accepted, since {text(entry['reason'])}\n"
        for entry in found
    )


def _claim_at(entry: Document) -> str:
    return f"{code(entry['claim'])} at {code(entry['pin'])}" if entry["pin"] else code(entry["claim"])


def _compared(pin: Document) -> Iterator[str]:
    before, after = map(code, changes.sides(pin))
    yield f"### {before} → {after}: {changes.counted(pin['counts'])}\n"
    if facts := changes.facts(pin):
        yield "".join(f"- {text(fact)}\n" for fact in facts)
    for case in changes.listed(pin):
        yield f"{code(case['case'])}: {text(changes.headline(case))}\n"
        yield table(("", "Before", "After"), ([code(cell) for cell in cells] for cells in changes.evidence(case)))
    for status, found in changes.in_short(pin):
        yield f"{text(status).capitalize()}:\n\n" + "".join(f"- {code(case)}: {text(words)}\n" for case, words in found)


def checks(document: Document) -> str:
    """Return what was checked, a row each, and the results that it is about."""
    marks = {True: "held", False: "**differs**", None: "not checked"}
    rows = ([text(check["check"]), marks[check["held"]], text(check["detail"])] for check in document["checks"])
    shown = table(("Check", "", "Detail"), rows)
    return f"{shown}\n{results(document['results'])}" if document["results"] else shown


def _pin(pin: Document) -> Iterator[str]:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in pin["counts"].items())
    yield f"### Pin {code(pin['pin'])}: {counts}\n"
    yield table(COLUMNS, ([code(cells[0]), *(text(cell) for cell in cells[1:])] for cells in map(row, pin["cases"])))
    yield from _faults(pin)


def _faults(pin: Document) -> Iterator[str]:
    lines = [
        f"- {code(case)}, {code(claim)} at {code(fault['evidence'])}: "
        f"expected {_value(fault['expected'])}, observed {_value(fault['observed'])}"
        for case, claim, fault in faults(pin)
    ]
    if lines:
        yield "What did not hold:\n\n" + "\n".join(lines) + "\n"


def _value(value: object) -> str:
    return written(value) if value is None else code(written(value))
