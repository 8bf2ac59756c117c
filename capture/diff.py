"""The difference between two results documents, case by case and claim by claim, with the evidence of both side by side.

Pure, and the same seen from either side: `diff(b, a)` is `diff(a, b)` with its sides exchanged.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from capture.document import Document
from capture.question import same
from capture.verdict import FAIL, NOT_APPLICABLE, PASS

__all__ = [
    "ADDED",
    "CHANGED",
    "DETAIL",
    "HIDDEN",
    "NOT_COMPARABLE",
    "NOT_KNOWN",
    "REMOVED",
    "STATUSES",
    "UNCHANGED",
    "answer",
    "diff",
    "hides",
    "paired",
    "said",
    "standing",
]

CHANGED, HIDDEN, NOT_COMPARABLE, ADDED, REMOVED = "changed", "hidden", "not comparable", "added", "removed"
DETAIL, UNCHANGED = "detail", "unchanged"

STATUSES = (CHANGED, HIDDEN, NOT_COMPARABLE, ADDED, REMOVED, DETAIL, UNCHANGED)
"""What can have become of a case or a claim, from what matters most to nothing at all."""

NOT_KNOWN = "not known"
"""The answer if nothing changed as far as anybody can tell, but not everything could be compared."""

_HIDES = frozenset({"ambiguous", "environment", "error", "smoke", "timeout", "unobservable"})
# The other reasons are facts about the subject: a feature that is not there, a run that did not end or did not get there.

_CUTS = frozenset({"error", "timeout", "unobservable"})

_ACTIONS = ("proposed", "shown", "decided", "checkpointed", "dispatched", "sent", "kept")

_OBSERVED = ("outcomes", "received", "dispatches")

Pair = tuple[Document | None, Document | None]

Said = tuple[str, str | None]
"""A verdict and its reason."""


def diff(before: Document, after: Document) -> Document:
    """Return what became of each case and claim between two results documents."""
    pins = [_pin(*pair) for pair in paired(before["pins"], after["pins"])]
    return {"difference": 1, "answer": answer(pins), "counts": _sum(pins), "accepted": [], "pins": pins}


def paired(before: Sequence[Document], after: Sequence[Document]) -> list[Pair]:
    """Pair the pins of two documents: by name, or whatever their names if there is one on each side."""
    if len(before) == len(after) == 1:
        return [(before[0], after[0])]
    return [pair for _, pair in _by_name("pin", before, after)]


def answer(pins: Iterable[Document]) -> str:
    """Return `changed`, `unchanged`, or `not known` if nothing changed but something, or everything, was not compared."""
    counts = _sum(pins)
    if counts[CHANGED]:
        return CHANGED
    compared = counts[DETAIL] + counts[UNCHANGED]
    return UNCHANGED if compared and compared == sum(counts.values()) else NOT_KNOWN


def said(case: Document, claim: Document | None = None) -> Said:
    """Return verdict and reason of a case or of its claim; after a smoke test that failed no claim can be believed."""
    of = case if claim is None or case["reason"] == "smoke" else claim
    return of["verdict"], of["reason"]


def _sum(pins: Iterable[Document]) -> dict[str, int]:
    found = [pin["counts"] for pin in pins]
    return {status: sum(counts[status] for counts in found) for status in STATUSES}


def _pin(before: Document | None, after: Document | None) -> Document:
    sides = [side["cases"] if side else [] for side in (before, after)]
    cases = [_case(name, *pair) for name, pair in _by_name("case", *sides)]
    statuses = [case["status"] for case in cases]
    return {
        "before": before["pin"] if before else None,
        "after": after["pin"] if after else None,
        "packages": _facts("packages", before, after),
        "files": _facts("files", before, after),
        "counts": {status: statuses.count(status) for status in STATUSES},
        "cases": [case for case in cases if case["status"] != UNCHANGED],
        "unchanged": [case["case"] for case in cases if case["status"] == UNCHANGED],
    }


def _facts(key: str, before: Document | None, after: Document | None) -> list[Document]:
    """Return the packages, or the files that decide, that are not the same on both sides."""
    left, right = (side[key] if side else {} for side in (before, after))
    names = sorted({*left, *right})
    found = [{"name": name, "before": left.get(name), "after": right.get(name)} for name in names]
    return [fact for fact in found if fact["before"] != fact["after"]]


def _case(name: str, before: Document | None, after: Document | None) -> Document:
    if before is None or after is None:
        return _entry(name, (before, after), REMOVED if after is None else ADDED)
    if same(before, after):
        return _entry(name, (before, after), UNCHANGED)
    if before["digest"] != after["digest"]:
        return _entry(name, (before, after), NOT_COMPARABLE, ["digest"])
    claims = [_claim(*pair, before, after) for pair in _claim_pairs(before["claims"], after["claims"])]
    calls = _calls(before["calls"], after["calls"])
    alike = all(claim["before"] and claim["after"] and claim["status"] != NOT_COMPARABLE for claim in claims)
    evidence = [*_row_differences(calls), *_observed_differences(before, after)]
    verdict = standing(said(before), said(after)) if alike or _unasked(before, after) else UNCHANGED
    also = _also(before, after, calls)
    status = _status({verdict, *(claim["status"] for claim in claims)}, evidence, also, alike=alike, cut=_is_cut(before, after))
    differs = [*(["verdict"] if verdict != UNCHANGED else []), *evidence]
    return _entry(name, (before, after), status, differs, also) | _listed(claims) | {"calls": calls}


def _status(found: Collection[str], evidence: Collection[str], also: Collection[str], *, alike: bool, cut: bool) -> str:
    """Return the status of a case from those of its verdict and claims, and from what differs in the evidence."""
    if CHANGED in found or (evidence and not cut):
        return CHANGED
    if HIDDEN in found or evidence:
        return HIDDEN
    if not alike:
        return NOT_COMPARABLE
    return DETAIL if also or DETAIL in found else UNCHANGED


def _entry(name: str, sides: Pair, status: str, differs: Sequence[str] = (), also: Sequence[str] = ()) -> dict[str, Any]:
    before, after = (_side(side) if side else None for side in sides)
    return {
        "case": name,
        "status": status,
        "differs": list(differs),
        "also": list(also),
        "before": before,
        "after": after,
        "claims": [],
        "unchanged": [],
        "calls": [],
    }


def _side(case: Document) -> Document:
    kept = {key: case[key] for key in ("digest", "question", "verdict", "reason", "detail", "trigger")}
    fails = [claim["claim"] for claim in case["claims"] if claim["verdict"] == FAIL and case["verdict"] == FAIL]
    return kept | {"fails": fails} | {key: case["observations"][key] for key in _OBSERVED}


def _listed(claims: Sequence[Document]) -> dict[str, Any]:
    return {
        "claims": [claim for claim in claims if claim["status"] != UNCHANGED],
        "unchanged": [claim["claim"] for claim in claims if claim["status"] == UNCHANGED],
    }


# --- claims


def _claim_pairs(before: Sequence[Document], after: Sequence[Document]) -> Iterator[Pair]:
    """Pair claims by name and version, then those that are left by name alone: they are versions of one claim."""
    common = {claim["claim"] for claim in before} & {claim["claim"] for claim in after}
    yield from (pair for name, pair in _by_name("claim", before, after) if name in common)
    left, right = ([claim for claim in side if claim["claim"] not in common] for side in (before, after))
    for base in sorted({_base(claim) for claim in (*left, *right)}):
        sides = (sorted((claim for claim in side if _base(claim) == base), key=_named) for side in (left, right))
        yield from zip_longest(*sides)


def _base(claim: Document) -> str:
    return str(claim["claim"]).partition("@")[0]


def _named(claim: Document) -> tuple[list[tuple[int, str]], str]:
    return _natural(claim["claim"])


def _claim(before: Document | None, after: Document | None, old: Document, new: Document) -> Document:
    status = _claim_status(before, after, old, new)
    known = [claim for claim in (before, after) if claim]
    names = {claim["claim"] for claim in known}
    return {
        "claim": names.pop() if len(names) == 1 else _base(known[0]),
        "status": status,
        "before": before,
        "after": after,
    }


def _claim_status(before: Document | None, after: Document | None, old: Document, new: Document) -> str:
    if before is None or after is None:
        return _one_sided(before, old, new)
    if before["claim"] != after["claim"]:
        return NOT_COMPARABLE
    verdict = standing(said(old, before), said(new, after))
    if verdict != UNCHANGED or said(old, before)[1] == "smoke":
        return verdict
    if not same(before["faults"], after["faults"]):
        return CHANGED
    return UNCHANGED if before["examined"] == after["examined"] else DETAIL


def _one_sided(before: Document | None, old: Document, new: Document) -> str:
    if _unasked(old, new):
        return HIDDEN
    return ADDED if before is None else REMOVED


def _unasked(before: Document, after: Document) -> bool:
    """Tell whether one side has no claims since it had no environment: they were not taken away."""
    return "environment" in (before["reason"], after["reason"])


def standing(before: Said, after: Said) -> str:
    """Return what became of a verdict: `changed`, `unchanged`, or `hidden` if a side is UNKNOWN in a way that says nothing."""
    if before == after:
        return UNCHANGED
    return HIDDEN if hides(before) or hides(after) else CHANGED


def hides(found: Said) -> bool:
    """Tell whether a verdict says nothing about the subject; other UNKNOWNs are facts about it."""
    return found[1] in _HIDES


# --- evidence


def _is_cut(*cases: Document) -> bool:
    """Tell whether the evidence of a side is not whole, so that what it lacks may have been there."""
    return any(case["reason"] in ("environment", "smoke") or _has_gap(case) for case in cases)


def _has_gap(case: Document) -> bool:
    # Where a history has a gap, no claim about it can PASS or be not applicable.
    verdicts = {claim["verdict"] for claim in case["claims"]}
    return not verdicts & {PASS, NOT_APPLICABLE} and any(claim["reason"] in _CUTS for claim in case["claims"])


def _calls(before: Sequence[Document], after: Sequence[Document]) -> list[Document]:
    """Return the rows of each call side by side, with what differs in them."""
    pairs = _by_name("call", *(_numbered(side) for side in (before, after)))
    return [_call(*(side["row"] if side else None for side in pair)) for _, pair in pairs]


def _numbered(rows: Sequence[Document]) -> list[Document]:
    """Name rows by call and count, since calls can share an id or have none."""
    ids = [row["call"] or "" for row in rows]
    names = [f"{name} {ids[:place].count(name)}" for place, name in enumerate(ids)]
    return [{"call": name, "row": row} for name, row in zip(names, rows, strict=True)]


def _call(before: Document | None, after: Document | None) -> Document:
    row = before or after or {}
    differs = _cells(before, after) if before and after else ["proposed"]
    return {"call": row["call"], "differs": differs, "before": before, "after": after}


def _cells(before: Document, after: Document) -> list[str]:
    """Return the cells of a row that differ; `words` if a tool message has another text and the same status."""
    differs = [key for key in _ACTIONS if not same(before[key], after[key])]
    statuses = [[message["status"] for message in row["reported"]] for row in (before, after)]
    if statuses[0] != statuses[1]:
        return [*differs, "reported"]
    return differs if same(before["reported"], after["reported"]) else [*differs, "words"]


def _row_differences(calls: Sequence[Document]) -> list[str]:
    found = {key for call in calls for key in call["differs"]}
    return [key for key in (*_ACTIONS, "reported") if key in found]


def _observed_differences(before: Document, after: Document) -> list[str]:
    differs = [] if before["trigger"] == after["trigger"] else ["trigger"]
    return [*differs, *(key for key in _OBSERVED if not same(before["observations"][key], after["observations"][key]))]


def _also(before: Document, after: Document, calls: Sequence[Document]) -> list[str]:
    """Return what differs and is no change by itself: words, and observations that claims judge where they matter."""
    words = ["words"] if any("words" in call["differs"] for call in calls) else []
    detail = ["detail"] if before["detail"] != after["detail"] else []
    left, right = before["observations"], after["observations"]
    names = sorted({*left, *right} - set(_OBSERVED))
    return [*words, *detail, *(f"observations.{name}" for name in names if not same(left.get(name), right.get(name)))]


def _by_name(key: str, before: Iterable[Document], after: Iterable[Document]) -> list[tuple[str, Pair]]:
    """Pair documents by the name that they have under a key, in an order that is the same from both sides."""
    left, right = ({str(item[key]): item for item in side} for side in (before, after))
    return [(name, (left.get(name), right.get(name))) for name in sorted({*left, *right}, key=_natural)]


def _natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Return a key by which 1.4.10 comes after 1.4.2; longer numbers are greater, however long they are."""
    parts = [part.lstrip("0") if place % 2 else part for place, part in enumerate(re.split(r"([0-9]+)", name))]
    return [(len(part) if place % 2 else 0, part) for place, part in enumerate(parts)], name
