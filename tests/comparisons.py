"""Small results documents to compare: written by hand, or drawn by hypothesis."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from capture import document, results
from capture.document import Document

PASS, FAIL, UNKNOWN, NONE = "PASS", "FAIL", "UNKNOWN", "not applicable"

Standing = tuple[str, str | None]

REASONS = ("ambiguous", "error", "timeout", "unfinished", "unobservable", "unsupported", "untriggered")


def claim(name: str, verdict: str = PASS, reason: str | None = None, observed: object = None) -> dict[str, Any]:
    """Return a claim of results."""
    faults = [{"evidence": "dispatch/x/1", "expected": None, "observed": observed}] if verdict == FAIL else []
    return {"claim": name, "verdict": verdict, "reason": reason, "examined": 0 if verdict == NONE else 1, "faults": faults}


def row(call: str | None = "c", tool: str = "pay", **cells: Any) -> dict[str, Any]:
    """Return the row of a call that was proposed, approved and run."""
    action = {"tool": tool, "args": {"bill": "A"}}
    seen = {"shown": [action], "decided": [{"type": "approve"}], "checkpointed": [], "dispatched": [action], "sent": None}
    told = {"kept": action, "reported": [{"status": "success", "content": "paid"}]}
    return {"call": call, "proposed": action, **seen, **told, **cells}


def case(name: str, *claims: dict[str, Any], digest: str = "a", rows: Sequence[Any] | None = None, **keys: Any) -> dict[str, Any]:
    """Return a case whose verdict follows from its claims."""
    judged = list(claims) or [claim("core/one@1")]
    verdicts = [found["verdict"] for found in judged]
    reason = next((found["reason"] for found in judged if found["reason"]), None)
    verdict = FAIL if FAIL in verdicts else UNKNOWN if UNKNOWN in verdicts else PASS if PASS in verdicts else UNKNOWN
    given = {"verdict": verdict, "reason": None if verdict in (FAIL, PASS) else reason or "untriggered", "detail": None}
    calls = [row()] if rows is None else list(rows)
    about = {"digest": digest * 64, "question": "What runs?", "trigger": {"trigger": "answer-delivered", "happened": True}}
    return {"case": name, **about, **given, "claims": judged, "calls": calls, "observations": observed(calls), **keys}


def observed(calls: Sequence[Document], **others: Any) -> dict[str, Any]:
    """Return what was observed of a case with these rows."""
    received = [action for found in calls for action in found["dispatched"]]
    outcomes = [{"step": 0, "do": "build", "status": "built", "error": None}]
    empty: dict[str, Any] = {key: [] for key in ("shown", "proposals", "stored_edits", "output_keys", "links", "told", "network")}
    return {**empty, "received": received, "dispatches": len(received), "outcomes": outcomes, **others}


def unbuilt(name: str, digest: str = "a") -> dict[str, Any]:
    """Return a case for which there was no environment."""
    keys = {"verdict": UNKNOWN, "reason": "environment", "trigger": {"trigger": "answer-delivered", "happened": False}}
    outcomes = {"observations": {**observed([]), "outcomes": []}}
    return case(name, rows=[], digest=digest, **keys, **outcomes) | {"claims": []}


def smoked(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case after a smoke test that failed."""
    return {**found, "verdict": UNKNOWN, "reason": "smoke"}


def pin(name: str, *cases: dict[str, Any], version: str = "1.4.2") -> dict[str, Any]:
    """Return a pin with cases; its smoke test and its history are as the cases say."""
    reasons = {found["reason"] for found in cases}
    without = "environment" in reasons
    return {
        "pin": name,
        "packages": {} if without else {"langchain": version},
        "files": {},
        "blocked": [],
        "smoke": UNKNOWN if without else FAIL if "smoke" in reasons else PASS,
        "history": None if without else "f" * 64,
        "counts": {verdict: sum(found["verdict"] == verdict for found in cases) for verdict in (PASS, FAIL, UNKNOWN)},
        "cases": sorted(cases, key=lambda found: str(found["case"])),
    }


def written(*pins: dict[str, Any]) -> Document:
    """Return results of pins, as their own reader reads them from their bytes."""
    return results.read(document.canonical(results.build(pins)), "results.json")


# --- drawn

TEXTS = st.text(max_size=6)

ACTIONS = st.fixed_dictionaries({"tool": st.sampled_from(["pay", "delete"]), "args": st.dictionaries(TEXTS, TEXTS, max_size=1)})

ROWS = st.builds(
    lambda call, ran, status, content: row(call, dispatched=ran, reported=[{"status": status, "content": content}]),
    st.sampled_from(["c", "d", None]),
    st.lists(ACTIONS, max_size=2),
    st.sampled_from(["success", "error"]),
    TEXTS,
)

STANDINGS = st.sampled_from([(PASS, None), (FAIL, None), (NONE, None), *((UNKNOWN, reason) for reason in REASONS)])

CLAIMS = st.dictionaries(
    st.sampled_from(["core/one@1", "core/one@2", "core/one@10", "core/two@1"]), st.tuples(STANDINGS, TEXTS), min_size=1
).map(lambda found: [claim(name, *standing, observed=text) for name, (standing, text) in found.items()])

NAMES = ["decisions/approve", "decisions/edit", "decisions/edit@async"]


@st.composite
def cases(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw cases of one pin: with an environment, without one, or after a smoke test that failed."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    digests = st.sampled_from("ab")
    if draw(st.booleans()) and draw(st.booleans()):
        return [unbuilt(name, draw(digests)) for name in names]
    found = [case(name, *draw(CLAIMS), digest=draw(digests), rows=draw(st.lists(ROWS, max_size=2))) for name in names]
    return [smoked(known) for known in found] if draw(st.booleans()) and draw(st.booleans()) else found


PINS = ["langchain-1.4.2", "langchain-1.4.10", "langchain-1.5.0"]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Draw results of one to three pins."""
    names = draw(st.lists(st.sampled_from(PINS), min_size=1, unique=True))
    return results.build([pin(name, *draw(cases())) for name in names])
