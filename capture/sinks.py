from collections.abc import Callable, Mapping
from typing import Any


class Sinks:
    def __init__(self, seen: Callable[[Mapping[str, Any]], None]) -> None: ...
    def address(self, protocol: str) -> Mapping[str, Any]:
        raise NotImplementedError

    def end(self) -> None: ...
