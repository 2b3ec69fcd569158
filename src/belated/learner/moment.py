"""The choices of one moment: what is believed stays as it is, and every query that is asked becomes one more row of it.

X, L     the cells, and the factor of their belief (gp/posterior.py)
V        L⁻¹ k(X, Q)                                                 (cells, q)
A        the same beyond the cells: a row for each query asked at this moment        (asked, q)
r        noise variance of one outcome of a query asked now

A row is never computed twice, so a choice costs what its row costs. `fading` leaves the mean as it is: nothing is known
of an outcome yet. Under `floor` such a query is one without a conversion: z = u - 1, with u from before all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from belated.learner.arrays import Array, Indices, Mask
from belated.learner.belief import ModelBelief
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
    A: Array
    before: dict[bytes, Array] = field(default_factory=dict)  # σ²(x, rows) before anything was asked now, by x
    done: int = 0


@dataclass(frozen=True, eq=False)
class NewRow:
    """A query asked now, as a row of the factor."""

    x: Array
    key: bytes  # of x
    v: Array  # L⁻¹ k(X, x)
    a: Array  # the same beyond the cells
    pivot: float  # √(σ² + r)
    surprise: float  # (z - μ) / pivot
    z: float
    noise: float  # r


@dataclass(eq=False)
class Moment:
    """A belief, and the queries asked since; one of them after the other, each knows those before it."""

    posterior: Posterior  # about the log rate, once everything that was asked before has had its chance
    cells: Cells
    literal: bool  # silence counts as no conversion at once
    taken: Array  # the queries asked now
    asked: list[NewRow] = field(default_factory=list)
    tables: dict[bytes, Candidates] = field(default_factory=dict)
    places: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)  # the table of a query, and where it is there

    def take(self, fresh: Array) -> None:
        """Let it be these that were asked now, in this order; those that are known already are kept."""
        known = len(self.taken)
        if not np.array_equal(fresh[:known], self.taken):
            self.asked, self.tables, self.places, known = [], {}, {}, 0
        for x in fresh[known:]:
            self.asked.append(self._make_row(x))
        self.taken = fresh

    def evaluate(self, rows: Array) -> tuple[Array, Array]:
        """Mean and std of the log rate at some queries."""
        table = self._follow(rows)
        return table.mean.copy(), np.sqrt(np.clip(table.variance, 0.0, self.posterior.gp.kernel.variance))

    def _make_row(self, x: Array) -> NewRow:
        table, i = self._find(x)
        level, variance = float(table.level[i]), float(table.variance[i])
        noise = float(self.cells.compute_noise(np.exp(table.level[i : i + 1]), 1.0, 1.0)[0])
        z = level - 1.0 if self.literal else float(table.mean[i])
        pivot = float(np.sqrt(max(variance, 0.0) + noise))
        v, a = table.V[:, i].copy(), table.A[: table.done, i].copy()
        return NewRow(x, x.tobytes(), v, a, pivot, (z - float(table.mean[i])) / pivot, z, noise)

    def _find(self, x: Array) -> tuple[Candidates, int]:
        """Where a query is among those that were looked at; else by itself."""
        found = self.places.get(x.tobytes())
        if found is None:
            return self._follow(x[None]), 0
        return self._follow(self.tables[found[0]].rows), found[1]

    def _follow(self, rows: Array) -> Candidates:
        """What is believed of some queries, after everything that was asked now."""
        key = rows.tobytes()
        if key not in self.tables:
            self.tables[key] = self._look(rows)
            self.places |= {x.tobytes(): (key, i) for i, x in enumerate(rows)}
        table = self.tables[key]
        new = self.asked[table.done :]
        if not new:
            return table
        if len(self.asked) > len(table.A):
            larger = np.empty((2 * len(self.asked) + 16, len(rows)))
            larger[: table.done] = table.A[: table.done]
            table.A = larger
        missing = {row.key: row for row in new if row.key not in table.before}
        if missing:
            k = self.posterior.gp.kernel(np.stack([row.x for row in missing.values()]), rows)
            k -= np.stack([row.v for row in missing.values()]) @ table.V
            table.before |= zip(missing, k, strict=True)
        for row in new:
            i = table.done
            part = (table.before[row.key] - row.a @ table.A[:i]) / row.pivot
            table.A[i] = part
            table.variance -= np.square(part)
            table.mean += row.surprise * part
            table.done = i + 1
        return table

    def _look(self, rows: Array) -> Candidates:
        posterior = self.posterior
        K = posterior.gp.kernel(rows, posterior.X)
        V = posterior.factor.solve(K.T)
        mean = posterior.gp.mean + K @ posterior.alpha
        variance = posterior.gp.kernel.diag(rows) - np.einsum("ij,ij->j", V, V)
        return Candidates(rows, V, mean, variance, mean.copy(), np.empty((0, len(rows))))


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
        """The same belief at once, for policies that need more than mean and standard deviation."""
        self.moment.take(self.fresh)
        base, asked = self.moment.posterior, self.moment.asked
        posterior = base.gp.condition(
            np.vstack([base.X, *(row.x for row in asked)]),
            np.append(base.y_tilde, [row.z for row in asked]),
            np.append(base.lams, [row.noise for row in asked]),
        )
        known = np.arange(len(base.X) + len(asked)) < len(base.X)
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
