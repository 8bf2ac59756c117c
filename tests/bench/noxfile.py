"""The same lock and the same bare script through nox with its uv backend: what building an environment is measured against."""

import nox

nox.options.default_venv_backend = "uv"


@nox.session
def i05(session: nox.Session) -> None:
    """Install the lock of the pin and run the bare script."""
    lock, script = session.posargs
    session.install("--require-hashes", "--requirement", lock)
    session.run("python", "-I", script)
