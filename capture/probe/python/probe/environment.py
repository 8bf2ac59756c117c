"""What this environment really is, read from inside after the import: versions, file digests, distributions."""

import hashlib
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from probe import network


def describe(packages: list[str], files: list[str]) -> dict[str, Any]:
    """Return the versions of packages and the SHA-256 of files, as imported; what is not there is None."""
    return {
        "packages": {name: _version(name) for name in packages},
        "files": {name: _digest(name) for name in files},
        "blocked": list(network.before_any_case),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "distributions": sorted((_distribution(found) for found in metadata.distributions()), key=lambda found: found["name"]),
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _digest(name: str) -> str | None:
    """Return the SHA-256 of a file by the path that its package was imported from, not by where it ought to be."""
    package, _, rest = name.partition("/")
    found = getattr(sys.modules.get(package), "__path__", None)
    path = Path(next(iter(found))) / rest if found else None
    return hashlib.sha256(path.read_bytes()).hexdigest() if path and path.is_file() else None


def _distribution(found: metadata.Distribution) -> dict[str, Any]:
    wheel = (found.read_text("WHEEL") or "").splitlines()
    tags = [line.removeprefix("Tag: ") for line in wheel if line.startswith("Tag: ")]
    return {"name": found.metadata["Name"], "version": found.version, "tags": tags}
