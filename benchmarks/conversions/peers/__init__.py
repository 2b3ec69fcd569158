"""One file per kind of entrant. To add one, write a file here of at most 60 lines with

NAMES     what the tables call its entrants
NEEDS     the distributions it needs, that whose version counts first; () if none
chooser   (name, campaign, seed) -> a Chooser

NAMES and NEEDS are written out, as they are read from a file that is imported only where all it needs is installed.
Files whose names begin with _ are what several share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from belated.learner.arrays import Array

SIDE = {1: 20, 2: 7}  # arms along each side of a cube, for those who choose among arms


@dataclass(frozen=True, eq=False)
class Campaign:
    """What is known before the first visitor."""

    features: Array  # (items, k); k = 0 where an item is a name; no items where x is continuous
    d: int  # of a continuous x; 0 where there are items
    segments: int
    window: float  # hours in which a conversion counts

    @property
    def arms(self) -> Array:
        """(n, 1 or d): every item as a query, or a grid of x."""
        if not self.d:
            return np.arange(float(len(self.features)))[:, None]
        middle = (np.arange(SIDE[self.d]) + 0.5) / SIDE[self.d]
        return np.stack(np.meshgrid(*[middle] * self.d, indexing="ij"), axis=-1).reshape(-1, self.d)


class News(NamedTuple):
    """A conversion when it comes, or that there was none, at the end of the window."""

    visitor: int  # counted from 0
    outcome: int  # 1 or 0
    at: float  # hours since the campaign began


class Chooser(Protocol):
    """One campaign's choices. Every hour it hears what is new, and then chooses for all visitors of that hour."""

    def hear(self, news: Sequence[News]) -> None: ...

    def choose(self, hour: int, segments: NDArray[np.int64]) -> Iterable[Array]:
        """A query for each visitor: the number of an item, or x. They may be computed one by one."""
        ...
