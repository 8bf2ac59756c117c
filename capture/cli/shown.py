"""How documents are shown: as JSON in their canonical bytes, or by a renderer."""

import sys

import click

from capture import document
from capture.document import Document
from capture.errors import ExitCode

__all__ = ["emit", "exit_code", "show_checks", "show_results"]


def emit(value: Document) -> None:
    """Write a document in its canonical bytes to standard output; at a terminal, with what is not ASCII escaped."""
    data = document.canonical(value)
    click.echo(document.escaped(data) if sys.stdout.isatty() else data, nl=False)


def show_results(results: Document, form: str) -> None:
    """Show results in a format."""
    from capture.render import markdown, terminal

    if form == "json":
        emit(results)
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


def exit_code(results: Document) -> int:
    """Return 1 if anything is FAIL, else 3 if anything is UNKNOWN, else 0."""
    if results["counts"]["FAIL"]:
        return ExitCode.DIFFERENCE
    return ExitCode.UNKNOWN if results["counts"]["UNKNOWN"] else ExitCode.FINE
