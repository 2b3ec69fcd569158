"""A search behaves as scikit-learn's do, and its candidates do not wait for each other."""

import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.7")

from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import make_regression
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from belated import Choice, Integer, Real
from belated.errors import InvalidInput
from belated.integrations.sklearn import BelatedSearchCV

SOON = 30.0  # seconds within which a machine under load does what it takes milliseconds to do
X, Y = make_regression(n_samples=60, n_features=5, noise=20.0, random_state=0)
ALPHAS = [0.01, 1.0, 100.0]
TIMES = {"mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"}


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(4) as executor:
        yield executor


class Moody(RegressorMixin, BaseEstimator):
    """Fits to nothing, scores its level, and fails where it is told to."""

    def __init__(self, level: float = 0.0, fails_from: float = 1.0, first: int | None = None) -> None:
        self.level, self.fails_from, self.first = level, fails_from, first

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Moody":
        if self.level >= self.fails_from and (self.first is None or X[0, 0] == self.first):
            raise RuntimeError(f"no luck with {self.level}")
        self.fitted_, self.weight_ = True, None if sample_weight is None else float(np.sum(sample_weight))
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        return self.level


# The same as a grid ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"return_train_score": True, "cv": KFold(4)},
        {"scoring": ["r2", "neg_mean_absolute_error"], "refit": "r2", "return_train_score": True},
        {"scoring": {"error": "neg_mean_absolute_error", "r2": "r2"}, "refit": "error"},
        {"scoring": lambda model, X, y: {"a": model.score(X, y), "b": 1.0}, "refit": "a"},
        {"scoring": lambda model, X, y: -model.score(X, y)},
        {"refit": lambda results: int(np.argmax(results["mean_score_time"] >= 0))},
        {"refit": False},
    ],
    ids=["plain", "train", "several", "named", "function of several", "function", "refit by function", "no refit"],
)
def test_a_list_that_is_tried_whole_gives_the_results_of_a_grid(said: dict[str, Any]) -> None:
    grid = GridSearchCV(Ridge(), {"alpha": ALPHAS}, **said).fit(X, Y)
    ours = BelatedSearchCV(Ridge(), {"alpha": ALPHAS}, n_iter=9, random_state=0, **said).fit(X, Y)
    theirs, results = grid.cv_results_, ours.cv_results_
    assert results.keys() == theirs.keys()
    order = [results["params"].index(params) for params in theirs["params"]]
    for name in results.keys() - TIMES - {"params", "param_alpha"}:
        np.testing.assert_allclose(results[name][order], theirs[name], rtol=1e-12, err_msg=name)
        assert results[name].dtype == theirs[name].dtype
    assert type(results["param_alpha"]) is type(theirs["param_alpha"])
    assert results["param_alpha"].dtype == theirs["param_alpha"].dtype
    public = {name for name in vars(grid) if name.endswith("_")}
    assert {name for name in vars(ours) if name.endswith("_")} == public | {"study_"}
    assert (ours.n_splits_, ours.multimetric_) == (grid.n_splits_, grid.multimetric_)
    if not callable(said.get("refit")):
        assert ours.best_params_ == grid.best_params_
        assert ours.best_score_ == pytest.approx(grid.best_score_, rel=1e-12)
    if said.get("refit", True) is True or isinstance(said.get("refit"), str):
        np.testing.assert_allclose(ours.predict(X), grid.predict(X))
        assert ours.score(X, Y) == pytest.approx(grid.score(X, Y), rel=1e-12)
        assert ours.n_features_in_ == 5


def test_it_finds_a_better_value_between_the_points_of_a_grid() -> None:
    search = BelatedSearchCV(Ridge(), {"alpha": Real(1e-3, 1e3, log=True)}, n_iter=9, random_state=0).fit(X, Y)
    assert search.best_score_ > GridSearchCV(Ridge(), {"alpha": ALPHAS}).fit(X, Y).best_score_
    assert search.best_score_ == pytest.approx(cross_val_score(Ridge(**search.best_params_), X, Y).mean())
    again = clone(search).fit(X, Y)
    assert again.cv_results_["params"] == search.cv_results_["params"]


def test_options_may_be_anything() -> None:
    pipeline = Pipeline([("scale", StandardScaler()), ("model", Ridge())])
    space = {
        "scale": [StandardScaler(), MinMaxScaler((0, 2)), "passthrough"],
        "model": [Ridge(), Lasso()],
        "model__alpha": Real(0.01, 10, log=True),
        "model__max_iter": Integer(500, 900),
        "model__positive": Choice(True, False),
    }
    search = BelatedSearchCV(pipeline, space, n_iter=8, cv=2, random_state=0).fit(X, Y)
    tried = search.cv_results_["params"]
    assert {type(params["model"]) for params in tried} == {Ridge, Lasso}
    assert all(isinstance(params["model__max_iter"], int) for params in tried)
    assert search.study_.rounds == len(tried) == 8
    assert not hasattr(space["model"][0], "coef_")  # what is fitted is a copy


# Together -------------------------------------------------------------------------------------------------------------

ARRIVED = threading.Semaphore(0)


class Slow(DummyRegressor):
    """The first candidate is done when five others are."""

    def __init__(self, level: float = 0.0, number: int = 0) -> None:
        super().__init__(strategy="constant", constant=0.0)
        self.level, self.number = level, number

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Slow":
        if self.number == 0:
            assert all(ARRIVED.acquire(timeout=SOON) for _ in range(5))
        else:
            ARRIVED.release()
        return super().fit(X, y)


def test_candidates_do_not_wait_for_a_slow_one(threads: Executor) -> None:
    search = BelatedSearchCV(
        Slow(), {"number": [0, 1, 2, 3, 4, 5]}, n_iter=6, n_jobs=2, executor=threads, cv=KFold(2), refit=False,
        random_state=0,
    )  # fmt: skip
    search.fit(X, Y)  # would never end in batches of two
    assert len(search.cv_results_["params"]) == 6


def test_the_configuration_of_the_caller_holds_in_threads(threads: Executor) -> None:
    with config_context(enable_metadata_routing=True):
        model = Moody(fails_from=9.0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = BelatedSearchCV(model, {"level": Real(0, 1)}, n_iter=4, n_jobs=2, executor=threads, cv=2)
        search.fit(X, Y, sample_weight=np.full(60, 2.0))
    assert search.best_estimator_.weight_ == 120.0


def test_groups_and_weights_reach_the_splitter_and_fit() -> None:
    groups = np.repeat([0, 1, 2], 20)
    search = BelatedSearchCV(Moody(fails_from=9.0), {"level": Real(0, 1)}, n_iter=3, cv=GroupKFold(3), random_state=0)
    search.fit(X, Y, groups=groups, sample_weight=np.ones(60))
    assert search.n_splits_ == 3
    assert search.best_estimator_.weight_ == 60.0


# What may go wrong ----------------------------------------------------------------------------------------------------


def test_a_candidate_that_fails_is_worst_and_the_search_goes_on() -> None:
    search = BelatedSearchCV(Moody(fails_from=0.5), {"level": Real(0, 1)}, n_iter=8, cv=2, random_state=0)
    with pytest.warns(FitFailedWarning, match="no luck"), pytest.warns(UserWarning, match="non-finite"):
        search.fit(X, Y)
    scores, levels = search.cv_results_["mean_test_score"], search.cv_results_["param_level"]
    assert [bool(np.isnan(score)) for score in scores] == [level >= 0.5 for level in levels]
    assert 0 < np.isnan(scores).sum() < 8
    assert search.best_params_["level"] == max(level for level in levels if level < 0.5)
    assert {trial.failure for trial in search.study_.trials() if trial.outcome is None} == {"infeasible"}


def test_a_fold_that_fails_has_the_error_score() -> None:
    data = np.arange(60.0)[:, None]
    search = BelatedSearchCV(
        Moody(fails_from=0.0, first=0), {"level": Real(1, 2)}, n_iter=3, cv=KFold(3), error_score=-7, refit=False,
        return_train_score=True,
    )  # fmt: skip
    with pytest.warns(FitFailedWarning, match="6 fits failed out of a total of 9"):  # two folds begin with row 0
        search.fit(data, Y)
    results = search.cv_results_
    assert results["split0_test_score"].tolist() == results["param_level"].tolist()
    assert results["split1_test_score"].tolist() == results["split2_train_score"].tolist() == [-7.0] * 3


def test_where_all_fail_or_errors_are_raised_the_error_is_said() -> None:
    with pytest.raises(ValueError, match=r"All the 4 fits failed(.|\n)*no luck with"):
        BelatedSearchCV(Moody(fails_from=0.0), {"level": Real(0, 1)}, n_iter=2, cv=2).fit(X, Y)
    with pytest.raises(RuntimeError, match="no luck with"):
        BelatedSearchCV(Moody(fails_from=0.0), {"level": Real(0, 1)}, n_iter=2, cv=2, error_score="raise").fit(X, Y)


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"space": {}}, "space must be a dictionary"),
        ({"space": {"alpha": 0.1}}, r"alpha must be a Real, Integer, Choice or a list of options \(got 0.1\)"),
        ({"space": {"alpha": [0.1]}}, "alpha: Choice must have at least two options"),
        ({"n_iter": 0}, r"n_iter must be at least 1 \(got 0\)"),
        (
            {"scoring": ["r2", "neg_max_error"], "refit": False},
            r"refit must name the one to maximise: r2, neg_max_error \(got False\)",
        ),
        ({"silence": None}, "silence must be given"),
    ],
)
def test_bad_input_says_the_rule(said: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        BelatedSearchCV(**{"estimator": Ridge(), "space": {"alpha": ALPHAS}} | said).fit(X, Y)


# Copies ---------------------------------------------------------------------------------------------------------------


def test_a_clone_shares_the_executor_and_a_pickle_leaves_it_out(threads: Executor) -> None:
    search = BelatedSearchCV(Ridge(), {"alpha": Real(0.1, 1)}, n_iter=2, cv=2, executor=threads, n_jobs=2).fit(X, Y)
    copy = clone(search)
    assert copy.executor is threads
    assert copy.estimator is not search.estimator
    assert not hasattr(copy, "best_params_")
    read = pickle.loads(pickle.dumps(search))  # noqa: S301
    np.testing.assert_array_equal(read.predict(X), search.predict(X))
    assert read.executor is None
    assert not hasattr(read, "study_")
    assert read.set_params(n_jobs=None).fit(X, Y).study_.rounds == 2


def test_parameters_of_the_estimator_are_set_through_the_search() -> None:
    search = BelatedSearchCV(Ridge(), {"alpha": ALPHAS}).set_params(estimator__fit_intercept=False, n_iter=2)
    assert search.get_params()["estimator__fit_intercept"] is False
    assert search.fit(X, Y).best_estimator_.intercept_ == 0.0
    assert cross_val_score(search, X, Y, cv=2).shape == (2,)  # a search inside a cross-validation
