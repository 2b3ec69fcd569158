"""The choices of one moment: what is believed stays as it is, and every query that is asked becomes one more row of it.

X, L     the cells, and the factor of their belief (gp/posterior.py)
V        L⁻¹ k(X, Q)                                                 (cells, q)
b        what one standard deviation more of the constant mean adds at Q             (q,)
A        the same as V beyond the cells: a row for each query asked at this moment   (asked, q)
r        noise variance of one outcome of a query asked now

How uncertain the constant mean is counts, as in what a study reports: σ²(q, q') is that of a known mean and b(q) b(q').
Where few cells have said anything, what is not known of the others is mostly this.

A row is never computed twice, and those of one query have most in common, so a choice costs what its row costs.
`fading` leaves the mean as it is: nothing is known of an outcome yet. Under `floor` such a query is one without a
conversion: z = u - 1, with u from before all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import blas

from belated.learner.arrays import Array, Indices, Mask
from belated.learner.belief import ModelBelief
from belated.learner.cell_kernel import make_posterior
from belated.learner.conversions import Cells
from belated.learner.gp.posterior import Posterior


@dataclass(eq=False)
class Candidates:
    """What is believed of some queries, and how many of the queries asked now it takes into account."""

    rows: Array
    V: Array
    mean: Array
    variance: Array
    level: Array  # the mean as it was before anything was asked now
    noise: Array  # r of each
    b: Array
    before: Array  # σ²(x, rows) before anything was asked now, a row for each different x asked
    A: Array
    done: int = 0


@dataclass(eq=False)
class AskedNow:
    """The queries asked now, as rows of the factor: M has A at their own places, and √(σ² + r) on its diagonal."""

    place: dict[bytes, int] = field(default_factory=dict)  # of each different query
    different: list[Array] = field(default_factory=list)
    v: list[Array] = field(default_factory=list)  # L⁻¹ k(X, x) of each different query
    b: list[float] = field(default_factory=list)  # of each different query
    which: list[int] = field(default_factory=list)  # the different query of each row
    z: list[float] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)  # r
    surprise: list[float] = field(default_factory=list)  # (z - μ) / √(σ² + r)
    M: Array = field(default_factory=lambda: np.zeros((16, 16)))

    def __len__(self) -> int:
        return len(self.which)

    def append(
        self, x: Array, v: Array, b: float, a: Array, pivot: float, z: float, noise: float, surprise: float
    ) -> None:
        i = len(self.which)
        if i == len(self.M):
            larger = np.zeros((2 * i, 2 * i))
            larger[:i, :i], self.M = self.M, larger
        self.M[i, :i], self.M[i, i] = a, pivot
        key = x.tobytes()
        if key not in self.place:
            self.place[key] = len(self.different)
            self.different.append(x)
            self.v.append(v)
            self.b.append(b)
        self.which.append(self.place[key])
        self.z.append(z)
        self.noise.append(noise)
        self.surprise.append(surprise)

    @property
    def X(self) -> Array:
        """The queries in their order."""
        return np.array([self.different[i] for i in self.which])


@dataclass(eq=False)
class Moment:
    """A belief, and the queries asked since; one of them after the other, each knows those before it."""

    posterior: Posterior  # about the log rate, once everything that was asked before has had its chance
    cells: Cells
    literal: bool  # silence counts as no conversion at once
    taken: Array  # the queries asked now
    asked: AskedNow = field(default_factory=AskedNow)
    tables: dict[bytes, Candidates] = field(default_factory=dict)
    newest: Candidates | None = None  # the table that was looked at last: what is asked next is there, as a rule

    def take(self, fresh: Array) -> None:
        """Let it be these that were asked now, in this order; those that are known already are kept."""
        known = len(self.taken)
        if not np.array_equal(fresh[:known], self.taken):
            self.asked, self.tables, self.newest, known = AskedNow(), {}, None, 0
        for x in fresh[known:]:
            self._append(x)
        self.taken = fresh

    def evaluate(self, rows: Array) -> tuple[Array, Array]:
        """Mean and std of the log rate at some queries."""
        table, prior = self._follow(rows), self.posterior.gp.kernel.variance
        return table.mean.copy(), np.sqrt(np.clip(table.variance, 0.0, prior + np.square(table.b)))

    def _append(self, x: Array) -> None:
        table, i = self._find(x)
        mean, variance, noise = float(table.mean[i]), float(table.variance[i]), float(table.noise[i])
        z = float(table.level[i]) - 1.0 if self.literal else mean
        pivot = math.sqrt(max(variance, 0.0) + noise)
        v, b, a = table.V[:, i].copy(), float(table.b[i]), table.A[: table.done, i]
        self.asked.append(x, v, b, a, pivot, z, noise, surprise=(z - mean) / pivot)

    def _find(self, x: Array) -> tuple[Candidates, int]:
        """Where a query is among those that were looked at last; else by itself."""
        if self.newest is not None:
            places = np.flatnonzero(np.all(self.newest.rows == x, axis=1))
            if len(places):
                return self._catch_up(self.newest), int(places[0])
        return self._follow(x[None]), 0

    def _follow(self, rows: Array) -> Candidates:
        """What is believed of some queries, after everything that was asked now."""
        key = rows.tobytes()
        if key not in self.tables:
            self.tables[key] = self._look(rows)
        self.newest = self.tables[key]
        return self._catch_up(self.newest)

    def _catch_up(self, table: Candidates) -> Candidates:
        """The table with everything that was asked now."""
        rows, asked, n = table.rows, self.asked, len(self.asked)
        if table.done == n:
            return table
        if n > len(table.A):
            larger = np.empty((2 * n + 16, len(rows)))
            larger[: table.done] = table.A[: table.done]
            table.A = larger
        new = len(table.before)
        if new < len(asked.different):
            k = self.posterior.gp.kernel(np.array(asked.different[new:]), rows) - np.array(asked.v[new:]) @ table.V
            table.before = np.vstack([table.before, k + np.outer(asked.b[new:], table.b)])
        old = table.done
        rest = table.before[asked.which[old:]] - asked.M[old:n, :old] @ table.A[:old]
        part = blas.dtrsm(1.0, asked.M[old:n, old:n].T, rest.T, side=1).T
        table.A[old:n] = part
        table.variance -= np.einsum("ij,ij->j", part, part)
        if self.literal:
            table.mean += np.array(asked.surprise[old:]) @ part
        table.done = n
        return table

    def _look(self, rows: Array) -> Candidates:
        posterior, nothing = self.posterior, np.empty((0, len(rows)))
        K = posterior.gp.kernel(rows, posterior.X)
        V = posterior.factor.solve(K.T)
        mean = posterior.gp.mean + K @ posterior.alpha
        variance = posterior.gp.kernel.diag(rows) - np.einsum("ij,ij->j", V, V)
        noise, b = self.cells.compute_noise(np.exp(mean), 1.0, 1.0), posterior.whitened_level_shift(V)
        return Candidates(rows, V, mean, variance + np.square(b), mean.copy(), noise, b, nothing, nothing)


@dataclass(frozen=True, eq=False)
class RateBelief:
    """What the next choice is made from, after the queries that were asked at this moment."""

    moment: Moment
    fresh: Array
    z: Array

    def mean_and_std(self, Q: Array) -> tuple[Array, Array]:
        """Of the log rate at Q."""
        self.moment.take(self.fresh)
        return self.moment.evaluate(Q)

    @cached_property
    def whole(self) -> ModelBelief:
        """The same belief at once, for policies that need more than mean and standard deviation. Its constant mean is
        the likeliest, and counts as known."""
        self.moment.take(self.fresh)
        base, asked = self.moment.posterior, self.moment.asked
        if not len(asked):
            posterior = base
        else:
            X, noise = np.vstack([base.X, asked.X]), np.append(base.lams, asked.noise)
            K = base.gp.kernel(asked.X, X)
            factor = base.factor.extend(K, base.gp.kernel.diag(asked.X) + asked.noise)
            posterior = make_posterior(base.gp, X, np.append(base.y_tilde, asked.z), noise, factor)
            learned = (np.sum(posterior.alpha) - np.sum(base.alpha)) / posterior.level_precision if len(base.X) else 0.0
            gp = replace(base.gp, mean=base.gp.mean + float(learned))
            posterior = replace(posterior, gp=gp, summarised=base.summarised)
        known = np.arange(len(posterior.X)) < len(base.X)
        return ModelBelief(posterior, known, np.zeros_like(known), self.z)

    @property
    def posterior(self) -> Posterior:
        return self.whole.posterior

    @property
    def known(self) -> Mask:
        return self.whole.known

    @property
    def heard(self) -> Indices:
        return self.whole.heard

    @property
    def queries(self) -> Array:
        return self.whole.queries

    @property
    def means(self) -> Array:
        return self.whole.means

    @property
    def feasible(self) -> None:
        return None  # of conversions, an infeasible query is one that nobody is shown

    def recent_spread(self) -> float:
        return self.whole.recent_spread()
