"""The paper's six, as its Appendix C has them. GP-UCB-SDF and GP-TS-SDF take silence for 0, and are told conversions
alone; the four others give silence no meaning, so they are told 0 at the end of the window, as the peers are."""

from __future__ import annotations

from typing import Any

from belated.learner.algorithms import PAPER
from benchmarks.conversions.peers import Campaign, Chooser
from benchmarks.conversions.peers.asking import HOUR, Asking

NAMES = ("GP-UCB-SDF", "GP-TS-SDF", "GP-BUCB", "GP-BTS", "GP-UCB", "asy-TS")
NEEDS = ("belated",)


def chooser(name: str, campaign: Campaign, seed: int) -> Chooser:
    says: dict[str, Any] = {"algorithm": name, "floor": 0.0, "ceiling": 1.0}
    silent = PAPER[name].implied.patience == "needed"
    if silent:
        says["patience"] = f"{campaign.window * HOUR:g}s"
    return Asking(campaign, seed, says, silent)
