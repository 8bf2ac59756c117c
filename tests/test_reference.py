"""The reference implementation of the proposal, by itself: with which releases of langgraph it works is found by running it."""

from pathlib import Path

import pytest

from tests.reference import works

SMALLEST, NEWEST = "0.2.55", "1.2.24"


@pytest.mark.parametrize("version", [SMALLEST, NEWEST])
def test_it_works_with_the_releases_that_are_said(version: str, tmp_path: Path) -> None:
    """The smallest and the newest release that docs/decisions/0023 names run the two examples of the proposal."""
    assert works(version, tmp_path) == "works"


def test_it_does_not_work_with_the_release_before(tmp_path: Path) -> None:
    """The release before the smallest does not give a node's Command its way, so the check can fail."""
    assert works("0.2.54", tmp_path) != "works"
