"""The catalogue: what there is, and what each thing means."""

from collections.abc import Callable

from capture import case, library, pin, record, survey
from capture.case import Case
from capture.claims import CLAIMS, Claim, current
from capture.document import Document
from capture.errors import InputRefused
from capture.trigger import TRIGGERS
from capture.verdict import REASONS

__all__ = ["explanation", "listing"]


def listing(what: str) -> Document:
    """Return all cases, claims, triggers, pins, reasons or records, each with one sentence."""
    pins = pin.all_pins() if what == "pins" else []
    yanked = {known.name: known.yanked for known in pins if known.yanked}
    kinds: dict[str, Callable[[], list[tuple[str, str]]]] = {
        "cases": lambda: [(known.id, known.question) for known in case.all_cases()],
        "claims": lambda: [(known.name, known.sentence) for known in sorted(CLAIMS.values(), key=lambda known: known.name)],
        "pins": lambda: [(known.name, known.title) for known in pins],
        "triggers": lambda: [(name, (holds.__doc__ or "").strip()) for name, holds in sorted(TRIGGERS.items())],
        "reasons": lambda: sorted(REASONS.items()),
        "records": _published,
    }
    items = [{"id": name, "says": says, **_yanked(yanked.get(name))} for name, says in kinds[what]()]
    return {"listing": what, "items": items}


def _published() -> list[tuple[str, str]]:
    """Return the records and the surveys, each with its title."""
    records = {name: record.find(name).data["title"] for name in record.all_names()}
    surveys = {name: survey.load(library.records_folder() / name).data["title"] for name in survey.all_names()}
    return sorted({**records, **surveys}.items())


def _yanked(reason: str | None) -> Document:
    return {"yanked": reason} if reason else {}


def explanation(name: str) -> Document:
    """Return what a case, a claim (with or without its version) or a reason means."""
    claim = CLAIMS.get(name) or current().get(name)
    if name in REASONS:
        return _document("reason", name, REASONS[name], {"verdict": "UNKNOWN"})
    if claim is not None:
        return _claim(claim)
    if name.endswith(".toml") or name in {known.id for known in case.all_cases()}:
        return _case(case.find([name])[0])
    raise InputRefused(
        f"{name!a}: there is no such case, claim or reason.",
        "`dispatch-audit list cases` and `list claims` show what there is.",
    )


def _claim(claim: Claim) -> Document:
    judged = [known.id for known in case.all_cases() if claim.name in known.claims]
    fields = {
        "promised": claim.promised,
        "vantages": list(claim.vantages),
        "examines": claim.find.__doc__ or "",
        "judged in": judged,
    }
    return _document("claim", claim.name, claim.sentence, fields)


def _case(found: Case) -> Document:
    fields = {
        "sources": found.scenario["sources"],
        "gated": found.scenario["gated"],
        "trigger": found.scenario["trigger"],
        "steps": found.scenario["steps"],
        "claims": [f"{claim}: {CLAIMS[claim].sentence}" for claim in found.claims],
        "digest": found.digest,
    }
    return _document("case", found.id, found.question, fields)


def _document(kind: str, name: str, says: str, fields: Document) -> Document:
    return {
        "explanation": kind,
        "id": name,
        "says": says,
        "fields": [{"field": field, "value": value} for field, value in fields.items()],
    }
