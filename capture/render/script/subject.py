"""The subject of a case as source: its tools, its scripted model, its middleware."""

from collections.abc import Iterator, Mapping
from typing import Any

from capture.graph import is_graph
from capture.render.script.pieces import RESERVED
from capture.render.script.source import Code, block, call, text, value
from capture.scenario import parts

__all__ = ["arguments", "flags", "limit", "model", "names", "tools"]

_TYPES = {"string": "str", "integer": "int", "boolean": "bool", "array": "list", "object": "dict"}

_INJECTED = {
    "tool_call_id": "Annotated[str, InjectedToolCallId]",
    "state": "Annotated[dict, InjectedState]",
    "runtime": "ToolRuntime",
}

_ACTS = {
    "raise": 'if runs["{tool}"] <= {given}:\n    raise ToolFailed',
    "wait": "{sleep}.sleep({given} / 1000)",
    "gate": "gate()",
    "interrupt": "interrupt({given})",
    "ask": 'asked = {{"call": tool_call_id, "name": "{tool}", "args": {args}}}\n'
    'if interrupt(asked) not in {goes}[tool_call_id]:\n    return "declined"',
}

_HIDDEN = frozenset({"ToolFailed", "asyncio", "gate", "interrupt", "is_running", "runs", "show", "time"})
"""What the body of a tool may name, and a parameter of the same name would hide."""

_TOOL = """
@tool{options}
{kind} {function}({parameters}) -> str:
    {description}
{body}"""

_KIT = {
    "counter": "CallCounter",
    "error-handler": "ErrorHandler",
    "jump-to-tools": "JumpToTools",
    "rewrite-after-model": "RewriteAfterModel",
    "rewrite-tool-call": "RewriteToolCall",
}


def flags(scenario: Mapping[str, Any]) -> set[str]:
    """Return what a case needs of the helpers beyond their names: ids for messages, hooks for a way to run, a model that raises."""
    messages = [message for _, part in parts(scenario) for message in part.get("messages", [])]
    found = {"async" if is_async else "sync" for is_async in _ways(scenario)}
    found |= {"ids"} if any("id" in message for message in messages) else set()
    found |= {"graph"} if is_graph(scenario) else set()
    found |= {"remembers"} if any("remembers" in turn for turn in scenario["script"]) else set()
    return found | ({"raise_on"} if any("raise" in turn for turn in scenario["script"]) else set())


def tools(scenario: Mapping[str, Any]) -> str:
    """Return the functions of the tools."""
    return "\n\n".join(_tool(tool, scenario) for tool in scenario["subject"]["tools"])


def arguments(scenario: Mapping[str, Any]) -> str:
    """Return what `create_agent` gets."""
    subject = scenario["subject"]
    stack = [_middleware(item) for item in subject.get("middleware", [])]
    found = [model(scenario), value([Code(name) for name in names(scenario)], 4), f"middleware={value(stack, 4)}"]
    found += ["checkpointer=InMemorySaver()"] if subject["checkpointer"] == "memory" else []
    return "\n".join(f"    {argument}," for argument in found)


def names(scenario: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools' functions."""
    return [_function(tool, scenario) for tool in scenario["subject"]["tools"]]


def model(scenario: Mapping[str, Any]) -> str:
    """Return the scripted model."""
    script = scenario["script"]
    in_order = [_turn(turn) for turn in script if "on_call" not in turn]
    on_call = {turn["on_call"]: _turn(turn) for turn in script if "on_call" in turn and "raise" not in turn}
    raising = [turn["on_call"] for turn in script if "raise" in turn]
    facts = [(turn["remembers"], turn["text"], turn["otherwise"]) for turn in script if "remembers" in turn]
    found = f"script={value(in_order, 4)}"
    found += f", on_call={value(on_call, 4)}" if on_call else ""
    found += f", remembers={value(facts, 4)}" if facts else ""
    return f"ScriptedModel({found}{f', raise_on={value(raising, 4)}' if raising else ''})"


def limit(scenario: Mapping[str, Any]) -> str:
    """Return what the config says of how many calls run at once, if the case limits that."""
    most = scenario["subject"].get("max_concurrency")
    return f', "max_concurrency": {most}' if most else ""


def _ways(scenario: Mapping[str, Any]) -> set[bool]:
    """Tell for each way in which a case runs whether it is asynchronous; two streams are only to be had in one way."""
    usual = scenario["subject"].get("run") == "async"
    only = {"astream_events": True, "stream_events": False}
    runs = [part for _, part in parts(scenario) if part["do"] not in ("update-state", "wait")]
    return {only.get(part.get("through", ""), usual) for part in runs}


def _turn(turn: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    calls = [{"id": call.get("id"), "name": call["tool"], "args": call["args"]} for call in turn.get("calls", [])]
    return turn.get("text", ""), calls


def _function(tool: Mapping[str, Any], scenario: Mapping[str, Any]) -> str:
    """Return the name of a tool's function: the tool's own, unless it is a word of Python or of the script."""
    name, others = str(tool["name"]), {other["name"] for other in scenario["subject"]["tools"]}
    while name in RESERVED or (name != tool["name"] and name in others):
        name += "_"
    return name


def _tool(tool: Mapping[str, Any], scenario: Mapping[str, Any]) -> str:
    function, is_async = _function(tool, scenario), _is_async(tool, scenario)
    return _TOOL.format(
        options=_options(tool, function),
        kind="async def" if is_async else "def",
        function=function,
        parameters=", ".join(_parameters(tool)),
        description=text(tool["description"]),
        body=block(_body(tool, scenario, is_async=is_async)),
    )


def _body(tool: Mapping[str, Any], scenario: Mapping[str, Any], *, is_async: bool) -> list[str]:
    before, after = (list(_acts(tool, key, scenario, is_async=is_async)) for key in ("before", "after"))
    body = [*before, f'show("dispatch", ("{tool["name"]}", {_received(tool)}))', *after]
    if any("raise" in act for key in ("before", "after") for act in tool.get(key, [])):
        body.insert(0, f'runs["{tool["name"]}"] += 1')
    if any(step["do"] == "wait" for step in scenario["steps"]):
        body = [f'with is_running("{tool["name"]}"):', block(body)]
    return [*body, f"return {text(tool['returns'])}"]


def _is_async(tool: Mapping[str, Any], scenario: Mapping[str, Any]) -> bool:
    return bool(tool["run"] == "async" if "run" in tool else _ways(scenario) == {True})


def _options(tool: Mapping[str, Any], function: str) -> str:
    name = [] if function == tool["name"] else [text(tool["name"])]
    schema = _schema(tool)
    found = [*name, *([f"args_schema={schema}"] if schema else [])]
    return f"({', '.join(found)})" if found else ""


def _schema(tool: Mapping[str, Any]) -> str | None:
    """Return what declares the arguments, where the function's own parameters do not."""
    if tool.get("arguments") == "json-schema":
        return value(_json_schema(tool), 0)
    if _HIDDEN.isdisjoint(tool["parameters"]):
        return None
    fields = [f"{name}=({_type(tool, name)}, {value(tool.get('defaults', {}).get(name, ...), 0)})" for name in tool["parameters"]]
    fields += [f"{name}=({kind}, ...)" for name, kind in _injected(tool).items()]
    config = ', __config__={"arbitrary_types_allowed": True}' if "injected" in tool else ""
    return f"create_model({text(tool['name'])}{config}, {', '.join(fields)})"


def _json_schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    properties = {name: {"type": tool.get("types", {}).get(name, "string")} for name in tool["parameters"]}
    required = [name for name in tool["parameters"] if name not in tool.get("defaults", {})]
    return {"type": "object", "title": tool["name"], "properties": properties, "required": required}


def _parameters(tool: Mapping[str, Any]) -> list[str]:
    """Return the parameters of a function, those that may be left out at the end, as Python wants it."""
    injected = [f"{name}: {kind}" for name, kind in _injected(tool).items()]
    if _schema(tool):
        return [*injected, "**received"]
    defaults = tool.get("defaults", {})
    required = [f"{name}: {_type(tool, name)}" for name in tool["parameters"] if name not in defaults]
    others = [f"{name}: {_type(tool, name)} = {value(defaults[name], 0)}" for name in tool["parameters"] if name in defaults]
    return [*required, *injected, *others]


def _injected(tool: Mapping[str, Any]) -> dict[str, str]:
    names = [*(["tool_call_id"] if tool.get("call_id") else []), *tool.get("injected", [])]
    return {name: _INJECTED[name] for name in names}


def _type(tool: Mapping[str, Any], name: str) -> str:
    return _TYPES[tool.get("types", {}).get(name, "string")]


def _received(tool: Mapping[str, Any]) -> str:
    names = ", ".join(f'"{name}": {name}' for name in tool["parameters"])
    return "received" if _schema(tool) else f"{{{names}}}"


def _acts(tool: Mapping[str, Any], key: str, scenario: Mapping[str, Any], *, is_async: bool) -> Iterator[str]:
    """Yield what a tool does before or after its effect."""
    questions = scenario["subject"].get("questions", [])
    goes = value({question["call"]: question.get("goes", []) for question in questions if "call" in question}, 4)
    words = {"tool": tool["name"], "args": _received(tool), "goes": goes, "sleep": "await asyncio" if is_async else "time"}
    for act in tool.get(key, []):
        ((kind, given),) = act.items()
        yield _ACTS[kind].format(given=value(given, 4), **words)


def _middleware(item: Mapping[str, Any]) -> Code:
    options = {**item.get("options", {}), **dict.fromkeys(item.get("none", []))}
    if item["kind"] in _KIT:
        name = options.pop("name", None)
        made = call(_KIT[item["kind"]], options)
        return made if name is None else Code(f"named({text(name)}, {made.source})")
    if isinstance(options.get("interrupt_on"), Mapping):
        options["interrupt_on"] = {tool: _policy(policy) for tool, policy in options["interrupt_on"].items()}
    return call(item["kind"], options)


def _policy(policy: Any) -> Any:
    """Return a policy with its predicate and its description as source, where the case says what those return."""
    if not isinstance(policy, Mapping):
        return policy
    made = dict(policy)
    if isinstance(policy.get("when"), Mapping):
        made["when"] = Code(f"predicate({value(policy['when'], 0)})")
    if isinstance(policy.get("description"), Mapping):
        made["description"] = Code(f"lambda tool_call, state, runtime: {text(policy['description']['returns'])}")
    return made
