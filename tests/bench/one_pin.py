"""What a run at one pin costs beside a bare script, and each further case beside what its script pays for it."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from capture import cache, case, environment, interpreter, pin
from capture.render.script import script
from tests.bench.measure import growth, median, ours, paired, peak, run

__all__ = ["CHOSEN", "FOUR", "NOXFILE", "lines", "rows"]

PAIRS = 5
FEW = 3
NEWEST = "langchain-1.5.2"
FOUR = [f"decisions/{name}" for name in ("approve", "edit", "edit-notice-off", "reject")]
CHOSEN = [word for name in FOUR for word in ("--case", name)]
NOXFILE = Path(__file__).resolve().parent / "noxfile.py"


def rows(place: Path) -> Iterator[str]:
    """Yield the rows of the table: the four cases of I05 at one pin, warm and cold."""
    lock, python = pin.find("i05").lock, interpreter.find(None)
    warm = environment.ensure(lock, python).python
    bare = place / "bare.py"
    bare.write_text(script(case.find(FOUR)))

    def alone() -> None:
        run(warm, "-I", bare)

    yield paired("four cases, warm: `run --pin i05` / a bare script", lambda: ours("run", "--pin", "i05", *CHOSEN), alone, PAIRS)
    reproduce = lambda: ours("reproduce", "i05", "--skip-upstream", fine=(0,))  # noqa: E731 -- as short as the one above
    yield paired("`reproduce i05 --skip-upstream`, warm / a bare script", reproduce, alone, PAIRS)

    def cold() -> None:
        shutil.rmtree(place / "cache", ignore_errors=True)
        ours("run", "--pin", "i05", *CHOSEN, variables={cache.VARIABLE: str(place / "cache")})

    def nox() -> None:
        shutil.rmtree(place / "nox", ignore_errors=True)
        options: list[str | Path] = ["--noxfile", NOXFILE, "--envdir", place / "nox", "--session", "locked"]
        run(sys.executable, "-m", "nox", "--force-python", sys.executable, *options, "--", bare, lock.path.resolve())

    yield paired("four cases, the environment built first / nox with its uv backend, same lock", cold, nox, PAIRS)


def lines(place: Path) -> Iterator[str]:
    """Yield what the whole suite takes at one warm pin, what each further case takes beside its script, and the memory.

    A case whose policy is refused ends a script, so the family of policies is left out of the comparison.
    """
    newest, python = pin.find(NEWEST), interpreter.find(None)
    warm = environment.ensure(newest.lock, python).python
    families = sorted({known.id.partition("/")[0] for known in case.contained()} - {"policy"})
    few, many = case.find(FOUR), case.find(families)
    for name, cases in (("few", few), ("many", many)):
        (place / f"{name}.py").write_text(script(cases))

    def recorded(names: list[str]) -> Callable[[], None]:
        chosen = [word for name in names for word in ("--case", name)]
        return lambda: ours("run", "--pin", NEWEST, *chosen)

    def scripted(name: str) -> Callable[[], None]:
        return lambda: run(warm, "-I", place / f"{name}.py")

    suite = len(case.contained())
    yield f"The suite of {suite} cases at one warm pin, {NEWEST}: {median(recorded([]), FEW):.1f} s, median of {FEW}."
    costs = [growth(recorded(FOUR), recorded(families), FEW), growth(scripted("few"), scripted("many"), FEW)]
    further = [1000 * cost / (len(many) - len(few)) for cost in costs]
    yield (
        f"Each of {len(many) - len(few)} further cases: {further[0]:.1f} ms, its script {further[1]:.1f} ms, "
        f"ratio {further[0] / further[1]:.2f}. The cases share as many probes as there are cores; a script has one process."
    )
    yield f"Peak memory of the orchestrator in the first row: {peak('run', '--pin', 'i05', *CHOSEN):.0f} MiB."
