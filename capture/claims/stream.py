"""Claims about streams: whether the pause can be seen in one, and whether it shows what ran."""

from collections.abc import Mapping
from typing import Any

from capture.authority import Ruled, Ruling, same
from capture.claims.readings import by_ruling
from capture.claims.registry import Fault, Finding, claim, evidence, numbered
from capture.history import CaseHistory, Entry


@claim(
    "stream/pause-shown",
    version=1,
    sentence="The stream of a step that pauses shows the pause.",
    promised="Chosen by this project: who only follows the stream must be able to tell a pause from an end.",
    vantages=("stream",),
)
def pause_shown(history: CaseHistory) -> Finding:
    """Examine every step that was streamed and paused."""
    paused = [entry for entry in history.of("stream") if history.ended(entry["step"], entry.get("branch")) == "paused"]
    silent = [entry for entry in paused if not entry["pauses"]]
    return Finding(len(paused), tuple(Fault(numbered("stream", entry["step"]), "a pause", []) for entry in silent))


@claim(
    "stream/dispatch-shown",
    version=1,
    sentence="The stream of a step shows each call that ran in it with the arguments that it ran with.",
    promised="Chosen by this project: a view that is built from a stream must be able to show what ran.",
    vantages=("stream", "prompt", "dispatch"),
)
def dispatch_shown(history: CaseHistory) -> Finding:
    """Examine every dispatch in a step that was streamed."""

    def find(ruling: Ruling) -> Finding:
        streams = history.of("stream")
        pairs = [(ruled, stream) for ruled in ruling.dispatches for stream in streams if _is_of(stream, ruled.entry)]
        hidden = [(ruled, stream) for ruled, stream in pairs if not any(_shows(report, ruled) for report in stream["calls"])]
        return Finding(len(pairs), tuple(_hidden(ruled, stream) for ruled, stream in hidden))

    return by_ruling(history, find)


def _is_of(stream: Entry, dispatch: Entry) -> bool:
    return all(stream.get(key) == dispatch.get(key) for key in ("step", "branch"))


def _shows(report: Mapping[str, Any], ruled: Ruled) -> bool:
    return (
        report["tool"] == ruled.entry["tool"] and report["call"] in (None, ruled.call) and same(report["args"], ruled.entry["args"])
    )


def _hidden(ruled: Ruled, stream: Entry) -> Fault:
    reported = [report["args"] for report in stream["calls"] if report["call"] in (None, ruled.call)]
    different = [args for number, args in enumerate(reported) if not any(same(args, known) for known in reported[:number])]
    return Fault(evidence("stream", ruled.call), {"tool": ruled.entry["tool"], "args": ruled.entry["args"]}, different)
