"""Where the suite, the pins and the records are: in the source tree, or inside an installed wheel."""

from pathlib import Path

__all__ = ["cases_folder", "names", "pins_folder", "probe_folder", "records_folder", "smoke_folder"]

_PACKAGE = Path(__file__).resolve().parent


def cases_folder() -> Path:
    """Return the folder of the suite, one TOML file a case."""
    return _PACKAGE / "cases"


def smoke_folder() -> Path:
    """Return the folder of the smoke test's cases, which are no part of the suite."""
    return _PACKAGE / "smoke_cases"


def probe_folder() -> Path:
    """Return the folder that an environment's Python runs as the probe."""
    return _PACKAGE / "probe" / "python"


def pins_folder() -> Path:
    """Return the folder with one folder a pin."""
    return _shipped("pins")


def records_folder() -> Path:
    """Return the folder with one folder a record."""
    return _shipped("results")


def names(folder: Path, marker: str) -> list[str]:
    """Return the names of the folders in `folder` that hold the file `marker`, sorted."""
    return sorted(path.parent.name for path in folder.glob(f"*/{marker}"))


def _shipped(name: str) -> Path:
    # A wheel carries these folders inside the package; the source tree has them at its top, where people look first.
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
