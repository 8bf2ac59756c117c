"""The command `dispatch-audit explain`."""

import click

from capture.cli.options import format_option, schema_option
from capture.cli.shown import emit

__all__ = ["command"]


@click.command("explain")
@click.argument("name", metavar="CASE|CLAIM|REASON")
@click.option("--script", is_flag=True, help="Print a case as one plain Python script that needs only the packages under audit.")
@format_option("text")
@schema_option("explanation")
def command(name: str, script: bool, form: str) -> None:
    """Say what a case asks, what a claim states and who promised it, or what a reason for UNKNOWN means."""
    from capture import case, catalogue
    from capture.render import terminal
    from capture.render.script import script as script_of

    if script:
        click.echo(script_of(case.find([name])), nl=False)
        return
    explanation = catalogue.explanation(name)
    if form == "json":
        emit(explanation)
    else:
        terminal.facts(explanation)
