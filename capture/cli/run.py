"""The command `dispatch-audit run`."""

from functools import cache as cache_of
from pathlib import Path

import click

from capture import ahead
from capture.cli.options import format_option, out_option, python_option, schema_option
from capture.cli.shown import exit_code, show_place, show_results

__all__ = ["command"]


@click.command("run")
@click.option(
    "--pin",
    "pins",
    metavar="PIN",
    multiple=True,
    required=True,
    help="A pin's name, the path of its folder, or langchain==VERSION. Repeat it for several.",
)
@click.option(
    "--case",
    "cases",
    metavar="CASE",
    multiple=True,
    help="A case's id, a family, or the path of a TOML file; repeatable.  [default: the suite]",
)
@python_option
@out_option
@format_option("text", "markdown")
@schema_option("results")
def command(pins: tuple[str, ...], cases: tuple[str, ...], python: str | None, out: Path | None, form: str) -> int:
    """Run cases at pins, judge them, and show what ran after each decision."""
    if python is None:
        click.get_current_context().call_on_close(ahead.end)
        ahead.start(pins[0])
    from capture import cache, case, demand, interpreter, runs

    interpreted = interpreter.find(python)
    chosen = demand.find_all(pins, interpreted)
    suite = cache_of(lambda: case.find(cases) if cases else case.all_cases())
    run = runs.run_pins(chosen, suite, interpreted, out or cache.new_run())
    show_results(run.results, form)
    show_place(run.folder)
    return exit_code(run.results)
