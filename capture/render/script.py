"""A case as one plain Python script: the packages under audit and no line of ours, ready to be pasted into an upstream issue."""

from collections.abc import Mapping, Sequence
from typing import Any

from capture.case import Case

__all__ = ["script"]

_WIDTH = 100
_ESCAPED, _APOSTROPHE = "\\'", "'"

_HEAD = '''\
from langchain.agents import create_agent
from langchain.agents.middleware import {middleware}
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command


class ScriptedModel(BaseChatModel):
    """Says what the script says, one turn after the other, or what it says for the n-th call."""

    script: list
    on_call: dict = {{}}
    number: int = 0

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.number += 1
        spoken = sum(isinstance(message, AIMessage) for message in messages)
        text, calls = self.on_call[self.number] if self.number in self.on_call else self.script[spoken]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, tool_calls=calls))])


def show(name, value):
    print(f"{{name}}: {{value!r}}")


def show_state(output):
    for interrupt in output.get("__interrupt__", ()):
        show("asked", interrupt.value)
    for message in output["messages"]:
        calls = [(call["name"], call["args"], call["id"]) for call in getattr(message, "tool_calls", [])]
        answers = (message.tool_call_id, message.status) if message.type == "tool" else None
        show("message", (message.type, message.content, calls, answers))
'''

_CASE = """

# {id}
# {question}

{tools}

agent = create_agent(
    ScriptedModel({script}),
    [{names}],
    middleware=[{middleware}],
    checkpointer=InMemorySaver(),
)
config = {{"configurable": {{"thread_id": "1"}}}}
{steps}
"""


def script(cases: Sequence[Case]) -> str:
    """Return the script of cases, in this order; it prints each dispatch, what a person is asked, and the messages.

    Keys are sorted, as the probe gets them: a framework that shows arguments as text shows them in the order given.
    """
    kinds = sorted({item["kind"] for case in cases for item in case.scenario["subject"].get("middleware", [])})
    injects = any(tool.get("call_id") for case in cases for tool in case.scenario["subject"]["tools"])
    lines = _HEAD.format(middleware=", ".join(kinds)).splitlines(keepends=True)
    if not kinds:
        lines = [line for line in lines if not line.startswith("from langchain.agents.middleware")]
    if injects:
        lines = ["from typing import Annotated\n", "\n", *lines]
        lines = [line.replace("tools import tool", "tools import InjectedToolCallId, tool") for line in lines]
    return "".join([*lines, *map(_case, cases)])


def _case(case: Case) -> str:
    subject, turns = case.scenario["subject"], case.scenario["script"]
    in_order = [_turn(turn) for turn in turns if "on_call" not in turn]
    on_call = {turn["on_call"]: _turn(turn) for turn in turns if "on_call" in turn}
    return _CASE.format(
        id=case.id,
        question=_plain(case.question),
        tools="\n\n".join(map(_tool, subject["tools"])),
        script=f"script={_value(in_order, 4)}" + (f", on_call={_value(on_call, 4)}" if on_call else ""),
        names=", ".join(tool["name"] for tool in subject["tools"]),
        middleware=", ".join(map(_middleware, subject.get("middleware", []))),
        steps="\n".join(map(_step, case.scenario["steps"])),
    )


def _tool(tool: Mapping[str, Any]) -> str:
    parameters = [f"{name}: str" for name in tool["parameters"]]
    if tool.get("call_id"):
        parameters.append("tool_call_id: Annotated[str, InjectedToolCallId]")
    received = ", ".join(f'"{name}": {name}' for name in tool["parameters"])
    return f"""
@tool
def {tool["name"]}({", ".join(parameters)}) -> str:
    {_text(tool["description"])}
    show("dispatch", ("{tool["name"]}", {{{received}}}))
    return {_text(tool["returns"])}
"""


def _turn(turn: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    calls = [{"id": call["id"], "name": call["tool"], "args": call["args"]} for call in turn.get("calls", [])]
    return turn.get("text", ""), calls


def _middleware(item: Mapping[str, Any]) -> str:
    options = {**item.get("options", {}), **dict.fromkeys(item.get("none", []))}
    return f"{item['kind']}({', '.join(f'{name}={_value(value, 0)}' for name, value in options.items())})"


def _step(step: Mapping[str, Any]) -> str:
    if step["do"] == "invoke":
        return f'show_state(agent.invoke({{"messages": [HumanMessage({_text(step["text"])})]}}, config))'
    decisions = [{key: decision[key] for key in decision if key != "call"} for decision in step["decisions"]]
    return f'decisions = {_value(decisions, 0)}\nshow_state(agent.invoke(Command(resume={{"decisions": decisions}}), config))'


def _value(value: Any, indent: int) -> str:
    """Return a value as Python source, a list or dict with its parts on lines of their own if it is long."""
    short = _source(value)
    if len(short) + indent <= _WIDTH or not isinstance(value, dict | list | tuple) or not value:
        return short
    inner = " " * (indent + 4)
    pairs = sorted(value.items()) if isinstance(value, dict) else ((None, part) for part in value)
    parts = [inner + (f"{_source(key)}: " if isinstance(value, dict) else "") + _value(part, indent + 4) for key, part in pairs]
    brackets = {dict: "{}", list: "[]", tuple: "()"}[type(value)]
    return f"{brackets[0]}\n" + ",\n".join(parts) + f",\n{' ' * indent}{brackets[1]}"


def _source(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_source(key)}: {_source(part)}" for key, part in sorted(value.items())) + "}"
    if isinstance(value, list | tuple):
        text = ", ".join(map(_source, value))
        return f"[{text}]" if isinstance(value, list) else f"({text}{',' if len(value) == 1 else ''})"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    # Beyond ASCII everything is escaped, so that nothing in a case can hide in the script.
    text = ascii(value)
    return text if '"' in text else f'"{text[1:-1].replace(_ESCAPED, _APOSTROPHE)}"'


def _plain(text: str) -> str:
    return " ".join(text.split()).encode("ascii", "backslashreplace").decode()
