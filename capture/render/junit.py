"""Results and checks as JUnit XML, for a CI that shows tests.

One test case is one case, since that is what has a verdict: it does not follow from the claims alone, but from the trigger
and the smoke test too. So the counts are those of the results. UNKNOWN is an error and never skipped: a CI shows what was
skipped in green.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable

from capture.document import Document
from capture.render.cells import written
from capture.render.printable import printable

__all__ = ["checks", "results"]


def results(document: Document) -> str:
    """Return results: a suite for each pin, a test case for each case."""
    return _written(_pin(pin) for pin in document["pins"])


def _pin(pin: Document) -> ET.Element:
    return _suite(pin["pin"], [_case(pin["pin"], case) for case in pin["cases"]], pin["packages"])


def checks(document: Document) -> str:
    """Return checks: one suite, a test case for each check, since a FAIL that was published is no difference.

    What was left out is skipped. A difference that a time-out explains is an error, as it is none.
    """
    name = " ".join(filter(None, (document["command"], document["record"], document["revision"])))
    late = _is_late(document["results"])
    return _written([_suite(name, [_check(name, check, late=late) for check in document["checks"]], {})])


def _is_late(found: Document | None) -> bool:
    return any(case["reason"] == "timeout" for pin in (found or {"pins": []})["pins"] for case in pin["cases"])


def _written(suites: Iterable[ET.Element]) -> str:
    root = ET.Element("testsuites")
    root.extend(suites)
    for key in _COUNTED:
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


_COUNTED = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error", "skipped": "testcase/skipped"}


def _suite(name: str, cases: Iterable[ET.Element], packages: Document) -> ET.Element:
    suite = ET.Element("testsuite", name=printable(name))
    if packages:
        properties = ET.SubElement(suite, "properties")
        for package, version in sorted(packages.items()):
            ET.SubElement(properties, "property", name=printable(package), value=printable(version or "none"))
    suite.extend(cases)
    for key, path in _COUNTED.items():
        suite.set(key, str(len(suite.findall(path))))
    return suite


def _case(pin: str, case: Document) -> ET.Element:
    found = ET.Element("testcase", classname=printable(pin), name=printable(case["case"]))
    if case["verdict"] == "FAIL":
        fails = ", ".join(claim["claim"] for claim in case["claims"] if claim["verdict"] == "FAIL")
        _tell(found, "failure", "FAIL", f"does not hold: {fails}", [case["question"], *_faults(case)])
    elif case["verdict"] == "UNKNOWN":
        _tell(found, "error", case["reason"], case["detail"] or f"UNKNOWN ({case['reason']})", [case["question"], *_unknown(case)])
    return found


def _faults(case: Document) -> Iterable[str]:
    for claim in case["claims"]:
        for fault in claim["faults"]:
            expected, observed = written(fault["expected"]), written(fault["observed"])
            yield f"{claim['claim']} at {fault['evidence']}: expected {expected}, observed {observed}"


def _unknown(case: Document) -> Iterable[str]:
    return (f"{claim['claim']}: UNKNOWN ({claim['reason']})" for claim in case["claims"] if claim["reason"])


def _check(suite: str, check: Document, *, late: bool) -> ET.Element:
    found = ET.Element("testcase", classname=printable(suite), name=printable(check["check"]))
    if check["held"] is None:
        ET.SubElement(found, "skipped", message=printable(check["detail"]))
    elif not check["held"]:
        _tell(found, *(("error", "timeout") if late else ("failure", "difference")), check["detail"], [])
    return found


def _tell(case: ET.Element, kind: str, of: str, message: str, lines: Iterable[str]) -> None:
    """Add what went wrong; what XML cannot hold, and what could steer a terminal, is written as its escape."""
    ET.SubElement(case, kind, type=of, message=printable(message)).text = "\n".join(map(printable, lines))
