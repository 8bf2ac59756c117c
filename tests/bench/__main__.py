"""`make bench`: what a run costs beside a bare script that does the same, and environments beside nox, as ratios.

Each row is measured in pairs, ours and theirs in turn, so that a machine whose speed drifts does not decide. The ratio is the
median of the pairs' ratios. The figures are of whole processes; the installer's cache is warm in every row. The bare script is
what `dispatch-audit explain decisions --script` prints. The table is written to docs/bench.md.
"""

import os
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path

from capture import document
from tests.bench import beyond, many_pins, one_pin

TABLE = Path(__file__).resolve().parents[2] / "docs" / "bench.md"


def main() -> None:
    """Measure, print each figure as it comes, and keep what there is, so that a run that is ended has not been for nothing."""
    kept = []
    for line in _lines():
        print(line, flush=True)
        kept.append(f"{line}\n")
        document.write(TABLE, "".join(kept).encode())


def _lines() -> Iterator[str]:
    yield from _head()
    with tempfile.TemporaryDirectory() as place:
        for part in (one_pin, many_pins):
            yield from part.rows(Path(place))
        for part in (one_pin, beyond, many_pins):
            for line in part.lines(Path(place)):
                yield f"\n{line}"


def _head() -> Iterator[str]:
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, CPython {platform.python_version()}"
    yield "# Bench\n"
    yield "Written by `make bench`, which measures again. Ratios count; seconds are of one machine on one day.\n"
    yield f"{machine}; {one_pin.PAIRS}, {many_pins.PAIRS} or {many_pins.COLD} pairs a row, ours and theirs in turn, medians.\n"
    yield "| what | ours, s | theirs, s | ours / theirs | least and most | times as fast |"
    yield "| --- | --- | --- | --- | --- | --- |"


if __name__ == "__main__":
    main()
