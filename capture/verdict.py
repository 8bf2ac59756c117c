"""Verdicts: of a claim about a history, and of a case. Pure: no clock, no disk, no framework.

A case is FAIL if a claim FAILs, else UNKNOWN if one is UNKNOWN, else PASS; and nothing passes in which what the case is about
did not happen. What was not observed is UNKNOWN with a reason, never PASS.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from capture import graph
from capture.claims import CLAIMS, Claim, Fault, Finding
from capture.completeness import gap
from capture.errors import InputRefused
from capture.history import CaseHistory
from capture.trigger import TRIGGERS

__all__ = ["FAIL", "NOT_APPLICABLE", "PASS", "REASONS", "UNKNOWN", "CaseVerdict", "Judgement", "judge", "judge_claim", "merge"]

PASS, FAIL, UNKNOWN, NOT_APPLICABLE = "PASS", "FAIL", "UNKNOWN", "not applicable"

VERDICTS = (PASS, FAIL, UNKNOWN)
"""The verdicts that a case can have; a claim may also be not applicable."""

REASONS = {
    "ambiguous": "A dispatch could belong to several calls, or a document promises two things, and the verdict depends on which.",
    "checkpointer": "What keeps the thread failed: it was not reached, was full or locked, or has a form unknown to the release.",
    "environment": "The environment could not be built, or is not the pinned one, so nothing was run in it.",
    "error": "The probe itself failed: it died, or what it sent was no answer.",
    "smoke": "The smoke test of this environment did not come out right, so its answers do not count.",
    "timeout": "A step did not come back within its limit; the limit is the machine's, not the subject's.",
    "unfinished": "The run did not end, so what was allowed may still run.",
    "unobservable": "A vantage that the claim needs saw nothing, or something that has no known form.",
    "unsupported": "The release does not have what the case is about, by a check of the feature itself.",
    "untriggered": "What the case is about did not happen, so it says nothing.",
}


@dataclass(frozen=True)
class Judgement:
    """The verdict of one claim about one history, with how much it examined and where it does not hold."""

    claim: str
    verdict: str
    reason: str | None
    examined: int
    faults: tuple[Fault, ...]


@dataclass(frozen=True)
class CaseVerdict:
    """The verdict of a case, the reason if it is UNKNOWN, and the verdicts that it follows from."""

    verdict: str
    reason: str | None
    detail: str | None
    triggered: bool
    claims: tuple[Judgement, ...]


def judge(history: CaseHistory, claims: Iterable[str]) -> CaseVerdict:
    """Judge a history by the claims with these names, such as `core/no-refused-dispatch@1`."""
    triggered = _trigger(history)
    judged = tuple(judge_claim(history, _claim(name)) for name in claims)
    missing = gap(history)
    verdict, reason = merge(judged, missing[0] if missing else None, triggered=triggered)
    return CaseVerdict(verdict, reason, missing[1] if missing and verdict == UNKNOWN else None, triggered, judged)


def judge_claim(history: CaseHistory, claim: Claim) -> Judgement:
    """Judge a history by one claim."""
    missing = gap(history)
    # An agent that could not be built had nothing to show: no claim about what it does is applicable.
    unseen = history.outcome(0) != "raised" and any(not _observed(history, vantage) for vantage in claim.vantages)
    finding = Finding(0, unknown="unobservable") if unseen else claim.find(history)
    if finding.faults:
        return Judgement(claim.name, FAIL, None, finding.examined, finding.faults)
    reason = missing[0] if missing else finding.unknown
    if reason:
        return Judgement(claim.name, UNKNOWN, reason, finding.examined, ())
    return Judgement(claim.name, PASS if finding.examined else NOT_APPLICABLE, None, finding.examined, ())


def merge(judged: Iterable[Judgement], obstacle: str | None, *, triggered: bool) -> tuple[str, str | None]:
    """Return the verdict of a case and its reason, from those of its claims and from what stands in the way of a PASS."""
    verdicts = [judgement.verdict for judgement in judged]
    if FAIL in verdicts:
        return FAIL, None
    if obstacle:
        return UNKNOWN, obstacle
    unknown = [judgement.reason for judgement in judged if judgement.verdict == UNKNOWN]
    if unknown:
        return UNKNOWN, unknown[0]
    return (PASS, None) if triggered and PASS in verdicts else (UNKNOWN, "untriggered")


def _observed(history: CaseHistory, vantage: str) -> bool:
    # No dispatch, no review, nothing received and no call of a model that is not there are observations too, as long as
    # somebody was watching.
    built = history.outcome(0) == "built"
    sends = any("sends" in tool for tool in history.scenario["subject"]["tools"])
    silent = built and not graph.speaks(history.scenario)
    watched = {"dispatch": built, "review": any(history.of("outcome")), "wire": built and sends, "prompt": silent}
    return watched.get(vantage, False) or bool(history.of(vantage))


def _trigger(history: CaseHistory) -> bool:
    name = history.scenario["trigger"]
    if name not in TRIGGERS:
        raise InputRefused(f"case {history.case}: {name!r} is not a trigger.", "Judge it with the version that recorded it.")
    return TRIGGERS[name](history)


def _claim(name: str) -> Claim:
    if name not in CLAIMS:
        raise InputRefused(f"{name!a} is not a claim of this version.", "Judge it with the version that recorded it.")
    return CLAIMS[name]
