"""The helpers of a script: those that its own source names, and what these name in turn; nothing that a case does not need.

A line of a piece that ends with `# if x` stands in a script that wants x, one that ends with `# unless x` in the others.
"""

import ast
import builtins
import keyword
import re
from collections.abc import Iterator, Mapping
from functools import cache

__all__ = ["RESERVED", "head", "state", "wanted"]

_MODULES = ("asyncio", "json", "threading", "time")

_IMPORTS: Mapping[str, tuple[str, ...]] = {
    "collections": ("Counter",),
    "contextlib": ("contextmanager",),
    "contextvars": ("ContextVar",),
    "typing": ("Annotated",),
    "langchain.agents": ("create_agent",),
    "langchain.agents.middleware": ("AgentMiddleware", "hook_config"),
    "langchain.tools": ("InjectedState", "ToolRuntime"),
    "langchain_core.language_models.chat_models": ("BaseChatModel",),
    "langchain_core.messages": ("AIMessage", "HumanMessage", "RemoveMessage", "ToolMessage"),
    "langchain_core.outputs": ("ChatGeneration", "ChatResult"),
    "langchain_core.tools": ("InjectedToolCallId", "tool"),
    "langgraph.checkpoint.memory": ("InMemorySaver",),
    "langgraph.graph": ("END", "MessagesState", "START", "StateGraph"),
    "langgraph.prebuilt": ("ToolNode",),
    "langgraph.types": ("Command", "RetryPolicy", "interrupt"),
    "pydantic": ("create_model",),
}

_STANDARD = frozenset({"collections", "contextlib", "contextvars", "typing"})

_KINDS = "langchain.agents.middleware"

_MIDDLEWARE = re.compile(r"[A-Z][A-Za-z0-9]*Middleware")

_STATE: Mapping[str, str] = {
    "runs": "runs = Counter()  # of each tool",
    "running": "running = []  # the tools that are running",
    "paused": "paused = []  # the checkpoints at which a step paused",
    "questions": "questions = {}  # the id of the latest question about each call",
    "batches": "batches = []  # the ids of the questions about all calls of a turn",
    "listed": "listed = []  # the ids of the questions that the last step asked",
    "failed": "failed = Counter()  # how often each node has failed",
    "own": "own = []  # every question that was asked",
}
"""What a script keeps in mind, anew for each case."""

_PIECES: Mapping[str, str] = {
    "ModelFailed": """
class ModelFailed(Exception):
    pass
""",
    "NodeFailed": """
class NodeFailed(Exception):
    pass
""",
    "ToolFailed": """
class ToolFailed(Exception):
    pass
""",
    "ScriptedModel": '''
class ScriptedModel(BaseChatModel):
    """Says what the script says, one turn after the other, or what it says for the n-th call."""

    script: list
    on_call: dict = {}
    raise_on: list = []  # if raise_on
    remembers: list = []  # if remembers
    number: int = 0

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.number += 1
        if self.number in self.raise_on:  # if raise_on
            raise ModelFailed  # if raise_on
        spoken = sum(isinstance(message, AIMessage) for message in messages)
        text, calls = self.on_call[self.number] if self.number in self.on_call else self.script[spoken]
        for fact, known, otherwise in self.remembers:  # if remembers
            if text == known and not any(fact in str(said.content) for said in messages):  # if remembers
                text = otherwise  # if remembers
        message = AIMessage(text, tool_calls=calls, id=f"ai-{self.number}")  # if ids
        return ChatResult(generations=[ChatGeneration(message=message)])  # if ids
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, tool_calls=calls))])  # unless ids
''',
    "predicate": '''
def predicate(answers):
    """Return a predicate that gives each call one answer after the other, the last again and again, and True to others."""
    asked = Counter()

    def when(request):
        call = request.tool_call["id"]
        planned = answers.get(call, [True])
        answer = planned[min(asked[call], len(planned) - 1)]
        asked[call] += 1
        show("predicate", (call, answer))
        return answer

    return when
''',
    "CallCounter": '''
class CallCounter(AgentMiddleware):
    """Shows how often a tool call comes by, and how it leaves."""

    name = "counter"

    def show(self, event, request):
        show("middleware", (self.name, event, request.tool_call["id"]))

    def wrap_tool_call(self, request, handler):  # if sync
        self.show("entered", request)  # if sync
        try:  # if sync
            result = handler(request)  # if sync
        except Exception:  # if sync
            self.show("raised", request)  # if sync
            raise  # if sync
        self.show("returned", request)  # if sync
        return result  # if sync

    async def awrap_tool_call(self, request, handler):  # if async
        self.show("entered", request)  # if async
        try:  # if async
            result = await handler(request)  # if async
        except Exception:  # if async
            self.show("raised", request)  # if async
            raise  # if async
        self.show("returned", request)  # if async
        return result  # if async
''',
    "ErrorHandler": '''
class ErrorHandler(AgentMiddleware):
    """Makes an error message of whatever is raised inside: also of what pauses a run, which is an exception too."""

    name = "error-handler"

    def message(self, call):
        return ToolMessage("the tool failed", tool_call_id=call["id"], name=call["name"], status="error")

    def wrap_tool_call(self, request, handler):  # if sync
        try:  # if sync
            return handler(request)  # if sync
        except Exception:  # if sync
            return self.message(request.tool_call)  # if sync

    async def awrap_tool_call(self, request, handler):  # if async
        try:  # if async
            return await handler(request)  # if async
        except Exception:  # if async
            return self.message(request.tool_call)  # if async
''',
    "RewriteToolCall": '''
class RewriteToolCall(AgentMiddleware):
    """Replaces arguments of a tool's calls as they start."""

    name = "rewrite-tool-call"

    def __init__(self, tool, args):
        super().__init__()
        self.tool, self.args = tool, args

    def rewritten(self, request):
        call = request.tool_call
        if call["name"] != self.tool:
            return request
        return request.override(tool_call={**call, "args": {**call["args"], **self.args}})

    def wrap_tool_call(self, request, handler):  # if sync
        return handler(self.rewritten(request))  # if sync

    async def awrap_tool_call(self, request, handler):  # if async
        return await handler(self.rewritten(request))  # if async
''',
    "RewriteAfterModel": '''
class RewriteAfterModel(AgentMiddleware):
    """Replaces arguments of a tool's calls in the model's message, after the model."""

    name = "rewrite-after-model"

    def __init__(self, tool, args):
        super().__init__()
        self.tool, self.args = tool, args

    def rewritten(self, call):
        return {**call, "args": {**call["args"], **self.args}} if call["name"] == self.tool else call

    def after_model(self, state, runtime):
        message = last_turn(state)
        if message is None or not any(call["name"] == self.tool for call in message.tool_calls):
            return None
        calls = [self.rewritten(call) for call in message.tool_calls]
        return {"messages": [message.model_copy(update={"tool_calls": calls})]}
''',
    "JumpToTools": '''
class JumpToTools(AgentMiddleware):
    """Jumps to the tools once a call of the last turn has an answer."""

    name = "jump-to-tools"

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state, runtime):
        message = last_turn(state)
        calls = [call["id"] for call in message.tool_calls] if message else []
        answered = any(said.type == "tool" and said.tool_call_id in calls for said in state["messages"])
        return {"jump_to": "tools"} if answered else None
''',
    "last_turn": """
def last_turn(state):
    return next((message for message in reversed(state["messages"]) if isinstance(message, AIMessage)), None)
""",
    "named": '''
def named(name, middleware):
    """Give a middleware a name of its own: two of a kind need two."""
    middleware.name = name
    return middleware
''',
    "current": """
current = ContextVar("current", default=None)
""",
    "Branch": '''
class Branch(threading.Thread):
    """One of several runs at once: it runs until a gate holds it or it ends, and goes on when it is opened."""

    def __init__(self, do):
        super().__init__(daemon=True)
        self.do, self.quiet, self.open = do, threading.Event(), threading.Event()

    def run(self):
        current.set(self)
        try:
            self.do()
        finally:
            self.quiet.set()
''',
    "gate": '''
def gate():
    """Hold the branch at hand until every other one is held too or has ended."""
    branch = current.get()
    if branch:
        branch.quiet.set()
        branch.open.wait()
''',
    "concurrently": '''
def concurrently(*parts):
    """Start each once the one before is held or has ended; then let them go on, one after the other."""
    branches = [Branch(do) for do in parts]
    for branch in branches:
        branch.start()
        branch.quiet.wait()
    for branch in branches:
        branch.open.set()
        branch.join()
''',
    "wait": '''
def wait():
    """Wait until no tool is running."""
    while running:
        time.sleep(0.002)
''',
    "is_running": """
@contextmanager
def is_running(tool):
    running.append(tool)
    try:
        yield
    finally:
        running.remove(tool)
""",
    "Impossible": '''
class Impossible(Exception):
    """The checkpoint or the question that a step needs is not there."""
''',
    "pick": """
def pick(found, key):
    try:
        return found[key]
    except LookupError:
        raise Impossible from None
""",
    "question_id": '''
def question_id(wanted):
    """Return the id of the latest question that asks this, or that is about this call."""
    about = [item.value.get("call") if isinstance(item.value, dict) else None for item in own]
    return pick([item.id for item, call in zip(own, about) if wanted in (item.value, call)], -1)
''',
    "before": '''
def before(node):
    """Return the checkpoints after which this node comes, the oldest first."""
    return [state.config for state in reversed(list(agent.get_state_history(config))) if node in state.next]
''',
    "show": """
def show(name, value):
    print(f"{name}: {value!r}")
""",
    "show_state": """
def show_state(output):
    for interrupt in output.get("__interrupt__", ()):
        show("asked", interrupt.value)
        if isinstance(interrupt.value, dict) and "tool_call_id" in interrupt.value:  # if questions
            questions[interrupt.value["tool_call_id"]] = interrupt.id  # if questions
        if isinstance(interrupt.value, dict) and "action_requests" in interrupt.value:  # if batches
            batches.append(interrupt.id)  # if batches
    in_order = sorted(output.get("__interrupt__", ()), key=lambda item: json.dumps(item.value, sort_keys=True))  # if listed
    listed[:] = [interrupt.id for interrupt in in_order]  # if listed
    own.extend(output.get("__interrupt__", ()))  # if own
    if output.get("__interrupt__"):  # if paused
        paused.append(agent.get_state(config).config)  # if paused
    for message in output.get("messages", ()):  # if graph
    for message in output["messages"]:  # unless graph
        calls = [(call["name"], call["args"], call["id"]) for call in getattr(message, "tool_calls", [])]
        answers = (message.tool_call_id, message.status) if message.type == "tool" else None
        show("message", (message.type, message.content, calls, answers))
""",
    "show_v2": """
def show_v2(output):
    show_state({**output.value, "__interrupt__": output.interrupts})
""",
    "show_stream": """
def show_stream(chunks):
    for chunk in chunks:
        show("chunk", chunk)
    state = agent.get_state(config)
    show_state({**state.values, "__interrupt__": state.interrupts})
""",
    "collected": """
async def collected(chunks):
    return [chunk async for chunk in chunks]
""",
    "step": '''
@contextmanager
def step():
    """Show what a step raises, and let the script go on."""
    try:
        yield
    except Impossible:  # if pick
        print("impossible: None")  # if pick
    except Exception as error:
        show("raised", type(error).__name__)
''',
}

_OWN = frozenset(
    {"added", "agent", "answers", "builder", "config", "decision", "decisions", "messages", "model", "received", "said", "state"}
)

_BRANCHES = frozenset(f"branch_{number}" for number in range(1, 10))

_IMPORTED = frozenset(name for names in _IMPORTS.values() for name in names)

RESERVED = frozenset({*_OWN, *_BRANCHES, *_STATE, *_PIECES, *_MODULES, *_IMPORTED, *dir(builtins), *keyword.kwlist})
"""Names that a script uses for itself, so that a tool's function or parameter cannot have them."""

_CONDITION = re.compile(r"  # (if|unless) ([a-z_]+)$")


def wanted(source: str, flags: frozenset[str]) -> frozenset[str]:
    """Return the flags, the names that a source uses, and those that the pieces use which it needs."""
    found = flags | _names(source)
    while True:
        more = found.union(*(_names(code) for code in [*_helpers(found), *_states(found)]))
        if more == found:
            return found
        found = more


def head(names: frozenset[str]) -> str:
    """Return the imports and the helpers that these names need."""
    return "\n\n".join([_imports(names), *_helpers(names)])


def state(names: frozenset[str]) -> str:
    """Return what a case starts with, as far as these names need it."""
    return "".join(f"\n{line}" for line in _states(names))


def _helpers(names: frozenset[str]) -> list[str]:
    return [_kept(piece, names) for name, piece in _PIECES.items() if name in names]


def _states(names: frozenset[str]) -> list[str]:
    return [line for name, line in _STATE.items() if name in names]


def _imports(names: frozenset[str]) -> str:
    standard = [f"import {module}\n" for module in _MODULES if module in names]
    standard += [_import(module, names) for module in _IMPORTS if module in _STANDARD]
    others = [_import(module, names) for module in _IMPORTS if module not in _STANDARD]
    return "".join([*standard, "\n" if any(standard) else "", *others])


def _import(module: str, names: frozenset[str]) -> str:
    kinds = {name for name in names if module == _KINDS and _MIDDLEWARE.fullmatch(name)}
    used = sorted({*_IMPORTS[module]} & names | kinds)
    return f"from {module} import {', '.join(used)}\n" if used else ""


def _kept(piece: str, names: frozenset[str]) -> str:
    return "\n".join(_lines(piece, names)).replace("\n\n\n", "\n\n").rstrip("\n").lstrip("\n") + "\n"


def _lines(piece: str, names: frozenset[str]) -> Iterator[str]:
    for line in piece.splitlines():
        condition = _CONDITION.search(line)
        if condition is None:
            yield line
        elif (condition[2] in names) == (condition[1] == "if"):
            yield line[: condition.start()]


@cache
def _names(source: str) -> frozenset[str]:
    """Return the names that a source uses and does not bind itself, statement by statement."""
    return frozenset().union(*map(_free, ast.parse(source).body))


def _free(statement: ast.stmt) -> frozenset[str]:
    nodes = list(ast.walk(statement))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return frozenset({node.id for node in names} - stored - parameters)
