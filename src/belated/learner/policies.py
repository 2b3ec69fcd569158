"""Policies: from a belief to a surface whose maximum is the next query.

belief   posterior mean μ and std σ, and which rows were heard
nu       width ν_t (or β_t): how far the policy trusts σ
Q        a finite set of queries (q, D); elsewhere a policy is a surface with a gradient
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import Generator

from belated.learner.arrays import Array
from belated.learner.belief import ChoiceBelief
from belated.learner.feasibility import Feasibility
from belated.learner.gp.posterior import BeliefDifference, Path, Posterior
from belated.validation import Fieldless

EXACT = 4000  # the longest list with exact draws: its root costs O(|Q|³) time and |Q|² memory
TINY = 1e-12  # a standard deviation below this (relative to the prior's) counts as this


class Surface(Protocol):
    """Something to maximise over a continuous space, many points at once."""

    def __call__(self, Q: Array) -> Array:
        """Values at Q                                             (q,)."""

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        """Values and gradients at Q                               (q,), (q, D)."""


class Policy(Protocol):
    """How to choose, given a belief."""

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        """The value of every point of a finite Q                  (q,)."""

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
        """The same as a function of any point."""


def weigh(values: Array, p: Array, floor: float, logarithmic: bool) -> Array:
    """Values that are worth the floor with probability 1 - p, and never more for that."""
    return values + np.log(p) if logarithmic else values - (1.0 - p) * np.maximum(values - floor, 0.0)


class WeighedSurface(NamedTuple):
    """A surface, weighed by how likely a query can be evaluated."""

    surface: Surface
    feasible: Feasibility
    logarithmic: bool

    def __call__(self, Q: Array) -> Array:
        return weigh(self.surface(Q), self.feasible(Q), self.feasible.floor, self.logarithmic)

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        (v, d_v), (p, d_p) = self.surface.gradient(Q), self.feasible.gradient(Q)
        if self.logarithmic:
            slopes = d_v + d_p / p[:, None]
        else:
            above = (v > self.feasible.floor)[:, None]
            slopes = np.where(above, p[:, None] * d_v + d_p * (v - self.feasible.floor)[:, None], d_v)
        return weigh(v, p, self.feasible.floor, self.logarithmic), slopes


def is_logarithmic(policy: Policy) -> bool:
    """Whether its values are logarithms of what a query is worth; else they are values that f may have."""
    return isinstance(policy, LogEI | Overtaking)


def find_scores(policy: Policy, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
    """What a policy finds of every point of a finite Q, weighed by feasibility             (q,)."""
    scores, feasible = policy.scores(belief, Q, nu, rng), belief.feasible
    return scores if feasible is None else weigh(scores, feasible(Q), feasible.floor, is_logarithmic(policy))


def find_surface(policy: Policy, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
    """The same as a function of any point."""
    surface = policy.surface(belief, nu, rng)
    return surface if belief.feasible is None else WeighedSurface(surface, belief.feasible, is_logarithmic(policy))


def std_gradient(posterior: Posterior | BeliefDifference, variance: Array, d_variance: Array) -> tuple[Array, Array]:
    """σ and ∂σ = ∂σ² / 2σ."""
    sigma = np.sqrt(np.maximum(variance, TINY**2 * posterior.gp.kernel.variance))
    return sigma, d_variance / (2.0 * sigma[:, None])


class _Upper(NamedTuple):
    posterior: Posterior
    nu: float

    def __call__(self, Q: Array) -> Array:
        mean, std = self.posterior.mean_and_std(Q)
        return mean + self.nu * std

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        mean, variance, d_mean, d_variance = self.posterior.gradients(Q)
        sigma, d_sigma = std_gradient(self.posterior, variance, d_variance)
        return mean + self.nu * sigma, d_mean + self.nu * d_sigma


class UCB(Fieldless):
    """x_t = argmax_{x ∈ Q} μ_{t-1}(x) + ν_t σ_{t-1}(x), Eq. (2).

    >>> from belated import algorithms, policies
    >>> algorithms.paper("GP-UCB-SDF").moves == (algorithms.Move(policies.UCB()),)
    True
    """

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        mean, std = belief.mean_and_std(Q)
        return mean + nu * std

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
        return _Upper(belief.posterior, nu)


class _RelativeUpper(NamedTuple):
    posterior: Posterior
    nu: float
    least: float  # σ_min

    def __call__(self, Q: Array) -> Array:
        mean, std = self.posterior.mean_and_std(Q)
        return mean + self.nu * std * compare_widths(std, self.least)

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        mean, variance, d_mean, d_variance = self.posterior.gradients(Q)
        sigma, d_sigma = std_gradient(self.posterior, variance, d_variance)
        width, ratio = compare_widths(sigma, self.least), np.square(sigma / self.least)
        slope = width + ratio / ((1.0 + ratio) * width)
        return mean + self.nu * width * sigma, d_mean + self.nu * slope[:, None] * d_sigma


def compare_widths(std: Array, least: float) -> Array:
    """√log(1 + σ²/σ²_min)."""
    return np.asarray(np.sqrt(np.log1p(np.square(std / least))))


class RelativeUCB(Fieldless):
    """argmax μ(x) + ν σ(x) √log(1 + σ²(x) / σ²_min), σ_min that of the query that is known best: in a list any of them,
    elsewhere one that was heard.

    σ²/σ²_min is how many times more that query was asked. So what was given up after a few bad outcomes is asked again,
    as the others become known: a bound with a constant width never does. It is the index of MOSS (Audibert and Bubeck,
    2009) with variances in place of counts.

    >>> from belated import algorithms, policies
    >>> algorithms.DEFAULT.conversion_moves[0].policy
    RelativeUCB()
    """

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        mean, std = belief.mean_and_std(Q)
        return mean + nu * std * compare_widths(std, _find_least(std, float(np.max(std))))

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
        heard = belief.posterior.std(belief.queries) if np.any(belief.known) else np.empty(0)
        return _RelativeUpper(
            belief.posterior, nu, _find_least(heard, float(np.sqrt(belief.posterior.gp.kernel.variance)))
        )


def _find_least(std: Array, largest: float) -> float:
    """The least of some σ, none of which is larger than `largest`; never 0."""
    return max(float(np.min(std, initial=largest)), TINY * largest, 1e-150)


class ThompsonSampling(Fieldless):
    """x_t = argmax_{x ∈ Q} f_t(x), f_t ~ GP(μ_{t-1}, ν_t² σ²_{t-1}), Eq. (3): exact on a list, pathwise elsewhere.

    >>> from belated import algorithms, policies
    >>> algorithms.paper("GP-TS-SDF").moves == (algorithms.Move(policies.ThompsonSampling()),)
    True
    """

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        return belief.posterior.draw(Q, rng, nu) if len(Q) <= EXACT else belief.posterior.path(rng, nu)(Q)

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Path:
        return belief.posterior.path(rng, nu)


class _Spread(NamedTuple):
    posterior: Posterior

    def __call__(self, Q: Array) -> Array:
        return self.posterior.std(Q)

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        _, variance, _, d_variance = self.posterior.gradients(Q)
        return std_gradient(self.posterior, variance, d_variance)


class UncertaintySampling(Fieldless):
    """x_t = argmax σ_{t-1}(x): the start that GP-BUCB's theory asks for (Section 4).

    >>> from belated import Points, Study, algorithms, kernels
    >>> algorithm = algorithms.paper("GP-BUCB", kernel=kernels.SE(0.3), lam=0.01, start=3)
    >>> study = Study.create(space=Points([0.0, 0.1, 0.5, 0.9, 1.0]), algorithm=algorithm, seed=0)
    >>> [trial.params["x"] for trial in study.ask(n=3)]  # each where least is known
    [0.0, 1.0, 0.5]
    """

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        return belief.posterior.std(Q)

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
        return _Spread(belief.posterior)


class _Mean(NamedTuple):
    posterior: Posterior

    def __call__(self, Q: Array) -> Array:
        return self.posterior.mean(Q)

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        return self.posterior.mean_gradient(Q)


class Greedy(Fieldless):
    """argmax μ(x): what to recommend, not what to try.

    >>> from belated import Points, Study
    >>> study = Study.create(space=Points([0.0, 0.5, 1.0]), silence="unknown", seed=0)
    >>> _ = study.add({"x": 0.0}, 0.1), study.add({"x": 0.5}, 0.9), study.add({"x": 1.0}, 0.2)
    >>> study.recommend().params
    {'x': 0.5}
    """

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        return belief.posterior.mean(Q)

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
        return _Mean(belief.posterior)


def log_h(u: Array) -> tuple[Array, Array]:
    """log h(u) and its derivative Φ(u)/h(u), with h(u) = φ(u) + u Φ(u), for any u without underflow."""
    from scipy.special import erfcx, ndtr

    u = np.clip(u, -1e150, 1e150)
    value, slope = np.empty_like(u), np.empty_like(u)
    near = u > -1.0  # here the definition is safe
    v = u[near]
    h = np.exp(-0.5 * v * v) / np.sqrt(2.0 * np.pi) + v * ndtr(v)
    value[near], slope[near] = np.log(h), ndtr(v) / h
    low = ~near & (u > -200.0)  # here h = φ (1 + u Φ/φ), Φ/φ by erfcx
    v = u[low]
    ratio = np.sqrt(np.pi / 2.0) * erfcx(-v / np.sqrt(2.0))
    value[low], slope[low] = _log_phi(v) + np.log1p(v * ratio), ratio / (1.0 + v * ratio)
    far = u <= -200.0  # and here that sum cancels: h = φ/u² (1 - 3/u² + 15/u⁴ - …)
    v = u[far]
    value[far], slope[far] = _log_phi(v) - 2.0 * np.log(-v) + np.log1p((15.0 / v**2 - 3.0) / v**2), -v - 2.0 / v
    return value, slope


def _log_phi(u: Array) -> Array:
    return np.asarray(-0.5 * u * u - 0.5 * np.log(2.0 * np.pi))


class _LogEI(NamedTuple):
    posterior: Posterior | BeliefDifference
    best: float

    def __call__(self, Q: Array) -> Array:
        mean, std = self.posterior.mean_and_std(Q)
        sigma = np.maximum(std, TINY * np.sqrt(self.posterior.gp.kernel.variance))
        return np.asarray(np.log(sigma) + log_h((mean - self.best) / sigma)[0])

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        mean, variance, d_mean, d_variance = self.posterior.gradients(Q)
        sigma, d_sigma = std_gradient(self.posterior, variance, d_variance)
        u = (mean - self.best) / sigma
        log_value, slope = log_h(u)
        d_u = (d_mean - u[:, None] * d_sigma) / sigma[:, None]
        return np.log(sigma) + log_value, d_sigma / sigma[:, None] + slope[:, None] * d_u


class LogEI(Fieldless):
    """argmax log E[(f(x) - μ⁺)⁺] = log σ + log h((μ - μ⁺)/σ), μ⁺ the best mean (in this context) of a query heard.

    >>> from dataclasses import replace
    >>> from belated import Real, Study, algorithms, policies
    >>> alone = replace(algorithms.DEFAULT, name="LogEI alone", moves=(algorithms.Move(policies.LogEI()),))
    >>> Study.create(space={"x": Real(0, 1)}, algorithm=alone, silence="unknown", seed=0)
    Study(LogEI alone, maximize, silence=unknown, 0 trials, 0 heard)
    """

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
        best = float(np.max(belief.means)) if np.any(belief.known) else belief.posterior.gp.mean
        return _LogEI(belief.posterior, best)

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        return self.surface(belief, nu, rng)(Q)


class Overtaking(Fieldless):
    """argmax log E[(μ'(x) - μ'(x⁺))⁺], μ' the mean once x is heard, x⁺ the query heard with the best mean now (in this
    context): a knowledge gradient between two points.

    LogEI treats μ⁺ as certain, and the outcome at x as f(x). With noisy outcomes it keeps asking at x⁺ and close to it,
    because f is uncertain there; but f(x) and f(x⁺) are uncertain together, and one more outcome says little about
    either. Without noise the two policies are the same.

    >>> from belated import algorithms, policies
    >>> algorithms.DEFAULT.moves[0] == algorithms.Move(policies.Overtaking())
    True
    """

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
        if not np.any(belief.known):
            return LogEI().surface(belief, nu, rng)
        best = int(np.argmax(belief.means))
        return _LogEI(belief.posterior.difference_from(belief.queries[best : best + 1]), 0.0)

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        return self.surface(belief, nu, rng)(Q)
