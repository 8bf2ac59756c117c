"""The generated parts of README.md and of docs/pictures, called by cog; `make check` fails if they are not as generated."""

import re

import click

from capture import document, record, results
from capture.cli import commands
from capture.document import Document
from capture.render import lanes, markdown
from capture.render.cells import COLUMNS, row
from capture.render.printable import code


def _published() -> Document:
    path = record.find("i05").revision(None).file("results")
    return results.read(document.read(path), str(path))


def table() -> str:
    """Return the table of the latest revision of I05."""
    cells = map(row, _published()["pins"][0]["cases"])
    return markdown.table(COLUMNS, ([code(found[0]), *map(markdown.text, found[1:])] for found in cells))


def _cited() -> str:
    revision = record.find("i05").revision(None)
    return f"record i05, revision {revision.name}, results.json sha256:{revision.digests['results']}"


def digest() -> str:
    """Return the line that cites the latest revision of I05, as a block of Markdown."""
    return f"```text\n{_cited()}\n```\n"


def citation() -> str:
    """Return the line that cites the latest revision of I05, as a comment."""
    return f"# {_cited()}\n"


def picture(case: str) -> str:
    """Return the picture of a case of the latest revision of I05."""
    return lanes.picture(next(found for found in _published()["pins"][0]["cases"] if found["case"] == case))


def limits() -> str:
    """Return the limits of the record I05 as a list."""
    return "".join(f"- {markdown.text(limit)}\n" for limit in record.find("i05").data["limits"])


def usage(*names: str) -> str:
    """Return the help of a command, or of the whole command line, as it prints it."""
    context = click.Context(commands, info_name="dispatch-audit", max_content_width=110, terminal_width=110)
    command: click.Command = commands
    for name in names:
        found = commands.get_command(context, name)
        if found is None:
            raise LookupError(name)
        command = found
        context = click.Context(found, info_name=name, parent=context, max_content_width=110, terminal_width=110)
    text = re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.MULTILINE)
    return f"```text\n{text}\n```\n"
