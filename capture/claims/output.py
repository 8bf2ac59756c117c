"""Claims about what invoke returns."""

from capture.claims.registry import Fault, Finding, claim, numbered
from capture.history import PRIVATE_KEY, CaseHistory


@claim(
    "output/private-key-absent",
    version=1,
    sentence="What invoke returns does not hold the middleware's private key.",
    promised="langchain: the key is declared with PrivateStateAttr, which keeps it out of input and output.",
    vantages=("checkpoint", "output"),
)
def private_key_absent(history: CaseHistory) -> Finding:
    """Examine every output, if the key is in any of them or in a checkpoint: a release without the key cannot leak it."""
    outputs = history.of("output")
    leaks = [found["step"] for found in outputs if PRIVATE_KEY in found["keys"]]
    exists = bool(leaks) or any("stored_edits" in found for found in history.of("checkpoint"))
    return Finding(len(outputs) if exists else 0, tuple(Fault(numbered("output", step), None, PRIVATE_KEY) for step in leaks))
