"""The page of a report: its template filled, its styles and its script inside, and a policy that lets it load nothing."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from capture.claims import CLAIMS
from capture.document import Document
from capture.render.cells import many
from capture.render.lanes import STYLE, WIDTH
from capture.render.printable import visible
from capture.render.report.faults import sentence
from capture.render.report.history import Change, changes_by_pin
from capture.render.report.releases import Releases, releases
from capture.render.report.rows import Row, rows
from capture.render.report.sections import Section, Sources, sections
from capture.render.report.ways import Ways
from capture.transitions import transitions
from capture.verdict import REASONS, VERDICTS

__all__ = ["page"]

_FOLDER = Path(__file__).parent

_LONGEST = 4000

_LETTERS = {"PASS": "P", "FAIL": "F", "UNKNOWN": "?", "not applicable": "·"}

_CLASSES = {"PASS": "p", "FAIL": "f", "UNKNOWN": "u", "not applicable": "a"}


def page(results: Document, sources: Sources, digest: str | None = None) -> str:
    """Return results as one HTML page that asks for nothing else.

    `sources` are those of the cases that are known here, by id and digest; `digest` is the SHA-256 of the file of the results.
    """
    told = transitions(results)
    found = rows(results)
    known = releases(results["pins"], told)
    keys = {(row.case, row.digest): row.key for row in found}
    changed = changes_by_pin(told, keys)
    judged = sorted({claim["claim"] for row in found for state in row.states for claim in state["claims"]})
    style, script = _read("page.css") + STYLE, _read("page.js")
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            results=results,
            digest=digest,
            policy=_policy(style, script),
            style=Markup(style),  # noqa: S704 -- our own file
            script=Markup(script),  # noqa: S704 -- our own file
            data=_island(_data(known, found, changed)),
            releases=known,
            silent={pin["pin"]: pin["silent"] for pin in told["pins"] if pin["silent"]},
            places={name: place for place, name in enumerate(known.names)},
            changes=changed,
            changing={case for change in changed for case in _cases(change)},
            families=_families(sections(found, known, sources)),
            failing=_failing(results["pins"][-1], keys),
            claims=[(name, CLAIMS.get(name)) for name in judged],
            numbers={name: number for number, name in enumerate(judged, start=1)},
            reasons=[(name, REASONS[name]) for name in _unknown(results)],
            packages=sorted({package for pin in results["pins"] for package in pin["packages"]}),
            width=WIDTH,
            ways=Ways(),
        )
    )


def _cases(change: Change) -> list[str]:
    return sorted([*change.beside, *(case for turn in change.turns for case in turn.cases)])


def _families(sections: Sequence[Section]) -> list[tuple[str, list[Section]]]:
    return [(family, list(group)) for family, group in groupby(sections, key=lambda found: found.row.family)]


def _failing(pin: Document, keys: Mapping[tuple[str, str], str]) -> list[tuple[str, str, list[str]]]:
    """Return the claims that FAIL at a pin, in their own words, with the cases; those of most cases first."""
    found: dict[str, list[str]] = {}
    for case in pin["cases"]:
        for claim in case["claims"]:
            if claim["verdict"] == "FAIL":
                found.setdefault(claim["claim"], []).append(keys[case["case"], case["digest"]])
    return [(name, sentence(name), cases) for name, cases in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))]


def _unknown(results: Document) -> list[str]:
    return sorted({case["reason"] for pin in results["pins"] for case in pin["cases"] if case["reason"]})


# --- what the script reads


def _data(known: Releases, found: Sequence[Row], changed: Sequence[Change]) -> Mapping[str, Any]:
    """Return the pins, the columns, and for each case its runs of states, each as the state and how many pins have it.

    The verdicts of its states are a letter each, in the order of the cases; and the cases that changed at a pin are their places.
    """
    places = {row.key: place for place, row in enumerate(found)}
    return {
        "pins": known.names,
        "shared": known.shared,
        "many": len(known.names) > 1,
        "columns": [[column.first, column.last] for column in known.columns],
        "cases": {row.key: [[run.state, run.last - run.first + 1] for run in row.runs()] for row in found},
        "verdicts": ["".join(_LETTERS[state["verdict"]] for state in row.states) for row in found],
        "changes": {change.pin: [places[key] for key in _cases(change)] for change in changed},
    }


def _island(value: object) -> Markup:
    """Return JSON that stands in a script element and cannot end it: no character of markup, nothing but ASCII."""
    text = json.dumps(value, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)  # noqa: S704 -- has no markup left


# --- the template


def _policy(style: str, script: str) -> str:
    """Return the policy of the page: these styles and this script, by their digests, and nothing from anywhere.

    Pictures in the page itself are let through, for the empty icon: without one a browser asks its server for /favicon.ico.
    """
    inside = f"style-src {_source(style)}; script-src {_source(script)}"
    return f"default-src 'none'; img-src data:; {inside}; base-uri 'none'; form-action 'none'"


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _read(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


@cache
def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.globals |= {"letters": _LETTERS, "classes": _CLASSES, "verdicts": VERDICTS}
    found.filters["many"] = many
    found.filters["drawn"] = Markup  # what `lanes` draws is escaped where it is drawn
    return found


def _shown(value: object) -> object:
    """Return what is put into the page: no text without end, each with what cannot be seen in it as its escape; markup is ours."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    left = len(value) - _LONGEST
    return visible(value if left <= 0 else f"{value[:_LONGEST]}… and {left} characters more, in results.json")
