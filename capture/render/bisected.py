"""The words of a bisection; text in them is not escaped yet."""

from collections.abc import Sequence
from itertools import groupby

from packaging.version import Version

from capture.bisection import CHANGED, INTERVAL, NOT_KNOWN, UNCHANGED
from capture.document import Document
from capture.render.cells import many, status

__all__ = ["commands", "helpers", "rows", "sentences"]

Row = tuple[str, ...]


def sentences(found: Document) -> list[str]:
    """Return what was found, what may be wrong with it, and how much was run for it."""
    return [*_FOUND[found["answer"]](found), *_several(found), *_backwards(found), _effort(found)]


def _subject(found: Document) -> str:
    return f"{found['claim']} in {found['case']}" if found["claim"] else str(found["case"])


def _package(found: Document) -> str:
    return str(found["axis"]["package"])


def _changed(found: Document) -> list[str]:
    first, last = found["first"], found["last"]
    return [f"{_package(found)} {first} is the first release that changed {_subject(found)}; {last} is the last that did not."]


def _interval(found: Document) -> list[str]:
    reasons = {tried["release"]: tried["because"] for tried in found["tried"]}
    between = "; ".join(f"{release}, because {reasons[release]}" for release in found["between"])
    return [
        f"{_subject(found)} changed in ({found['last']}, {found['first']}] of {_package(found)}.",
        f"Unknown in between: {between}.",
    ]


def _unchanged(found: Document) -> list[str]:
    return [
        f"Nothing changed: {_subject(found)} has the same answer at {_package(found)} {found['good']} and {found['bad']}.",
        "Changes in between that cancel each other out would not be seen. `run` at all of them and `transitions` would show them.",
    ]


def _not_known(found: Document) -> list[str]:
    silent = [tried for tried in found["tried"] if tried["answers"] is None]
    if len(silent) == 1:
        said = f"{_package(found)} {silent[0]['release']} has no answer that can be compared, because {silent[0]['because']}"
    elif found["good"] is None:
        said = "no release has an answer"
    else:
        said = f"no release but {found['good']} has an answer that can be compared with it"
    return [f"Not known: {said}.", "Name other ends with --good and --bad, or ask about one claim with --claim."]


_FOUND = {CHANGED: _changed, INTERVAL: _interval, UNCHANGED: _unchanged, NOT_KNOWN: _not_known}


def _several(found: Document) -> list[str]:
    others = [tried["release"] for tried in found["tried"] if tried["answers"] == "another"]
    if not others:
        return []
    there = f"{', '.join(others)} {'answers' if len(others) == 1 else 'answer'}"
    return [
        f"It changed more than once: {there} neither as {found['good']} nor as {found['bad']}.",
        f"What is named is where the answer of {found['good']} ends. `run` at all of them and `transitions` would show the rest.",
    ]


def _backwards(found: Document) -> list[str]:
    ends = [Version(found["axis"][end]) for end in ("from", "to")]
    return [f"The search went backwards, from {ends[0]} to {ends[1]}."] if ends[0] > ends[1] else []


def _effort(found: Document) -> str:
    axis = found["axis"]
    beside = f" with {axis['fixed']}" if axis["fixed"] else ""
    releases = many(axis["releases"], "release")
    return f"Run at {found['runs']} of {releases} of {axis['package']}{beside}, {axis['from']} to {axis['to']}."


def rows(found: Document) -> list[Row]:
    """Return the releases that were tried, with verdict, and which end they answer as; neighbours without an answer share a row."""
    return [_row(found, list(tried)) for _, tried in groupby(found["tried"], key=_shared)]


def _shared(tried: Document) -> tuple[str, ...]:
    return (tried["because"], status(tried)) if tried["because"] else (tried["release"],)


def _row(found: Document, tried: Sequence[Document]) -> Row:
    names = [f"{one['release']}{' (yanked)' if one['yanked'] else ''}" for one in tried]
    name = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}, {len(names)} of them"
    return name, status(tried[0]), tried[0]["because"] or _as(found, tried[0]["answers"])


def _as(found: Document, answers: str) -> str:
    words = {"good": f"as {found['good']}", "bad": f"as {found['bad']}", "not good": f"not as {found['good']}"}
    return words.get(answers, "as neither end")


def helpers(found: Document) -> list[str]:
    """Return the other packages whose versions differ between the locks of the two sides."""
    return [f"{fact['name']} {fact['before'] or 'none'} → {fact['after'] or 'none'}" for fact in found["helpers"]]


def commands(found: Document) -> list[tuple[str, str]]:
    """Return the command that runs the script with each side, the last that did not change first; nothing without a script."""
    return [(found[side], found["script"][side]) for side in ("last", "first")] if found["script"] else []
