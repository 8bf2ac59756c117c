"""The command `dispatch-audit run`."""

from collections.abc import Sequence
from functools import cache as cache_of
from pathlib import Path
from typing import TYPE_CHECKING

import click

from capture import ahead
from capture.cli.options import (
    Remembering,
    accept_option,
    case_option,
    format_option,
    out_option,
    plan_options,
    postgres_option,
    python_option,
    schema_option,
)
from capture.cli.shown import difference_code, exit_code, show_accepted, show_difference, show_place, show_results
from capture.document import Document

if TYPE_CHECKING:
    from capture.acceptance import Accepted

__all__ = ["command"]


def _schema(options: Sequence[str]) -> str:
    """Return the name of the schema of what is printed with these options."""
    if "--against" in options:
        return "difference"
    return "matrix" if "--pins" in options or options.count("--pin") > 1 else "results"


@click.command("run", cls=Remembering)
@click.option(
    "--pin",
    "pins",
    metavar="PIN",
    multiple=True,
    help="A pin's name, the path of its folder, langchain==VERSION, or a lock, such as ./requirements.txt; repeatable.",
)
@click.option(
    "--pins",
    "ranges",
    metavar="RANGE",
    multiple=True,
    help="The pins of all releases in a range, such as langchain>=1.2; langchain alone is every release.",
)
@case_option("the suite, but for the cases that go beyond one process: restart, crash, sender, concurrency")
@click.option(
    "--against",
    metavar="RESULTS|FOLDER",
    help="Compare with a results.json or the folder of a run, and show the difference: what is known there breaks no build.",
)
@accept_option
@python_option
@postgres_option
@plan_options
@out_option
@format_option("text", "markdown", "junit")
@schema_option("results", _schema)
def command(
    pins: tuple[str, ...],
    ranges: tuple[str, ...],
    cases: tuple[str, ...],
    against: str | None,
    accept: Path | None,
    python: str | None,
    postgres: str | None,
    jobs: int,
    scheduler: str | None,
    fresh: bool,
    out: Path | None,
    form: str,
) -> int:
    """Run cases at pins, judge them, and show what ran after each decision.

    At one pin the cases are always run. At several, what earlier runs saw is taken as they kept it, unless --fresh is given.
    """
    if not pins and not ranges:
        raise click.UsageError("name a pin with --pin, or the releases of a range with --pins.")
    if against is not None and form == "junit":
        raise click.UsageError("--format junit shows verdicts, and --against what changed; give one of them.")
    if python is None and scheduler is None and (fresh or (len(pins) == 1 and not ranges)):
        click.get_current_context().call_on_close(ahead.end)
        for name in pins[:jobs]:
            ahead.start(name)
    from capture import acceptance, cache, case, demand, interpreter, runs, workers
    from capture.postgres import Postgres

    interpreted = interpreter.find(python)
    chosen = demand.find_all(pins, interpreted, ranges)
    known = None if against is None else _baseline(against, [found.name for found in chosen], cases)
    accepted = acceptance.read(accept) if accept else ()
    suite = cache_of(lambda: case.find(cases) if cases else case.contained())
    server = Postgres(interpreted, postgres)
    plan = runs.Plan(interpreted, out or cache.new_run(), workers.Workers(jobs, scheduler), fresh or len(chosen) == 1, server)
    run = runs.run_pins(chosen, suite, plan)
    code = _compare(known, run.results, accepted, form) if known else _show(run.results, accepted, form)
    show_place(run.folder)
    return code


def _baseline(target: str, pins: list[str], cases: tuple[str, ...]) -> Document:
    from capture import baseline, case, sides

    chosen = {known.id for known in case.find(cases)} if cases else None
    return baseline.fitting(sides.read(target), pins, chosen, target)


def _compare(known: Document, measured: Document, accepted: "Sequence[Accepted]", form: str) -> int:
    from capture import baseline

    found = baseline.against(known, measured, accepted)
    show_difference(found, form)
    return difference_code(found)


def _show(measured: Document, accepted: "Sequence[Accepted]", form: str) -> int:
    from capture import acceptance

    show_results(measured, form)
    if accepted:
        show_accepted(acceptance.report(accepted, measured), form)
    return exit_code(acceptance.left(accepted, measured))
