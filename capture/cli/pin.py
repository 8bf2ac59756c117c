"""The command `dispatch-audit pin`."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from packaging.utils import canonicalize_name

from capture.cli.listing import show
from capture.cli.options import format_option, python_option, schema_option
from capture.cli.shown import show_checks
from capture.errors import AuditError, ExitCode, InputRefused
from capture.render.printable import printable

if TYPE_CHECKING:
    from capture.order import Order

__all__ = ["command"]


@click.group("pin")
def command() -> None:
    """Make pins, check them against the registry, list them, and keep their artifacts."""


@command.command("add")
@click.argument("packages", nargs=-1, metavar="[NAME==VERSION]...")
@click.option("--new", is_flag=True, help="Make the pin of every stable release from 1.0.0 on that has none.")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="LOCK",
    help="Take the packages of a lock that you have: a requirements file with hashes, or a pylock.toml.",
)
@click.option(
    "--with",
    "beside",
    metavar="NAME==VERSION",
    multiple=True,
    help="Put this version beside the release; of its own pin's lock, what still fits is kept. Repeat it for several.",
)
@click.option("--name", help="The pin's name.  [default: langchain-VERSION, and what differs from the release's own pin]")
@click.option(
    "--as-of",
    metavar="TIME",
    help="Take nothing that was uploaded later, a full UTC time.  [default: the release's upload plus 24 hours]",
)
@click.option(
    "--upstream",
    metavar="NAME==VERSION",
    multiple=True,
    help="Lock the upstream tests too, with this package fixed, such as pytest==9.1.1.",
)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Put it into this folder.  [default: pins, or the cache where this tool is installed]",
)
@python_option
def add(
    packages: tuple[str, ...],
    new: bool,
    source: Path | None,
    beside: tuple[str, ...],
    name: str | None,
    as_of: str | None,
    upstream: tuple[str, ...],
    folder: Path | None,
    python: str | None,
) -> int:
    """Resolve, lock and describe a pin, and put it among the shipped ones."""
    if [bool(packages), new, source is not None].count(True) != 1:
        raise click.UsageError("Give NAME==VERSION, --new, or --from LOCK: one of them.")
    if (new and (name or as_of or upstream or beside)) or (source and beside):
        raise click.UsageError("--new goes with --to and --python alone, and --from not with --with.")
    from capture import draft, interpreter, library

    where = folder or library.new_pins_folder()
    if new:
        return _show_made(draft.add_missing(where, interpreter.find(python)))
    wanted = _order(packages, source, beside, as_of, upstream)
    click.echo(f"made {draft.add(wanted, name, where, interpreter.find(python))}")
    return ExitCode.FINE


@command.command("checkpointers")
@click.argument("pins", nargs=-1, required=True, metavar="PIN...")
def checkpointers(pins: tuple[str, ...]) -> None:
    """Lock what keeps a thread beyond its process beside pins that lack it, as of their time; no package of theirs changes."""
    from capture import draft
    from capture import pin as known

    for found in known.find_all(pins):
        made = draft.add_checkpointers(found)
        click.echo(f"made {made}" if made else f"{found.name}: none of that time go with its packages")


@command.command("check")
@click.argument("pins", nargs=-1, metavar="[PIN]...")
@format_option("text", "markdown")
@schema_option("verification")
def check(pins: tuple[str, ...], form: str) -> int:
    """Prove pins against the registry: hashes, time, digests, yanking.  Without a pin, the shipped ones."""
    from capture import library, proof
    from capture import pin as known
    from capture.check import report

    names = pins or library.names(library.pins_folder(), "pin.toml")
    document = report("pin check", None, None, (done for pin in known.find_all(names) for done in proof.checks(pin)), None)
    show_checks(document, form)
    return ExitCode.FINE if document["held"] else ExitCode.REFUSED


@command.command("list")
@format_option("text")
@schema_option("listing")
def list_all(form: str) -> None:
    """List the pins in the order of their versions, as `dispatch-audit list pins` does."""
    show("pins", form)


@command.command("fetch")
@click.argument("pin", metavar="PIN")
@click.option("--to", "folder", type=click.Path(path_type=Path, file_okay=False), required=True, help="The wheelhouse, a folder.")
@click.option("--all-platforms", is_flag=True, help="Every file that the locks name, not only those that this Python needs here.")
@python_option
def fetch(pin: str, folder: Path, all_platforms: bool, python: str | None) -> None:
    """Put every artifact of a pin, its checkpointers and upstream tests into a folder; what the registry lost is named."""
    from capture import interpreter, wheelhouse
    from capture import pin as pins

    for done in wheelhouse.fetch(pins.find(pin), folder, interpreter.find(python), everything=all_platforms):
        click.echo(printable(done), err=True)
    click.echo(f"{folder} has every artifact of {pin}")


def _order(
    packages: tuple[str, ...], source: Path | None, beside: tuple[str, ...], as_of: str | None, upstream: tuple[str, ...]
) -> "Order":
    from capture import adoption
    from capture.order import AUDITED, Order

    tests = _exact(upstream) if upstream else None
    if source is not None:
        return replace(adoption.order(source, as_of), tests=tests)
    wanted = _exact(packages)
    if AUDITED not in wanted:
        raise InputRefused("pin add: no langchain==VERSION among the packages.", "Name the release under audit.")
    return Order(wanted, _exact(beside), as_of, tests)


def _exact(requirements: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for requirement in requirements:
        name, is_exact, version = requirement.partition("==")
        if not (is_exact and name and version):
            raise InputRefused(f"pin add: {requirement!a} is not NAME==VERSION.", "Fix the version exactly.")
        found[canonicalize_name(name)] = version
    return found


def _show_made(made: Iterable[tuple[str, Path | AuditError]]) -> int:
    """Say what was made and what was not; 5 if anything was not."""
    failed = False
    for name, found in made:
        failed |= isinstance(found, AuditError)
        if isinstance(found, AuditError):
            click.echo(printable(f"{name} was not made: {found.message} {found.hint}"), err=True)
        else:
            click.echo(f"made {found}")
    return ExitCode.ENVIRONMENT if failed else ExitCode.FINE
