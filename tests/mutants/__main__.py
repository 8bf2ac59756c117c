"""`python -m tests.mutants`: run the judge's tests against its mutants, and say which survived without an explanation."""

import argparse
import json
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

import hypothesis
import pytest

from tests.mutants.engine import KILLED, TIMED_OUT, Engine
from tests.mutants.operators import Mutant, mutants

ROOT = Path(__file__).parents[2]

JUDGE = ("authority", "question", "exchange", "verdict", "results", "claims/*")

TESTS = (
    "trigger",
    "question",
    "authority",
    "messages",
    "doctored",
    "verdict",
    "completeness",
    "properties",
    "judged",
    "mutants",
    "ids",
    "compact",
    "exchange",
    "claims",
    "own_claims",
    "beyond_claims",
)

ENOUGH = 95


def main() -> int:
    """Run what the arguments name, print a summary, and return 1 if too much survives or something survives unexplained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", default=JUDGE, help="modules of capture, such as authority or claims/core")
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants at a time")
    parser.add_argument("--only", default=[""], nargs="+", help="only mutants with one of these texts in their name")
    parser.add_argument("--tests", default=TESTS, nargs="+", help="the tests to run, such as authority or mutants")
    parser.add_argument("--every", type=int, default=1, help="take only every n-th mutant, as a sample")
    parser.add_argument("--json", type=Path, help="write each mutant and what became of it into this file")
    chosen = parser.parse_args()
    found = [mutant for mutant in _mutants(chosen.modules) if any(text in mutant.name for text in chosen.only)][:: chosen.every]
    engine = Engine(found, chosen.jobs, _say)
    start = time.monotonic()
    _run(engine, chosen.tests)
    if chosen.json:
        chosen.json.write_text(json.dumps(engine.results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    _say(f"{time.monotonic() - start:.0f} seconds")
    return _summary(engine.results, complete=chosen.modules == JUDGE and chosen.every == 1 and chosen.only == [""])


def _mutants(modules: list[str]) -> list[Mutant]:
    paths = [path for name in modules for path in sorted((ROOT / "capture").glob(f"{name}.py"))]
    return [mutant for path in paths for mutant in mutants(path, path.relative_to(ROOT).as_posix())]


def _run(engine: Engine, chosen: Sequence[str]) -> None:
    # Which example fails first is enough: nobody reads it, so it need not be made small.
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile("mutants", phases=phases, database=None)
    hypothesis.settings.load_profile("mutants")
    tests = [str(path) for path in (ROOT / "tests" / f"test_{name}.py" for name in chosen) if path.is_file()]
    options = [
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:terminal",
        "-o",
        "timeout=0",
        "-o",
        "addopts=",
        "-o",
        "filterwarnings=default",
    ]
    pytest.main([*options, "--rootdir", str(ROOT), *tests], plugins=[engine])


def _summary(results: dict[str, str], *, complete: bool) -> int:
    explained = tomllib.loads((Path(__file__).parent / "explained.toml").read_text(encoding="utf-8"))
    reasons = {name: reason["why"] for reason in explained["reason"] for name in reason["mutants"]}
    survived = [name for name, result in results.items() if result not in (KILLED, TIMED_OUT)]
    open_ones = [name for name in survived if name not in reasons]
    stale = [name for name in reasons if name not in survived] if complete else []
    timed = sum(result == TIMED_OUT for result in results.values())
    share = 100 * (len(results) - len(survived)) / max(1, len(results))
    _say(f"{len(results)} mutants: {len(results) - len(survived)} killed, {timed} of them by time; {len(survived)} survived")
    _say(f"{share:.1f} % killed; {len(survived) - len(open_ones)} of those that survived are explained, {len(open_ones)} are not")
    for name in open_ones:
        _say(f"not explained: {name}")
    for name in stale:
        _say(f"explained, but it does not survive or is not there: {name}")
    return int(share < ENOUGH or bool(open_ones) or bool(stale))


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
