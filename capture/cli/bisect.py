"""The command `dispatch-audit bisect`."""

from pathlib import Path

import click

from capture.cli.options import format_option, out_option, python_option, schema_option
from capture.cli.shown import bisection_code, show_bisection, show_place

__all__ = ["command"]


@click.command("bisect")
@click.option("--case", "case", metavar="CASE", required=True, help="A case's id, or the path of a TOML file.")
@click.option("--claim", metavar="CLAIM", help="Ask about this claim alone.  [default: all of the case, and its evidence]")
@click.option(
    "--vary",
    type=click.Choice(["langchain", "langgraph", "langchain-core"]),
    default="langchain",
    show_default=True,
    help="The package whose releases are tried.",
)
@click.option("--good", metavar="PIN|VERSION", help="Where the search begins.  [default: the oldest release that answers]")
@click.option("--bad", metavar="PIN|VERSION", help="Where it ends.  [default: the newest release that answers]")
@click.option("--pin", "fixed", metavar="PIN", help="What stays fixed beside langgraph or langchain-core, as langchain==VERSION.")
@python_option
@out_option
@format_option("text", "markdown")
@schema_option("bisection")
def command(
    case: str,
    claim: str | None,
    vary: str,
    good: str | None,
    bad: str | None,
    fixed: str | None,
    python: str | None,
    out: Path | None,
    form: str,
) -> int:
    """Find the first release that changed a case, or one claim of it.

    What counts is that the ends answer differently, not which of them is better. Pins that are not there are made.
    """
    from capture import asked, axis, cache, first_change, interpreter

    wanted, interpreted = asked.of(case, claim), interpreter.find(python)
    releases = axis.of(vary, fixed, good, bad)
    folder = out or cache.new_run()
    found = first_change.find(releases, wanted, interpreted, folder)
    show_bisection(found, form)
    show_place(folder)
    return bisection_code(found)
