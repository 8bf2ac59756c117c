"""The folder of a run: who holds it, what an earlier run left in it, and run.json, which holds what varies from run to run."""

import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from capture import cache, children, document, evidence, histories, postgres
from capture.errors import AuditError, InputRefused
from capture.interpreter import Interpreter

__all__ = ["SCRIPT", "claimed", "end", "is_run", "refuse_unfinished"]

SCRIPT = "script"
"""The folder, in that of a bisection's run, of the script and of the locks of both sides."""


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold the folder of a run, so that two runs do not write into one; a folder with anything else in it is refused.

    What an earlier run left in it is deleted. A run that is refused before it has begun leaves no folder behind.
    """
    children.clear()
    cache.clear()
    postgres.clear()
    own = folder.parent == cache.root() / "runs" and folder.name.endswith(children.OWNER)
    with nullcontext() if own else cache.locked(f"run-{document.digest(str(folder.absolute()).encode())[:32]}"):
        with cache.storage(folder):
            new = not folder.exists() or not any(folder.iterdir())
        if not new:
            _emptied(folder)
        try:
            document.write(folder / "run.json", document.canonical({"run": 1, "started": _now()}))
            yield
        except InputRefused:
            if new:
                shutil.rmtree(folder, ignore_errors=True)
            raise


def _emptied(folder: Path) -> None:
    """Delete what a run saved in a folder; if the folder is not a run's, refuse it."""
    if not is_run(folder):
        raise InputRefused(f"{folder}: there is something else in this folder.", "Give --out a new or empty one, or a run's.")
    for link in [path for path in folder.iterdir() if path.is_symlink()]:
        raise InputRefused(f"{link}: a link, which no run makes.", "Delete it, or give --out a new folder.")
    with cache.storage(folder):
        for name in ("results.json", "upstream.json", histories.FILE):
            (folder / name).unlink(missing_ok=True)
        for place in [path for path in folder.iterdir() if _is_ours(path)]:
            shutil.rmtree(place)


def _is_ours(path: Path) -> bool:
    return (path / "journals").is_dir() or (path / evidence.FILE).is_file() or path.name == SCRIPT


def is_run(folder: Path) -> bool:
    """Tell whether a folder is one that a run saved, or began to save, something in."""
    try:
        found = document.parse_json(document.read(folder / "run.json"), "run.json")
    except AuditError:
        return False
    return isinstance(found, dict) and found.get("run") == 1 and "started" in found


def refuse_unfinished(folder: Path) -> None:
    """Refuse the folder of a run that was interrupted, or is still going on."""
    about = document.parse_json(document.read(folder / "run.json"), str(folder / "run.json"))
    if not isinstance(about, dict) or "ended" not in about:
        raise InputRefused(f"{folder}: the run in this folder did not come to its end.", "Run it again.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def end(folder: Path, python: Interpreter, pins: Mapping[str, Any]) -> None:
    """Write run.json as the run ends: what stays outside of every digest, with what the probe said at each pin."""
    started = document.parse_json(document.read(folder / "run.json"), str(folder / "run.json"))["started"]
    about = {
        "run": 1,
        "started": started,
        "ended": _now(),
        "dispatch-audit": version("dispatch-audit"),
        "python": {
            "asked": python.asked,
            "used": str(python.path),
            "version": python.version,
            "implementation": python.implementation,
        },
        "uv": version("uv"),
        "machine": {"system": platform.system(), "release": platform.release(), "machine": platform.machine()},
        "pins": pins,
    }
    document.write(folder / "run.json", document.canonical(about))
