"""Options that several commands share, and the way in which a document is shown."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from capture import document

__all__ = [
    "Remembering",
    "accept_option",
    "case_option",
    "format_option",
    "is_run",
    "out_option",
    "plan_options",
    "python_option",
    "schema_option",
]

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


class Remembering(click.Command):
    """A command that remembers its arguments, for an option that depends on another one wherever that stands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments, then parse them."""
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)


_ARGUMENTS = "capture.arguments"


def schema_option(name: str, choose: Callable[[Sequence[str]], str] | None = None) -> Callable[[Command], Command]:
    """Return the option `--schema`, which prints the schema of the command's JSON and ends.

    Where that depends on other options, on a command that is `Remembering`, `choose` names it by those that are given.
    """

    def show(context: click.Context, _: click.Parameter, asked: bool) -> None:
        if asked and not context.resilient_parsing:
            given = [argument.partition("=")[0] for argument in context.meta.get(_ARGUMENTS, ())]
            click.echo(document.canonical(document.schema(choose(given) if choose else name)), nl=False)
            context.exit()

    return click.option(
        "--schema",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Print the JSON Schema of the JSON output and end.",
    )


def case_option(default: str) -> Callable[[Command], Command]:
    """Return the option `--case`, with what is run without it."""
    return click.option(
        "--case",
        "cases",
        metavar="CASE",
        multiple=True,
        help=f"A case's id, a family, or the path of a TOML file; repeatable.  [default: {default}]",
    )


accept_option = click.option(
    "--accept",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A TOML file of FAILs that are accepted, each with its reason.",
)

python_option = click.option(
    "--python",
    "python",
    metavar="PYTHON",
    help="The Python of the environments: a path, or a version that is installed.  [default: the one that runs this]",
)


def plan_options(command: Command) -> Command:
    """Add the options that say by whom several pins are observed, and whether afresh."""
    for option in reversed(_PLAN):
        command = option(command)
    return command


_PLAN = (
    click.option(
        "--jobs",
        type=click.IntRange(1),
        default=lambda: os.cpu_count() or 1,
        show_default="one a core",
        metavar="NUMBER",
        help="How many of several pins are observed at once.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Have the workers of a Dask cluster observe them, such as tcp://host:8786; needs the extra `cluster`.",
    ),
    click.option("--fresh", is_flag=True, help="Run every case, also where an earlier run saw it in the very same environment."),
)


def _database(_: click.Context, __: click.Parameter, address: str | None) -> str | None:
    """Refuse what is no address of a PostgreSQL server, without repeating it: it may hold a password."""
    if address is None:
        return None
    if not re.match(r"postgres(ql)?://", address) and not re.match(r"\w+\s*=", address):
        raise click.BadParameter("it is no address of a PostgreSQL server; give one such as postgresql://user@host/db.")
    if "://" in address and re.search(r"%(?![0-9A-Fa-f]{2})", address):
        raise click.BadParameter("a % in it is not followed by two hexadecimal digits; write a percent sign itself as %25.")
    return address


postgres_option = click.option(
    "--postgres",
    callback=_database,
    metavar="URL",
    help="The PostgreSQL server for the cases that need one, such as postgresql://user@host/db.  [default: one of our own]",
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
