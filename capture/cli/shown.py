"""How documents are shown: as JSON in their canonical bytes, or by a renderer."""

import sys
from contextlib import suppress
from pathlib import Path

import click

from capture import document
from capture.document import Document
from capture.errors import ExitCode
from capture.render.printable import printable

__all__ = ["emit", "exit_code", "show_checks", "show_place", "show_results"]


def emit(value: Document) -> None:
    """Write a document in its canonical bytes to standard output; at a terminal, with what is not ASCII escaped."""
    _write(document.canonical(value))


def _write(data: bytes) -> None:
    click.echo(document.escaped(data) if sys.stdout and sys.stdout.isatty() else data, nl=False)


def show_results(results: Document, form: str, saved: Path) -> None:
    """Show results in a format; as JSON they are the bytes that were `saved`."""
    from capture.render import markdown, terminal

    if form == "json":
        _write(document.read(saved))
    elif form == "markdown":
        click.echo(markdown.results(results), nl=False)
    else:
        terminal.results(results)


def show_checks(checked: Document, form: str) -> None:
    """Show what was checked, and the results that it is about, in a format."""
    from capture.render import markdown, terminal

    if form == "json":
        emit(checked)
    elif form == "markdown":
        click.echo(markdown.checks(checked), nl=False)
    else:
        terminal.checks(checked)


def show_place(folder: Path) -> None:
    """Say where a run was saved, in the form in which `verify` and `rejudge` take it."""
    shown = str(folder) if folder.is_absolute() else f"./{folder}"
    with suppress(OSError):
        click.echo(f"saved in {printable(shown)}", err=True)


def exit_code(results: Document) -> int:
    """Return 1 if anything is FAIL, else 3 if anything is UNKNOWN, else 0."""
    if results["counts"]["FAIL"]:
        return ExitCode.DIFFERENCE
    return ExitCode.UNKNOWN if results["counts"]["UNKNOWN"] else ExitCode.FINE
