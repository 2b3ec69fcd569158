"""Our own tests of the sampler, on the oldest Optuna that we say it works with."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Its version, and a folder with it alone: what it depends on is installed, as the newest depends on it too."""
    (extra,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["optuna"]
    found = re.fullmatch(r"optuna>=([\d.]+),<6", extra)
    assert found is not None
    folder, pip = tmp_path_factory.mktemp("optuna"), [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", "--no-deps", "--target", folder, f"optuna=={found[1]}"], check=True)
    return found[1], folder


def test_the_sampler_works_with_the_oldest_optuna(oldest: tuple[str, Path]) -> None:
    version, folder = oldest
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}
    script = "import optuna; print(optuna.__version__)"
    told = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.strip().startswith(version)
    words = ["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "tests/integrations/optuna"]
    ran = subprocess.run(
        [sys.executable, *words], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert "skipped" not in ran.stdout
