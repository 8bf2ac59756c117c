"""Claims about what invoke returns."""

from capture.claims.registry import Fault, Finding, claim, numbered
from capture.history import CaseHistory

PRIVATE_KEY = "hitl_edited_tool_calls"


@claim(
    "output/private-key-absent",
    version=1,
    sentence="What invoke returns does not hold the middleware's private key, although checkpoints do.",
    promised="langchain: the key is declared with PrivateStateAttr, which keeps it out of input and output.",
    vantages=("checkpoint", "output"),
)
def private_key_absent(history: CaseHistory) -> Finding:
    """Examine every output of a history whose checkpoints hold the key."""
    if not any("stored_edits" in found for found in history.of("checkpoint")):
        return Finding(0)
    outputs = history.of("output")
    faults = tuple(Fault(numbered("output", found["step"]), None, PRIVATE_KEY) for found in outputs if PRIVATE_KEY in found["keys"])
    return Finding(len(outputs), faults)
