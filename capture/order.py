"""An order: what a pin is to be made of, as a command line, a name or a requirement says it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from capture import document

__all__ = ["AUDITED", "TIME_FORM", "Order", "of", "second_after"]

AUDITED = "langchain"
"""The distribution whose releases the pins are of."""

TIME_FORM = "%Y-%m-%dT%H:%M:%SZ"

_PACKAGE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Order:
    """The exact packages of a pin, or the lock that somebody else made, and what is said about them."""

    wanted: Mapping[str, str]
    beside: Mapping[str, str] = field(default_factory=dict)
    """Packages that are to differ from the lock of the release's own pin."""
    as_of: str | None = None
    tests: Mapping[str, str] | None = None
    lock: bytes | None = None
    python: str = ">=3.11"

    @property
    def name(self) -> str:
        """The name that the pin gets unless it is given one: what differs from the release's own pin stands behind a plus."""
        parts = [f"{AUDITED}-{self.wanted[AUDITED]}", *(f"{name}-{version}" for name, version in sorted(self.beside.items()))]
        if self.as_of is not None and self.lock is None:
            parts.append(f"as-of.{self.as_of.replace('-', '').partition('T')[0]}")
        if self.lock is not None:
            parts.append(f"lock.{document.digest(self.lock)[:8]}")
        return "+".join(parts)


def of(asked: str) -> Order | None:
    """Return the order of a name or a requirement, or None: `langchain-1.4.6+langgraph-1.2.16` or `langchain==1.5.3`."""
    return _required(asked) if "==" in asked else _named(asked)


def second_after(time: datetime) -> str:
    """Return the second that begins after a time, in the form of `as-of`; registries know uploads to fractions of one."""
    return (time.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)).strftime(TIME_FORM)


def _required(asked: str) -> Order | None:
    try:
        requirement = Requirement(asked)
    except InvalidRequirement:
        return None
    exact = [specifier.version for specifier in requirement.specifier if specifier.operator == "=="]
    if canonicalize_name(requirement.name) != AUDITED or len(requirement.specifier) != 1 or not exact:
        return None
    if requirement.url or requirement.marker or requirement.extras or exact[0].endswith("*"):
        return None
    return Order({AUDITED: exact[0]})


def _named(asked: str) -> Order | None:
    parts = [part.rpartition("-") for part in asked.split("+")]
    found = {name: version for name, _, version in parts if _PACKAGE.fullmatch(name) and _is_version(version)}
    if len(found) != len(parts) or parts[0][0] != AUDITED:
        return None
    return Order({AUDITED: found.pop(AUDITED)}, found)


def _is_version(text: str) -> bool:
    try:
        return str(Version(text)) == text
    except ValueError:  # of a number with thousands of digits too
        return False
