"""What the authors' released SVM program does where it differs from their text: six methods, their handicaps included.

n, t   queries made so far, the five initial ones included; the number of the query being chosen, t = n + 1
seen   1{d_s ≤ min(m, t - s)}; the baselines know no m
v, l, λ   variance and lengthscale of an isotropic SE kernel, noise variance; zero mean, y as it is
σ²     posterior variance plus λ, everywhere

GP-UCB-SDF, GP-TS-SDF  an unseen outcome is the datum 0, in the belief and in the fit; one later than m stays 0
GP-UCB, asy-TS         unseen queries are left out
GP-BUCB, GP-BTS        an unseen outcome is what the GP of the round before, itself made of such values, predicts; 0 in
                       the first GP, which has none before it
UCB                    μ + ν σ, ν = 1 + Σ σ(x_s) over the last m queries for GP-UCB-SDF, 1 for the baselines
Thompson               a draw of 200 random Fourier features, new ones each time, without ν; each feature vector is
                       scaled to the length √v, so that the prior variance is v everywhere
Fits                   on the five initial queries, and whenever n is a multiple of 10 (see released_fit)
Handicap               the baselines query at random until two outcomes are in, and a GP first made then keeps the
                       hyperparameters it was born with, l = 0.1 and v = λ = 1, until n is a multiple of 10
Search                 the best of 10,000 points drawn evenly, and of what L-BFGS-B makes of 100 more, which stops at
                       slopes below 1e-5. (Ours has the gradient, and climbs from the best of all too.) So a bound is
                       reached exactly where the surface leads to it, and a surface that is flat to the eye gives a
                       point near its maximum, or, where all points are equal, any

The queries of the authors' runs agree: see published_queries, which replays them, for how far.

What the released program does not have, done in its spirit:
- Contexts are further columns of the GP's input, under the same isotropic kernel; a query is sought in the given one.
- A fit looks at 300 outcomes at most, spread evenly over the order of asking, as ours do.
- A list is searched as a whole, in random order; of equal queries the first drawn is taken.
- Integers are searched as if continuous, and rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.linalg import solve_triangular

from belated.errors import InvalidInput
from belated.learner.algorithms import PAPER, find_algorithm
from belated.learner.arrays import Array, Mask
from belated.learner.blas import use_one_thread
from belated.learner.choice.candidates import AtContext
from belated.learner.choice.maximize import climb
from belated.learner.gp.domain import Domain, Finite, OneHot
from belated.learner.gp.kernels import SE
from belated.learner.gp.posterior import GP, GrowingPosterior, Posterior
from belated.learner.gp.table import compute_root
from belated.learner.history import in_time
from belated.learner.policies import Surface
from belated.results import Trial
from belated.study import Study
from belated.validation import Params
from reproduction.released_fit import JITTER, fit_gp, merge_rows

INITIAL, EVERY, ENOUGH = 5, 10, 2  # random queries first; queries from fit to fit; outcomes for a baseline's first GP
FEATURES, POINTS, STARTS = 200, 10_000, 100
BATCH = 1000  # points evaluated together: few enough to stay in the processor's cache
UNFITTED = GP(SE(0.1, 1.0), 1.0)
ASKING, FITTING = 3, 4  # what a stream [seed, t, ·] is for (1 and 2 are the world's); [seed, t] gives random queries
NO_CONTEXT = np.empty(0)

Rows = tuple[Array, Array]  # X, y: what a GP is made of


class ReleasedBelief(NamedTuple):
    """The GP of one round, and how many outcomes it has at each of its queries."""

    posterior: Posterior
    counts: Array

    @property
    def gp(self) -> GP:
        return self.posterior.gp


# What an unheard outcome counts as: queries, outcomes, which are seen, and the belief of the round before -> rows


def fill_with_zeros(X: Array, y: Array, seen: Mask, before: ReleasedBelief | None) -> Rows | None:
    """An unseen outcome is 0."""
    return X, np.where(seen, y, 0.0)


def drop_unseen(X: Array, y: Array, seen: Mask, before: ReleasedBelief | None) -> Rows | None:
    """What was seen, once that is enough."""
    return (X[seen], y[seen]) if np.sum(seen) >= ENOUGH else None


def fill_with_predictions(X: Array, y: Array, seen: Mask, before: ReleasedBelief | None) -> Rows | None:
    """An unseen outcome is the mean of the GP before; 0 where there was none, once enough was seen."""
    if before is None:
        return fill_with_zeros(X, y, seen, before) if np.sum(seen) >= ENOUGH else None
    filled = np.where(seen, y, 0.0)
    filled[~seen] = before.posterior.mean(X[~seen])
    return X, filled


# What is maximised: the belief, the last queries that ν counts, and a generator -> surface


class ReleasedUpperBound(NamedTuple):
    """μ + ν √(σ² + λ)."""

    posterior: Posterior
    nu: float

    def __call__(self, Q: Array) -> Array:
        mean, std = self.posterior.mean_and_std(Q)
        return np.asarray(mean + self.nu * np.sqrt(np.square(std) + self.posterior.gp.lam))

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        mean, variance, d_mean, d_variance = self.posterior.gradients(Q)
        sigma = np.sqrt(variance + self.posterior.gp.lam)
        return mean + self.nu * sigma, d_mean + self.nu * d_variance / (2.0 * sigma[:, None])


def compute_nu(posterior: Posterior, recent: Array) -> float:
    """ν = 1 + Σ √(σ²(x) + λ) over the recent queries."""
    return 1.0 + float(np.sum(np.sqrt(posterior.variance(recent) + posterior.gp.lam)))


def make_widened_bound(belief: ReleasedBelief, recent: Array, rng: Generator) -> Surface:
    """GP-UCB-SDF."""
    return ReleasedUpperBound(belief.posterior, compute_nu(belief.posterior, recent))


def make_plain_bound(belief: ReleasedBelief, recent: Array, rng: Generator) -> Surface:
    """The UCB baselines."""
    return ReleasedUpperBound(belief.posterior, 1.0)


class FourierDraw(NamedTuple):
    """f(x) = φ(x)ᵀw with φ(x) = √v c(x) / |c(x)|, c(x) = cos(ωx + b)."""

    omega: Array  # (M, D)
    phase: Array  # b (M,)
    length: float  # √v
    weights: Array  # w (M,)

    def compute_features(self, Q: Array) -> Array:
        """φ                                                       (q, M)."""
        c = np.cos(Q @ self.omega.T + self.phase)
        return np.asarray(self.length * c / np.linalg.norm(c, axis=1, keepdims=True))

    def __call__(self, Q: Array) -> Array:
        c = np.cos(Q @ self.omega.T + self.phase)
        return np.asarray(self.length * (c @ self.weights) / np.sqrt(np.einsum("ij,ij->i", c, c)))

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        angle = Q @ self.omega.T + self.phase
        c, s = np.cos(angle), -np.sin(angle)
        size = np.sqrt(np.einsum("ij,ij->i", c, c))[:, None]
        value = self.length * (c @ self.weights) / size[:, 0]
        d_sum, d_size = (s * self.weights) @ self.omega, ((s * c) @ self.omega) / size
        return value, (self.length * d_sum - value[:, None] * d_size) / size


def draw_weights(Phi: Array, y: Array, count: Array, lam: float, z: Array) -> Array:
    """w = A⁻¹Φᵀy + √λ R⁻ᵀz with RRᵀ = A = ΦᵀΦ + λI: with z ~ N(0, I) a draw of the belief about w ~ N(0, I).

    y has the mean of `count` outcomes in each row."""
    weighted = count[:, None] * Phi
    R = compute_root(weighted.T @ Phi + lam * np.eye(Phi.shape[1]))
    whitened = solve_triangular(R, weighted.T @ y, lower=True) + np.sqrt(lam) * z
    return np.asarray(solve_triangular(R, whitened, lower=True, trans="T"))


def draw_fourier_surface(belief: ReleasedBelief, recent: Array, rng: Generator) -> FourierDraw:
    """A draw of the belief whose kernel is φ(x)ᵀφ(x')."""
    gp, X, y = belief.gp, belief.posterior.X, belief.posterior.y_tilde
    omega = gp.kernel.frequencies(rng, FEATURES, X.shape[1])
    phase = rng.uniform(0.0, 2.0 * np.pi, FEATURES)
    draw = FourierDraw(omega, phase, float(np.sqrt(gp.kernel.variance)), np.zeros(FEATURES))
    z = rng.standard_normal(FEATURES)
    return draw._replace(weights=draw_weights(draw.compute_features(X), y, belief.counts, gp.lam, z))


@dataclass(frozen=True)
class ReleasedMethod:
    """How unheard outcomes count, and what is maximised."""

    fill: Callable[[Array, Array, Mask, ReleasedBelief | None], Rows | None]
    surface: Callable[[ReleasedBelief, Array, Generator], Surface]


METHODS = {
    "GP-UCB-SDF": ReleasedMethod(fill_with_zeros, make_widened_bound),
    "GP-TS-SDF": ReleasedMethod(fill_with_zeros, draw_fourier_surface),
    "GP-UCB": ReleasedMethod(drop_unseen, make_plain_bound),
    "asy-TS": ReleasedMethod(drop_unseen, draw_fourier_surface),
    "GP-BUCB": ReleasedMethod(fill_with_predictions, make_plain_bound),
    "GP-BTS": ReleasedMethod(fill_with_predictions, draw_fourier_surface),
}


def find_highest(surface: Surface, domain: Domain, rng: Generator) -> Array:
    """Where a surface is largest on a list, or on the unit cube; the nearest point of the space to that."""
    if isinstance(domain, Finite):
        Q = rng.permutation(domain.Q)
        return np.asarray(Q[np.argmax(surface(Q))])
    C = rng.random((POINTS, domain.D))
    values = np.concatenate([surface(C[i : i + BATCH]) for i in range(0, POINTS, BATCH)])
    free = np.ones(domain.D, dtype=bool)
    starts = np.vstack([C[np.argmax(values)], rng.random((STARTS, domain.D))])
    X, values = climb(surface, free, starts, iterations=30)
    winner = int(np.argmax(values))
    X, _ = climb(surface, free, X[winner : winner + 1], iterations=100)
    return np.asarray(domain.snap(X)[0])


def draw_query(domain: Domain, rng: Generator) -> Array:
    """Any point of a space."""
    if isinstance(domain, Finite):
        return np.asarray(domain.Q[rng.integers(len(domain.Q))])
    return np.asarray(domain.place(rng.random((1, domain.D)))[0])


def find_seen(known_from: Array, m: float) -> Mask:
    """Which of the outcomes count when query t = len(known_from) + 1 is chosen; each was known from a query on."""
    t = len(known_from) + 1
    s = np.arange(1.0, t)
    return in_time(known_from - s, t - s, m)


def is_fit_due(n: int) -> bool:
    """Whether hyperparameters are fitted after n queries."""
    return n == INITIAL or n % EVERY == 0


def select_recent(X: Array, m: float) -> Array:
    """The last m queries, or all."""
    return X[int(max(0, len(X) - m)) :]


def update_posterior(growing: GrowingPosterior, gp: GP, X: Array, y: Array) -> ReleasedBelief:
    """The belief given outcomes y at X; `growing` is that of the round before, whose factor is used again."""
    rows = merge_rows(X, y)
    lams = (gp.lam + JITTER) / rows.counts
    return ReleasedBelief(growing.condition(gp, range(1, len(rows.X) + 1), rows.X, rows.y, lams), rows.counts)


class ReleasedProgram:
    """One run of one method. What it keeps from round to round is its last GP, and that follows from the rounds.

    name    one of METHODS
    m       patience of the SDF pair, in rounds; None for the baselines
    domain  of the queries; the rows X that it is given have the columns of the context first
    seed    of everything random; runs of the same seed begin with the same five queries"""

    def __init__(self, name: str, m: int | None, domain: Domain, seed: int) -> None:
        find_algorithm(name, PAPER)  # refuses what is none of the six
        if not isinstance(domain, Finite) and any(isinstance(c, OneHot) for c in domain.coordinates):
            raise InvalidInput("the released program needs Points, or parameters that are all Real or Integer")
        self.method, self.domain, self.seed = METHODS[name], domain, seed
        patient = PAPER[name].implied.patience == "needed"
        if patient and m is None:
            raise InvalidInput(f"{name} needs a patience m")
        self.m = float(m) if patient and m is not None else np.inf
        self._forget()

    def _forget(self) -> None:
        self.t = INITIAL  # the last query for which a GP was made, or could not be made
        self.belief: ReleasedBelief | None = None
        self.growing = GrowingPosterior()

    def choose(self, X: Array, y: Array, known_from: Array, z: Array = NO_CONTEXT) -> Array:
        """Query t = len(X) + 1 in the context z, after outcomes y at X that were known from the choice of query
        known_from on (inf: not yet)."""
        t, belief = len(X) + 1, self.update_belief(X, y, known_from)
        if t <= INITIAL or belief is None:
            return draw_query(self.domain, np.random.default_rng([self.seed, t]))
        rng = np.random.default_rng([self.seed, t, ASKING])
        surface = self.method.surface(belief, select_recent(X, self.m), rng)
        return find_highest(AtContext(surface, z), self.domain, rng)

    def update_belief(self, X: Array, y: Array, known_from: Array) -> ReleasedBelief | None:
        """The GP from which query len(X) + 1 is chosen; None where it is chosen at random.

        Rounds that this object has not seen are replayed first, so that an interrupted run can go on."""
        t = len(X) + 1
        if t < self.t:
            self._forget()
        for now in range(self.t + 1, t + 1):
            self._learn(X[: now - 1], y[: now - 1], known_from[: now - 1])
        return self.belief

    def _learn(self, X: Array, y: Array, known_from: Array) -> None:
        self.t = t = len(X) + 1
        rows = self.method.fill(X, y, find_seen(known_from, self.m), self.belief)
        if rows is None:
            return
        gp = UNFITTED if self.belief is None else self.belief.gp
        if is_fit_due(len(X)):
            gp = fit_gp(gp, *rows, np.random.default_rng([self.seed, t, FITTING]))
        self.belief = update_posterior(self.growing, gp, *rows)


def make_chooser(
    study: Study, name: str, m: int | None, seed: int, contexts: Callable[[int], Params] | None = None
) -> Callable[[Study], Params]:
    """What the released program asks, for simulate(study, f, ..., choose=make_chooser(study, ...)).

    Its zeros are the study's floor. A study that was interrupted goes on where it stood. contexts gives the context of
    round s = 1, 2, ..., where the study has one."""
    space, context, outcome = study.settings.space, study.settings.context, study.settings.objective
    if (context is None) != (contexts is None):
        raise InvalidInput("contexts must be given for a study with a context, and for no other")
    program = ReleasedProgram(name, m, space.domain, seed)
    trials: list[Trial] = []  # as read last
    rows: list[list[float]] = []  # of the same; they never change

    def encode(trial: Trial) -> list[float]:
        x = space.encode_as_list(trial.params)
        return x if context is None or trial.context is None else context.encode_as_list(trial.context) + x

    def choose(study: Study) -> Params:
        trials[:] = [study.trial(each.number) if each.outcome is None else each for each in trials]
        trials.extend(study.trial(number) for number in range(len(trials) + 1, study.rounds + 1))
        rows.extend(map(encode, trials[len(rows) :]))
        z = NO_CONTEXT if context is None or contexts is None else context.encode(contexts(len(trials) + 1))
        X = np.array(rows).reshape(len(trials), len(z) + space.domain.D)
        y = np.array([np.nan if trial.outcome is None else trial.outcome for trial in trials])
        known_from = np.array([np.inf if trial.known_from is None else trial.known_from for trial in trials])
        with use_one_thread():
            return space.decode(program.choose(X, outcome.sign * (y - (outcome.floor or 0.0)), known_from, z))

    return choose
