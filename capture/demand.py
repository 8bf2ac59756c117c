"""Pins on demand: of a release, alone or with another package beside it, or of a team's lock; made when asked for, and kept."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from capture import document, library, order, pin
from capture.errors import InputRefused
from capture.interpreter import Interpreter
from capture.order import Order
from capture.pin import Pin
from capture.target import Kind, kind

__all__ = ["find", "find_all", "find_each"]

_LOG = logging.getLogger(__name__)


def find(asked: str, python: Interpreter) -> Pin:
    """Return the pin of a name, a path, a lock or a requirement such as `langchain==1.5.3`; one that can be made is."""
    return find_all([asked], python)[0]


def find_all(asked: Sequence[str], python: Interpreter, ranges: Iterable[str] = ()) -> list[Pin]:
    """Return the pins that were asked for, in this order, then those of the releases in each range; two that are one are refused.

    Nothing is made if one of the others is refused.
    """
    matched = [known for text in ranges for known in pin.matching(text)]
    asked_for = find_each(asked, python)
    pin.refuse_twice(asked_for)
    found = {known.name: known for known in asked_for}
    return list((found | {known.name: known for known in matched if known.name not in found}).values())


def find_each(asked: Sequence[str], python: Interpreter) -> list[Pin]:
    """Return the pin of each that was asked for, in this order; two may be one pin.  Nothing is made if another is refused."""
    orders = [_order(name) for name in asked]
    names = [wanted.name if wanted else name for name, wanted in zip(asked, orders, strict=True)]
    missing = {wanted.name: wanted for wanted in orders if wanted and library.pin_folder(wanted.name) is None}
    if missing:
        pin.find_all(name for name in names if name not in missing)
    for wanted in missing.values():
        _make(wanted, python)
    found = [pin.find(name) for name in names]
    for known, asked_for in zip(found, orders, strict=True):
        _refuse_another(known, asked_for)
    return found


def _order(asked: str) -> Order | None:
    if kind(asked) is not Kind.LOCK:
        return order.of(asked)
    from capture import adoption

    return adoption.order(Path(asked), None)


def _refuse_another(found: Pin, wanted: Order | None) -> None:
    """Refuse the pin of another lock: a name has eight digits of the digest, and whoever wants to can make two locks share them."""
    if wanted and wanted.lock is not None and found.lock.digest != document.digest(wanted.lock):
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
