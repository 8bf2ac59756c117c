"""Claims: statements about a history, each a pure function. One module a family; a new file here needs no other change.

A claim returns what it examined and what did not hold. Nothing examined means that the claim is not applicable. It names the
vantages without which it cannot be judged, and who promised what it states, or that we chose it.
"""

from importlib import import_module
from pkgutil import iter_modules

from capture.claims.registry import CLAIMS, Claim, Fault, Finding, current

__all__ = ["CLAIMS", "Claim", "Fault", "Finding", "current"]

for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
