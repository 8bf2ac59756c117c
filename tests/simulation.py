"""A simulated subject, pure and in memory: it leaves the history that a correct framework would leave of a scenario.

It does what the documents promise of create_agent and the middleware, and what docs/decisions/0002-authority.md asks: an answer
that is none for what was shown is refused, whoever it was meant for. With a fault it does exactly one thing otherwise, and
counts how often it did. Nothing here is shared with the judge: what is a valid answer is said again, in other words.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from capture import document, history
from capture.history import CaseHistory

__all__ = ["ALL", "KEY", "NOTICE", "Simulation", "scenario", "simulated"]

ALL = ["approve", "edit", "reject", "respond"]
KEY = "hitl_edited_tool_calls"
NOTICE = "A person replaced this call before it ran."
OTHER = {"to": "somebody-else"}

Call = Mapping[str, Any]
Decision = Mapping[str, Any]
Action = tuple[str, Mapping[str, Any]]


def scenario(turns: Sequence[Mapping[str, Any]], policies: Mapping[str, Any], **head: Any) -> dict[str, Any]:
    """Return a scenario with no steps yet: tools that take one argument, those with a policy gated."""
    named = {"call_id": True} if head.get("named") else {}
    fails = {"send": {"before": [{"raise": 1}]}} if head.get("fails") else {}
    tools = [
        {"name": name, "description": f"To {name}.", "parameters": ["to"], "returns": "done", **named, **fails.get(name, {})}
        for name in ("send", "pay", "log")
    ]
    gate = {"kind": "HumanInTheLoopMiddleware", "options": {"interrupt_on": dict(policies), **head.get("options", {})}}
    off = {} if head.get("notice", True) else {"none": ["edit_notice"]}
    counter = [{"kind": "counter", "options": {"name": "counter"}}] if head.get("counter") else []
    return {
        "question": "What does a correct subject leave behind?",
        "sources": [{"document": "tests/simulation.py", "says": "A scenario made up for a test."}],
        "trigger": "model-proposed",
        "gated": list(policies),
        "subject": {"kind": "create_agent", "checkpointer": "memory", "tools": tools, "middleware": [*counter, {**gate, **off}]},
        "script": list(turns),
        "steps": [],
    }


def simulated(plan: Mapping[str, Any], fault: str | None = None) -> "Simulation":
    """Return the simulation of a scenario with all its steps taken."""
    found = Simulation(plan, fault)
    for step in plan["steps"]:
        found.take(step)
    return found


class _Refused(Exception):
    """An answer that is none, or a tool that failed: it reaches the operator as an exception."""


@dataclass
class _Thread:
    """Where a thread stands; a replay goes on from a copy of one."""

    place: str = "model"
    messages: list[dict[str, Any]] = field(default_factory=list)
    turn: list[Call] = field(default_factory=list)
    decided: dict[str, Decision] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    stored: dict[str, Any] | None = None
    head: str | None = None


class Simulation:
    """A subject of a scenario; `planted` counts how often its fault made a difference."""

    def __init__(self, plan: Mapping[str, Any], fault: str | None = None) -> None:
        """Build the subject."""
        self.plan = plan
        self.fault = fault
        self.planted = 0
        self.entries: list[dict[str, Any]] = [{"kind": "step", "step": 0, "do": "build"}]
        self.step = 0
        self.thread = _Thread()
        self.asked: list[list[Call]] = []
        self.status = "built"
        self.refused_one = False
        self._pauses: list[_Thread] = []
        self._saved: list[dict[str, Any]] = []
        self._names = 0
        self._failed: set[str] = set()
        gate = plan["subject"]["middleware"][-1]
        self.policies: Mapping[str, Any] = gate["options"]["interrupt_on"]
        self.per_call = gate["options"].get("interrupt_mode") == "per_call"
        self._notice_on = "none" not in gate
        self._prefix = gate["options"].get("description_prefix", "Tool execution requires approval")
        self._counted = len(plan["subject"]["middleware"]) > 1
        self.named = any(tool.get("call_id") for tool in plan["subject"]["tools"])
        self._fails = [tool["name"] for tool in plan["subject"]["tools"] if "before" in tool]
        self._outcome("built")

    def journal(self) -> bytes:
        """Return the journal that was written, one line an entry."""
        return b"".join(document.line(entry) for entry in self.entries)

    def history(self) -> CaseHistory:
        """Return the history of the entries, in its order and with its names, without a check of each line."""
        return CaseHistory("test/simulated", self.plan, tuple(history._ordered(self.entries)))

    @property
    def waiting(self) -> list[Call]:
        """The calls that a person has been asked about and that nobody has answered yet."""
        return self._waiting()

    @property
    def failed(self) -> bool:
        """Whether a tool failed in the last step, so that the run can go on with no answer."""
        return [entry.get("error") for entry in self.entries if entry["kind"] == "outcome"][-1] == "ToolFailed"

    @property
    def pauses(self) -> int:
        """How often the run has paused."""
        return len(self._pauses)

    def offered(self, call: Call) -> list[str]:
        """Return the decisions that a person may take about a call."""
        policy = self.policies[call["tool"]]
        return ALL if policy is True else list(policy["allowed_decisions"])

    def take(self, step: Mapping[str, Any]) -> None:
        """Take a step and record all that is seen of it."""
        self.step += 1
        self.entries.append({"kind": "step", "step": self.step, "do": step["do"]})
        self._ran: list[dict[str, Any]] = []
        try:
            self._rerun(step)
            self._given(step)
            self._go_on()
        except _Refused as refusal:
            self.status = "raised"
            self._outcome("raised", error=str(refusal))
        else:
            self._report(step.get("through"))
        for saved in self._saved:
            self._see("checkpoint", **saved)
        self._saved.clear()

    # What a step puts in

    def _given(self, step: Mapping[str, Any]) -> None:
        if step["do"] in ("invoke", "message"):
            if step["do"] == "invoke":
                self._save("__start__")
            self.thread.messages.append({"type": "human", "content": step["text"], "id": self._name("human")})
            self.thread.place = "model"
            self._save("model")
        elif step["do"] == "replay":
            self.thread = copy.deepcopy(self._pauses[step["at"]["paused"] - 1])
        elif step["do"] == "resume":
            self._answered(step)

    def _answered(self, step: Mapping[str, Any]) -> None:
        waiting = self._waiting()
        if not waiting:
            return  # nobody asked: the answer goes nowhere
        given = self._matched(step, waiting)
        if self._has("raises-at-good", self.refused_one and given is not None):
            raise _Refused("ValueError")
        if given is None:
            self.refused_one = True
            if not self._has("takes-bad-answer", True):
                raise _Refused("ValueError")
            given = {call["id"]: {"type": "approve"} for call in waiting}
        self.thread.decided |= given

    def _matched(self, step: Mapping[str, Any], waiting: list[Call]) -> dict[str, Decision] | None:
        """Return the decisions by call, or None if the answer is none for what was shown last."""
        decisions = step.get("decisions", [])
        names = [call["id"] for call in waiting]
        meant = [decision["call"] for decision in decisions]
        if self.per_call:
            one_by_one = step.get("by") == "id" or (step.get("by") == "value" and len(names) == 1)
            if not one_by_one or len(set(meant)) != len(meant) or not set(meant) <= set(names) or not meant:
                return None
        elif meant != names or step.get("by") == "value":
            return None
        calls = {call["id"]: call for call in waiting}
        if not all(self._takes(calls[decision["call"]], decision) for decision in decisions):
            return None
        return {decision["call"]: decision for decision in decisions}

    def _takes(self, call: Call, decision: Decision) -> bool:
        kind = decision["type"]
        if kind == "edit" and self.per_call and decision.get("edited_action", {}).get("name") != call["tool"]:
            return False
        lacks = (kind == "edit" and "edited_action" not in decision) or (kind == "respond" and "message" not in decision)
        return kind in self.offered(call) and not lacks

    def _rerun(self, step: Mapping[str, Any]) -> None:
        """Run again what was approved in this turn, as the fault is, in a step that answers nothing new."""
        new = [decision for decision in step.get("decisions", []) if decision["call"] not in self.thread.decided]
        for call in self.thread.turn if not new and step["do"] in ("continue", "replay", "resume") else []:
            if self._has("reruns", call["id"] in self.thread.decided):
                self._run(call, _content(call, self.thread.decided[call["id"]]))

    # The graph

    def _go_on(self) -> None:
        self.status = "ended"
        while self.thread.place != "end":
            if not {"model": self._model, "review": self._review, "tools": self._tools}[self.thread.place]():
                self.status = "paused"
                self._pauses.append(copy.deepcopy(self.thread))
                return

    def _model(self) -> bool:
        thread = self.thread
        turn = self.plan["script"][sum(message["type"] == "ai" for message in thread.messages)]
        reply = {"text": turn.get("text", ""), "calls": list(turn.get("calls", []))}
        number = sum(entry.get("vantage") == "prompt" for entry in self.entries) + 1
        self._see("prompt", number=number, messages=copy.deepcopy(thread.messages), reply=reply)
        kept = copy.deepcopy(reply["calls"])
        thread.messages.append({"type": "ai", "content": reply["text"], "id": f"ai-{number}", "calls": kept})
        thread.turn, thread.decided, thread.results = reply["calls"], {}, {}
        gated = [call for call in thread.turn if call["tool"] in self.policies]
        thread.place = ("review" if gated and not self.per_call else "tools") if thread.turn else "end"
        if thread.turn and not gated and thread.stored and not self._has("keeps-old-edit", True):
            thread.stored = {}
        if gated and thread.stored is None and self._has("stores-early", True):
            thread.stored = {}
        if gated and self._has("skips-review", thread.place == "review"):
            thread.place, thread.decided = "tools", {call["id"]: {"type": "approve"} for call in gated}
        self._save(*([] if thread.place == "end" else [thread.place]))
        return True

    def _review(self) -> bool:
        thread = self.thread
        if self._waiting():
            self._before_answer(self._waiting())
            return False
        edits = {name: copy.deepcopy(said["edited_action"]) for name, said in thread.decided.items() if said["type"] == "edit"}
        thread.stored = self._kept(edits)
        for call in thread.turn:
            if self._is_forbidden(call):
                self._tell(self._refusal(call))
        refused_all = all(self._is_forbidden(call) for call in thread.turn)
        thread.place = "tools" if not refused_all or self._has("passes-tools", self._rejected_all()) else "model"
        self._save(thread.place)
        return True

    def _tools(self) -> bool:
        thread = self.thread
        waiting = self._waiting()
        left = [call for call in thread.turn if not self._is_answered(call) and call not in waiting]
        for call in left:
            thread.results[call["id"]] = self._refusal(call) if self._is_forbidden(call) else self._executed(call)
        if waiting:
            self._before_answer(waiting)
            return False
        for call in thread.turn:
            if call["id"] in thread.results:
                self._tell(thread.results[call["id"]])
        thread.results = {}
        thread.place = "model"
        self._conversation_spoilt()
        self._save("model")
        return True

    def _waiting(self) -> list[Call]:
        thread = self.thread
        if thread.place not in ("review", "tools"):
            return []
        return [call for call in thread.turn if call["tool"] in self.policies and call["id"] not in thread.decided]

    def _is_forbidden(self, call: Call) -> bool:
        return self.thread.decided.get(call["id"], {"type": ""})["type"] in ("reject", "respond")

    def _rejected_all(self) -> bool:
        return all(self.thread.decided.get(call["id"], {"type": ""})["type"] == "reject" for call in self.thread.turn)

    def _is_answered(self, call: Call) -> bool:
        told = [message["answers"] for message in self._this_turn() if "answers" in message]
        return call["id"] in (*told, *self.thread.results)

    def _this_turn(self) -> list[dict[str, Any]]:
        last = max(number for number, message in enumerate(self.thread.messages) if message["type"] == "ai")
        return self.thread.messages[last:]

    # What a call does

    def _executed(self, call: Call) -> dict[str, Any]:
        """Run a call as it was decided, and return the message that answers it."""
        decision = self.thread.decided.get(call["id"])
        for action in self._actions(call, decision):
            self._run(call, action)
        if self._counted:
            times = 2 if self._has("enters-twice", True) else 1
            for event in ["entered", "returned"] * times:
                self._see("middleware", name="counter", event=event, call=call["id"])
        return self._result(call["id"], self._output(decision), "success")

    def _output(self, decision: Decision | None) -> str:
        if decision is None or decision["type"] != "edit":
            return "done"
        shown = self._notice_on
        if self._has("hides-edit", shown) or self._has("states-edit", not shown):
            shown = not shown
        action = decision["edited_action"]
        told = f"{NOTICE} Executed instead: {action['name']} with arguments {document.line(action['args']).decode().strip()}."
        return f"{told}\n\nTool response:\ndone" if shown else "done"

    def _actions(self, call: Call, decision: Decision | None) -> list[Action]:
        """Return what runs in the place of a call: exactly what was decided, but for the fault."""
        proposed: Action = (call["tool"], call["args"])
        right = proposed if decision is None else _content(call, decision)
        faults: dict[str, list[Action]] = {
            "runs-twice": [right, right],
            "runs-other-args": [(right[0], OTHER)],
            "runs-other-tool": [("pay" if right[0] == "send" else "send", right[1])],
            "runs-ungated-tool": [("log", OTHER)],
            "runs-original": [proposed],
            "loses-call": [],
        }
        if decision is None:
            faults = {"ungated-twice": [right, right], "ungated-other-args": [(right[0], OTHER)], "ungated-lost": []}
        found = faults.get(self.fault or "", [right])
        self.planted += document.line(found) != document.line([right])
        return found

    def _run(self, call: Call, action: Action) -> None:
        seen = {"invocation": self._name("run"), "tool": action[0], "args": dict(action[1])}
        named = {"call": call["id"]} if self.named else {}
        self._see("dispatch", event="entered", **seen, **named)
        if action[0] in self._fails and action[0] not in self._failed:
            self._failed.add(action[0])
            self._see("dispatch", event="raised", error="ToolFailed", **seen, **named)
            raise _Refused("ToolFailed")
        self._see("dispatch", event="dispatched", **seen, **named)
        self._see("dispatch", event="returned", **seen, **named)
        self._ran.append({"place": "tasks:tools", "call": call["id"], "tool": action[0], "args": dict(action[1])})

    def _refusal(self, call: Call) -> dict[str, Any]:
        decision = self.thread.decided[call["id"]]
        if self._has("runs-refused", True):
            self._run(call, (call["tool"], call["args"]))
        if decision["type"] == "respond":
            text, status = decision["message"], "success"
            if self._has("rewrites-response", True):
                text = f"The person said: {text}"
            return self._result(call["id"], text, status)
        reason = "" if self._has("hides-reason", "message" in decision) else decision.get("message", "")
        status = "success" if self._has("rejects-as-success", True) else "error"
        return self._result(call["id"], f"The person rejected this call. {reason}", status)

    def _before_answer(self, waiting: list[Call]) -> None:
        if self._has("runs-undecided", True):
            self._run(waiting[0], (waiting[0]["tool"], waiting[0]["args"]))
        if self._has("opens-socket", True):
            self._see("network", event="socket.connect", target="192.0.2.1")

    # What is kept and told

    def _kept(self, edits: dict[str, Any]) -> dict[str, Any]:
        if self._has("stores-nothing", bool(edits)):
            return {}
        if self._has("stores-other", bool(edits)):
            return {name: {**action, "args": OTHER} for name, action in edits.items()}
        if self._has("invents-stored-edit", True):
            return {call["id"]: {"name": call["tool"], "args": dict(call["args"])} for call in self.thread.turn}
        return edits

    def _result(self, call: str, content: str, status: str) -> dict[str, Any]:
        return {"type": "tool", "content": content, "answers": call, "status": status, "id": self._name("tool")}

    def _tell(self, message: dict[str, Any]) -> None:
        if self._has("loses-answer", True):
            return
        self.thread.messages.append(message)
        if self._has("answers-twice", True):
            self.thread.messages.append({**message, "id": self._name("tool")})

    def _conversation_spoilt(self) -> None:
        spoken = [message for message in self.thread.messages if message.get("calls")]
        if self._has("drops-proposal", True):
            spoken[-1]["calls"].pop(0)
        if self._has("rewrites-proposal", True):
            spoken[-1]["calls"][0]["args"] = OTHER
        if self._has("renames-proposal", True):
            spoken[-1]["calls"][0]["tool"] = "another"
        if self._has("copies-proposal", True):
            spoken[-1]["calls"].append(spoken[-1]["calls"][0])
        if self._has("invents-proposal", True):
            spoken[-1]["calls"].append({"id": "call-ghost", "tool": "send", "args": OTHER})

    def _save(self, *following: str) -> None:
        thread = self.thread
        name, parent = self._name("checkpoint"), thread.head
        thread.head = name
        held = {} if thread.stored is None else {"stored_edits": copy.deepcopy(thread.stored)}
        keys = ["messages"] if thread.stored is None else [KEY, "messages"]
        messages = copy.deepcopy(thread.messages) if parent else []
        self._saved.append(
            {"checkpoint": name, "parent": parent, "next": list(following), "keys": keys, **held, "messages": messages}
        )

    # What the operator sees

    def _report(self, through: str | None) -> None:
        waiting = self._waiting() if self.status == "paused" else []
        self._outcome(self.status)
        self._ask(waiting)
        if through in (None, "v2"):
            leaked = [KEY] if self.thread.stored is not None and self._has("leaks-key", True) else []
            listed = ["__interrupt__"] if waiting and through is None else []
            form = {"form": "dict" if self._has("returns-dict", True) else "GraphOutput"} if through else {}
            self._see("output", keys=[*listed, *leaked, "messages"], **form)
        else:
            pauses = [] if not waiting or self._has("streams-no-pause", True) else ["tasks:pause"]
            calls = (
                [{**report, "args": OTHER} for report in self._ran] if self._has("streams-other", bool(self._ran)) else self._ran
            )
            self._see("stream", through=through, calls=calls, told=[], pauses=pauses)
        self._see("messages", messages=copy.deepcopy(self.thread.messages))

    def _ask(self, waiting: list[Call]) -> None:
        """Show the reviewer each call that waits: all in one question, or each in its own."""
        if not waiting:
            return
        self.asked.append(waiting)
        shown = self._shown(waiting)
        if self.per_call:
            for call in shown:
                value = {"type": "tool_approval", "tool_call_id": call["id"], **self._request(call)}
                self._see(
                    "review", question=f"question-of-{call['id']}", value=value, schema=_schema(call["tool"], self._offers(call))
                )
            return
        tools = dict.fromkeys(call["tool"] for call in shown)
        configs = [{"action_name": tool, "allowed_decisions": self._offers({"tool": tool})} for tool in tools]
        value = {"action_requests": [self._request(call) for call in shown], "review_configs": configs}
        self._see("review", question=f"question-about-{waiting[0]['id']}", value=value)

    def _shown(self, waiting: list[Call]) -> list[Call]:
        if self._has("shows-other", True):
            return [{**call, "args": OTHER} for call in waiting]
        if self._has("hides-call", len(waiting) > 1):
            return waiting[1:]
        return [*waiting, waiting[0]] if self._has("shows-twice", True) else waiting

    def _offers(self, call: Call) -> list[str]:
        offered = self.offered(call)
        return offered[1:] if len(offered) > 1 and self._has("offers-less", True) else offered

    def _request(self, call: Call) -> dict[str, Any]:
        policy = self.policies[call["tool"]]
        own = policy.get("description") if isinstance(policy, Mapping) else None
        text = own or f"{self._prefix}\n\nTool: {call['tool']}\nArgs: {dict(call['args'])}"
        text = "Please decide." if self._has("describes-nothing", True) else text
        return {"name": call["tool"], "args": dict(call["args"]), "description": text}

    def _outcome(self, status: str, **fields: Any) -> None:
        self.entries.append({"kind": "outcome", "step": self.step, "status": status, **fields})

    def _see(self, vantage: str, **fields: Any) -> None:
        self.entries.append({"kind": "observation", "vantage": vantage, "step": self.step, **fields})

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}-{self._names:x}"

    def _has(self, fault: str, here: bool) -> bool:
        """Tell whether this is the subject's fault and it makes a difference here; count that it did."""
        self.planted += self.fault == fault and here
        return self.fault == fault and here


def _content(call: Call, decision: Decision) -> Action:
    if decision["type"] == "edit":
        return decision["edited_action"]["name"], decision["edited_action"]["args"]
    return call["tool"], call["args"]


def _schema(tool: str, offered: list[str]) -> dict[str, Any]:
    """Return a schema of answers in the form that the middleware shows: a branch for each decision offered."""
    action = {"properties": {"name": {"const": tool}, "args": {"type": "object"}}, "required": ["name", "args"]}
    needs: dict[str, dict[str, Any]] = {"edit": {"edited_action": action}, "respond": {"message": {"type": "string"}}}
    branches = {
        kind: {"properties": {"type": {"const": kind}, **needs.get(kind, {})}, "required": ["type", *needs.get(kind, {})]}
        for kind in offered
    }
    return {"$defs": branches, "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in offered]}
