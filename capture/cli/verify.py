"""The command `dispatch-audit verify`."""

from pathlib import Path

import click

from capture.cli.options import format_option, is_run, schema_option
from capture.cli.shown import show_checks
from capture.errors import ExitCode

__all__ = ["command"]


@click.command("verify")
@click.argument("target", metavar="RECORD|SURVEY|FOLDER")
@click.option("--revision", metavar="REVISION", help="The published state of the record.  [default: the latest]")
@format_option("text", "markdown")
@schema_option("verification")
def command(target: str, revision: str | None, form: str) -> int:
    """Check what is published, or a run's folder: digests, schemas, counts, verdicts. Nothing is run."""
    from capture import library, survey, verification
    from capture import record as records
    from capture.check import report

    if is_run(target):
        document = report("verify", None, None, verification.of_run(Path(target)), None)
    elif folder := library.survey_folder(target):
        surveyed = survey.load(folder)
        document = report("verify", surveyed.name, None, survey.verify(surveyed), None)
    else:
        found = records.find(target)
        published = found.revision(revision)
        document = report("verify", found.name, published.name, verification.of_revision(found, published), None)
    show_checks(document, form)
    return ExitCode.FINE if document["held"] else ExitCode.DIFFERENCE
