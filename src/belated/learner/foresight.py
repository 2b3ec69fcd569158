"""What more queries are likely to bring, by simulation on a list of candidates.

C     candidates: rows of context and query                                                         (c, D)
μ, Σ  the belief about f on C, as it is now                                                   (c,), (c, c)
f     functions drawn from the belief, on C                                                         (d, c)

For each f the next queries are chosen one after the other, by the policy Overtaking on C: it stands in for whichever
policy the study has. A query whose outcome has not come counts for the variance and not for the mean. In the end the
candidate with the best mean is recommended.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from belated.learner.arrays import Array, Indices, Mask
from belated.learner.gp.posterior import GP, Posterior
from belated.learner.gp.table import compute_root
from belated.learner.policies import log_h

NEVER = 10**9  # a step that does not come
DEAF = 1e9  # times the variance of the prior: the noise of an outcome that has not come
LEAST = 1e-9  # a standard deviation below this share of the prior's is rounding


@dataclass(frozen=True, eq=False)
class Prospect:
    """The belief of now on some candidates, and what of them may be asked and recommended."""

    mean: Array
    cov: Array
    noise: Array  # variance of one more outcome at each candidate                      (c,)
    target: Indices  # candidates that may be recommended: those in the context in question


@dataclass(frozen=True, eq=False)
class Unheard:
    """Queries that are out: candidates, the variance of their noise, and when each comes in each simulation."""

    at: Indices  # (p,)
    noise: Array  # (p,)
    step: NDArray[np.int64]  # before which step it is heard, NEVER for some                (d, p)


@dataclass(frozen=True, eq=False)
class ComingQueries:
    """The queries to come, in each simulation: what each may be, and before which step its outcome is heard."""

    open: Mask  # (d, k, c) or broadcastable to it
    heard: NDArray[np.int64]  # (d, k)


def assume(posterior: Posterior, gp: GP) -> Posterior:
    """The same belief under other hyperparameters."""
    if gp == posterior.gp:
        return posterior
    return gp.condition(posterior.X, posterior.y_tilde, posterior.lams * (gp.lam / posterior.gp.lam))


def draw_functions(posterior: Posterior, C: Array, count: int, level: bool, rng: Generator) -> Array:
    """f on C                                                                                    (count, c).

    level   the constant mean of the GP is uncertain too"""
    root = compute_root(posterior.cov(C), posterior.gp.kernel.variance)
    f = posterior.mean(C) + rng.standard_normal((count, len(C))) @ root.T
    return np.asarray(f + rng.standard_normal((count, 1)) * posterior.level_shift(C) if level else f)


def foresee(now: Prospect, f: Array, out: Unheard, schedule: ComingQueries, rng: Generator) -> Indices:
    """The candidate that is recommended after the queries to come, for each f                       (d,).

    It is the first candidate, which is recommended now, where nothing more is heard."""
    d, c = f.shape
    p, k = len(out.at), schedule.heard.shape[1]
    rows = np.empty((d, p + k), dtype=np.intp)
    noise, y = np.empty((d, p + k)), np.empty((d, p + k))
    heard = np.hstack([out.step, schedule.heard])
    rows[:, :p], noise[:, :p] = out.at, out.noise
    luck = rng.standard_normal((d, p + k))
    y[:, :p] = f[:, out.at] + luck[:, :p] * np.sqrt(out.noise)
    every, variance = np.arange(d), np.repeat(np.diag(now.cov)[None], d, axis=0)
    A = np.empty((d, p + k, c))  # Σ given everything asked is Σ - AᵀA
    for i in range(p + k):
        if i >= p:
            step = i - p
            mean = _update_mean(now, rows[:, :i], noise[:, :i], y[:, :i], heard[:, :i] <= step)
            rows[:, i] = choose_next(now, mean, variance, A[:, :i], schedule.open[:, step])
            noise[:, i] = now.noise[rows[:, i]]
            y[:, i] = f[every, rows[:, i]] + luck[:, i] * np.sqrt(noise[:, i])
        A[:, i] = _condition_on(now, A[:, :i], variance, rows[:, i], noise[:, i])
        variance -= np.square(A[:, i])
    last = _update_mean(now, rows, noise, y, heard <= k)
    return np.where(np.any(heard <= k, axis=1), now.target[np.argmax(last[:, now.target], axis=1)], 0)


def choose_next(now: Prospect, mean: Array, variance: Array, A: Array, open_: Mask) -> Indices:
    """argmax log E[(μ'(x) - μ'(x⁺))⁺] over what is open, x⁺ the best mean of it."""
    shown = np.where(open_, mean, -np.inf)
    best, every = np.argmax(shown, axis=1), np.arange(len(mean))
    cov = now.cov[best] - np.einsum("dq,dqc->dc", A[every, :, best], A)
    least = LEAST * np.sqrt(np.max(np.diag(now.cov), initial=1e-300))
    left = np.maximum(variance, 0.0)
    s = np.maximum(np.abs(left - cov) / np.sqrt(np.maximum(left + now.noise, least**2)), least)
    u = (mean - np.max(shown, axis=1, keepdims=True)) / s
    score = np.log(s) + log_h(u.ravel())[0].reshape(u.shape)
    return np.asarray(np.argmax(np.where(open_, score, -np.inf), axis=1))


def _update_mean(now: Prospect, rows: Indices, noise: Array, y: Array, heard: Mask) -> Array:
    """μ on C given what was heard of some queries, in each simulation                                   (d, c)."""
    if not rows.shape[1]:
        return np.repeat(now.mean[None], len(rows), axis=0)
    deaf = DEAF * float(np.max(np.diag(now.cov)))
    K = now.cov[rows[:, :, None], rows[:, None, :]]
    K[:, range(rows.shape[1]), range(rows.shape[1])] += np.where(heard, noise, deaf)
    weights = np.linalg.solve(K, (np.where(heard, y - now.mean[rows], 0.0))[:, :, None])[:, :, 0]
    return np.asarray(now.mean + np.einsum("dq,dqc->dc", weights, now.cov[rows]))


def _condition_on(now: Prospect, A: Array, variance: Array, rows: Indices, noise: Array) -> Array:
    """The row of A of one more query."""
    every = np.arange(len(rows))
    column = now.cov[rows] - np.einsum("dq,dqc->dc", A[every, :, rows], A)
    pivot = np.maximum(variance[every, rows], 0.0) + noise
    return np.asarray(column / np.sqrt(np.maximum(pivot, 1e-300))[:, None])
