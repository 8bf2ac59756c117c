"""The command `dispatch-audit reproduce`."""

from functools import cache as cache_of
from pathlib import Path

import click

from capture import ahead, library
from capture.cli.options import format_option, out_option, postgres_option, python_option, schema_option
from capture.cli.shown import show_checks, show_place
from capture.document import Document
from capture.errors import ExitCode

__all__ = ["command"]


@click.command("reproduce")
@click.argument("record", metavar="RECORD|SURVEY")
@click.option("--revision", metavar="REVISION", help="The published state to compare with.  [default: the latest]")
@click.option("--skip-upstream", is_flag=True, help="Leave out the upstream tests; the outcome says so.")
@click.option(
    "--wheelhouse",
    type=click.Path(path_type=Path),
    help="Take every package from this folder alone, which `pin fetch` fills, and ask no registry.",
)
@click.option(
    "--archive",
    metavar="FILE|URL",
    help="Run from the source archive of the record's commit, with its own lock, in place of wheels.",
)
@python_option
@postgres_option
@out_option
@format_option("text", "markdown", "junit")
@schema_option("verification")
def command(
    record: str,
    revision: str | None,
    skip_upstream: bool,
    wheelhouse: Path | None,
    archive: str | None,
    python: str | None,
    postgres: str | None,
    out: Path | None,
    form: str,
) -> int:
    """Run a published record or survey again, judge it again, and compare every byte with what was published."""
    if archive is not None and wheelhouse is not None:
        raise click.UsageError("--archive and --wheelhouse are two ways; give one of them.")
    if folder := library.survey_folder(record):
        if revision or skip_upstream or wheelhouse or archive:
            raise click.UsageError("A survey has no revisions and no upstream tests, and comes from the locks of its pins.")
        return _survey(folder, python, out, postgres, form)
    if python is None and archive is None:
        click.get_current_context().call_on_close(ahead.end)
        ahead.start_for(record)
    from capture import cache, interpreter, reproduction
    from capture import record as records
    from capture.check import report
    from capture.postgres import Postgres

    found = records.find(record)
    published = found.revision(revision)
    interpreted = interpreter.find(python)
    server = Postgres(interpreted, postgres)
    plan = reproduction.Plan(interpreted, out or cache.new_run(), not skip_upstream, wheelhouse, archive, server)
    measured = reproduction.measure(found, cache_of(published.suite), plan)
    checks = reproduction.compare(found, published, measured)
    document = report("reproduce", found.name, published.name, checks, measured.results)
    show_checks(document, form)
    show_place(plan.folder)
    return _exit(document, measured.results)


def _survey(folder: Path, python: str | None, out: Path | None, postgres: str | None, form: str) -> int:
    from capture import cache, interpreter, runs, survey
    from capture.check import report
    from capture.postgres import Postgres

    surveyed = survey.load(folder)
    interpreted = interpreter.find(python)
    plan = runs.Plan(interpreted, out or cache.new_run(), fresh=True, postgres=Postgres(interpreted, postgres))
    measured = runs.run_pins(surveyed.pins(), cache_of(surveyed.suite), plan)
    document = report("reproduce", surveyed.name, None, survey.compare(surveyed, measured), measured.results)
    show_checks(document, form)
    show_place(plan.folder)
    return _exit(document, measured.results)


def _exit(document: Document, measured: Document) -> int:
    """Return 0 if everything held, 3 if a limit of this machine stood in the way, else 1."""
    from capture import reproduction

    if document["held"]:
        return ExitCode.FINE
    return ExitCode.UNKNOWN if reproduction.limited(measured) else ExitCode.DIFFERENCE
