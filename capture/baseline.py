"""A baseline: saved results that a run is compared with, so that what is known breaks no build and what is new does."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from capture import acceptance, results
from capture.acceptance import Accepted
from capture.diff import CHANGED, NOT_KNOWN, UNCHANGED, answer, diff
from capture.document import Document
from capture.errors import InputRefused

__all__ = ["accepting", "against", "fitting"]

_New = Callable[[Document], list[str]]
"""Returns the claims of a case that FAIL and that nobody knew."""


def fitting(baseline: Document, pins: Collection[str], cases: Collection[str] | None, where: str) -> Document:
    """Return the part of a baseline that a run of these pins and cases can be compared with, all cases if none are named.

    A baseline of one pin fits a run of one pin, whatever their names: that is an upgrade. One that shares no pin is refused.
    """
    known = [pin["pin"] for pin in baseline["pins"]]
    shared = known if len(known) == len(pins) == 1 else [name for name in known if name in pins]
    if not shared:
        raise InputRefused(
            f"{where}: none of its pins is on the other side.", "Compare one pin with one, or pins that have the same names."
        )
    names = {case["case"] for pin in baseline["pins"] for case in pin["cases"]}
    return results.narrowed(baseline, shared, names if cases is None else cases)


def against(baseline: Document, measured: Document, accepted: Sequence[Accepted]) -> Document:
    """Return the difference of a run from its baseline; the answer is `changed` if one is not accepted, or a FAIL is new."""
    return _weighed(diff(baseline, measured), measured, accepted, _new)


def accepting(before: Document, after: Document, accepted: Sequence[Accepted]) -> Document:
    """Return the difference of two sides; the answer is `changed` if a change is not that of FAILs that are accepted after it."""
    return _weighed(diff(before, after), after, accepted, lambda _: [])


def _weighed(found: Document, measured: Document, accepted: Sequence[Accepted], new: _New) -> dict[str, Any]:
    """Return a difference with the FAILs in each case that are accepted, those that are new and are not, and its answer."""
    there = {(pin["pin"], case["case"]): (pin, case) for pin in measured["pins"] for case in pin["cases"]}
    pins = [
        {**pin, "cases": [_weighed_case(case, accepted, there.get((pin["after"], case["case"])), new) for case in pin["cases"]]}
        for pin in found["pins"]
    ]
    return {**found, "pins": pins, "answer": _answer(pins), "accepted": acceptance.report(accepted, measured)}


def _weighed_case(
    case: Document, accepted: Sequence[Accepted], measured: tuple[Document, Document] | None, new: _New
) -> dict[str, Any]:
    known = acceptance.reasons(accepted, *measured) if measured else {}
    return {**case, "accepted": known, "new": [claim for claim in new(case) if claim not in known]}


def _new(case: Document) -> list[str]:
    """Return the claims that FAIL and did not in the same case before."""
    before, after = case["before"], case["after"]
    comparable = before is not None and after is not None and before["digest"] == after["digest"]
    return [claim for claim in (after["fails"] if after else ()) if not (comparable and claim in before["fails"])]


def _answer(pins: Sequence[Mapping[str, Any]]) -> str:
    cases = [case for pin in pins for case in pin["cases"]]
    if any(case["new"] or (case["status"] == CHANGED and not _is_accepted(case)) for case in cases):
        return CHANGED
    counts = [{**pin["counts"], CHANGED: 0, UNCHANGED: pin["counts"][UNCHANGED] + pin["counts"][CHANGED]} for pin in pins]
    hidden = any(claim["status"] == "hidden" for case in cases for claim in case["claims"])
    return NOT_KNOWN if hidden else answer([{"counts": found} for found in counts])


def _is_accepted(case: Document) -> bool:
    """Tell whether a change is that of claims that may FAIL; the evidence that changed with them is theirs."""
    changed = [claim["claim"] for claim in case["claims"] if claim["status"] == CHANGED]
    return bool(changed) and all(claim in case["accepted"] for claim in changed)
