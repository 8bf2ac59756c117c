"""The middleware stack that a case describes, built from the packages under audit and from the kit, in the case's order."""

import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from langchain.agents import middleware as kinds

from probe.journal import Journal
from probe.kit import KIT


class Unsupported(Exception):
    """This release does not have a feature that the case is about; the text names the feature."""


def build(stack: list[dict[str, Any]], journal: Journal) -> list[Any]:
    """Return the middleware objects in the case's order; an option that is no parameter here is unsupported."""
    return [
        KIT[item["kind"]](journal, **item.get("options", {})) if item["kind"] in KIT else _build(item, journal) for item in stack
    ]


def require(function: Callable[..., Any], parameter: str, what: str) -> None:
    """Refuse a release whose function lacks a parameter: asked of the signature, since older ones swallow what they do not know."""
    if parameter not in inspect.signature(function).parameters:
        raise Unsupported(f"parameter {parameter} of {what}")


def _build(item: dict[str, Any], journal: Journal) -> Any:
    kind = getattr(kinds, item["kind"], None)
    if kind is None:
        raise Unsupported(f"middleware {item['kind']}")
    options = {**item.get("options", {}), **dict.fromkeys(item.get("none", []))}
    for name in sorted(options):
        require(kind.__init__, name, item["kind"])
    if isinstance(options.get("interrupt_on"), Mapping):
        options["interrupt_on"] = {tool: _policy(policy, journal) for tool, policy in options["interrupt_on"].items()}
    return kind(**options)


def _policy(policy: Any, journal: Journal) -> Any:
    """Return a policy with its predicate and its description as functions, where the case says what those return."""
    if not isinstance(policy, Mapping):
        return policy
    made = dict(policy)
    if isinstance(policy.get("when"), Mapping):
        made["when"] = _predicate(policy["when"], journal)
    if isinstance(policy.get("description"), Mapping):
        made["description"] = _description(policy["description"]["returns"])
    return made


def _description(text: str) -> Callable[..., str]:
    """Return a function of a description that the framework calls with the call, the state and the runtime."""
    return lambda *_, **__: text


def _predicate(answers: Mapping[str, list[bool]], journal: Journal) -> Callable[[Any], bool]:
    """Return a predicate that gives, for each call, one answer after the other, the last one again and again."""
    asked: Counter[str] = Counter()

    def when(request: Any) -> bool:
        call = str(request.tool_call["id"])
        planned = answers.get(call, [True])
        answer = planned[min(asked[call], len(planned) - 1)]
        asked[call] += 1
        journal.observe("predicate", call=call, number=asked[call], answer=answer)
        return answer

    return when
