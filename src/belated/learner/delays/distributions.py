"""Delays: the distribution 𝒟, and ρ_m, the probability that an outcome comes in time.

d        delay of a query, in rounds or seconds; inf when its outcome never comes
m        patience, in the same unit; inf when there is none
rho(m)   ρ_m = P(d ≤ m and d < ∞)                                          (Section 3.3)
S(t)     P(d > t), the survival function; ρ_m = 1 - S(m)
waited   d where the outcome has arrived, the age so far where it has not  (n,)
arrived  mask of the outcomes that have arrived                            (n,)

The file is long because every distribution is a class, with checked parameters and its own formulas.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from belated.errors import InvalidInput
from belated.validation import Params, require_rule


@runtime_checkable
class Delay(Protocol):
    """What a simulation needs: the delay of one query.

    >>> from belated.delays import Delay
    >>> class Weekends:
    ...     def draw(self, rng, params, context):
    ...         return float(rng.choice([1, 1, 1, 3]))
    >>> isinstance(Weekends(), Delay)
    True
    """

    def draw(self, rng: Generator, params: Params, context: Params | None) -> float:
        """d ~ 𝒟 (Section 2), or d ~ 𝒟(x, z) when delays depend on the input (Section 3.3)."""
        ...


@runtime_checkable
class Distribution(Delay, Protocol):
    """𝒟, the same for every query.

    >>> from belated.delays import ByInput, Distribution, Poisson
    >>> isinstance(Poisson(3), Distribution), isinstance(ByInput(lambda params: 3), Distribution)
    (True, False)
    """

    @property
    def mean(self) -> float:
        """E d; inf when an outcome may never come."""
        ...

    def rho(self, m: float) -> float:
        """ρ_m = P(d <= m)."""
        ...


@dataclass(frozen=True)
class Poisson:
    """P(d = j) = exp(-mean) mean^j / j!, j = 0, 1, 2, ...: the stochastic delays of the paper's experiments.

    >>> from belated.delays import Poisson
    >>> round(Poisson(10).rho(20), 3)
    0.998
    """

    mean: float

    def __post_init__(self) -> None:
        require_rule("mean", self.mean, "lie between 0 and 1e9", lambda v: 0 <= v <= 1e9)

    def draw(self, rng: Generator, params: Params | None = None, context: Params | None = None) -> float:
        return float(rng.poisson(self.mean))

    def rho(self, m: float) -> float:
        """sum_{j <= m} P(d = j), from the ratios P(j) / P(mode) within 12 standard deviations: nothing underflows."""
        m = check_patience(m)
        if m < 0:
            return 0.0
        mode = math.floor(self.mean)
        reach = 60 + math.ceil(12 * math.sqrt(self.mean))
        below = np.arange(mode, max(0, mode - reach), -1, dtype=float)  # P(j - 1) / P(j) = j / mean
        above = np.arange(mode + 1, mode + reach, dtype=float)  # P(j) / P(j - 1) = mean / j
        ratios = np.concatenate([np.cumprod(below / self.mean)[::-1], [1.0], np.cumprod(self.mean / above)])
        heard = np.arange(mode - len(below), mode + reach) <= m
        return float(ratios[heard].sum() / ratios.sum())


@dataclass(frozen=True)
class Fixed:
    """d = delay, always; Fixed(inf) never comes.

    >>> from belated.delays import Fixed
    >>> Fixed(10).rho(9), Fixed(10).rho(10)
    (0.0, 1.0)
    """

    delay: float

    def __post_init__(self) -> None:
        require_rule("delay", self.delay, "be at least 0", lambda v: v >= 0)

    @property
    def mean(self) -> float:
        return float(self.delay)

    def draw(self, rng: Generator, params: Params | None = None, context: Params | None = None) -> float:
        return float(self.delay)

    def rho(self, m: float) -> float:
        """1{delay <= m}."""
        return float(self.delay <= check_patience(m) and self.delay < math.inf)


@dataclass(frozen=True)
class Geometric:
    """P(d = j) = p (1 - p)^(j - 1), j = 1, 2, ...: each round the outcome comes with probability p.

    >>> from belated.delays import Geometric
    >>> Geometric(0.5).mean, Geometric(0.5).rho(2)
    (2.0, 0.75)
    """

    p: float

    def __post_init__(self) -> None:
        require_rule("p", self.p, "lie in (0, 1]", lambda v: 0 < v <= 1)

    @property
    def mean(self) -> float:
        return 1 / self.p

    def draw(self, rng: Generator, params: Params | None = None, context: Params | None = None) -> float:
        return float(rng.geometric(self.p))

    def rho(self, m: float) -> float:
        """1 - (1 - p)^floor(m)."""
        m = check_patience(m)
        if m < 1:
            return 0.0
        if self.p == 1 or m == math.inf:
            return 1.0
        return -math.expm1(math.floor(m) * math.log1p(-self.p))


@dataclass(frozen=True)
class Exponential:
    """P(d > t) = exp(-t / mean).

    >>> from belated.delays import Exponential
    >>> round(Exponential(2.0).rho(2.0), 3)
    0.632
    """

    mean: float

    def __post_init__(self) -> None:
        require_rule("mean", self.mean, "be a finite number greater than 0", lambda v: 0 < v < math.inf)

    def draw(self, rng: Generator, params: Params | None = None, context: Params | None = None) -> float:
        return float(rng.exponential(self.mean))

    def rho(self, m: float) -> float:
        """1 - exp(-m / mean)."""
        return -math.expm1(-max(check_patience(m), 0.0) / self.mean)


@dataclass(frozen=True)
class LogNormal:
    """log d ~ N(log median, sigma^2).

    >>> from belated.delays import LogNormal
    >>> LogNormal(median=8, sigma=0.5).rho(8)
    0.5
    """

    median: float
    sigma: float

    def __post_init__(self) -> None:
        require_rule("median", self.median, "be a finite number greater than 0", lambda v: 0 < v < math.inf)
        require_rule("sigma", self.sigma, "be a finite number greater than 0", lambda v: 0 < v < math.inf)

    @property
    def mean(self) -> float:
        """median exp(sigma^2 / 2)."""
        exponent = math.log(self.median) + self.sigma * self.sigma / 2
        return math.exp(exponent) if exponent < 709 else math.inf

    def draw(self, rng: Generator, params: Params | None = None, context: Params | None = None) -> float:
        return float(rng.lognormal(math.log(self.median), self.sigma))

    def rho(self, m: float) -> float:
        """Phi((log m - log median) / sigma)."""
        m = check_patience(m)
        if m <= 0:
            return 0.0
        return math.erfc((math.log(self.median) - math.log(m)) / (self.sigma * math.sqrt(2))) / 2


@dataclass(frozen=True)
class Uniform:
    """d uniform on [low, high].

    >>> from belated.delays import Uniform
    >>> Uniform(2, 6).mean, Uniform(2, 6).rho(3)
    (4.0, 0.25)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        require_rule("low", self.low, "be a finite number of at least 0", lambda v: 0 <= v < math.inf)
        require_rule("high", self.high, "be a finite number of at least 0", lambda v: 0 <= v < math.inf)
        if not self.low < self.high:
            raise InvalidInput(f"low must be less than high (got {self.low!r}, {self.high!r})")

    @property
    def mean(self) -> float:
        return self.low + (self.high - self.low) / 2

    def draw(self, rng: Generator, params: Params | None = None, context: Params | None = None) -> float:
        return float(rng.uniform(self.low, self.high))

    def rho(self, m: float) -> float:
        """(m - low) / (high - low), kept within [0, 1]."""
        return min(max((check_patience(m) - self.low) / (self.high - self.low), 0.0), 1.0)


@dataclass(frozen=True)
class Empirical:
    """d is one of the given delays, each with the same probability (the bootstrap); inf among them: never came.

    >>> from belated.delays import Empirical
    >>> Empirical([3, 5, 5, float("inf")]).rho(5)
    0.75
    """

    delays: Sequence[float]

    def __post_init__(self) -> None:
        if not isinstance(self.delays, Iterable):
            raise InvalidInput(f"delays must be a sequence of numbers (got {self.delays!r})")
        values = [require_rule(f"delays[{i}]", d, "be at least 0", lambda v: v >= 0) for i, d in enumerate(self.delays)]
        if not values:
            raise InvalidInput("delays must hold at least one delay (got none)")
        object.__setattr__(self, "delays", tuple(values))

    @property
    def mean(self) -> float:
        return math.fsum(self.delays) / len(self.delays)

    def draw(self, rng: Generator, params: Params | None = None, context: Params | None = None) -> float:
        return self.delays[int(rng.integers(len(self.delays)))]

    def rho(self, m: float) -> float:
        """The share of the delays <= m."""
        m = check_patience(m)
        return sum(d <= m and d < math.inf for d in self.delays) / len(self.delays)


@dataclass(frozen=True)
class Sometimes:
    """With probability share the outcome comes after `delay`; otherwise it never comes, d = inf.

    >>> from belated.delays import Fixed, Sometimes
    >>> Sometimes(Fixed(2), share=0.3).rho(100)
    0.3
    """

    delay: Distribution
    share: float

    def __post_init__(self) -> None:
        if not isinstance(self.delay, Distribution) or isinstance(self.delay, type):  # Poisson(10), not Poisson
            raise InvalidInput(f"delay must be a delay with rho and mean, such as Poisson(10) (got {self.delay!r})")
        require_rule("share", self.share, "lie in [0, 1]", lambda v: 0 <= v <= 1)

    @property
    def mean(self) -> float:
        return self.delay.mean if self.share == 1 else math.inf

    def draw(self, rng: Generator, params: Params | None = None, context: Params | None = None) -> float:
        comes = rng.random() < self.share
        return self.delay.draw(rng, params or {}, context) if comes else math.inf

    def rho(self, m: float) -> float:
        """share P(delay <= m)."""
        return self.share * self.delay.rho(m)


@dataclass(frozen=True)
class ByInput:
    """Input-dependent delays (Section 3.3): fn(params) or fn(params, context) gives 𝒟 at that input, or d itself.

    The context is passed when fn has two parameters without a default, or a second one named `context`.

    >>> from belated.delays import ByInput, Fixed
    >>> slow_when_hot = ByInput(lambda params: Fixed(10 if params["temperature"] > 60 else 2))
    >>> slow_when_hot.at({"temperature": 80})
    Fixed(delay=10)
    """

    fn: Callable[..., Distribution | float]
    _contextual: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_contextual", _takes_context(self.fn))

    def at(self, params: Params, context: Params | None = None) -> Distribution:
        """𝒟 at this input; a number counts as Fixed(number)."""
        answer: object = self.fn(params, context) if self._contextual else self.fn(params)
        if isinstance(answer, Distribution) and not isinstance(answer, type):
            return answer
        if isinstance(answer, bool) or not isinstance(answer, numbers.Real):
            raise InvalidInput(f"fn must return a delay or a number (got {answer!r} for {dict(params)!r})")
        return Fixed(require_rule("a delay returned by fn", answer, "be at least 0", lambda v: v >= 0))

    def draw(self, rng: Generator, params: Params, context: Params | None = None) -> float:
        return self.at(params, context).draw(rng, params, context)

    def rho_over(self, m: float, queries: Iterable[Params], contexts: Iterable[Params | None] | None = None) -> float:
        """ρ_m = min_t P(d_t <= m) over the queries x_t (Section 3.3), each with its own context where there are any."""
        asked = list(queries)
        given: list[Params | None] = [None] * len(asked) if contexts is None else list(contexts)
        if not asked:
            raise InvalidInput("queries must hold at least one query (got none)")
        if len(given) != len(asked):
            raise InvalidInput(f"contexts must be as many as queries (got {len(given)}, {len(asked)})")
        return min(self.at(x, z).rho(m) for x, z in zip(asked, given, strict=True))


def check_patience(m: float) -> float:
    """m as a float, which may be inf and not nan."""
    return require_rule("m", m, "not be nan", lambda v: not math.isnan(v))


def _takes_context(fn: object) -> bool:
    """Whether fn is fn(params, context) rather than fn(params); InvalidInput when it is neither."""
    rule = "fn must be a function of (params) or (params, context)"
    if not callable(fn):
        raise InvalidInput(f"{rule} (got {fn!r})")
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError) as unreadable:
        raise InvalidInput(f"{rule} (got {fn!r}, whose parameters cannot be read)") from unreadable
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = sum(p.default is p.empty for p in positional)
    keyword_only = any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters)
    if required not in (1, 2) or keyword_only:
        raise InvalidInput(f"{rule} (got {fn!r} of {inspect.signature(fn)})")
    return required == 2 or (len(positional) > 1 and positional[1].name == "context")
