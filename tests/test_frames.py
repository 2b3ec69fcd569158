"""Trials as a data frame."""

import sys

import pytest

from belated import Choice, Real, Study, Unavailable
from belated.frames import list_columns


def make_study() -> Study:
    space = {"x": Real(0, 1), "status": Choice("a", "b")}
    study = Study.create(space=space, context={"u": Real(0, 1)}, silence="unknown", seed=0)
    study.add({"x": 0.25, "status": "a"}, 0.5, context={"u": 0.1})
    study.fail(study.ask(context={"u": 0.2}), "lost")
    return study


def test_a_row_has_all_of_a_trial_and_a_name_that_is_taken_is_spelled_out() -> None:
    pandas = pytest.importorskip("pandas")
    study = make_study()
    frame = study.to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns[:4]) == ["number", "x", "params.status", "context.u"]
    assert list(frame["status"]) == ["heard", "failed"]
    assert frame["outcome"][0] == 0.5
    assert [trial.params["x"] for trial in study.trials()] == list(frame["x"])
    assert dict(frame.iloc[0][["params.status", "context.u"]]) == {"params.status": "a", "context.u": 0.1}


def test_polars_is_used_without_pandas_and_without_both_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Polars:
        @staticmethod
        def DataFrame(columns: dict[str, list[object]], strict: bool) -> object:
            return "polars", list(columns)

    study = make_study()
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", Polars)
    assert study.to_dataframe() == ("polars", list(list_columns(study.settings, study.trials())))
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(Unavailable, match="pip install pandas"):
        study.to_dataframe()
