"""Completeness: what a history must hold to be a whole observation of its case. What is missing is never PASS.

A fault of the probe, a feature that the release lacks, a step that nobody saw end, an observation that a step owes, or two
that contradict each other: each is a gap, with the reason that the verdict gets.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any

from capture.document import line
from capture.history import PRIVATE_KEY, CaseHistory, Entry
from capture.scenario import ENDS, GATE, is_streamed

__all__ = ["Gap", "gap"]

Gap = tuple[str, str]
"""A reason of UNKNOWN, and what exactly is missing."""


@lru_cache(maxsize=4)
def gap(history: CaseHistory) -> Gap | None:
    """Return the first gap of a history, or None if it is a whole observation."""
    return next(_gaps(history), None)


def _gaps(history: CaseHistory) -> Iterator[Gap]:
    yield from (("unsupported", str(entry["feature"])) for entry in history.of("unsupported"))
    yield from ((str(entry["reason"]), str(entry["detail"])) for entry in history.of("fault"))
    if any("refused" in entry for entry in history.of("wire")):
        yield "error", "a sink refused something that it could not take"
    yield from _steps(history)
    for number, _ in history.steps():
        yield from _owed(history, number)
    yield from _prompts(history)
    yield from _dispatches(history)
    yield from _wire(history)
    yield from _deaths(history)
    yield from _checkpoints(history)


_BUILT, _RUN = ("built", "raised"), ("paused", "stopped", "ended", "raised", "killed")

_POSSIBLE: Mapping[str, tuple[str, ...]] = {
    "build": _BUILT,
    "invoke": _RUN,
    "message": _RUN,
    "resume": (*_RUN, "impossible"),
    "continue": _RUN,
    "replay": (*_RUN, "impossible"),
    "update-state": ("updated", "raised", "impossible"),
    "wait": ("waited",),
    **dict.fromkeys(ENDS, ("restarted",)),
}
"""How each thing that the operator does can end."""


def _steps(history: CaseHistory) -> Iterator[Gap]:
    """Every step of the case was started and seen to end; after a construction that raised there is nothing to start."""
    started = [entry["step"] for entry in history.of("step")]
    planned = 1 if started and history.outcome(0) == "raised" else len(history.scenario["steps"]) + 1
    if started != list(range(planned)):
        yield "error", "not every step of the case was started, in order"
    for step in started:
        yield from _ends(history, step)


def _ends(history: CaseHistory, step: int) -> Iterator[Gap]:
    """Each thing that a step did came to one end, of a kind that it can come to."""
    parts = history.parts(step)
    found = {entry.get("branch"): entry["status"] for entry in history.of("outcome", step=step)}
    if found.keys() != {branch for branch, _ in parts}:
        missing = len(found) < len(parts)
        yield "error", f"step {step} has no outcome" if missing else f"step {step} has outcomes of something else"
        return
    for branch, part in parts:
        if found[branch] not in _POSSIBLE[part["do"]]:
            yield "error", f"step {step} cannot have the outcome {found[branch]}"


def _owed(history: CaseHistory, step: int) -> Iterator[Gap]:
    """What returned shows its output, its messages and its checkpoints, and what it asks if it paused."""
    for branch, part in history.parts(step):
        yield from _shown(history, step, branch, part)
    if _moved(history, step) and not history.of("checkpoint", step=step):
        yield "unobservable", f"step {step} returned, but no checkpoint of it is there"


def _moved(history: CaseHistory, step: int) -> bool:
    """Tell whether a step leaves a checkpoint behind: it returned, the model spoke in it, and something keeps the thread."""
    kept = history.scenario["subject"]["checkpointer"] != "none"
    return kept and bool(history.of("prompt", step=step)) and history.outcome(step) in ("paused", "stopped", "ended")


def _shown(history: CaseHistory, step: int, branch: int | None, part: Mapping[str, Any]) -> Iterator[Gap]:
    status = history.ended(step, branch)
    if status not in ("paused", "stopped", "ended"):
        return
    given = "stream" if is_streamed(part) else "output"
    for vantage in (given, "messages"):
        if len(_own(history, vantage, step, branch)) != 1:
            yield "unobservable", f"step {step} returned, but not exactly one observation of its {vantage} is there"
    if bool(_own(history, "review", step, branch)) != (status == "paused"):
        yield "unobservable", f"step {step} {status}, but what the reviewer was shown does not agree"


def _own(history: CaseHistory, kind: str, step: int, branch: int | None) -> list[Entry]:
    return [entry for entry in history.of(kind, step=step) if entry.get("branch") == branch]


def _prompts(history: CaseHistory) -> Iterator[Gap]:
    """The model's calls are numbered without a gap, and no message of the model is without the call that it came from."""
    numbers = [entry["number"] for entry in history.of("prompt")]
    if numbers != list(range(1, len(numbers) + 1)):
        yield "unobservable", "the calls of the model are not numbered without a gap"
    if _others_speak(history):
        return
    for entry in history.of("messages"):
        spoken = sum(message["type"] == "ai" for message in entry["messages"])
        if spoken > _sources(history, entry["step"]):
            yield "unobservable", f"step {entry['step']} has more messages of the model than calls of it were seen"


def _others_speak(history: CaseHistory) -> bool:
    """Tell whether something beside the model may speak in its place: a middleware that limits or retries, or a node."""
    subject = history.scenario["subject"]
    kinds = {item["kind"] for item in subject.get("middleware", [])}
    says = any("say" in act for node in subject.get("nodes", []) for act in node.get("acts", []))
    return says or "interrupt" in subject or any(kind.endswith("Middleware") and kind != GATE for kind in kinds)


def _sources(history: CaseHistory, upto: int) -> int:
    """Return how many messages of the model there can be by a step: its own, and those that the operator wrote."""
    prompts = sum(int(prompt["step"]) <= upto for prompt in history.of("prompt"))
    steps = history.scenario["steps"][:upto]
    written = [message for step in steps for message in step.get("messages", []) if message["type"] == "ai"]
    return prompts + len(written)


def _dispatches(history: CaseHistory) -> Iterator[Gap]:
    """Each run of a tool's body begins, comes to its effect or does not, and ends, with one tool and one set of arguments."""
    tools = {tool["name"]: tool for tool in history.scenario["subject"]["tools"]}
    found = sorted(history.of("dispatch"), key=lambda entry: (entry["step"], str(entry["invocation"])))
    for _, group in groupby(found, key=lambda entry: (entry["step"], entry["invocation"])):
        entries = list(group)
        cut = history.outcome(entries[0]["step"]) == "killed"
        yield from _invocation(entries, tools[entries[0]["tool"]], cut=cut)


def _courses(tool: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield what a run of a tool's body may be seen to do: it can fail only where its case lets it do something."""
    yield ["entered", "dispatched", "returned"]
    if "before" in tool:
        yield ["entered", "raised"]
    if any("ask" in act for act in tool.get("before", [])):
        yield ["entered", "returned"]
    if "after" in tool:
        yield ["entered", "dispatched", "raised"]


def _invocation(entries: list[Entry], tool: Mapping[str, Any], *, cut: bool) -> Iterator[Gap]:
    """A run is one that the tool can be seen to do, or the beginning of one if the process was killed."""
    first = entries[0]
    events = [entry["event"] for entry in entries]
    if not any(events == course or (cut and events == course[: len(events)]) for course in _courses(tool)):
        yield (
            "unobservable",
            f"a run of the tool {first['tool']} in step {first['step']} was not seen from its beginning to its end",
        )
    if any(_identity(entry) != _identity(first) for entry in entries):
        yield "error", f"a run of the tool {first['tool']} in step {first['step']} changes its tool, call or arguments"


def _wire(history: CaseHistory) -> Iterator[Gap]:
    """What a tool sends is received in its step, as often as it was dispatched; a process that is killed may not come to it."""
    senders = {tool["name"] for tool in history.scenario["subject"]["tools"] if "sends" in tool}
    for number in (entry["step"] for entry in history.of("step")):
        ran = [entry for entry in history.of("dispatch", step=number) if entry["event"] == "dispatched"]
        sent, received = [entry for entry in ran if entry["tool"] in senders], history.of("wire", step=number)
        if len(received) > len(sent) or (len(received) < len(sent) and history.outcome(number) != "killed"):
            yield "unobservable", f"in step {number} {len(sent)} were sent, but {len(received)} received"


def _deaths(history: CaseHistory) -> Iterator[Gap]:
    """A process that was killed said so before, and only such a step was cut; whoever took the thread up again looked at it."""
    for number, step in history.steps():
        died = history.of("process", step=number)
        if bool(died) != (history.outcome(number) == "killed" or step["do"] == "kill"):
            yield "error", f"step {number} does not agree about whether its process was killed"
        if any(not _came_to(history, entry) for entry in died if entry["what"] == "dispatch"):
            yield "unobservable", f"in step {number} a tool was killed somewhere else than it said"
        again = history.outcome(number) in ("killed", "restarted")
        if len(history.of("recovered", step=number)) != (again and history.scenario["subject"]["checkpointer"] != "none"):
            yield "unobservable", f"step {number} does not show once how a new process found the thread"


def _came_to(history: CaseHistory, death: Entry) -> bool:
    """Tell whether a run of the tool that killed its process was seen up to where it says that it was killed."""
    last = "dispatched" if death["when"] == "after" else "entered"
    runs: dict[Any, str] = {}
    for entry in history.of("dispatch", step=death["step"]):
        if entry["tool"] == death.get("tool"):
            runs[entry["invocation"]] = entry["event"]
    return last in runs.values()


def _identity(entry: Entry) -> Mapping[str, Any]:
    return {key: entry[key] for key in ("tool", "args", "call") if key in entry}


def _checkpoints(history: CaseHistory) -> Iterator[Gap]:
    """Checkpoints form one chain or tree without a hole, and the last of a step holds the conversation that it returned."""
    known: set[str | None] = {None}
    for number, entry in enumerate(history.of("checkpoint"), start=1):
        begins = number == 1 or entry["step"] in _forgotten(history)
        if entry["checkpoint"] in known or entry["parent"] not in known or (entry["parent"] is None and not begins):
            yield "unobservable", f"checkpoint {number} does not follow from one before it"
        known.add(entry["checkpoint"])
        if (PRIVATE_KEY in entry["keys"]) != ("stored_edits" in entry):
            yield "error", f"checkpoint {number} says both that stored edits are there and that they are not"
    for entry in history.of("messages"):
        yield from _last(history, entry)


def _forgotten(history: CaseHistory) -> set[int]:
    """Return the steps in which a thread may begin anew: those after a process took nothing with it, and found no checkpoint."""
    lost = [entry["step"] for entry in history.of("recovered") if entry["checkpoint"] is None]
    return {number for number, _ in history.steps() if lost and number > min(lost)}


def _last(history: CaseHistory, returned: Entry) -> Iterator[Gap]:
    """Of what a step or branch returned, a checkpoint of the step that nothing follows holds the conversation."""
    step = returned["step"]
    leaves = _leaves(history, step)
    if "branch" not in returned:
        leaves = leaves[-1:]
    if leaves and not any(_holds(found, returned, history) for found in leaves):
        yield "unobservable", f"the last checkpoint of step {step} is not of the conversation that it returned"
    for found in leaves if "branch" not in returned else []:
        if bool(found["next"]) != (history.outcome(step) in ("paused", "stopped")):
            yield "unobservable", f"the last checkpoint of step {step} does not agree with how the step ended"


def _leaves(history: CaseHistory, step: int) -> list[Entry]:
    """Return the checkpoints of a step that none of its others follows: one, or one for each line of branches."""
    found = history.of("checkpoint", step=step)
    followed = {entry["parent"] for entry in found}
    return [entry for entry in found if entry["checkpoint"] not in followed]


def _holds(checkpoint: Entry, returned: Entry, history: CaseHistory) -> bool:
    # Where one call of a turn waits, what another one was told already is returned, but in no checkpoint yet.
    paused = history.outcome(returned["step"]) == "paused"
    messages = returned["messages"][: len(checkpoint["messages"])] if paused else returned["messages"]
    return line(checkpoint["messages"]) == line(messages)
