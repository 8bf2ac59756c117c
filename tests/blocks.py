"""The generated parts of README.md and of docs/pictures, called by cog; `make check` fails if they are not as generated."""

import re
from collections import Counter

import click

from capture import document, library, record, results, survey
from capture.case import all_cases
from capture.claims import CLAIMS
from capture.cli import commands
from capture.document import Document
from capture.render import lanes, markdown, releases, side_by_side
from capture.render.cells import COLUMNS, row, status
from capture.render.printable import code


def _published(name: str = "i05") -> Document:
    path = record.find(name).revision(None).file("results")
    return results.read(document.read(path), str(path))


def table() -> str:
    """Return the table of the latest revision of I05."""
    cells = map(row, _published()["pins"][0]["cases"])
    return markdown.table(COLUMNS, ([code(found[0]), *map(markdown.text, found[1:])] for found in cells))


def broken() -> str:
    """Return what does not hold at the pins of the other records, in the claims' own words; what varies alike is one row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for name in record.all_names():
        for pin in _published(name)["pins"] if name != "i05" else ():
            for found in pin["cases"]:
                if found["verdict"] != "PASS":
                    case, _, varied = found["case"].partition("@")
                    key = (code(pin["pin"]), code(case), markdown.text(found["question"]), _unmet(found))
                    rows.setdefault(key, []).append(code(f"@{varied}") if varied else "")
    cells = ([pin, " ".join([case, *filter(None, ways)]), *rest] for (pin, case, *rest), ways in rows.items())
    return markdown.table(("Pin", "Case", "Question", "Verdict, and what does not hold"), cells)


def _unmet(case: Document) -> str:
    unmet = [claim["claim"] for claim in case["claims"] if claim["verdict"] in ("FAIL", "UNKNOWN")]
    return f"{markdown.text(status(case))}: " + "<br>".join(markdown.text(CLAIMS[name].sentence) for name in unmet)


def records() -> str:
    """Return the records, a row each, with the count of each verdict in the latest revision and its digest."""
    rows = []
    for name in record.all_names():
        found, revision = record.find(name), record.find(name).revision(None)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in _published(name)["counts"].items() if count)
        digest = code(revision.digests["results"])
        place = f"[{code(name)}](results/{name}/{revision.name}/README.md)"
        rows.append((place, markdown.text(found.data["question"]), counts, digest))
    return markdown.table(("Record", "Question", "Verdicts", "SHA-256 of results.json"), rows)


def since() -> str:
    """Return which release changed what, from the survey of all releases, with what cites it."""
    found = survey.load(library.records_folder() / "releases")
    digest = document.digest(document.read(found.folder / survey.RESULTS))
    return f"{releases.table(found.published)}\n{code(survey.RESULTS)} of this survey: sha256:{digest}\n"


def interrupts() -> str:
    """Return what the survey of interrupt() found of the proposal, point by point, with what cites it."""
    found = survey.load(library.records_folder() / "interrupt-state-updates")
    digest = document.digest(document.read(found.folder / survey.RESULTS))
    return f"{side_by_side.points(found.published)}\n{code(survey.RESULTS)} of this survey: sha256:{digest}\n"


def suite() -> str:
    """Return the families of the suite, with how many cases each has."""
    counts = Counter(known.id.partition("/")[0] for known in all_cases())
    return ", ".join(f"{code(family)} ({count})" for family, count in sorted(counts.items())) + ".\n"


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
