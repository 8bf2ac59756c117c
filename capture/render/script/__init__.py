"""A case as one plain Python script: the packages under audit and no line of ours, ready to be pasted into an upstream issue.

What a case says becomes source in `subject` and `steps`; the helpers that this source names come from `pieces`, and no others.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from capture.case import Case
from capture.errors import InputRefused
from capture.graph import is_graph
from capture.render.script import graph, pieces, steps, subject
from capture.render.script.source import comment
from capture.scenario import is_contained

__all__ = ["is_shown", "script"]

_AGENT = """agent = create_agent(
{arguments}
)"""

_CASE = """

# {id}
# {question}

{tools}
{state}
{agent}
config = {{"configurable": {{"thread_id": "1"}}{limit}}}
{steps}
"""


def is_shown(case: Case) -> bool:
    """Tell whether a script of the packages alone can show a case: one process holds it, and it asks through what they have."""
    return is_contained(case.scenario) and "interrupt" not in case.scenario["subject"]


def script(cases: Sequence[Case]) -> str:
    """Return the script of cases, in this order; it prints each dispatch, what a person is asked, and the messages.

    A case of which one process does not hold everything is refused, and one that asks through the reference implementation: no one
    script of the packages alone can show it.

    Keys are sorted, as the probe gets them: a framework that shows arguments as text shows them in the order given.
    """
    for case in cases:
        if not is_contained(case.scenario):
            raise InputRefused(f"case {case.id}: it goes beyond one process, which no one script shows.", "`run --case` runs it.")
        if "interrupt" in case.scenario["subject"]:
            raise InputRefused(
                f"case {case.id}: it asks through the reference implementation, which is in no package.", "`run --case` runs it."
            )
    flags = frozenset().union(*(subject.flags(case.scenario) for case in cases))
    wanted = pieces.wanted("".join(_case(case, "") for case in cases), flags)
    state = pieces.state(wanted)
    return "".join([pieces.head(wanted), *(_case(case, state) for case in cases)])


def _case(case: Case, state: str) -> str:
    return _CASE.format(
        id=case.id,
        question=comment(case.question),
        tools=_functions(case.scenario),
        state=state,
        agent=_agent(case.scenario),
        limit=subject.limit(case.scenario),
        steps=steps.steps(case.scenario),
    )


def _functions(scenario: Mapping[str, Any]) -> str:
    """Return the functions of the tools, or of the effects and nodes of a graph; one that runs tools has them as an agent has."""
    if not is_graph(scenario):
        return subject.tools(scenario)
    runs_tools = any("tools" in node for node in scenario["subject"]["nodes"])
    return "\n".join([subject.tools(scenario) if runs_tools else graph.effects(scenario), graph.nodes(scenario)])


def _agent(scenario: Mapping[str, Any]) -> str:
    if is_graph(scenario):
        return graph.graph(scenario, subject.model(scenario), subject.names(scenario))
    return _AGENT.format(arguments=subject.arguments(scenario))
