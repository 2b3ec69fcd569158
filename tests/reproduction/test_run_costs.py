"""Costs survive their file."""

from pathlib import Path

import pytest

from belated.errors import Unreadable
from reproduction.run_costs import TITLES, RunCost, read_costs, write_costs


def test_costs_are_read_again(tmp_path: Path) -> None:
    costs = [RunCost("fig1c", "GP-UCB", "text", seed, 104, 1.25 * seed, 0.1) for seed in (2, 0, 1)]
    write_costs(tmp_path / "costs.csv", costs)
    assert read_costs(tmp_path / "costs.csv") == sorted(costs)
    assert (tmp_path / "costs.csv").read_text().splitlines()[:2] == [",".join(TITLES), "fig1c,GP-UCB,text,0,104,0,0.1"]
    (tmp_path / "costs.csv").write_text(",".join(TITLES) + "\nfig1c,GP-UCB,text,0,104,fast,0.1\n")
    with pytest.raises(Unreadable, match="line 2: learner_s must be a finite number"):
        read_costs(tmp_path / "costs.csv")
