"""Claims about what the reviewer was shown."""

from capture.authority import proposals, same, shown
from capture.claims.registry import Fault, Finding, claim, evidence
from capture.history import CaseHistory


@claim(
    "review/proposal-shown",
    version=1,
    sentence="Before a gated call runs, the reviewer is shown exactly what the model proposed, each gated call of the turn once.",
    promised="langchain, HumanInTheLoopMiddleware: the request lists every call that needs approval with its name and arguments.",
    vantages=("prompt", "review"),
)
def proposal_shown(history: CaseHistory) -> Finding:
    """Examine every gated call that the model proposed in a step that came back."""
    gated = [call for call in proposals(history) if call.tool in history.scenario["gated"]]
    if not any(history.outcome(number) in ("paused", "ended") for number, _ in history.steps()):
        return Finding(0)
    listings = [shown(history, number) for number, _ in history.steps() if history.outcome(number) == "paused"]
    if any(listing is None for listing in listings):
        return Finding(len(gated), unknown="unobservable")
    seen = {item.call.id: item.call for listing in listings for item in listing or []}
    faults = tuple(
        Fault(
            evidence("review", call.id),
            {"tool": call.tool, "args": call.args},
            found and {"tool": found.tool, "args": found.args},
        )
        for call in gated
        for found in [seen.get(call.id)]
        if found is None or found.tool != call.tool or not same(found.args, call.args)
    )
    return Finding(len(gated), faults)
