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
from benchmarks.scale.regret import PairJob, PairRow
from tests.support.summaries import use_sizes


def row(task: str = "gp2", seed: int = 0, exact: float = 1.0, approximate: float = 1.0) -> PairRow:
    plain = {"history": regret.HISTORY, "rounds": regret.ROUNDS, "exact_cpu": 0.3, "approximate_cpu": 0.1}
    plain |= {"summarised": 1000, "centres": 64}
    return PairRow(task=task, seed=seed, exact=exact, approximate=approximate, **plain)


def test_both_go_on_from_one_history(tmp_path):
    """As long as nothing is summarised, both models are one."""
    found = regret.run_pair(PairJob("hartmann3", 0, history=8, rounds=3), tmp_path)
    assert found.exact == found.approximate > 0
    assert found.summarised == 0
    again = regret.run_pair(PairJob("hartmann3", 0, history=8, rounds=3), tmp_path)  # the history is kept
    assert again.exact == found.exact


def test_only_one_of_them_is_approximate(tmp_path, monkeypatch):
    use_sizes(monkeypatch, Sizes(exact=20, centres=6, newest=4, block=4))
    found = regret.run_pair(PairJob("gp2", 0, history=24, rounds=6), tmp_path)
    assert found.summarised == 6
    assert found.exact != found.approximate

    monkeypatch.setattr(regret, "keep_exact", nullcontext)
    with pytest.raises(RuntimeError, match="6 rounds of the exact model were not"):
        regret.run_pair(PairJob("gp2", 0, history=24, rounds=6), tmp_path)


def test_the_bound_is_students():
    rows = [row(seed=i, approximate=value) for i, value in enumerate((1.0, 1.1, 0.9, 1.2))]
    logs = np.log([each.approximate for each in rows])
    ratio = regret.compute_ratio(rows)
    interval = ttest_1samp(logs, 0.0).confidence_interval(0.95)
    assert ratio.mean == pytest.approx(math.exp(np.mean(logs)))
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert "NOT below 1.1" in regret.report(rows)
    assert "too few pairs" in regret.report(rows[:1])


def test_a_pair_that_is_kept_is_not_run_again(tmp_path, monkeypatch, capsys):
    out = tmp_path / "regret.csv"
    append_row(row(), out)
    ran = []

    def run(run, jobs, workers, keep, executor):
        assert executor is None
        ran.extend(jobs)
        assert "hartmann3" in keep(row("hartmann3"))

    monkeypatch.setattr(regret, "run_and_say", run)
    assert regret.main(["--tasks", "gp2", "hartmann3", "--seeds", "1", "--out", str(out)]) == 0
    assert ran == [PairJob("hartmann3", 0)]
    assert "hartmann3" in capsys.readouterr().out


@pytest.mark.long
def test_one_seed_is_not_much_worse_than_the_exact_model(tmp_path):
    """One pair says little about the mean ratio: it bounds what a mistake in the model would do."""
    found = regret.run_pair(PairJob("hartmann3", 0), tmp_path)
    assert found.centres > 0
    assert found.approximate < 1.5 * found.exact
