"""The middleware stack that a case describes, built from the packages under audit."""

import inspect
from typing import Any

from langchain.agents import middleware as kinds


class Unsupported(Exception):
    """This release does not have a feature that the case is about; the text names the feature."""


def build(stack: list[dict[str, Any]]) -> list[Any]:
    """Return the middleware objects in the case's order; an option that is no parameter here is unsupported."""
    return [_build(item) for item in stack]


def _build(item: dict[str, Any]) -> Any:
    kind = getattr(kinds, item["kind"], None)
    if kind is None:
        raise Unsupported(f"middleware {item['kind']}")
    options = {**item.get("options", {}), **dict.fromkeys(item.get("none", []))}
    # Asked of the signature and never by trying: older releases may swallow what they do not know.
    known = inspect.signature(kind.__init__).parameters
    for name in sorted(set(options) - set(known)):
        raise Unsupported(f"parameter {name} of {item['kind']}")
    return kind(**options)
