"""The command `dispatch-audit pin`."""

from pathlib import Path

import click

from capture.cli.options import python_option
from capture.errors import InputRefused
from capture.render.printable import printable

__all__ = ["command"]


@click.group("pin")
def command() -> None:
    """Make pins, and keep their artifacts."""


@command.command("add")
@click.argument("packages", nargs=-1, required=True, metavar="NAME==VERSION...")
@click.option("--name", help="The pin's name.  [default: langchain-VERSION]")
@click.option(
    "--as-of",
    metavar="TIME",
    help="Take nothing that was uploaded later, a full UTC time.  [default: the release of langchain plus 24 hours]",
)
@click.option(
    "--upstream",
    metavar="NAME==VERSION",
    multiple=True,
    help="Lock the upstream tests too, with this package fixed, such as pytest==9.1.1.",
)
@python_option
def add(packages: tuple[str, ...], name: str | None, as_of: str | None, upstream: tuple[str, ...], python: str | None) -> None:
    """Resolve, lock and describe a pin, and put it among the shipped ones."""
    from capture import draft, interpreter

    wanted = _exact(packages)
    if "langchain" not in wanted:
        raise InputRefused("pin add: no langchain==VERSION among the packages.", "Name the release under audit.")
    tests = _exact(upstream) if upstream else None
    folder = draft.add(name or f"langchain-{wanted['langchain']}", wanted, as_of, tests, interpreter.find(python))
    click.echo(f"made {folder}")


@command.command("fetch")
@click.argument("pin", metavar="PIN")
@click.option("--to", "folder", type=click.Path(path_type=Path, file_okay=False), required=True, help="The wheelhouse, a folder.")
@click.option("--all-platforms", is_flag=True, help="Every file that the locks name, not only those that this Python needs here.")
@python_option
def fetch(pin: str, folder: Path, all_platforms: bool, python: str | None) -> None:
    """Put every artifact of a pin, and of its upstream tests, into a folder; what the registry no longer has is named."""
    from capture import interpreter, wheelhouse
    from capture import pin as pins

    for done in wheelhouse.fetch(pins.find(pin), folder, interpreter.find(python), everything=all_platforms):
        click.echo(printable(done), err=True)
    click.echo(f"{folder} has every artifact of {pin}")


def _exact(requirements: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for requirement in requirements:
        name, is_exact, version = requirement.partition("==")
        if not (is_exact and name and version):
            raise InputRefused(f"pin add: {requirement!a} is not NAME==VERSION.", "Fix the version exactly.")
        found[name] = version
    return found
