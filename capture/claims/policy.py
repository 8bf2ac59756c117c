"""Claims about the policy: what cannot be meant is refused, and what it says is what a reviewer is offered and shown."""

from collections.abc import Iterator, Mapping
from typing import Any

from capture import scenario
from capture.authority import Item, same, shown
from capture.claims.registry import Fault, Finding, claim, evidence, numbered
from capture.history import CaseHistory

_ALL = ("approve", "edit", "reject", "respond")


@claim(
    "policy/misspelt-refused",
    version=1,
    sentence="A policy for a tool that has no list of allowed decisions is refused when the agent is built.",
    promised="langchain, HumanInTheLoopMiddleware, since 1.3.15: raises ValueError, since the gate would be dropped silently.",
    vantages=(),
)
def misspelt_refused(history: CaseHistory) -> Finding:
    """Examine every policy of the case that says something, but no decision that is allowed."""
    wrong = [tool for tool, policy in scenario.policies(history.scenario) if isinstance(policy, Mapping) and not _allowed(policy)]
    built = history.outcome(0) == "built"
    return Finding(len(wrong), tuple(Fault(numbered("outcome", 0), "raised", "built") for _ in wrong[:1] if built))


@claim(
    "review/decisions-offered",
    version=1,
    sentence="A reviewer is offered exactly the decisions that the policy allows; true allows all four.",
    promised="langchain, HumanInTheLoopMiddleware: true allows approve, edit, reject and respond, a list those that are in it.",
    vantages=("review",),
)
def decisions_offered(history: CaseHistory) -> Finding:
    """Examine every call that a reviewer was shown and that the case has a policy for."""
    policies = dict(scenario.policies(history.scenario))
    items = [item for item in _items(history) if item.call.tool in policies]
    faults = []
    for item in items:
        policy = policies[item.call.tool]
        wanted = _ALL if policy is True else _allowed(policy)
        if sorted(item.allowed) != sorted(wanted):
            faults.append(Fault(evidence("review", item.call.id), sorted(wanted), sorted(item.allowed)))
    return Finding(len(items), tuple(faults))


@claim(
    "review/description-shown",
    version=1,
    sentence="A reviewer is shown the policy's description; without one, the prefix, then the tool and its arguments.",
    promised="langchain, HumanInTheLoopMiddleware: description is a text or a function; without it description_prefix is used.",
    vantages=("review",),
)
def description_shown(history: CaseHistory) -> Finding:
    """Examine every call that a reviewer was shown and for which the case says what the description has to hold."""
    pairs = [(item, list(_described(history.scenario, item))) for item in _items(history)]
    wanted = [(item, texts) for item, texts in pairs if texts]
    wrong = [(item, texts) for item, texts in wanted if not _holds(item.description or "", texts)]
    return Finding(len(wanted), tuple(Fault(evidence("review", item.call.id), texts, item.description) for item, texts in wrong))


def _items(history: CaseHistory) -> list[Item]:
    return [item for number, _ in history.steps() for item in shown(history, number) or []]


def _allowed(policy: Any) -> list[str]:
    found = policy.get("allowed_decisions") if isinstance(policy, Mapping) else None
    return found if isinstance(found, list) else []


def _described(case: Mapping[str, Any], item: Item) -> Iterator[str]:
    """Yield what a description has to hold, in order: the policy's own text alone, or prefix, tool and arguments."""
    policy = dict(scenario.policies(case)).get(item.call.tool)
    own = policy.get("description") if isinstance(policy, Mapping) else None
    if own is not None:
        yield str(own["returns"]) if isinstance(own, Mapping) else str(own)
        return
    for prefix in scenario.options(case, "description_prefix"):
        yield from (str(prefix), item.call.tool, *map(str, item.call.args.values()))


def _holds(description: str, texts: list[str]) -> bool:
    if len(texts) == 1:
        return same(description, texts[0])
    return description.startswith(texts[0]) and all(text in description for text in texts)
