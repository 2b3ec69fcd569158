"""scikit-learn's own checks of an estimator: whatever GridSearchCV passes, BelatedSearchCV passes."""

import math
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("sklearn", minversion="1.7")

from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from belated import Real
from belated.integrations.sklearn import BelatedSearchCV

# As scikit-learn tests its own searches.
ESTIMATORS = {
    "Ridge": (Ridge(), "alpha"),
    "LogisticRegression": (LogisticRegression(), "C"),
    "PCA and Ridge": (make_pipeline(PCA(), Ridge()), "ridge__alpha"),
    "PCA and LogisticRegression": (make_pipeline(PCA(), LogisticRegression()), "logisticregression__C"),
}


def list_checks(estimator: Any) -> list[tuple[str, str]]:
    """(name, status) of every check, in order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(ran["check_name"], ran["status"]) for ran in check_estimator(estimator, on_fail=None, on_skip=None)]


POOLS: list["CopiedPool"] = []


class CopiedPool(ThreadPoolExecutor):
    """A pool that stays the same one when it is copied or pickled: the checks do both to every parameter."""

    def __reduce__(self) -> Any:
        return POOLS.__getitem__, (POOLS.index(self),)


@pytest.fixture
def pool() -> Iterator[CopiedPool]:
    with CopiedPool(2) as pool:
        POOLS.append(pool)
        yield pool
        POOLS.remove(pool)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_every_check_ends_as_with_grid_search(name: str, asynchronous: bool, pool: CopiedPool) -> None:
    estimator, parameter = ESTIMATORS[name]
    grid = GridSearchCV(estimator, {parameter: [0.1, 1.0]}, cv=2, error_score="raise")
    how: dict[str, Any] = {"n_jobs": 2, "executor": pool} if asynchronous else {}
    ours = BelatedSearchCV(
        estimator, {parameter: [0.1, 1.0]}, n_iter=2, cv=2, error_score="raise", random_state=0, **how
    )
    checked = list_checks(ours)
    assert checked == list_checks(grid)
    assert [status for _, status in checked].count("passed") > 45


def test_every_check_passes_with_a_continuous_space() -> None:
    search = BelatedSearchCV(
        LogisticRegression(), {"C": Real(0.1, 1)}, n_iter=3, cv=2, error_score="raise", random_state=0
    )
    assert "failed" not in [status for _, status in list_checks(search)]


def test_on_processes_it_finds_what_one_process_finds() -> None:
    X, y = load_iris(return_X_y=True)
    space = {"C": Real(0.01, 100, log=True), "gamma": Real(0.001, 10, log=True)}
    alone, several = (BelatedSearchCV(SVC(), space, n_iter=12, n_jobs=jobs, random_state=0) for jobs in (None, 2))
    assert alone.fit(X, y).best_score_ > 0.95
    assert several.fit(X, y).best_score_ > 0.95
    assert math.isclose(cross_val_score(SVC(**several.best_params_), X, y).mean(), several.best_score_, abs_tol=1e-9)


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
