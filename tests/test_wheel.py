"""The wheel: what is in it, and what it can do in an environment that has nothing else."""

import os
import subprocess
import sys
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tests.test_docs import README, ROOT, blocks_of

pytestmark = pytest.mark.wheel

EXTRAS = {"matplotlib", "psycopg", "sklearn", "pooch", "torch", "optuna", "pytest", "pandas", "jinja2", "openpyxl"}
PIP = ("-m", "pip", "--disable-pip-version-check", "-q")


def run(*words: str | Path, cwd: Path) -> str:
    """What a program printed; it must end well, and without the settings of the environment that the tests run in."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ran = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd, env=environment)
    assert ran.returncode == 0, f"{words}: {ran.stdout}{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, *PIP, "wheel", "--no-deps", "-w", folder, ROOT, cwd=folder)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a new environment with the wheel and what it depends on, and no extra."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=True)
    run(home / "bin" / "python", *PIP, "install", "-c", ROOT / "constraints.txt", wheel, cwd=home)
    return home / "bin"


def test_the_wheel_holds_the_package_and_its_metadata_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    name, version = wheel.name.split("-")[:2]
    outside = [entry for entry in names if not entry.startswith((f"{name}/", f"{name}-{version}.dist-info/"))]
    assert name == "belated"
    assert outside == []
    assert {"belated/py.typed", "belated/record/ledger/sqlite.sql", "belated/record/ledger/postgres.sql"} <= set(names)
    assert "belated/report/page.html" in names


def test_the_wheel_has_the_version_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (entry for entry in archive.namelist() if entry.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(archive.read(metadata).decode())
        source = archive.read("belated/version.py").decode()
    assert f'__version__ = "{headers["Version"]}"' in source
    assert headers["License-File"] == "LICENSE"


def test_the_five_lines_of_the_readme_run(programs: Path, tmp_path: Path) -> None:
    five_lines = blocks_of(README)[0].source
    assert run(programs / "python", "-W", "error", "-c", five_lines, cwd=tmp_path).startswith("{'x': ")


def test_the_shell_explains_itself(programs: Path, tmp_path: Path) -> None:
    printed = run(programs / "belated", "--help", cwd=tmp_path)
    assert printed.startswith("Usage: belated")
    assert "ask" in printed


def test_importing_needs_no_extra(programs: Path, tmp_path: Path) -> None:
    script = "import importlib.util as u, sys, belated; print(belated.__file__, *filter(u.find_spec, sys.argv[1:]))"
    file, *there = run(programs / "python", "-W", "error", "-c", script, *sorted(EXTRAS), cwd=tmp_path).split()
    assert Path(file).is_relative_to(programs.parent)
    assert there == []
