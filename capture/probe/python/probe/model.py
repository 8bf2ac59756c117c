"""A scripted chat model: it proposes what the case says, whatever it is asked, and records each prompt that it gets."""

from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from probe.journal import Journal
from probe.observer import message_record


class ScriptExhausted(LookupError):
    """The model was called more often than the case's script has turns."""


class ModelFailed(Exception):
    """What the model raises where its case says that it fails."""


class ScriptedModel(BaseChatModel):
    """Answers with the turn that the number of AI messages in the prompt points to, or with the one for the n-th call."""

    script: list[dict[str, Any]]
    journal: Any

    @property
    def _llm_type(self) -> str:
        return "dispatch-audit-scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedModel":
        """Accept tools, which the script knows already."""
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        number = self.journal.count("prompt") + 1
        turn = self._turn(messages, number)
        _record(self.journal, number, messages, turn)
        if turn is None:
            # The case is at fault, not the subject, even if the subject catches what is raised here.
            self.journal.write("fault", reason="error", detail=f"the script has no turn for call {number} of the model")
            raise ScriptExhausted
        if turn.get("raise"):
            raise ModelFailed
        return ChatResult(generations=[ChatGeneration(message=_message(turn, number))])

    def _turn(self, messages: list[BaseMessage], number: int) -> dict[str, Any] | None:
        for turn in self.script:
            if turn.get("on_call") == number:
                return _remembered(turn, messages)
        spoken = sum(isinstance(message, AIMessage) for message in messages)
        turns = [turn for turn in self.script if "on_call" not in turn]
        return _remembered(turns[spoken], messages) if spoken < len(turns) else None


def _remembered(turn: dict[str, Any], messages: list[BaseMessage]) -> dict[str, Any]:
    """Return what is said in a turn: something else where it rests on a fact that no message of the prompt holds."""
    if "remembers" not in turn or any(turn["remembers"] in str(message.content) for message in messages):
        return turn
    return {"text": turn["otherwise"]}


def _record(journal: Journal, number: int, messages: list[BaseMessage], turn: dict[str, Any] | None) -> None:
    raised = {"raised": True} if turn and turn.get("raise") else {}
    calls = [{"id": call.get("id"), "tool": call["tool"], "args": call["args"]} for call in (turn or {}).get("calls", [])]
    reply = {"text": turn.get("text", ""), "calls": calls} if turn and not raised else None
    journal.observe("prompt", number=number, messages=[message_record(message) for message in messages], reply=reply, **raised)


def _message(turn: dict[str, Any], number: int) -> AIMessage:
    calls = [{"id": call.get("id"), "name": call["tool"], "args": dict(call["args"])} for call in turn.get("calls", [])]
    return AIMessage(content=turn.get("text", ""), tool_calls=calls, id=f"ai-{number}")
