"""Options that several commands share, and the way in which a document is shown."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from capture import document

__all__ = ["format_option", "is_run", "out_option", "python_option", "schema_option"]

Command = Callable[..., Any]


def format_option(*formats: str) -> Callable[[Command], Command]:
    """Return the option `--format`: the first of the formats at a terminal, JSON when piped."""

    def default() -> str:
        return formats[0] if sys.stdout and sys.stdout.isatty() else "json"

    shown = f"{formats[0]} at a terminal, json when piped"
    return click.option(
        "--format",
        "form",
        type=click.Choice([*formats, "json"]),
        default=default,
        show_default=shown,
        help="How to show the outcome.",
    )


def schema_option(name: str) -> Callable[[Command], Command]:
    """Return the option `--schema`, which prints the schema of the command's JSON and ends."""

    def show(context: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked and not context.resilient_parsing:
            click.echo(document.canonical(document.schema(name)), nl=False)
            context.exit()

    return click.option(
        "--schema",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Print the JSON Schema of the JSON output and end.",
    )


python_option = click.option(
    "--python",
    "python",
    metavar="PYTHON",
    help="The Python of the environments: a path, or a version that is installed.  [default: the one that runs this]",
)


def _named(_: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and str(value) == ".":
        raise click.BadParameter("name a folder, not the one here.", param=option)
    return value


out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    callback=_named,
    help="Save the run here.  [default: a folder of its own in the cache]",
)


def is_run(target: str) -> bool:
    """Tell whether an argument names the folder of a run; a name without a separator is a record's, whatever lies here."""
    from capture import run_folder

    return "/" in target and run_folder.is_run(Path(target))
