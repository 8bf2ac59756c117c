"""The table of what went beyond one process: for each fault and checkpointer, what ran, what was received, asked again and told."""

from collections.abc import Iterator

from capture.document import Document
from capture.render.cells import status

__all__ = ["COLUMNS", "concerns", "rows"]

COLUMNS = ("Case", "Kept in", "What happened", "Dispatched", "Received", "Found again", "The model was told", "Verdict")


def concerns(pin: Document) -> bool:
    """Tell whether there is anything to show: a case of this pin took more than one process, or something was received."""
    return any(_is_shown(case) for case in pin["cases"])


def rows(pin: Document) -> Iterator[tuple[str, ...]]:
    """Yield a row for each such case; text in its cells is not escaped yet."""
    for case in pin["cases"]:
        if _is_shown(case):
            yield (
                case["case"].partition("@")[0],
                _kept_in(case["case"]),
                _happened(case["observations"]),
                str(case["observations"]["dispatches"]),
                str(len(case["observations"]["wire"])) if "wire" in case["observations"] else "-",
                _found(case["observations"]),
                _told(case),
                status(case),
            )


def _is_shown(case: Document) -> bool:
    seen = case["observations"]
    return "wire" in seen or "recovered" in seen or not _kept_in(case["case"]).startswith("memory")


def _kept_in(name: str) -> str:
    words = name.partition("@")[2].split(",")
    kept = next((word for word in words if word in ("postgres", "sqlite")), "memory")
    return f"{kept}, async" if "async" in words else kept


def _happened(seen: Document) -> str:
    """Say where processes ended, or what was done by several at once, and what the operator did after it."""
    deaths = {death["step"]: f"killed {death['when']} {_WHAT[death['what']]}" for death in seen.get("deaths", ())}
    said = []
    for step in seen["outcomes"]:
        if step["step"] in deaths:
            said.append(f"{step['do']} ({deaths[step['step']]})" if step["do"] != "kill" else "killed while paused")
        elif step["do"] != "build" and step.get("branch", 1) == 1:
            said.append(_ended(step))
    return ", ".join(said)


_WHAT = {"dispatch": "the effect", "checkpoint": "a checkpoint was put", "writes": "writes were put", "run": "going on"}


def _ended(step: Document) -> str:
    if "branch" in step:
        return "two at once"
    if step["status"] in ("restarted", "ended"):
        return str(step["do"])
    return f"{step['do']} {step['status']}{' ' + step['error'] if step['error'] else ''}"


def _found(seen: Document) -> str:
    """Say what the last new process found of the thread: nothing, a question, or what comes next."""
    if "recovered" not in seen:
        return "-"
    last = seen["recovered"][-1]
    if last["checkpoint"] is None:
        return "nothing"
    return "a question" if last["questions"] else f"next: {', '.join(last['next']) or 'nothing'}"


def _told(case: Document) -> str:
    told = case["observations"]["told"]
    return "; ".join(f"“{_short(str(answer['content']))}”" for answer in told) or "nothing"


def _short(text: str) -> str:
    line = " ".join(text.replace("“", '"').replace("”", '"').split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


_LONGEST = 60
