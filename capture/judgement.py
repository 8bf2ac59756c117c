"""Judgement: from what was seen at pins to their results. What several pins share is judged once."""

import platform
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version

from capture import library, results, smoke, store
from capture.document import Document
from capture.saved import SavedCase, SavedHistory

__all__ = ["Judge"]

_KIND = "judged"

Claims = Mapping[str, Iterable[str]]
"""The claims by which each case is judged."""


class Judge:
    """Judges what was seen, and remembers what it has judged; a judge that is `keeping` remembers it in the cache as well."""

    def __init__(self, *, keeping: bool = False) -> None:
        """Remember nothing yet."""
        self._keeping = keeping
        self._rows: dict[tuple[str, tuple[str, ...], bool], Document] = {}
        self._smoke: dict[tuple[str, ...], bool] = {}

    def pin(self, saved: SavedHistory, digest: str, claims: Claims) -> Document:
        """Return the results of a pin whose history file has this SHA-256, by the claims named for each case."""
        trusted = self.trusts(saved)
        rows = [self._row(seen, tuple(claims[seen.case]), trusted=trusted) for seen in saved.cases]
        return results.of_pin(saved.environment, digest, rows, trusted=trusted)

    def trusts(self, saved: SavedHistory) -> bool:
        """Tell whether the smoke test came out as it must, so that the pin's answers count."""
        key = tuple(seen.digest for seen in saved.smoke)
        if key not in self._smoke:
            self._smoke[key] = smoke.holds(seen.history() for seen in saved.smoke)
        return self._smoke[key]

    def _row(self, seen: SavedCase, claims: tuple[str, ...], *, trusted: bool) -> Document:
        key = (seen.digest, claims, trusted)
        if key not in self._rows:
            keeping = self._keeping and trusted
            self._rows[key] = _kept(seen, claims) if keeping else results.row(seen.history(), claims, trusted=trusted)
        return self._rows[key]


def _kept(seen: SavedCase, claims: tuple[str, ...]) -> Document:
    """Return the row of a case as it was judged before by this very code, or judge it and keep the row."""
    about = [seen.digest, list(claims), _code(), *_judges()]
    found = store.noted(_KIND, about)
    if found is None:
        found = results.row(seen.history(), claims, trusted=True)
        store.note(_KIND, about, found)
    return found


@cache
def _code() -> str:
    """Return the SHA-256 of everything that judges: the orchestrator's modules, its claims and its schemas."""
    return library.digest(path for pattern in ("*.py", "claims/*.py", "schemas/*.json") for path in library.package().glob(pattern))


@cache
def _judges() -> tuple[str, ...]:
    """Return the versions of what judges beside our own code: an answer is held against the schema that was shown."""
    return platform.python_version(), version("jsonschema"), version("referencing")
