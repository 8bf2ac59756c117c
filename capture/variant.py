"""Variants: one case file run in several ways, each of which is a case of its own, so that nothing is written twice."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from capture.scenario import GATE, PER_CALL, options

__all__ = ["complaints", "variants"]

Scenario = dict[str, Any]


def variants(data: Mapping[str, Any]) -> Iterator[tuple[str, Scenario]]:
    """Yield each scenario that the content of a case file makes, with the suffix of its id.

    What is the usual way (sync, batched) changes nothing and is not named.
    """
    vary = data.get("vary", {})
    plain = {key: value for key, value in data.items() if key != "vary"}
    ways = [vary.get(dimension, [usual]) for dimension, usual in _USUAL.items()]
    for chosen in product(*ways):
        named = [value for value, usual in zip(chosen, _USUAL.values(), strict=True) if value != usual]
        scenario = plain
        for value in named:
            scenario = _CHANGES[value](scenario)
        yield "@" + ",".join(named) if named else "", scenario


def complaints(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield what cannot vary because the file says it already, or has nothing that could."""
    vary = data.get("vary", {})
    if "run" in vary and "run" in data["subject"]:
        yield "key vary.run: the subject says how it runs, so nothing varies"
    gated = any(item["kind"] == GATE for item in data["subject"].get("middleware", []))
    if "checkpointer" in vary and data["subject"]["checkpointer"] != "memory":
        yield "key vary.checkpointer: the subject says 'memory' where it varies; each of the others is named"
    if "interrupt" in vary and ("interrupt" in data["subject"] or "questions" not in data["subject"]):
        yield "key vary.interrupt: the subject needs questions of its own, and does not say itself how it asks them"
    if "mode" in vary and (not gated or options(data, "interrupt_mode")):
        yield f"key vary.mode: the subject needs a {GATE} that does not say its interrupt_mode itself"


_USUAL = {"run": "sync", "mode": "batched", "checkpointer": "memory", "interrupt": "plain"}


def _asynchronous(scenario: Scenario) -> Scenario:
    return {**scenario, "subject": {**scenario["subject"], "run": "async"}}


def _kept_by(kind: str) -> Callable[[Scenario], Scenario]:
    return lambda scenario: {**scenario, "subject": {**scenario["subject"], "checkpointer": kind}}


def _per_call(scenario: Scenario) -> Scenario:
    """Let the middleware ask about each call on its own, and every answer name its question."""
    subject = scenario["subject"]
    stack = [_asking(item) for item in subject.get("middleware", [])]
    return {**scenario, "subject": {**subject, "middleware": stack}, "steps": [_addressed(step) for step in scenario["steps"]]}


def _asking(item: Scenario) -> Scenario:
    if item["kind"] != GATE:
        return item
    return {**item, "options": {**item.get("options", {}), "interrupt_mode": PER_CALL}}


def _addressed(step: Scenario) -> Scenario:
    if "steps" in step:
        return {**step, "steps": [_addressed(part) for part in step["steps"]]}
    return {"by": "id", **step} if "decisions" in step else step


_CHANGES: Mapping[str, Callable[[Scenario], Scenario]] = {
    "async": _asynchronous,
    PER_CALL: _per_call,
    **{kind: _kept_by(kind) for kind in ("sqlite", "postgres")},
    "updates": lambda scenario: {**scenario, "subject": {**scenario["subject"], "interrupt": "updates"}},
}
