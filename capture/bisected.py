"""What a bisection found, as a document: pure, and the same bytes wherever it was run."""

import shlex
from collections.abc import Mapping
from typing import Any

from capture import lock, results
from capture.asked import Asked
from capture.axis import Axis, Release
from capture.bisection import Outcome
from capture.diff import diff, hides, said
from capture.document import Document
from capture.pin import Pin
from capture.render.script import is_shown, script
from capture.trial import Trial

__all__ = ["report"]

Trials = Mapping[Release, Trial]


def report(axis: Axis, asked: Asked, outcome: Outcome[Release, Trial], trials: Trials) -> Document:
    """Return where the answer changed, what answers on both sides, what was tried, and how to see it with the script."""
    places = {name: getattr(outcome, name) for name in ("good", "bad", "last", "first")}
    named = {name: None if place is None else axis.releases[place] for name, place in places.items()}
    last, first = (trials[release] if release else None for release in (named["last"], named["first"]))
    return {
        "bisection": 1,
        "answer": outcome.kind,
        "case": asked.case.id,
        "digest": asked.case.digest,
        "question": asked.case.question,
        "claim": asked.claim,
        "axis": _axis(axis),
        **{name: release.version if release else None for name, release in named.items()},
        "between": [axis.releases[place].version for place in outcome.between],
        "runs": sum(trial.results["history"] is not None for trial in trials.values()),
        "tried": [_tried(asked, outcome, trials, place) for place in sorted(outcome.asked)],
        **_sides(asked, last, first),
    }


def _axis(axis: Axis) -> Document:
    versions = [release.version for release in axis.releases]
    return {"package": axis.package, "fixed": axis.fixed, "from": versions[0], "to": versions[-1], "releases": len(versions)}


def _tried(asked: Asked, outcome: Outcome[Release, Trial], trials: Trials, place: int) -> Document:
    release = outcome.places[place]
    trial = trials[release]
    judged = asked.judged(trial)
    unlike = outcome.unlike[place]
    return {
        "release": release.version,
        "pin": release.pin,
        "yanked": release.yanked,
        "verdict": judged["verdict"],
        "reason": judged["reason"],
        "answers": _answers(asked, outcome, trial, unlike=unlike),
        "because": _because(asked, outcome, trials, trial) if unlike is None else None,
    }


def _because(asked: Asked, outcome: Outcome[Release, Trial], trials: Trials, trial: Trial) -> str:
    """Return why a release has no answer, or none that can be compared with that of the good end."""
    if trial.because or (own := _hidden(asked.judged(trial))):
        return trial.because or f"it is UNKNOWN ({own})"
    good = outcome.places[outcome.good or 0]
    return f"what is UNKNOWN ({_hidden(asked.judged(trials[good]))}) at {good.version} may have changed"


def _hidden(judged: Document) -> str:
    """Return in which ways that say nothing a claim, or a case with its claims, is UNKNOWN."""
    found = {said(judged), *(said(judged, claim) for claim in judged.get("claims", ()))}
    return ", ".join(sorted({str(reason) for verdict, reason in found if hides((verdict, reason))}))


def _answers(asked: Asked, outcome: Outcome[Release, Trial], trial: Trial, *, unlike: bool | None) -> str | None:
    """Return as which end a release answers, `another` if as neither, `not good` if nobody can tell about the bad one."""
    if not unlike:
        return None if unlike is None else "good"
    bad = None if outcome.bad is None else outcome.asked[outcome.bad]
    other = None if bad is None else asked.differs(bad, trial)
    return "not good" if other is None else "another" if other else "bad"


def _sides(asked: Asked, last: Trial | None, first: Trial | None) -> dict[str, Any]:
    if last is None or first is None or last.pin is None or first.pin is None:
        return {"difference": None, "helpers": [], "script": None}
    commands = {"last": _command(last.pin), "first": _command(first.pin)}
    return {
        "difference": diff(results.build([last.results]), results.build([first.results])),
        "helpers": _helpers(last.pin, first.pin),
        "script": {"text": script([asked.case]), **commands} if is_shown(asked.case) else None,
    }


def _helpers(before: Pin, after: Pin) -> list[Document]:
    """Return the other packages whose versions the locks of two pins have otherwise; of several versions the last counts."""
    left, right = (dict(lock.versions(pin.lock.path)) for pin in (before, after))
    names = sorted({*left, *right} - {*before.packages, *after.packages})
    found = [{"name": name, "before": left.get(name), "after": right.get(name)} for name in names]
    return [fact for fact in found if fact["before"] != fact["after"]]


def _command(pin: Pin) -> str:
    """Return the command that runs the script with the packages of a pin: those that decide, and the others of their time."""
    packages = [part for name, version in sorted(pin.packages.items()) for part in ("--with", f"{name}=={version}")]
    return shlex.join(["uv", "run", "--no-project", "--exclude-newer", pin.as_of, *packages, "script.py"])
