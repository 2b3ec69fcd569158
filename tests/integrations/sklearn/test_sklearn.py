"""What importing the search loads."""

import subprocess
import sys

import pytest

pytest.importorskip("sklearn", minversion="1.7")


def test_importing_the_search_loads_scikit_learn_and_belated_alone() -> None:
    script = (
        "import sys, sklearn.model_selection, joblib.externals.loky, belated; before = set(sys.modules)\n"
        "import belated.integrations.sklearn\n"
        "print(*(name for name in set(sys.modules) - before if name.split('.')[0] not in sys.stdlib_module_names))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    loaded = ran.stdout.split()
    assert "belated.integrations.sklearn.search" in loaded
    assert [name for name in loaded if not name.startswith("belated.")] == []
