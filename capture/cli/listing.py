"""The command `dispatch-audit list`."""

import click

from capture.cli.options import format_option, schema_option
from capture.cli.shown import emit

__all__ = ["command"]


@click.command("list")
@click.argument("what", type=click.Choice(["cases", "claims", "triggers", "pins", "reasons", "records"]))
@format_option("text")
@schema_option("listing")
def command(what: str, form: str) -> None:
    """List the cases, the claims, the triggers, the pins, the reasons for UNKNOWN, or the records that there are."""
    from capture import catalogue
    from capture.render import terminal

    listing = catalogue.listing(what)
    if form == "json":
        emit(listing)
    else:
        terminal.pairs(what, [(item["id"], item["says"]) for item in listing["items"]])
