"""The scores of one candidate, fold by fold. A search of scikit-learn's own with this candidate alone computes them."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn import config_context, get_config
from sklearn.model_selection import GridSearchCV

from belated.integrations.sklearn.space import SearchedSpace


@dataclass(frozen=True)
class FoldScores:
    """What one fold gave; if it failed, the scores are empty and `error` has the traceback."""

    fit_time: float = 0.0
    score_time: float = 0.0
    test: dict[str, float] = field(default_factory=dict)  # by metric; a single one is called "score"
    train: dict[str, float] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True)
class CandidateScorer:
    """From a query to the scores of every fold. It can be sent to other processes."""

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[Any]  # (train, test) of every fold
    given: Mapping[str, Any]  # what is handed to fit besides X and y
    scoring: Any
    train_scores: bool
    raise_errors: bool
    space: SearchedSpace
    config: Mapping[str, Any] = field(default_factory=get_config)  # scikit-learn's, which other threads do not share

    def __call__(self, query: Mapping[str, Any]) -> list[FoldScores]:
        with config_context(**self.config):
            return [self._score(self.space.decode(query), split) for split in self.splits]

    def _score(self, params: Mapping[str, Any], split: Any) -> FoldScores:
        alone = GridSearchCV(
            self.estimator,
            {name: [value] for name, value in params.items()},
            cv=[split],
            scoring=self.scoring,
            refit=False,
            error_score="raise",
            return_train_score=self.train_scores,
        )
        try:
            row = alone.fit(self.X, self.y, **self.given).cv_results_
        except Exception:
            if self.raise_errors:
                raise
            return FoldScores(error=traceback.format_exc())
        return FoldScores(
            fit_time=float(row["mean_fit_time"][0]),
            score_time=float(row["mean_score_time"][0]),
            test=_read_scores(row, "split0_test_"),
            train=_read_scores(row, "split0_train_"),
        )


def _read_scores(row: Mapping[str, Any], prefix: str) -> dict[str, float]:
    return {name.removeprefix(prefix): float(row[name][0]) for name in row if name.startswith(prefix)}


def fill_failures(
    rows: Sequence[Sequence[FoldScores]], heard: FoldScores, error_score: float, several: bool
) -> list[dict[str, Any]]:
    """Every fold of every candidate as scikit-learn notes it; those that failed have the error score in each metric."""
    none = dict.fromkeys(heard.test, error_score), dict.fromkeys(heard.train, error_score)
    filled = [(fold, *(none if fold.error else (fold.test, fold.train))) for row in rows for fold in row]
    return [
        {
            "fit_time": fold.fit_time,
            "score_time": fold.score_time,
            "test_scores": test if several else test["score"],
            "train_scores": train if several or not train else train["score"],
        }
        for fold, test, train in filled
    ]
