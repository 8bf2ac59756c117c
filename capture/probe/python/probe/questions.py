"""What a person has been asked, so that an answer can be addressed: by position, by the id of its question, or bare."""

import json
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from probe.plain import plain


class Impossible(Exception):
    """A step names a question or a checkpoint that is not there, so it cannot be taken."""


class Questions:
    """The questions of a thread: those listed last, and every one that was ever listed."""

    def __init__(self, declared: Iterable[Mapping[str, Any]]) -> None:
        """Start with none; `declared` are those that the subject asks by itself, which have names."""
        self._declared = {question["name"]: question for question in declared}
        self._listed: list[Any] = []
        self._ever: list[Any] = []

    def ask(self, interrupts: Iterable[Any]) -> list[dict[str, Any]]:
        """Take note of what a step asks and return it for the record, in an order that does not depend on which task was first."""
        self._listed = sorted(interrupts, key=lambda item: json.dumps(plain(item.value), sort_keys=True))
        self._ever += self._listed
        return [_record(item) for item in self._listed]

    def recall(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Take note of what was asked before this process: a person remembers it, and so does the page that shows it to them."""
        reviews = [entry for entry in entries if entry.get("vantage") == "review"]
        self._ever = [SimpleNamespace(id=entry["question"], value=entry["value"]) for entry in reviews]
        last = max((entry["step"] for entry in reviews), default=None)
        self._listed = [item for item, entry in zip(self._ever, reviews, strict=True) if entry["step"] == last]

    def answer(self, step: Mapping[str, Any]) -> Any:
        """Return the value to resume with, as the step addresses it; raise `Impossible` if its question was never listed."""
        if "answers" in step:
            return self._named(step)
        if "decisions" not in step:
            value = step.get("value")
            return {self._numbered(step["question"]): value} if "question" in step else value
        decisions = [{key: decision[key] for key in decision if key != "call"} for decision in step["decisions"]]
        if step.get("by") == "value":
            return decisions[0]
        if step.get("by") == "id":
            return self._by_id([decision.get("call") for decision in step["decisions"]], decisions)
        return {"decisions": decisions}

    def _by_id(self, calls: list[str | None], decisions: list[dict[str, Any]]) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        for call, decision in zip(calls, decisions, strict=True):
            question = self._about(call)
            if "action_requests" in question.value:
                answers.setdefault(question.id, {"decisions": []})["decisions"].append(decision)
            else:
                answers[question.id] = decision
        return answers

    def _about(self, call: str | None) -> Any:
        """Return the question about a call, the latest first; a question about several calls is about each of them."""
        for question in [*self._listed, *reversed(self._ever)]:
            value = question.value
            if isinstance(value, Mapping) and (
                "action_requests" in value or ("tool_call_id" in value and value["tool_call_id"] == call)
            ):
                return question
        raise Impossible

    def _named(self, step: Mapping[str, Any]) -> Any:
        answers = [(answer["question"], answer.get("value")) for answer in step["answers"]]
        if step.get("by") == "id":
            return {self._called(name).id: value for name, value in answers}
        return answers[0][1]

    def _called(self, name: str) -> Any:
        """Return the question that the subject has under a name, one that waits first."""
        declared = self._declared[name]
        for question in [*self._listed, *reversed(self._ever)]:
            value = plain(question.value)
            if value == declared["value"] if "value" in declared else _about(value) == declared["call"]:
                return question
        raise Impossible

    def _numbered(self, number: int) -> str:
        if number > len(self._listed):
            raise Impossible
        return str(self._listed[number - 1].id)


def _record(item: Any) -> dict[str, Any]:
    schema = plain(getattr(item, "response_schema", None))
    return {"question": item.id, "value": plain(item.value), **({} if schema is None else {"schema": schema})}


def _about(value: Any) -> Any:
    return value.get("call") if isinstance(value, Mapping) else None
