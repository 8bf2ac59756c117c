"""The command `dispatch-audit report`."""

from pathlib import Path

import click

from capture.render.printable import printable

__all__ = ["command"]


@click.command("report")
@click.argument("target", metavar="RESULTS|FOLDER")
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default=Path("report.html"),
    show_default=True,
    help="Write the page here; - is standard output.",
)
def command(target: str, out: Path) -> None:
    """Write results as one HTML page that needs no network: what each release answers, and how each call went. Nothing is run."""
    from capture import case, document, sides
    from capture.render.report import page

    results = sides.read(target)
    sources = {(known.id, known.digest): known.scenario["sources"] for known in case.all_cases()}
    data = page(results, sources, _digest(Path(target))).encode()
    if str(out) == "-":
        click.echo(data, nl=False)
        return
    document.write(out, data)
    click.echo(f"saved in {printable(str(out))}", err=True)


def _digest(path: Path) -> str:
    """Return the SHA-256 of the results file that was given, or that lies in the folder that was given: what a person cites."""
    from capture import document

    return document.digest(document.read(path / "results.json" if path.is_dir() else path))
