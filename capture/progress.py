"""Progress: what is done and how long the rest may take, a line for each thing that is done."""

import logging
import time

__all__ = ["Progress"]

_LONG = 100
"""From how many seconds on a time is told in minutes."""

_LOG = logging.getLogger(__name__)


class Progress:
    """Counts things done of those to do, and estimates from the pace so far how long the rest takes."""

    def __init__(self, total: int) -> None:
        """Begin to count the time."""
        self._total = total
        self._done = 0
        self._start = time.monotonic()

    def done(self, what: str) -> None:
        """Say that one more thing is done, and what is left."""
        self._done += 1
        left = (time.monotonic() - self._start) / self._done * (self._total - self._done)
        _LOG.info("[%d/%d] %s%s", self._done, self._total, what, f", about {_spoken(left)} left" if left else "")


def _spoken(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < _LONG else f"{seconds / 60:.0f} min"
