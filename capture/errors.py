"""What can go wrong with the harness itself, and the exit codes that the command line promises.

An error about the subject under audit is never raised: it is an observation, and a result.
Each error here says what is wrong and where (`message`) and what to do about it (`hint`); only the command line prints.
"""

from enum import IntEnum

__all__ = [
    "AuditError",
    "EnvironmentFailed",
    "ExitCode",
    "InputRefused",
    "Interrupted",
    "ProbeFailed",
    "StorageFailed",
    "Unresolved",
]


class ExitCode(IntEnum):
    """The meaning of each exit code; `docs/exit-codes.md` is for people."""

    FINE = 0
    DIFFERENCE = 1
    USAGE = 2
    UNKNOWN = 3
    REFUSED = 4
    ENVIRONMENT = 5
    BUG = 70
    STORAGE = 74
    INTERRUPTED = 130


class AuditError(Exception):
    """Base of the errors that end a command with one sentence and an exit code."""

    code = ExitCode.BUG

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep one sentence about what is wrong and where, and one about what to do."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputRefused(AuditError):
    """A pin, case, record, history or results file is not what it must be, or a pin is not as pinned."""

    code = ExitCode.REFUSED


class EnvironmentFailed(AuditError):
    """An environment could not be built, or an artifact could not be had."""

    code = ExitCode.ENVIRONMENT


class Unresolved(EnvironmentFailed):
    """The registry was asked, and no versions of the packages go together."""


class StorageFailed(AuditError):
    """The disk is full, or a file may not be read or written."""

    code = ExitCode.STORAGE


class ProbeFailed(AuditError):
    """The probe died, hung, or answered something that is not an answer; `reason` is `error` or `timeout`."""

    code = ExitCode.UNKNOWN

    def __init__(self, message: str, reason: str = "error") -> None:
        """Keep the sentence and the reason that the history gets."""
        super().__init__(message)
        self.reason = reason


class Interrupted(AuditError):
    """Somebody asked the command to end: Ctrl-C, SIGTERM, or the terminal was closed."""

    code = ExitCode.INTERRUPTED

    def __init__(self) -> None:
        """Say that what is complete was kept."""
        super().__init__("interrupted; what is complete was kept.")
