"""Kernels: the formula, its derivatives by differences, its spectrum by frequencies, the same bits for a row."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.errors import InvalidInput
from belated.learner.gp.domain import Compact, Interval, OneHot
from belated.learner.gp.kernels import SE, Kernel, Matern12, Matern32, Matern52, Product, read_kernel

D = 3
KERNELS: dict[str, Kernel] = {
    "SE": SE(0.3),
    "SE, a lengthscale each": SE((0.2, 0.5, 1.1), 2.5),
    "Matern": Matern52(0.4, 0.7),
    "Matern, roughest": Matern12((0.6, 0.9, 2.0), 0.7),
    "Matern, rougher": Matern32((0.15, 0.6, 2.0), 0.7),
    "Matern, a lengthscale each": Matern52((0.15, 0.6, 2.0)),
    "context and query": Product(SE(0.4, 1.5), Matern52((0.3, 0.8), 2.0)).on([[1], [1, 1]]),
    "two contexts and a query": Product(Matern52((0.7, 0.2)), SE(0.5)).on([[1, 1], [1]]),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def points(n: int, seed: int, columns: int = D) -> np.ndarray:
    return np.random.default_rng(seed).random((n, columns))


def by_definition(kernel: Kernel, x: np.ndarray, z: np.ndarray) -> float:
    """k(x, z) one pair at a time, from the text of the docstrings."""
    if isinstance(kernel, Product):
        a = kernel.split
        return by_definition(kernel.context, x[:a], z[:a]) * by_definition(kernel.query, x[a:], z[a:])
    l = kernel.lengthscales(len(x))
    r2 = sum(((float(a) - float(b)) / float(c)) ** 2 for a, b, c in zip(x, z, l, strict=True))
    if isinstance(kernel, SE):
        return kernel.variance * math.exp(-r2 / 2)
    r = math.sqrt(r2)
    if isinstance(kernel, Matern12):
        return kernel.variance * math.exp(-r)
    if isinstance(kernel, Matern32):
        return kernel.variance * (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r)
    return kernel.variance * (1 + math.sqrt(5) * r + 5 * r2 / 3) * math.exp(-math.sqrt(5) * r)


def difference(f, at: float, h: float = 1e-3) -> np.ndarray:
    """f'(at) by central differences, exact up to h⁴."""
    return (8 * (f(at + h) - f(at - h)) - (f(at + 2 * h) - f(at - 2 * h))) / (12 * h)


# The values


@every_kernel
def test_the_formula(kernel):
    X, Z = points(7, 1), points(5, 2)
    expected = [[by_definition(kernel, x, z) for z in Z] for x in X]
    assert_allclose(kernel(X, Z), expected, rtol=1e-12)


@every_kernel
def test_the_diagonal_is_the_variance(kernel):
    X = points(6, 3)
    assert_array_equal(np.diag(kernel(X, X)), kernel.diag(X))
    assert_array_equal(kernel.diag(X), np.full(6, kernel.variance))


@every_kernel
def test_matrices_are_symmetric_and_positive_semidefinite(kernel):
    X = np.vstack([points(30, 4), points(30, 4)])
    K = kernel(X, X)
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-10 * kernel.variance * len(X)


@every_kernel
def test_no_points_give_an_empty_matrix(kernel):
    assert kernel(np.empty((0, D)), points(4, 5)).shape == (0, 4)
    assert kernel(points(4, 5), np.empty((0, D))).shape == (4, 0)


# The derivatives


@every_kernel
def test_slopes_come_with_the_same_values_and_cover_every_column_once(kernel):
    X, Z = points(6, 6), points(4, 7)
    K, slopes = kernel.slopes(X, Z)
    assert_array_equal(K, kernel(X, Z))
    covered = [c for s in slopes for c in range(D)[s.columns]]
    assert sorted(covered) == list(range(D))
    l = np.concatenate([s.inverse_squares for s in sorted(slopes, key=lambda s: s.columns.start)])
    assert_allclose(l, kernel.lengthscales(D) ** -2.0, rtol=1e-14)


@every_kernel
@pytest.mark.parametrize("column", range(D))
def test_gradient_in_x(kernel, column):
    """∂k/∂x_c = ∂k/∂r² · 2 (x_c - z_c) / l_c²."""
    X, Z = points(8, 8), points(8, 9)
    Z[0] = X[0]  # where r = 0 and the Matérn's root has no derivative of its own
    for columns, inverse_squares, slope in kernel.slopes(X, Z)[1]:
        if column in range(D)[columns]:
            i = column - columns.start
            ours = slope * 2 * (X[:, None, column] - Z[None, :, column]) * inverse_squares[i]

    def moved(step: float) -> np.ndarray:
        Y = X.copy()
        Y[:, column] += step
        return kernel(Y, Z)

    assert_allclose(ours, difference(moved, 0.0), rtol=1e-7, atol=1e-7)


@every_kernel
@pytest.mark.parametrize("column", range(D))
def test_gradient_in_log_lengthscale(kernel, column):
    """∂k/∂log l_c = -2 ∂k/∂r² · (x_c - z_c)² / l_c²."""
    X, Z = points(8, 10), points(8, 11)
    for columns, inverse_squares, slope in kernel.slopes(X, Z)[1]:
        if column in range(D)[columns]:
            i = column - columns.start
            ours = -2 * slope * (X[:, None, column] - Z[None, :, column]) ** 2 * inverse_squares[i]

    def stretched(step: float) -> np.ndarray:
        l = kernel.lengthscales(D).copy()
        l[column] *= math.exp(step)
        return kernel.at(l, kernel.variance)(X, Z)

    assert_allclose(ours, difference(stretched, 0.0), rtol=1e-8, atol=1e-9)


def test_a_product_multiplies_its_factors():
    z, x = SE(0.4, 1.5), Matern52((0.3, 0.8), 2.0)
    X, Z = points(6, 12), points(5, 13)
    joint = Product(z, x).on([[1], [1, 1]])
    assert_array_equal(joint(X, Z), z(X[:, :1], Z[:, :1]) * x(X[:, 1:], Z[:, 1:]))
    assert joint.variance == 3.0


# Spaces


@pytest.mark.parametrize("shape", [SE, Matern12, Matern32, Matern52])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_two_options_are_at_distance_one(shape, count):
    """r² = 1 / l² between any two different options, whatever the others: k = φ(1/l²)."""
    domain = Compact((Interval(), OneHot(count)))
    kernel = shape((0.2, 0.5)).on([domain.widths])
    U = np.column_stack([np.full(count, 0.3), (np.arange(count) + 0.5) / count])
    K = kernel(domain.place(U), domain.place(U))
    apart = float(shape(0.5)(np.zeros((1, 1)), np.ones((1, 1)))[0, 0])
    assert_allclose(K, np.where(np.eye(count, dtype=bool), 1.0, apart), rtol=1e-14)


def test_on_a_space_every_column_has_its_coordinates_lengthscale():
    kernel = SE((0.1, 0.2, 0.3)).on([[1, 3, 1]])
    assert_array_equal(kernel.lengthscales(5), [0.1, 0.2, 0.2, 0.2, 0.3])
    joint = Product(SE((0.1, 0.2)), Matern52(0.4)).on([[2, 1], [1, 2]])
    assert_array_equal(joint.lengthscales(6), [0.1, 0.1, 0.2, 0.4, 0.4, 0.4])
    over_both = SE((0.1, 0.2, 0.3)).on([[1], [2, 1]])  # one kernel for context and query
    assert_array_equal(over_both.lengthscales(4), [0.1, 0.2, 0.2, 0.3])


@every_kernel
def test_at_its_own_hyperparameters_a_kernel_is_itself(kernel):
    X, Z = points(5, 14), points(5, 15)
    again = kernel.at(kernel.lengthscales(D), kernel.variance)
    assert again.variance == pytest.approx(kernel.variance, rel=1e-15)
    assert_allclose(again(X, Z), kernel(X, Z), rtol=1e-14)


@every_kernel
def test_at_other_hyperparameters(kernel):
    l, X = np.array([0.11, 0.22, 0.33]), points(5, 16)
    other = kernel.at(l, 3.5)
    assert_array_equal(other.lengthscales(D), l)
    assert_array_equal(other.diag(X), np.full(5, 3.5))
    assert other.spec()["kernel"] == kernel.spec()["kernel"]


# The spectral density


@every_kernel
def test_frequencies_reproduce_the_kernel(kernel):
    """The mean of N cosines is within sqrt(2 log(2M/α) / N) of k(δ)/variance at all M lags at once, except with
    probability α (Hoeffding, and the union of the events): α = 1e-6 for each kernel."""
    N, alpha, rng = 100_000, 1e-6, np.random.default_rng(17)
    lags = np.vstack([np.eye(D) * r for r in (0.1, 0.3, 1.0)] + [rng.uniform(-0.6, 0.6, (12, D))])
    omega = kernel.frequencies(rng, N, D)
    assert omega.shape == (N, D)
    estimate = np.mean(np.cos(lags @ omega.T), axis=1)
    exact = kernel(lags, np.zeros((1, D)))[:, 0] / kernel.variance
    assert np.max(np.abs(estimate - exact)) < math.sqrt(2 * math.log(2 * len(lags) / alpha) / N)  # 0.019


# Bits


@every_kernel
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), m=st.integers(1, 40))
def test_a_row_alone_has_the_bits_of_the_row_in_a_matrix(kernel, seed, n, m):
    X, Z = points(n, seed), points(m, seed + 1)
    K = kernel(X, Z)
    i, j = seed % n, seed % m
    assert_array_equal(kernel(X[i : i + 1], Z)[0], K[i])
    assert_array_equal(kernel(X, Z[: j + 1]), K[:, : j + 1])
    assert_array_equal(kernel(X[i:], Z), K[i:])


# Plain values


@every_kernel
def test_spec_round_trip(kernel):
    assert read_kernel(json.loads(json.dumps(kernel.spec()))) == kernel


def test_a_spec_says_the_numbers():
    assert SE((0.1, 0.2), 3.0).spec() == {"kernel": "SE", "lengthscale": [0.1, 0.2], "variance": 3.0}
    assert Matern52(0.1).spec() == {"kernel": "Matern52", "lengthscale": 0.1, "variance": 1.0}
    assert Matern12(0.1).spec() == {"kernel": "Matern12", "lengthscale": 0.1, "variance": 1.0}
    assert Matern32(0.1).spec() == {"kernel": "Matern32", "lengthscale": 0.1, "variance": 1.0}


def test_equal_numbers_make_equal_kernels_and_another_shape_another_kernel():
    assert SE([0.1, 0.2]) == SE(np.array([0.1, 0.2])) == SE((0.1, 0.2))
    assert hash(SE([0.1, 0.2])) == hash(SE((0.1, 0.2)))
    assert len({SE(0.1), Matern52(0.1), Matern32(0.1), Matern12(0.1)}) == 4
    assert SE(0.1) != SE(0.1, 2.0)


@pytest.mark.parametrize("number", [1, np.float64(0.5), np.float32(0.5), np.int64(1)], ids=lambda n: type(n).__name__)
def test_a_lengthscale_may_be_any_kind_of_number(number):
    kernel = SE(number)
    assert_array_equal(kernel.lengthscales(2), [float(number)] * 2)
    assert read_kernel(json.loads(json.dumps(kernel.spec()))) == kernel


# Bad input


@pytest.mark.parametrize("shape", [SE, Matern12, Matern32, Matern52])
@pytest.mark.parametrize(
    "lengthscale",
    [0.0, -0.1, math.nan, math.inf, (), (0.1, 0.0), (0.1, -1.0), (0.1, math.nan), (math.inf,), "wide", None],
    ids=repr,
)
def test_bad_lengthscales(shape, lengthscale):
    with pytest.raises(InvalidInput, match=r"^lengthscale must be .*\(got "):
        shape(lengthscale)


@pytest.mark.parametrize("variance", [0.0, -1.0, math.nan, math.inf, None, "1"], ids=repr)
def test_bad_variances(variance):
    with pytest.raises(InvalidInput, match=r"^variance must be .*\(got "):
        SE(0.1, variance)


def test_a_lengthscale_per_coordinate_or_one_for_all():
    with pytest.raises(InvalidInput, match=r"lengthscale must be one number or one per coordinate \(3; got 2\)"):
        SE((0.1, 0.2)).on([[1, 3, 1]])


def test_a_product_needs_a_context():
    with pytest.raises(InvalidInput, match="this study has no context"):
        Product(SE(), SE()).on([[1, 1]])
    with pytest.raises(InvalidInput, match="needs a space with a context"):
        Product(SE(), SE())(points(2, 18), points(2, 19))
