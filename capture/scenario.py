"""A scenario: a case without the claims that judge it. Both a case file and a saved history carry one, so both are checked here."""

import keyword
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from capture import document, graph
from capture.errors import InputRefused

__all__ = [
    "ENDS",
    "GATE",
    "PERSISTENT",
    "PER_CALL",
    "acts",
    "check",
    "is_contained",
    "is_per_call",
    "is_persistent",
    "is_streamed",
    "options",
    "parts",
    "policies",
    "unknown",
]

PER_CALL = "per_call"
"""The option of the middleware that makes it ask about each call on its own."""

ENDS = ("kill", "restart")
"""The steps that end a process, and run nothing of the subject."""

PERSISTENT = ("postgres", "sqlite")
"""The checkpointers that outlive a process; a pin has them from a lock of their own."""

GATE = "HumanInTheLoopMiddleware"
"""The middleware under audit, by its name."""


def check(scenario: Mapping[str, Any], where: str, *, smoke: bool = False) -> None:
    """Refuse a scenario, with the key, if it does not fit the schema or if anything in it cannot be meant.

    Only the smoke test may plant a fault in the recording.
    """
    # A case file has one key more, its claims; any claim will do to fit the schema of both.
    document.check({**scenario, "claims": ["core/any"]}, "case", where)
    for complaint in _complaints(scenario, smoke=smoke):
        raise InputRefused(f"{where}: {complaint}.", "Correct the case.")


def policies(scenario: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each tool that a case's middleware is told to gate, with its policy."""
    for options in _gates(scenario):
        found = options.get("interrupt_on")
        yield from found.items() if isinstance(found, Mapping) else ()


def options(scenario: Mapping[str, Any], name: str) -> list[Any]:
    """Return what a case gives the middleware under audit as this option, once for each time that it stands in the list."""
    return [found[name] for found in _gates(scenario) if name in found]


def is_persistent(scenario: Mapping[str, Any]) -> bool:
    """Tell whether a case keeps its thread with a persistent checkpointer."""
    return scenario["subject"]["checkpointer"] in PERSISTENT


def is_contained(scenario: Mapping[str, Any]) -> bool:
    """Tell whether one process holds all of a case: nothing of it is kept, received or done outside."""
    tools = scenario["subject"]["tools"]
    ends = any(step["do"] in ENDS for step in scenario["steps"]) or any("kill" in act for act in acts(*tools))
    return not (ends or is_persistent(scenario) or any("sends" in tool for tool in tools))


def acts(*tools: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what the bodies of tools do before and after their effects."""
    return [act for tool in tools for key in ("before", "after") for act in tool.get(key, [])]


def is_per_call(scenario: Mapping[str, Any]) -> bool:
    """Tell whether a case's middleware asks about each call on its own."""
    return any(options.get("interrupt_mode") == PER_CALL for options in _gates(scenario))


def parts(scenario: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return everything that the operator does, each with its key: the steps, and the parts of one that takes several at once."""
    found = []
    for number, step in enumerate(scenario["steps"]):
        key = f"steps.{number}"
        inner = [(f"{key}.steps.{place}", part) for place, part in enumerate(step.get("steps", []))]
        found += inner or [(key, step)]
    return found


def is_streamed(part: Mapping[str, Any]) -> bool:
    """Tell whether something is run as a stream: the second version of invoke is none."""
    return part.get("through") not in (None, "v2")


def _gates(scenario: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for item in scenario["subject"].get("middleware", []):
        if item["kind"] == GATE:
            yield item.get("options", {})


def unknown(key: str, names: Iterable[object], known: Iterable[object], what: str) -> Iterator[str]:
    """Yield a complaint for each name that is not among the known ones."""
    for name in names:
        if name not in known:
            yield f"key {key}: {name!r} is not {what}"


def _complaints(scenario: Mapping[str, Any], *, smoke: bool) -> Iterator[str]:
    tools = [tool["name"] for tool in scenario["subject"]["tools"]]
    turns = [*scenario["script"], *(message for _, part in parts(scenario) for message in part.get("messages", []))]
    calls = [call for turn in turns for call in turn.get("calls", [])]
    if "vary" in scenario:
        yield "key vary: a scenario is one of the cases that a file makes, and does not vary itself"
    if not smoke and any("plant" in tool for tool in scenario["subject"]["tools"]):
        yield "key subject.tools: only the smoke test may plant a fault"
    yield from _twice("subject.tools", tools)
    for tool in scenario["subject"]["tools"]:
        yield from _tool(tool, scenario)
    yield from _kit(scenario)
    yield from _turns(scenario["script"])
    yield from unknown("gated", scenario["gated"], tools, "a tool of the subject")
    yield from unknown(
        "ungated", scenario.get("ungated", []), [call["id"] for call in calls if "id" in call], "a call of the script"
    )
    yield from _policies(scenario, calls)
    yield from graph.complaints(scenario)
    yield from _together(scenario)
    yield from _deaths(scenario)
    yield from _steps(scenario)
    for key, part in parts(scenario):
        yield from _answers(key, part, calls, scenario)


_TAKEN = frozenset({"args", "callbacks", "config", "kwargs", "run_manager", "runtime", "self", "state", "store", "tool_call_id"})


def _tool(tool: Mapping[str, Any], scenario: Mapping[str, Any]) -> Iterator[str]:
    """Yield a complaint for each parameter whose name the framework takes for itself, and for what does not go together."""
    where = f"key subject.tools: {tool['name']}"
    for name in tool["parameters"]:
        if name in _TAKEN or name.startswith(("_", "model_")) or not name.isidentifier() or keyword.iskeyword(name):
            yield f"{where} has a parameter {name!r}, which is not a name that a tool can have"
    for key in ("types", "defaults"):
        yield from unknown(f"subject.tools.{key}", tool.get(key, {}), tool["parameters"], f"a parameter of {tool['name']}")
    if "arguments" in tool and (tool.get("call_id") or "injected" in tool):
        yield f"{where} declares its arguments as a JSON schema, into which nothing can be injected"
    yield from _acts(tool, where, scenario)


def _acts(tool: Mapping[str, Any], where: str, scenario: Mapping[str, Any]) -> Iterator[str]:
    """Yield a complaint for each thing that a tool does and that lacks what it needs."""
    if tool.get("key") and not ("sends" in tool and tool.get("call_id")):
        yield f"{where} has a key, so it also needs what it sends by, and call_id"
    if not any("gate" in act for act in acts(tool)):
        return
    if not any(step["do"] == "concurrently" for step in scenario["steps"]):
        yield f"{where} waits at a gate, but no step takes several at once"
    if any(len(turn.get("calls", [])) > 1 for turn in scenario["script"]):
        yield f"{where} waits at a gate, so each turn of the script has one call: beside another nobody knows which of them moves"


_OPTIONS: Mapping[str, frozenset[str]] = {
    "counter": frozenset({"name"}),
    "error-handler": frozenset({"name"}),
    "jump-to-tools": frozenset({"name"}),
    "rewrite-after-model": frozenset({"args", "name", "tool"}),
    "rewrite-tool-call": frozenset({"args", "name", "tool"}),
}


_NOT_OPTIONS = frozenset({"self"})


def _policies(scenario: Mapping[str, Any], calls: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a complaint for each option and policy whose shape cannot be meant; what they mean is the subject's to say."""
    known = [call["id"] for call in calls if "id" in call]
    for item in scenario["subject"].get("middleware", []):
        options = item.get("options", {})
        yield from (f"key subject.middleware: {name!r} is no option" for name in sorted(_NOT_OPTIONS & options.keys()))
        for name in sorted(options.keys() & set(item.get("none", []))):
            yield f"key subject.middleware: {name!r} stands among the options and under none"
        if not isinstance(options.get("interrupt_on", {}), Mapping):
            yield "key subject.middleware: interrupt_on is a table with a policy for each tool"
    for tool, policy in policies(scenario):
        if isinstance(policy, Mapping):
            yield from _functions(f"key subject.middleware: the policy of {tool}", policy, known)


def _functions(where: str, policy: Mapping[str, Any], calls: list[str]) -> Iterator[str]:
    """Yield a complaint about what a policy says of its functions: the answers of a predicate, the text of a description."""
    description, when = policy.get("description", ""), policy.get("when", {})
    text = description.get("returns") if isinstance(description, Mapping) and len(description) == 1 else description
    if not isinstance(text, str):
        yield f"{where} has a description that is neither a text nor {{ returns = text }}"
    if not isinstance(when, Mapping) or not all(_answers_of(answers) for answers in when.values()):
        yield f"{where} has a predicate that is no table of calls with the answers that it gives: {{ call-1 = [true, false] }}"
    else:
        yield from unknown("subject.middleware", when, calls, "a call of the script, but a predicate answers for it")


def _answers_of(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(answer, bool) for answer in value)


def _together(scenario: Mapping[str, Any]) -> Iterator[str]:
    """Yield a complaint for each step that does not go together with the subject."""
    subject = scenario["subject"]
    for key, part in parts(scenario):
        if subject["checkpointer"] == "none" and (is_streamed(part) or part["do"] == "update-state" or "at" in part):
            yield f"key {key}: without a checkpointer there is no state to read or to go back to"
        if "crash" in part and not is_persistent(scenario):
            yield f"key {key}.crash: only what is persistent can be cut while it is put"
        if subject.get("run") == "async" and part.get("through") == "stream_events":
            yield f"key {key}.through: stream_events is the synchronous method, and the subject runs asynchronously"


def _deaths(scenario: Mapping[str, Any]) -> Iterator[str]:
    """Yield a complaint for each place where a process ends, or several run, in which nobody could tell what happened."""
    kills = any("kill" in act for act in acts(*scenario["subject"]["tools"]))
    cut = kills or any(step["do"] in ENDS or "crash" in step for step in scenario["steps"])
    for number, step in enumerate(scenario["steps"]):
        inner = step.get("steps", [])
        if step.get("processes") and not is_persistent(scenario):
            yield f"key steps.{number}.processes: they share nothing but what is persistent"
        if inner and (any("crash" in part for part in inner) or kills):
            yield f"key steps.{number}: where several go on at once, a process that is killed leaves nobody to tell which"
    if cut and any("paused" in part.get("at", {}) for _, part in parts(scenario)):
        yield "key steps: a new process does not know when the thread was paused; go back by what comes next"
    if cut and any(is_streamed(part) for _, part in parts(scenario)):
        yield "key steps: a stream that is cut shows nothing; run through invoke where a process ends"


def _kit(scenario: Mapping[str, Any]) -> Iterator[str]:
    """Yield a complaint for each middleware of the kit that has not exactly the options that it takes; a name may be left out."""
    for item in scenario["subject"].get("middleware", []):
        options = item.get("options", {})
        known = _OPTIONS.get(item["kind"])
        if known is None:
            continue
        if not known - {"name"} <= set(options) <= known:
            names = ", ".join(sorted(known))
            yield f"key subject.middleware: {item['kind']} takes the options {names}, of which name may be left out"
        if "none" in item:
            yield f"key subject.middleware: {item['kind']} takes no None"
        if not isinstance(options.get("args", {}), Mapping) or not isinstance(options.get("name", ""), str):
            yield f"key subject.middleware: {item['kind']} has a text as its name and a table as its args"
        if "tool" in known:
            tools = [tool["name"] for tool in scenario["subject"]["tools"]]
            yield from unknown(
                "subject.middleware", [options.get("tool")], tools, f"a tool of the subject, which {item['kind']} needs"
            )


def _turns(script: list[Mapping[str, Any]]) -> Iterator[str]:
    for number, turn in enumerate(script):
        yield from _twice(f"script.{number}.calls", [call["id"] for call in turn.get("calls", []) if "id" in call])
        if "raise" in turn and ("on_call" not in turn or "calls" in turn or "text" in turn):
            yield f"key script.{number}.raise: a turn that raises says at which call of the model, and nothing else"
    yield from _twice("script.on_call", [str(turn["on_call"]) for turn in script if "on_call" in turn])


def _twice(key: str, names: list[str]) -> Iterator[str]:
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"key {key}: {name!r} stands twice"


def _steps(scenario: Mapping[str, Any]) -> Iterator[str]:
    """Yield a complaint for each step that cannot be meant where it stands."""
    steps, turns = scenario["steps"], len(scenario["script"])
    if steps[0]["do"] != "invoke" and not (graph.is_graph(scenario) and steps[0]["do"] == "resume"):
        yield "key steps.0.do: a case starts with 'invoke', or with 'resume' if the subject is a graph"
    spoken = 0
    for key, part in parts(scenario):
        if part["do"] == "invoke" and part is not steps[0]:
            yield f"key {key}.do: only the first step is 'invoke'; a later one that speaks is 'message'"
        spoken += part["do"] in ("invoke", "message")
        if spoken > turns and not graph.is_graph(scenario):
            yield f"key {key}: the script is at its end, it has no turn left to answer this"
            return


def _answers(key: str, part: Mapping[str, Any], calls: list[Mapping[str, Any]], scenario: Mapping[str, Any]) -> Iterator[str]:
    """Yield a complaint for each answer to a question that cannot exist, or that says something else than it seems to."""
    asked = {tool for tool, policy in policies(scenario) if policy is not False}
    tools = {call.get("id"): call["tool"] for call in calls}
    for decision in part.get("decisions", []):
        call = decision.get("call")
        if call not in tools:
            what = (
                "a call without an id, which the script has not" if call is None else f"{call!r}, which is not a call of the script"
            )
            yield f"key {key}.decisions: an answer about {what}"
        elif not any(known.get("id") == call and known["tool"] in asked for known in calls):
            yield f"key {key}.decisions: {call!r} calls {tools[call]}, about which no middleware of the case asks"
    if part.get("by") == "value" and len(part["decisions"]) != 1:
        yield f"key {key}.by: only one decision can be given bare"
    if _is_answer(part.get("value")):
        yield f"key {key}.value: this is an answer; write it as decisions, so that it says which call it is meant for"


_DECISIONS = frozenset({"approve", "edit", "reject", "respond"})


def _is_answer(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    parts = value.get("decisions", [value])
    return bool(isinstance(parts, list) and parts) and all(
        isinstance(part, Mapping) and isinstance(part.get("type"), str) and part["type"] in _DECISIONS for part in parts
    )
