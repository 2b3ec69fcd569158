"""What was measured, a row per number, in a CSV that is the cache as well: a cell that is in it is not measured again.

A row says what its code was. Numbers of ours that were measured with other code stay until they are asked for again.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.regret.entrants import ROOT, installed
from benchmarks.rows import read_rows, replace_rows
from benchmarks.scale.cell import STAGES
from benchmarks.scale.peers import PEERS
from benchmarks.scale.worlds import WORLDS

ENTRANTS = (*STAGES, *PEERS)


@dataclass(frozen=True)
class CellJob:
    """Who is measured where, and with how many trials."""

    world: str
    n: int
    entrant: str


@dataclass(frozen=True, kw_only=True)
class ScaleRow:
    """One number, or why there is none."""

    world: str
    n: int
    entrant: str
    measure: str
    value: float  # nan where a limit was reached first
    note: str
    version: str

    @property
    def job(self) -> CellJob:
        return CellJob(self.world, self.n, self.entrant)

    @property
    def reached(self) -> bool:
        return not math.isnan(self.value)


@cache
def find_version(entrant: str) -> str:
    """The code that an entrant runs; "" where it is not installed."""
    if entrant not in PEERS:
        files = sorted((ROOT / "src" / "belated").rglob("*.py"))
        return f"belated {hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()[:8]}"
    needs = {needed: installed(needed) for needed in PEERS[entrant][0]}
    first, version = next(iter(needs.items()))
    return f"{first} {version}" if all(needs.values()) else ""


def read(path: Path) -> list[ScaleRow]:
    """The rows of a file; of several for the same number the last counts."""
    return list({(row.job, row.measure): row for row in read_rows(path, ScaleRow)}.values())


def write(rows: Iterable[ScaleRow], path: Path) -> None:
    """All rows in order, in place of the file."""
    worlds = list(WORLDS)
    order = sorted(rows, key=lambda row: (worlds.index(row.world), ENTRANTS.index(row.entrant), row.n))
    replace_rows(order, path)


def find_stale(rows: Sequence[ScaleRow]) -> list[str]:
    """Who was measured with other code than there is now."""
    stale = {row.entrant for row in rows if find_version(row.entrant) not in ("", row.version)}
    return [entrant for entrant in ENTRANTS if entrant in stale]
