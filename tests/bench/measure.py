"""How things are measured: whole processes, ours and theirs in turn, as ratios; the peak memory of the orchestrator alone."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

__all__ = ["growth", "median", "ours", "paired", "peak", "run", "seconds"]

Action = Callable[[], None]

_PEAK = """
import resource, sys
from capture.__main__ import _run
_run()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def ours(*arguments: str | Path, fine: Collection[int] = (0, 1, 3), variables: Mapping[str, str] | None = None) -> None:
    """Run dispatch-audit; a suite that holds a FAIL or an UNKNOWN does not end with 0, which is fine here."""
    run(sys.executable, "-m", "capture", *arguments, fine=fine, variables=variables)


def run(*arguments: str | Path, fine: Collection[int] = (0,), variables: Mapping[str, str] | None = None) -> None:
    """Run a command to its end; one that fails is no measurement."""
    done = subprocess.run(list(map(str, arguments)), check=False, capture_output=True, env={**os.environ, **(variables or {})})
    if done.returncode not in fine:
        raise RuntimeError(f"{arguments} ended with {done.returncode}: {done.stderr[-500:]!r}")


def seconds(action: Action) -> float:
    """Return how long an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def median(action: Action, times: int) -> float:
    """Return the median of how long an action takes."""
    return statistics.median(seconds(action) for _ in range(times))


def paired(name: str, left: Action, right: Action, pairs: int) -> str:
    """Return the row of two actions, ours and theirs, after one warm-up of each."""
    seconds(left)
    seconds(right)
    taken = [(seconds(left), seconds(right)) for _ in range(pairs)]
    ratios = sorted(one / other for one, other in taken)
    medians = [statistics.median(side) for side in zip(*taken, strict=True)]
    middle = statistics.median(ratios)
    cells = [f"{medians[0]:.2f}", f"{medians[1]:.2f}", f"{middle:.2f}", f"{ratios[0]:.2f} to {ratios[-1]:.2f}", f"{1 / middle:.2f}"]
    return f"| {name} | {' | '.join(cells)} |"


def growth(few: Action, many: Action, times: int) -> float:
    """Return how much longer the second takes, the median of pairs."""
    return statistics.median(seconds(many) - seconds(few) for _ in range(times))


def peak(*arguments: str) -> float:
    """Return the peak memory of the orchestrator in MiB, without its children: in a process that runs the command itself."""
    command = [sys.executable, "-c", _PEAK, *arguments, "--format", "markdown"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1]) / (1024 * 1024 if sys.platform == "darwin" else 1024)
