"""A study from a data frame: its rows in order, what is empty as pending, all of them or none."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")

import pandas

from belated import Choice, Integer, Real, Study
from belated.errors import AlreadyExists, InvalidInput, Outside

SPACE = {"heat": Real(0, 100), "stages": Integer(1, 5), "kind": Choice("a", "b")}


def make_frame(**columns: Any) -> Any:
    return pandas.DataFrame(
        {
            "note": ["x", "y", "z"],
            "yield": [0.25, None, 0.75],
            "kind": ["a", "b", "a"],
            "stages": [1, 2, 5],
            "heat": np.array([10.0, 20.0, 30.0], dtype=np.float32),
        }
        | columns
    )


def make_study(frame: Any, *where: str, **said: Any) -> Study:
    return Study.from_dataframe(
        frame, *where, **{"outcome": "yield", "space": SPACE, "silence": "unknown", "seed": 0} | said
    )


def test_rows_are_trials_in_their_order(tmp_path: Path) -> None:
    study = make_study(make_frame(), f"sqlite:///{tmp_path}/lab.db", "s")
    assert [dict(trial.params) for trial in study.trials()] == [
        {"heat": 10.0, "stages": 1, "kind": "a"},
        {"heat": 20.0, "stages": 2, "kind": "b"},
        {"heat": 30.0, "stages": 5, "kind": "a"},
    ]
    assert [(trial.outcome, trial.status) for trial in study.trials()] == [
        (0.25, "heard"),
        (None, "pending"),
        (0.75, "heard"),
    ]
    with pytest.raises(AlreadyExists, match="has 3 trials already; add rows with add_many"):
        make_study(make_frame(), f"sqlite:///{tmp_path}/lab.db", "s")


@pytest.mark.parametrize("empty", [None, np.nan, pandas.NA, pandas.NaT])
def test_whatever_is_empty_is_pending(empty: object) -> None:
    study = make_study(make_frame(**{"yield": pandas.Series([1.0, empty, 2], dtype=object)}))
    assert [trial.outcome for trial in study.trials()] == [1.0, None, 2.0]


def test_contexts_times_and_noise_have_columns_too() -> None:
    when = pandas.to_datetime(["2026-03-01", "2026-03-02", "2026-03-03"], utc=True)
    frame = make_frame(sun=[0.1, 0.2, 0.3], when=when, sd=[0.5, None, None])
    study = make_study(frame, context={"sun": Real(0, 1)}, at="when", noise="sd")
    assert [trial.context for trial in study.trials()] == [{"sun": 0.1}, {"sun": 0.2}, {"sun": 0.3}]
    assert [trial.asked_at for trial in study.trials()] == [one.timestamp() for one in when]
    assert [trial.noise for trial in study.trials()] == [0.5, None, None]


def test_a_frame_of_polars_will_do() -> None:
    class Frame:
        """What polars calls its rows."""

        def to_dicts(self) -> list[dict[str, Any]]:
            return [{"heat": 1.0, "stages": 1, "kind": "b", "yield": 3.0}]

    assert make_study(Frame()).trial(1).outcome == 3.0


def test_what_does_not_fit_adds_nothing() -> None:
    with pytest.raises(InvalidInput, match=r"a column for each of heat, stages, kind, gain \(got note, yield"):
        make_study(make_frame(), outcome="gain")
    with pytest.raises(Outside, match="heat"):
        make_study(make_frame(heat=[1.0, 2.0, 3e9]))
    with pytest.raises(InvalidInput, match="frame must be a data frame of pandas or polars"):
        make_study([1, 2])
    assert make_study(make_frame().iloc[:0]).rounds == 0
