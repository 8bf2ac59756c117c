"""The draft of a pin: from an order to a lock, tests lock, digests and pin.toml.

A lock is compiled for every platform and every Python from 3.11, as of a full UTC time, so that it is the same whoever makes it.
"""

import json
import logging
import re
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from packaging.utils import canonicalize_name

from capture import cache, document, environment, installer, library, order, pin, registry
from capture import lock as lock_of
from capture.errors import AuditError, EnvironmentFailed, InputRefused, ProbeFailed, Unresolved
from capture.interpreter import Interpreter
from capture.lock import Lock
from capture.observation import STEP_SECONDS
from capture.order import TIME_FORM, Order, second_after
from capture.recorder import Recorder
from capture.render.printable import printable

__all__ = ["FIRST_DAY", "add", "add_checkpointers", "add_missing", "missing"]

_LOG = logging.getLogger(__name__)

PACKAGES = ("langchain", "langchain-core", "langgraph", "langgraph-prebuilt", "langgraph-checkpoint", "pydantic")

FILES = (
    "langchain/agents/factory.py",
    "langchain/agents/middleware/human_in_the_loop.py",
    "langgraph/prebuilt/tool_node.py",
    "langgraph/types.py",
    "langgraph/pregel/_algo.py",
    "langgraph/pregel/_io.py",
    "langgraph/pregel/_loop.py",
    "langgraph/pregel/_runner.py",
)

MODULE = "tests/unit_tests/agents/middleware/implementations/test_human_in_the_loop.py"

TEST_PACKAGES = ("blockbuster", "langchain-tests", "pytest", "pytest-asyncio", "pytest-mock", "setuptools", "syrupy")

FIRST_DAY = timedelta(days=1)
"""How long after its upload the helpers of a release are still taken: those that belong to it follow within hours."""

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")

CHECKPOINTERS = ("langgraph-checkpoint-postgres", "langgraph-checkpoint-sqlite", "psycopg[binary]")
"""What keeps a thread beyond its process."""

BUILT = ("forbiddenfruit",)
"""Packages of the tests' lock that have no wheel: built from source, with a build environment that is hashed too."""


def add(wanted: Order, name: str | None, folder: Path, python: Interpreter) -> Path:
    """Make a pin in a folder of pins and return its own folder; without a name it is called as the order says."""
    _refuse(wanted)
    chosen = name or wanted.name
    pin.refuse_name(chosen, "pin add")
    if chosen != wanted.name and order.of(chosen) is not None:
        raise InputRefused(f"pin add: --name {chosen}: that is what the pin of a release is called.", "Choose another name.")
    target = folder / chosen
    with cache.locked(f"pin-{chosen}"), cache.scratch("draft") as place:
        if target.exists():
            raise InputRefused(f"pin {chosen}: {target} is there already.", "A pin never changes; choose another name.")
        draft = place / chosen
        draft.mkdir()
        _draft(draft, wanted, _time(wanted), python)
        pin.load(draft)
        _put(draft, target)
    return target


def missing(folder: Path) -> list[Order]:
    """Return orders for the stable releases from 1.0.0 on of which a folder has no pin and whose first day is over."""
    there = library.names(folder, "pin.toml")
    found = [Order({order.AUDITED: version}) for version in registry.stable(order.AUDITED) if not version.startswith("0.")]
    return [wanted for wanted in found if wanted.name not in there and _day_after(wanted) <= _now()]


def add_missing(folder: Path, python: Interpreter) -> Iterator[tuple[str, Path | AuditError]]:
    """Make the pins that a folder is missing, and yield the name of each with its folder, or with why it cannot be had."""
    for wanted in missing(folder):
        try:
            yield wanted.name, add(wanted, None, folder, python)
        except (EnvironmentFailed, InputRefused, ProbeFailed) as error:
            yield wanted.name, error


def _put(draft: Path, target: Path) -> None:
    """Put a pin in its place: beside it first, then at once, so that it is whole or not there."""
    beside = target.with_name(f".{target.name}.new")
    with cache.storage(target):
        shutil.rmtree(beside, ignore_errors=True)
        shutil.copytree(draft, beside)
        beside.rename(target)


def _refuse(wanted: Order) -> None:
    if wanted.as_of is not None and not _is_time(wanted.as_of):
        raise InputRefused(f"pin add: --as-of {wanted.as_of!a} is not a full UTC time.", "Write it as 2026-10-23T23:59:59Z.")
    for unknown in sorted(set(wanted.tests or {}) - set(TEST_PACKAGES)):
        raise InputRefused(
            f"pin add: --upstream {unknown!a} is not among the upstream tests' packages.",
            f"Those are {', '.join(TEST_PACKAGES)}.",
        )


def _is_time(text: str) -> bool:
    try:
        return bool(_TIME.fullmatch(text) and datetime.strptime(text, TIME_FORM).replace(tzinfo=UTC))
    except ValueError:
        return False


def _draft(draft: Path, wanted: Order, time: str, python: Interpreter) -> None:
    lock = _lock(draft / "requirements.txt", wanted, time)
    packages = _packages(lock, wanted)
    artifacts = _artifacts(lock, packages)
    text = _toml(wanted, time, packages, _digests(lock, packages, python, draft.parent), lock, artifacts)
    if wanted.tests is not None:
        text += _upstream(draft, packages, artifacts, wanted.tests, time)
    document.write(draft / "pin.toml", text.encode())
    _beside(draft, lock.path, time, wanted.name)


def add_checkpointers(known: pin.Pin) -> Path | None:
    """Lock the checkpointers of a pin that has none, as of the pin's time, and return the file; None if they do not go with it."""
    folder = known.lock.path.parent
    if known.checkpointers is not None:
        raise InputRefused(f"pin {known.name}: {known.checkpointers.path} is there already.", "A pin never changes.")
    with cache.locked(f"pin-{known.name}"), cache.scratch("draft") as place:
        made = _beside(place, known.lock.path.absolute(), known.as_of, known.name)
        if made:
            document.write(folder / pin.CHECKPOINTERS, document.read(made))
    return folder / pin.CHECKPOINTERS if made else None


def _beside(folder: Path, base: Path, time: str, name: str) -> Path | None:
    """Lock the checkpointers beside the packages of a pin, none of which changes; say so if that is not to be had."""
    path = folder / "whole.txt"
    try:
        _compile(path, CHECKPOINTERS, time, base)
    except Unresolved:
        _LOG.info("%s has no checkpointers beyond memory: none of that time go with its packages", name)
        return None
    there = set(lock_of.versions(base))
    blocks = re.split(r"^(?=\S)", document.read(path).decode(), flags=re.MULTILINE)
    own = [block for block in blocks if block and canonicalize_name(block.partition("==")[0]) not in there]
    path.unlink()
    document.write(folder / pin.CHECKPOINTERS, "".join(own).encode())
    return folder / pin.CHECKPOINTERS


def _packages(lock: Lock, wanted: Order) -> Mapping[str, str]:
    """Return the versions of the packages that decide; another spelling of a version would be another name for one pin."""
    versions = lock_of.versions(lock.path)
    for name in PACKAGES:
        if name not in versions:
            raise InputRefused(
                f"pin add: the lock has no {name}.", "Only langchain from 1.0.0 on has the middleware that is audited."
            )
    for name, version in {**wanted.wanted, **wanted.beside}.items():
        if versions.get(name, version) != version:
            raise InputRefused(f"pin add: {name}=={version}: the release is called {versions[name]}.", "Write it so.")
    return {name: versions[name] for name in PACKAGES}


def _artifacts(lock: Lock, packages: Mapping[str, str]) -> list[pin.Artifact]:
    hashes = {value for locked in lock.packages() for value in locked.hashes}
    found = []
    for name, version in packages.items():
        own = [artifact for artifact in registry.release(name, version).artifacts if artifact.sha256 in hashes]
        if not own:
            raise EnvironmentFailed(
                f"{name} {version}: the registry lists no file with a hash of the lock.",
                "Set UV_DEFAULT_INDEX to the index that the lock was made with.",
            )
        found += own
    return found


def _time(wanted: Order) -> str:
    """Return the time as of which everything is taken, which must be past: until then what is uploaded changes the pin."""
    if wanted.as_of is not None:
        time, said = datetime.strptime(wanted.as_of, TIME_FORM).replace(tzinfo=UTC), f"--as-of {wanted.as_of}"
    elif wanted.lock is not None:
        return _newest(wanted.lock)
    else:
        time, said = _day_after(wanted), f"the first day of {wanted.name} ends at {_day_after(wanted).strftime(TIME_FORM)}"
    if time > _now():
        raise InputRefused(f"pin add: {said}, which is not past.", "Wait until then, or give an earlier --as-of.")
    return time.strftime(TIME_FORM)


def _now() -> datetime:
    return datetime.now(UTC)


def _day_after(wanted: Order) -> datetime:
    """Return the end of the first day of the release, or of the newest of those beside it."""
    named = {order.AUDITED: wanted.wanted[order.AUDITED], **wanted.beside}
    uploads = []
    for name, version in named.items():
        uploaded = registry.release(name, version).uploaded
        if uploaded is None:
            raise InputRefused(f"{name} {version}: the registry does not say when it was uploaded.", "Give --as-of.")
        uploads.append(uploaded.astimezone(UTC))
    return max(uploads).replace(microsecond=0) + FIRST_DAY


def _newest(lock: bytes) -> str:
    """Return when the newest file of a lock was uploaded."""
    packages = [lock_of.locked(line, "pin add") for _, line in lock_of.lines(lock.decode())]
    registry.look_up(locked.name for locked in packages)
    hashes = {value for locked in packages for value in locked.hashes}
    files = [file for locked in packages for file in registry.listed(locked.name, locked.version) if file.sha256 in hashes]
    uploads = [file.package.upload_time for file in files if file.package.upload_time]
    if not uploads:
        raise InputRefused("pin add: the registry does not say when the lock's files were uploaded.", "Give --as-of.")
    return second_after(max(uploads))


def _lock(path: Path, wanted: Order, time: str) -> Lock:
    if wanted.lock is not None:
        document.write(path, wanted.lock)
        return Lock(path, document.digest(wanted.lock))
    if wanted.beside:
        _base(path, wanted)
    return _compile(path, _exact({**wanted.wanted, **wanted.beside}), time)


def _base(path: Path, wanted: Order) -> None:
    """Put the lock of the release's own pin where the new one comes: the installer keeps of it whatever still fits."""
    own = Order(wanted.wanted)
    if library.pin_folder(own.name) is not None:
        shutil.copyfile(pin.find(own.name).lock.path, path)
    else:
        _compile(path, _exact(own.wanted), _time(own))
    for name in sorted(set(wanted.beside) - set(lock_of.versions(path))):
        raise InputRefused(f"pin add: --with {name}: the lock of {own.name} has no such package.", "Name one that it has.")


def _exact(packages: Mapping[str, str]) -> list[str]:
    return [f"{name}=={version}" for name, version in packages.items()]


def _compile(path: Path, wanted: Iterable[str], time: str, constraint: Path | None = None) -> Lock:
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
    try:
        with Recorder(place, folder, STEP_SECONDS) as recorder:
            found = recorder.describe(packages, FILES)["files"]
    except ProbeFailed as failure:
        raise EnvironmentFailed(
            f"langchain {packages['langchain']}: it cannot be imported with the packages that were locked ({failure.message}).",
            "Give another time with --as-of, or fix more packages.",
        ) from None
    return {name: value for name, value in found.items() if value}


def _title(wanted: Order, time: str) -> str:
    named = ", ".join(f"{name} {version}" for name, version in wanted.wanted.items())
    if wanted.lock is not None:
        return f"{named}, as a lock made elsewhere has it"
    if wanted.beside:
        beside = " and ".join(f"{name} {version}" for name, version in wanted.beside.items())
        return f"{named} with {beside}; the rest as in the pin of {named} where it fits"
    return f"{named}; the rest as of {time}"


def _toml(
    wanted: Order,
    time: str,
    packages: Mapping[str, str],
    files: Mapping[str, str],
    lock: Lock,
    artifacts: Sequence[pin.Artifact],
) -> str:
    yanked = registry.release(order.AUDITED, packages[order.AUDITED]).yanked
    lines = [
        f'title = "{_title(wanted, time)}"',
        f'python = "{wanted.python}"',
        f'as-of = "{time}"',
        # The escapes of JSON are escapes of TOML too, once nothing but what can be printed is left.
        *([f"yanked = {json.dumps(printable(yanked), ensure_ascii=False)}"] if yanked else []),
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
