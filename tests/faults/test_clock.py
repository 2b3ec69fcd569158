"""A clock ten years back or forth: ages are never negative, order comes from positions, nothing is lost."""

from __future__ import annotations

import pytest

from belated import Real, Study
from tests.faults.world import sound

YEARS = 10 * 365.25 * 86400
NOW = 1_700_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def clocked(url: str, clock: Clock, silence: str = "floor") -> Study:
    return Study.create(
        url, "lab", space={"x": Real(0, 1)}, silence=silence, floor=0.0, patience="14d", seed=3, initial=2, clock=clock
    )


@pytest.mark.parametrize("jump", [-YEARS, YEARS], ids=["back", "forth"])
@pytest.mark.parametrize("silence", ["floor", "unknown", "waiting"])
def test_a_jump_between_asking_and_telling(url: str, jump: float, silence: str) -> None:
    clock = Clock()
    study = clocked(url, clock, silence)
    trials = [study.ask() for _ in range(4)]
    clock.now += jump
    receipt = study.tell(trials[0], 0.5)
    assert receipt.status == ("late" if jump > 0 else "heard")
    assert receipt.delay >= 0.0
    assert study.trial(1).outcome == 0.5
    assert [trial.status for trial in study.trials()[1:]] == (["expired"] if jump > 0 else ["pending"]) * 3
    asked = study.ask()
    assert (asked.number, asked.knew_trials) == (5, 4)
    clock.now -= jump  # and back to what it was: what was told stays told
    assert study.trial(1).outcome == 0.5
    assert [trial.status for trial in study.trials()[1:4]] == ["pending"] * 3
    study.tell(trials[1], 0.25)
    study.ask()
    mean, std, _, _ = study.posterior([{"x": 0.3}])
    again = Study.open(url, "lab", clock=lambda: clock.now + 1.0)
    assert again.posterior([{"x": 0.3}]).mean == pytest.approx(mean, abs=1e-9)
    assert again.posterior([{"x": 0.3}]).std == pytest.approx(std, abs=1e-9)
    sound(url)


def test_workers_whose_clocks_disagree(url: str) -> None:
    """Numbers and positions are in the order of writing, whatever the workers' clocks say."""
    ahead, behind = Clock(), Clock()
    ahead.now, behind.now = NOW + YEARS, NOW - YEARS
    one = clocked(url, ahead)
    two = Study.open(url, "lab", clock=behind)
    for i in range(6):
        trial = (one, two)[i % 2].ask()
        assert (trial.number, trial.knew_trials) == (i + 1, i)
        receipt = (two, one)[i % 2].tell(trial, 0.1 * i)
        assert receipt.delay >= 0.0
    assert [trial.outcome for trial in one.trials()] == [trial.outcome for trial in two.trials()]
    assert sound(url).outcomes == 6
