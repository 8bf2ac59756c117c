"""The command `dispatch-audit diff`."""

from pathlib import Path

import click

from capture import ahead
from capture.cli.options import case_option, format_option, out_option, python_option, schema_option
from capture.cli.shown import difference_code, show_difference, show_place

__all__ = ["command"]


@click.command("diff")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@case_option("those that were saved on the other side, else the suite")
@python_option
@out_option
@format_option("text", "markdown")
@schema_option("difference")
def command(before: str, after: str, cases: tuple[str, ...], python: str | None, out: Path | None, form: str) -> int:
    """Say what changed from A to B, case by case and claim by claim.

    Each is a results.json, the folder of a run as ./FOLDER, or a pin, at which the cases are then run.
    """
    if python is None:
        click.get_current_context().call_on_close(ahead.end)
        ahead.start(before)
    from capture import cache, interpreter, sides
    from capture.diff import diff

    found = sides.of((before, after), cases, lambda: interpreter.find(python), lambda: out or cache.new_run())
    difference = diff(found.before, found.after)
    show_difference(difference, form)
    if found.folder:
        show_place(found.folder)
    return difference_code(difference)
