"""Completeness: what a history must hold to be a whole observation of its case. What is missing is never PASS.

A fault of the probe, a feature that the release lacks, a step that nobody saw end, an observation that a step owes, or two
that contradict each other: each is a gap, with the reason that the verdict gets.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from capture.document import line
from capture.history import PRIVATE_KEY, CaseHistory, Entry

__all__ = ["Gap", "gap"]

Gap = tuple[str, str]
"""A reason of UNKNOWN, and what exactly is missing."""


def gap(history: CaseHistory) -> Gap | None:
    """Return the first gap of a history, or None if it is a whole observation."""
    return next(_gaps(history), None)


def _gaps(history: CaseHistory) -> Iterator[Gap]:
    yield from (("unsupported", str(entry["feature"])) for entry in history.of("unsupported"))
    yield from ((str(entry["reason"]), str(entry["detail"])) for entry in history.of("fault"))
    yield from _steps(history)
    for number, _ in history.steps():
        yield from _owed(history, number)
    yield from _prompts(history)
    yield from _dispatches(history)
    yield from _checkpoints(history)


def _steps(history: CaseHistory) -> Iterator[Gap]:
    """Every step of the case was started and seen to end; after a construction that raised there is nothing to start."""
    started = [entry["step"] for entry in history.of("step")]
    outcomes = [history.outcome(step) for step in started]
    planned = 1 if outcomes[:1] == ["raised"] else len(history.scenario["steps"]) + 1
    if started != list(range(planned)):
        yield "error", "not every step of the case was started, in order"
    for step, outcome in zip(started, outcomes, strict=True):
        possible = ("built", "raised") if step == 0 else ("paused", "ended", "raised")
        if outcome not in possible:
            yield "error", f"step {step} has no outcome" if outcome is None else f"step {step} cannot have the outcome {outcome}"


def _owed(history: CaseHistory, step: int) -> Iterator[Gap]:
    """A step that returned shows its output, its messages and its checkpoints, and what it asks if it paused."""
    outcome = history.outcome(step)
    if outcome not in ("paused", "ended"):
        return
    for vantage in ("output", "messages"):
        if len(history.of(vantage, step=step)) != 1:
            yield "unobservable", f"step {step} returned, but not exactly one observation of its {vantage} is there"
    if not history.of("checkpoint", step=step):
        yield "unobservable", f"step {step} returned, but no checkpoint of it is there"
    if bool(history.of("review", step=step)) != (outcome == "paused"):
        yield "unobservable", f"step {step} {outcome}, but what the reviewer was shown does not agree"


def _prompts(history: CaseHistory) -> Iterator[Gap]:
    """The model's calls are numbered without a gap, and no message of the model is without the call that it came from."""
    numbers = [entry["number"] for entry in history.of("prompt")]
    if numbers != list(range(1, len(numbers) + 1)):
        yield "unobservable", "the calls of the model are not numbered without a gap"
    for entry in history.of("messages"):
        spoken = sum(message["type"] == "ai" for message in entry["messages"])
        if spoken > sum(prompt["step"] <= entry["step"] for prompt in history.of("prompt")):
            yield "unobservable", f"step {entry['step']} has more messages of the model than calls of it were seen"


def _dispatches(history: CaseHistory) -> Iterator[Gap]:
    """Each run of a tool's body begins, comes to its effect or does not, and ends, with one tool and one set of arguments."""
    found = sorted(history.of("dispatch"), key=lambda entry: (entry["step"], str(entry["invocation"])))
    for _, group in groupby(found, key=lambda entry: (entry["step"], entry["invocation"])):
        yield from _invocation(list(group))


_COURSE = ["entered", "dispatched", "returned"]
"""What every recording tool does; none has a behaviour yet that fails before its effect or after it."""


def _invocation(entries: list[Entry]) -> Iterator[Gap]:
    first = entries[0]
    if [entry["event"] for entry in entries] != _COURSE:
        yield (
            "unobservable",
            f"a run of the tool {first['tool']} in step {first['step']} was not seen from its beginning to its end",
        )
    if any(_identity(entry) != _identity(first) for entry in entries):
        yield "error", f"a run of the tool {first['tool']} in step {first['step']} changes its tool, call or arguments"


def _identity(entry: Entry) -> Mapping[str, Any]:
    return {key: entry[key] for key in ("tool", "args", "call") if key in entry}


def _checkpoints(history: CaseHistory) -> Iterator[Gap]:
    """Checkpoints form one chain or tree without a hole, and the last of a step holds the conversation that it returned."""
    known: set[str | None] = {None}
    for number, entry in enumerate(history.of("checkpoint"), start=1):
        if entry["checkpoint"] in known or entry["parent"] not in known or (entry["parent"] is None) != (number == 1):
            yield "unobservable", f"checkpoint {number} does not follow from one before it"
        known.add(entry["checkpoint"])
        if (PRIVATE_KEY in entry["keys"]) != ("stored_edits" in entry):
            yield "error", f"checkpoint {number} says both that stored edits are there and that they are not"
    for entry in history.of("messages"):
        yield from _last(history, entry)


def _last(history: CaseHistory, returned: Entry) -> Iterator[Gap]:
    step = returned["step"]
    for found in history.of("checkpoint", step=step)[-1:]:
        if line(found["messages"]) != line(returned["messages"]):
            yield "unobservable", f"the last checkpoint of step {step} is not of the conversation that it returned"
        if bool(found["next"]) != (history.outcome(step) == "paused"):
            yield "unobservable", f"the last checkpoint of step {step} does not agree with how the step ended"
