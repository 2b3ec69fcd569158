"""From the user's outcomes to the model's, where the best is the largest, and back.

y      an outcome in the user's units
model  sign · (y - shift) / width,   sign = -1 when the goal is to minimise
B_y    the bound on |y| of the theory; 1 on the paper's scale
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import gammaincinv

from belated.learner.arrays import Array
from belated.learner.gp.posterior import Posterior
from belated.validation import Fieldless

FAR = 1e12  # widths: the farthest that a scaled outcome can be, so that nothing overflows
LARGEST = float(np.finfo(np.float64).max)
LARGEST_LOG = float(np.log(LARGEST))
INTERVAL = 1.6448536269514722  # standard deviations to each side: 90 %
OUTSIDE = 0.05  # of the probability, on each side of an interval
LEAST_STD, ONE_CONVERSION = 1e-6, 1.0  # of log v, for its interval: nothing overflows
LEAST = -10.0  # widths below the median, on the robust scale


@dataclass(frozen=True)
class Scale:
    """model = sign (y - shift) / width, but not below `least`: how bad a very bad outcome is does not matter."""

    sign: float
    shift: float
    width: float
    least: float = -np.inf

    def to_model(self, y: Array) -> Array:
        return np.maximum(self.to_model_unbounded(y), self.least)

    def to_model_unbounded(self, y: Array) -> Array:
        """The same without the bound: for values that the user states, such as the floor."""
        with np.errstate(over="ignore", invalid="ignore"):
            model = 2.0 * self.sign * ((0.5 * y - 0.5 * self.shift) / self.width)  # the difference itself may overflow
        return np.clip(model, -FAR, FAR)

    def to_user(self, model: Array) -> Array:
        """A value in the user's units; where it is beyond the largest float, that one."""
        with np.errstate(over="ignore"):
            return np.clip(self.shift + self.sign * self.width * model, -LARGEST, LARGEST)

    def to_user_std(self, std: Array) -> Array:
        """A standard deviation in the user's units, bounded in the same way."""
        with np.errstate(over="ignore"):
            return np.minimum(self.width * std, LARGEST)

    def read(self, posterior: Posterior, rows: Array) -> tuple[Array, Array]:
        """Mean and std of a belief at some rows, on the model's scale; the GP's mean counts as it was fitted."""
        return posterior.mean_and_std(rows)

    def describe(self, mean: Array, std: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, std and the ends of the interval in the user's units."""
        center, width = self.to_user(mean), self.to_user_std(std)
        with np.errstate(over="ignore"):
            reach = np.minimum(INTERVAL * width, LARGEST)
            return center, width, np.maximum(center - reach, -LARGEST), np.minimum(center + reach, LARGEST)


@dataclass(frozen=True)
class RateScale:
    """model = log v: a rate is positive, and known up to a factor. `doubt` is about the level of all rates.

    What some conversions say about their rate is a gamma distribution. The one that has the mean exp(μ), where log v is
    most likely μ, and σ from the curvature there, is Gamma(1/σ²): with k conversions σ² is 1/k. Its interval reaches
    farther down than up, on the scale of log v. What is less than one conversion, σ² > 1, comes from other queries and
    from the doubt about delays: a factor that may be normal on that scale, and widens both ends."""

    doubt: float

    def to_user(self, model: Array) -> Array:
        """A rate."""
        return np.exp(np.minimum(model, LARGEST_LOG))

    def read(self, posterior: Posterior, rows: Array) -> tuple[Array, Array]:
        """Mean and std of log v at some rows; the GP's mean is uncertain too."""
        mean, std = posterior.mean_and_std(rows)
        return mean, np.sqrt(np.square(std) + np.square(posterior.level_std(rows)) + self.doubt**2)

    def describe(self, mean: Array, std: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, std and the ends of the interval of v."""
        counted = np.clip(std, LEAST_STD, ONE_CONVERSION)
        beside, shape = INTERVAL**2 * (np.square(std) - np.square(np.minimum(std, counted))), 1.0 / np.square(counted)
        down, up = (np.log(gammaincinv(shape, p) / shape) for p in (OUTSIDE, 1.0 - OUTSIDE))
        ends = np.clip(
            (mean - np.hypot(down, np.sqrt(beside)), mean + np.hypot(up, np.sqrt(beside))), -LARGEST_LOG, LARGEST_LOG
        )
        center = np.exp(mean)
        return center, center * std, *np.exp(ends)


@dataclass(frozen=True)
class Bounds:
    """What the user states about outcomes: the direction, and the worst and best value of f (None: unknown)."""

    sign: float
    floor: float | None = None
    ceiling: float | None = None

    def stand_in(self, y: Array) -> float | None:
        """The floor, or the worst outcome in use; None when there is neither."""
        if self.floor is not None:
            return self.floor
        return float(self.sign * np.min(self.sign * y)) if len(y) else None


def describe_stand_in(worst: float | None) -> str:
    """A sentence: what replaces a floor that was not stated."""
    heard = "the prior mean" if worst is None else f"the worst outcome heard, {worst:g},"
    return f"no floor stated: {heard} stands in"


class Scaling(Protocol):
    """A rule for the scale, given the outcomes in use (in the user's units)."""

    lasting: bool  # the scale is kept until the next fit
    uses_floor: bool

    def __call__(self, bounds: Bounds, y: Array) -> Scale: ...


class FloorToOne(Fieldless):
    """The paper's: (y - floor) / B_y. B_y = |ceiling - floor|, or the largest |y - floor| heard, 1 before any.

    >>> from belated import algorithms
    >>> algorithms.Model().scaling
    FloorToOne()
    """

    lasting = False
    uses_floor = True

    def __call__(self, bounds: Bounds, y: Array) -> Scale:
        floor = bounds.stand_in(y)
        if floor is None:
            return Scale(bounds.sign, 0.0, 1.0)
        if bounds.ceiling is not None:
            width = abs(bounds.ceiling - floor)
        else:
            width = 2.0 * float(np.max(np.abs(0.5 * y - 0.5 * floor))) if len(y) else 1.0  # the difference may overflow
        return Scale(bounds.sign, floor, _make_usable(width))


class Robust(Fieldless):
    """(y - median) / (IQR / 1.349), and never below LEAST: one extreme outcome does not flatten the rest.

    >>> from belated import algorithms
    >>> algorithms.DEFAULT.model.scaling
    Robust()
    """

    lasting = True
    uses_floor = False

    def __call__(self, bounds: Bounds, y: Array) -> Scale:
        if bounds.floor is not None and bounds.ceiling is not None and len(y) < 3:
            return Scale(
                bounds.sign,
                (bounds.floor + bounds.ceiling) / 2.0,
                _make_usable(abs(bounds.ceiling - bounds.floor) / 4.0),
            )
        if not len(y):
            return Scale(bounds.sign, bounds.floor or 0.0, 1.0)
        low, middle, high = 4.0 * np.quantile(y / 4.0, [0.25, 0.5, 0.75])
        for width in ((high / 1.349 - low / 1.349), 2.0 * float(np.max(np.abs(y / 2.0 - middle / 2.0)))):
            if width > 1e-12 * max(abs(middle), 1e-300):
                return Scale(bounds.sign, float(middle), _make_usable(float(width)), LEAST)
        return Scale(bounds.sign, float(middle), _make_usable(abs(float(middle))), LEAST)


def _make_usable(width: float) -> float:
    return min(width, LARGEST) if width > 1e-150 else 1.0
