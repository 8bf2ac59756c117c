"""JUnit XML, read back: FAIL is a failure, UNKNOWN an error and never skipped, and no text can break out of it."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capture.check import Check, report
from capture.document import Document
from capture.render import junit
from capture.render.printable import printable
from tests.comparisons import FAIL, UNKNOWN, case, claim, documents, pin, smoked, unbuilt, written
from tests.conftest import Command

NAME = "decisions/edit"

ANYTHING = st.text(st.characters(), max_size=20)


def read(text: str) -> ET.Element:
    """Return the root of an XML document, from its bytes."""
    return ET.fromstring(text.encode("utf-8"))


def only(root: ET.Element) -> ET.Element:
    """Return the only test case."""
    (found,) = root.iter("testcase")
    return found


def counts(element: ET.Element) -> dict[str, int]:
    """Return what an element says that it counts."""
    return {key: int(element.get(key, "-1")) for key in ("tests", "failures", "errors", "skipped")}


@settings(derandomize=True, deadline=None)
@given(documents())
def test_the_counts_are_those_of_the_results(found: Document) -> None:
    """Each pin is a suite and each case a test case, and nothing is skipped; what is counted is there."""
    root = read(junit.results(found))
    wanted = found["counts"]
    total = {"tests": sum(wanted.values()), "failures": wanted[FAIL], "errors": wanted[UNKNOWN], "skipped": 0}
    assert counts(root) == total
    for known, suite in zip(found["pins"], root, strict=True):
        assert suite.get("name") == known["pin"]
        assert [(one.get("classname"), one.get("name")) for one in suite.iter("testcase")] == [
            (known["pin"], entry["case"]) for entry in known["cases"]
        ]
        marks = [{"failure": FAIL, "error": UNKNOWN}.get(one[0].tag if len(one) else "", "PASS") for one in suite.iter("testcase")]
        assert marks == [entry["verdict"] for entry in known["cases"]]


@pytest.mark.parametrize(
    ("found", "kind", "of"),
    [
        (case(NAME), None, None),
        (case(NAME, claim("core/one@1", FAIL)), "failure", "FAIL"),
        (case(NAME, claim("core/one@1", UNKNOWN, "timeout")), "error", "timeout"),
        (case(NAME, claim("core/one@1", UNKNOWN, "unsupported")), "error", "unsupported"),
        (case(NAME, verdict=UNKNOWN, reason="untriggered"), "error", "untriggered"),
        (unbuilt(NAME), "error", "environment"),
        (smoked(case(NAME)), "error", "smoke"),
        (smoked(case(NAME, claim("core/one@1", FAIL))), "error", "smoke"),
    ],
)
def test_a_verdict_is_what_the_test_case_says(found: dict[str, Any], kind: str | None, of: str | None) -> None:
    """UNKNOWN is an error with its reason as its type, also where every claim PASSes; FAIL is a failure."""
    told = list(only(read(junit.results(written(pin("a", found))))))
    assert [(one.tag, one.get("type")) for one in told] == ([(kind, of)] if kind else [])


def test_a_failure_names_claims_and_faults() -> None:
    """What does not hold is named, with what was expected and observed, a line each."""
    found = case(NAME, claim("core/one@1", FAIL, observed="sent"), claim("core/two@1"))
    (failure,) = only(read(junit.results(written(pin("a", found)))))
    assert failure.get("message") == "does not hold: core/one@1"
    assert failure.text == 'What runs?\ncore/one@1 at dispatch/x/1: expected nothing, observed "sent"'


@settings(derandomize=True, deadline=None)
@given(ANYTHING, ANYTHING)
def test_no_text_breaks_the_document(observed: str, detail: str) -> None:
    """Any text, with what XML cannot hold, is read back as it is printed elsewhere: harmless, and nothing is lost."""
    failing = case(NAME, claim("core/one@1", FAIL, observed=observed))
    unknown = case("decisions/approve", claim("core/one@1", UNKNOWN, "error")) | {"detail": detail or None}
    document = {"pins": [pin("a", failing, unknown, version=detail)]}
    root = read(junit.results(document))
    error, failure = root.find(".//error"), root.find(".//failure")
    assert error is not None
    assert failure is not None
    assert error.get("message") == (printable(detail) or "UNKNOWN (error)")
    assert len(str(failure.text).split("\n")) == 2
    assert all(part.isprintable() for part in str(failure.text).split("\n"))


@pytest.mark.parametrize("text", ["\x00", "\x1b[31m", "\ud800", "\ufffe", "]]>", "<!--", "&amp;", "\r\n\t", "\u202e", '"<>'])
def test_what_xml_cannot_hold_is_written_as_its_escape(text: str) -> None:
    """Control characters, lone surrogates and what is no character become escapes; markup stays text."""
    document = report("verify", text, None, [Check("check", False, text)], None)
    root = read(junit.checks(document))
    assert root[0].get("name") == f"verify {printable(text)}"
    assert only(root)[0].get("message") == printable(text)


def test_checks_are_test_cases() -> None:
    """What held is a test case, what differs a failure, what was left out is skipped; a published FAIL is none of these."""
    checks = [Check("one", True, "held"), Check("two", False, "differs"), Check("three", None, "left out, as asked")]
    published = written(pin("a", case(NAME, claim("core/one@1", FAIL))))
    root = read(junit.checks(report("reproduce", "i05", "r1", checks, published)))
    assert [[mark.tag for mark in one] for one in root.iter("testcase")] == [[], ["failure"], ["skipped"]]
    assert counts(root) == {"tests": 3, "failures": 1, "errors": 0, "skipped": 1}


def test_a_time_out_is_no_difference() -> None:
    """Where a limit kept a case from its answer, what differs is an error and no failure."""
    late = written(pin("a", case(NAME, claim("core/one@1", UNKNOWN, "timeout"))))
    (mark,) = only(read(junit.checks(report("reproduce", "i05", "r1", [Check("results.json", False, "differs")], late))))
    assert (mark.tag, mark.get("type")) == ("error", "timeout")


def test_the_commands_print_junit(command: Command) -> None:
    """Both run and reproduce print it on request; the exit code stays that of the verdicts."""
    chosen = [word for name in ("approve", "edit", "edit-notice-off") for word in ("--case", f"decisions/{name}")]
    ran = command("run", "--pin", "langchain-1.4.1", *chosen, "--format", "junit")
    assert (ran.returncode, counts(read(ran.stdout))) == (1, {"tests": 3, "failures": 1, "errors": 1, "skipped": 0})
    again = command("reproduce", "i05", "--skip-upstream", "--format", "junit")
    assert (again.returncode, counts(read(again.stdout))["failures"]) == (0, 0)
