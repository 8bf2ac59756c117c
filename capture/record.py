"""A record: a published investigation, with its question, its pin, and for each revision exactly what was run and judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from capture import case, document, evidence, library, scenario
from capture.case import Case
from capture.claims import CLAIMS
from capture.document import Document
from capture.errors import InputRefused
from capture.evidence import Evidence

__all__ = ["FILES", "Record", "Revision", "all_names", "as_published", "find", "load"]

FILES = {"results": "results.json", "upstream": "upstream.json", "history": evidence.FILE}
"""The files of a revision, by the key that record.toml has for the digest of each."""


@dataclass(frozen=True)
class Revision:
    """One published state of a record: the digests of its files, and the cases with their claims."""

    name: str
    folder: Path
    digests: Mapping[str, str]
    cases: tuple[Mapping[str, Any], ...]

    def file(self, key: str) -> Path:
        """Return the path of a published file."""
        return self.folder / FILES[key]

    def evidence(self, results: Document) -> Mapping[str, Evidence]:
        """Return the published history, for the only pin that published results have."""
        return {pin["pin"]: evidence.in_file(self.file("history")) for pin in results["pins"]}

    def suite(self) -> list[Case]:
        """Return the cases of this revision with the claims of then; one that is no longer as published is refused."""
        found = [(case.find([entry["case"]])[0], entry) for entry in self.cases]
        return [as_published(known, entry["digest"], entry["claims"], self.folder) for known, entry in found]


def as_published(known: Case, digest: str, claims: Sequence[str], where: Path) -> Case:
    """Return a case with the claims of its publication; one whose scenario is no longer the published one is refused."""
    if known.digest != digest:
        raise InputRefused(
            f"{where}: case {known.id} has the SHA-256 {known.digest}, but was published with {digest}.",
            "A published case never changes; give the changed one another id.",
        )
    for complaint in scenario.unknown("claims", claims, CLAIMS, "a claim of this version of dispatch-audit"):
        raise InputRefused(f"{where}: case {known.id}: {complaint}.", "Use the version that published it.")
    return Case(known.id, known.scenario, tuple(claims))


@dataclass(frozen=True)
class Record:
    """A record that was read and checked."""

    name: str
    folder: Path
    data: Mapping[str, Any]
    revisions: Mapping[str, Revision]

    def revision(self, name: str | None) -> Revision:
        """Return a revision by name, or the latest."""
        if not self.revisions:
            raise InputRefused(
                f"record {self.name}: nothing is published yet.", "`dispatch-audit publish` makes its first revision."
            )
        latest = max(self.revisions, key=lambda known: int(known[1:]))
        if name is not None and name not in self.revisions:
            raise InputRefused(
                f"record {self.name}: there is no revision {name!a}, the latest is {latest}.",
                "Name one that is published.",
            )
        return self.revisions[name or latest]

    @property
    def statements(self) -> Sequence[Mapping[str, Any]]:
        """What the document says, statement by statement, each with the cases that observe it or the reason why none can."""
        found: Sequence[Mapping[str, Any]] = self.data.get("statements", [])
        return found

    def named_cases(self) -> list[str]:
        """Return the cases that the next revision is about: those that the statements name, else those of the latest revision."""
        named = dict.fromkeys(name for statement in self.statements for name in statement.get("cases", []))
        return list(named) or [entry["case"] for entry in self.revision(None).cases]


def all_names() -> list[str]:
    """Return the names of the records that are shipped."""
    return library.names(library.records_folder(), "record.toml")


def find(name: str) -> Record:
    """Return the record of this name, or the one in the folder of this path (a path has a separator in it)."""
    if "/" in name:
        return load(Path(name))
    if name not in all_names():
        raise InputRefused(f"record {name!a}: there is no such record.", _hint(name))
    return load(library.records_folder() / name)


def _hint(name: str) -> str:
    known = "`dispatch-audit list records` shows what there is."
    return f"{known} The folder of this name here is ./{name}." if Path(name).is_dir() else known


def load(folder: Path) -> Record:
    """Read the record of a folder, or refuse it with file and key."""
    path = folder / "record.toml"
    data = document.read_toml(path)
    document.check(data, "record", str(path))
    revisions = {name: _revision(name, folder / name, entry, path) for name, entry in data.get("revisions", {}).items()}
    return Record(folder.resolve().name, folder, data, revisions)


def _revision(name: str, folder: Path, entry: Mapping[str, Any], path: Path) -> Revision:
    named = [found["case"] for found in entry["cases"]]
    for twice in sorted({name for name in named if named.count(name) > 1}):
        raise InputRefused(f"{path}: key revisions.{name}.cases: {twice} stands twice.", "Correct record.toml.")
    return Revision(name, folder, {key: entry[key] for key in FILES}, tuple(entry["cases"]))
