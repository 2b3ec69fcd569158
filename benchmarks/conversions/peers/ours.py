"""belated's default, told conversions and nothing else: silence is the outcome 0, at once or more and more so."""

from __future__ import annotations

from typing import Any

from benchmarks.conversions.peers import Campaign, Chooser
from benchmarks.conversions.peers._belated import HOUR, Asking

NAMES = ("default (floor)", "default (fading)")
NEEDS = ("belated",)
SILENCES = dict(zip(NAMES, ("floor", "fading"), strict=True))


def chooser(name: str, campaign: Campaign, seed: int) -> Chooser:
    says: dict[str, Any] = {"silence": SILENCES[name], "floor": 0.0, "patience": f"{campaign.window * HOUR:g}s"}
    return Asking(campaign, seed, says | {"regret": "cumulative", "repeats": "always"}, silent=True)
