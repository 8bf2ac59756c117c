"""The command `dispatch-audit transitions`."""

import click

from capture.cli.options import format_option, schema_option
from capture.cli.shown import show_transitions

__all__ = ["command"]


@click.command("transitions")
@click.argument("target", metavar="RESULTS|FOLDER")
@format_option("text", "markdown")
@schema_option("transitions")
def command(target: str, form: str) -> None:
    """Say since which pin each case and claim has which verdict, over the pins of a run in their order. Nothing is run."""
    from capture import sides
    from capture.transitions import transitions

    show_transitions(transitions(sides.read(target)), form)
