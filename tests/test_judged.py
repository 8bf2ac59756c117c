"""Published evidence judged again: every byte of the results of every record follows from its history."""

from functools import cache

import pytest

from capture import document, history, record, results
from capture.history import CaseHistory
from tests.judging import judged

RECORDS = record.all_names()


@cache
def evidence(name: str) -> tuple[dict[str, CaseHistory], dict[str, document.Document]]:
    """Return the histories of a record's latest revision, and the results that are published of them, by case."""
    revision = record.find(name).revision(None)
    saved = history.read(document.read(revision.file("history")), name)
    found = results.read(document.read(revision.file("results")), name)
    return {case.case: case for case in saved.cases}, {case["case"]: case for case in found["pins"][0]["cases"]}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name in RECORDS for case in evidence(name)[0]])
def test_a_published_case_is_judged_as_it_was(name: str, case: str) -> None:
    """Verdicts, faults, rows and observations come out as they were published."""
    histories, published = evidence(name)
    claims = [claim["claim"] for claim in published[case]["claims"]]
    saved = history.History({"pin": name, "packages": {}, "files": {}, "blocked": []}, (), (histories[case],))
    (found,) = judged(saved, {case: claims})["cases"]
    # Without a smoke test beside it nothing is trusted; what is found of the case is the same.
    for key in ("calls", "claims", "digest", "observations", "question", "trigger"):
        assert document.canonical(found[key]) == document.canonical(published[case][key])
