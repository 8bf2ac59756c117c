"""A case: one scripted scenario, as data.

A case file says what the subject is, what the model will propose, what the operator does, what is gated, and which claims
are judged. Its id is its path: `cases/decisions/edit.toml` is `decisions/edit`. A file that varies makes several cases, such
as `decisions/edit@async`.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import Any

from capture import document, library, scenario, variant
from capture.claims import current
from capture.errors import InputRefused
from capture.trigger import TRIGGERS

__all__ = ["SMOKE", "Case", "all_cases", "contained", "find", "load", "smoke"]

SMOKE = "smoke/"
"""The family of the smoke test, which is no part of the suite."""

_LONGEST_ID = 120

_ID = re.compile(r"[a-z0-9-]+(/[a-z0-9-]+)+")


@dataclass(frozen=True)
class Case:
    """A case that was read and checked: the file's content without its list of claims, and the claims in their newest version."""

    id: str
    scenario: Mapping[str, Any]
    claims: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the scenario: what is run and what it asks, without which claims judge it."""
        return document.digest(document.canonical(self.scenario))

    @property
    def question(self) -> str:
        """What the case asks, in one or two sentences."""
        return str(self.scenario["question"])


def load(path: Path, case_id: str) -> list[Case]:
    """Read a TOML file, and return the case in it, or one for each way in which it varies.

    A file in which anything cannot be meant is refused, with its key.
    """
    read = document.read_toml(path)
    data = _plain(read)
    document.check(data, "case", str(path))
    for complaint in (*variant.complaints(data), *_inexact(read["subject"])):
        raise InputRefused(f"{path}: {complaint}.", "Correct the case.")
    claims = data.pop("claims")
    for complaint in scenario.unknown("claims", claims, current(), "a claim"):
        raise InputRefused(f"{path}: {complaint}.", "`dispatch-audit list claims` shows what there is.")
    for complaint in scenario.unknown("trigger", [data["trigger"]], TRIGGERS, "a trigger"):
        raise InputRefused(f"{path}: {complaint}.", "`dispatch-audit list triggers` shows what there is.")
    named = tuple(current()[claim].name for claim in claims)
    found = [Case(f"{case_id}{suffix}", varied, named) for suffix, varied in variant.variants(data)]
    for known in found:
        scenario.check(known.scenario, str(path), smoke=case_id.startswith(SMOKE))
    return found


def all_cases(folder: Path | None = None) -> list[Case]:
    """Return the suite, in the order of the ids."""
    root = folder or library.cases_folder()
    paths = {path.relative_to(root).with_suffix("").as_posix(): path for path in root.rglob("*.toml")}
    return sorted((known for name, path in paths.items() for known in load(path, name)), key=lambda known: known.id)


def contained() -> list[Case]:
    """Return the cases that run unless others are named: those of which one process holds everything, and takes milliseconds."""
    return [known for known in all_cases() if scenario.is_contained(known.scenario)]


def smoke() -> list[Case]:
    """Return the two cases that show that an environment's probe can be believed."""
    paths = sorted(library.smoke_folder().glob("*.toml"))
    return [known for path in paths for known in load(path, f"{SMOKE}{path.stem}")]


def find(names: Iterable[str]) -> list[Case]:
    """Return the cases with these names: an id, a family, or the path of a TOML file. Twice the same id is refused."""
    found = [case for name in names for case in _named(name)]
    ids = [case.id for case in found]
    for twice in sorted({name for name in ids if ids.count(name) > 1}):
        raise InputRefused(f"case {twice}: named twice.", "Name each case once.")
    return sorted(found, key=lambda case: case.id)


def _named(name: str) -> list[Case]:
    if name.endswith(".toml"):
        return load(Path(name), _id_of(Path(name)))
    base, _, _ = name.partition("@")
    path = library.cases_folder() / f"{base}.toml"
    if _ID.fullmatch(base) and path.is_file():
        return _variant(name, load(path, base))
    family = [case for case in all_cases() if case.id.startswith(f"{name}/")]
    if not family:
        raise InputRefused(f"case {name!a}: there is no such case or family.", "`dispatch-audit list cases` shows what there is.")
    return family


def _variant(name: str, found: list[Case]) -> list[Case]:
    own = [case for case in found if case.id == name]
    if not own:
        known = ", ".join(case.id for case in found)
        raise InputRefused(f"case {name!a}: the file makes {known}, and no other.", "Name one of them.")
    return own


def _inexact(subject: Mapping[str, Any]) -> Iterator[str]:
    """Yield a complaint for each option of a middleware that is no exact JSON: as a text it would not mean the same."""
    for item in subject.get("middleware", []):
        for name, value in item.get("options", {}).items():
            if not _is_exact(value):
                yield f"key subject.middleware: the option {name!r} holds a number with a fraction, or a date; give a whole number"


def _is_exact(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_exact, value.values()))
    if isinstance(value, list):
        return all(map(_is_exact, value))
    return not isinstance(value, float | datetime | date | time)


def _id_of(path: Path) -> str:
    """Return the id of a file: its path in the suite, or elsewhere its own name and its folder's."""
    # realpath, since Path.resolve raises at a link that leads to itself; reading the file then says so more clearly.
    place, suite = Path(os.path.realpath(path)), library.cases_folder().resolve()
    inside = place.relative_to(suite) if place.is_relative_to(suite) else Path(place.parent.name) / place.name
    name = inside.with_suffix("").as_posix()
    if not _ID.fullmatch(name) or name.startswith(SMOKE) or len(name) > _LONGEST_ID:
        raise InputRefused(
            f"{path}: {name!a} is no id for a case.",
            "Name file and folder with lower-case letters, digits and hyphens, not too long, and not 'smoke'; both make the id.",
        )
    return name


def _plain(value: Any) -> Any:
    # TOML has dates and floats, which have no exact JSON form that every reader agrees on.
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return f"float {value!r}"
    return value.isoformat() if isinstance(value, datetime | date | time) else value
