"""Questions: what a person is shown when a run pauses, in the two forms that the middleware has, and what it lets them answer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from capture import document
from capture.history import Entry
from capture.scenario import acts

__all__ = ["Call", "Item", "asked", "declared", "fits", "of_the_tool", "own", "same"]


@dataclass(frozen=True)
class Call:
    """A tool call: its id, the tool, the arguments."""

    id: str | None
    tool: str
    args: Mapping[str, Any]


@dataclass(frozen=True)
class Item:
    """A call as a reviewer was shown it, and the decisions offered for it; `question` is the interrupt it came in.

    If it is `alone`, the question is about this one call, has a `schema` of its answer, and is answered with one decision.
    """

    call: Call
    allowed: tuple[str, ...]
    question: str
    description: str | None = None
    alone: bool = False
    schema: Mapping[str, Any] | None = None
    name: str | None = None
    """What the subject calls the question, if it asks by itself; then it is the case that says what an answer allows."""


def same(left: object, right: object) -> bool:
    """Tell whether two values are the same JSON; for Python `True == 1`, for JSON it is not."""
    return document.line(left) == document.line(right)


def asked(review: Entry) -> list[Item] | None:
    """Return the calls that a question is about, or None if it has no known form; only one about a single call has its id."""
    value = review["value"]
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        return _alone(value, review)
    return _together(value, review)


def declared(review: Entry, scenario: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what the case says of a question that its subject asks by itself, or None if the subject has no such question."""
    value = review["value"]
    about = value.get("call") if isinstance(value, Mapping) and _known(value.get("name"), value.get("args"), []) else None
    for question in scenario["subject"].get("questions", []):
        if same(question["value"], value) if "value" in question else question["call"] == about:
            return question  # type: ignore[no-any-return]
    return None


def own(question: Mapping[str, Any], review: Entry) -> Item | None:
    """Return what a question that the subject asks by itself is about, or None if no effect rests on it.

    One about a call shows the call; of every other the subject says which effect it guards.
    """
    if "call" in question:
        value = review["value"]
        call = Call(question["call"], value["name"], value["args"])
    elif "guards" in question:
        call = Call(question["name"], question["guards"]["tool"], question["guards"]["args"])
    else:
        return None
    return Item(call, (), review["question"], schema=review.get("schema"), name=question["name"])


def of_the_tool(review: Entry, scenario: Mapping[str, Any]) -> bool:
    """Tell whether a question is one that a tool of the case asks by itself, which is about no call."""
    found = acts(*scenario["subject"]["tools"])
    return any("interrupt" in act and same(act["interrupt"], review["value"]) for act in found)


def fits(answer: object, schema: Mapping[str, Any] | None) -> bool:
    """Tell whether an answer fits the schema that was shown; one that is no schema, or points elsewhere, nothing fits."""
    if schema is None:
        return True
    import jsonschema
    from referencing import Registry

    try:
        # An empty registry: nothing that a subject writes is fetched from anywhere.
        return bool(jsonschema.Draft202012Validator(schema, registry=Registry()).is_valid(answer))
    except Exception:  # noqa: BLE001 -- the schema is the subject's, and jsonschema raises a dozen kinds of errors at a bad one
        return False


def _alone(value: Mapping[str, Any], review: Entry) -> list[Item] | None:
    tool, args, call = value.get("name"), value.get("args"), value.get("tool_call_id")
    schema = review.get("schema")
    if not isinstance(tool, str) or not isinstance(args, Mapping) or not isinstance(call, str) or schema is None:
        return None
    offered = tuple(dict.fromkeys(_types(schema)))
    return [Item(Call(call, tool, args), offered, review["question"], _text(value), alone=True, schema=schema)]


def _types(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the types of decision that a schema of answers offers: its own, or those of its branches."""
    branches = [branch for key in ("oneOf", "anyOf") for branch in _list(schema.get(key))] or [schema]
    for branch in map(_table, branches):
        named = str(branch.get("$ref", "")).removeprefix("#/$defs/")
        found = _table(_table(schema.get("$defs")).get(named, branch))
        kind = _table(_table(found.get("properties")).get("type")).get("const")
        if isinstance(kind, str):
            yield kind


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _together(value: Any, review: Entry) -> list[Item] | None:
    try:
        allowed: dict[str, Any] = {}
        for config in value["review_configs"]:
            if allowed.setdefault(config["action_name"], config["allowed_decisions"]) != config["allowed_decisions"]:
                return None
        found = [(request, request["name"], request["args"], allowed[request["name"]]) for request in value["action_requests"]]
    except (KeyError, TypeError):
        return None
    if not found or not all(_known(tool, args, offered) for _, tool, args, offered in found):
        return None
    return [
        Item(Call(None, tool, args), tuple(offered), review["question"], _text(request)) for request, tool, args, offered in found
    ]


def _known(tool: object, args: object, offered: object) -> bool:
    listed = isinstance(offered, list) and all(isinstance(part, str) for part in offered)
    return isinstance(tool, str) and isinstance(args, Mapping) and listed


def _text(shown: Mapping[str, Any]) -> str | None:
    """Return the description that a request comes with, or None if it has none, or none that is text."""
    found = shown.get("description")
    return found if isinstance(found, str) else None
