"""How documents are shown: as JSON in their canonical bytes, or by a renderer."""

import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

import click

from capture import document
from capture.document import Document
from capture.errors import ExitCode
from capture.render.printable import printable

__all__ = [
    "bisection_code",
    "difference_code",
    "emit",
    "exit_code",
    "show_accepted",
    "show_bisection",
    "show_checks",
    "show_difference",
    "show_place",
    "show_results",
    "show_transitions",
]


def emit(value: Document) -> None:
    """Write a document in its canonical bytes to standard output; at a terminal, with what is not ASCII escaped."""
    data = document.canonical(value)
    click.echo(document.escaped(data) if sys.stdout and sys.stdout.isatty() else data, nl=False)


def show_results(results: Document, form: str) -> None:
    """Show results in a format; as JSON, those of several pins in their compact form."""
    from capture.results import packed

    _show("results", packed(results) if form == "json" else results, form)


def show_checks(checked: Document, form: str) -> None:
    """Show what was checked, and the results that it is about, in a format; those of several pins compact as JSON."""
    from capture.results import packed

    about = checked["results"]
    _show("checks", {**checked, "results": packed(about)} if form == "json" and about else checked, form)


def show_difference(found: Document, form: str) -> None:
    """Show what became of cases and claims between two results, in a format."""
    _show("difference", found, form)


def show_transitions(found: Document, form: str) -> None:
    """Show since which pin each case and claim has which verdict, in a format."""
    _show("transitions", found, form)


def show_bisection(found: Document, form: str) -> None:
    """Show where an answer changed, in a format."""
    _show("bisection", found, form)


def show_accepted(found: Sequence[Document], form: str) -> None:
    """Show what became of accepted FAILs: below text or Markdown, else beside it, on standard error."""
    from capture.render import markdown, terminal

    if form == "markdown":
        click.echo(f"\n{markdown.accepted(found)}", nl=False)
    elif form == "text":
        terminal.accepted(found)
    else:
        with suppress(OSError):
            for entry in found:
                click.echo(printable(f"accepted: {entry['case']}, {entry['claim']}: {entry['stands']}"), err=True)


def _show(what: str, value: Document, form: str) -> None:
    """Show a document by the renderer of a format; each format is a module, and each kind of document a function in it."""
    from capture.render import junit, markdown, terminal

    if form == "json":
        emit(value)
    elif form == "text":
        getattr(terminal, what)(value)
    else:
        click.echo(getattr(markdown if form == "markdown" else junit, what)(value), nl=False)


def show_place(folder: Path) -> None:
    """Say where a run was saved, in the form in which `verify` and `rejudge` take it."""
    shown = str(folder) if folder.is_absolute() else f"./{folder}"
    with suppress(OSError):
        click.echo(f"saved in {printable(shown)}", err=True)


def exit_code(verdicts: Collection[str]) -> int:
    """Return 1 if anything is FAIL, else 3 if anything is UNKNOWN, else 0."""
    if "FAIL" in verdicts:
        return ExitCode.DIFFERENCE
    return ExitCode.UNKNOWN if "UNKNOWN" in verdicts else ExitCode.FINE


def difference_code(found: Document) -> int:
    """Return 1 if something changed, 3 if nobody can say whether it did, else 0."""
    return {"changed": ExitCode.DIFFERENCE, "not known": ExitCode.UNKNOWN}.get(found["answer"], ExitCode.FINE)


def bisection_code(found: Document) -> int:
    """Return 1 if the release of a change was found, 0 if the ends answer the same, 3 if only less than that is known."""
    return {"changed": ExitCode.DIFFERENCE, "unchanged": ExitCode.FINE}.get(found["answer"], ExitCode.UNKNOWN)
