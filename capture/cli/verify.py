"""The command `dispatch-audit verify`."""

from pathlib import Path

import click

from capture.cli.options import format_option, schema_option
from capture.cli.shown import show_checks
from capture.errors import ExitCode

__all__ = ["command"]


@click.command("verify")
@click.argument("target", metavar="RECORD|FOLDER")
@click.option("--revision", metavar="REVISION", help="The published state of the record.  [default: the latest]")
@format_option("text", "markdown")
@schema_option("verification")
def command(target: str, revision: str | None, form: str) -> int:
    """Check what is published, or a run's folder: digests, schemas, counts. Nothing is run."""
    from capture import record as records
    from capture import reproduction

    if (Path(target) / "run.json").is_file():
        checks = list(reproduction.verify_run(Path(target)))
        document = reproduction.document_of("verify", None, None, checks, None)
    else:
        found = records.find(target)
        published = found.revision(revision)
        checks = list(reproduction.verify(found, published))
        document = reproduction.document_of("verify", found.name, published.name, checks, None)
    show_checks(document, form)
    return ExitCode.FINE if document["held"] else ExitCode.DIFFERENCE
