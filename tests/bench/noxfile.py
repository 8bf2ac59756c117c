"""The same script through nox with its uv backend, in an environment for each lock or release: what ours is measured against."""

import sys

import nox

nox.options.default_venv_backend = "uv"

# What a session is parametrized with has to be known before there is a session that could say it.
_SCRIPT, *_WANTED = sys.argv[sys.argv.index("--") + 1 :]


@nox.session
@nox.parametrize("lock", _WANTED)
def locked(session: nox.Session, lock: str) -> None:
    """Install a lock and run the script."""
    session.install("--require-hashes", "--requirement", lock)
    session.run("python", "-I", _SCRIPT)


@nox.session
@nox.parametrize("release", _WANTED)
def resolved(session: nox.Session, release: str) -> None:
    """Resolve and install a release and run the script."""
    session.install(release)
    session.run("python", "-I", _SCRIPT)
