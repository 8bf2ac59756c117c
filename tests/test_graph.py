"""What a case may say of a bare graph, and of what a subject asks by itself: what cannot be meant is refused, with its key."""

import ast
from pathlib import Path

import pytest

from capture import case, library
from capture.errors import InputRefused

WHOLE = """
question = "Is all of it understood?"
trigger = "own-question-answered"
gated = ["send"]
claims = ["core/no-undecided-dispatch"]

[[sources]]
document = "tests"
says = "A graph that uses what there is."

[subject]
kind = "graph"
checkpointer = "memory"
interrupt_before = ["talk"]

[[subject.tools]]
name = "send"
description = "Send."
parameters = ["to", "text"]
returns = "sent"
call_id = true

[[subject.questions]]
name = "sure"
value = "Sure?"
goes = ["yes"]
guards = { tool = "send", args = { to = "x", text = "yes" } }

[[subject.questions]]
name = "call"
call = "call-1"
goes = ["yes"]

[[subject.nodes]]
name = "ask"
on = "Send it."
acts = [
  { before = "look-up" },
  { ask = "sure" },
  { effect = "send", args = { to = "x" }, answers = { text = "sure" }, if = "sure" },
  { say = "Done." },
]

[[subject.nodes]]
name = "talk"
after = "start"
retries = 1
acts = [{ model = true }, { ask = "call" }, { proposed = true, if = "call" }, { raise = 1 }]

[[subject.nodes]]
name = "act"
tools = true

[[script]]
calls = [{ id = "call-1", tool = "send", args = { to = "x", text = "y" } }]

[[steps]]
do = "invoke"
text = "Send it."

[[steps]]
do = "resume"
answers = [{ question = "sure", value = "yes", authorises = true }]
"""

AGENT = """
question = "Does a tool ask?"
trigger = "own-question-answered"
gated = ["send"]
claims = ["core/no-undecided-dispatch"]

[[sources]]
document = "tests"
says = "A tool that asks about its own call."

[subject]
kind = "create_agent"
checkpointer = "memory"

[[subject.tools]]
name = "send"
description = "Send."
parameters = ["to"]
returns = "sent"
call_id = true
before = [{ ask = true }]

[[subject.questions]]
name = "call"
call = "call-1"
goes = ["yes"]

[[script]]
calls = [{ id = "call-1", tool = "send", args = { to = "x" } }]

[[steps]]
do = "invoke"
text = "Send it."
"""

NODE = "key subject.nodes: ask"
QUESTION = "key subject.questions: sure"

REFUSED = [
    ("no node", 'name = "act"\ntools = true', 'name = "act"', "key subject.nodes.2: exactly one of acts, tools is needed"),
    ("two acts in one", '{ say = "Done." }', '{ say = "Done.", model = true }', "key subject.nodes.0.acts.3"),
    ("an act of nothing", '{ say = "Done." }', "{}", "key subject.nodes.0.acts.3"),
    ("an act that is none", '{ say = "Done." }', '{ sing = "Done." }', "key subject.nodes.0.acts.3"),
    ("args of no effect", '{ say = "Done." }', '{ say = "Done.", args = {} }', "key subject.nodes.0.acts.3"),
    ("if of no effect", '{ say = "Done." }', '{ say = "Done.", if = "sure" }', "key subject.nodes.0.acts.3"),
    ("a name twice", 'name = "act"\n', 'name = "ask"\n', "'ask' stands twice"),
    ("a name of the graph's own", 'name = "act"\n', 'name = "messages"\n', "'messages' stands twice, or is a name that the graph"),
    ("a path in a name", 'name = "act"\n', 'name = "../act"\n', "key subject.nodes.2.name"),
    ("after nothing", 'after = "start"', 'after = "act"', "follows 'act', which is no node before it"),
    ("a text in the middle", 'after = "start"', 'after = "ask"\non = "x"', "waits for a text, so it follows the start"),
    ("a breakpoint at nothing", 'interrupt_before = ["talk"]', 'interrupt_before = ["tolk"]', "'tolk' is not a node"),
    ("asks nothing", '{ ask = "sure" }', '{ ask = "who" }', f"{NODE}, act 2: 'who' is not a question"),
    ("asks twice", '{ say = "Done." }', '{ ask = "sure" }', f"{NODE}, act 4: 'sure' is not a question of the subject, or is asked"),
    ("shows a call too early", "{ model = true }, { ask", "{ ask", "shows a call, but the model does not speak before it"),
    ("proposes too early", '{ say = "Done." }', "{ proposed = true }", "act 4: the model does not speak before it"),
    (
        "goes on too early",
        '{ before = "look-up" }',
        '{ effect = "send", args = { to = "x", text = "y" }, if = "sure" }',
        "act 1: 'sure'",
    ),
    ("goes on whatever is said", 'value = "Sure?"\ngoes = ["yes"]', 'value = "Sure?"', "give it goes"),
    ("an effect of nothing", '{ say = "Done." }', '{ effect = "pay" }', "'pay' is not a tool of the subject"),
    ("an argument too few", 'args = { to = "x" }, answers', "answers", "send takes to, text, each once"),
    (
        "an argument twice",
        'args = { to = "x" }, answers',
        'args = { to = "x", text = "y" }, answers',
        "send takes to, text, each once",
    ),
    ("guards nothing", 'guards = { tool = "send"', 'guards = { tool = "pay"', f"{QUESTION} guards 'pay'"),
    (
        "guards beside a call",
        'call = "call-1"\n',
        'call = "call-1"\nguards = { tool = "send", args = {} }\n',
        "key subject.questions.1",
    ),
    ("about no call", 'call = "call-1"\n', 'call = "call-2"\n', "is about 'call-2', which is not a call of the script"),
    (
        "asked by nobody",
        'interrupt_before = ["talk"]\n',
        'interrupt_before = ["talk"]\n\n[[subject.questions]]\nname = "idle"\nvalue = "Idle?"\n',
        "idle is asked by no node and no tool",
    ),
    ("the same question", 'call = "call-1"\n', 'value = "Sure?"\n', "key subject.questions: call has the name of another question"),
    (
        "a question of its own kind",
        'value = "Sure?"\n',
        'value = "Sure?"\nfails = { on = "resume", how = "raise", runs = 1 }\n',
        "only interrupt",
    ),
    (
        "typed and untyped",
        'value = "Sure?"\n',
        'value = "Sure?"\ntyped = { a = "string" }\nschema = {}\n',
        "key subject.questions.0",
    ),
    (
        "a schema for the reference",
        'value = "Sure?"\n',
        'value = "Sure?"\nschema = {}\n',
        "the reference implementation takes no schema",
    ),
    ("an answer to nothing", 'question = "sure", value', 'question = "who", value', "key steps.1.answers: 'who' is not a question"),
    (
        "two bare answers",
        "authorises = true }]",
        'authorises = true }, { question = "call", value = "no" }]',
        "several go by = 'id'",
    ),
    ("an answer by value", "authorises = true }]", 'authorises = true }]\nby = "value"', "bare unless it goes by"),
    ("allows another tool", "authorises = true", 'authorises = { tool = "pay", args = {} }', "guards no such effect"),
    ("allows it not", "authorises = true", "authorises = false", "key steps.1"),
    ("an answer without one", ', value = "yes", authorises', ", authorises", "key steps.1"),
    ("middleware", "interrupt_before", 'middleware = [{ kind = "counter" }]\ninterrupt_before', "a graph has none"),
    ("vary what does not vary", "gated = ", 'vary = { mode = ["per_call"] }\ngated = ', "key vary.mode"),
    ("a fact without another answer", "[[script]]", '[[script]]\ntext = "x"\nremembers = "y"\n\n[[script]]', "key script.0"),
]

REFUSED_AGENT = [
    (
        "nodes",
        "[[script]]",
        '[[subject.nodes]]\nname = "ask"\nacts = [{ ask = "call" }]\n\n[[script]]',
        "key subject.nodes: only a subject",
    ),
    (
        "updates",
        'checkpointer = "memory"',
        'checkpointer = "memory"\ninterrupt = "updates"',
        "key subject.interrupt: only a subject",
    ),
    ("breakpoints", 'checkpointer = "memory"', 'checkpointer = "memory"\ninterrupt_before = ["x"]', "key subject.interrupt_before"),
    ("no call id", "call_id = true\n", "", "asks about its call, so it also needs call_id"),
    (
        "no question",
        "[{ id",
        '[{ id = "call-2", tool = "send", args = { to = "y" } }, { id',
        "no question of the subject is about 'call-2'",
    ),
    ("asked behind the effect", "before = [{ ask", "after = [{ ask", "key subject.tools.0.after.0"),
]


def load(text: str, folder: Path) -> list[case.Case]:
    """Read a case from its text."""
    path = folder / "mine" / "graph.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return case.load(path, "mine/graph")


@pytest.mark.parametrize(("before", "after", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_graph_that_cannot_be_meant_is_refused(before: str, after: str, says: str, tmp_path: Path) -> None:
    """A case that says something of its graph that no run can be is refused with its file and the key."""
    assert WHOLE.count(before) == 1
    assert load(WHOLE, tmp_path)
    text = WHOLE.replace(before, after)
    if "reference" in says:
        text = text.replace('checkpointer = "memory"', 'checkpointer = "memory"\ninterrupt = "updates"')
    with pytest.raises(InputRefused) as refusal:
        load(text, tmp_path)
    assert says in refusal.value.message


@pytest.mark.parametrize(("before", "after", "says"), [row[1:] for row in REFUSED_AGENT], ids=[row[0] for row in REFUSED_AGENT])
def test_an_agent_that_cannot_ask_so_is_refused(before: str, after: str, says: str, tmp_path: Path) -> None:
    """What only a graph has, and a tool that cannot ask about its call, is refused in an agent."""
    assert AGENT.count(before) == 1
    assert load(AGENT, tmp_path)
    with pytest.raises(InputRefused) as refusal:
        load(AGENT.replace(before, after), tmp_path)
    assert says in refusal.value.message


def test_an_agent_needs_a_tool_and_a_turn(tmp_path: Path) -> None:
    """A graph may be without both, an agent may not."""
    for gone, says in (("[[script]]", "key script: an agent needs"), ("[[subject.tools]]", "key subject.tools: an agent needs")):
        start = AGENT.index(gone)
        stop = AGENT.index("\n\n", start)
        kept = AGENT[:start] + AGENT[stop:]
        empty = 'script = []\ngated = ["send"]' if "script" in gone else 'gated = ["send"]'
        text = kept.replace('gated = ["send"]', empty)
        if "tools" in gone:
            text = text.replace("[subject]\n", "[subject]\ntools = []\n")
        with pytest.raises(InputRefused) as refusal:
            load(text, tmp_path)
        assert says in refusal.value.message or "is not a tool" in refusal.value.message


def test_a_question_asked_both_ways_is_two_cases(tmp_path: Path) -> None:
    """A case may vary over how its questions are asked, and each is a case of its own."""
    text = WHOLE.replace("gated = ", 'vary = { interrupt = ["plain", "updates"] }\ngated = ')
    assert [known.id for known in load(text, tmp_path)] == ["mine/graph", "mine/graph@updates"]
    with pytest.raises(InputRefused, match=r"key vary\.interrupt"):
        load(text.replace('checkpointer = "memory"', 'checkpointer = "memory"\ninterrupt = "updates"'), tmp_path)


REFERENCE = library.probe_folder() / "probe" / "interrupt_updates.py"


def test_the_reference_implementation_uses_no_private_name() -> None:
    """Every name that it takes from elsewhere is public, and every attribute that it reads is too."""
    tree = ast.parse(REFERENCE.read_text())
    taken = [f"{node.module}.{name.name}" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names]
    read = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    assert [name for name in taken if any(part.startswith("_") for part in name.split("."))] == []
    assert [name for name in read if name.startswith("_") and name != "__name__"] == []
    assert {name.split(".")[0] for name in taken if name.startswith("lang")} == {"langchain_core", "langgraph"}
    assert not any(isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "setattr") for node in ast.walk(tree))
