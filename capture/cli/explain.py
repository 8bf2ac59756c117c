"""The command `dispatch-audit explain`."""

import click

from capture.cli.options import format_option, schema_option
from capture.cli.shown import emit

__all__ = ["command"]


@click.command("explain")
@click.argument("name", metavar="CASE|CLAIM|REASON")
@format_option("text")
@schema_option("explanation")
def command(name: str, form: str) -> None:
    """Say what a case asks, what a claim states and who promised it, or what a reason for UNKNOWN means."""
    from capture import catalogue
    from capture.render import terminal

    explanation = catalogue.explanation(name)
    if form == "json":
        emit(explanation)
    else:
        terminal.facts(explanation)
