"""The regret beyond 2,000 rounds: one history, two models; its arithmetic and its cache."""

from __future__ import annotations

import math
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from belated.learner.gp.summary import Sizes
from benchmarks.rows import append_row
from benchmarks.scale import regret
from benchmarks.scale.regret import ModelRow, PairJob
from tests.support.summaries import use_sizes


def row(model: str, value: float = 1.0, task: str = "gp2", seed: int = 0) -> ModelRow:
    plain = {"history": regret.HISTORY, "rounds": regret.ROUNDS, "cpu": 0.3, "summarised": 0, "centres": 64}
    return ModelRow(task=task, seed=seed, model=model, regret=value, **plain)


def test_both_go_on_from_one_history(tmp_path):
    """As long as nothing is summarised, both models are one."""
    exact, approximate = regret.run_pair(PairJob("hartmann3", 0, history=8, rounds=3), tmp_path)
    assert exact.regret == approximate.regret > 0
    assert approximate.summarised == 0
    (again,) = regret.run_pair(PairJob("hartmann3", 0, ("exact",), history=8, rounds=3), tmp_path)
    assert again.regret == exact.regret  # the history is kept


def test_only_one_of_them_is_approximate(tmp_path, monkeypatch):
    use_sizes(monkeypatch, Sizes(exact=20, centres=6, newest=4, block=4, aside=3))
    exact, approximate = regret.run_pair(PairJob("gp2", 0, history=24, rounds=6), tmp_path)
    assert (exact.summarised, approximate.summarised) == (0, 6)
    assert exact.regret != approximate.regret

    monkeypatch.setattr(regret, "keep_exact", nullcontext)
    with pytest.raises(RuntimeError, match="6 rounds of the exact model were not"):
        regret.run_pair(PairJob("gp2", 0, history=24, rounds=6), tmp_path)


def test_the_bound_is_students():
    values = (1.0, 1.1, 0.9, 1.2)
    rows = [
        each for i, value in enumerate(values) for each in (row("exact", seed=i), row("approximate", value, seed=i))
    ]
    ratio = regret.compute_ratio(regret.pair_rows(rows))
    interval = ttest_1samp(np.log(values), 0.0).confidence_interval(0.95)
    assert ratio.mean == pytest.approx(math.exp(np.mean(np.log(values))))
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert "NOT below 1.1" in regret.report(rows)
    assert "too few pairs" in regret.report(rows[:3])
    assert "No pair" in regret.report(rows[:1])


def test_what_is_kept_is_not_run_again(tmp_path, monkeypatch, capsys):
    out, ran = tmp_path / "regret.csv", list[PairJob]()
    for model in ("exact", "approximate"):
        append_row(row(model), out)

    def run(run, jobs, workers, keep, executor):
        assert executor is None
        ran[:] = jobs
        assert "2.00 approximate" in keep([row("approximate", 2.0, jobs[0].task)])

    monkeypatch.setattr(regret, "run_and_say", run)
    both = ["--tasks", "gp2", "hartmann3", "--seeds", "1", "--out", str(out)]
    assert regret.main(both) == 0
    assert ran == [PairJob("hartmann3", 0)]
    assert regret.main([*both, "--again", "approximate"]) == 0
    assert ran == [PairJob("gp2", 0, ("approximate",)), PairJob("hartmann3", 0)]
    assert "gp2" in capsys.readouterr().out


@pytest.mark.long
def test_one_seed_is_not_much_worse_than_the_exact_model(tmp_path):
    """One pair says little about the mean ratio: it bounds what a mistake in the model would do."""
    exact, approximate = regret.run_pair(PairJob("hartmann3", 1), tmp_path)
    assert approximate.centres > 0
    assert approximate.regret < 2.0 * exact.regret
