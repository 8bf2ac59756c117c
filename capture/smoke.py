"""The smoke test: before a pin's answers count, its probe must get one true and one false answer right.

An ungated call without the middleware must PASS; the same call, recorded with arguments that it never had, must FAIL.
"""

from collections.abc import Iterable

from capture.history import CaseHistory
from capture.verdict import FAIL, PASS, judge

__all__ = ["CLAIMS", "EXPECTED", "holds"]

EXPECTED = {"smoke/planted": FAIL, "smoke/ungated": PASS}

CLAIMS = ("core/ungated-dispatch@1",)


def holds(histories: Iterable[CaseHistory]) -> bool:
    """Tell whether the smoke test came out as it must, with nothing missing."""
    return {history.case: judge(history, CLAIMS).verdict for history in histories} == EXPECTED
