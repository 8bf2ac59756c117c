"""A case as one plain Python script: the packages under audit and no line of ours, ready to be pasted into an upstream issue.

What a case says becomes source in `subject` and `steps`; the helpers that this source names come from `pieces`, and no others.
"""

from collections.abc import Sequence

from capture.case import Case
from capture.render.script import pieces, steps, subject
from capture.render.script.source import comment

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

    Keys are sorted, as the probe gets them: a framework that shows arguments as text shows them in the order given.
    """
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
