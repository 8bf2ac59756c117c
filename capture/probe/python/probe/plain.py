"""Plain JSON values of whatever the framework hands out, without addresses, clocks or floats."""

from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Return a JSON value: a float as text, an object that has no JSON form as the name of its type."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return f"float {value!r}"
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return {"object": f"{type(value).__module__}.{type(value).__qualname__}"}
