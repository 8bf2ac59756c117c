"""The draft of a pin: from a few exact packages and a time to a lock, tests lock, digests and pin.toml.

A lock is compiled for every platform and every Python from 3.11, as of a full UTC time, so that it is the same whoever makes it.
"""

import re
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from pathlib import Path

from capture import cache, document, environment, installer, library, pin, registry
from capture import lock as lock_of
from capture.errors import InputRefused
from capture.interpreter import Interpreter
from capture.lock import Lock
from capture.recorder import Recorder
from capture.runs import STEP_SECONDS

__all__ = ["add"]

PACKAGES = ("langchain", "langchain-core", "langgraph", "langgraph-prebuilt", "langgraph-checkpoint", "pydantic")

FILES = (
    "langchain/agents/factory.py",
    "langchain/agents/middleware/human_in_the_loop.py",
    "langgraph/prebuilt/tool_node.py",
    "langgraph/types.py",
)

MODULE = "tests/unit_tests/agents/middleware/implementations/test_human_in_the_loop.py"

TEST_PACKAGES = ("blockbuster", "langchain-tests", "pytest", "pytest-asyncio", "pytest-mock", "setuptools", "syrupy")

_NAME = re.compile(r"[a-z0-9][a-z0-9._+-]*")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")

BUILT = ("forbiddenfruit",)
"""Packages of the tests' lock that have no wheel: built from source, with a build environment that is hashed too."""


def add(name: str, wanted: Mapping[str, str], as_of: str | None, tests: Mapping[str, str] | None, python: Interpreter) -> Path:
    """Make the pin `name` among the shipped ones and return its folder; without `tests` it has no upstream tests."""
    pin.refuse_name(name, "pin add")
    if not _NAME.fullmatch(name):
        raise InputRefused(f"pin add: {name!a} is no name for a pin.", "Use lower-case letters, digits, dots and hyphens.")
    if as_of is not None and not _TIME.fullmatch(as_of):
        raise InputRefused(f"pin add: --as-of {as_of!a} is not a full UTC time.", "Write it as 2026-10-23T23:59:59Z.")
    for unknown in sorted(set(tests or {}) - set(TEST_PACKAGES)):
        raise InputRefused(
            f"pin add: --upstream {unknown!a} is not among the upstream tests' packages.",
            f"Those are {', '.join(TEST_PACKAGES)}.",
        )
    target = library.pins_folder() / name
    if target.exists():
        raise InputRefused(f"pin {name}: {target} is there already.", "A pin never changes; choose another name.")
    time = as_of or _day_after(wanted["langchain"])
    with cache.scratch("draft") as place:
        draft = place / name
        draft.mkdir()
        _draft(draft, wanted, time, tests, python)
        pin.load(draft)
        with cache.storage(target):
            # Beside first, then at once: a pin is whole or not there.
            beside = target.with_name(f".{name}.new")
            shutil.rmtree(beside, ignore_errors=True)
            shutil.copytree(draft, beside)
            beside.rename(target)
    return target


def _draft(draft: Path, wanted: Mapping[str, str], time: str, tests: Mapping[str, str] | None, python: Interpreter) -> None:
    lock = _compile(draft / "requirements.txt", [f"{name}=={version}" for name, version in wanted.items()], time)
    versions = lock_of.versions(lock.path)
    for name in PACKAGES:
        if name not in versions:
            raise InputRefused(
                f"pin add: the lock has no {name}.", "Only langchain from 1.0.0 on has the middleware that is audited."
            )
    packages = {name: versions[name] for name in PACKAGES}
    hashes = document.read(lock.path).decode()
    found = [artifact for name, version in packages.items() for artifact in registry.release(name, version).artifacts]
    artifacts = [artifact for artifact in found if artifact.sha256 in hashes]
    files = _digests(lock, packages, python, draft.parent)
    text = _toml(wanted, time, packages, files, lock, artifacts)
    if tests is not None:
        text += _upstream(draft, packages, artifacts, tests, time)
    document.write(draft / "pin.toml", text.encode())


def _day_after(version: str) -> str:
    uploaded = registry.release("langchain", version).uploaded
    if uploaded is None:
        raise InputRefused(f"langchain {version}: the registry does not say when it was uploaded.", "Give --as-of.")
    return (uploaded.astimezone(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _compile(path: Path, wanted: Sequence[str], time: str, constraint: Path | None = None) -> Lock:
    source = path.with_suffix(".in")
    source.write_text("".join(f"{line}\n" for line in wanted), encoding="utf-8")
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate"]
    if constraint:
        options += ["--constraint", str(constraint)]
    installer.run("pip", "compile", *options, "--exclude-newer", time, "--output-file", str(path), str(source))
    source.unlink()
    return Lock(path, document.digest(document.read(path)), BUILT if constraint else ())


def _digests(lock: Lock, packages: Mapping[str, str], python: Interpreter, folder: Path) -> Mapping[str, str]:
    place = environment.sound(lock, python)
    with Recorder(place, folder, STEP_SECONDS) as recorder:
        found = recorder.describe(packages, FILES)["files"]
    return {name: value for name, value in found.items() if value}


def _toml(
    wanted: Mapping[str, str],
    time: str,
    packages: Mapping[str, str],
    files: Mapping[str, str],
    lock: Lock,
    artifacts: Sequence[pin.Artifact],
) -> str:
    named = ", ".join(f"{name} {version}" for name, version in wanted.items())
    lines = [
        f'title = "{named}; the rest as of {time}"',
        'python = ">=3.11"',
        f'as-of = "{time}"',
        f'lock = {{ file = "requirements.txt", sha256 = "{lock.digest}" }}',
    ]
    lines += ["", "[packages]", *(f'{name} = "{version}"' for name, version in packages.items())]
    lines += ["", "[files]", *(f'"{name}" = "{value}"' for name, value in files.items())]
    for artifact in artifacts:
        lines += [
            "",
            "[[artifacts]]",
            f'purl = "{artifact.purl}"',
            f'kind = "{artifact.kind}"',
            f'sha256 = "{artifact.sha256}"',
        ]
    return "\n".join(lines) + "\n"


def _upstream(
    draft: Path, packages: Mapping[str, str], artifacts: Sequence[pin.Artifact], tests: Mapping[str, str], time: str
) -> str:
    wanted = [
        f"langchain=={packages['langchain']}",
        *(f"{name}=={tests[name]}" if name in tests else name for name in TEST_PACKAGES),
    ]
    lock = _compile(draft / "tests.txt", wanted, time, draft / "requirements.txt")
    versions = lock_of.versions(lock.path)
    source = next(artifact for artifact in artifacts if (artifact.name, artifact.kind) == ("langchain", "sdist"))
    with tarfile.open(registry.fetch(source)) as archive:
        member = archive.extractfile(f"langchain-{packages['langchain']}/{MODULE}")
        value = document.digest(member.read()) if member else ""
    lines = [
        "",
        "[upstream]",
        f'module = "{MODULE}"',
        f'sha256 = "{value}"',
        f"build = [{', '.join(f'{name!r}' for name in BUILT)}]".replace("'", '"'),
    ]
    lines += [
        f'lock = {{ file = "tests.txt", sha256 = "{lock.digest}" }}',
        f'packages = {{ pytest = "{versions["pytest"]}" }}',
    ]
    return "\n".join(lines) + "\n"
