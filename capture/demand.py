"""Pins on demand: of any release, alone or with another package beside it, made when asked for and kept in the cache."""

import logging
from collections.abc import Iterable, Sequence

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


def find_all(asked: Sequence[str], python: Interpreter, ranges: Iterable[str] = ()) -> list[Pin]:
    """Return the pins that were asked for, in this order, then those of the releases in each range.

    Nothing is made if one of the others is refused.
    """
    matched = [known for text in ranges for known in pin.matching(text)]
    orders = [order.of(name) for name in asked]
    names = [wanted.name if wanted else name for name, wanted in zip(asked, orders, strict=True)]
    missing = {wanted.name: wanted for wanted in orders if wanted and library.pin_folder(wanted.name) is None}
    if missing:
        pin.find_all(name for name in names if name not in missing)
    for wanted in missing.values():
        _make(wanted, python)
    found = {known.name: known for known in pin.find_all(names)}
    return list((found | {known.name: known for known in matched if known.name not in found}).values())


def _make(wanted: Order, python: Interpreter) -> None:
    from capture import draft

    _LOG.info("making the pin %s; it is kept in the cache", wanted.name)
    try:
        draft.add(wanted, None, library.cached_pins_folder(), python)
    except InputRefused:
        # Another process may have made it while this one waited for its lock.
        if library.pin_folder(wanted.name) is None:
            raise
