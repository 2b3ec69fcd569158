"""belated's default for conversions, told those that come and nothing else."""

from __future__ import annotations

from typing import Any

from benchmarks.conversions.peers import Campaign, Chooser
from benchmarks.conversions.peers.asking import HOUR, Asking

NAMES = ("default (floor)", "default (fading)")
NEEDS = ("belated",)
SILENCES = dict(zip(NAMES, ("floor", "fading"), strict=True))


def chooser(name: str, campaign: Campaign, seed: int) -> Chooser:
    says: dict[str, Any] = {"outcomes": "conversion", "silence": SILENCES[name]}
    return Asking(campaign, seed, says | {"patience": f"{campaign.window * HOUR:g}s"}, silent=True)
