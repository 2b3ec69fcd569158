"""Studies of conversions whose every choice is on record, as those of recorded_studies.py are.

`python -m tests.laws.recorded_campaigns` writes them down again, in campaign_choices.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from belated import Choice, Points, Real, Study
from tests.laws.recorded_studies import write_record

RECORD = Path(__file__).with_name("campaign_choices.json")
HOUR, DAYS, A_DAY = 3600.0, 8, 24

ITEMS = {"item": Choice(*"abcdefgh")}
LINE = {"x": Real(0, 1)}
SEGMENTS = {"segment": Choice("new", "old")}


@dataclass(frozen=True)
class CampaignScene:
    """One campaign: what its study is created with, and the amount of a conversion."""

    space: Any
    silence: str
    context: Any = None
    amount: float = 1.0


SCENES = {
    "conversions, floor, items": CampaignScene(ITEMS, "floor"),
    "conversions, fading, items in segments": CampaignScene(ITEMS, "fading", SEGMENTS),
    "conversions, fading, x": CampaignScene(LINE, "fading"),
    "conversions, floor, x in segments": CampaignScene(LINE, "floor", SEGMENTS, 20.0),
    "conversions, fading, a list of x": CampaignScene(Points(np.linspace(0, 1, 30).tolist()), "fading", SEGMENTS),
}


def create_campaign(seed: int, scene: CampaignScene, now: list[float]) -> Study:
    """The study of a scene before anything has happened; `now` is its time."""
    return Study.create(
        space=scene.space,
        context=scene.context,
        outcomes="conversion",
        silence=scene.silence,
        patience="3d",
        seed=seed,
        clock=lambda: now[0],
    )


def run_campaign(seed: int, scene: CampaignScene) -> Study:
    """The study of a scene: a batch of queries each hour, and each night what has come."""
    now, rng = [1e6], np.random.default_rng([seed, 2])
    study = create_campaign(seed, scene, now)
    coming: list[tuple[float, int]] = []  # (time, trial)
    for hour in range(0, 24 * DAYS, 24 * 4 // A_DAY):
        now[0] = 1e6 + HOUR * hour
        some = None if scene.context is None else [{"segment": str(rng.choice(["new", "old"]))} for _ in range(4)]
        for trial in study.ask(n=4) if some is None else study.ask(contexts=some):
            if rng.random() < find_rate(dict(trial.params), trial.context):
                coming.append((now[0] + HOUR * rng.exponential(15.0), trial.number))
        if hour % 24 == 0:
            for at, number in sorted(pair for pair in coming if pair[0] <= now[0]):
                study.tell(number, scene.amount * (1.0 if scene.amount == 1.0 else rng.integers(1, 4)), at=at)
            coming = [pair for pair in coming if pair[0] > now[0]]
    return study


def find_rate(params: dict[str, Any], context: Any) -> float:
    """Any rate will do, if some queries are better than others."""
    x = "abcdefgh".index(params["item"]) / 7 if "item" in params else float(params["x"])
    best = 0.3 if context is None or context["segment"] == "new" else 0.8
    return 0.05 + 0.4 * float(np.exp(-20.0 * (x - best) ** 2))


if __name__ == "__main__":
    write_record(RECORD, {name: run_campaign(seed, scene) for seed, (name, scene) in enumerate(SCENES.items())})
