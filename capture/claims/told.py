"""Claims about what the model is told of a call: whether it ran, what a person answered, and why one was refused."""

import re
from collections.abc import Iterable, Iterator

from capture.authority import Ruling, decided, proposals
from capture.claims.conversation import Message, latest, unread
from capture.claims.readings import by_ruling
from capture.claims.registry import Fault, Finding, claim, evidence
from capture.history import CaseHistory

_EXECUTED = re.compile(r"\bexecuted instead\b", re.IGNORECASE)
"""How the middleware's notice says what ran (langchain 1.4.2 and later, `_notice`)."""


@claim(
    "messages/told-truly",
    version=1,
    sentence="A tool message says that a call ran only if it ran, and has the status error only if no run of it came to its end.",
    promised="Chosen by this project: a model that is told wrongly what ran decides wrongly what to do next.",
    vantages=("prompt", "dispatch"),
)
def told_truly(history: CaseHistory) -> Finding:
    """Examine every tool message of the final conversation that answers the latest call of an id."""
    known = dict.fromkeys(call.id for call in proposals(history))
    messages = history.final_messages()
    if messages is None:
        return unread(len(known))
    told = [message for call in known for message in latest(messages, call)]

    def find(ruling: Ruling) -> Finding:
        faults = [fault for message in told for fault in _untrue(message, ruling, history)]
        return Finding(len(told), tuple(faults))

    return by_ruling(history, find)


def _untrue(message: Message, ruling: Ruling, history: CaseHistory) -> Iterator[Fault]:
    call = message["answers"]
    runs = [ruled.entry["invocation"] for ruled in ruling.dispatches if ruled.call == call]
    ended = [entry for entry in history.of("dispatch") if entry["event"] == "returned" and entry["invocation"] in runs]
    says = _EXECUTED.search(str(message["content"])) is not None
    if not runs and (says or (message["status"] == "success" and call not in decided(history, "respond"))):
        yield Fault(evidence("messages", call), "that it did not run", {"status": message["status"], "content": message["content"]})
    if ended and message["status"] == "error":
        yield Fault(evidence("messages", call), "success", "error")


@claim(
    "messages/respond-is-result",
    version=1,
    sentence="The one message that answers a call which a person answered in the tool's place is a success with the person's text.",
    promised="langchain, HumanInTheLoopMiddleware: respond returns the text as the tool's result, with the status success.",
    vantages=("prompt", "review"),
)
def respond_is_result(history: CaseHistory) -> Finding:
    """Examine every call that a person answered in the tool's place."""
    responded = decided(history, "respond")
    messages = history.final_messages()
    if messages is None or _waits(history, messages, responded):
        return unread(len(responded))
    faults: list[Fault] = []
    for call, answer in responded.items():
        wanted = [{"status": "success", "content": answer.decision["message"]}]
        found = [{key: message[key] for key in ("status", "content")} for message in latest(messages, call)]
        if found != wanted:
            faults.append(Fault(evidence("messages", call), wanted, found))
    return Finding(len(responded), tuple(faults))


def _waits(history: CaseHistory, messages: list[Message], calls: Iterable[str | None]) -> bool:
    """Tell whether a message may still come: the run is not over, and one of these calls has none yet."""
    return history.last_outcome() != "ended" and not all(latest(messages, call) for call in calls)


@claim(
    "messages/reason-told",
    version=1,
    sentence="The message that answers a rejected call holds the reason that the person gave.",
    promised="langchain, HumanInTheLoopMiddleware: the message of a rejection is given to the model as its reason.",
    vantages=("prompt", "review"),
)
def reason_told(history: CaseHistory) -> Finding:
    """Examine every rejection with a reason."""
    reasons = {
        call: answer.decision["message"] for call, answer in decided(history, "reject").items() if "message" in answer.decision
    }
    messages = history.final_messages()
    if messages is None or _waits(history, messages, reasons):
        return unread(len(reasons))
    faults: list[Fault] = []
    for call, reason in reasons.items():
        found = [str(message["content"]) for message in latest(messages, call)]
        if not any(reason in text for text in found):
            faults.append(Fault(evidence("messages", call), reason, found))
    return Finding(len(reasons), tuple(faults))


_PAGE = "The documentation page on human in the loop, which says both under its four types of decision and later in one paragraph"


@claim(
    "promise/respond-refuses",
    version=1,
    sentence="A person who refuses a call answers in the tool's place, and the model learns that it was refused.",
    promised=f"{_PAGE}: use respond when a person refuses; never use respond to refuse, for it counts as a success.",
    vantages=("prompt", "review", "dispatch"),
)
def respond_refuses(history: CaseHistory) -> Finding:
    """Examine every call that a person answered in the tool's place: if told as a success, only one of two promises holds."""
    responded = decided(history, "respond")
    messages = history.final_messages()
    if messages is None:
        return unread(len(responded))

    def find(ruling: Ruling) -> Finding:
        ran = [ruled.call for ruled in ruling.dispatches if ruled.call in responded]
        if ran:
            return Finding(len(responded), tuple(Fault(evidence("dispatch", call), None, "ran") for call in ran))
        succeeded = any(message["status"] == "success" for call in responded for message in latest(messages, call))
        return Finding(len(responded), unknown="ambiguous" if succeeded else None)

    return by_ruling(history, find)
