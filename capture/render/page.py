"""The page of a published revision: the record's table, and what it was read from."""

from capture.document import Document
from capture.record import Record
from capture.render import beyond, markdown
from capture.render.cells import status
from capture.render.printable import code

__all__ = ["revision"]


def revision(record: Record, results: Document, upstream: Document, name: str) -> str:
    """Return the README of a revision, from what its record states, its results and its upstream tests."""
    pin = results["pins"][0]
    packages = ", ".join(f"{package} {version}" for package, version in sorted(pin["packages"].items()))
    files = markdown.table(
        ("File, as imported", "SHA-256"), ([code(path), code(value)] for path, value in sorted(pin["files"].items()))
    )
    counts = f"{upstream['passed']} passed, {upstream['failed']} failed, {upstream['errors']} errors, {upstream['skipped']} skipped"
    return f"""# Record {code(str(results["record"]))}, revision {name}

Rendered from `results.json` and `upstream.json` in this folder.
`dispatch-audit reproduce {results["record"]} --revision {name}` measures both again,
`dispatch-audit verify {results["record"]} --revision {name}` checks the digests without running anything.

Environment: {markdown.text(packages)}.

{files}
Upstream tests, module {code(upstream["module"])} ({code(upstream["module_sha256"])}): {counts}.

{_statements(record, pin)}{_beyond(pin)}{markdown.results(results)}
Checkpoints are numbered from 1, the oldest first. “Original” is what the scripted model proposed, “replacement” what the
scripted reviewer put in its place; both stand in full in `results.json`.
"""


def _statements(record: Record, pin: Document) -> str:
    """Return what the record's document says, a row each, with the cases that observe it and their verdicts."""
    if not record.statements:
        return ""
    verdicts = {case["case"]: status(case) for case in pin["cases"]}
    rows = [
        (markdown.text(said.get("place", "")), markdown.text(said["says"]), "<br>".join(_observed(said, verdicts)))
        for said in record.statements
    ]
    return markdown.table(("Place", "What the document says, in our words", "Observed"), rows) + "\n"


def _beyond(pin: Document) -> str:
    """Return what went beyond one process, a row each, if the revision has such cases."""
    if not beyond.concerns(pin):
        return ""
    rows = [[code(cells[0]), *map(markdown.text, cells[1:])] for cells in beyond.rows(pin)]
    return markdown.table(beyond.COLUMNS, rows) + "\n"


def _observed(said: Document, verdicts: Document) -> list[str]:
    if "unobserved" in said:
        return [f"not observed: {markdown.text(said['unobserved'])}"]
    return [f"{code(name)}: {markdown.text(verdicts.get(name, 'not in this revision'))}" for name in said["cases"]]
