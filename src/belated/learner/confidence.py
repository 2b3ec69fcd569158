"""Confidence widths and regret bounds: β_t, γ_t, ν_t, Theorems 1 to 4 and both propositions, as numbers.

T       rounds in all; t = 1 … T. Unknown: epochs of 1, 2, 4, … rounds, each with its own T and share of δ
λ       regularisation of Eq. (1); the theory sets 1 + 2/T                  (App. A.1)
B_f     bound on ‖f‖_k                                                     (Section 3.1)
B_y     bound on |y|; 1 on scaled outcomes                                 (Section 3.1)
R       the noise is R-sub-Gaussian                                        (Section 2)
δ       every statement holds with probability at least 1 - δ
γ_t     maximum information gain of t queries, max ½ log det(I + K/λ)      (Section 3.2)
ρ       ρ_m = P(d ≤ m), m the patience in rounds                           (Section 3.3)
C₁      sqrt(2 / log(1 + 1/λ))                                             (Theorem 2)
p       1 / (4e sqrt(π))                                                   (Lemma 3)

Everything assumes k(x, x) ≤ 1, as the paper does. Sections, equations and lemmas are the paper's.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from belated.errors import InvalidInput, NotPositiveDefinite
from belated.learner.arrays import Array
from belated.validation import require_rule


class Covariance(Protocol):
    """What an information gain needs of a kernel."""

    def __call__(self, X: Array, Z: Array, /) -> Array:
        """k(X, Z)          (n, m)."""

    def diag(self, X: Array, /) -> Array:
        """k(x, x) for every row of X  (n,)."""


@dataclass(frozen=True)
class Constant:
    """β_t = value; the paper's experiments take 1 (App. C).

    >>> from belated import algorithms, confidence
    >>> algorithms.paper("GP-UCB", beta=2.0).width.beta == confidence.Constant(2.0)
    True
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        _require_nonnegative("value", self.value)


@dataclass(frozen=True)
class Theory:
    """β_t and λ as the theorems have them, on scaled outcomes (B_f and R in units of B_y); horizon T or None.

    Without a horizon the algorithm restarts before queries 1, 2, 4, 8, …: an epoch is a run of its own, of T = 1, 2,
    4, 8, … rounds, with λ = 1 + 2/T and the algorithm's opening, if it has one. Its belief, widths, gain and fits know
    the queries of this epoch alone: an outcome of an earlier one that comes later changes nothing. Epoch i = 0, 1, …
    gets δ / ((i + 1)(i + 2)). These add up to δ, so that with probability at least 1 - δ what the theorems say holds in
    every epoch. The paper only cites the doubling trick (App. A.1, footnote): the restarts and the shares are ours.

    gain says which γ_{t-1} stands in β_t: "realised", ½ log det(I + K/λ) of the queries made (what the
    proof of Theorem 1 needs, App. A.1), or "greedy", a bound on the maximum over a finite Q.

    >>> from belated import algorithms, confidence
    >>> theory = confidence.Theory(B_f=2.0, R=0.1, delta=0.1, horizon=100)
    >>> theory.lam(1)
    1.02
    >>> algorithms.paper("GP-UCB-SDF", beta=theory).width.beta.horizon
    100
    >>> unknown = confidence.Theory(B_f=2.0, R=0.1, delta=0.12)
    >>> [(unknown.epoch_start(t), unknown.in_epoch(t).horizon, unknown.in_epoch(t).delta) for t in (1, 2, 3, 4)]
    [(1, 1, 0.06), (2, 2, 0.02), (2, 2, 0.02), (4, 4, 0.01)]
    """

    B_f: float
    R: float
    delta: float
    horizon: int | None = None
    gain: Literal["realised", "greedy"] = "realised"

    def __post_init__(self) -> None:
        _require_positive("B_f", self.B_f)
        _require_nonnegative("R", self.R)
        _require_delta(self.delta)
        if self.horizon is not None:
            _require_count("horizon", self.horizon, 1)
        if self.gain not in ("realised", "greedy"):
            raise InvalidInput(f'gain must be "realised" or "greedy" (got {self.gain!r})')

    def epoch_start(self, t: int) -> int:
        """The first query that query t is chosen by: 1, or without a horizon the largest power of two up to t."""
        t = _require_count("t", t, 1)
        return 1 if self.horizon is not None else 1 << (t.bit_length() - 1)

    def horizon_at(self, t: int) -> int:
        """T; without a horizon that of the epoch of query t: the one that begins with query 8 has 8 rounds, 8 to 15."""
        first = self.epoch_start(t)
        return first if self.horizon is None else self.horizon

    def in_epoch(self, t: int) -> Theory:
        """What holds in the epoch of query t: its T, and its share of δ."""
        if self.horizon is not None:
            return self
        T = self.horizon_at(t)
        i = T.bit_length() - 1
        return replace(self, horizon=T, delta=self.delta / ((i + 1) * (i + 2)))

    def lam(self, t: int) -> float:
        """λ = 1 + 2/T  (App. A.1, footnote)."""
        return 1 + 2 / self.horizon_at(t)


def beta_sdf_ucb(theory: Theory, gamma: float, B_y: float) -> float:
    """GP-UCB-SDF: β_t = B_f + (R + B_y) sqrt(2(γ_{t-1} + 1 + log(2/δ)))  (Section 3.2).

    >>> from belated import confidence
    >>> round(confidence.beta_sdf_ucb(confidence.Theory(B_f=2.0, R=0.1, delta=0.1), gamma=3.0, B_y=1.0), 2)
    6.11
    """
    return theory.B_f + (theory.R + _require_positive("B_y", B_y)) * _radius(gamma, 2, theory.delta)


def beta_sdf_ts(theory: Theory, gamma: float, B_y: float) -> float:
    """GP-TS-SDF: β_t = B_f + (R + B_y) sqrt(2(γ_{t-1} + 1 + log(4/δ)))  (App. A.3).

    >>> from belated import confidence
    >>> round(confidence.beta_sdf_ts(confidence.Theory(B_f=2.0, R=0.1, delta=0.1), gamma=3.0, B_y=1.0), 2)
    6.31
    """
    return theory.B_f + (theory.R + _require_positive("B_y", B_y)) * _radius(gamma, 4, theory.delta)


def beta_baseline(theory: Theory, gamma: float, B_y: float = 1.0) -> float:
    """The four baselines: β_t = B_f + R sqrt(2(γ_{t-1} + 1 + log(1/δ))).

    Nothing is censored, so B_y has no effect; it is an argument so that the three β_t have the same signature.

    >>> from belated import confidence
    >>> round(confidence.beta_baseline(confidence.Theory(B_f=2.0, R=0.1, delta=0.1), gamma=3.0), 2)
    2.36
    """
    _require_positive("B_y", B_y)
    return theory.B_f + theory.R * _radius(gamma, 1, theory.delta)


def _radius(gamma: float, a: int, delta: float) -> float:
    """sqrt(2(γ + 1 + log(a/δ)))."""
    return math.sqrt(2 * (_require_nonnegative("gamma", gamma) + 1 + math.log(a) - math.log(delta)))


def nu(beta: float, sigmas_of_recent: ArrayLike, B_y: float) -> float:
    """ν_t = B_y Σ_{s = max(1, t-m)}^{t-1} σ_{t-1}(x_s) + β_t  (Section 3.2); the sum is over heard and unheard alike.

    >>> from belated import confidence
    >>> confidence.nu(beta=1.0, sigmas_of_recent=[0.5, 0.25], B_y=2.0)
    2.5
    """
    sigmas = np.asarray(sigmas_of_recent, dtype=float)
    if not np.all((sigmas >= 0) & (sigmas < math.inf)):
        raise InvalidInput(f"sigmas_of_recent must be finite numbers of at least 0 (got {sigmas.tolist()!r})")
    return _require_positive("B_y", B_y) * float(sigmas.sum()) + _require_nonnegative("beta", beta)


def realised_gain(K: ArrayLike, lam: float) -> float:
    """½ log det(I + K/λ), K = k(X, X) of the queries made; 0 before any.

    >>> import numpy as np
    >>> from belated import confidence
    >>> round(confidence.realised_gain(np.eye(3), lam=1.0), 3)  # three unrelated queries: 3/2 log 2
    1.04
    """
    K = np.asarray(K, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise InvalidInput(f"K must be a square matrix (got shape {K.shape})")
    A = np.eye(len(K)) + K / _require_positive("lam", lam)
    if not np.isfinite(A).all():
        raise InvalidInput("K must be finite (got nan or inf)")
    try:
        pivots = np.diag(np.linalg.cholesky(A))
    except np.linalg.LinAlgError:
        raise NotPositiveDefinite from None
    return float(np.log(pivots).sum())


def greedy_gain(kernel: Covariance, Q: ArrayLike, t: int, lam: float) -> Array:
    """Lower bounds on γ_0 … γ_t over multisets of the rows of Q                                        (t + 1,)

    x_s = argmax_Q σ²_{s-1}(x), γ_s = γ_{s-1} + ½ log(1 + σ²_{s-1}(x_s)/λ)  (App. A.2); ties to the lowest row.
    V = L⁻¹ k(X, Q) grows by one row a step, and σ² = k(x, x) - Σ V², so the whole costs O(t² |Q|).

    >>> import numpy as np
    >>> from belated import confidence, kernels
    >>> confidence.greedy_gain(kernels.SE(0.2), np.linspace(0, 1, 50)[:, None], t=3, lam=1.0).round(2)
    array([0.  , 0.35, 0.69, 1.04])
    """
    Q = np.asarray(Q, dtype=float)
    if Q.ndim != 2 or not len(Q):
        raise InvalidInput(f"Q must be a matrix of at least one point, one per row (got shape {Q.shape})")
    steps, lam = _require_count("t", t, 0), _require_positive("lam", lam)
    variance = np.array(kernel.diag(Q), dtype=float)
    V = np.empty((steps, len(Q)))
    gains = np.zeros(steps + 1)
    for s in range(steps):
        i = int(np.argmax(variance))
        gains[s + 1] = gains[s] + math.log1p(variance[i] / lam) / 2
        V[s] = (kernel(Q[i : i + 1], Q)[0] - V[:s, i] @ V[:s]) / math.sqrt(variance[i] + lam)
        variance = np.maximum(variance - V[s] ** 2, 0)
    return gains


def gamma_bound(greedy: ArrayLike) -> Array:
    """γ_t ≤ greedy_t / (1 - 1/e): the gain is monotone and submodular, so greedy reaches that share of the maximum.

    >>> from belated import confidence
    >>> confidence.gamma_bound([0.0, 1.0]).round(3)
    array([0.   , 1.582])
    """
    return np.asarray(greedy, dtype=float) / (1 - 1 / math.e)


def gamma_se(T: int, n: int) -> float:
    """log^{n+1}(T), the order of γ_T for the SE kernel in n dimensions, without its constant  (Section 3.3).

    >>> from belated import confidence
    >>> round(confidence.gamma_se(T=100, n=1), 1)
    21.2
    """
    return math.log(_require_count("T", T, 1)) ** (_require_count("n", n, 1) + 1)


def theorem1_interval(mean: ArrayLike, std: ArrayLike, nu: float) -> tuple[Array, Array]:
    """Theorem 1: |μ_{t-1}(x) - ρ_m f(x)| ≤ ν_t σ_{t-1}(x), as (low, high) for ρ_m f(x), not for f(x); needs λ > 1.

    >>> from belated import confidence
    >>> confidence.theorem1_interval(mean=[0.5], std=[0.1], nu=2.0)
    (array([0.3]), array([0.7]))
    """
    mu, sigma = np.asarray(mean, dtype=float), np.asarray(std, dtype=float)
    if not np.all(sigma >= 0):
        raise InvalidInput(f"std must be at least 0 (got {sigma.tolist()!r})")
    width = _require_nonnegative("nu", nu) * sigma
    return mu - width, mu + width


def theorem4_interval(mean: ArrayLike, std: ArrayLike, nu: float) -> tuple[Array, Array]:
    """Theorem 4: |μ_{t-1}(z, x) - ρ_m g(z, x)| ≤ ν_t σ_{t-1}(z, x): Theorem 1 on 𝒵 × 𝒬  (App. B).

    >>> from belated import confidence
    >>> confidence.theorem4_interval(mean=[0.5], std=[0.1], nu=2.0)
    (array([0.3]), array([0.7]))
    """
    return theorem1_interval(mean, std, nu)


def theorem2(T: int, rho: float, m: float, beta_T: float, gamma_T: float, B_y: float, lam: float) -> float:
    """GP-UCB-SDF: ℜ_T ≤ (2/ρ) (C₁ β_T sqrt(T γ_T) + m B_y C₁² γ_T); inf when ρ = 0.

    With contexts, on 𝒵 × 𝒬, the same bound holds  (App. B.1).

    >>> from belated import confidence
    >>> said = dict(T=100, m=20, beta_T=3.0, gamma_T=5.0, B_y=1.0, lam=1.02)
    >>> confidence.theorem2(rho=0.5, **said) / confidence.theorem2(rho=1.0, **said)  # half in time: twice the bound
    2.0
    """
    return _divide(2, _require_rho(rho)) * _widths(T, m, beta_T, gamma_T, B_y, lam)


def theorem3(
    T: int,
    rho: float,
    m: float,
    beta_T: float,
    gamma_T: float,
    B_y: float,
    B_f: float,
    delta: float,
    size_Q: int,
    lam: float,
) -> float:
    """GP-TS-SDF: the bound that ends the proof of Theorem 3 (App. A.3; its B is B_f). β_T = beta_sdf_ts; inf at ρ = 0:

    ℜ_T ≤ 11/(ρp) a (C₁ β_T sqrt(T γ_T) + m B_y C₁² γ_T) + (4 B_f + 11 c_T)/(ρp) sqrt(2 T log(2/δ)) + B_f π²/3
    a = 1 + sqrt(2 log(|𝒬| T²)), c_T = ν_T a ≤ (m B_y + β_T) a, because σ ≤ 1.

    As it is printed. A step of its proof (Lemma 5) needs p > 1/t², which is t ≥ 5; to count the first four rounds in
    full, 2 B_f each, would add at most 5.2 B_f.

    >>> from belated import confidence
    >>> said = dict(T=100, m=20, beta_T=3.0, gamma_T=5.0, B_y=1.0, B_f=2.0, delta=0.1, size_Q=50, lam=1.02)
    >>> confidence.theorem3(rho=1.0, **said) < confidence.theorem3(rho=0.5, **said)
    True
    >>> confidence.theorem3(rho=0.0, **said)
    inf
    """
    return _theorem3(T, rho, m, beta_T, gamma_T, B_y, B_f, delta, math.log(_require_count("size_Q", size_Q, 1)), lam)


def contextual_ts_bound(
    T: int,
    rho: float,
    m: float,
    beta_T: float,
    gamma_T: float,
    B_y: float,
    B_f: float,
    delta: float,
    size_Z: int,
    size_Q: int,
    lam: float,
) -> float:
    """GP-TS-SDF with contexts from a finite 𝒵: Theorem 3 with log(|𝒵| |𝒬| T²) in place of log(|𝒬| T²)  (Lemma 8).

    >>> from belated import confidence
    >>> said = dict(T=100, rho=0.9, m=20, beta_T=3.0, gamma_T=5.0, B_y=1.0, B_f=2.0, delta=0.1, size_Q=50, lam=1.02)
    >>> confidence.contextual_ts_bound(size_Z=1, **said) == confidence.theorem3(**said)
    True
    """
    log_size = math.log(_require_count("size_Z", size_Z, 1)) + math.log(_require_count("size_Q", size_Q, 1))
    return _theorem3(T, rho, m, beta_T, gamma_T, B_y, B_f, delta, log_size, lam)


def proposition1(T: int, B_x: int, beta_T: float, gamma_T: float, B_y: float, lam: float) -> float:
    """Batches of B_x, GP-UCB-SDF: Theorem 2 at ρ = 1, m = B_x - 1, as Section 4 counts it  (Proposition 1).

    >>> from belated import confidence
    >>> batches_of_8 = confidence.proposition1(T=100, B_x=8, beta_T=3.0, gamma_T=5.0, B_y=1.0, lam=1.02)
    >>> batches_of_8 == confidence.theorem2(T=100, rho=1.0, m=7, beta_T=3.0, gamma_T=5.0, B_y=1.0, lam=1.02)
    True
    """
    return theorem2(T, 1.0, _require_count("B_x", B_x, 1) - 1, beta_T, gamma_T, B_y, lam)


def proposition2(
    T: int, B_x: int, beta_T: float, gamma_T: float, B_y: float, B_f: float, delta: float, size_Q: int, lam: float
) -> float:
    """Batches of B_x, GP-TS-SDF: Theorem 3 at ρ = 1, m = B_x - 1, as Section 4 counts it  (Proposition 2).

    >>> from belated import confidence
    >>> said = dict(T=100, beta_T=3.0, gamma_T=5.0, B_y=1.0, B_f=2.0, delta=0.1, size_Q=50, lam=1.02)
    >>> confidence.proposition2(B_x=4, **said) < confidence.proposition2(B_x=8, **said)  # larger batches, less known
    True
    """
    return theorem3(T, 1.0, _require_count("B_x", B_x, 1) - 1, beta_T, gamma_T, B_y, B_f, delta, size_Q, lam)


P = 1 / (4 * math.e * math.sqrt(math.pi))  # p, Lemma 3


def _widths(T: int, m: float, beta_T: float, gamma_T: float, B_y: float, lam: float) -> float:
    """Σ_t ν_t σ_{t-1}(x_t) ≤ C₁ β_T sqrt(T γ_T) + m B_y C₁² γ_T  (the proof of Theorem 2)."""
    _require_nonnegative("m", m)
    require_rule("lam", lam, "be a finite number greater than 1, as Theorem 1 asks", lambda v: 1 < v < math.inf)
    gain, C1_squared = _require_nonnegative("gamma_T", gamma_T), 2 / math.log1p(1 / lam)
    first = math.sqrt(C1_squared * _require_count("T", T, 1) * gain) * _require_nonnegative("beta_T", beta_T)
    return first + m * _require_positive("B_y", B_y) * C1_squared * gain


def _theorem3(
    T: int,
    rho: float,
    m: float,
    beta_T: float,
    gamma_T: float,
    B_y: float,
    B_f: float,
    delta: float,
    log_size: float,
    lam: float,
) -> float:
    """The bound of Theorem 3, with the logarithm of the number of inputs."""
    widths = _widths(T, m, beta_T, gamma_T, B_y, lam)
    _require_positive("B_f", B_f)
    a = 1 + math.sqrt(2 * (log_size + 2 * math.log(T)))
    c_T = (m * B_y + beta_T) * a
    azuma = (4 * B_f + 11 * c_T) * math.sqrt(2 * T * (math.log(2) - math.log(_require_delta(delta))))
    return _divide(1, _require_rho(rho) * P) * (11 * a * widths + azuma) + B_f * math.pi**2 / 3


def _divide(a: float, b: float) -> float:
    return a / b if b else math.inf


def _require_count(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise InvalidInput(f"{name} must be a whole number of at least {least} (got {value!r})")
    return int(value)


def _require_delta(delta: float) -> float:
    return require_rule("delta", delta, "lie in (0, 1)", lambda v: 0 < v < 1)


def _require_rho(rho: float) -> float:
    return require_rule("rho", rho, "lie in [0, 1]", lambda v: 0 <= v <= 1)


def _require_nonnegative(name: str, value: float) -> float:
    return require_rule(name, value, "be a finite number of at least 0", lambda v: 0 <= v < math.inf)


def _require_positive(name: str, value: float) -> float:
    return require_rule(name, value, "be a finite number greater than 0", lambda v: 0 < v < math.inf)
