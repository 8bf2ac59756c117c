"""The commands: options, calls, exit codes; no logic. Each command's module is imported only when it is asked for."""

from importlib import import_module

import click

__all__ = ["commands"]

_MODULES = {
    "reproduce": "reproduce",
    "run": "run",
    "diff": "diff",
    "transitions": "transitions",
    "bisect": "bisect",
    "report": "report",
    "verify": "verify",
    "rejudge": "rejudge",
    "list": "listing",
    "explain": "explain",
    "doctor": "doctor",
    "pin": "pin",
    "publish": "publish",
}


class _Lazy(click.Group):
    """A group that knows the names of its commands and imports the one that is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's signature
        if cmd_name not in _MODULES:
            return None
        command: click.Command = import_module(f"capture.cli.{_MODULES[cmd_name]}").command
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="dispatch-audit", prog_name="dispatch-audit")
def commands() -> None:
    """What an AI agent really did after a person approved, edited or refused its tool call.

    Exit: 0 fine; 1 a FAIL (run), a difference from what is published
    (reproduce, verify, rejudge), a change (diff, run --against, bisect);
    2 usage; 3 no FAIL but an UNKNOWN, or not all compared; 4 an input
    refused, a pin not as pinned; 5 an environment could not be built; 70 a
    bug here; 74 disk or permission; 130 interrupted.
    """
