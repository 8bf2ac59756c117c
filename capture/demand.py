"""Pins on demand: of a release, alone or with another package beside it, or of a team's lock; made when asked for, and kept."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from capture import document, library, order, pin
from capture.errors import EnvironmentFailed, InputRefused
from capture.interpreter import Interpreter
from capture.order import Order
from capture.pin import Pin
from capture.target import Kind, kind

__all__ = ["Unmade", "find", "find_all", "find_each"]

_LOG = logging.getLogger(__name__)


def find(asked: str, python: Interpreter) -> Pin:
    """Return the pin of a name, a path, a lock or a requirement such as `langchain==1.5.3`; one that can be made is."""
    return find_each([asked], python)[0]


@dataclass(frozen=True)
class Unmade:
    """A pin of this name that could not be made, and why: there is no such release, or it does not import."""

    name: str
    message: str


def find_all(asked: Sequence[str], python: Interpreter, ranges: Iterable[str] = ()) -> list[Pin | Unmade]:
    """Return the pins that were asked for, in this order, then those of the releases in each range; two that are one are refused.

    Nothing is made if one of the others is refused. One of several that cannot be made is no reason to refuse the rest.
    """
    matched = [known for text in ranges for known in pin.matching(text)]
    asked_for = _each(asked, python, alone=len(asked) + len(matched) == 1)
    pin.refuse_twice(known.name for known in asked_for)
    found = {known.name: known for known in asked_for}
    return list((found | {known.name: known for known in matched if known.name not in found}).values())


def find_each(asked: Sequence[str], python: Interpreter) -> list[Pin]:
    """Return the pin of each that was asked for, in this order; two may be one pin. Nothing is made if another is refused."""
    return [found for found in _each(asked, python, alone=True) if isinstance(found, Pin)]


def _each(asked: Sequence[str], python: Interpreter, *, alone: bool) -> list[Pin | Unmade]:
    """Return the pin of each; where it is not asked for alone, one that cannot be made is told and not raised."""
    orders = [_order(name) for name in asked]
    names = [wanted.name if wanted else name for name, wanted in zip(asked, orders, strict=True)]
    missing = {wanted.name: wanted for wanted in orders if wanted and library.pin_folder(wanted.name) is None}
    if missing:
        pin.find_all(name for name in names if name not in missing)
    unmade = dict(_unmade(missing.values(), python, alone=alone))
    found = [unmade.get(name) or pin.find(name) for name in names]
    for known, asked_for in zip(found, orders, strict=True):
        _refuse_another(known, asked_for)
    return found


def _unmade(orders: Iterable[Order], python: Interpreter, *, alone: bool) -> Iterator[tuple[str, Unmade]]:
    for wanted in orders:
        try:
            _make(wanted, python)
        except (EnvironmentFailed, InputRefused) as error:
            if alone:
                raise
            _LOG.info("%s: no environment: %s", wanted.name, error.message)
            yield wanted.name, Unmade(wanted.name, error.message)


def _order(asked: str) -> Order | None:
    if kind(asked) is not Kind.LOCK:
        return order.of(asked)
    from capture import adoption

    return adoption.order(Path(asked), None)


def _refuse_another(found: Pin | Unmade, wanted: Order | None) -> None:
    """Refuse the pin of another lock: a name has eight digits of the digest, and whoever wants to can make two locks share them."""
    if isinstance(found, Pin) and wanted and wanted.lock is not None and found.lock.digest != document.digest(wanted.lock):
        raise InputRefused(f"pin {found.name}: it is the pin of another lock.", "Make one with `pin add --from` and --name.")


def _make(wanted: Order, python: Interpreter) -> None:
    from capture import draft

    _LOG.info("making the pin %s; it is kept in the cache", wanted.name)
    try:
        draft.add(wanted, None, library.cached_pins_folder(), python)
    except InputRefused:
        # Another process may have made it while this one waited for its lock.
        if library.pin_folder(wanted.name) is None:
            raise
