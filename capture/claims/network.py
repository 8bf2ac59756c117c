"""Claims about the network, which the probe may not use."""

from capture.claims.registry import Fault, Finding, claim, numbered
from capture.history import CaseHistory


@claim(
    "network/none-tried",
    version=1,
    sentence="The run tries no connection, no datagram and no name look-up.",
    promised="Chosen by this project: a case is scripted, so whatever calls out is not what the case is about.",
    vantages=(),
)
def none_tried(history: CaseHistory) -> Finding:
    """Examine every step that came to an end; each blocked attempt is a fault."""
    tried = history.of("network")
    faults = tuple(Fault(numbered("network", number), None, found["event"]) for number, found in enumerate(tried, start=1))
    return Finding(len(history.of("outcome")), faults)
