"""All of belated's own: the default under each meaning of silence, and the paper's six.

The default with silence "unknown" is the candidate, since silence only means "not yet" here; like the peers it is told
neither a floor nor a ceiling. The other meanings need a floor and a patience, so they are told both; the paper's six
model (y - floor) / (ceiling - floor), and are told those."""

from __future__ import annotations

from typing import Any

import belated
from belated import Study
from belated.learner.algorithms import PAPER
from belated.settings import RegretKind
from belated.simulation.task import Task

CANDIDATE = "default"
SILENCES = {CANDIDATE: "unknown"} | {f"default ({silence})": silence for silence in ("waiting", "fading", "floor")}
ENTRANTS = (*SILENCES, *PAPER)
FORMER = {"default 0.1": "belated 0.1"}  # what an earlier version chose: its runs are kept, and are not made again


def study(name: str, task: Task, patience: int, counts: RegretKind, initial: int, seed: int) -> Study:
    """A study that chooses by itself after the `initial` queries that the harness gives it."""
    says: dict[str, Any] = {"algorithm": name, "floor": task.floor, "ceiling": task.ceiling}
    if name in SILENCES:
        says = {"silence": SILENCES[name]}
        if name != CANDIDATE:
            says |= {"floor": task.floor, "patience": patience}
    elif PAPER[name].implied.patience == "needed":
        says |= {"patience": patience}
    says |= {"space": task.space, "context": task.context, "regret": counts, "initial": initial, "seed": seed}
    return belated.Study.create(**says)
