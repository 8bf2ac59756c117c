"""A history: what was seen of one case, with stable names and order. It is the only evidence that a verdict may use.

A journal is written while things happen, by several processes, with random ids. Its history has the same entries, each id
replaced by a name in order of appearance, in an order that does not depend on the clock: by step, then by vantage, then by
what was seen. A saved file holds the environment, then each case between a `case` and an `end` line, then a footer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from capture import document, scenario
from capture.errors import InputRefused

__all__ = [
    "PRIVATE_KEY",
    "CaseHistory",
    "Entry",
    "History",
    "body",
    "from_journal",
    "read",
    "read_case",
    "read_environment",
    "whole",
    "write",
]

Entry = Mapping[str, Any]

PRIVATE_KEY = "hitl_edited_tool_calls"
"""The middleware's private state key for edits, as outputs and checkpoints name it; its value is observed as `stored_edits`."""

_RANKS = (
    "step",
    "unsupported",
    "prompt",
    "predicate",
    "middleware",
    "node",
    "dispatch",
    "wire",
    "process",
    "network",
    "outcome",
    "review",
    "output",
    "stream",
    "messages",
    "checkpoint",
    "recovered",
    "fault",
)


_LEFT = ("paused", "stopped", "ended", "built", "updated", "waited", "restarted", "raised", "impossible", "killed")

_RUNS_NOTHING = ("update-state", "wait", *scenario.ENDS)


@dataclass(frozen=True, eq=False)
class CaseHistory:
    """What was seen of one case, and the scenario that it was run with."""

    case: str
    scenario: Mapping[str, Any]
    entries: tuple[Entry, ...]
    smoke: bool = False

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the scenario."""
        return document.digest(document.canonical(self.scenario))

    @cached_property
    def _index(self) -> Mapping[str, list[Entry]]:
        index: dict[str, list[Entry]] = {}
        for entry in self.entries:
            index.setdefault(_kind(entry), []).append(entry)
        return index

    def of(self, kind: str, step: int | None = None) -> list[Entry]:
        """Return the entries of a kind or vantage, of one step or of all, in the history's order."""
        return [entry for entry in self._index.get(kind, []) if step in (None, entry["step"])]

    def steps(self) -> list[tuple[int, Mapping[str, Any]]]:
        """Return the steps that were started, each with its number (from 1) and what the case says about it."""
        planned = self.scenario["steps"]
        return [(entry["step"], planned[entry["step"] - 1]) for entry in self.of("step") if entry["do"] != "build"]

    def parts(self, step: int) -> list[tuple[int | None, Mapping[str, Any]]]:
        """Return the parts of a step that takes several at once, each with the number of its branch, or else the step itself."""
        planned: Mapping[str, Any] = self.scenario["steps"][step - 1] if step else {"do": "build"}
        return list(enumerate(planned.get("steps", []), start=1)) or [(None, planned)]

    def ended(self, step: int, branch: int | None) -> str | None:
        """Return how a step, or the branch of one that took several at once, ended, or None if nobody saw it end."""
        found = [entry["status"] for entry in self.of("outcome", step=step) if entry.get("branch") == branch]
        return str(found[0]) if found else None

    def delivered(self, step: int, branch: int | None) -> bool:
        """Tell whether what was done reached the subject, as far as anybody saw: its question and its checkpoint were there."""
        return self.ended(step, branch) != "impossible"

    def outcome(self, step: int) -> str | None:
        """Return how a step ended, such as `built`, `paused`, `ended` or `raised`, or None if nobody saw it end.

        Of a step that took several at once it is how the thread is left: paused if one of them paused, ended if one ended.
        """
        found = [str(entry["status"]) for entry in self.of("outcome", step=step)]
        return min(found, key=_LEFT.index) if found else None

    def last_outcome(self) -> str | None:
        """Return how the run was left by the last step that ran it."""
        last = self._last_run()
        return None if last is None else self.outcome(last)

    def final_messages(self) -> list[Mapping[str, Any]] | None:
        """Return the conversation as the last step that ran returned it, or None if it returned none."""
        last = self._last_run()
        found = [] if last is None else self.of("messages", step=last)
        return list(found[-1]["messages"]) if found else None

    def _last_run(self) -> int | None:
        """Return the last step that was started and ran the subject; to wait, restart, or write into the state runs nothing."""
        started = [int(entry["step"]) for entry in self.of("step") if entry["do"] not in _RUNS_NOTHING]
        ran = [step for step in started if self.outcome(step) != "impossible"]
        return ran[-1] if ran else None


@dataclass(frozen=True)
class History:
    """What was seen at one pin: the environment from inside, the smoke test, the cases."""

    environment: Entry
    smoke: tuple[CaseHistory, ...]
    cases: tuple[CaseHistory, ...]


def from_journal(case: str, plan: Mapping[str, Any], lines: bytes, *, smoke: bool = False) -> CaseHistory:
    """Make the history of the case `case` with the scenario `plan` from its journal; refuse lines that cannot be one."""
    where = f"journal of {case}"
    entries = [_checked(line, f"{where}, line {number}") for number, line in enumerate(lines.splitlines(), start=1)]
    _refuse_disorder(entries, plan, where)
    return CaseHistory(case, plan, tuple(_ordered(entries)), smoke)


def write(history: History) -> bytes:
    """Return the bytes of a history file."""
    return whole(history.environment, [body(case) for case in (*history.smoke, *history.cases)])


def body(case: CaseHistory) -> bytes:
    """Return the lines of one case, as they stand in a history file."""
    return b"".join(document.line(entry) for entry in _lines(case))


def whole(environment: Entry, bodies: Sequence[bytes]) -> bytes:
    """Return the bytes of a history file from its environment and the lines of its cases."""
    footer = {"kind": "footer", "cases": len(bodies), "entries": sum(lines.count(b"\n") for lines in bodies)}
    return b"".join([document.line(environment), *bodies, document.line(footer)])


def read(data: bytes, where: str) -> History:
    """Read a history file; refuse a foreign version, an unknown key, a duplicate, a wrong count, a missing footer."""
    entries = [_checked(line, f"{where}, line {number}") for number, line in enumerate(data.splitlines(), start=1)]
    kinds = [entry["kind"] for entry in entries]
    if kinds[:1] != ["environment"] or kinds[-1] != "footer":
        raise InputRefused(f"{where}: the history does not begin with its environment or does not end with its footer.", _RESTORE)
    cases = list(_cases(entries[1:-1], where))
    counts = (entries[-1]["cases"], entries[-1]["entries"])
    if counts != (len(cases), len(entries) - 2):
        raise InputRefused(
            f"{where}: the footer counts {counts[0]} cases, {counts[1]} entries; the file has {len(cases)}, {len(entries) - 2}.",
            _RESTORE,
        )
    return History(entries[0], tuple(case for case in cases if case.smoke), tuple(case for case in cases if not case.smoke))


def read_case(data: bytes, where: str) -> CaseHistory:
    """Read the lines of one case; they are refused as those of a file are."""
    entries = [_checked(line, f"{where}, line {number}") for number, line in enumerate(data.splitlines(), start=1)]
    found = list(_cases(entries, where))
    if len(found) != 1:
        raise InputRefused(f"{where}: the lines of one case are needed, but there are {len(found)}.", _RESTORE)
    return found[0]


def read_environment(entry: Any, where: str) -> Entry:
    """Return the entry with which a history begins, if it is one."""
    document.check(entry, "history", where, "environment")
    return dict(entry)


_RESTORE = "Restore the file from where you got it."


def _checked(line: bytes, where: str) -> Entry:
    entry: Entry = document.parse_json(line, where)
    # The schema of one kind is checked many times faster than the choice among all of them.
    kind = entry.get("kind") if isinstance(entry, dict) else None
    document.check(entry, "history", where, entry.get("vantage") if kind == "observation" else kind)
    return entry


def _lines(case: CaseHistory) -> Iterator[Entry]:
    yield {"kind": "case", "case": case.case, "smoke": case.smoke, "scenario": case.scenario, "digest": case.digest}
    yield from case.entries
    yield {"kind": "end", "case": case.case, "entries": len(case.entries)}


def _cases(entries: list[Entry], where: str) -> Iterator[CaseHistory]:
    seen: set[str] = set()
    rest = iter(entries)
    for head in rest:
        if head["kind"] != "case" or head["case"] in seen:
            raise InputRefused(f"{where}: {_complaint(head)}.", _RESTORE)
        seen.add(head["case"])
        yield _case(head, list(_until_end(head, rest, where)), where)


def _complaint(head: Entry) -> str:
    return (
        f"case {head['case']} stands twice" if head["kind"] == "case" else f"an entry of kind {head['kind']} stands outside a case"
    )


def _until_end(head: Entry, rest: Iterator[Entry], where: str) -> Iterator[Entry]:
    for count, entry in enumerate(rest):
        if entry["kind"] != "end":
            yield entry
        elif (entry["case"], entry["entries"]) == (head["case"], count):
            return
        else:
            raise InputRefused(f"{where}: case {head['case']} has {count} entries, but its end says otherwise.", _RESTORE)
    raise InputRefused(f"{where}: case {head['case']} has no end.", _RESTORE)


def _case(head: Entry, entries: list[Entry], where: str) -> CaseHistory:
    place = f"{where}, case {head['case']}"
    case = CaseHistory(head["case"], head["scenario"], tuple(entries), head["smoke"])
    scenario.check(case.scenario, place, smoke=case.smoke)
    if case.digest != head["digest"]:
        raise InputRefused(f"{place}: the scenario's SHA-256 is {case.digest}, not {head['digest']}.", _RESTORE)
    _refuse_disorder(entries, case.scenario, place)
    return case


def _refuse_disorder(entries: list[Entry], plan: Mapping[str, Any], where: str) -> None:
    """Refuse what no run can leave behind: a step not planned or not started, or one twice, or a tool that the case has not."""
    planned = dict(enumerate(["build", *(step["do"] for step in plan["steps"])]))
    tools = {tool["name"] for tool in plan["subject"]["tools"]}
    started = {entry["step"]: entry["do"] for entry in entries if entry["kind"] == "step"}
    seen: set[tuple[str, int, int | None]] = set()
    for entry in entries:
        kind = _kind(entry)
        if kind not in _RANKS:
            raise InputRefused(f"{where}: an entry of kind {kind} stands inside a case.", _RESTORE)
        step = entry["step"]
        if step not in started or planned.get(step) != started[step]:
            raise InputRefused(
                f"{where}: the case has {len(planned) - 1} steps, and step {step} is not one that it started.", _RESTORE
            )
        if entry.get("branch", 0) > _branches(plan, step):
            raise InputRefused(f"{where}: step {step} has no branch {entry['branch']}.", _RESTORE)
        if kind in ("step", "outcome") and (kind, step, entry.get("branch")) in seen:
            raise InputRefused(f"{where}: step {step} has two entries of kind {kind}.", _RESTORE)
        if kind == "dispatch" and entry["tool"] not in tools:
            raise InputRefused(f"{where}: the case has no tool {entry['tool']!a}, but one ran in step {step}.", _RESTORE)
        seen.add((kind, step, entry.get("branch")))


def _branches(plan: Mapping[str, Any], step: int) -> int:
    return len(plan["steps"][step - 1].get("steps", [])) if step else 0


def _kind(entry: Entry) -> str:
    return str(entry["vantage"] if entry["kind"] == "observation" else entry["kind"])


def _ordered(entries: Iterable[Entry]) -> list[Entry]:
    # Sorting is stable: entries of one vantage stay in the order of the one process that saw them, except where calls race.
    ranked = sorted(entries, key=lambda entry: (entry["step"], _RANKS.index(_kind(entry)), _lane(entry)))
    return list(_renamed(_dispatches_sorted(ranked)))


def _lane(entry: Entry) -> tuple[str, str]:
    """Return what of an entry keeps parallel ones apart: node, or middleware and call; within one, the order is the real one."""
    if entry.get("vantage") == "wire":
        return entry["protocol"], document.line(entry).decode()
    if entry.get("vantage") == "node":
        return entry["node"], ""
    return (
        (entry.get("name", ""), str(entry["call"]))
        if entry.get("vantage") in ("middleware", "predicate") and "call" in entry
        else ("", "")
    )


def _dispatches_sorted(entries: list[Entry]) -> Iterator[Entry]:
    """Put the invocations of each step in the order of what they were, since parallel tools race, and number them."""
    groups: dict[tuple[int, Any], list[Entry]] = {}
    for entry in entries:
        if _kind(entry) == "dispatch":
            groups.setdefault((entry["step"], entry["invocation"]), []).append(entry)
    numbers = {key: number for number, key in enumerate(sorted(groups, key=lambda key: _content(key[0], groups[key])), start=1)}
    ranks = {id(entry): numbers[key] for key, group in groups.items() for entry in group}
    for entry in sorted(entries, key=lambda entry: (entry["step"], _RANKS.index(_kind(entry)), ranks.get(id(entry), 0))):
        yield {**entry, "invocation": ranks[id(entry)]} if id(entry) in ranks else entry


def _content(step: int, group: list[Entry]) -> tuple[int, bytes]:
    return step, b"".join(document.line({**entry, "invocation": 0}) for entry in group)


def _renamed(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Replace random ids by names in the order of appearance: only in the fields that hold ids, never inside texts."""
    names: dict[str, dict[str, str]] = {}

    def name(kind: str, value: str | None) -> str | None:
        if value is None:
            return None
        known = names.setdefault(kind, {})
        return known.setdefault(value, f"{kind}-{len(known) + 1}")

    for entry in entries:
        yield _rename(entry, name)


_IDS = {"question": "question", "checkpoint": "checkpoint", "parent": "checkpoint"}


def _rename(entry: Entry, name: Callable[[str, str | None], str | None]) -> Entry:
    changed = {key: name(kind, entry[key]) for key, kind in _IDS.items() if key in entry}
    if "messages" in entry:
        changed["messages"] = [_with_name(message, name) for message in entry["messages"]]  # type: ignore[assignment]
    if "questions" in entry:
        changed["questions"] = [name("question", value) for value in entry["questions"]]  # type: ignore[assignment]
    return {**entry, **changed}


def _with_name(message: Mapping[str, Any], name: Callable[[str, str | None], str | None]) -> Mapping[str, Any]:
    return {**message, "id": name("message", message["id"])} if "id" in message else message
