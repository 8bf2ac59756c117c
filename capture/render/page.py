"""The page of a published revision: the record's table, and what it was read from."""

from capture.document import Document
from capture.render import markdown
from capture.render.printable import code

__all__ = ["revision"]


def revision(results: Document, upstream: Document, name: str) -> str:
    """Return the README of a revision, from its results and its upstream tests."""
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

{markdown.results(results)}
Checkpoints are numbered from 1, the oldest first. “Original” is what the scripted model proposed, “replacement” what the
scripted reviewer put in its place; both stand in full in `results.json`.
"""
