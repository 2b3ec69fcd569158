"""A study with more rows than one factor holds: beyond that its belief is summarised, and every law stays as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from belated import Real, Study, algorithms, kernels
from belated.learner.gp import summary
from belated.learner.gp.summary import Sizes
from tests.support.summaries import use_sizes

FEW = Sizes(exact=40, centres=24, newest=12, block=8, aside=3)
NOTE = "outcomes are summarised around"
SPACE = {"x": Real(0, 1), "y": Real(0, 1)}
SILENCES = ("floor", "unknown", "waiting", "fading", "ignored", "nearest")
SIX = ("GP-UCB-SDF", "GP-TS-SDF", "GP-BUCB", "GP-BTS", "GP-UCB", "asy-TS")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    use_sizes(monkeypatch, FEW)


def measure(x: float, y: float) -> float:
    return float(np.sin(3 * x) * y + 0.5 * ((7919.0 * x + 104729.0 * y) % 1.0))  # the last part is as good as noise


def add_rows(study: Study, n: int, pending: int = 4) -> None:
    """Outcomes of n queries, and some queries whose outcomes are out."""
    context = {} if study.settings.context is None else {"context": {"z": 0.4}}
    points = np.random.default_rng(1).random((n + pending, 2)).tolist()
    rows = [{"params": {"x": x, "y": y}, "value": measure(x, y), **context} for x, y in points]
    study.add_many([*rows[:n], *({**row, "value": None} for row in rows[n:])])


def make(url: str | None = None, **settings: object) -> Study:
    return Study.create(url, "lab", space=SPACE, floor=-2.0, ceiling=2.0, seed=0, **settings)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("silence", SILENCES)
def test_every_silence_can_be_summarised(silence):
    study = make(silence=silence, patience=30)
    add_rows(study, 70)
    for _ in range(3):
        trial = study.ask()
        assert NOTE in trial.note
        study.tell(trial, measure(**trial.params))
    assert study.hyperparameters()[-1].centres
    assert all(study.replay(number).same for number in (75, 77))


@pytest.mark.parametrize("silence", SILENCES)
def test_with_every_old_query_a_centre_a_study_believes_what_it_would_without_a_summary(silence, monkeypatch, tmp_path):
    use_sizes(monkeypatch, replace(FEW, centres=1000))
    monkeypatch.setattr(summary, "CLOSE", 0.0)
    study = make(url := f"sqlite:///{tmp_path}/lab.db", silence=silence, patience=30)
    add_rows(study, 73, pending=2)
    fitted = study.refit()
    assert fitted is not None
    assert len(fitted.centres) == 56
    points = [{"x": x, "y": 0.5} for x in (0.1, 0.4, 0.9)]
    believed = study.posterior(points, pending=True)
    use_sizes(monkeypatch, Sizes())
    exact = Study.open(url, "lab").posterior(points, pending=True)
    assert_allclose(believed.mean, exact.mean, atol=1e-6)
    assert_allclose(believed.std, exact.std, atol=1e-6)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("algorithm", SIX)
def test_a_trial_of_the_six_says_that_its_belief_is_approximate(algorithm):
    study = make(algorithm=algorithm, patience=30 if "SDF" in algorithm else None)
    add_rows(study, 30)
    assert NOTE not in study.ask().note
    add_rows(study, 60)
    trial = study.ask()
    assert NOTE in trial.note
    assert study.replay(trial.number).same


@pytest.mark.parametrize("algorithm", SIX)
def test_a_query_far_from_the_others_is_not_forgotten_once_it_is_old(algorithm, monkeypatch):
    """It was asked after the centres were chosen, so that none is near; by and by it is not one of the newest."""
    points = 0.4 * np.random.default_rng(2).random((130, 2))
    points[60] = 1.0
    by_hand = algorithms.paper(algorithm, kernel=kernels.SE(0.3), lam=0.05, refit_every=None)

    def believe(sizes: Sizes) -> np.ndarray:
        use_sizes(monkeypatch, sizes)
        study = make(algorithm=by_hand, patience=300 if "SDF" in algorithm else None)
        study.add_many([{"params": {"x": x, "y": y}, "value": measure(x, y)} for x, y in points.tolist()])
        return np.array(study.posterior([{"x": 1.0, "y": 1.0}, {"x": 0.2, "y": 0.2}], pending=True).std)

    exact, kept, forgotten = (believe(sizes) for sizes in (Sizes(), FEW, replace(FEW, aside=0)))
    assert_allclose(kept, exact, rtol=0.1)
    assert forgotten[0] > 3 * exact[0]


@pytest.mark.usefixtures("few")
def test_contexts_are_summarised_too():
    study = make(silence="unknown", context={"z": Real(0, 1)})
    add_rows(study, 70)
    trial = study.ask(context={"z": 0.6})
    assert NOTE in trial.note
    assert study.replay(trial.number).same


@pytest.mark.usefixtures("few")
def test_other_workers_and_restarts_choose_the_same(tmp_path):
    """The centres are recorded with the fit; a handle that saw everything grow and one that has just read it agree."""
    url = f"sqlite:///{tmp_path}/lab.db"
    mine = Study.create(url, "lab", space=SPACE, silence="unknown", seed=0)
    add_rows(mine, 60)
    for _ in range(12):
        mine.tell(trial := mine.ask(), measure(**trial.params))
    other = Study.open(url, "lab")
    assert other.hyperparameters() == mine.hyperparameters()
    assert other.ask().params == mine.replay(mine.rounds).params
    assert all(mine.replay(number).same for number in range(65, mine.rounds + 1))


@pytest.mark.usefixtures("few")
def test_a_kernel_by_hand_is_summarised_around_the_first_queries():
    by_hand = algorithms.paper("GP-UCB-SDF", kernel=kernels.SE(0.3), lam=0.05, refit_every=None)
    study = make(algorithm=by_hand, patience=30)
    add_rows(study, 70)
    trial = study.ask()
    assert NOTE in trial.note
    assert not study.hyperparameters()
    assert study.replay(trial.number).same
