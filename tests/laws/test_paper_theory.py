"""The paper's theorems hold of our learner, and would not hold of one that is wrong.

f      Σ_i a_i k(c_i, ·), so that ‖f‖_k = B_f = sqrt(aᵀ k(c, c) a); k(x, x) = 1
y_s    f(x_s) + uniform noise on [-R, R], so that |y_s| ≤ B_y = max |f| + R
λ      1 + 2/T
need   the least c with |μ_{t-1}(x) - ρ_m f(x)| ≤ c ν_t σ_{t-1}(x) for all x and t of a run: Theorem 1 says that it is
       at most 1 in a share of 1 - δ of all runs

Seeds are fixed. Were the theorem tight, a share of at least 1 - δ would be missed in about half of all choices of 200
seeds. It is not: `need` is at most 0.28 in the runs on drawn functions and 0.59 with one x asked again and again and
nothing heard yet, so the false-alarm rate is nil for practical ends; and it is there that half of ν_t is shown to fail.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import belated
from belated.learner.algorithms import Move, paper
from belated.learner.belief import FactorCache, believe
from belated.learner.confidence import (
    Theory,
    beta_sdf_ts,
    beta_sdf_ucb,
    gamma_bound,
    greedy_gain,
    nu,
    theorem1_interval,
    theorem2,
    theorem3,
)
from belated.learner.delays.distributions import Fixed, Geometric, Poisson, Sometimes
from belated.learner.gp.kernels import SE
from belated.learner.gp.merging import number_points
from belated.learner.gp.posterior import GP
from belated.learner.history import History, in_time
from belated.learner.policies import UCB, ThompsonSampling
from belated.learner.silence import Floor

R, DELTA, RUNS = 0.1, 0.1, 200


# Theorem 1


def history(X, y, delay, t, m):
    """What the choice of query t knows, 0 being the floor."""
    s = np.arange(1, t)
    age, n = (t - s).astype(float), t - 1
    seen, none = in_time(delay[:n], age, m), np.zeros(n, dtype=bool)
    return History(
        number=s,
        X=X[:n],
        point=number_points(X[:n]),
        y=y[:n],
        seen=seen,
        pending=(age <= m) & ~seen,
        infeasible=none,
        gone=none,
        recent=age <= m,
        by_hand=np.zeros(n, dtype=bool),
        order=s,
        lams=np.full(n, np.nan),
        floor=0.0,
        age=age,
        m=m,
        waited=np.where(seen, delay[:n], age),
        arrived=seen,
        late=none,
    )


@dataclass(frozen=True, eq=False)
class Objective:
    """A function of known norm on a finite Q."""

    Q: np.ndarray
    kernel: SE
    f: np.ndarray
    B_f: float

    @classmethod
    def drawn(cls, rng, kernel, Q, centres=6):
        c, a = rng.random((centres, 1)), rng.standard_normal(centres)
        return cls(Q, kernel, kernel(Q, c) @ a, math.sqrt(a @ kernel(c, c) @ a))

    @property
    def B_y(self):
        return float(np.max(np.abs(self.f))) + R


def width(objective, theory, belief):
    """ν_t of GP-UCB-SDF, with the realised gain."""
    beta = beta_sdf_ucb(theory, belief.posterior.gain(), objective.B_y)
    return nu(beta, belief.posterior.std_of(belief.recent), objective.B_y)


def delays_of(delay, rng, T):
    return np.array([delay.draw(rng, {}, None) for _ in range(T)])


def need_of_a_run(objective, delay, m, T, rng, centre):
    """`need` around centre · f over rounds 1 … T + 1 of GP-UCB-SDF."""
    Q, theory = objective.Q, Theory(B_f=objective.B_f, R=R, delta=DELTA, horizon=T)
    gp, memory, d = GP(objective.kernel, theory.lam(1)), FactorCache(), delays_of(delay, rng, T)
    X, y, noise, worst = np.empty((T, 1)), np.empty(T), rng.uniform(-R, R, T), 0.0
    for t in range(1, T + 2):
        belief = believe(gp, Floor(), history(X, y, d, t, m), Q, memory)
        mean, std, nu_t = belief.posterior.mean(Q), belief.posterior.std(Q), width(objective, theory, belief)
        worst = max(worst, float(np.max(np.abs(mean - centre * objective.f) / (nu_t * std))))
        if t <= T:
            i = int(np.argmax(mean + nu_t * std))
            X[t - 1], y[t - 1] = Q[i], objective.f[i] + noise[t - 1]
    return worst


CASES = [
    (Geometric(0.3), 1, 0.3),
    (Geometric(0.2), 3, 1 - 0.8**3),
    (Poisson(4), 4, math.exp(-4) * (1 + 4 + 8 + 32 / 3 + 32 / 3)),
    (Sometimes(Poisson(1), 0.5), 12, 0.5),
    (Fixed(6), 6, 1.0),
]


def shown(value):
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def needs(delay, m, rho, T, runs, lengthscale=0.15, points=20):
    kernel, Q = SE(lengthscale), np.linspace(0, 1, points)[:, None]
    worst = []
    for run in range(runs):
        rng = np.random.default_rng([int(1000 * rho), m, run])
        worst.append(need_of_a_run(Objective.drawn(rng, kernel, Q), delay, m, T, rng, rho))
    return np.array(worst)


@pytest.mark.parametrize(("delay", "m", "rho"), CASES, ids=shown)
def test_theorem_1_covers_all_x_and_t_at_once(delay, m, rho):
    assert_allclose(delay.rho(m), rho, atol=1e-8)
    need = needs(delay, m, rho, T=20, runs=50)
    assert np.all(need <= 1)  # were a share of 0.9 covered, all of 50 would be in one of 200 choices of seeds


@pytest.mark.parametrize(("delay", "m", "rho"), CASES[1:4], ids=shown)
def test_theorem_1_covers_what_a_study_chooses_by(delay, m, rho):
    """The same of the μ, σ and ν_t that a study hands to its policy: there f, B_f and R are in units of B_y."""
    Q, T = np.linspace(0, 1, 20)[:, None], 40
    for run in range(5):
        rng = np.random.default_rng(run)
        objective = Objective.drawn(rng, SE(0.15), Q)
        B_y, value = objective.B_y, dict(zip(Q[:, 0].tolist(), objective.f.tolist(), strict=True))
        theory = Theory(B_f=objective.B_f / B_y, R=R / B_y, delta=DELTA, horizon=T)
        study, rounds = noted_study("GP-UCB-SDF", SE(0.15), theory, Q, ceiling=B_y, patience=m)
        coming = {}
        for t, wait in enumerate(delays_of(delay, rng, T), start=1):
            for trial in coming.pop(t, []):
                study.tell(trial, value[trial.params["x"]] + rng.uniform(-R, R))
            coming.setdefault(t + max(1, wait), []).append(study.ask())
        for mean, std, nu_t in zip(rounds.mean, rounds.std, rounds.nu, strict=True):
            low, high = theorem1_interval(mean, std, nu_t)
            assert np.all((low <= rho * objective.f / B_y) & (rho * objective.f / B_y <= high))


@pytest.mark.long
@pytest.mark.parametrize("lengthscale", [0.05, 0.4])
@pytest.mark.parametrize(("delay", "m", "rho"), CASES, ids=shown)
def test_theorem_1_over_many_rounds(delay, m, rho, lengthscale):
    need = needs(delay, m, rho, T=150, runs=RUNS, lengthscale=lengthscale, points=40)
    assert np.mean(need <= 1) >= 1 - DELTA


# Theorem 1 with one x asked again and again: σ is small there, so the ellipsoid is small enough to miss

PEAK = Objective(np.array([[0.5], [0.6], [0.9]]), SE(0.1), np.exp([0.0, -0.5, -8.0]), 1.0)  # f = k(½, ·)


@cache
def covered_at_the_peak(delay, m, T, rounds, centre, widths=width):
    """Which of 200 runs that ask x = ½ all the time have centre · f in every interval of these rounds.

    X is the same in all of them, so that they share a factor and ν_t."""
    theory = Theory(B_f=PEAK.B_f, R=R, delta=DELTA, horizon=T)
    gp, memory, X, Q = GP(PEAK.kernel, theory.lam(1)), FactorCache(), np.full((T, 1), 0.5), PEAK.Q
    rngs = [np.random.default_rng([m, T, run]) for run in range(RUNS)]
    worlds = [(1.0 + rng.uniform(-R, R, T), delays_of(delay, rng, T)) for rng in rngs]
    covered = np.ones(RUNS, dtype=bool)
    for t in rounds:
        nu_t = widths(PEAK, theory, believe(gp, Floor(), history(X, *worlds[0], t, m), Q, memory))
        for run, (y, d) in enumerate(worlds):
            posterior = believe(gp, Floor(), history(X, y, d, t, m), Q, memory).posterior
            low, high = theorem1_interval(posterior.mean(Q), posterior.std(Q), nu_t)
            covered[run] &= bool(np.all((low <= centre * PEAK.f) & (centre * PEAK.f <= high)))
    return covered


@pytest.mark.parametrize(("delay", "m"), [(Geometric(0.3), 1), (Geometric(0.2), 3), (Sometimes(Poisson(1), 0.5), 12)])
def test_the_ellipsoid_is_around_rho_f_and_not_around_f(delay, m):
    """ρ ≤ ½. Intervals that cover ρ f all along miss f in every single run after 400 rounds."""
    rho = delay.rho(m)
    assert rho <= 0.5
    assert np.mean(covered_at_the_peak(delay, m, 400, range(1, 402, 50), rho)) >= 1 - DELTA
    assert not np.any(covered_at_the_peak(delay, m, 400, (401,), 1.0))


def beta_alone(objective, theory, belief):
    return beta_sdf_ucb(theory, belief.posterior.gain(), objective.B_y)


def sum_alone(objective, theory, belief):
    return nu(0.0, belief.posterior.std_of(belief.recent), objective.B_y)


def half(objective, theory, belief):
    return width(objective, theory, belief) / 2


@pytest.mark.parametrize("less", [beta_alone, sum_alone, half])
def test_the_ellipsoid_needs_all_of_nu(less):
    """Every delay is m = 80, so ρ = 1, and just before the first outcome comes the mean is 0 where f is 1."""
    rounds = (1, 21, 41, 61, 80, 81, 82)
    assert np.mean(covered_at_the_peak(Fixed(80), 80, 81, rounds, 1.0)) >= 1 - DELTA
    assert not np.any(covered_at_the_peak(Fixed(80), 80, 81, rounds, 1.0, less))


# One x for 2000 rounds


@pytest.mark.parametrize(("delay", "m"), [(Geometric(0.25), 2), (Poisson(5), 4), (Sometimes(Fixed(3), 0.3), 3)])
def test_the_mean_tends_to_rho_f_and_stays_far_from_f(delay, m):
    """μ(x) = Σ ỹ_s / (n + λ), and ỹ is f or 0: a spread of at most 0.41 / √2000 < 0.0092, and a bias of the pending and
    of λ below 0.003. So 0.05 is missed by luck with p < 1e-6 in each of 20 runs, and 0.0125 by their average too."""
    T, rho, f = 2000, delay.rho(m), 0.8
    gp, memory, X = GP(SE(0.1), 1 + 2 / T), FactorCache(), np.full((T, 1), 0.5)
    means = np.empty(20)
    for run in range(20):
        rng = np.random.default_rng([m, run])
        y, d = f + rng.uniform(-R, R, T), delays_of(delay, rng, T)
        belief = believe(gp, Floor(), history(X, y, d, T + 1, m), None, memory)
        means[run] = belief.posterior.mean(X[:1])[0]
    assert np.all(np.abs(means - rho * f) < 0.05)
    assert np.all(np.abs(means - f) > 0.4)
    assert abs(np.mean(means) - rho * f) < 0.0125
    assert abs(np.mean(means) - delay.rho(m - 1) * f) > 0.1  # the border of patience is where it should be


def test_a_study_of_2000_rounds_at_one_x_believes_rho_f():
    """The same by adding and telling alone, in the user's units; the spread is 100 · 0.2 / √2000 < 0.5."""
    T, m, f, floor = 2000, 2, 30.0, -10.0
    study = belated.Study.create(
        space=belated.Points([0.0, 1.0]),
        floor=floor,
        ceiling=90.0,
        patience=m,
        algorithm=paper("GP-UCB-SDF", kernel=SE(0.1), beta=Theory(B_f=1, R=R, delta=DELTA, horizon=T)),
        seed=0,
    )
    rng = np.random.default_rng(0)
    due = {}
    for t in range(1, T + 1):
        for s in due.pop(t, []):
            study.tell(s, f + rng.uniform(-1, 1))
        study.add({"x": 0.0})
        due.setdefault(t + int(rng.geometric(0.25)), []).append(t)
    (mean,) = study.posterior([{"x": 0.0}]).mean
    assert abs(mean - (floor + (1 - 0.75**2) * (f - floor))) < 2.5
    assert abs(mean - f) > 15


# γ_t, β_t, ν_t along a study, by hand


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """What the policy was given in each round: γ_{t-1}, the widths σ(x_s) that ν_t sums over, ν_t, and σ_{t-1}(Q)."""

    gamma: list = field(default_factory=list)
    recent: list = field(default_factory=list)
    nu: list = field(default_factory=list)
    mean: list = field(default_factory=list)
    std: list = field(default_factory=list)

    def note(self, belief, Q, nu_t):
        self.gamma.append(belief.posterior.gain())
        self.recent.append(belief.posterior.std_of(belief.recent))
        self.nu.append(nu_t)
        self.mean.append(belief.posterior.mean(Q))
        self.std.append(belief.posterior.std(Q))


@dataclass(frozen=True)
class NotedUCB(UCB):
    rounds: Rounds = field(default_factory=Rounds)

    def scores(self, belief, Q, nu, rng):
        self.rounds.note(belief, Q, nu)
        return super().scores(belief, Q, nu, rng)


@dataclass(frozen=True)
class NotedThompsonSampling(ThompsonSampling):
    rounds: Rounds = field(default_factory=Rounds)

    def scores(self, belief, Q, nu, rng):
        self.rounds.note(belief, Q, nu)
        return super().scores(belief, Q, nu, rng)


def noted_study(name, kernel, theory, Q, *, ceiling=1.0, policy=None, seed=0, **patience):
    """A study, and what its policy is given from round to round."""
    policy = policy or (NotedThompsonSampling() if "TS" in name else NotedUCB())
    algorithm = replace(paper(name, kernel=kernel, beta=theory, refit_every=None), moves=(Move(policy),))
    space = belated.Points(Q)
    study = belated.Study.create(space=space, floor=0.0, ceiling=ceiling, algorithm=algorithm, seed=seed, **patience)
    return study, policy.rounds


LOG20, LOG40, LOG10, E1 = math.log(20), math.log(40), math.log(10), math.exp(-1)

# Q = {a, b}, κ = k(a, b) = exp(-½), κ² = 1/e; x = a, b, a; m = 2; y_1 = 0.8 comes before t = 3, no other.
# λ = 1 + 2/T = 3/2. det(I + K/λ): 1 + 2/3; (5/3)² - (2κ/3)²; (7/3)(5/3) - 2(2κ/3)².
GAMMA = [0.0, 0.5 * math.log(5 / 3), 0.5 * math.log((25 - 4 * E1) / 9), 0.5 * math.log((35 - 8 * E1) / 9)]
SIGMA_A = [
    1.0,
    math.sqrt(0.6),  # 1 - 1/(1 + 3/2)
    math.sqrt((3.75 - 1.5 * E1) / (6.25 - E1)),  # 1 - (1, κ) [5/2 κ; κ 5/2]⁻¹ (1, κ)
    math.sqrt((1.875 - 0.75 * E1) / (4.375 - E1)),  # a was asked twice: [7/4 κ; κ 5/2]
]
SIGMA_B = [
    1.0,
    math.sqrt(1 - E1 / 2.5),
    math.sqrt((3.75 - 1.5 * E1) / (6.25 - E1)),
    math.sqrt((2.625 - 1.5 * E1) / (4.375 - E1)),
]
SUM = [0.0, SIGMA_A[1], SIGMA_A[2] + SIGMA_B[2], SIGMA_B[3] + SIGMA_A[3]]  # s = 1; 1, 2; 2, 3
MEAN_A = [0.0, 0.0, 0.8 * (2.5 - E1) / (6.25 - E1), 0.4 * (2.5 - E1) / (4.375 - E1)]


def three_rounds(name, ceiling=1.0):
    theory = Theory(B_f=1.5, R=0.25, delta=0.1, horizon=4)
    patience = {"patience": 2} if "SDF" in name else {}
    study, rounds = noted_study(name, SE(1.0), theory, [0.0, 1.0], ceiling=ceiling, **patience)
    study.ask(params={"x": 0.0})
    study.ask(params={"x": 1.0})
    study.tell(1, 0.8 * ceiling)
    study.ask(params={"x": 0.0})
    study.ask()
    return rounds


@pytest.mark.parametrize("ceiling", [1.0, 40.0])
@pytest.mark.parametrize(("name", "log"), [("GP-UCB-SDF", LOG20), ("GP-TS-SDF", LOG40)])
def test_gamma_beta_and_nu_of_the_sdf_pair_by_hand(name, log, ceiling):
    """β_t = 3/2 + (1/4 + 1) sqrt(2(γ + 1 + log(2/δ))) or log(4/δ); whatever the units of y, B_y is 1."""
    rounds = three_rounds(name, ceiling)
    beta = [1.5 + 1.25 * math.sqrt(2 * (gamma + 1 + log)) for gamma in GAMMA]
    assert_allclose(rounds.gamma, GAMMA, rtol=0, atol=1e-12)
    assert_allclose(rounds.std, np.column_stack([SIGMA_A, SIGMA_B]), rtol=0, atol=1e-12)
    assert_allclose([recent.sum() for recent in rounds.recent], SUM, rtol=0, atol=1e-12)
    assert_allclose(np.subtract(rounds.nu, SUM), beta, rtol=0, atol=1e-12)
    assert_allclose(rounds.nu, np.add(SUM, beta), rtol=0, atol=1e-12)
    assert_allclose(np.array(rounds.mean)[:, 0], MEAN_A, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["GP-BUCB", "GP-BTS"])
def test_gamma_and_beta_of_the_hallucinating_pair_by_hand(name):
    """ν_t = β_t = 3/2 + 1/4 sqrt(2(γ + 1 + log(1/δ))), γ and σ from all queries, the mean from y_1 alone."""
    rounds = three_rounds(name)
    assert_allclose(rounds.gamma, GAMMA, rtol=0, atol=1e-12)
    assert_allclose(rounds.nu, [1.5 + 0.25 * math.sqrt(2 * (g + 1 + LOG10)) for g in GAMMA], rtol=0, atol=1e-12)
    assert_allclose(rounds.std, np.column_stack([SIGMA_A, SIGMA_B]), rtol=0, atol=1e-12)
    assert_allclose(np.array(rounds.mean)[:, 0], [0, 0, 0.8 / 2.5, 0.8 / 2.5], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["GP-UCB", "asy-TS"])
def test_gamma_and_beta_of_the_ignoring_pair_by_hand(name):
    """Before t = 3 nothing is heard, then y_1 alone: γ = ½ log(1 + 2/3), σ²(a) = 1 - 1/(5/2), σ²(b) = 1 - κ²/(5/2)."""
    rounds = three_rounds(name)
    gammas = [0, 0, 0.5 * math.log(5 / 3), 0.5 * math.log(5 / 3)]
    a, b = math.sqrt(0.6), math.sqrt(1 - E1 / 2.5)
    assert_allclose(rounds.gamma, gammas, rtol=0, atol=1e-12)
    assert_allclose(rounds.nu, [1.5 + 0.25 * math.sqrt(2 * (g + 1 + LOG10)) for g in gammas], rtol=0, atol=1e-12)
    assert_allclose(rounds.std, [[1, 1], [1, 1], [a, b], [a, b]], rtol=0, atol=1e-12)
    assert_allclose(np.array(rounds.mean)[:, 0], [0, 0, 0.8 / 2.5, 0.8 / 2.5], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "beta"), [("GP-UCB-SDF", beta_sdf_ucb), ("GP-TS-SDF", beta_sdf_ts)])
def test_the_greedy_gain_bounds_the_realised_one(name, beta):
    """gain="greedy" puts greedy / (1 - 1/e) in place of the gain of the queries made: the same ν_t or a wider one."""
    Q = np.linspace(0, 1, 9)
    for gain in ("greedy", "realised"):
        theory = Theory(B_f=1.5, R=0.25, delta=0.1, horizon=12, gain=gain)
        study, rounds = noted_study(name, SE(0.3), theory, Q, patience=3, seed=2)
        for _ in range(12):
            study.tell(study.ask(), 0.5)
        bounds = gamma_bound(greedy_gain(SE(0.3), Q[:, None], 11, theory.lam(1)))
        used = bounds if gain == "greedy" else rounds.gamma
        expected = [nu(beta(theory, g, 1.0), recent, 1.0) for g, recent in zip(used, rounds.recent, strict=True)]
        assert_allclose(rounds.nu, expected, rtol=0, atol=1e-12)
        assert np.all(bounds >= np.array(rounds.gamma) - 1e-12)


# λ = 1 + 2/T


def dense_posterior(X, y_tilde, Q, lengthscale, lam):
    """Eq. (1)."""

    def k(A, B):
        return np.exp(-0.5 * ((A[:, None] - B) / lengthscale) ** 2)

    S = np.linalg.solve(k(X, X) + lam * np.eye(len(X)), k(X, Q))
    return S.T @ y_tilde, np.sqrt(1 - np.sum(S * k(X, Q), axis=0))


@pytest.mark.parametrize("horizon", [None, 20])
@pytest.mark.parametrize("name", ["GP-UCB-SDF", "GP-TS-SDF", "GP-BUCB", "GP-UCB"])
def test_doubling_restarts_at_2_4_8_and_16(name, horizon):
    """Query t is chosen by the belief from the queries of its epoch alone, with λ = 1 + 2/T, T = 1, 2, 2, 4, 4, 4, 4, …

    A look between two epochs shows the one that has ended."""
    Q, theory = np.linspace(0, 1, 7), Theory(B_f=1, R=0.1, delta=0.1, horizon=horizon)
    patience = {"patience": 40} if "SDF" in name else {}
    study, rounds = noted_study(name, SE(0.3), theory, Q, **patience)
    X, y, restarts = [], [], []
    for t in range(1, 21):
        first = 2 ** math.floor(math.log2(t)) if horizon is None else 1
        lam = 1 + 2 / (horizon or first)
        before = 2 ** math.floor(math.log2(max(1, t - 1))) if horizon is None else 1
        look = study.posterior([{"x": q} for q in Q])
        trial = study.ask()
        chosen_by = rounds.mean[-1], rounds.std[-1]
        expected = dense_posterior(np.array(X[first - 1 :]), np.array(y[first - 1 :]), Q, 0.3, lam)
        assert_allclose(chosen_by, expected, rtol=0, atol=1e-12)
        shown = dense_posterior(
            np.array(X[before - 1 :]), np.array(y[before - 1 :]), Q, 0.3, 1 + 2 / (horizon or before)
        )
        assert_allclose((look.mean, look.std), shown, rtol=0, atol=1e-12)
        if t > 1 and not np.any(chosen_by[0]):
            restarts.append(t)
        X.append(trial.params["x"])
        y.append(0.1 + math.sin(5 * X[-1]) ** 2 / 2)
        study.tell(trial, y[-1])
    assert restarts == ([2, 4, 8, 16] if horizon is None else [])


@pytest.mark.parametrize(
    ("name", "a", "spread"),
    [("GP-UCB-SDF", 2, 1.25), ("GP-TS-SDF", 4, 1.25), ("GP-BUCB", 1, 0.25), ("asy-TS", 1, 0.25)],
)
def test_a_restart_by_hand(name, a, spread):
    """x = a, b, a, b, epochs 1 | 2 3 | 4: δ/2, δ/6, δ/6, δ/12. y_1 comes before t = 3 and y_2 before t = 4: both too
    late for an epoch that knows them. Query 3 knows that b was asked; asy-TS not even that."""
    theory = Theory(B_f=1.5, R=0.25, delta=0.1)
    study, rounds = noted_study(name, SE(1.0), theory, [0.0, 1.0], **({"patience": 3} if "SDF" in name else {}))
    for t, x in enumerate([0.0, 1.0, 0.0, 1.0], start=1):
        study.ask(params={"x": x})
        if t >= 2:
            study.tell(t - 1, 0.8)
    gamma = [0, 0, 0.5 * math.log(1.5) if name != "asy-TS" else 0, 0]
    sigma = [0, 0, math.sqrt(2 / 3) if spread > 1 else 0, 0]  # σ(b) given b, λ = 2
    deltas = [0.1 / 2, 0.1 / 6, 0.1 / 6, 0.1 / 12]
    beta = [1.5 + spread * math.sqrt(2 * (g + 1 + math.log(a / d))) for g, d in zip(gamma, deltas, strict=True)]
    assert_allclose(rounds.gamma, gamma, rtol=0, atol=1e-12)
    assert_allclose(rounds.nu, np.add(beta, sigma), rtol=0, atol=1e-12)
    assert not np.any(rounds.mean)


def test_a_floor_that_nobody_stated_is_that_of_the_epoch():
    """The worst outcome of queries 2 and 3 stands in until query 4 is asked, which knows neither."""
    algorithm = paper("GP-UCB-SDF", kernel=SE(0.2), beta=Theory(B_f=1.0, R=0.1, delta=0.1))
    study = belated.Study.create(space=belated.Points([0.0, 0.5, 1.0]), algorithm=algorithm, patience=3, seed=0)
    for value in (0.2, 0.5, 0.7):
        study.tell(study.ask(), value)
    assert study.floor.value == 0.5
    study.ask()
    assert study.floor.value is None


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_study_that_restarts_is_replayed_checked_and_reopened(tmp_path, by_hand):
    """With a kernel of its own, fitted, an epoch also has its own opening and its own hyperparameters."""
    kernel = {"kernel": SE(0.2)} if by_hand else {}
    algorithm = paper("GP-UCB-SDF", beta=Theory(B_f=1.5, R=0.1, delta=0.1), **kernel)
    said = {"floor": 0.0, "ceiling": 1.0, "patience": 6, "algorithm": algorithm, "seed": 4}
    url = f"sqlite:///{tmp_path / 'restarts.db'}"
    study = belated.Study.create(url, "restarts", space=belated.Points(np.linspace(0, 1, 21)), **said)
    for t in range(1, 46):
        study.ask()
        if t > 3:
            study.tell(t - 3, math.sin(3 * study.trial(t - 3).params["x"]) ** 2)
    assert all(study.replay(t).same for t in range(1, 46))
    assert belated.check(url, "restarts").ok
    again = belated.Study.open(url, "restarts")
    assert_allclose(again.posterior(again.queries()), study.posterior(study.queries()), rtol=0, atol=1e-12)
    assert again.ask().params == belated.Study.open(url, "restarts").trial(46).params
    fits = [each.number for each in study.hyperparameters()]
    assert fits == ([] if by_hand else [26, 42])  # round 11 of the epochs that begin with queries 16 and 32


# Theorems 2 and 3
#
# Two queries that know nothing of each other, f = (0, 1), 500 rounds. At such a T the bounds are larger than any regret
# can be (T · 1), so "regret < bound" alone cannot fail. What can fail are the steps of their proofs:
# r_t ≤ (2/ρ) ν_t σ_{t-1}(x_t), and Σ ν_t σ_{t-1}(x_t) ≤ C₁ β_T sqrt(T γ_T) + m B_y C₁² γ_T.

T_REGRET, M = 500, 3
ARMS = {0.0: 0.0, 1.0: 1.0}
DELAY = Geometric(0.5)


@dataclass(frozen=True)
class Worst(NotedUCB):
    """Asks the worst query again and again."""

    def scores(self, belief, Q, nu, rng):
        self.rounds.note(belief, Q, nu)
        return -Q[:, 0]


def two_arms(name, policy=None):
    """f has norm 1 (its value at one of two independent queries); without noise B_y = 1."""
    theory = Theory(B_f=1.0, R=0.0, delta=0.1, horizon=T_REGRET)
    study, rounds = noted_study(name, SE(0.01), theory, [0.0, 1.0], policy=policy, patience=M)
    for _ in belated.simulate(study, lambda params: ARMS[params["x"]], delay=DELAY, rounds=T_REGRET, seed=1):
        pass
    x = [int(trial.params["x"]) for trial in study.trials()]
    sigma = np.array([std[i] for std, i in zip(rounds.std, x, strict=True)])  # σ_{t-1}(x_t)
    cumulative = belated.measure_regret(study, lambda params: ARMS[params["x"]]).cumulative
    return theory, rounds, sigma, np.diff(cumulative, prepend=0.0)


def final_gain(theory, sigma):
    """I(y; f) = ½ Σ log(1 + σ²_{t-1}(x_t) / λ), all T queries included."""
    return 0.5 * float(np.sum(np.log1p(sigma**2 / theory.lam(1))))


def test_the_regret_of_gp_ucb_sdf_is_within_theorem_2():
    theory, rounds, sigma, r = two_arms("GP-UCB-SDF")
    rho = DELAY.rho(M)
    widths = 2 / rho * np.array(rounds.nu) * sigma
    beta_T, gamma_T = beta_sdf_ucb(theory, rounds.gamma[-1], 1.0), final_gain(theory, sigma)
    bound = theorem2(T_REGRET, rho, M, beta_T, gamma_T, 1.0, theory.lam(1))
    assert 0 < np.sum(r) < T_REGRET / 2
    assert np.all(r <= widths)
    assert np.sum(r) <= np.sum(widths) <= bound
    assert np.sum(widths) > bound / 2  # and the bound is not far above
    greedy = gamma_bound(greedy_gain(SE(0.01), np.array([[0.0], [1.0]]), T_REGRET, theory.lam(1)))[-1]
    assert gamma_T <= greedy
    assert bound <= theorem2(T_REGRET, rho, M, beta_T, greedy, 1.0, theory.lam(1))


def test_a_bad_policy_breaks_the_step_of_theorem_2():
    _, rounds, sigma, r = two_arms("GP-UCB-SDF", Worst())
    assert np.any(r > 2 / DELAY.rho(M) * np.array(rounds.nu) * sigma)


@pytest.mark.parametrize("T", [8, 30])
def test_theorem_2_is_tight_for_queries_that_know_nothing_of_each_other(T):
    """T independent queries: σ_{t-1}(x_t) = 1 and γ_T = T/2 log(1 + 1/λ), so that C₁ sqrt(T γ_T) = Σ σ = T exactly, and
    C₁² γ_T = Σ σ² = T."""
    theory = Theory(B_f=1.0, R=0.0, delta=0.1, horizon=T)
    study, rounds = noted_study("GP-UCB-SDF", SE(1e-3), theory, np.arange(float(T)), patience=2)
    asked = [study.ask().params["x"] for _ in range(T)]
    assert sorted(asked) == list(range(T))
    lam, sigma = theory.lam(1), np.array([std[int(x)] for std, x in zip(rounds.std, asked, strict=True)])
    assert_allclose(sigma, 1, rtol=0, atol=1e-12)
    gamma_T = greedy_gain(SE(1e-3), np.linspace(0, 1, T)[:, None], T, lam)[-1]
    assert_allclose(final_gain(theory, sigma), gamma_T, rtol=1e-12)
    assert_allclose(theorem2(T, 1.0, 0, 1.0, gamma_T, 1.0, lam), 2 * np.sum(sigma), rtol=1e-12)
    assert_allclose(theorem2(T, 0.5, 2, 0.0, gamma_T, 1.0, lam), 2 / 0.5 * 2 * np.sum(sigma**2), rtol=1e-12)


def test_the_regret_of_gp_ts_sdf_is_within_theorem_3():
    """The bound that ends App. A.3, second line to last: the realised ν_t σ_{t-1}(x_t), then their bound."""
    theory, rounds, sigma, r = two_arms("GP-TS-SDF")
    rho, p = DELAY.rho(M), 1 / (4 * math.e * math.sqrt(math.pi))
    beta_T, gamma_T = beta_sdf_ts(theory, rounds.gamma[-1], 1.0), final_gain(theory, sigma)
    bound = theorem3(T_REGRET, rho, M, beta_T, gamma_T, 1.0, theory.B_f, theory.delta, 2, theory.lam(1))
    a = 1 + math.sqrt(2 * math.log(2 * T_REGRET**2))
    sums = 11 / (rho * p) * a * float(np.sum(np.array(rounds.nu) * sigma)) + math.pi**2 / 3
    azuma = (4 + 11 * max(rounds.nu) * a) / (rho * p) * math.sqrt(2 * T_REGRET * math.log(20))
    assert 0 < np.sum(r) < T_REGRET / 2
    assert np.sum(r) <= sums + azuma <= bound
    assert sums + azuma > bound / 2
