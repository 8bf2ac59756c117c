"""What many pins cost beside what people do without us: the script in a loop, and nox, which builds one after another."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from capture import cache, case, environment, interpreter, pin
from capture.pin import Pin
from capture.render.script import script
from tests.bench.measure import growth, median, ours, paired, peak, run
from tests.bench.one_pin import CHOSEN, FOUR, NOXFILE

__all__ = ["lines", "rows"]

PAIRS = 5
COLD = 2
EIGHT = 8
FOUR_RELEASES = 4


def rows(place: Path) -> Iterator[str]:
    """Yield the rows of the table: the four cases at eight releases, with environments that are there and that are not."""
    pins = _spread(pin.matching("langchain>=1.4.2"), EIGHT)
    bare = place / "bare.py"
    bare.write_text(script(case.find(FOUR)))
    pythons = [environment.ensure(known.lock, interpreter.find(None)).python for known in pins]
    named = [word for known in pins for word in ("--pin", known.name)]

    def looped() -> None:
        for python in pythons:
            run(python, "-I", bare)

    warm = partial(ours, "run", *named, *CHOSEN, "--fresh")
    yield paired(f"four cases at {EIGHT} releases, warm: `run --fresh` / the script looped over them", warm, looped, PAIRS)

    fewer = _spread(pins, FOUR_RELEASES)
    chosen = [word for known in fewer for word in ("--pin", known.name)]

    def cold() -> None:
        shutil.rmtree(place / "cache", ignore_errors=True)
        ours("run", *chosen, *CHOSEN, variables={cache.VARIABLE: str(place / "cache")})

    def nox(session: str, wanted: Sequence[str | Path]) -> None:
        shutil.rmtree(place / "nox", ignore_errors=True)
        options: list[str | Path] = ["--noxfile", NOXFILE, "--envdir", place / "nox", "--session", session]
        run(sys.executable, "-m", "nox", "--force-python", sys.executable, *options, "--", bare, *wanted)

    locks = [known.lock.path.resolve() for known in fewer]
    releases = [f"langchain=={known.packages['langchain']}" for known in fewer]
    same = f"four cases at {FOUR_RELEASES} releases, the environments built first / nox with its uv backend"
    yield paired(f"{same}, same locks", cold, partial(nox, "locked", locks), COLD)
    yield paired(f"{same}, resolving", cold, partial(nox, "resolved", releases), COLD)


def lines(_: Path) -> Iterator[str]:
    """Yield what an unchanged matrix takes, how the cost grows with the pins, and the memory."""
    everything = ("run", "--pins", "langchain")
    ours(*everything)
    pins, cases = pin.matching("langchain"), case.contained()
    again = median(partial(ours, *everything), PAIRS)
    yield f"The same matrix again, {len(pins)} releases and {len(cases)} cases of which nothing changed: {again:.1f} s."
    eight = [word for known in _spread(pins, EIGHT) for word in ("--pin", known.name)]
    few, many = partial(ours, "run", *eight, *CHOSEN, "--fresh"), partial(ours, *everything, *CHOSEN, "--fresh")
    first = median(few, COLD)
    further = growth(few, many, 1) / (len(pins) - EIGHT)
    yield (
        f"Four cases at {EIGHT} releases: {first:.1f} s, {first / EIGHT:.2f} s each; each of {len(pins) - EIGHT} further "
        f"releases: {further:.2f} s."
    )
    memories = [peak(*everything), peak("run", *eight, "--fresh"), peak(*everything, *CHOSEN, "--fresh")]
    yield (
        f"Peak memory of the orchestrator: {memories[0]:.0f} MiB for the unchanged matrix, {memories[1]:.0f} MiB for all cases at "
        f"{EIGHT} releases, {memories[2]:.0f} MiB for four cases at {len(pins)}."
    )


def _spread(pins: Sequence[Pin], count: int) -> list[Pin]:
    """Return so many pins, evenly spread over all."""
    return [pins[number * (len(pins) - 1) // (count - 1)] for number in range(count)]
