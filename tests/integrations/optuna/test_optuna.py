"""What importing the sampler loads."""

import subprocess
import sys

import pytest

pytest.importorskip("optuna")


def test_importing_the_sampler_loads_optuna_and_belated_alone() -> None:
    script = (
        "import sys, optuna, belated; before = set(sys.modules)\n"
        "import belated.integrations.optuna\n"
        "print(*(name for name in set(sys.modules) - before if name.split('.')[0] not in sys.stdlib_module_names))"
    )
    ran = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    loaded = ran.stdout.split()
    assert "belated.integrations.optuna.sampler" in loaded
    assert [name for name in loaded if not name.startswith("belated.")] == []
