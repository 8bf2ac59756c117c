"""A bare graph as the subject of a scenario, and what a subject asks by itself: what can be meant, and what cannot."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["GRAPH", "complaints", "is_graph", "precedes", "questions", "speaks"]

GRAPH = "graph"
"""The kind of subject that is a bare graph of nodes."""

_TAKEN = frozenset({"end", "messages", "start"})

_OF_A_GRAPH = ("interrupt", "interrupt_before", "nodes")

_Node = Mapping[str, Any]


def is_graph(scenario: Mapping[str, Any]) -> bool:
    """Tell whether the subject of a scenario is a bare graph."""
    return bool(scenario["subject"].get("kind") == GRAPH)


def questions(scenario: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return what the subject asks by itself, by name."""
    return {question["name"]: question for question in scenario["subject"].get("questions", [])}


def precedes(node: _Node, nodes: list[_Node]) -> str:
    """Return what a node follows: what it says, the start if it waits for a text there or is the first, else the one before it."""
    place = nodes.index(node)
    return str(node.get("after", "start" if "on" in node or not place else nodes[place - 1]["name"]))


def speaks(scenario: Mapping[str, Any]) -> bool:
    """Tell whether a subject calls a model: an agent does, and a graph of which a node does."""
    acts = [act for node in scenario["subject"].get("nodes", []) for act in node.get("acts", [])]
    return not is_graph(scenario) or any("model" in act for act in acts)


def complaints(scenario: Mapping[str, Any]) -> Iterator[str]:
    """Yield a complaint for each thing about a graph, or about what a subject asks by itself, that cannot be meant."""
    subject = scenario["subject"]
    if is_graph(scenario):
        yield from _whole(subject)
    else:
        yield from (f"key subject.{key}: only a subject of the kind graph has it" for key in _OF_A_GRAPH if key in subject)
        for key, missing in (("subject.tools", not subject["tools"]), ("script", not scenario["script"])):
            if missing:
                yield f"key {key}: an agent needs at least one"
    yield from _questions(scenario)
    yield from _asking_tools(scenario)
    for number, step in enumerate(scenario["steps"]):
        for place, part in enumerate(step.get("steps", [step])):
            yield from _answers(f"steps.{number}" + (f".steps.{place}" if "steps" in step else ""), part, scenario)


def _whole(subject: Mapping[str, Any]) -> Iterator[str]:
    if "nodes" not in subject:
        yield "key subject.nodes: a graph needs them"
        return
    if "middleware" in subject:
        yield "key subject.middleware: a graph has none"
    names = [node["name"] for node in subject["nodes"]]
    for name in sorted({name for name in names if names.count(name) > 1 or name in _TAKEN}):
        yield f"key subject.nodes: {name!r} stands twice, or is a name that the graph itself takes"
    for name in subject.get("interrupt_before", []):
        if name not in names:
            yield f"key subject.interrupt_before: {name!r} is not a node"
    for number, node in enumerate(subject["nodes"]):
        yield from _node(node, names[:number], subject)


def _node(node: _Node, before: list[str], subject: Mapping[str, Any]) -> Iterator[str]:
    where = f"key subject.nodes: {node['name']}"
    if node.get("after", "start") not in ("start", *before):
        yield f"{where} follows {node['after']!r}, which is no node before it, nor 'start'"
    if "on" in node and node.get("after", "start") != "start":
        yield f"{where} waits for a text, so it follows the start"
    if "tools" in node and not subject["tools"]:
        yield f"{where} runs tools, of which there are none"
    acts = node.get("acts", [])
    for place, act in enumerate(acts):
        yield from (f"{where}, act {place + 1}: {complaint}" for complaint in _act(act, acts[:place], subject))


def _act(act: _Node, before: list[_Node], subject: Mapping[str, Any]) -> Iterator[str]:
    asked = [known["ask"] for known in before if "ask" in known]
    speaks = any("model" in earlier for earlier in before)
    if "ask" in act:
        yield from _ask(act["ask"], asked, subject, speaks=speaks)
    if "if" in act and any(known["name"] == act["if"] and "goes" not in known for known in subject.get("questions", [])):
        yield f"{act['if']!r} does not say on which answers the subject goes on; give it goes"
    if "proposed" in act and not speaks:
        yield "the model does not speak before it in this node, so it proposed nothing"
    if "effect" in act:
        yield from _effect(act, subject)
    yield from (f"{name!r} is not a question that this node asks before" for name in _rests_on(act) if name not in asked)


def _rests_on(act: _Node) -> list[str]:
    """Return the questions on whose answers an act rests."""
    return [*act.get("answers", {}).values(), *([act["if"]] if "if" in act else [])]


def _ask(name: str, asked: list[str], subject: Mapping[str, Any], *, speaks: bool) -> Iterator[str]:
    question = next((known for known in subject.get("questions", []) if known["name"] == name), None)
    if question is None or name in asked:
        yield f"{name!r} is not a question of the subject, or is asked by this node already"
    elif "call" in question and not speaks:
        yield f"{name!r} shows a call, but the model does not speak before it in this node"


def _effect(act: _Node, subject: Mapping[str, Any]) -> Iterator[str]:
    tool = next((tool for tool in subject["tools"] if tool["name"] == act["effect"]), None)
    given = [*act.get("args", {}), *act.get("answers", {})]
    if tool is None:
        yield f"{act['effect']!r} is not a tool of the subject"
    elif sorted(given) != sorted(tool["parameters"]):
        yield f"{act['effect']} takes {', '.join(tool['parameters']) or 'nothing'}, each once, from args or answers"


def _questions(scenario: Mapping[str, Any]) -> Iterator[str]:
    subject, tools = scenario["subject"], {tool["name"] for tool in scenario["subject"]["tools"]}
    found = subject.get("questions", [])
    calls = {call.get("id") for turn in scenario["script"] for call in turn.get("calls", [])}
    asked = {act["ask"] for node in subject.get("nodes", []) for act in node.get("acts", []) if "ask" in act}
    asking = any("ask" in act for tool in subject["tools"] for act in tool.get("before", []))
    for number, question in enumerate(found):
        where = f"key subject.questions: {question['name']}"
        if any(_alike(question, other) for other in found[:number]):
            yield f"{where} has the name of another question, or asks the same, so nobody could tell which is answered"
        if "call" in question and question["call"] not in calls:
            yield f"{where} is about {question['call']!r}, which is not a call of the script"
        if question["name"] not in asked and not (asking and "call" in question):
            yield f"{where} is asked by no node and no tool"
        if "guards" in question and question["guards"]["tool"] not in tools:
            yield f"{where} guards {question['guards']['tool']!r}, which is not a tool of the subject"
        yield from (f"{where}: {complaint}" for complaint in _updates(question, subject))


def _alike(question: _Node, other: _Node) -> bool:
    keys = [key for key in ("name", "call", "value") if key in question and key in other]
    return any(question[key] == other[key] for key in keys)


def _updates(question: _Node, subject: Mapping[str, Any]) -> Iterator[str]:
    if "fails" in question and "interrupt" not in subject:
        yield "an update function fails, but only interrupt = 'updates' has any"
    if ("schema" in question or "typed" in question) and "interrupt" in subject:
        yield "the reference implementation takes no schema"


def _asking_tools(scenario: Mapping[str, Any]) -> Iterator[str]:
    about = {question.get("call") for question in scenario["subject"].get("questions", [])}
    calls = [call for turn in scenario["script"] for call in turn.get("calls", [])]
    for tool in scenario["subject"]["tools"]:
        where = f"key subject.tools: {tool['name']} asks about its call"
        if not any("ask" in act for act in tool.get("before", [])):
            continue
        if not tool.get("call_id"):
            yield f"{where}, so it also needs call_id"
        for call in calls:
            if call["tool"] == tool["name"] and call.get("id") not in about:
                yield f"{where}, but no question of the subject is about {call.get('id')!r}"
        if "interrupt" in scenario["subject"]:
            yield f"{where}, which the reference implementation does not support"


def _answers(key: str, part: Mapping[str, Any], scenario: Mapping[str, Any]) -> Iterator[str]:
    known = questions(scenario)
    given = part.get("answers", [])
    if len(given) > 1 and part.get("by") != "id":
        yield f"key {key}.answers: only one answer can be given bare; several go by = 'id'"
    if given and part.get("by") == "value":
        yield f"key {key}.by: an answer is bare unless it goes by = 'id'"
    for answer in given:
        question = known.get(answer["question"])
        if question is None:
            yield f"key {key}.answers: {answer['question']!r} is not a question of the subject"
        elif "authorises" in answer and not _guards(question, answer["authorises"], scenario):
            yield f"key {key}.answers: the question {answer['question']} guards no such effect, so nothing of it can be allowed"


def _guards(question: _Node, allowed: Any, scenario: Mapping[str, Any]) -> bool:
    """Tell whether an answer can allow this: the effect that its question guards, or the same tool with other arguments."""
    calls = {call.get("id"): call["tool"] for turn in scenario["script"] for call in turn.get("calls", [])}
    tool = calls.get(question["call"]) if "call" in question else question.get("guards", {}).get("tool")
    return tool is not None and (allowed is True or allowed["tool"] == tool)
