"""What it costs that cases go beyond one process: a restart beside the import that it cannot do without, and the server."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from capture import case, environment, interpreter, pin
from capture.postgres import Postgres
from tests.bench.measure import growth, median, ours, run
from tests.bench.one_pin import NEWEST

__all__ = ["lines"]

FEW = 3


def lines(_: Path) -> Iterator[str]:
    """Yield what a case with one restart takes beside one import of langchain, and what the server's start takes."""
    newest, python = pin.find(NEWEST), interpreter.find(None)
    if newest.checkpointers is None:
        raise RuntimeError(f"{NEWEST} has no checkpointers")
    warm = environment.ensure(newest.checkpointers, python).python
    cases = [known.id for known in case.find(["restart"]) if known.id.endswith("@sqlite")]

    def recorded(names: list[str]) -> None:
        ours("run", "--pin", NEWEST, *(word for name in names for word in ("--case", name)))

    imports = median(partial(run, warm, "-I", "-c", "import langchain.agents.middleware"), FEW)
    further = growth(partial(recorded, cases[:2]), partial(recorded, cases), FEW) / (len(cases) - 2)
    yield (
        f"Each of {len(cases) - 2} further cases with a restart, two at once: {further:.2f} s; importing langchain alone, one at "
        f"once: {imports:.2f} s."
    )
    yield f"The server of our own, once a run: {median(lambda: _served(python), FEW):.2f} s from nothing to its end."


def _served(python: interpreter.Interpreter) -> None:
    with Postgres(python) as server:
        server.address()
