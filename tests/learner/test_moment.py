"""The choices of one moment: row by row as at once, whatever was looked at before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from belated import Choice, Points, Real, Study
from belated.learner.cell_kernel import make_posterior
from belated.learner.conversions import Cells, believe_rates
from belated.learner.gp.kernels import Matern52, Product
from belated.learner.gp.posterior import GP
from belated.learner.moment import Moment, RateBelief

GRID = np.linspace(0.0, 1.0, 7)[:, None]


def list_queries(z: float) -> np.ndarray:
    return np.hstack([np.full_like(GRID, z), GRID])


def make_moment(literal: bool) -> Moment:
    rng = np.random.default_rng(4)
    X = np.vstack([list_queries(0.0)[:5], list_queries(0.6)[2:]])
    n = rng.integers(20, 60, len(X)).astype(float)
    first = np.arange(1, len(X) + 1)
    cells = Cells(first, X, rng.binomial(n.astype(int), 0.2).astype(float), 0.6 * n, n, c=1.0, mean=1.0, doubt=0.0)
    gp = GP(Product(Matern52(0.5), Matern52(0.3)).on([(1,), (1,)]), 1.0, -1.5)
    return Moment(believe_rates(gp, cells).ahead, cells, literal, np.empty((0, 2)))


FRESH = np.array([[0.0, 0.5], [0.6, 1.0], [0.0, 0.5], [0.0, 1.0], [0.6, 0.0], [0.6, 0.45], [0.0, 0.5]])


@pytest.mark.parametrize("literal", [False, True])
def test_row_by_row_is_the_belief_as_a_whole(literal: bool) -> None:
    moment = make_moment(literal)
    for count in (0, 1, 4, 7, 3):  # the last one goes back
        belief = RateBelief(moment, FRESH[:count], np.array([0.6]))
        for z in (0.6, 0.0):
            mean, std = belief.mean_and_std(list_queries(z))
            whole_mean, whole_std = belief.posterior.mean_and_std(list_queries(z))
            np.testing.assert_allclose(mean, whole_mean, rtol=0, atol=1e-9)
            level_std = belief.posterior.level_std(list_queries(z))
            np.testing.assert_allclose(std, np.hypot(whole_std, level_std), rtol=0, atol=1e-9)


@pytest.mark.parametrize("literal", [False, True])
def test_before_any_cell_the_constant_mean_is_known(literal: bool) -> None:
    some = make_moment(literal)
    cells = some.cells.begin(0)
    moment = Moment(believe_rates(some.posterior.gp, cells).ahead, cells, literal, np.empty((0, 2)))
    belief = RateBelief(moment, FRESH, np.array([0.6]))
    whole = belief.posterior.mean_and_std(list_queries(0.6))
    np.testing.assert_allclose(belief.mean_and_std(list_queries(0.6)), whole, rtol=0, atol=1e-9)


def test_the_constant_mean_is_as_uncertain_as_without_any_prior() -> None:
    """A constant of variance 10⁶ in the kernel says the same, where the fitted mean is the likeliest."""
    moment, queries, wide = make_moment(literal=True), list_queries(0.6), 1e6
    base = moment.posterior
    likeliest = replace(base.gp, mean=base.gp.mean + float(np.sum(base.alpha)) / base.level_precision)
    moment.posterior = base = make_posterior(likeliest, base.X, base.y_tilde, base.lams, base.factor)
    mean, std = RateBelief(moment, FRESH, np.array([0.6])).mean_and_std(queries)
    X, noise = np.vstack([base.X, moment.asked.X]), np.append(base.lams, moment.asked.noise)
    z = np.append(base.y_tilde, moment.asked.z) - likeliest.mean
    C, k = likeliest.kernel(X, X) + wide + np.diag(noise), likeliest.kernel(queries, X) + wide
    np.testing.assert_allclose(mean, likeliest.mean + k @ np.linalg.solve(C, z), atol=1e-5)
    variance = likeliest.kernel.diag(queries) + wide - np.einsum("ij,ji->i", k, np.linalg.solve(C, k.T))
    np.testing.assert_allclose(std, np.sqrt(variance), atol=1e-5)


def test_what_is_asked_now_lowers_the_mean_under_floor_alone() -> None:
    asked = FRESH[[0, 1, 3, 4, 5]]
    means, stds = zip(
        *(
            RateBelief(make_moment(literal), fresh, np.array([0.0])).mean_and_std(asked)
            for literal, fresh in ((False, FRESH[:0]), (False, FRESH), (True, FRESH))
        ),
        strict=True,
    )
    np.testing.assert_allclose(means[1], means[0], rtol=0, atol=1e-12)
    assert np.all(means[2] < means[0])
    assert np.all(stds[1] < stds[0])


# In a study

SPACES = {"listed": Points([0.0, 0.25, 0.5, 0.75, 1.0]), "continuous": {"x": Real(0, 1)}}
CONTEXTS = [{"who": who} for who in "abbabaab"]


def run_campaign(space: object, silence: str) -> tuple[Study, list[float]]:
    now = [0.0]
    study = Study.create(
        space=space,
        context={"who": Choice("a", "b")},
        outcomes="conversion",
        silence=silence,
        patience="7d",
        seed=0,
        clock=lambda: now[0],
    )
    rng = np.random.default_rng(1)
    for hour in range(6):
        now[0] = 3600.0 * hour
        for trial in study.ask(contexts=CONTEXTS):
            if rng.random() < 0.3:
                study.tell(trial, 1, at=now[0] + 600.0)
    now[0] += 3600.0
    return study, now


@pytest.mark.parametrize("silence", ["floor", "fading"])
@pytest.mark.parametrize("space", list(SPACES))
def test_a_batch_is_as_many_asks_at_one_moment_and_can_be_replayed(space: str, silence: str) -> None:
    whole, _ = run_campaign(SPACES[space], silence)
    single, _ = run_campaign(SPACES[space], silence)
    batch = whole.ask(contexts=CONTEXTS)
    assert [trial.params for trial in batch] == [single.ask(context=context).params for context in CONTEXTS]
    for number in (3, 20, 44, *(trial.number for trial in batch)):
        assert whole.replay(number).same


def test_a_moment_ends_when_something_is_told() -> None:
    """What is told between two asks at the same clock reading is known to the second."""
    study, _ = run_campaign(SPACES["listed"], "fading")
    first = study.ask(context=CONTEXTS[0])
    before = study.posterior([first.params], context=CONTEXTS[0]).mean[0]
    study.tell(first, 1)
    second = study.ask(context=CONTEXTS[0])
    assert study.posterior([first.params], context=CONTEXTS[0]).mean[0] > before
    assert study.replay(second.number).same


@pytest.mark.parametrize("space", list(SPACES))
def test_the_first_batch_is_as_many_first_asks(space: str) -> None:
    """Before anything is heard, and over more queries than the list has."""
    together, alone = (
        Study.create(
            space=SPACES[space],
            context={"who": Choice("a", "b")},
            outcomes="conversion",
            silence="fading",
            patience="7d",
            seed=0,
            clock=lambda: 0.0,
        )
        for _ in range(2)
    )
    batch = together.ask(contexts=2 * CONTEXTS)
    assert [trial.params for trial in batch] == [alone.ask(context=context).params for context in 2 * CONTEXTS]
    assert all(together.replay(trial.number).same for trial in batch)
