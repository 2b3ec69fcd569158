"""The values of one choice: what stays the same from ask to ask, what this ask is about, and the decision.

z   columns of the context, before those of the query in every row
Q   the queries, when they can be listed: the paper's finite Q
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.learner.algorithms import Algorithm, Move
from belated.learner.arrays import Array, Mask
from belated.learner.belief import FactorCache
from belated.learner.cell_kernel import CellKernel
from belated.learner.choice.sequence import kronecker
from belated.learner.confidence import Constant
from belated.learner.gp.domain import Compact, Domain, Finite
from belated.learner.gp.kernels import Kernel, Product, read_kernel
from belated.learner.gp.merging import group_rows
from belated.learner.gp.posterior import GP
from belated.learner.gp.scale import Bounds, Scale
from belated.learner.gp.summary import SIZES
from belated.learner.history import History, Tally
from belated.learner.moment import Moment
from belated.learner.silence import Silence

LATTICE, LARGEST_LATTICE = 100, 800  # queries to choose from, per coordinate and at most
LISTED = 2000  # a space without continuous coordinates and at most this many points is searched exactly


def drop_repeats(X: Array) -> Array:
    """Each row once, in the order in which they first come."""
    return X[np.sort(np.unique(X, axis=0, return_index=True)[1])]


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays the same from ask to ask: where to look, what silence means, how to choose."""

    algorithm: Algorithm
    silence: Silence
    bounds: Bounds
    query: Domain
    query_widths: tuple[int, ...]
    context: Domain | None
    context_widths: tuple[int, ...]
    initial: int
    cumulative: bool = False  # every query counts, not only the best one
    conversions: bool = False  # outcomes come only if they are good

    @cached_property
    def Q(self) -> Array | None:
        """Every query, when they can be listed (without context columns)."""
        return self.query.Q if isinstance(self.query, Finite) else self.query.list_points(LISTED)

    @property
    def moves(self) -> tuple[Move, ...]:
        """The ways of choosing that take turns."""
        own = self.algorithm.conversion_moves if self.conversions else ()
        return own or self.algorithm.turns(self.cumulative)

    def move(self, turn: int) -> Move:
        """How to choose, the turn-th time (from 0) in a context."""
        return self.moves[turn % len(self.moves)]

    @cached_property
    def lattice(self) -> Array:
        """Queries spread evenly over a space that cannot be listed, of which conversions choose: outcomes of one query
        add up, and each outcome says little."""
        d = len(self.compact.coordinates)
        spread = self.compact.place(kronecker(1, min(LATTICE * (d + 1), LARGEST_LATTICE), d, np.full(d, 0.5)))
        return drop_repeats(self.compact.snap(spread))

    @cached_property
    def place(self) -> dict[bytes, int]:
        """Where each listed query is in Q."""
        return {} if self.Q is None else {q.tobytes(): i for i, q in enumerate(self.Q)}

    def list_places(self, X: Array) -> NDArray[np.intp]:
        """Where queries are in Q; without those that were run elsewhere."""
        found = (self.place.get(x.tobytes()) for x in X)
        return np.array([i for i in found if i is not None], dtype=np.intp)

    @property
    def widths(self) -> list[tuple[int, ...]]:
        return [self.query_widths] if self.context is None else [self.context_widths, self.query_widths]

    @property
    def compact(self) -> Compact:
        """The space of queries as coordinates; only a list of points has none."""
        if isinstance(self.query, Finite):
            raise TypeError("a list of points has no coordinates")
        return self.query

    @property
    def split(self) -> int:
        """Columns of the context."""
        return sum(self.context_widths)

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel to begin with: given by hand, or the algorithm's shape (a product where there is a context)."""
        return self.kernels[0]

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Those among which a fit chooses."""
        model = self.algorithm.model
        if model.kernel is not None:
            return (model.kernel.on(self.widths),)
        shapes = (self.conversions and model.conversion_shapes) or (model.shape,)
        wholes = shapes if self.context is None else tuple(Product(shape, shape) for shape in shapes)
        return tuple(whole.on(self.widths) for whole in wholes)

    def lam(self, t: int) -> float | None:
        """λ where it is not to be fitted."""
        beta = self.algorithm.width.beta
        return self.algorithm.model.lam if isinstance(beta, Constant) else beta.lam(t)

    def epoch_start(self, t: int) -> int:
        """The first query that query t is chosen by: later than 1 where the theory restarts (confidence.Theory)."""
        beta = self.algorithm.width.beta
        return 1 if isinstance(beta, Constant) else beta.epoch_start(t)

    def round_of(self, t: int) -> int:
        """Which round of its epoch query t is, from 1; without restarts t itself."""
        return t - self.epoch_start(t) + 1


def count_pairs(problem: Problem, h: History | Tally) -> int:
    """How many pairs of a context and a listed query a belief may be about, where they are few; else 0."""
    if isinstance(h, Tally):
        return h.pairs
    if h.listing is not None:
        return h.listing.pairs
    if h.begun is not None or problem.Q is None:
        return 0
    return pair_contexts(len(problem.Q), h.X[group_rows(h.point).first, : problem.split], SIZES.pairs)


def pair_contexts(queries: int, Z: Array, most: int) -> int:
    """How many pairs some contexts make with so many listed queries; 0 where there are more than that."""
    contexts = set[bytes]()
    for z in Z:
        contexts.add((z + 0.0).tobytes())
        if len(contexts) * queries > most:
            return 0
    return max(len(contexts), 1) * queries


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters, for which query they were found and from how many outcomes.

    >>> from belated import Points, Study
    >>> study = Study.create(space=Points([0.0, 0.5, 1.0]), silence="unknown", initial=0, seed=0)
    >>> _ = [study.add({"x": x}, x * (1 - x)) for x in (0.0, 0.5, 1.0)], study.ask()
    >>> newest = study.hyperparameters()[-1]
    >>> newest.number, newest.heard  # found for trial 4, from three outcomes
    (4, 3)
    """

    gp: GP
    scale: Scale | None  # kept with them, where the scaling is lasting
    number: int
    heard: int
    settled: int  # heard, or silent for longer than patience
    centres: tuple[int, ...] = ()  # trials around whose queries very many are summarised (gp/summary.py)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for a ledger."""
        scale = None if self.scale is None else list(astuple(self.scale))
        gp = {"kernel": self.gp.kernel.spec(), "lam": self.gp.lam, "mean": self.gp.mean}
        plain = {**gp, "scale": scale, "number": self.number, "heard": self.heard, "settled": self.settled}
        return {**plain, "centres": list(self.centres)} if self.centres else plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Hyperparameters:
        """What `to_dict` wrote, read back."""
        scale = None if plain["scale"] is None else Scale(*plain["scale"])
        gp = GP(read_kernel(plain["kernel"]), plain["lam"], plain["mean"])
        settled = plain.get("settled", plain["heard"])  # version 0.1 did not count what was settled
        return cls(gp, scale, plain["number"], plain["heard"], settled, tuple(plain.get("centres", ())))


@dataclass(frozen=True, eq=False)
class Situation:
    """What one choice is about: the query number, the context, what is fixed by hand, and which queries to avoid."""

    t: int
    turn: int  # how many queries we have chosen in this context before
    z: Array  # context columns, empty without context
    given: Array  # query columns fixed by hand, NaN elsewhere             (Compact)
    open: Mask | None  # queries of the list that match what is fixed by hand    (listed Q)
    taken: Array  # queries (rows without context columns) not to be asked again now
    strict: bool  # taken ones are never to be asked again, not even when no others are left
    shift: Array  # of the space-filling sequence, one for the whole study                 (d,)
    fresh: Array  # queries asked at this very moment, in their contexts, which the history does not have


@dataclass(frozen=True, eq=False)
class Decision:
    """A chosen query (row without context columns), fallbacks in words, and new hyperparameters if any were fitted."""

    x: Array
    note: str = ""
    fitted: Hyperparameters | None = None
    failure: str = ""  # of the last attempt that failed, where it fell back from one


@dataclass(frozen=True, eq=False)
class KeptMoment:
    """The belief of a moment, and what it rests on."""

    history: History
    fitted: Hyperparameters | None
    moment: Moment

    def is_of(self, h: History, fitted: Hyperparameters | None) -> bool:
        """Whether it is the belief for this history, the very same one, and these hyperparameters."""
        return self.history is h and self.fitted == fitted


@dataclass
class Cache:
    """What a study keeps between asks to save time."""

    memory: FactorCache = field(default_factory=FactorCache)
    cells: CellKernel = field(default_factory=CellKernel)
    moment: KeptMoment | None = None
    looks: dict[int, Hyperparameters | None] = field(default_factory=dict)  # what a look fitted, by what it knew
    gains: dict[tuple[Kernel, float], Array] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget all of it; it is computed again when needed."""
        self.memory, self.cells, self.moment, self.looks, self.gains = FactorCache(), CellKernel(), None, {}, {}
