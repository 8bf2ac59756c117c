"""The steps of a case as source: what the operator does, one after the other."""

from collections.abc import Mapping, Sequence
from typing import Any

from capture import scenario as plan
from capture.render.script import graph
from capture.render.script.source import Code, block, call, text, value
from capture.render.script.subject import flags

__all__ = ["steps"]

Step = Mapping[str, Any]

_WAYS: Mapping[str | None, tuple[str, str]] = {
    None: ("show_state(agent.invoke({}))", "show_state(asyncio.run(agent.ainvoke({})))"),
    "v2": ('show_v2(agent.invoke({}, version="v2"))', 'show_v2(asyncio.run(agent.ainvoke({}, version="v2")))'),
    "astream_events": ('show_stream(asyncio.run(collected(agent.astream_events({}, version="v2"))))',) * 2,
    "stream_events": ('show_stream(agent.stream_events({}, version="v3").values)',) * 2,
}
"""How an agent is run, sync and async; two ways are only to be had in one of them."""

_STREAM = ("show_stream(agent.stream({}))", "show_stream(asyncio.run(collected(agent.astream({}))))")

_PLAIN = frozenset({"call_id", "description", "name", "parameters", "receives", "returns"})

_MESSAGES = {"ai": "AIMessage", "human": "HumanMessage", "remove": "RemoveMessage", "tool": "ToolMessage"}


def steps(scenario: Mapping[str, Any]) -> str:
    """Return the steps; where anything may be raised, each within `step()`, which shows it and goes on."""
    is_quiet = _is_quiet(scenario)
    numbered = enumerate(scenario["steps"], start=1)
    return "\n".join(_step(step, str(number), scenario, is_quiet=is_quiet) for number, step in numbered)


def _step(step: Step, place: str, scenario: Mapping[str, Any], *, is_quiet: bool) -> str:
    if step["do"] == "wait":
        return "wait()"
    if step["do"] == "concurrently":
        parts = enumerate(step["steps"], start=1)
        return _concurrently([_step(part, f"{place}-{branch}", scenario, is_quiet=is_quiet) for branch, part in parts])
    lines = _update(step) if step["do"] == "update-state" else _run(step, place, scenario)
    return "\n".join(lines) if is_quiet else f"with step():\n{block(lines)}".rstrip("\n")


def _concurrently(parts: Sequence[str]) -> str:
    branches = [f"branch_{number}" for number in range(1, len(parts) + 1)]
    functions = [f"\n\ndef {name}():\n{block([part])}" for name, part in zip(branches, parts, strict=True)]
    return "".join([*functions, f"\n\nconcurrently({', '.join(branches)})"])


def _run(step: Step, place: str, scenario: Mapping[str, Any]) -> list[str]:
    """Return the lines of a step that runs the agent."""
    if step["do"] in ("invoke", "message"):
        named = {"id": f"human-{place}"} if "ids" in flags(scenario) else {}
        said = _message({"type": "human", "text": step["text"], **named})
        return [_shown(f'{{"messages": [{said.source}]}}', step, scenario["subject"])]
    if step["do"] == "resume":
        *lines, answer = _answer(step, scenario)
        return [*lines, _shown(f"Command(resume={answer})", step, scenario["subject"])]
    return [_shown("None", step, scenario["subject"])]


def _shown(given: str, step: Step, subject: Mapping[str, Any]) -> str:
    """Return the call that runs the agent in the way that the step says, and shows what comes of it."""
    way = step.get("through")
    options = [given, _limited(_place(step), step, subject)]
    options += [f"durability={text(subject['durability'])}"] if "durability" in subject else []
    options += [f"stream_mode={text(way)}"] if way and way not in _WAYS else []
    forms = _WAYS.get(way, _STREAM)
    return forms[subject.get("run") == "async"].format(", ".join(options))


def _limited(place: str, step: Step, subject: Mapping[str, Any]) -> str:
    """Return the config of a step with the limit of the case, which that of a checkpoint does not have."""
    most = subject.get("max_concurrency")
    return f'{{**{place}, "max_concurrency": {most}}}' if most and "at" in step else place


def _place(step: Step) -> str:
    """Return the config of a step: the thread's, or that of the checkpoint to which it goes back."""
    if "at" not in step:
        return "config"
    at = step["at"]
    if "paused" in at:
        return f"pick(paused, {at['paused'] - 1})"
    return f"pick(before({text(at['next'])}), {at.get('number', 0) - 1})"


def _answer(step: Step, scenario: Mapping[str, Any]) -> list[str]:
    """Return what a step resumes with, as an expression, after the lines that it needs."""
    if "answers" in step:
        return [graph.answer_of(step, scenario)]
    if "decisions" not in step:
        answer = value(step.get("value"), 0)
        return [f"{{pick(listed, {step['question'] - 1}): {answer}}}" if "question" in step else answer]
    decisions = [{key: decision[key] for key in decision if key != "call"} for decision in step["decisions"]]
    if step.get("by") == "value":
        return [f"decision = {value(decisions[0], 0)}", "decision"]
    if step.get("by") != "id":
        return [f"decisions = {value(decisions, 0)}", '{"decisions": decisions}']
    if not plan.is_per_call(scenario):
        return [f"decisions = {value(decisions, 0)}", '{pick(batches, -1): {"decisions": decisions}}']
    calls = [Code(f"pick(questions, {value(decision.get('call'), 0)})") for decision in step["decisions"]]
    return [f"answers = {value(dict(zip(calls, decisions, strict=True)), 0)}", "answers"]


def _update(step: Step) -> list[str]:
    """Return the lines of a step that writes into the thread's messages, as another node would."""
    node = f", as_node={text(step['as_node'])}" if "as_node" in step else ""
    messages = value([_message(message) for message in step["messages"]], 0)
    return [f"messages = {messages}", f'agent.update_state({_place(step)}, {{"messages": messages}}{node})']


def _message(item: Mapping[str, Any]) -> Code:
    words = [] if item["type"] == "remove" else [text(item.get("text", ""))]
    fields = {"tool_call_id": item.get("answers"), "status": item.get("status"), "id": item.get("id")}
    calls = [{"id": made.get("id"), "name": made["tool"], "args": made["args"]} for made in item.get("calls", [])]
    given = {"tool_calls": calls or None, **fields}
    return call(_MESSAGES[item["type"]], {name: part for name, part in given.items() if part is not None}, *words)


def _is_quiet(scenario: Mapping[str, Any]) -> bool:
    """Tell whether a case is so simple that nothing can be raised: plain tools, a policy, a call, and each question answered."""
    subject, steps = scenario["subject"], scenario["steps"]
    calls = scenario["script"][0].get("calls", []) if scenario["script"] else []
    return (
        subject["checkpointer"] == "memory"
        and "questions" not in subject
        and "nodes" not in subject
        and all(tool.keys() <= _PLAIN for tool in subject["tools"])
        and all(item["kind"] == "HumanInTheLoopMiddleware" for item in subject.get("middleware", []))
        and all(isinstance(policy, bool) for _, policy in plan.policies(scenario))
        and not plan.is_per_call(scenario)
        and all("id" in made for made in calls)
        and not any("on_call" in turn for turn in scenario["script"])
        and [step["do"] for step in steps] in (["invoke"], ["invoke", "resume"])
        and all(_is_full(step, scenario, calls) for step in steps[1:])
    )


def _is_full(step: Step, scenario: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a step answers, by position, each call of the turn that a policy gates, with tools that there are."""
    tools = {tool["name"] for tool in scenario["subject"]["tools"]}
    gated = [made["id"] for made in calls if dict(plan.policies(scenario)).get(made["tool"], False)]
    decisions = step.get("decisions", [])
    edited = {decision.get("edited_action", {}).get("name") for decision in decisions if decision["type"] == "edit"}
    return not step.keys() & {"at", "by"} and edited <= tools and [decision.get("call") for decision in decisions] == gated
