"""`make bench`: what a run costs beside a bare script that does the same, and an environment beside nox, as ratios.

Each row is measured in pairs, ours and theirs in turn, so that a machine whose speed drifts does not decide. The ratio is the
median of the pairs' ratios. The figures are of whole processes; the installer's cache is warm in every row. The bare script is
what `dispatch-audit explain decisions --script` prints. The table is written to docs/bench.md.
"""

import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from capture import cache, case, document, environment, interpreter, pin
from capture.render.script import script

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent.parent / "docs" / "bench.md"
PAIRS = 9
FEW = 5
NEWEST = "langchain-1.5.2"
FOUR = [f"decisions/{name}" for name in ("approve", "edit", "edit-notice-off", "reject")]
CHOSEN = [word for name in FOUR for word in ("--case", name)]

Row = tuple[str, Callable[[], None], Callable[[], None]]


def main() -> None:
    """Measure, print the table, and keep it."""
    with tempfile.TemporaryDirectory() as place:
        lines = [*head(), *(measured(*row) for row in rows(Path(place))), *suite(Path(place)), *memory()]
    text = "\n".join(lines) + "\n"
    document.write(TABLE, text.encode())
    print(text)


def head() -> Iterator[str]:
    """Yield what stands above the table."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, CPython {platform.python_version()}"
    yield "# Bench\n"
    yield "Written by `make bench`, which measures again. Ratios count; seconds are of one machine on one day.\n"
    yield f"{machine}; {PAIRS} pairs a row, ours and theirs in turn, whole processes, medians.\n"
    yield "| what | ours, s | theirs, s | ratio | least and most |"
    yield "| --- | --- | --- | --- | --- |"


def rows(place: Path) -> Iterator[Row]:
    """Yield what is measured: a name, ours, theirs."""
    lock, python = pin.find("i05").lock, interpreter.find(None)
    warm = environment.ensure(lock, python).python
    bare = place / "bare.py"
    bare.write_text(script(case.find(FOUR)))

    def alone() -> None:
        run(warm, "-I", bare)

    yield "four cases, warm: `run --pin i05` / a bare script", lambda: ours("run", "--pin", "i05", *CHOSEN), alone
    yield "`reproduce i05 --skip-upstream`, warm / a bare script", lambda: ours("reproduce", "i05", "--skip-upstream"), alone

    def cold() -> None:
        shutil.rmtree(place / "cache", ignore_errors=True)
        ours("run", "--pin", "i05", *CHOSEN, variables={cache.VARIABLE: str(place / "cache")})

    def nox() -> None:
        shutil.rmtree(place / "nox", ignore_errors=True)
        noxfile = ["--noxfile", str(HERE / "noxfile.py"), "--envdir", str(place / "nox")]
        run(sys.executable, "-m", "nox", "--force-python", sys.executable, *noxfile, "--", lock.path.resolve(), bare)

    yield "four cases, the environment built first / nox with its uv backend, same lock", cold, nox


def suite(place: Path) -> Iterator[str]:
    """Yield what the whole suite takes at one warm pin, and what each further case takes beside its script.

    A case whose policy is refused ends a script, so the family of policies is left out of the comparison.
    """
    newest, python = pin.find(NEWEST), interpreter.find(None)
    warm = environment.ensure(newest.lock, python).python
    families = sorted({known.id.partition("/")[0] for known in case.all_cases()} - {"policy"})
    few, many = case.find(FOUR), case.find(families)
    for name, cases in (("few", few), ("many", many)):
        (place / f"{name}.py").write_text(script(cases))

    def recorded(names: list[str]) -> Callable[[], None]:
        chosen = [word for name in names for word in ("--case", name)]
        return lambda: ours("run", "--pin", NEWEST, *chosen, fine=(0, 1, 3))

    def scripted(name: str) -> Callable[[], None]:
        return lambda: run(warm, "-I", place / f"{name}.py")

    whole = statistics.median(seconds(recorded([])) for _ in range(FEW))
    yield f"\nThe suite of {len(case.all_cases())} cases at one warm pin, {NEWEST}: {whole:.1f} s, median of {FEW}."
    costs = [_further(recorded(FOUR), recorded(families)), _further(scripted("few"), scripted("many"))]
    further = [1000 * cost / (len(many) - len(few)) for cost in costs]
    yield (
        f"\nEach of {len(many) - len(few)} further cases: {further[0]:.1f} ms, its script {further[1]:.1f} ms, "
        f"ratio {further[0] / further[1]:.2f}. The cases share as many probes as there are cores; a script has one process."
    )


def _further(few: Callable[[], None], many: Callable[[], None]) -> float:
    """Return how much longer the second takes, the median of pairs."""
    return statistics.median(seconds(many) - seconds(few) for _ in range(FEW))


def memory() -> Iterator[str]:
    """Yield the peak memory of the orchestrator, without its children: measured in a process that runs the command itself."""
    code = (
        "import resource, sys; from capture.__main__ import _run; _run(); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    arguments = [sys.executable, "-c", code, "run", "--pin", "i05", *CHOSEN, "--format", "markdown"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    kilobytes = int(done.stdout.splitlines()[-1]) // (1024 if sys.platform == "darwin" else 1)
    yield f"\nPeak memory of the orchestrator in the first row: {kilobytes / 1024:.0f} MiB."


def ours(*arguments: str, fine: Collection[int] = (0,), variables: Mapping[str, str] | None = None) -> None:
    """Run dispatch-audit; a suite that holds a FAIL ends with 1, which is fine there."""
    run(sys.executable, "-m", "capture", *arguments, fine=fine, variables=variables)


def run(*arguments: str | Path, fine: Collection[int] = (0,), variables: Mapping[str, str] | None = None) -> None:
    """Run a command to its end; one that fails is no measurement."""
    done = subprocess.run(list(map(str, arguments)), check=False, capture_output=True, env={**os.environ, **(variables or {})})
    if done.returncode not in fine:
        raise RuntimeError(f"{arguments} ended with {done.returncode}")


def measured(name: str, left: Callable[[], None], right: Callable[[], None]) -> str:
    """Return the row of a pair of functions, after one warm-up of each."""
    seconds(left)
    seconds(right)
    pairs = [(seconds(left), seconds(right)) for _ in range(PAIRS)]
    ratios = sorted(one / other for one, other in pairs)
    medians = [statistics.median(side) for side in zip(*pairs, strict=True)]
    cells = [f"{medians[0]:.2f}", f"{medians[1]:.2f}", f"{statistics.median(ratios):.2f}", f"{ratios[0]:.2f} to {ratios[-1]:.2f}"]
    return f"| {name} | {' | '.join(cells)} |"


def seconds(function: Callable[[], None]) -> float:
    """Return how long a function takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
