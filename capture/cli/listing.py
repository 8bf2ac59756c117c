"""The command `dispatch-audit list`."""

import click

from capture.cli.options import format_option, schema_option
from capture.cli.shown import emit
from capture.document import Document

__all__ = ["command", "show"]


@click.command("list")
@click.argument("what", type=click.Choice(["cases", "claims", "triggers", "pins", "reasons", "records"]))
@format_option("text")
@schema_option("listing")
def command(what: str, form: str) -> None:
    """List the cases, the claims, the triggers, the pins, the reasons for UNKNOWN, or the records that there are."""
    show(what, form)


def show(what: str, form: str) -> None:
    """Show what there is of a kind; a pin of a release that was yanked says so."""
    from capture import catalogue
    from capture.render import terminal

    listing = catalogue.listing(what)
    if form == "json":
        emit(listing)
    else:
        terminal.pairs(what, [(item["id"], _says(item)) for item in listing["items"]])


def _says(item: Document) -> str:
    return f"{item['says']} (yanked: {item['yanked']})" if "yanked" in item else str(item["says"])
