"""All six algorithms choose what the paper's equations, written down densely and afresh each round, choose.

P        every input: the rows of Q, or of Z × Q where there is a context; a query is a row of P
K        k(P, P)
d_s      delay of query s; age[t, s] = t - s in rounds (Section 3.1), τ̄_t - τ_s by the clock (App. A.4)
ỹ_{s,t}  y_s 1{d_s ≤ min(m, age)}
m        patience, inf for the four baselines

`transcribed` is the paper, Sections 3.1 and 3.2 and App. A.4; `asked` is belated. They share nothing: not the kernel,
the solver, the scale of y, nor β_t and λ. Only the normals of a Thompson draw must be the same, default_rng([seed, t]).
"""

import itertools
import math
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize

import belated
from belated.learner.algorithms import paper
from belated.learner.confidence import Theory
from belated.learner.gp.kernels import SE, Matern52, Product

T = 60
SDF = ("GP-UCB-SDF", "GP-TS-SDF")
BASELINES = ("GP-UCB", "asy-TS", "GP-BUCB", "GP-BTS")
NAMES = SDF + BASELINES


# The world: what is asked of both


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """Everything that is not a choice, so that it is the same for both."""

    f: np.ndarray  # noise-free, on P; 0 is the worst and 1 the best
    noise: np.ndarray  # (T,)
    delay: np.ndarray  # (T,), inf: never
    age: np.ndarray  # (T, T)
    Q: np.ndarray  # in the user's units
    Z: np.ndarray | None = None
    context: np.ndarray | None = None  # z_t as a row of Z  (T,)
    started: np.ndarray | None = None  # τ_t, by the clock
    considered: np.ndarray | None = None  # τ̄_t

    @property
    def P(self):
        return self.Q if self.Z is None else np.array([[*z, *q] for z in self.Z for q in self.Q])

    def open(self, t):
        """The rows of P among which x_t is chosen."""
        return np.arange(len(self.Q)) + (0 if self.context is None else len(self.Q) * self.context[t - 1])


ROUNDS = np.arange(1.0, T + 1)[:, None] - np.arange(1.0, T + 1)  # t - s


def a_world(seed, *, points=14, mean=4.0, contexts=0):
    """Queries without order or symmetry, Poisson delays of which a tenth never end, f in [0, 1], noise in ±0.1."""
    rng = np.random.default_rng([2022, seed])
    Z = rng.uniform(5.0, 9.0, (contexts, 1)) if contexts else None
    delay = rng.poisson(mean, T).astype(float)
    delay[rng.random(T) < 0.1] = math.inf
    return World(
        f=rng.random(points * max(1, contexts)),
        noise=rng.uniform(-0.1, 0.1, T),
        delay=delay,
        age=ROUNDS,
        Q=rng.uniform([-3.0, 100.0], [4.0, 180.0], (points, 2)),
        Z=Z,
        context=rng.integers(contexts, size=T) if contexts else None,
    )


def by_the_clock(world, seed):
    """The same with delays in seconds. Choosing takes up to two seconds (τ̄_t to τ_t), and times lie on a grid of a
    half, so that d_s = m, ages of m and arrivals at τ̄_t itself happen."""
    rng = np.random.default_rng([1986, seed])
    considered = np.cumsum(rng.integers(4, 8, T)) / 2.0
    started = considered + rng.integers(0, 5, T) / 2.0
    delay = np.where(np.isinf(world.delay), math.inf, rng.integers(1, 22, T) / 2.0)
    return replace(world, delay=delay, started=started, considered=considered, age=considered[:, None] - started)


def se(P, lengthscale, variance=1.0):
    """K = variance exp(-½ Σ_c (p_c - p'_c)² / l_c²), every coordinate scaled to [0, 1]."""
    U = (P - P.min(axis=0)) / np.ptp(P, axis=0)
    return variance * np.exp(-0.5 * np.sum(((U[:, None] - U) / lengthscale) ** 2, axis=2))


def matern(P, lengthscale):
    """K = (1 + √5 r + 5r²/3) exp(-√5 r)."""
    U = (P - P.min(axis=0)) / np.ptp(P, axis=0)
    r = np.sqrt(5.0 * np.sum(((U[:, None] - U) / lengthscale) ** 2, axis=2))
    return (1 + r + r**2 / 3) * np.exp(-r)


# The paper


def transcribed(
    name,
    world,
    K,
    *,
    m=math.inf,
    lam=0.05,
    beta=1.0,
    seed=0,
    start=0,
    floor=0.0,
    ceiling=1.0,
    fits=None,
    silence=None,
):
    """x_1 … x_T as rows of P. Eq. (1), (2), (3); ties to the lowest row. `fits`: hyperparameters by t, for K and λ.

    `silence`: the SDF pair with the footnote of Section 3.1. In the place of 0 stands, up to the age m, the posterior
    mean given the heard ("unknown": such a datum moves σ and not μ), or its average at the K_NEAREST heard queries that
    are the nearest ("nearest"). Older ones that were not heard are left out."""
    sdf, thompson, x = name in SDF, "TS" in name, []
    for t in range(1, T + 1):
        if fits is not None and t in fits:
            K, lam = se(world.P, fits[t].lengthscales, fits[t].variance), fits[t].lam
        first, T_t, delta_t = epoch(beta, t)
        here = slice(first - 1, t - 1)  # queries first … t-1
        X, age, Ct = np.array(x[here], dtype=int), world.age[t - 1, here], world.open(t)
        seen = world.delay[here] <= np.minimum(m, age)
        y_tilde = censored(world.f[X] + world.noise[here], seen, floor, ceiling)
        lam_t = lam if T_t is None else 1 + 2 / T_t
        # SDF: everything from all queries. Hallucination: σ from all, μ from the heard. Ignoring: both from the heard.
        in_mean = np.full(len(X), True) if sdf else seen
        in_std = seen if name in ("GP-UCB", "asy-TS") and t - first >= start else np.full(len(X), True)
        if silence is not None:
            in_std = seen | (age <= m)
            in_mean = seen if silence == "unknown" else in_std
            if np.any(seen):
                y_tilde[~seen] = average_near(world.P, X[~seen], X[seen], weights(K, X[seen], lam_t) @ y_tilde[seen])
        for_mean, for_std = X[in_mean], X[in_std]
        mu = weights(K, for_mean, lam_t) @ y_tilde[in_mean]
        W = weights(K, for_std, lam_t)
        cov = K - W @ K[for_std]
        sigma = np.sqrt(np.diag(cov))
        nu = beta_t(name, beta, t - first, delta_t, K, for_std, lam_t)
        if sdf:
            nu += sum(sigma[x_s] for x_s, a in zip(X, age, strict=True) if a <= m)  # B_y = 1; s = max(first, t-m) … t-1
        if t - first < start:
            score = sigma  # uncertainty sampling: σ_{t-1} given all queries, which needs no outcome
        elif thompson:
            score = mu + nu * deviation(np.random.default_rng([seed, t]), world, K, W, cov, for_std, lam_t, Ct)
        else:
            score = mu + nu * sigma
        x.append(Ct[np.argmax(score[Ct] >= score[Ct].max() - 1e-10)])
    return x


def average_near(P, X, heard, mean):
    """The average of the mean at the K_NEAREST of the heard queries."""
    U = (P - P.min(axis=0)) / np.ptp(P, axis=0)
    distances = np.sum((U[X][:, None] - U[heard]) ** 2, axis=2)
    return mean[heard[np.argsort(distances, axis=1, kind="stable")[:, :K_NEAREST]]].mean(axis=1)


def weights(K, X, lam):
    """k(P, X) (K_X + λI)⁻¹."""
    return np.linalg.solve(K[np.ix_(X, X)] + lam * np.eye(len(X)), K[X]).T


def deviation(rng, world, K, W, cov, X, lam, Ct):
    """A draw of GP(0, σ²): f0 - k(·)ᵀ(K + λI)⁻¹(f0(X) + ε), f0 = R0 z; with contexts R z with R Rᵀ = σ²(Q, Q) at z_t.

    ε belongs to the queries in the order of their numbers."""
    z = rng.standard_normal(len(world.Q))
    if world.context is not None:
        drawn = np.empty(len(K))
        drawn[Ct] = np.linalg.cholesky(cov[np.ix_(Ct, Ct)]) @ z
        return drawn
    f0 = np.linalg.cholesky(K) @ z
    return f0 - W @ (f0[X] + np.sqrt(lam) * rng.standard_normal(len(X)))


def censored(y, seen, floor, ceiling):
    """ỹ on the scale of the paper: worst 0, best 1. Without a floor the worst heard stands in, without a ceiling the
    largest distance from the floor heard."""
    heard = y[seen]
    low = floor if floor is not None else heard.min(initial=math.inf) if len(heard) else 0.0
    width = ceiling - low if ceiling is not None else np.max(np.abs(heard - low), initial=0.0)
    return np.where(seen, (y - low) / (width or 1.0), 0.0)


def epoch(beta, t):
    """The first query of the epoch of query t, its T and its δ. Doubling: 1, 2, 4, … rounds, δ/2, δ/6, δ/12, …"""
    if not isinstance(beta, Theory):
        return 1, None, None
    if beta.horizon is not None:
        return 1, beta.horizon, beta.delta
    first, i = 1, 1
    while first + first <= t:
        first, i = first + first, i + 1
    return first, first, beta.delta / (i * (i + 1))


def beta_t(name, beta, before, delta, K, X, lam):
    """Section 3.2 (UCB), App. A.3 (TS); without B_y for the baselines. γ is realised, or greedy over 1 - 1/e."""
    if not isinstance(beta, Theory):
        return beta
    if beta.gain == "greedy":
        gamma, G = 0.0, []
        for _ in range(before):
            variance = np.diag(K - weights(K, np.array(G, dtype=int), lam) @ K[G])
            G.append(int(np.argmax(variance >= variance.max() - 1e-12)))
            gamma += 0.5 * np.log(1 + variance[G[-1]] / lam)
        gamma /= 1 - 1 / math.e
    else:
        gamma = 0.5 * np.linalg.slogdet(np.eye(len(X)) + K[np.ix_(X, X)] / lam)[1]
    c, spread = {"GP-UCB-SDF": (2, beta.R + 1), "GP-TS-SDF": (4, beta.R + 1)}.get(name, (1, beta.R))
    return beta.B_f + spread * np.sqrt(2 * (gamma + 1 + np.log(c / delta)))


# Belated


def asked(name, world, kernel, *, lam=0.05, beta=1.0, start=0, **how):
    """x_1 … x_T as rows of P, for an algorithm that fits nothing."""
    given = None if isinstance(beta, Theory) else lam
    return driven(paper(name, kernel=kernel, lam=given, beta=beta, refit_every=None, start=start), world, **how)[0]


def driven(
    algorithm, world, *, m=math.inf, seed=0, goal="maximize", floor=0.0, ceiling=1.0, initial=None, silence=None
):
    """x_1 … x_T as rows of P, and the study. What comes in one round is told in a shuffled order, late is told late."""
    clock, sign = Clock(), 1.0 if goal == "maximize" else -1.0
    patience = {} if math.isinf(m) else {"patience": m if world.started is None else f"{m}s"}
    study = belated.Study.create(
        space=belated.Points(world.Q),
        context=None if world.Z is None else belated.Points(world.Z[:, 0], names=["z"]),
        goal=goal,
        floor=None if floor is None else sign * floor,
        ceiling=None if ceiling is None else sign * ceiling,
        algorithm=algorithm,
        silence=silence,
        initial=initial,
        seed=seed,
        clock=clock,
        **patience,
    )
    x, shuffle, told = [], np.random.default_rng(seed), set()
    for t in range(1, T + 1):
        arrived = world.delay[: t - 1] <= world.age[t - 1, : t - 1]
        for s in shuffle.permutation(np.flatnonzero(arrived)) + 1:
            if s not in told:
                value, at = sign * (world.f[x[s - 1]] + world.noise[s - 1]), {}
                if world.started is not None:  # every other one is typed in afterwards
                    came = world.started[s - 1] + world.delay[s - 1]
                    clock.readings, at = ([world.considered[t - 1]], {"at": came}) if s % 2 else ([came], {})
                study.tell(int(s), value, **at)
                told.add(s)
        if world.started is not None:
            clock.readings = [world.considered[t - 1], world.started[t - 1]]
        z = None if world.Z is None else {"z": world.Z[world.context[t - 1], 0]}
        trial = study.ask(context=z)
        assert "fell back" not in trial.note
        assert world.started is None or trial.asked_at == world.started[t - 1]
        (row,) = np.flatnonzero(np.all(world.Q == [trial.params["x0"], trial.params["x1"]], axis=1))
        x.append(world.open(t)[row])
    return x, study


class Clock:
    """Gives its readings one after the other, and the last one for ever."""

    def __init__(self):
        self.readings = [0.0]

    def __call__(self):
        return self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]


KERNEL, L = SE((0.25, 0.2)), (0.25, 0.2)
K_NEAREST = 3  # of silence="nearest"
THEORY = Theory(B_f=1.2, R=0.1, delta=0.1)


def with_patience(names=NAMES, ms=(1, 3, 8, 100)):
    """Every algorithm with every m that it may have."""
    return [(name, m) for name in names for m in (ms if name in SDF else (math.inf,))]


# The laws


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("name", "m"), with_patience())
def test_the_six_algorithms(name, m, seed):
    world = a_world(seed)
    assert asked(name, world, KERNEL, m=m, seed=seed) == transcribed(name, world, se(world.P, L), m=m, seed=seed)


@pytest.mark.parametrize(
    "beta",
    [THEORY, replace(THEORY, horizon=T), replace(THEORY, gain="greedy", horizon=T), replace(THEORY, gain="greedy")],
    ids=["doubling", "horizon", "greedy", "greedy-doubling"],
)
@pytest.mark.parametrize(("name", "m"), with_patience(ms=(4,)))
def test_with_the_widths_of_the_theory(name, m, beta):
    world = a_world(3)
    expected = transcribed(name, world, se(world.P, L), m=m, beta=beta, seed=3)
    assert asked(name, world, KERNEL, m=m, beta=beta, seed=3) == expected


@pytest.mark.parametrize("name", ["GP-BUCB", "GP-UCB"])
def test_a_restart_begins_with_uncertainty_sampling_again(name):
    world = a_world(6)
    expected = transcribed(name, world, se(world.P, L), beta=THEORY, seed=6, start=3)
    assert asked(name, world, KERNEL, beta=THEORY, seed=6, start=3) == expected


@pytest.mark.parametrize(("beta", "lam"), [(0.0, 0.2), (2.5, 0.01), (1.0, 1.0)])
@pytest.mark.parametrize(("name", "m"), with_patience(ms=(6,)))
def test_with_other_numbers(name, m, beta, lam):
    """Another λ and β, a Matérn kernel, a lengthscale for all coordinates."""
    world = a_world(4, mean=2.0)
    expected = transcribed(name, world, matern(world.P, 0.3), m=m, lam=lam, beta=beta, seed=1)
    assert asked(name, world, Matern52(0.3), m=m, lam=lam, beta=beta, seed=1) == expected


@pytest.mark.parametrize(("name", "m"), with_patience(ms=(5,)))
def test_with_a_prior_variance_below_one(name, m):
    """k(x, x) ≤ 1 is all that the paper asks."""
    world = a_world(5)
    expected = transcribed(name, world, se(world.P, L, 0.4), m=m, seed=5)
    assert asked(name, world, SE((0.25, 0.2), 0.4), m=m, seed=5) == expected


@pytest.mark.parametrize(("name", "m"), with_patience(ms=(2, 9)))
def test_minimizing(name, m):
    """The user's outcomes are -y: floor 0 is the largest, ceiling -1 the smallest."""
    world = a_world(6)
    chosen = asked(name, world, KERNEL, m=m, seed=6, goal="minimize")
    assert chosen == transcribed(name, world, se(world.P, L), m=m, seed=6)


@pytest.mark.parametrize(
    ("goal", "floor", "ceiling"),
    [("minimize", -0.5, 2.0), ("maximize", 0.0, None), ("minimize", None, 1.5), ("maximize", None, None)],
)
@pytest.mark.parametrize(("name", "m"), with_patience(ms=(5,)))
def test_with_other_bounds_of_the_objective(name, m, goal, floor, ceiling):
    """y is (y - floor) / B_y; what is not stated is taken from what is heard."""
    world = a_world(7)
    expected = transcribed(name, world, se(world.P, L), m=m, seed=7, floor=floor, ceiling=ceiling)
    chosen = asked(name, world, KERNEL, m=m, seed=7, goal=goal, floor=floor, ceiling=ceiling)
    assert chosen == expected


@pytest.mark.parametrize("name", SDF)
def test_a_stand_in_floor_is_flagged(name):
    """Checklist row 3: the floor is given, or estimated and flagged."""
    for floor in (0.0, None):
        study = belated.Study.create(
            space=belated.Points([0.0, 1.0]),
            floor=floor,
            patience=3,
            algorithm=paper(name, kernel=SE(0.2), lam=0.1, refit_every=None),
            seed=0,
        )
        study.tell(study.ask(), 0.7)
        study.ask()
        assert ("floor" in study.ask().note) is (floor is None)


@pytest.mark.parametrize("beta", [1.0, THEORY], ids=["one", "theory"])
@pytest.mark.parametrize(("name", "m"), with_patience(ms=(2, 7)))
def test_with_contexts(name, m, beta):
    """CGB-SDF (Section 5): k = k_z k_x on Z × Q, σ(z_s, x_s) in ν_t, and x_t is chosen for z_t."""
    world = a_world(8, points=7, contexts=4)
    kernel = Product(SE(0.5), SE((0.25, 0.2)))
    expected = transcribed(name, world, se(world.P, (0.5, 0.25, 0.2)), m=m, beta=beta, seed=8)
    assert asked(name, world, kernel, m=m, beta=beta, seed=8) == expected


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "m"), with_patience(SDF, ms=(2.5, 6.0, 9.0)))
def test_with_patience_by_the_clock(name, m, seed):
    """App. A.4: ỹ = y_s 1{d_s ≤ min(m, τ̄_t - τ_s)}, and ν_t sums over the queries of age at most m."""
    world = by_the_clock(a_world(seed), seed)
    assert np.any(world.delay == m)  # the borders are there
    assert np.any(np.tril(world.age == m, -1))
    assert np.any(np.tril(world.age == world.delay, -1))
    assert asked(name, world, KERNEL, m=m, seed=seed) == transcribed(name, world, se(world.P, L), m=m, seed=seed)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("silence", ["unknown", "nearest"])
@pytest.mark.parametrize(("name", "m"), with_patience(SDF, ms=(3, 8, 100)))
def test_with_something_else_in_the_place_of_zeros(name, m, silence, seed):
    """The footnote of Section 3.1, when asked for."""
    world = a_world(seed)
    K = se(world.P, L)
    chosen = asked(name, world, KERNEL, m=m, seed=seed, silence=silence)
    assert chosen == transcribed(name, world, K, m=m, seed=seed, silence=silence)
    assert chosen != transcribed(name, world, K, m=m, seed=seed)


@pytest.mark.parametrize("start", [1, 9])
@pytest.mark.parametrize(("name", "m"), with_patience(ms=(4,)))
def test_with_an_uncertainty_sampling_start(name, m, start):
    """Section 4: the first k queries are argmax σ_{t-1}, given all queries before, heard or not."""
    world = a_world(9, mean=6.0)
    expected = transcribed(name, world, se(world.P, L), m=m, seed=9, start=start)
    chosen = asked(name, world, KERNEL, m=m, seed=9, start=start)
    assert chosen[:start] == expected[:start]
    assert chosen == expected


@pytest.mark.parametrize("beta", [0.5, replace(THEORY, horizon=T)], ids=["half", "theory"])
def test_ties_go_to_the_lowest_row(beta):
    """On an even grid and with nothing heard every choice is between mirror images, equal up to rounding."""
    world = a_world(10)
    u, v = np.meshgrid(np.arange(5.0), np.arange(3.0), indexing="ij")
    Q = np.column_stack([u.ravel(), v.ravel()])
    world = replace(world, Q=Q, f=world.f[np.zeros(len(Q), dtype=int)], delay=np.full(T, math.inf))
    chosen = asked("GP-UCB-SDF", world, SE(0.6), m=7, beta=beta)
    assert chosen == transcribed("GP-UCB-SDF", world, se(Q, 0.6), m=7, beta=beta)
    assert chosen[:4] == [0, 14, 2, 12]  # a corner, the one opposite, and the lower one of the other two first


# With hyperparameters fitted every ten rounds (App. C)


class Theta(NamedTuple):
    """Hyperparameters; to begin with those before any fit."""

    lengthscales: tuple = (0.2, 0.2)
    variance: float = 1.0
    lam: float = 1e-3


BOX = np.log([(0.005, 10.0), (0.005, 10.0), (1e-3, 1e2), (1e-6, 1.0)])  # l, l, variance, λ


@cache
def fitted_every_ten(name, m, seed, fitted_to):
    """What was asked in a world, and the hyperparameters that it was asked with, from t on."""
    x, study = driven(paper(name, fitted_to=fitted_to), a_world(seed), m=m, seed=seed, initial=0)
    fits = {1: Theta()}
    for event in study.events():
        if isinstance(event, belated.events.Asked) and event.fitted is not None:
            kernel = event.fitted["kernel"]
            fits[event.number] = Theta(tuple(kernel["lengthscale"]), kernel["variance"], event.fitted["lam"])
    return x, fits


def data_of(name, world, x, t, m, fitted_to, theta):
    """X, y that hyperparameters are fitted to before query t; `theta` are those so far."""
    X, age = np.array(x[: t - 1]), world.age[t - 1, : t - 1]
    seen = world.delay[: t - 1] <= np.minimum(m, age)
    y_tilde = censored(world.f[X] + world.noise[: t - 1], seen, 0.0, 1.0)
    if fitted_to == "heard" or name in ("GP-UCB", "asy-TS"):
        return X[seen], y_tilde[seen]
    if name in SDF:  # Eq. (1): the censored feedback, zeros included
        return X, y_tilde
    mu = weights(se(world.P, theta.lengthscales, theta.variance), X[seen], theta.lam) @ y_tilde[seen]
    return X, np.where(seen, y_tilde, mu[X])  # hallucinations


def surprise(theta, world, X, y):
    """-log p(y | X) at log θ."""
    *l, variance, lam = np.exp(theta)
    K = se(world.P, l, variance)[np.ix_(X, X)] + lam * np.eye(len(X))
    return 0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(K)[1] + len(y) * np.log(2 * np.pi))


def gain_by_search(theta, world, X, y):
    """How much less surprising y becomes when the search for θ goes on from here."""
    here = np.log([*theta.lengthscales, theta.variance, theta.lam])
    found = minimize(surprise, here, (world, X, y), method="L-BFGS-B", bounds=BOX)
    return surprise(here, world, X, y) - found.fun


@pytest.mark.parametrize("fitted_to", ["own", "heard"])
@pytest.mark.parametrize(("name", "m"), with_patience(ms=(5,)))
def test_fitted_every_ten_rounds(name, m, fitted_to):
    """Every fit is a maximum of the likelihood of the data that it should look at, and every query follows from it."""
    world = a_world(20)
    x, fits = fitted_every_ten(name, m, 20, fitted_to)
    assert list(fits) == [1, 11, 21, 31, 41, 51]
    assert x == transcribed(name, world, None, m=m, seed=20, fits=fits)
    for before, t in itertools.pairwise(fits):
        data = data_of(name, world, x, t, m, fitted_to, fits[before])
        assert gain_by_search(fits[t], world, *data) < 0.01


@pytest.mark.parametrize(("name", "m"), with_patience(("GP-UCB-SDF", "GP-TS-SDF", "GP-BUCB", "GP-BTS"), ms=(5,)))
def test_the_search_tells_the_two_readings_apart(name, m):
    """Fitted to one of them, θ is no maximum for the other."""
    world = a_world(20)
    for fitted_to, other in (("own", "heard"), ("heard", "own")):
        x, fits = fitted_every_ten(name, m, 20, fitted_to)
        steps = itertools.pairwise(fits)
        gains = [gain_by_search(fits[t], world, *data_of(name, world, x, t, m, other, fits[s])) for s, t in steps]
        assert max(gains) > 0.1


# The comparison can fail


def wrongs(name, m):
    """Small mistakes: an input of the transcription changed a little."""
    yield from ({"lam": 0.06}, {"beta": 1.2})
    if name in SDF:
        yield from ({"m": m - 1}, {"m": m + 1})
    if "TS" in name:
        yield {"seed": 12}


@pytest.mark.parametrize(("name", "m"), with_patience(ms=(4,)))
def test_sixty_rounds_tell_small_mistakes_apart(name, m):
    world = a_world(11)
    K = se(world.P, L)
    right = transcribed(name, world, K, m=m, seed=11)
    for wrong in wrongs(name, m):
        assert transcribed(name, world, K, **({"m": m, "seed": 11} | wrong)) != right, wrong
    for other in set(NAMES) - {name}:
        assert transcribed(other, world, K, m=m if other in SDF else math.inf, seed=11) != right, other
    # Section 3.1 says it in words too (heard after d_s more queries have started): one round later than its formula
    assert transcribed(name, replace(world, delay=world.delay + 1), K, m=m, seed=11) != right


@pytest.mark.parametrize("name", SDF)
def test_sixty_rounds_tell_the_reach_of_the_sum_apart(name):
    """With every outcome heard at once m enters through the sum of ν_t alone."""
    world = replace(a_world(12), delay=np.ones(T))
    K = se(world.P, L)
    chosen = {m: transcribed(name, world, K, m=m, seed=12) for m in (3, 4, 5)}
    assert asked(name, world, KERNEL, m=4, seed=12) == chosen[4]
    assert chosen[3] != chosen[4] != chosen[5]


@pytest.mark.parametrize("name", SDF)
def test_the_clock_tells_its_two_readings_apart(name):
    """The age at τ_t instead of τ̄_t, or delays counted from τ̄_s, choose otherwise."""
    world, m = by_the_clock(a_world(1), 1), 6.0
    K = se(world.P, L)
    right = transcribed(name, world, K, m=m, seed=1)
    at_start = replace(world, age=world.started[:, None] - world.started)
    from_choice = replace(world, age=world.considered[:, None] - world.considered)
    assert transcribed(name, at_start, K, m=m, seed=1) != right
    assert transcribed(name, from_choice, K, m=m, seed=1) != right


# The order of tells


@pytest.mark.parametrize("contexts", [0, 3])
@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_tells_never_matters(name, contexts):
    """Six queries, told in any order, give the same seventh: Thompson's normals belong to queries, not to arrivals."""
    world = a_world(13, contexts=contexts)

    def seventh(order, seed):
        study = belated.Study.create(
            space=belated.Points(world.Q),
            context=belated.Points(world.Z[:, 0], names=["z"]) if contexts else None,
            floor=0.0,
            ceiling=1.0,
            algorithm=paper(name, kernel=SE(0.25), lam=0.05, refit_every=None),
            seed=seed,
            **({"patience": 8} if name in SDF else {}),
        )
        z = {"context": {"z": world.Z[0, 0]}} if contexts else {}
        trials = [study.ask(**z) for _ in range(6)]
        for i in order:
            study.tell(trials[i], world.noise[i] + i / 6)
        return study.ask(**z).params

    for seed in range(4):
        expected = seventh(range(6), seed)
        assert seventh([5, 4, 3, 2, 1, 0], seed) == expected
        assert seventh([2, 0, 5, 1, 4, 3], seed) == expected
