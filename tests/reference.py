"""With which releases of langgraph the reference implementation works, found by running it: `python -m tests.reference`.

Each release is installed with the packages that its own resolution gave one day after its upload, and runs the proposal's two
examples. Every stable release is tried, in some ten minutes, or those whose versions are given as arguments.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import groupby
from pathlib import Path

from capture import installer, library, registry
from capture.errors import AuditError
from capture.order import second_after

CHECK = Path(__file__).parent / "data" / "reference_check.py"

REFERENCE = library.probe_folder() / "probe" / "interrupt_updates.py"


def works(version: str, folder: Path) -> str:
    """Return `works`, or the last thing that was said, for a release of langgraph, which is installed into a folder."""
    uploaded = registry.release("langgraph", version).uploaded
    if uploaded is None:
        return "has no file"
    place = folder / version
    installer.run("venv", "--quiet", "--python", sys.executable, str(place))
    until = second_after(uploaded + timedelta(days=1))
    python = place / "bin" / "python"
    installer.run("pip", "install", "--quiet", "--python", str(python), "--exclude-newer", until, f"langgraph=={version}")
    done = subprocess.run([python, "-I", CHECK, REFERENCE], capture_output=True, text=True, check=False, timeout=120)
    said = "".join((done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()[-1:])
    # Behind an opening bracket stands where something was not found, which is another folder each time.
    return "works" if said == f"works with langgraph {version}" else said.partition(" (")[0] or "nothing was said"


def _tried(version: str) -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return version, works(version, Path(folder))
        except AuditError as error:
            return version, error.message


def main(versions: Sequence[str]) -> None:
    """Print what each release does, and then in which unbroken runs."""
    with ThreadPoolExecutor(2) as executor:
        found = list(executor.map(_tried, versions or registry.stable("langgraph")))
    for version, said in found:
        print(f"{version:10} {said}")
    for said, run in groupby(found, key=lambda one: one[1]):
        first, *rest = [version for version, _ in run]
        print(f"{first} to {(rest or [first])[-1]}: {said}")


if __name__ == "__main__":
    main(sys.argv[1:])
