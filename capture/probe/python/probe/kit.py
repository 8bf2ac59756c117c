"""The middleware kit: small middleware of ours that a case places around the one under audit, each of which records itself."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage, ToolMessage

from probe.journal import Journal


class _Kit(AgentMiddleware):
    """A middleware that a case may place several times: each has a name of its own. The framework calls its hooks."""

    kind = ""

    def __init__(self, journal: Journal, name: str | None = None) -> None:
        super().__init__()
        self._journal = journal
        self._name = name or self.kind

    @property
    def name(self) -> str:
        return self._name

    def _saw(self, event: str, call: dict[str, Any] | None = None, **fields: Any) -> None:
        about = {} if call is None else {"call": call.get("id")}
        self._journal.observe("middleware", name=self._name, event=event, **about, **fields)


class _AroundTools(_Kit):
    """A middleware around a tool call: what it does before, and what it makes of an error, is the same in both ways to run."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        self._saw("entered", request.tool_call)
        try:
            result = handler(self._before(request))
        except Exception as error:
            return self._failed(request, error)
        self._saw("returned", request.tool_call)
        return result

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        self._saw("entered", request.tool_call)
        try:
            result = await handler(self._before(request))
        except Exception as error:
            return self._failed(request, error)
        self._saw("returned", request.tool_call)
        return result

    def _before(self, request: Any) -> Any:
        return request

    def _failed(self, request: Any, error: Exception) -> Any:
        self._saw("raised", request.tool_call, error=type(error).__name__)
        raise error


class Counting(_AroundTools):
    """Counts how often a tool call comes by and how it leaves."""

    kind = "counter"


class Handling(_AroundTools):
    """Makes an error message of whatever is raised inside: also of what pauses a run, which is an exception too."""

    kind = "error-handler"

    def _failed(self, request: Any, error: Exception) -> Any:
        self._saw("handled", request.tool_call, error=type(error).__name__)
        return ToolMessage("the tool failed", tool_call_id=request.tool_call["id"], name=request.tool_call["name"], status="error")


class _Rewriting(_Kit):
    """A middleware that replaces arguments of a tool's calls."""

    def __init__(self, journal: Journal, tool: str, args: dict[str, Any], name: str | None = None) -> None:
        super().__init__(journal, name)
        self._tool, self._args = tool, args

    def _rewritten(self, call: dict[str, Any]) -> dict[str, Any]:
        return {**call, "args": {**call["args"], **self._args}} if call["name"] == self._tool else call


class RewritingCalls(_Rewriting, _AroundTools):
    """Replaces arguments of a tool's calls as they start."""

    kind = "rewrite-tool-call"

    def _before(self, request: Any) -> Any:
        return request.override(tool_call=self._rewritten(request.tool_call))


class RewritingMessages(_Rewriting):
    """Replaces arguments of a tool's calls in the model's message, after the model."""

    kind = "rewrite-after-model"

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        message = _last(state)
        if message is None or not any(call["name"] == self._tool for call in message.tool_calls):
            return None
        calls = [self._rewritten(call) for call in message.tool_calls]
        self._saw("rewrote")
        return {"messages": [message.model_copy(update={"tool_calls": calls})]}


class Jumping(_Kit):
    """Asks to jump to the tools once a call of the last turn has an answer."""

    kind = "jump-to-tools"

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        message = _last(state)
        calls = {call["id"] for call in message.tool_calls} if message else set()
        if not any(isinstance(said, ToolMessage) and said.tool_call_id in calls for said in state["messages"]):
            return None
        self._saw("jumped")
        return {"jump_to": "tools"}


def _last(state: Any) -> AIMessage | None:
    return next((message for message in reversed(state["messages"]) if isinstance(message, AIMessage)), None)


KIT: dict[str, type[Any]] = {kind.kind: kind for kind in (Counting, Handling, RewritingCalls, RewritingMessages, Jumping)}
