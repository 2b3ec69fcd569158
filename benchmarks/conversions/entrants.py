"""Who takes part: the files in peers/, each with one entrant or several; and what a kept run of them is good for."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchmarks.regret.entrants import Entrant, imported, own_version, version_of, written

PEERS = Path(__file__).parent / "peers"
OURS = "ours.py"  # belated's default
BY_BELATED = (OURS, "paper.py")  # the choices on record are part of their version


def read_entrants(file: Path) -> list[Entrant]:
    """The entrants of a file."""
    version, missing = (own_version(imported(file)), ()) if file.name in BY_BELATED else version_of(file)
    return [Entrant(name, file.name == OURS, version, file, missing) for name in written(file)["NAMES"]]


@cache
def entrants() -> dict[str, Entrant]:
    """Everybody by name, ours first."""
    files = sorted(PEERS.glob("[!_]*.py"), key=lambda file: (file.name != OURS, file.name))
    return {one.name: one for file in files for one in read_entrants(file)}
