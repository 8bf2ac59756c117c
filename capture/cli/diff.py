"""The command `dispatch-audit diff`."""

from pathlib import Path

import click

from capture import ahead
from capture.cli.options import accept_option, case_option, format_option, out_option, python_option, schema_option
from capture.cli.shown import difference_code, show_difference, show_place

__all__ = ["command"]


@click.command("diff")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@case_option("those that were saved on the other side, else the suite")
@accept_option
@python_option
@out_option
@format_option("text", "markdown")
@schema_option("difference")
def command(
    before: str, after: str, cases: tuple[str, ...], accept: Path | None, python: str | None, out: Path | None, form: str
) -> int:
    """Say what changed from A to B, case by case and claim by claim.

    Each is a results.json, the folder of a run as ./FOLDER, or a pin or a lock (requirements.txt with hashes, pylock.toml), at
    which the cases are then run.
    """
    if python is None:
        click.get_current_context().call_on_close(ahead.end)
        ahead.start(before)
    from capture import acceptance, baseline, cache, interpreter, sides
    from capture.diff import diff

    accepted = acceptance.read(accept) if accept else None
    found = sides.of((before, after), cases, lambda: interpreter.find(python), lambda: out or cache.new_run())
    pair = (found.before, found.after)
    difference = diff(*pair) if accepted is None else baseline.accepting(*pair, accepted)
    show_difference(difference, form)
    if found.folder:
        show_place(found.folder)
    return difference_code(difference)
