"""A search over hyperparameters by cross-validation, in which no candidate waits for another."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, check_cv
from sklearn.utils import check_random_state, indexable

from belated import Study
from belated.algorithms import Algorithm
from belated.errors import InvalidInput
from belated.integrations.sklearn.candidates import find_executor, try_candidates
from belated.integrations.sklearn.folds import CandidateScorer, FoldScores, fill_failures
from belated.integrations.sklearn.space import SearchedSpace
from belated.silence import Silence
from belated.validation import format_value, require_whole


class BelatedSearchCV(GridSearchCV):  # type: ignore[misc]  # the base of all searches is private
    """GridSearchCV with belated's choices: each candidate is chosen with the scores that have come by then.

    estimator   what is tuned, as in GridSearchCV
    space       {"C": Real(0.1, 10, log=True), "kernel": ["linear", "rbf"]}; a list is a choice between any objects
    n_iter      how many candidates are tried; fewer if the space has fewer
    n_jobs      how many candidates are evaluated at once. None: one, in this process; more: in processes, as
                scikit-learn does; -1: one for each core
    executor    any concurrent.futures.Executor instead, which evaluates n_jobs candidates at once. It is shared by
                clones, and left out of pickles
    algorithm   "default", or a value of belated.algorithms
    silence     what the score of a candidate that is being evaluated counts as, as in Study.create
    random_state  makes the search repeatable, as long as n_jobs is 1

    scoring, refit, cv, verbose, error_score and return_train_score are those of GridSearchCV, and so is what a fitted
    search has: cv_results_, best_params_, best_score_, best_estimator_ and the rest. `study_` is the study.
    With several metrics, refit names the one that is maximised.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from belated import Real
    >>> from belated.integrations.sklearn import BelatedSearchCV
    >>> with ThreadPoolExecutor(4) as threads:
    ...     search = BelatedSearchCV(
    ...         Ridge(), {"alpha": Real(1e-4, 10, log=True)}, n_iter=10, n_jobs=4, executor=threads, random_state=0
    ...     ).fit(*load_diabetes(return_X_y=True))
    >>> len(search.cv_results_["params"]), bool(search.best_score_ > 0.48)
    (10, True)
    """

    def __init__(
        self,
        estimator: Any,
        space: Mapping[str, Any],
        *,
        n_iter: int = 20,
        scoring: Any = None,
        n_jobs: int | None = None,
        executor: Executor | None = None,
        refit: bool | str | Callable[..., int] = True,
        cv: Any = None,
        verbose: int = 0,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
        algorithm: str | Algorithm = "default",
        silence: str | Silence = "unknown",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.n_iter = n_iter
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.executor = executor
        self.refit = refit
        self.cv = cv
        self.verbose = verbose
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.algorithm = algorithm
        self.silence = silence
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Try candidates, and fit the best one on all data. params are those of GridSearchCV.fit."""
        self._validate_params()
        self.scorer_ = self._find_scorers()
        X, y = indexable(X, y)
        routed = self._get_routed_params_for_fit(params)
        folds = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        score = CandidateScorer(
            estimator=clone(self.estimator),
            X=X,
            y=y,
            splits=list(folds.split(X, y, **routed.splitter.split)),
            given={**routed.scorer.score, **routed.estimator.fit},
            scoring=self.scoring,
            train_scores=self.return_train_score,
            raise_errors=self.error_score == "raise",
            space=SearchedSpace.of(self.space),
        )
        self.n_splits_ = len(score.splits)
        rows = self._try_candidates(score)
        self._collect(rows, [score.space.decode(trial.params) for trial in self.study_.trials()])
        if self.refit:
            self._refit(X, y, routed.estimator.fit)
        return self

    def _find_scorers(self) -> Any:
        """The scorer, or several by name."""
        scorers, _ = self._get_scorers()  # refuses what is wrong, as every search does
        if isinstance(self.scoring, dict):
            return {name: check_scoring(self.estimator, scoring=each) for name, each in self.scoring.items()}
        if isinstance(self.scoring, list | tuple | set):
            return {name: check_scoring(self.estimator, scoring=name) for name in self.scoring}
        return scorers

    def _try_candidates(self, score: CandidateScorer) -> list[list[FoldScores]]:
        rounds, jobs = require_whole(self.n_iter, "n_iter"), effective_n_jobs(self.n_jobs)
        if rounds < 1:
            raise InvalidInput(f"n_iter must be at least 1 (got {rounds})")
        seed = None if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        self.study_ = Study.create(
            space=score.space.parameters, algorithm=self.algorithm, silence=self.silence, repeats="never", seed=seed
        )
        return try_candidates(self.study_, score, self._read_outcome, find_executor(self.executor, jobs), rounds, jobs)

    def _read_outcome(self, folds: list[FoldScores]) -> float:
        """What is maximised: the mean test score. NaN if a fold failed and has no score."""
        failed = self._failed_score
        return float(np.mean([failed if fold.error else fold.test[self._metric(fold)] for fold in folds]))

    @property
    def _failed_score(self) -> float:
        return math.nan if isinstance(self.error_score, str) else float(self.error_score)

    def _metric(self, fold: FoldScores) -> str:
        if "score" in fold.test and len(fold.test) == 1:
            return "score"
        if isinstance(self.refit, str) and self.refit in fold.test:
            return self.refit
        raise InvalidInput(
            f"with several metrics, refit must name the one to maximise: {', '.join(fold.test)} "
            f"(got {format_value(self.refit)})"
        )

    def _collect(self, rows: list[list[FoldScores]], candidates: list[dict[str, Any]]) -> None:
        """cv_results_, and the best of them."""
        self._report_failures([fold.error for row in rows for fold in row if fold.error])
        heard = next(fold for row in rows for fold in row if not fold.error)
        metric = self._metric(heard)
        self.multimetric_ = metric != "score"
        self.cv_results_ = self._format_results(
            candidates, self.n_splits_, fill_failures(rows, heard, self._failed_score, self.multimetric_)
        )
        self.best_index_ = self._select_best_index(self.refit, metric, self.cv_results_)
        if not callable(self.refit):
            self.best_score_ = self.cv_results_[f"mean_test_{metric}"][self.best_index_]
        self.best_params_ = self.cv_results_["params"][self.best_index_]

    def _report_failures(self, errors: list[str]) -> None:
        fits = self.study_.rounds * self.n_splits_
        if len(errors) == fits:
            raise ValueError(f"All the {fits} fits failed. The last error:\n{errors[-1]}")
        if errors:
            warnings.warn(
                f"{len(errors)} fits failed out of a total of {fits}. Their score is {self.error_score}; "
                f"error_score='raise' raises the error. The last one:\n{errors[-1]}",
                FitFailedWarning,
                stacklevel=3,
            )

    def _refit(self, X: Any, y: Any, given: Mapping[str, Any]) -> None:
        best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
        begin = time.perf_counter()
        self.best_estimator_ = best.fit(X, **given) if y is None else best.fit(X, y, **given)
        self.refit_time_ = time.perf_counter() - begin
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy, with the same executor."""
        params = self.get_params(deep=False)
        copies = {name: clone(value, safe=False) for name, value in params.items() if name != "executor"}
        return type(self)(**copies, executor=self.executor)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: None if name == "executor" else value for name, value in state.items() if name != "study_"}
