"""Pins on demand: of any release, alone or with another package beside it, made when asked for and kept in the cache."""

import logging
from collections.abc import Sequence

from capture import library, order, pin
from capture.errors import InputRefused
from capture.interpreter import Interpreter
from capture.order import Order
from capture.pin import Pin

__all__ = ["find", "find_all"]

_LOG = logging.getLogger(__name__)


def find(asked: str, python: Interpreter) -> Pin:
    """Return the pin of a name, a path or a requirement such as `langchain==1.5.3`; a release's that is not there is made."""
    return find_all([asked], python)[0]


def find_all(asked: Sequence[str], python: Interpreter) -> list[Pin]:
    """Return the pins that were asked for, in this order; nothing is made if one of the others is refused."""
    orders = [order.of(name) for name in asked]
    names = [wanted.name if wanted else name for name, wanted in zip(asked, orders, strict=True)]
    missing = {wanted.name: wanted for wanted in orders if wanted and library.pin_folder(wanted.name) is None}
    if missing:
        pin.find_all(name for name in names if name not in missing)
    for wanted in missing.values():
        _make(wanted, python)
    return pin.find_all(names)


def _make(wanted: Order, python: Interpreter) -> None:
    from capture import draft

    _LOG.info("making the pin %s; it is kept in the cache", wanted.name)
    try:
        draft.add(wanted, None, library.cached_pins_folder(), python)
    except InputRefused:
        # Another process may have made it while this one waited for its lock.
        if library.pin_folder(wanted.name) is None:
            raise
