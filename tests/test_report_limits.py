"""The page of results that have no end: long names, long texts and hundreds of calls are cut, and the page says so."""

import re

import pytest

from capture import document
from capture.document import Document
from capture.render import cells
from capture.render.report.rows import rows
from tests.comparisons import FAIL, case, claim, observed, pin, row, written
from tests.pages import LONG, MANY, extreme, made

ACTION = {"tool": "pay", "args": {"bill": "A"}}
OTHER = {"tool": "pay", "args": {"bill": "B"}}


def test_a_text_without_end_is_cut_wherever_it_stands() -> None:
    """No text between two tags is longer than what a person reads, and what is left out is counted."""
    text = made(extreme()).partition("<header>")[2].partition('<script type="application/json"')[0]
    assert max(map(len, re.split(r"<[^>]*>", text))) < 4500
    assert max(map(len, re.findall(r"<[^>]*>", text))) < 1000
    assert re.search(r"… and [0-9]+ characters more, in results.json", text)


def test_of_hundreds_of_calls_boxes_and_faults_the_first_are_shown() -> None:
    """The number of what is left out is said for calls, for what happened to one call, and for the faults of a claim."""
    text = made(extreme())
    assert text.count("… and 20 calls more, in results.json") == 4
    assert f"… and {MANY - 12} more, in results.json" in text
    assert f"… and {2 * MANY - 12} more, in results.json" in text
    assert text.count("<dl class=fault>") == 2 * 20


def test_names_of_cases_without_end_stay_apart() -> None:
    """A name that is cut for its links ends in its digest; two forms whose digests begin alike have theirs in full."""
    keys = [known.key for known in rows(extreme())]
    assert len(set(keys)) == 2
    assert all(len(key) < 300 for key in keys)
    digests = ["a" * 63 + "b", "a" * 63 + "c"]
    found = written(*(pin(f"p-{number}", case("x/y") | {"digest": digest}) for number, digest in enumerate(digests)))
    assert [known.key for known in rows(found)] == [f"x/y~{digest}" for digest in digests]


def test_cases_are_numbered_for_the_script_in_the_order_in_which_they_stand() -> None:
    """Verdicts belong to cases by their places, whatever the order of their names as text: `~` is behind `-`."""
    failed = case("x/y", claim("core/one@1", FAIL), digest="b")
    found = written(pin("a-1", case("x/y"), case("x/y-z")), pin("a-2", failed, case("x/y-z")))
    text = made(found).partition('id="data">')[2].partition("</script>")[0]
    data = document.parse_json(text.encode(), "page")
    said = dict(zip(data["cases"], data["verdicts"], strict=True))
    assert said == {"x/y~aaaaaaaa": "P", "x/y~bbbbbbbb": "F", "x/y-z": "P"}
    assert list(data["cases"]) == re.findall(r'<section class=case data-key="([^"]*)"', made(found))


@pytest.mark.parametrize("count", [50, 400])
def test_the_work_grows_with_the_calls_and_not_with_their_square(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each vantage saw of hundreds of calls is said by looking at each of them a few times."""
    seen = []

    def counted(value: object) -> bytes:
        seen.append(value)
        return document.line(value)

    monkeypatch.setattr(cells, "same", lambda left, right: counted(left) == counted(right))
    monkeypatch.setattr(cells, "line", counted)
    cells.row(_case_of(count))
    assert count < len(seen) < 20 * count


def _case_of(count: int) -> Document:
    edit = {"type": "edit", "edited_action": {"name": "pay", "args": {"bill": "B"}}}
    calls = [row(f"c{place}", decided=[edit], dispatched=[OTHER]) for place in range(count)]
    links = [{"call": call["call"], "message": "m", "status": "success", "content": "paid"} for call in calls]
    kept = [{"call": call["call"], "message": "m", **ACTION} for call in calls]
    return case("x/y", rows=calls, observations=observed(calls, links=links, proposals=kept))


def test_a_name_of_a_page_is_never_longer_than_its_column() -> None:
    """The names that stand in the heads of the table are there in full in the table of releases."""
    text = made(extreme())
    assert f"{LONG}-1" in text
    assert f"{LONG}-2" in text
