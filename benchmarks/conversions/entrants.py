"""Who takes part: the files in peers/ with NAMES, each with an entrant or several; and what a kept run is good for."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchmarks.regret.entrants import CHOICES, Entrant, imported, own_version, version_of, written

PEERS = Path(__file__).parent / "peers"
OURS = "ours.py"  # belated's default
BY_BELATED = {OURS: CHOICES.with_name("campaign_choices.json"), "paper.py": CHOICES}  # the choices that they stand for


def read_entrants(file: Path) -> list[Entrant]:
    """The entrants of a file; none where it is what others are made of."""
    says = written(file)
    if "NAMES" not in says:
        return []
    choices = BY_BELATED.get(file.name)
    version, missing = version_of(file) if choices is None else (own_version(imported(file), choices), ())
    return [Entrant(name, file.name == OURS, version, file, missing) for name in says["NAMES"]]


@cache
def entrants() -> dict[str, Entrant]:
    """Everybody by name, ours first."""
    files = sorted(PEERS.glob("[!_]*.py"), key=lambda file: (file.name != OURS, file.name))
    return {one.name: one for file in files for one in read_entrants(file)}
