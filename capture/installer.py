"""uv, the installer: found where its own package put it, without configuration files, and never downloading a Python."""

import os
import threading
from collections.abc import Mapping
from functools import cache

from capture import children
from capture.errors import EnvironmentFailed, StorageFailed, Unresolved

__all__ = ["run"]


def run(*arguments: str, variables: Mapping[str, str] | None = None) -> str:
    """Run uv, with these environment variables besides, and return its standard output; if it fails, say what it said last."""
    fixed = {"UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1", "UV_NO_PROGRESS": "1"}
    done = children.run([_binary(), "--no-config", *arguments], {**_passed_on(), **fixed, **(variables or {})})
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace")
    printed = done.stderr.decode("utf-8", "replace")
    said = _said(printed)
    if any(sign in printed for sign in _DISK):
        raise StorageFailed(f"uv {arguments[0]} failed: {said}.", "Check the free space and the permissions of the cache.")
    # Looked for in all that was printed: what is said keeps the last lines only, and uv explains a conflict in many.
    kind = Unresolved if _CONFLICT in printed and _UNASKED not in printed else EnvironmentFailed
    raise kind(f"uv {arguments[0]} failed: {said}.", "Check the registry's reach, the disk, and the lock.")


def _passed_on() -> dict[str, str]:
    """Return the user's variables that uv needs to find its cache and reach a registry; keys of other things stay out.

    uv hands its variables on to what it builds from source.
    """
    return {name: value for name, value in os.environ.items() if name in _NAMES or name.startswith(_KINDS)}


_NAMES = frozenset({"PATH", "HOME", "TMPDIR", "LANG", "TZ", "NETRC", *(f"{kind}_PROXY" for kind in ("HTTP", "HTTPS", "ALL", "NO"))})
_NAMES |= {name.lower() for name in _NAMES if name.endswith("_PROXY")}
_KINDS = ("UV_", "SSL_CERT_", "XDG_", "LC_")

_DISK = ("No space left on device", "Read-only file system", "Permission denied", "Disk quota exceeded")

_CONFLICT = "No solution found"
_UNASKED = "the network was disabled"
"""uv says both where it may not ask a registry and has nothing of a package: then nobody knows whether there is a solution."""


_SEARCH = threading.Lock()
"""Held while uv is looked for: what it asks of Python is half filled in while another thread asks for the first time."""


def _binary() -> str:
    with _SEARCH:
        return _found()


@cache
def _found() -> str:
    from uv import find_uv_bin

    try:
        return str(find_uv_bin())
    except FileNotFoundError:
        raise EnvironmentFailed("uv is not where its package should have put it.", "Install dispatch-audit again.") from None


def _said(text: str) -> str:
    """Return what uv said went wrong, in one line: its last words, without its progress and its warnings."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(_PROGRESS)]
    words = " ".join(line.removeprefix("error: ").removeprefix("cause: ") for line in (told or lines)[-4:])
    return words[-600:].rstrip(".") or "it said nothing"


_PROGRESS = ("Using ", "Resolved ", "Prepared ", "Downloading ", "Building ", "warning: ", "If the cache and ", "hint: ")
