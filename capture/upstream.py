"""The upstream tests of a pin: the framework's own module about what is audited, rerun from its source distribution."""

import logging
import subprocess
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

from capture import cache, children, document, environment, registry, wheelhouse
from capture.document import Document
from capture.errors import EnvironmentFailed, InputRefused, ProbeFailed
from capture.interpreter import Interpreter
from capture.lock import Lock
from capture.pin import Artifact, Pin, Upstream
from capture.session import clean_variables
from capture.unpack import unpack

__all__ = ["SECONDS", "rerun", "rerun_in"]

SECONDS = 600.0

_LOG = logging.getLogger(__name__)

_KEPT = ("tests/", "pyproject.toml")


def rerun(pin: Pin, python: Interpreter, seconds: float = SECONDS) -> Document:
    """Check the module's digest, run it in an environment of its own, and return what came of each test.

    Whatever the tests do is an outcome. Only a module that is not the pinned one, or a limit that was reached, is an error.
    """
    upstream = _upstream(pin)
    _LOG.info("running the upstream tests of pin %s", pin.name)
    with cache.scratch("upstream") as place:
        tests = _extract(_source(upstream.lock, pin.artifact("langchain", "sdist")), place)
        _refuse_other_module(pin.name, upstream, tests)
        return _run(pin, upstream, environment.sound(upstream.lock, python), tests, seconds)


def rerun_in(pin: Pin, place: environment.Environment, project: Path, seconds: float = SECONDS) -> Document:
    """Do the same with a project that holds the module, in an environment that runs it."""
    upstream = _upstream(pin)
    _LOG.info("running the upstream tests in the archive")
    _refuse_other_module(pin.name, upstream, project)
    return _run(pin, upstream, place, project, seconds)


def _upstream(pin: Pin) -> Upstream:
    if pin.upstream is None:
        raise InputRefused(f"pin {pin.name}: key upstream is missing, so there are no upstream tests.", "Add them to pin.toml.")
    return pin.upstream


def _run(pin: Pin, upstream: Upstream, place: environment.Environment, tests: Path, seconds: float) -> Document:
    outcomes = list(_outcomes_of(place, tests, upstream.module, seconds))
    source = pin.artifact("langchain", "sdist")
    return {
        "upstream": 1,
        "pin": pin.name,
        "purl": source.purl,
        "sdist_sha256": source.sha256,
        "module": upstream.module,
        "module_sha256": upstream.sha256,
        **{key: sum(found["outcome"] == outcome for found in outcomes) for key, outcome in _COUNTED.items()},
        "tests": sorted(outcomes, key=lambda found: (found["test"], found["outcome"])),
    }


def _source(lock: Lock, artifact: Artifact) -> Path:
    if lock.wheelhouse is None:
        return registry.fetch(artifact)
    found = wheelhouse.find(lock.wheelhouse, artifact.sha256)
    if found is None:
        raise EnvironmentFailed(f"{artifact.purl} ({artifact.kind}): it is not in the wheelhouse {lock.wheelhouse}.", "Fetch it.")
    return found


_COUNTED = {"passed": "passed", "failed": "failed", "errors": "error", "skipped": "skipped"}


def _extract(archive: Path, place: Path) -> Path:
    """Extract the tests and their configuration, but not the package: what is tested is what the lock installed."""
    try:
        unpack(archive, place, lambda name: name.partition("/")[2].startswith(_KEPT))
        (top,) = place.iterdir()
    except (tarfile.TarError, ValueError, EOFError) as error:
        raise EnvironmentFailed(f"{archive}: not a source distribution ({error}).", "Delete it; it is fetched again.") from None
    return top


def _refuse_other_module(pin: str, upstream: Upstream, tests: Path) -> None:
    path = tests / upstream.module
    found = document.digest(document.read(path)) if path.is_file() else "none"
    if found != upstream.sha256:
        raise InputRefused(
            f"pin {pin}: key upstream.sha256: pinned is {upstream.sha256}, the tests have {found}.",
            "The pin is not what was published.",
        )


def _outcomes_of(place: environment.Environment, tests: Path, module: str, seconds: float) -> Iterator[Mapping[str, str]]:
    report = tests / "report.xml"
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", f"--junit-xml={report}"]
    try:
        children.run([place.python, "-I", "-m", "pytest", *options, module], clean_variables(), seconds, cwd=tests)
    except subprocess.TimeoutExpired:
        raise ProbeFailed(f"the upstream tests did not end within {seconds:.0f} seconds", "timeout") from None
    yield from _outcomes(report, module)


def _outcomes(report: Path, module: str) -> Iterator[Mapping[str, str]]:
    try:
        found = list(ET.parse(report).iter("testcase"))  # noqa: S314 -- our own pytest wrote it; expat bounds entities
    except (ET.ParseError, OSError):
        found = []
    if not found:
        yield {"test": module, "outcome": "error"}
    for case in found:
        kinds = {child.tag for child in case}
        outcome = next((name for tag, name in _TAGS.items() if tag in kinds), "passed")
        yield {"test": case.get("name") or case.get("classname") or module, "outcome": outcome}


_TAGS = {"error": "error", "failure": "failed", "skipped": "skipped"}
