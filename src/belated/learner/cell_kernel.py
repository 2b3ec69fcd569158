"""The prior covariance of log rates between cells: whole, or through centres where there are many cells.

X      the cells                                                     (n, D)
Z      centres: some of the cells, spread over them                  (M, D)
R      R Rᵀ = k(Z, Z)                                                (M, M)
V      R⁻¹ k(Z, X)                                                   (M, n)
r      what the centres leave of the variance at a cell              (n,)
N      noise variance of each cell                                   (n,)

Through centres K is Vᵀ V + diag(r) (FITC, as gp/summary.py has it), so K + diag(N) is solved with M × M matrices:

    S = V diag(r + N)⁻¹ Vᵀ,    (K + diag(N))⁻¹ b = D b - D Vᵀ (I + S)⁻¹ V D b    with D = diag(r + N)⁻¹

What the cells say about the rates at Z is what M outcomes with the noise covariance R S⁻¹ Rᵀ say.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from scipy.linalg import lapack, solve_triangular

from belated.errors import NotPositiveDefinite
from belated.learner.arrays import Array, Indices
from belated.learner.gp.factor import Factor
from belated.learner.gp.kernels import Kernel
from belated.learner.gp.posterior import GP, Posterior
from belated.learner.gp.summary import choose_centres
from belated.learner.gp.table import compute_root

EXACT, WHOLE = 300, 2000  # cells up to which K is whole: always, and where centres would leave too much
MOST = 512  # centres
CLOSE = (
    0.1  # what the centres may leave to a cell, as a share of its noise: on average, and to each while there is room
)
TINY = 1e-12  # of the variance, added to S: a direction that no cell speaks about


class CellCovariance(Protocol):
    """K between the cells."""

    def solve(self, noise: Array, b: Array) -> Array:
        """(K + diag(N))⁻¹ b."""

    def condition(self, gp: GP, X: Array, z: Array, noise: Array) -> Posterior:
        """The belief from outcomes z at the cells."""


@dataclass(frozen=True, eq=False)
class WholeCovariance:
    """Every entry of K."""

    K: Array

    def solve(self, noise: Array, b: Array) -> Array:
        chol, failed = lapack.dpotrf(add_to_diagonal(self.K, noise), lower=1, overwrite_a=1)
        if failed:
            raise NotPositiveDefinite
        return np.asarray(lapack.dpotrs(chol, b, lower=1)[0])

    def condition(self, gp: GP, X: Array, z: Array, noise: Array) -> Posterior:
        return make_posterior(gp, X, z, noise, Factor.compute(add_to_diagonal(self.K, noise)))


@dataclass(frozen=True, eq=False)
class CentredCovariance:
    """K through centres."""

    Z: Array
    root: Array
    V: Array
    left: Array

    @classmethod
    def through(cls, kernel: Kernel, Z: Array, X: Array) -> CentredCovariance:
        none = cls(Z, compute_root(kernel(Z, Z), kernel.variance), np.empty((len(Z), 0)), np.empty(0))
        return none.extend(kernel, X)

    def extend(self, kernel: Kernel, new: Array) -> CentredCovariance:
        """With some cells more."""
        V = solve_triangular(self.root, kernel(self.Z, new), lower=True, check_finite=False)
        left = np.maximum(kernel.variance - np.einsum("ij,ij->j", V, V), 0.0)
        return replace(self, V=np.hstack([self.V, V]), left=np.append(self.left, left))

    def solve(self, noise: Array, b: Array) -> Array:
        weight = 1.0 / (self.left + noise)
        chol, failed = lapack.dpotrf(add_to_diagonal(self._sum_up(weight), np.ones(len(self.Z))), lower=1)
        if failed:
            raise NotPositiveDefinite
        inner = lapack.dpotrs(chol, self.V @ (weight * b), lower=1)[0]
        return np.asarray(weight * (b - inner @ self.V))

    def condition(self, gp: GP, X: Array, z: Array, noise: Array) -> Posterior:
        weight = 1.0 / (self.left + noise)
        S = self._sum_up(weight)
        chol = compute_root(add_to_diagonal(S, np.full(len(S), TINY * gp.kernel.variance)))
        half = solve_triangular(chol, self.root.T, lower=True, check_finite=False)
        covariance = half.T @ half  # R S⁻¹ Rᵀ
        says = solve_triangular(chol, self.V @ (weight * (z - gp.mean)), lower=True, check_finite=False) @ half
        factor = Factor.compute(self.root @ self.root.T + covariance)
        return replace(
            make_posterior(gp, self.Z, gp.mean + says, np.diag(covariance).copy(), factor), summarised=covariance
        )

    def _sum_up(self, weight: Array) -> Array:
        """S."""
        half = self.V * np.sqrt(weight)
        return np.asarray(half @ half.T)


def make_posterior(gp: GP, X: Array, z: Array, noise: Array, factor: Factor) -> Posterior:
    """A belief in which every row is one outcome."""
    rows = np.arange(len(X))
    return Posterior(
        gp=gp, X=X, y_tilde=z, lams=noise, factor=factor, table=None, ids=rows, place=rows, weights=np.ones(len(rows))
    )


def add_to_diagonal(K: Array, noise: Array) -> Array:
    """K + diag(noise)."""
    C: Array = K.copy()
    C.flat[:: len(C) + 1] += noise
    return C


def find_centres(kernel: Kernel, X: Array, noise: Array) -> Indices:
    """The cells that K goes through; none where it is whole.

    They are as many as the noise calls for, and beside them those that are known too well for that, which are near the
    best ones, as a rule."""
    none = np.empty(0, dtype=np.intp)
    if len(X) <= EXACT:
        return none
    usual = np.maximum(noise, np.median(noise))  # else the one that is known best would call for centres everywhere
    rows = choose_centres(kernel, X, usual, MOST, CLOSE)
    left = CentredCovariance.through(kernel, X[rows], X).left
    if len(X) <= WHOLE and (2 * len(rows) > len(X) or np.mean(left / usual) > CLOSE):
        return none  # they have little to do with each other
    share = np.where(np.isin(np.arange(len(X)), rows), 0.0, left / noise)
    most = np.argsort(-share, kind="stable")[: MOST - len(rows)]
    return np.concatenate([rows, most[share[most] > CLOSE]])


@dataclass
class CellKernel:
    """The covariance of the last belief, from which the next one grows: cells stay, and new ones come last."""

    kernel: Kernel | None = None
    Z: Array = field(default_factory=lambda: np.empty((0, 0)))
    X: Array = field(default_factory=lambda: np.empty((0, 0)))
    covariance: WholeCovariance | CentredCovariance | None = None

    def compute(self, kernel: Kernel, X: Array, Z: Array) -> CellCovariance:
        """K of the cells X, through the centres Z, or whole if there are none."""
        n, before = len(self.X), self.covariance
        stays = kernel == self.kernel and np.array_equal(Z, self.Z) and np.array_equal(self.X, X[:n])
        if before is None or not stays:
            now = CentredCovariance.through(kernel, Z, X) if len(Z) else WholeCovariance(kernel(X, X))
        elif n == len(X):
            now = before
        elif isinstance(before, CentredCovariance):
            now = before.extend(kernel, X[n:])
        else:
            new = kernel(X[n:], X)
            now = WholeCovariance(np.block([[before.K, new[:, :n].T], [new]]))
        self.kernel, self.X, self.Z, self.covariance = kernel, X, Z, now
        return now
