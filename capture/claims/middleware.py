"""Claims about middleware around the one under audit."""

from collections import Counter

from capture.claims.registry import Fault, Finding, claim, evidence
from capture.history import CaseHistory


@claim(
    "middleware/entered-once",
    version=1,
    sentence="A middleware around a tool call is entered once for each call, and not again when a person has answered.",
    promised=(
        "Chosen by this project. langchain documents the opposite for per_call mode: what is listed before the gate "
        "runs again up to the pause on resume, and must have no side effects before it goes on."
    ),
    vantages=("middleware",),
)
def entered_once(history: CaseHistory) -> Finding:
    """Examine every call that came by a middleware of the kit."""
    counts = Counter((entry["name"], entry.get("call")) for entry in history.of("middleware") if entry["event"] == "entered")
    again = {key: count for key, count in counts.items() if count > 1}
    return Finding(
        len(counts), tuple(Fault(evidence(f"middleware/{name}", call), 1, count) for (name, call), count in again.items())
    )
