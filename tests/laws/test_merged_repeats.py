"""Repeats are merged, exactly: a belief in which every outcome is a row of its own is the same, for every silence."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from belated.learner.belief import believe
from belated.learner.gp.kernels import SE, Matern52
from belated.learner.gp.merging import number_points
from belated.learner.gp.posterior import GP
from belated.learner.history import History
from belated.learner.silence import SILENCES, Halfway, Nearest

FATES = ("heard", "heard", "heard", "pending", "pending", "expired", "infeasible", "gone")
LIST = np.random.default_rng(5).random((7, 2))


def repeated_history(seed: int, own_noise: bool) -> History:
    """40 queries among 7, with every fate, each query with several."""
    rng, n = np.random.default_rng(seed), 40
    X, fate = LIST[rng.integers(6, size=n)], rng.choice(FATES, size=n)
    heard = fate == "heard"
    return History(
        number=np.arange(1, n + 1),
        X=X,
        point=number_points(X),
        y=np.where(heard, rng.uniform(0.2, 2.0, n), np.nan),
        seen=heard,
        pending=fate == "pending",
        infeasible=fate == "infeasible",
        gone=fate == "gone",
        recent=(fate == "pending") | (heard & (np.arange(n) > 20)),
        by_hand=np.zeros(n, dtype=bool),
        order=rng.permutation(n),
        lams=np.where(rng.random(n) < 0.5, np.nan, rng.uniform(0.01, 0.5, n)) if own_noise else np.full(n, np.nan),
        floor=0.0,
        age=np.full(n, 30.0),
        m=20.0,
        waited=rng.exponential(5.0, n),
        arrived=heard,
        late=np.zeros(n, dtype=bool),
    )


@pytest.mark.parametrize("fill_noise", [0.0, 0.25])
@pytest.mark.parametrize("own_noise", [False, True], ids=["one lam", "own noise"])
@pytest.mark.parametrize("silence", [*SILENCES.values(), Nearest(2), Halfway(SILENCES["floor"])], ids=lambda s: s.name)
def test_a_merged_belief_is_the_belief(silence, own_noise, fill_noise):
    gp = GP(Matern52((0.4, 0.6), 1.3), 0.05, 0.2)
    h = repeated_history(3, own_noise)
    apart = replace(h, point=np.arange(len(h.X)))
    rng = np.random.default_rng(8)
    Q = np.vstack([LIST, rng.random((4, 2))])
    for listed in (Q, None):
        merged, unmerged = (believe(gp, silence, each, listed, fill_noise=fill_noise) for each in (h, apart))
        one, other = merged.posterior, unmerged.posterior
        assert len(one.X) <= 2 * len(LIST) < len(other.X) == len(one.place)
        for at in (Q, rng.random((5, 2))):
            assert_allclose(one.mean(at), other.mean(at), rtol=0, atol=1e-9)
            assert_allclose(one.std(at), other.std(at), rtol=0, atol=1e-9)
            assert_allclose(one.cov(at), other.cov(at), rtol=0, atol=1e-9)
            for ours, theirs in zip(one.gradients(at), other.gradients(at), strict=True):
                assert_allclose(ours, theirs, rtol=0, atol=1e-8)
        if listed is not None:  # an exact draw of the same normals; where there is no table it needs a singular root
            draws = [each.draw(Q, np.random.default_rng(4), 1.7) for each in (one, other)]
            assert_allclose(*draws, rtol=0, atol=1e-9)
        paths = [each.path(np.random.default_rng(4), 1.7)(Q) for each in (one, other)]
        assert_allclose(*paths, rtol=0, atol=1e-9)
        assert one.gain() == pytest.approx(other.gain(), abs=1e-9)
        assert merged.recent_spread() == pytest.approx(unmerged.recent_spread(), abs=1e-9)  # over queries, not rows
        assert max(merged.means) == pytest.approx(max(unmerged.means), abs=1e-9)


@pytest.mark.parametrize("silence", SILENCES.values(), ids=lambda s: s.name)
def test_the_order_of_tells_does_not_matter(silence):
    gp = GP(SE(0.4), 0.05)
    h = repeated_history(6, own_noise=True)
    shuffled = replace(h, order=np.random.default_rng(1).permutation(len(h.X)))
    one, other = (believe(gp, silence, each, LIST).posterior for each in (h, shuffled))
    assert_allclose(one.mean(LIST), other.mean(LIST), rtol=0, atol=1e-9)
    assert_allclose(one.std(LIST), other.std(LIST), rtol=0, atol=1e-9)
    draws = [each.draw(LIST, np.random.default_rng(4)) for each in (one, other)]
    assert_allclose(*draws, rtol=0, atol=1e-9)
