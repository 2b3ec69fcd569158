"""Our own tests of an integration, on the oldest version of the library that we say it works with."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
MODULES = {"optuna": "optuna", "sklearn": "sklearn"}  # extra -> the module that it installs


@pytest.mark.parametrize("extra", MODULES)
def test_the_integration_works_with_the_oldest_version(extra: str, tmp_path: Path) -> None:
    """In a folder of its own: what it depends on is installed, as the newest depends on it too."""
    found = re.fullmatch(r"([a-z-]+)>=([\d.]+),<\d+", EXTRAS[extra][0])
    assert found is not None
    package, version = found.groups()
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", "--no-deps", "--target", tmp_path, f"{package}=={version}"], check=True)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    script = f"import {MODULES[extra]}; print({MODULES[extra]}.__version__)"
    told = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.strip().startswith(version)
    words = ["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", f"tests/integrations/{extra}"]
    ran = subprocess.run(
        [sys.executable, *words], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert "skipped" not in ran.stdout
