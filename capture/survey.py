"""A survey: the suite at every release of a range, published with its evidence, a page to look at and a table to read.

It lies beside the records as results/NAME/, with survey.toml, which says what is surveyed, and what was made of it. It has no
revisions: a survey that knows one release more takes the place of the one before, and is cited by the SHA-256 of its results.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from capture import case, document, evidence, histories, library, pin, rejudgement, results, runs
from capture.case import Case
from capture.check import Check, same_bytes
from capture.document import Document
from capture.errors import InputRefused
from capture.pin import Pin
from capture.publication import SUMS, sums
from capture.record import as_published
from capture.render import releases
from capture.render.report import page
from capture.verification import agreements, listed

__all__ = ["RESULTS", "Survey", "all_names", "compare", "load", "publish", "verify"]

RESULTS = "results.json"

_MEASURED = (RESULTS, histories.FILE)


@dataclass(frozen=True)
class Survey:
    """A survey that was read and checked."""

    name: str
    folder: Path
    data: Mapping[str, Any]

    @cached_property
    def published(self) -> Document:
        """The published results; a survey without any is refused."""
        path = self.folder / RESULTS
        return results.read(document.read(path), str(path))

    def releases(self) -> list[Pin]:
        """Return the pins of the range that are shipped, in order, or of those the first for each release of another package."""
        found = [known for known in pin.matching(self.data["pins"]) if (library.pins_folder() / known.name).is_dir()]
        if "by" in self.data:
            found = list({known.packages.get(self.data["by"]): known for known in reversed(found)}.values())[::-1]
        if len(found) == 1:
            raise InputRefused(
                f"{self.folder / library.SURVEY}: key pins: only {found[0].name} matches.", "A survey is of several."
            )
        return found

    def measured(self) -> list[Case]:
        """Return the cases that are to be surveyed: those that it names, else the suite."""
        return case.find(self.data["cases"]) if "cases" in self.data else case.contained()

    def pins(self) -> list[Pin]:
        """Return the pins of the published results."""
        return pin.find_all(found["pin"] for found in self.published["pins"])

    def suite(self) -> list[Case]:
        """Return the cases as they were published, with the claims of then; one that is no longer the same is refused."""
        rows = {row["case"]: row for found in self.published["pins"] if found["history"] for row in found["cases"]}
        claims = {name: [claim["claim"] for claim in row["claims"]] for name, row in rows.items()}
        return [as_published(known, rows[known.id]["digest"], claims[known.id], self.folder) for known in case.find(rows)]


def all_names() -> list[str]:
    """Return the names of the surveys that are shipped."""
    return library.names(library.records_folder(), library.SURVEY)


def load(folder: Path) -> Survey:
    """Read the survey of a folder, or refuse it with file and key."""
    data = document.read_toml(folder / library.SURVEY)
    document.check(data, "survey", str(folder / library.SURVEY))
    return Survey(folder.resolve().name, folder, data)


def publish(survey: Survey, run: runs.Run) -> None:
    """Put what a run measured, and what is rendered of it, in the place of what was published before."""
    for complaint in _unfit(run.results):
        raise InputRefused(
            f"survey {survey.name}: {complaint}.", "Nothing was published; a survey shows the subject, not the machine."
        )
    measured = {name: document.read(run.folder / name) for name in _MEASURED}
    files = {**measured, **_rendered(survey, run.results, document.digest(measured[RESULTS]))}
    inside = {**files, library.SURVEY: document.read(survey.folder / library.SURVEY)}
    for name, data in {**files, SUMS: sums(inside)}.items():
        document.write(survey.folder / name, data)


def compare(survey: Survey, run: runs.Run) -> Iterator[Check]:
    """Yield what was checked of a survey that was measured again: its bytes."""
    for name in _MEASURED:
        yield same_bytes(name, document.read(survey.folder / name), document.read(run.folder / name))


def verify(survey: Survey) -> Iterator[Check]:
    """Yield what was checked of a published survey: digests, evidence, judgement, and what is rendered of it."""
    folder, found = survey.folder, survey.published
    yield from listed(folder)
    yield from agreements(found, evidence.in_folder(folder, found))
    yield from rejudgement.again(folder / RESULTS, partial(evidence.in_folder, folder))
    digest = document.digest(document.read(folder / RESULTS))
    for name, data in _rendered(survey, found, digest).items():
        yield same_bytes(name, document.read(folder / name), data)


def _unfit(found: Document) -> Iterator[str]:
    for known in found["pins"]:
        reasons = {row["case"]: row["reason"] for row in known["cases"]}
        yield from (
            f"pin {known['pin']}, case {name} is UNKNOWN ({reason})"
            for name, reason in reasons.items()
            if reason in ("checkpointer", "environment", "error", "timeout", "smoke")
        )


def _rendered(survey: Survey, found: Document, digest: str) -> Mapping[str, bytes]:
    sources = {(known.id, known.digest): known.scenario["sources"] for known in case.all_cases()}
    return {
        "README.md": releases.survey(survey.name, survey.data, found).encode(),
        "report.html": page(found, sources, digest).encode(),
    }
