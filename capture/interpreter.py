"""The Python that an environment is built with: what was asked for, and which one it is."""

import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from capture import children, installer
from capture.document import digest
from capture.errors import EnvironmentFailed, InputRefused

__all__ = ["Interpreter", "find", "plain"]

_SECONDS = 60.0

_ASK = """
import json, platform, sys
print(json.dumps([platform.python_implementation(), platform.python_version(), sys.base_prefix, platform.machine()]))
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python: its executable, what makes an environment built with it unlike another, and how it was asked for."""

    path: Path
    implementation: str
    version: str
    prefix: str
    machine: str
    asked: str | None = None

    @property
    def identity(self) -> str:
        """A digest of what makes this Python itself."""
        return digest(f"{self.implementation}\n{self.version}\n{self.prefix}\n{self.machine}".encode())


def plain(version: str) -> str:
    """Return a Python's version as package versions are written: one built from a checkout says `3.14.0a1+`."""
    return version.removesuffix("+")


def find(asked: str | None) -> Interpreter:
    """Return the Python that was asked for: a path, or a version that uv finds; without one, the Python that runs this."""
    if asked is None:
        return Interpreter(
            Path(sys.executable),
            platform.python_implementation(),
            platform.python_version(),
            sys.base_prefix,
            platform.machine(),
        )
    # Absolute, since a relative path loses its "./" and the name alone would be looked for on PATH.
    path = Path(asked) if "/" in asked else _by_version(asked)
    return _ask(path.absolute(), asked)


def _by_version(asked: str) -> Path:
    if asked.startswith("-"):
        raise InputRefused(f"--python {asked!a}: that is no Python.", _HINT)
    try:
        return Path(installer.run("python", "find", "--no-project", asked).strip())
    except EnvironmentFailed:
        raise InputRefused(f"--python {asked!a}: there is no such Python here.", _HINT) from None


_HINT = "Name an interpreter by its path; none is ever downloaded."


def _ask(path: Path, asked: str) -> Interpreter:
    from packaging.version import Version

    try:
        done = children.run([path, "-I", "-c", _ASK], {"PATH": os.defpath}, _SECONDS)
        implementation, version, prefix, machine = map(str, json.loads(done.stdout))
        Version(plain(version))
    except (OSError, subprocess.SubprocessError, TypeError, ValueError):
        raise InputRefused(f"--python {asked!a}: {str(path)!a} does not answer as a Python does.", _HINT) from None
    return Interpreter(path, implementation, version, prefix, machine, asked)
