"""No network but what a case is given, and no other program: what would reach out is refused and remembered.

This is a guard against what calls out by itself, such as tracing or version checks; it is no sandbox against hostile code.
"""

import sys
from collections.abc import Iterable
from typing import Any

from probe.journal import Journal

_EVENTS = frozenset(
    {
        "os.exec",
        "os.posix_spawn",
        "os.system",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.getnameinfo",
        "socket.sendmsg",
        "socket.sendto",
        "subprocess.Popen",
    }
)

before_any_case: list[dict[str, str]] = []
"""What was tried while no case was at hand, such as by an import."""

_journals: list[Journal] = []

_allowed: set[tuple[str, int | str]] = set()


class NetworkBlocked(PermissionError):
    """The probe has no network, and starts no program."""


def block() -> None:
    """Refuse the network from now on; an audit hook cannot be taken back."""
    sys.addaudithook(_refuse)


def watch(journal: Journal) -> None:
    """Record attempts in this journal from now on, no longer in `before_any_case`."""
    _journals[:] = [journal]


def allow(addresses: Iterable[tuple[str, int | str]]) -> None:
    """Let these hosts and ports, and no others from now on, be reached: the orchestrator's sinks, a database that was named."""
    _allowed.clear()
    _allowed.update(addresses)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if event not in _EVENTS or _is_allowed(event, args):
        return
    attempt = {"event": event, "target": _target(event, args)}
    if _journals:
        _journals[0].observe("network", **attempt)
    else:
        before_any_case.append(attempt)
    raise NetworkBlocked("dispatch-audit: the probe has no network, and starts no program")


def _is_allowed(event: str, args: tuple[Any, ...]) -> bool:
    if event == "socket.connect":
        return isinstance(args[-1], tuple) and args[-1][:2] in _allowed
    return event == "socket.getaddrinfo" and (_text(args[0]), args[1]) in _allowed


def _target(event: str, args: tuple[Any, ...]) -> str:
    """Return the host; without the port, which would differ from run to run if the system chose it, or a path of the machine."""
    if not event.startswith("socket."):
        return "a program"
    if event not in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        return _text(args[0])
    address = args[-1]
    return _text(address[0]) if isinstance(address, tuple) and address else "a socket of this machine"


def _text(host: Any) -> str:
    return host.decode("utf-8", "replace") if isinstance(host, bytes) else str(host)
