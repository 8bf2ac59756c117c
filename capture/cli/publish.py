"""The command `dispatch-audit publish`."""

import click

from capture.cli.options import python_option

__all__ = ["command"]


@click.command("publish")
@click.argument("record")
@click.option(
    "--case",
    "cases",
    metavar="CASE",
    multiple=True,
    help="A case's id or a family; repeatable.  [default: those that the statements name, else those of the latest]",
)
@python_option
def command(record: str, cases: tuple[str, ...], python: str | None) -> None:
    """Measure a record and write it as its next revision. What is published already stays as it is."""
    from capture import cache, case, interpreter, publication, reproduction
    from capture import record as records

    found = records.find(record)
    suite = case.find(cases or found.named_cases())
    plan = reproduction.Plan(interpreter.find(python), cache.new_run())
    measured = reproduction.measure(found, lambda: suite, plan)
    click.echo(f"published {publication.publish(found, measured, suite)}")
