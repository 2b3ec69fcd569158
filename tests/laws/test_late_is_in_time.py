"""A late outcome re-opens its query: with late="use" the belief is what it would have been had it come in time."""

import numpy as np
import pytest

import belated
from belated import Real, Study

POINTS = np.random.default_rng(4).random(16)
LATE = 3  # the trial whose outcome comes late, or in time


def told(silence: str, at_once: bool) -> Study:
    """Sixteen queries by hand, patience 4, every outcome heard but the last two; one of them eleven rounds late."""
    study = Study.create(
        space={"x": Real(0, 1)}, floor=0.0, ceiling=1.0, silence=silence, patience=4, late="use", initial=1000, seed=0
    )
    trials = [study.ask(params={"x": float(x)}) for x in POINTS[:LATE]]
    for trial in trials[:-1]:
        study.tell(trial, 0.5 + 0.4 * np.sin(6 * trial.params["x"]))
    if at_once:
        study.tell(trials[-1], 0.9)
    for x in POINTS[LATE:]:
        trial = study.ask(params={"x": float(x)})
        if trial.number <= len(POINTS) - 2:
            study.tell(trial, 0.5 + 0.4 * np.sin(6 * x))
    if not at_once:
        assert study.trial(LATE).status == "expired"
        assert study.tell(LATE, 0.9).status == "late"
    return study


@pytest.mark.parametrize("silence", ["floor", "unknown", "waiting", "ignored", "nearest"])
def test_the_belief_is_the_same(silence: str) -> None:
    x = [{"x": float(v)} for v in np.linspace(0, 1, 50)]
    late, in_time = (told(silence, at_once).posterior(x) for at_once in (False, True))
    assert late.mean == pytest.approx(in_time.mean, abs=1e-9)
    assert late.std == pytest.approx(in_time.std, abs=1e-9)


def test_before_it_comes_the_belief_is_another() -> None:
    study = told("floor", at_once=True)
    ignoring = belated.Study.create(
        space={"x": Real(0, 1)}, floor=0.0, ceiling=1.0, silence="floor", patience=4, late="use", initial=1000, seed=0
    )
    for x in POINTS:
        trial = ignoring.ask(params={"x": float(x)})
        if trial.number != LATE and trial.number <= len(POINTS) - 2:
            ignoring.tell(trial, 0.5 + 0.4 * np.sin(6 * x))
    at = [{"x": float(POINTS[LATE - 1])}]
    assert study.posterior(at).mean[0] - ignoring.posterior(at).mean[0] > 0.05


def test_the_next_ask_refits() -> None:
    """Not for five queries or twice as many outcomes since the last fit: for a query that counts again."""
    study = Study.create(space={"x": Real(0, 1)}, floor=0.0, silence="floor", patience=4, late="use", initial=4, seed=0)
    trials = []
    for s in range(1, 61):
        trials.append(study.ask())
        if s != LATE:
            study.tell(trials[-1], 0.5 + 0.4 * float(np.sin(6 * trials[-1].params["x"])))
    study.ask()
    while refitted(study):  # until there is a query for which nothing was fitted
        study.tell(study.rounds, 0.5)
        study.ask()
    study.tell(LATE, 0.9)
    assert study.trial(LATE).status == "late"
    study.ask()
    assert refitted(study)


def refitted(study: Study) -> bool:
    """Whether hyperparameters were fitted for the newest query."""
    return study.hyperparameters()[-1].number == study.rounds
