"""What is asked of each release of an axis: a case, or one claim of it; which of its results are an answer, and which differ."""

from dataclasses import dataclass

from capture import results
from capture.case import Case
from capture.case import find as find_cases
from capture.diff import CHANGED, DETAIL, UNCHANGED, diff, hides, said, standing
from capture.document import Document
from capture.errors import InputRefused
from capture.trial import Trial

__all__ = ["Asked", "of"]

_NAMED = 6

_DIFFERS = {CHANGED: True, DETAIL: False, UNCHANGED: False}


@dataclass(frozen=True)
class Asked:
    """A case, and the claim of it that is asked about, with its version; without one it is all of the case."""

    case: Case
    claim: str | None

    def judged(self, trial: Trial) -> Document:
        """Return what was asked about in the results of a release: the claim, or else the case."""
        claims = [claim for claim in trial.case["claims"] if claim["claim"] == self.claim]
        believed = claims and trial.case["reason"] != "smoke"
        return claims[0] if believed else trial.case

    def is_silent(self, trial: Trial) -> bool:
        """Tell whether the results say nothing of what was asked: everything about it is UNKNOWN in a way that hides it."""
        claims = trial.case["claims"] if self.claim is None else [self.judged(trial)]
        return all(hides(said(trial.case, claim)) for claim in claims)

    def differs(self, before: Trial, after: Trial) -> bool | None:
        """Tell whether two releases answer differently, as `diff` compares; None if what one of them hides could be a change."""
        if self.claim is not None:
            became = standing(said(self.judged(before)), said(self.judged(after)))
        else:
            (pin,) = diff(*(results.build([side.results]) for side in (before, after)))["pins"]
            became = pin["cases"][0]["status"] if pin["cases"] else UNCHANGED
        return _DIFFERS.get(became)


def of(name: str, claim: str | None) -> Asked:
    """Return the case and the claim with these names; several cases, or a claim by which it is not judged, are refused."""
    case = _case(name)
    return Asked(case, None if claim is None else _claim(claim, case))


def _case(name: str) -> Case:
    found = find_cases([name])
    if len(found) == 1:
        return found[0]
    ids = [case.id for case in found]
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    hint = "Leave one way in its key vary." if name.endswith(".toml") else "Name one of them."
    raise InputRefused(f"bisect: --case {name!a} means several: {', '.join(ids[:_NAMED])}{more}.", hint)


def _claim(name: str, case: Case) -> str:
    for claim in case.claims:
        if name in (claim, claim.partition("@")[0]):
            return claim
    raise InputRefused(f"bisect: --claim {name!a}: {case.id} is not judged by it.", f"It is by {', '.join(case.claims)}.")
