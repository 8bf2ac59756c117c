"""A wheel built from the tree, installed elsewhere, has its own cases, pins, schemas and records."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

TREE = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel, install it with its dependencies into an environment elsewhere, and return the command."""
    place = tmp_path_factory.mktemp("elsewhere")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(place / "dist")]
    subprocess.run(build, cwd=TREE, check=True, capture_output=True)
    (wheel,) = (place / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "capture/pins/i05/requirements.txt" in names
    assert "capture/results/i05/r1/history.jsonl" in names
    assert "capture/servers/postgres.txt" in names
    assert {f"capture/render/report/page.{kind}" for kind in ("html.jinja", "css", "js")} <= set(names)
    assert not [name for name in names if name.startswith(("tests/", "pins/", "results/"))]
    uv = find_uv_bin()
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, place / "venv"], check=True)
    constraint = ["--constraint", str(TREE / "requirements-dev.txt")]
    subprocess.run([uv, "pip", "install", "--quiet", "--python", place / "venv/bin/python", *constraint, wheel], check=True)
    return place / "venv" / "bin" / "dispatch-audit"


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--pin", "i05", "--case", "decisions/edit"),
        ("reproduce", "i05", "--skip-upstream"),
        ("verify", "i05"),
        ("run", "--schema"),
        ("list", "cases"),
    ],
    ids=" ".join,
)
def test_an_installed_wheel_works_anywhere(arguments: tuple[str, ...], installed: Path, tmp_path: Path) -> None:
    """The installed command runs from any folder, without the tree, and reproduces the record."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([installed, *arguments], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert str(TREE) not in done.stdout + done.stderr
