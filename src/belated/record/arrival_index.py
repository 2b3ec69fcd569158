"""What a choice counts of all trials, kept while they are asked, told and lost, so that none of it is counted again.

Whatever else happens to a trial (a correction, an undo), an index is thrown away and made again from the columns.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from belated.learner.arrays import Array, Indices, Mask
from belated.learner.gp.scale import Scale
from belated.learner.history import Tally, scale_noise


class ArrivalIndex:
    """Which trials were heard, in order; which are out; and what a schedule of fits counts."""

    def __init__(self, columns: Mapping[str, Any], X: Array, n: int, split: int) -> None:
        told = np.isfinite(columns["delay"][:n])
        rows = np.flatnonzero(told)
        rows = rows[np.argsort(columns["order"][rows], kind="stable")]
        point = columns["point"][:n]
        self.columns, self.split = columns, split
        self.arrivals = array("q", rows.astype(np.int64).tobytes())
        self.late = bytearray((columns["delay"][rows] > columns["m"][rows]).tobytes())
        gone, infeasible = columns["gone"][:n], columns["infeasible"][:n]
        self.out = dict.fromkeys(np.flatnonzero(~(told | gone | infeasible)).tolist())  # not heard, and not ended
        points = int(np.max(point, initial=-1)) + 1
        alive = np.bincount(point[~gone], minlength=points)
        self.alive = array("q", alive.astype(np.int64).tobytes())  # trials of each query that count
        self.queries = int(np.count_nonzero(alive))
        chosen = np.flatnonzero(~columns["by_hand"][:n])
        self.newest_choice = int(chosen[-1]) + 1 if len(chosen) else 0
        self.chosen = count_contexts(X[chosen, :split])  # how many we chose in each
        y = columns["y"][rows]
        self.least, self.most = float(np.min(y, initial=np.inf)), float(np.max(y, initial=-np.inf))

    def fork(self) -> ArrivalIndex:
        """An independent copy, on the same columns."""
        other = copy(self)
        other.arrivals, other.late, other.out = self.arrivals[:], self.late[:], dict(self.out)
        other.alive, other.chosen = self.alive[:], self.chosen.copy()
        return other

    def note_asked(self, i: int, x: Array) -> None:
        """A query is out, the newest."""
        self.out[i] = None
        point = self.columns["point"][i].item()
        if point == len(self.alive):
            self.alive.append(0)
        self.queries += not self.alive[point]
        self.alive[point] += 1
        if not self.columns["by_hand"][i]:
            self.newest_choice = i + 1
            self.chosen[name_context(x[: self.split])] += 1

    def note_told(self, i: int) -> None:
        """A query that was out has its first outcome, the newest."""
        columns = self.columns
        del self.out[i]
        self.arrivals.append(i)
        self.late.append(bool(columns["delay"][i] > columns["m"][i]))
        y = columns["y"][i].item()
        self.least, self.most = min(self.least, y), max(self.most, y)

    def note_gone(self, i: int) -> None:
        """A query that was out is lost or withdrawn."""
        del self.out[i]
        point = self.columns["point"][i].item()
        self.alive[point] -= 1
        self.queries -= not self.alive[point]

    def list_out(self) -> Indices:
        """The rows of the queries that have no outcome, and may still have one."""
        return np.fromiter(self.out, dtype=np.intp, count=len(self.out))

    def tally(self, pending: int, pairs: int) -> Tally:
        """What a schedule of fits counts, where so many are still within patience, of so many pairs."""
        late: Mask = np.frombuffer(bytes(self.late), dtype=bool)
        heard = len(self.arrivals)
        return Tally(
            heard=heard,
            settled_count=heard + len(self.out) - pending,
            newest_choice=self.newest_choice,
            late_by_arrival=late,
            queries=self.queries,
            pairs=pairs,
        )

    def count_chosen(self, z: Array) -> int:
        """How many queries we chose in a context."""
        return self.chosen[name_context(z)]

    def read_outcomes(self, rows: Indices, scale: Scale, lam: float) -> tuple[Array, Array]:
        """Some outcomes on the model's scale, and their noise."""
        own = self.columns["noise"][rows]
        noise = np.where(np.isnan(own), lam, scale_noise(own, scale.width))
        return scale.to_model(self.columns["y"][rows]), noise


def name_context(z: Array) -> bytes:
    """Equal contexts have the same name."""
    return (z + 0.0).tobytes()


def count_contexts(Z: Array) -> Counter[bytes]:
    """How often each context comes, by its name."""
    names, width = name_context(Z), Z.itemsize * Z.shape[1]
    if not width:
        return Counter({b"": len(Z)})
    return Counter(names[i : i + width] for i in range(0, len(names), width))
