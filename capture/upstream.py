"""The upstream tests of a pin: the framework's own module about what is audited, rerun from its source distribution."""

import logging
import subprocess
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from capture import cache, children, document, environment, registry, wheelhouse
from capture.errors import EnvironmentFailed, InputRefused, ProbeFailed
from capture.interpreter import Interpreter
from capture.lock import Lock
from capture.pin import Artifact, Pin, Upstream
from capture.session import clean_variables

__all__ = ["SECONDS", "rerun"]

SECONDS = 600.0

_LOG = logging.getLogger(__name__)

_KEPT = ("tests/", "pyproject.toml")


def rerun(pin: Pin, python: Interpreter, seconds: float = SECONDS) -> Mapping[str, Any]:
    """Check the module's digest, run it in an environment of its own, and return what came of each test.

    Whatever the tests do is an outcome. Only a module that is not the pinned one, or a limit that was reached, is an error.
    """
    if pin.upstream is None:
        raise InputRefused(f"pin {pin.name}: key upstream is missing, so there are no upstream tests.", "Add them to pin.toml.")
    _LOG.info("running the upstream tests of pin %s", pin.name)
    source = pin.artifact("langchain", "sdist")
    with cache.scratch("upstream") as place:
        tests = _extract(_source(pin.upstream.lock, source), place)
        _refuse_other_module(pin.name, pin.upstream, tests)
        outcomes = list(_run(environment.sound(pin.upstream.lock, python), tests, pin.upstream.module, seconds))
    counts = {key: sum(found["outcome"] == outcome for found in outcomes) for key, outcome in _COUNTED.items()}
    return {
        "upstream": 1,
        "pin": pin.name,
        "purl": source.purl,
        "sdist_sha256": source.sha256,
        "module": pin.upstream.module,
        "module_sha256": pin.upstream.sha256,
        **counts,
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
        with tarfile.open(archive) as opened:
            top = opened.getnames()[0].partition("/")[0]
            members = [member for member in opened if member.name.startswith(tuple(f"{top}/{kept}" for kept in _KEPT))]
            opened.extractall(place, members=members, filter="data")
    except (tarfile.TarError, IndexError, EOFError) as error:
        raise EnvironmentFailed(f"{archive}: not a source distribution ({error}).", "Delete it; it is fetched again.") from None
    return place / top


def _refuse_other_module(pin: str, upstream: Upstream, tests: Path) -> None:
    path = tests / upstream.module
    found = document.digest(document.read(path)) if path.is_file() else "none"
    if found != upstream.sha256:
        raise InputRefused(
            f"pin {pin}: key upstream.sha256: pinned is {upstream.sha256}, the source distribution has {found}.",
            "The pin is not what was published.",
        )


def _run(place: environment.Environment, tests: Path, module: str, seconds: float) -> Iterator[Mapping[str, str]]:
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
