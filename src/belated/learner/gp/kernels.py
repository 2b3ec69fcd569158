"""Kernels k(x, x') on the unit cube.

X, Z   points, one per row                                   (n, D), (m, D)
l      lengthscales, one per column (or one for all)          (D,)
r²     Σ_c (x_c - z_c)² / l_c²                                (n, m)
φ(r²)  the kernel's shape, φ(0) = 1, so that k(x, x) = variance

A one-hot coordinate spans several columns that share a lengthscale: two different options are at distance 1 / l.
Distances come from one pair at a time (cdist), so a row alone has the same bits as the same row in a matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import Generator

from belated.errors import InvalidInput
from belated.learner.arrays import Array
from belated.parts import check_returned, read_part, reserve, write_part
from belated.validation import format_value, is_positive

PART = 2**15  # numbers of r² that are worked on at a time
LEAST_DISTANCE = 1e-9  # in lengthscales: of the slope of a kernel that has none at r = 0


class Slope(NamedTuple):
    """∂k/∂r_j² of the factor that covers some columns, with those columns' 1/l²."""

    columns: slice
    inverse_squares: Array  # 1 / l_c²                       (width,)
    slope: Array  # ∂k(x, z) / ∂r_j²                           (n, m)


class Kernel(Protocol):
    """A stationary kernel with k(x, x) = variance."""

    @property
    def variance(self) -> float:
        """k(x, x)."""

    def __call__(self, X: Array, Z: Array) -> Array:
        """k(X, Z)                                            (n, m)."""

    def diag(self, X: Array) -> Array:
        """k(x, x) for every row of X                         (n,)."""

    def slopes(self, X: Array, Z: Array) -> tuple[Array, list[Slope]]:
        """k(X, Z), and its derivative by each factor's r²; gradients in x and in log l follow from it."""

    def frequencies(self, rng: Generator, count: int, D: int) -> Array:
        """ω from the spectral density: E cos(ω·(x - z)) = k(x, z) / variance      (count, D)."""

    def on(self, widths: Sequence[Sequence[int]]) -> Kernel:
        """This kernel on arrays: `widths` has the columns of each coordinate, of the context (if any) and the query."""

    def lengthscales(self, D: int) -> Array:
        """l, one per column                                                       (D,)."""

    def at(self, lengthscales: Array, variance: float) -> Kernel:
        """The same shape with other hyperparameters, one lengthscale per column."""

    def spec(self) -> dict[str, object]:
        """Its name and numbers, as plain values."""


@dataclass(frozen=True)
class Radial(ABC):
    """What stationary kernels share: k = variance · φ(r²). A kernel of your own can inherit from it.

    >>> from belated import kernels
    >>> issubclass(kernels.SE, kernels.Radial)
    True
    """

    lengthscale: float | tuple[float, ...] = 0.2
    variance: float = 1.0

    def __post_init__(self) -> None:
        given: Any = self.lengthscale
        many = isinstance(given, Iterable) and not isinstance(given, str)
        lengthscales = tuple(given) if many else (given,)
        if not lengthscales or not all(map(is_positive, lengthscales)):
            raise InvalidInput(f"lengthscale must be positive and finite (got {format_value(self.lengthscale)})")
        if not is_positive(self.variance):
            raise InvalidInput(f"variance must be positive and finite (got {format_value(self.variance)})")
        object.__setattr__(self, "lengthscale", tuple(map(float, lengthscales)) if many else float(given))
        object.__setattr__(self, "variance", float(self.variance))

    @abstractmethod
    def shape(self, r2: Array) -> Array:
        """φ(r²)."""

    @abstractmethod
    def shape_and_slope(self, r2: Array) -> tuple[Array, Array]:
        """φ(r²) and dφ/d(r²)."""

    @abstractmethod
    def frequencies(self, rng: Generator, count: int, D: int) -> Array: ...

    def _r2(self, X: Array, Z: Array) -> Iterator[tuple[slice, Array]]:
        """r² of some rows of X at a time, few enough for what is computed of them to stay in the processor's cache."""
        from scipy.spatial.distance import cdist  # here: importing it costs as much as numpy

        l = np.asarray(self.lengthscale, dtype=float)
        X, Z = X / l, Z / l
        count = max(1, PART // max(1, len(Z)))
        for start in range(0, len(X), count):
            rows = slice(start, start + count)
            yield rows, cdist(X[rows], Z, "sqeuclidean")

    def __call__(self, X: Array, Z: Array) -> Array:
        K = np.empty((len(X), len(Z)))
        for rows, r2 in self._r2(X, Z):
            np.multiply(self.variance, self.shape(r2), out=K[rows])
        return K

    def diag(self, X: Array) -> Array:
        return np.full(len(X), self.variance)

    def slopes(self, X: Array, Z: Array) -> tuple[Array, list[Slope]]:
        K, slopes = np.empty((len(X), len(Z))), np.empty((len(X), len(Z)))
        for rows, r2 in self._r2(X, Z):
            phi, slope = self.shape_and_slope(r2)
            np.multiply(self.variance, phi, out=K[rows])
            np.multiply(self.variance, slope, out=slopes[rows])
        inverse = np.broadcast_to(1.0 / np.square(np.asarray(self.lengthscale, dtype=float)), X.shape[1:])
        return K, [Slope(slice(0, X.shape[1]), inverse, slopes)]

    def on(self, widths: Sequence[Sequence[int]]) -> Radial:
        flat = [w for part in widths for w in part]
        l = np.asarray(self.lengthscale, dtype=float)
        if l.ndim and len(l) != len(flat):
            raise InvalidInput(f"lengthscale must be one number or one per coordinate ({len(flat)}; got {len(l)})")
        return replace(self, lengthscale=tuple(np.repeat(np.broadcast_to(l, len(flat)), flat).tolist()))

    def lengthscales(self, D: int) -> Array:
        return np.broadcast_to(np.asarray(self.lengthscale, dtype=float), D)

    def at(self, lengthscales: Array, variance: float) -> Radial:
        return replace(self, lengthscale=tuple(lengthscales.tolist()), variance=float(variance))

    def spec(self) -> dict[str, object]:
        if type(self).__name__ not in RADIAL:
            return write_part("kernel", self)
        l = self.lengthscale
        return {
            "kernel": type(self).__name__,
            "lengthscale": list(l) if isinstance(l, tuple) else l,
            "variance": self.variance,
        }


@dataclass(frozen=True)
class SE(Radial):
    """k(x, z) = variance · exp(-r² / 2): the squared exponential kernel of the paper's experiments.

    >>> import numpy as np
    >>> from belated import kernels
    >>> kernels.SE(0.2)(np.array([[0.0]]), np.array([[0.0], [0.2], [1.0]])).round(3)
    array([[1.   , 0.607, 0.   ]])
    """

    def shape(self, r2: Array) -> Array:
        r2 *= -0.5
        return np.exp(r2, out=r2)

    def shape_and_slope(self, r2: Array) -> tuple[Array, Array]:
        phi = np.exp(-0.5 * r2)
        return phi, -0.5 * phi

    def frequencies(self, rng: Generator, count: int, D: int) -> Array:
        """ω ~ N(0, diag(1/l²))."""
        return np.asarray(rng.standard_normal((count, D)) / np.asarray(self.lengthscale))


@dataclass(frozen=True)
class Matern52(Radial):
    """k(x, z) = variance · (1 + √5 r + 5r²/3) exp(-√5 r).

    >>> from belated import algorithms, kernels
    >>> algorithms.paper("GP-UCB-SDF", kernel=kernels.Matern52(0.2)).model.kernel
    Matern52(lengthscale=0.2, variance=1.0)
    """

    def shape(self, r2: Array) -> Array:
        return self._shape(r2)[0]

    def _shape(self, r2: Array) -> tuple[Array, Array, Array]:
        """φ, 1 + √5 r and exp(-√5 r)."""
        r2 *= 5.0  # in place from here on: nobody else uses r²
        root = np.sqrt(r2)
        tail = np.negative(root)
        np.exp(tail, out=tail)
        root += 1.0
        r2 /= 3.0
        r2 += root
        r2 *= tail
        return r2, root, tail

    def shape_and_slope(self, r2: Array) -> tuple[Array, Array]:
        phi, root, tail = self._shape(r2)
        root *= tail
        root *= -5.0 / 6.0
        return phi, root

    def frequencies(self, rng: Generator, count: int, D: int) -> Array:
        """ω ~ multivariate t with 5 degrees of freedom, scaled by 1/l."""
        return np.asarray(draw_student(rng, count, D, 5.0) / np.asarray(self.lengthscale))


@dataclass(frozen=True)
class Matern12(Radial):
    """k(x, z) = variance · exp(-r): the roughest, for functions with steps.

    >>> from belated import kernels
    >>> round(float(kernels.Matern12(0.5)([[0.0]], [[0.5]])[0, 0]), 3)
    0.368
    """

    def shape(self, r2: Array) -> Array:
        return self.shape_and_slope(r2)[0]

    def shape_and_slope(self, r2: Array) -> tuple[Array, Array]:
        """The slope is bounded at r = 0, where there is none."""
        r = np.sqrt(r2)
        phi = np.exp(-r)
        return phi, np.asarray(-0.5 * phi / np.maximum(r, LEAST_DISTANCE))

    def frequencies(self, rng: Generator, count: int, D: int) -> Array:
        """ω ~ multivariate t with 1 degree of freedom, scaled by 1/l."""
        return np.asarray(draw_student(rng, count, D, 1.0) / np.asarray(self.lengthscale))


@dataclass(frozen=True)
class Matern32(Radial):
    """k(x, z) = variance · (1 + √3 r) exp(-√3 r): rougher, for functions that may have steps.

    >>> from belated import algorithms, kernels
    >>> algorithms.custom("rough", kernel=kernels.Matern32(0.3)).model.shape
    Matern32(lengthscale=0.3, variance=1.0)
    """

    def shape(self, r2: Array) -> Array:
        return self.shape_and_slope(r2)[0]

    def shape_and_slope(self, r2: Array) -> tuple[Array, Array]:
        r2 *= 3.0  # in place from here on: nobody else uses r²
        phi = np.sqrt(r2, out=r2)
        slope = np.negative(phi)
        np.exp(slope, out=slope)
        phi += 1.0
        phi *= slope
        slope *= -1.5
        return phi, slope

    def frequencies(self, rng: Generator, count: int, D: int) -> Array:
        """ω ~ multivariate t with 3 degrees of freedom, scaled by 1/l."""
        return np.asarray(draw_student(rng, count, D, 3.0) / np.asarray(self.lengthscale))


@dataclass(frozen=True)
class Product:
    """k((z, x), (z', x')) = k_z(z, z') · k_x(x, x'): how context and query are joined (Section 5, CGB-SDF).

    >>> from belated import Integer, Points, Study, algorithms, kernels
    >>> kernel = kernels.Product(context=kernels.SE(0.5), query=kernels.Matern52(0.1))
    >>> algorithm = algorithms.paper("GP-BTS", kernel=kernel)
    >>> study = Study.create(space=Points([0.0, 1.0]), context={"age": Integer(18, 90)}, algorithm=algorithm, seed=0)
    >>> study.ask(context={"age": 40}).context
    {'age': 40}
    """

    context: Kernel
    query: Kernel
    split: int | None = None  # columns of the context; known once the kernel is put `on` a space

    @property
    def variance(self) -> float:
        return self.context.variance * self.query.variance

    def _parts(self) -> tuple[slice, slice]:
        if self.split is None:
            raise InvalidInput("a Product kernel needs a space with a context (call .on first)")
        return slice(0, self.split), slice(self.split, None)

    def __call__(self, X: Array, Z: Array) -> Array:
        z, x = self._parts()
        contexts = X[:, z]
        if len(X) > 1 and np.all(contexts == contexts[0]):  # as all that is asked about at once
            contexts = contexts[:1]
        K = self.query(X[:, x], Z[:, x])
        K *= self.context(contexts, Z[:, z])
        return K

    def diag(self, X: Array) -> Array:
        return np.full(len(X), self.variance)

    def slopes(self, X: Array, Z: Array) -> tuple[Array, list[Slope]]:
        z, x = self._parts()
        k_z, slopes_z = self.context.slopes(X[:, z], Z[:, z])
        k_x, slopes_x = self.query.slopes(X[:, x], Z[:, x])
        offset = z.stop
        moved = [
            Slope(slice(s.columns.start + offset, s.columns.stop + offset), s.inverse_squares, s.slope * k_z)
            for s in slopes_x
        ]
        return k_z * k_x, [s._replace(slope=s.slope * k_x) for s in slopes_z] + moved

    def frequencies(self, rng: Generator, count: int, D: int) -> Array:
        z, _ = self._parts()
        return np.hstack([self.context.frequencies(rng, count, z.stop), self.query.frequencies(rng, count, D - z.stop)])

    def on(self, widths: Sequence[Sequence[int]]) -> Product:
        if len(widths) != 2:
            raise InvalidInput("a Product kernel joins a context and a query; this study has no context")
        return Product(self.context.on(widths[:1]), self.query.on(widths[1:]), split=sum(widths[0]))

    def lengthscales(self, D: int) -> Array:
        z, _ = self._parts()
        return np.concatenate([self.context.lengthscales(z.stop), self.query.lengthscales(D - z.stop)])

    def at(self, lengthscales: Array, variance: float) -> Product:
        z, x = self._parts()
        return replace(
            self, context=self.context.at(lengthscales[z], 1.0), query=self.query.at(lengthscales[x], variance)
        )

    def spec(self) -> dict[str, object]:
        return {"kernel": "Product", "context": self.context.spec(), "query": self.query.spec(), "split": self.split}


def draw_student(rng: Generator, count: int, D: int, freedom: float) -> Array:
    """Vectors from the multivariate t distribution                              (count, D)."""
    normal = rng.standard_normal((count, D))
    return np.asarray(normal * np.sqrt(freedom / rng.chisquare(freedom, (count, 1))))


def check_kernel(kernel: Kernel, D: int, who: object) -> None:
    """Refuse a kernel of the user's own (`who`) that does not return what the others rely on."""
    X = np.linspace(0.0, 1.0, 3 * D).reshape(3, D)
    K = check_returned(who, "k(X, X)", kernel(X, X), (3, 3))
    again, slopes = kernel.slopes(X, X)
    check_returned(who, "k(X, X) of slopes", again, (3, 3))
    for each in slopes:
        check_returned(who, "a slope", each.slope, (3, 3))
    check_returned(who, "frequencies", kernel.frequencies(np.random.default_rng(0), 4, D), (4, D))
    if not np.allclose(K, K.T) or not np.allclose(np.diag(K), kernel.variance) or not np.allclose(K, again):
        raise InvalidInput(f"{type(who).__name__}: k must be symmetric, k(x, x) its variance, and slopes must agree")


def read_kernel(spec: dict[str, Any]) -> Kernel:
    """The kernel that a `spec()` names."""
    if spec["kernel"] == "Product":
        return Product(read_kernel(spec["context"]), read_kernel(spec["query"]), spec["split"])
    if spec["kernel"] not in RADIAL:
        own: Kernel = read_part("kernel", spec)
        return own
    l = spec["lengthscale"]
    return RADIAL[spec["kernel"]](tuple(l) if isinstance(l, list) else l, spec["variance"])


RADIAL: dict[str, type[SE | Matern12 | Matern32 | Matern52]] = {
    each.__name__: each for each in (SE, Matern12, Matern32, Matern52)
}
reserve("kernel", "Product", *RADIAL)
