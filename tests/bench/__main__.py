"""`make bench`: what a run costs beside a bare script that does the same, and an environment beside nox, as ratios.

Each row is measured in pairs, ours and theirs in turn, so that a machine whose speed drifts does not decide. The ratio is the
median of the pairs' ratios. The figures are of whole processes; the installer's cache is warm in every row.
"""

import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from capture import cache, environment, interpreter, pin

HERE = Path(__file__).resolve().parent
BARE = HERE / "bare.py"
PAIRS = 7

Row = tuple[str, Callable[[], None], Callable[[], None]]


def main() -> None:
    """Print the table."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, CPython {platform.python_version()}"
    print(f"\n{machine}, {PAIRS} pairs a row\n")
    print("| what | ours, s | theirs, s | ratio | least and most |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as place:
        for name, ours, theirs in rows(Path(place)):
            print(measured(name, ours, theirs), flush=True)


def rows(place: Path) -> Iterator[Row]:
    """Yield what is measured: a name, ours, theirs."""
    lock, python = pin.find("i05").lock, interpreter.find(None)
    warm = environment.ensure(lock, python).python

    def bare() -> None:
        run(warm, "-I", BARE)

    yield "four cases, warm: `run --pin i05` / a bare script", lambda: ours("run", "--pin", "i05"), bare
    yield "`reproduce i05 --skip-upstream`, warm / a bare script", lambda: ours("reproduce", "i05", "--skip-upstream"), bare

    def cold() -> None:
        shutil.rmtree(place / "cache", ignore_errors=True)
        ours("run", "--pin", "i05", **{cache.VARIABLE: str(place / "cache")})

    def nox() -> None:
        shutil.rmtree(place / "nox", ignore_errors=True)
        noxfile = ["--noxfile", str(HERE / "noxfile.py"), "--envdir", str(place / "nox")]
        run(sys.executable, "-m", "nox", "--force-python", sys.executable, *noxfile, "--", lock.path.resolve(), BARE)

    yield "four cases, the environment built first / nox with its uv backend, same lock", cold, nox


def ours(*arguments: str, **variables: str) -> None:
    """Run dispatch-audit."""
    run(sys.executable, "-m", "capture", *arguments, **variables)


def run(*arguments: str | Path, **variables: str) -> None:
    """Run a command to its end; one that fails is no measurement."""
    subprocess.run(list(map(str, arguments)), check=True, capture_output=True, env={**os.environ, **variables})


def measured(name: str, left: Callable[[], None], right: Callable[[], None]) -> str:
    """Return the row of a pair of functions, after one warm-up of each."""
    seconds(left)
    seconds(right)
    pairs = [(seconds(left), seconds(right)) for _ in range(PAIRS)]
    ratios = sorted(one / other for one, other in pairs)
    medians = [statistics.median(side) for side in zip(*pairs, strict=True)]
    return (
        f"| {name} | {medians[0]:.2f} | {medians[1]:.2f} | {statistics.median(ratios):.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} |"
    )


def seconds(function: Callable[[], None]) -> float:
    """Return how long a function takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
