"""The command `dispatch-audit doctor`."""

import click

from capture.cli.options import format_option, schema_option
from capture.cli.shown import emit
from capture.errors import ExitCode

__all__ = ["command"]


@click.command("doctor")
@format_option("text")
@schema_option("diagnosis")
def command(form: str) -> int:
    """Say what works on this machine and what does not, and what to do about it."""
    from capture import doctor
    from capture.render import terminal

    diagnosis = doctor.examine()
    if form == "json":
        emit(diagnosis)
    else:
        terminal.diagnosis(diagnosis)
    return ExitCode.FINE if diagnosis["well"] else ExitCode.ENVIRONMENT
