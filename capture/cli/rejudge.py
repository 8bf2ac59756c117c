"""The command `dispatch-audit rejudge`."""

from pathlib import Path

import click

from capture.cli.options import format_option, is_run, schema_option
from capture.cli.shown import show_checks
from capture.errors import ExitCode

__all__ = ["command"]


@click.command("rejudge")
@click.argument("target", metavar="RECORD|SURVEY|FOLDER")
@click.option("--revision", metavar="REVISION", help="The published state of the record.  [default: the latest]")
@click.option(
    "--claims",
    type=click.Choice(["recorded", "suite"]),
    default="recorded",
    show_default=True,
    help="Judge by the claims of then, or by those of the suite now.",
)
@format_option("text", "markdown")
@schema_option("verification")
def command(target: str, revision: str | None, claims: str, form: str) -> int:
    """Judge saved evidence again and compare with the results that were saved. Nothing is run."""
    from capture import library, rejudgement
    from capture import record as records

    if is_run(target):
        judged = rejudgement.of_run(Path(target), claims)
    elif folder := library.survey_folder(target):
        judged = rejudgement.of_run(folder, claims)
    else:
        found = records.find(target)
        judged = rejudgement.of_revision(found, found.revision(revision), claims)
    show_checks(judged, form)
    return ExitCode.FINE if judged["held"] else ExitCode.DIFFERENCE
