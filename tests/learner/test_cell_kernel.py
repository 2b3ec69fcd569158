"""The covariance of cells through centres: the exact one with all of them, and near it with those that are chosen."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np

from belated.learner import conversions
from belated.learner.cell_kernel import CellKernel, CentredCovariance, WholeCovariance, find_centres
from belated.learner.conversions import CellBelief, Cells, believe_rates, choose_cells, find_mode
from belated.learner.gp.kernels import Matern52, Product
from belated.learner.gp.posterior import GP

KERNEL = Product(Matern52(0.7), Matern52(0.3)).on([(1,), (1, 1)])
GRID = np.array([[z, x, y] for z in (0.0, 0.5, 1.0) for x in np.linspace(0, 1, 15) for y in np.linspace(0, 1, 15)])


def make_cells(n: int) -> Cells:
    """Some cells of a smooth rate with one hill, most queries near it."""
    rng = np.random.default_rng(3)
    X = GRID[rng.permutation(len(GRID))[:n]]
    rate = 0.02 + 0.15 * np.exp(-8.0 * np.sum(np.square(X[:, 1:] - 0.6), axis=1))
    count = rng.geometric(1.0 / (3.0 + 2000.0 * (rate - 0.02))).astype(float)
    exposure = 0.7 * count
    k = rng.poisson(rate * exposure).astype(float)
    return Cells(np.arange(n) + 1, X, k, np.maximum(exposure, k), count, c=1.0, mean=1.0, doubt=0.0)


def make_gp(cells: Cells) -> GP:
    return GP(KERNEL, cells.lam, float(np.log(cells.average)))


def test_with_every_cell_a_centre_nothing_is_approximate() -> None:
    rng, X = np.random.default_rng(0), GRID[::12]
    noise, b = rng.uniform(0.1, 3.0, len(X)), rng.standard_normal(len(X))
    whole, through = WholeCovariance(KERNEL(X, X)), CentredCovariance.through(KERNEL, X, X)
    np.testing.assert_allclose(through.solve(noise, b), whole.solve(noise, b), atol=1e-8)
    gp = GP(KERNEL, 1.0, 0.3)
    exact, same = (each.condition(gp, X, b, noise) for each in (whole, through))
    for q in (GRID[1::50], X[:5]):
        np.testing.assert_allclose(same.mean(q), exact.mean(q), atol=1e-6)
        np.testing.assert_allclose(same.std(q), exact.std(q), atol=1e-6)
        np.testing.assert_allclose(same.level_std(q), exact.level_std(q), atol=1e-6)


def test_the_belief_through_centres_is_near_the_exact_one_and_never_much_surer() -> None:
    cells = make_cells(600)
    gp = make_gp(cells)
    whole = WholeCovariance(gp.kernel(cells.X, cells.X))
    exact = CellBelief(gp, cells, whole, find_mode(gp, cells, whole))
    rows = choose_cells(cells, gp)
    near = believe_rates(gp, cells, cells.first[rows].tolist())
    assert 20 < len(near.now.X) == len(rows) < 300
    for one, other in ((near.now, exact.now), (near.ahead, exact.ahead)):
        mean, std = exact.now.mean_and_std(GRID)
        assert np.sqrt(np.mean(np.square((one.mean(GRID) - mean) / std))) < 0.1
        ratio = one.std(GRID) / other.std(GRID)
        assert 0.9 < np.min(ratio)
        assert np.max(ratio) < 1.3
        assert abs(np.median(ratio) - 1.0) < 0.03
    np.testing.assert_allclose(near.ahead.mean(GRID), near.now.mean(GRID), atol=1e-5)


def test_the_covariance_grows_with_the_cells() -> None:
    cells = make_cells(400)
    Z, kept = cells.X[::4], CellKernel()
    for centres in (Z, Z[:0]):
        kept.compute(KERNEL, cells.X[:350], centres)
        grown, fresh = kept.compute(KERNEL, cells.X, centres), CellKernel().compute(KERNEL, cells.X, centres)
        b, noise = np.linspace(-1.0, 1.0, 400), np.full(400, 0.7)
        np.testing.assert_allclose(grown.solve(noise, b), fresh.solve(noise, b), atol=1e-10)


def test_few_cells_have_no_centres_and_well_known_ones_are_among_them() -> None:
    X, noise = GRID[:400], np.full(400, 50.0)
    assert len(find_centres(KERNEL, X[:300], noise[:300])) == 0
    few = find_centres(KERNEL, X, noise)
    known = int(np.setdiff1d(np.arange(400), few)[0])
    noise[known] = 1e-4
    assert known in find_centres(KERNEL, X, noise)


def test_cells_that_have_little_to_do_with_each_other_are_believed_exactly() -> None:
    """Items that are names: what is known of one says little about another, and no centre can stand for it."""
    names = np.eye(150) / np.sqrt(2.0)
    kernel = Product(Matern52(0.5), Matern52(0.2)).on([(1,), (150,)])
    for contexts in (3, 6):  # fewer than the largest number of centres, and more
        X = np.hstack([np.repeat(np.arange(contexts), 150)[:, None], np.tile(names, (contexts, 1))])
        assert len(find_centres(kernel, X, np.full(len(X), 0.3))) == 0


def test_of_very_many_cells_some_of_the_first_are_centres_if_none_are_recorded() -> None:
    cells, gp = make_cells(500), make_gp(make_cells(500))
    assert len(believe_rates(gp, cells).now.X) == 500
    with patch.object(conversions, "WHOLE", 400):
        belief, again = (believe_rates(gp, cells).now for _ in range(2))
    assert 0 < len(belief.X) < 400
    assert np.array_equal(belief.mean(GRID), again.mean(GRID))
