"""A case as one plain Python script: the packages under audit and no line of ours, ready to be pasted into an upstream issue.

What a case says becomes source in `subject` and `steps`; the helpers that this source names come from `pieces`, and no others.
"""

from collections.abc import Sequence

from capture.case import Case
from capture.errors import InputRefused
from capture.render.script import pieces, steps, subject
from capture.render.script.source import comment
from capture.scenario import is_contained

__all__ = ["script"]

_CASE = """

# {id}
# {question}

{tools}
{state}
agent = create_agent(
{arguments}
)
config = {{"configurable": {{"thread_id": "1"}}{limit}}}
{steps}
"""


def script(cases: Sequence[Case]) -> str:
    """Return the script of cases, in this order; it prints each dispatch, what a person is asked, and the messages.

    A case of which one process does not hold everything is refused: no one script can show it.

    Keys are sorted, as the probe gets them: a framework that shows arguments as text shows them in the order given.
    """
    for case in cases:
        if not is_contained(case.scenario):
            raise InputRefused(f"case {case.id}: it goes beyond one process, which no one script shows.", "`run --case` runs it.")
    flags = frozenset().union(*(subject.flags(case.scenario) for case in cases))
    wanted = pieces.wanted("".join(_case(case, "") for case in cases), flags)
    state = pieces.state(wanted)
    return "".join([pieces.head(wanted), *(_case(case, state) for case in cases)])


def _case(case: Case, state: str) -> str:
    return _CASE.format(
        id=case.id,
        question=comment(case.question),
        tools=subject.tools(case.scenario),
        state=state,
        arguments=subject.arguments(case.scenario),
        limit=subject.limit(case.scenario),
        steps=steps.steps(case.scenario),
    )
