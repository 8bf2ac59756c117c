"""dispatch-audit: what an agent really did after a person decided about its tool call."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("dispatch-audit")
