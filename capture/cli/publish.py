"""The command `dispatch-audit publish`."""

from pathlib import Path

import click

from capture.cli.options import python_option

__all__ = ["command"]


@click.command("publish")
@click.argument("record", metavar="RECORD|SURVEY")
@click.option(
    "--case",
    "cases",
    metavar="CASE",
    multiple=True,
    help="A case's id or a family; repeatable.  [default: those that the statements name, else those of the latest]",
)
@python_option
def command(record: str, cases: tuple[str, ...], python: str | None) -> None:
    """Measure a record and write it as its next revision, or a survey, in the place of the one before.

    The revisions of a record stay as they are.
    """
    from capture import library

    if folder := library.survey_folder(record):
        if cases:
            raise click.UsageError("A survey says itself which cases it is of; --case is for records.")
        click.echo(f"published {_survey(folder, python)}")
    else:
        click.echo(f"published {_record(record, cases, python)}")


def _survey(folder: Path, python: str | None) -> Path:
    from capture import cache, interpreter, runs, survey
    from capture.postgres import Postgres

    found = survey.load(folder)
    interpreted = interpreter.find(python)
    plan = runs.Plan(interpreted, cache.new_run(), fresh=True, postgres=Postgres(interpreted))
    survey.publish(found, runs.run_pins(found.releases(), found.measured, plan))
    return folder


def _record(name: str, cases: tuple[str, ...], python: str | None) -> Path:
    from capture import cache, case, interpreter, publication, reproduction
    from capture import record as records
    from capture.postgres import Postgres

    found = records.find(name)
    suite = case.find(cases or found.named_cases())
    interpreted = interpreter.find(python)
    plan = reproduction.Plan(interpreted, cache.new_run(), postgres=Postgres(interpreted))
    return publication.publish(found, reproduction.measure(found, lambda: suite, plan), suite)
