"""The command `dispatch-audit`: the only place that prints an error and turns it into an exit code."""

import logging
import os
import signal
import sys
import traceback
from contextlib import suppress
from io import StringIO

import click

from capture import children
from capture.cli import commands
from capture.errors import AuditError, ExitCode, Interrupted
from capture.render.printable import printable

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with the code that `docs/exit-codes.md` explains."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    logging.basicConfig(format="%(message)s", level=logging.INFO, handlers=[_Progress()])
    code = _run()
    try:
        sys.stderr.flush()
    except OSError:
        # What nobody reads stays in the buffer, and Python would make 120 of the exit code when it fails to write it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.exit(code)


def _interrupt(*_: object) -> None:
    """End every child at once, so that nothing waits for one, then the command itself."""
    children.end_all()
    raise Interrupted


class _Progress(logging.Handler):
    """Shows what is being done, on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line of ours; what libraries log is theirs, and shown from a warning on."""
        if record.name.startswith("capture") or record.levelno >= logging.WARNING:
            _tell(record.getMessage())


def _run() -> int:
    try:
        return _commands()
    except AuditError as error:
        return _say(f"{error.message} {error.hint}".rstrip(), error.code)
    except (KeyboardInterrupt, click.Abort):
        return _say(Interrupted().message, ExitCode.INTERRUPTED)
    except OSError as error:
        return _unwritten(f"{error.filename or 'the output'}: {error.strerror or error}")
    except SystemExit:
        # click and rich end so, with 1, when nobody reads standard output any more.
        return _unwritten("the output: closed before everything was written")
    except Exception:  # noqa: BLE001 -- a bug of ours: say so, with what is needed to report it
        traceback.print_exc()
        return _say("this is a bug in dispatch-audit; please report it with the lines above.", ExitCode.BUG)


def _commands() -> int:
    try:
        return int(commands.main(prog_name="dispatch-audit", standalone_mode=False) or ExitCode.FINE)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        return _show(error)


def _show(error: click.ClickException) -> int:
    """Show what click says about the usage, line by line, since it quotes some arguments as they are."""
    said = StringIO()
    error.show(said)
    for line in said.getvalue().expandtabs(4).splitlines():
        _tell(line)
    return error.exit_code


def _unwritten(text: str) -> int:
    """Say what the operating system refused, and keep Python from trying standard output again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return _say(f"{text}. Check the name, its permissions and the free space.", ExitCode.STORAGE)


def _say(text: str, code: ExitCode) -> int:
    _tell(f"dispatch-audit: {text}")
    return code


def _tell(text: str) -> None:
    """Write a line to standard error; if nobody reads it, the exit code has to say it alone."""
    with suppress(OSError):
        click.echo(printable(text), err=True)


if __name__ == "__main__":
    main()
