"""Where the suite, the pins and the records are: in the source tree, or inside an installed wheel."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from capture import cache

__all__ = [
    "SURVEY",
    "cached_pins_folder",
    "cases_folder",
    "digest",
    "names",
    "new_pins_folder",
    "package",
    "pin_folder",
    "pins_folder",
    "probe_folder",
    "records_folder",
    "smoke_folder",
    "survey_folder",
]

SURVEY = "survey.toml"
"""The file that makes a folder a survey."""

_PACKAGE = Path(__file__).resolve().parent


def cases_folder() -> Path:
    """Return the folder of the suite, one TOML file a case."""
    return _PACKAGE / "cases"


def smoke_folder() -> Path:
    """Return the folder of the smoke test's cases, which are no part of the suite."""
    return _PACKAGE / "smoke_cases"


def digest(paths: Iterable[Path]) -> str:
    """Return one SHA-256 of files of the package: of their names and bytes, in the order of the names."""
    parts = {path.relative_to(_PACKAGE).as_posix(): sha256(path.read_bytes()).hexdigest() for path in paths}
    return sha256("".join(f"{value}  {name}\n" for name, value in sorted(parts.items())).encode()).hexdigest()


def package() -> Path:
    """Return the folder of the orchestrator's modules."""
    return _PACKAGE


def probe_folder() -> Path:
    """Return the folder that an environment's Python runs as the probe."""
    return _PACKAGE / "probe" / "python"


def pins_folder() -> Path:
    """Return the folder with one folder a pin."""
    return _shipped("pins")


def cached_pins_folder() -> Path:
    """Return the folder with the pins that were made on demand; it need not be there."""
    return cache.root() / "pins"


def new_pins_folder() -> Path:
    """Return the folder in which a new pin is put: the source tree's, or the cache's where the tool is installed."""
    return cached_pins_folder() if pins_folder().is_relative_to(_PACKAGE) else pins_folder()


def pin_folder(name: str) -> Path | None:
    """Return the folder of the pin with this name, a shipped one before one that was made on demand."""
    found = (folder / name for folder in (pins_folder(), cached_pins_folder()))
    return next((folder for folder in found if (folder / "pin.toml").is_file()), None)


def records_folder() -> Path:
    """Return the folder with one folder a record."""
    return _shipped("results")


def survey_folder(name: str) -> Path | None:
    """Return the folder of the survey with this name, or at this path (it has a separator in it), or None if there is none."""
    folder = Path(name) if "/" in name else records_folder() / name
    try:
        return folder if (folder / SURVEY).is_file() else None
    except OSError:  # a name that no file system takes, which whoever reads records refuses more clearly
        return None


def names(folder: Path, marker: str) -> list[str]:
    """Return the names of the folders in `folder` that hold the file `marker`, sorted; one that is being written has a dot."""
    return sorted(path.parent.name for path in folder.glob(f"*/{marker}") if not path.parent.name.startswith("."))


def _shipped(name: str) -> Path:
    # A wheel carries these folders inside the package; the source tree has them at its top, where people look first.
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
