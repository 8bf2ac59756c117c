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


@claim(
    "output/second-version",
    version=1,
    sentence="With version v2 invoke returns a GraphOutput, and what it asks stands under its interrupts.",
    promised="The documentation page on human in the loop: with version v2 the result is a GraphOutput with interrupts.",
    vantages=("output",),
)
def second_version(history: CaseHistory) -> Finding:
    """Examine every output of a step that was run in the second version."""
    steps = [number for number, _ in history.steps()]
    second = {(step, branch) for step in steps for branch, part in history.parts(step) if part.get("through") == "v2"}
    outputs = [found for found in history.of("output") if (found["step"], found.get("branch")) in second]
    wrong = [found for found in outputs if found.get("form") != "GraphOutput" or "__interrupt__" in found["keys"]]
    return Finding(
        len(outputs), tuple(Fault(numbered("output", found["step"]), "GraphOutput", found.get("form")) for found in wrong)
    )
