"""A bare graph as source: a function for each effect and each node, and the graph that they make."""

from collections.abc import Iterator, Mapping
from typing import Any

from capture import graph as plan
from capture.render.script.pieces import RESERVED
from capture.render.script.source import block, call, text, value

__all__ = ["answer_of", "effects", "graph", "nodes"]

_Data = Mapping[str, Any]

_EFFECT = """
def {function}({parameters}):
    show("dispatch", ({name}, {received}))
"""

_NODE = """
def {function}(state):
{body}"""

_TYPES = {"string": "str", "integer": "int", "boolean": "bool", "array": "list", "object": "dict"}


def effects(scenario: _Data) -> str:
    """Return a function for each effect that nodes dispatch: it prints what a real one would send, pay or delete."""
    return "\n".join(_effect(tool) for tool in scenario["subject"]["tools"])


def _effect(tool: _Data) -> str:
    names = tool["parameters"]
    received = f"{{{', '.join(f'{text(name)}: {name}' for name in names)}}}"
    # A parameter of that name would hide what prints.
    parameters, received = ("**received", "received") if "show" in names else (", ".join(names), received)
    return _EFFECT.format(function=_effect_name(tool["name"]), parameters=parameters, name=text(tool["name"]), received=received)


def _effect_name(tool: str) -> str:
    return f"{tool}_" if tool in RESERVED else tool


def nodes(scenario: _Data) -> str:
    """Return the function of each node that acts."""
    acting = [node for node in scenario["subject"]["nodes"] if "acts" in node]
    return "\n".join(_NODE.format(function=_node_name(node), body=block(_body(node, scenario))) for node in acting)


def _node_name(node: _Data) -> str:
    return f"{node['name'].replace('-', '_')}_node"


def _body(node: _Data, scenario: _Data) -> Iterator[str]:
    adds = any("say" in act or "model" in act for act in node["acts"])
    if adds:
        yield "added = []"
    for act in node["acts"]:
        yield from _act(act, node, scenario)
    yield 'return {"messages": added}' if adds else "return {}"


def _act(act: _Data, node: _Data, scenario: _Data) -> Iterator[str]:
    """Yield the lines of one act."""
    if "before" in act:
        yield f'show("before", {text(act["before"])})'
    elif "say" in act:
        yield f"added.append(AIMessage({text(act['say'])}))"
    elif "model" in act:
        yield 'said = model.invoke([*state["messages"], *added])'
        yield "added.append(said)"
    elif "raise" in act:
        name = text(node["name"])
        yield f"if failed[{name}] < {act['raise']}:\n    failed[{name}] += 1\n    raise NodeFailed"
    elif "ask" in act:
        yield from _ask(plan.questions(scenario)[act["ask"]])
    else:
        yield from _guarded(act, list(_dispatch(act, scenario)), scenario)


def _ask(question: _Data) -> Iterator[str]:
    shown = value(question.get("value"), 0)
    if "call" in question:
        yield f'call = next(call for call in said.tool_calls if call["id"] == {text(question["call"])})'
        shown = f'{{"call": {text(question["call"])}, "name": call["name"], "args": call["args"]}}'
    yield f"{_answer_name(question['name'])} = interrupt({shown}{_schema(question)})"
    if "typed" in question:
        yield f"{_answer_name(question['name'])} = {_answer_name(question['name'])}.model_dump()"


def _schema(question: _Data) -> str:
    if "typed" in question:
        fields = ", ".join(f"{name}=({_TYPES[kind]}, ...)" for name, kind in question["typed"].items())
        return f', response_schema=create_model("Answer", {fields})'
    return f", response_schema={value(question['schema'], 0)}" if "schema" in question else ""


def _answer_name(question: str) -> str:
    return f"{question.replace('-', '_')}_answer"


def _guarded(act: _Data, lines: list[str], scenario: _Data) -> list[str]:
    if "if" not in act:
        return lines
    goes = value(plan.questions(scenario)[act["if"]]["goes"], 0)
    return [f"if {_answer_name(act['if'])} in {goes}:", block(lines).rstrip("\n")]


def _dispatch(act: _Data, scenario: _Data) -> Iterator[str]:
    if "proposed" in act:
        names = ", ".join(f"{text(tool['name'])}: {_effect_name(tool['name'])}" for tool in scenario["subject"]["tools"])
        yield f'for call in said.tool_calls:\n    {{{names}}}[call["name"]](**call["args"])'
        return
    given = {name: value(part, 4) for name, part in act.get("args", {}).items()}
    given |= {name: _answer_name(question) for name, question in act.get("answers", {}).items()}
    yield f"{_effect_name(act['effect'])}({', '.join(f'{name}={part}' for name, part in given.items())})"


def graph(scenario: _Data, model: str, tools: list[str]) -> str:
    """Return the lines that make the graph; `model` is the source of its model, `tools` are the names of its tools."""
    subject = scenario["subject"]
    lines = [f"model = {model}"] if plan.speaks(scenario) else []
    lines += ["builder = StateGraph(MessagesState)", *(_added(node, tools) for node in subject["nodes"])]
    lines += _edges(subject["nodes"])
    options = {"interrupt_before": subject["interrupt_before"]} if "interrupt_before" in subject else {}
    kept = ["checkpointer=InMemorySaver()"] if subject["checkpointer"] == "memory" else []
    return "\n".join([*lines, f"agent = {call('builder.compile', options, *kept).source}"])


def _added(node: _Data, tools: list[str]) -> str:
    does = f"ToolNode([{', '.join(tools)}])" if "tools" in node else _node_name(node)
    retry = ""
    if "retries" in node:
        retry = f", retry_policy=RetryPolicy(max_attempts={node['retries'] + 1}, initial_interval=0, jitter=False)"
    return f"builder.add_node({text(node['name'])}, {does}{retry})"


def _edges(nodes: list[_Data]) -> Iterator[str]:
    first = [node for node in nodes if plan.precedes(node, nodes) == "start"]
    if any("on" in node for node in first):
        yield from _chosen(first)
    else:
        yield from (f"builder.add_edge(START, {text(node['name'])})" for node in first)
    for node in nodes:
        following = [text(known["name"]) for known in nodes if plan.precedes(known, nodes) == node["name"]] or ["END"]
        yield from (f"builder.add_edge({text(node['name'])}, {then})" for then in following)


def _chosen(first: list[_Data]) -> Iterator[str]:
    """Yield how the graph begins where nodes wait for a text: with those that wait for what was said last."""
    waiting: dict[str, list[str]] = {}
    for node in first:
        if "on" in node:
            waiting.setdefault(node["on"], []).append(node["name"])
    others = [node["name"] for node in first if "on" not in node]
    usual = value(others, 0) if others else "[END]"
    yield f'builder.add_conditional_edges(START, lambda state: {value(waiting, 0)}.get(state["messages"][-1].content, {usual}))'


def answer_of(step: _Data, scenario: _Data) -> str:
    """Return what a step resumes with that answers what the subject asks by itself."""
    given = [(plan.questions(scenario)[answer["question"]], answer.get("value")) for answer in step["answers"]]
    if step.get("by") != "id":
        return value(given[0][1], 0)
    pairs = [
        f"question_id({value(question.get('value', question.get('call')), 0)}): {value(answer, 0)}" for question, answer in given
    ]
    return f"{{{', '.join(pairs)}}}"
