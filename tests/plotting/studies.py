"""Studies of every kind, for pictures; each is made once and only looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import belated
from belated import Choice, Integer, Points, Real, Study
from belated.plotting.study.view import StudyView, read_study_view
from tests.support.campaigns import run_campaign

DAY = 86400.0


@cache
def make_one_coordinate() -> Study:
    study = Study.create(name="one", space={"x": Real(0, 1)}, silence="unknown", patience=4, floor=0.0, seed=1)
    for _ in belated.simulate(study, lambda p: p["x"] * (1 - p["x"]), delay=belated.delays.Fixed(3), rounds=12, seed=2):
        pass
    return study


@cache
def make_mixed() -> Study:
    space = {
        "a": Real(300, 600),
        "b": Real(0.01, 100, log=True),
        "n": Integer(1, 6),
        "m": Choice("iron oxide", "nickel"),
    }
    study = Study.create(name="mixed", goal="minimize", space=space, silence="ignored", seed=3)

    def f(p: dict[str, object]) -> float:
        return abs(float(p["a"]) - 450) / 100 + abs(math.log10(float(p["b"]))) + int(p["n"])

    for _ in belated.simulate(study, f, delay=belated.delays.Fixed(2), rounds=15, seed=2):
        pass
    return study


@cache
def make_contextual() -> Study:
    study = Study.create(
        name="contextual", space={"x": Real(0, 1)}, context={"z": Real(0, 1), "who": Choice("f", "m")},
        silence="floor", floor=0.0, patience=5, seed=3,
    )  # fmt: skip
    for i in range(14):
        trial = study.ask(context={"z": i % 5 / 5, "who": "fm"[i % 2]})
        if i % 3:
            study.tell(trial, trial.params["x"])
    return study


@cache
def make_by_the_clock() -> Study:
    """Four in time, one late, two pending, one expired, one of each failure, and one added with its outcome."""
    now = [1.7e9]
    study = Study.create(
        name="clock", space={"x": Real(0, 1)}, silence="waiting", floor=0.0, patience="2d", seed=5, clock=lambda: now[0]
    )
    study.add({"x": 0.5}, 0.4)
    for kind in ("lost", "infeasible", "withdrawn"):
        study.fail(study.ask(), kind)
    early = [study.ask() for _ in range(6)]
    for i, trial in enumerate(early[:4]):
        study.tell(trial, 0.1 * i, at=now[0] + (i + 1) * 0.3 * DAY)
    study.tell(early[4], 0.9, at=now[0] + 3 * DAY)
    now[0] += 4 * DAY
    for _ in range(2):
        study.ask()
        now[0] += 0.5 * DAY
    return study


@cache
def make_listed() -> Study:
    points = [{"w": w, "ring": r} for w in (1.0, 2.0, 5.0) for r in ("aryl", "none")]
    study = Study.create(name="listed", space=Points(points), silence="unknown", seed=0)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, trial.params["w"])
    study.ask()
    return study


@cache
def make_only_asked() -> Study:
    study = Study.create(name="only-asked", space={"x": Real(0, 1), "k": Choice("a", "b")}, silence="unknown", seed=1)
    study.ask(n=3)
    return study


@cache
def make_empty() -> Study:
    return Study.create(name="empty", space={"x": Real(0, 1)}, silence="unknown", patience="2h", seed=1)


@cache
def make_wide() -> Study:
    options = Choice(*[f"option number {i}" for i in range(40)])
    study = Study.create(
        name="n" * 128,
        space={f"parameter_{i}": Real(0, 1) for i in range(13)} | {"which": options, "k" * 255: Real(0, 1)},
        silence="nearest", seed=1,
    )  # fmt: skip
    for _ in range(3):
        study.tell(study.ask(), 0.0)  # a constant outcome: a scale without a width
    study.ask()
    return study


@cache
def make_floorless() -> Study:
    """A study that needs a floor and states none."""
    study = Study.create(
        name="floorless", space={"x": Real(0, 1)}, silence="floor", goal="minimize", patience=2, seed=1
    )
    for _ in belated.simulate(study, lambda p: p["x"], delay=belated.delays.Fixed(3), rounds=9, seed=2):
        pass
    return study


@cache
def make_lab() -> Study:
    """Forty trials over four coordinates: pending, lost, infeasible and amended ones among them."""
    now, waiting = [1.75e9], list[tuple[float, belated.Trial]]()
    study = Study.create(
        name="catalyst",
        about="Which bath extracts most?\nFor plant 2.",
        outcome_name="yield",
        unit="%",
        space={
            "temperature": Real(20, 90, unit="°C"),
            "rate": Real(2e-3, 5e-2, log=True, unit="1/s"),
            "stages": Integer(1, 8),
            "solvent": Choice("water", "ethanol", "2-MeTHF"),
        },
        silence="unknown",
        patience="14d",
        floor=0.0,
        seed=1,
        clock=lambda: now[0],
    )

    def extract(params: Mapping[str, Any]) -> float:
        return 80 - abs(params["temperature"] - 62) / 2 - abs(params["stages"] - 5) + 3 * (params["solvent"] == "water")

    for i in range(40):
        trial = study.ask()
        now[0] += 0.4 * DAY
        waiting.append((now[0] + (1 + 7 * i % 5) * DAY, trial))
        for at, trial in [due for due in waiting if due[0] <= now[0]]:
            waiting.remove((at, trial))
            if trial.number % 13 == 5:
                study.fail(trial, "lost")
            elif trial.number % 17 == 9:
                study.fail(trial, "infeasible")
            else:
                typed = 96.5 if trial.number == 1 else extract(trial.params)
                study.tell(trial, typed, at=at)
        if i == 20:
            study.amend(1, extract(study.trial(1).params), reason="digits swapped in the notebook")
    study.amend(floor=-1.0, reason="the sensor <drifts> below zero")
    return study


@cache
def make_logs() -> Study:
    """Log axes, from a narrow one to the whole of float64, and tiny outcomes."""
    ends = [(0.8, 1.7), (1e-8, 1e4), (3, 40), (150, 260), (0.02, 0.3), (1e-300, 1e300), (1.0001, 1.0002)]
    space = {f"x{i}": Real(*low_high, log=True) for i, low_high in enumerate(ends)} | {"n": Integer(1, 20, log=True)}
    study = Study.create(name="logs", space=space, silence="unknown", seed=1)
    for i in range(6):
        study.tell(study.ask(), 1e-5 * i)
    study.ask(n=2)
    return study


@cache
def make_crowd() -> Study:
    study = Study.create(name="crowd", space={"x": Real(0, 1), "c": Choice("a", "b")}, silence="floor", seed=1)
    for i in range(120):
        study.add({"x": 0.618 * i % 1, "c": "ab"[i % 2]})
    for number in range(1, 120, 9):
        study.tell(number, 0.5 + number / 1000)
    return study


@cache
def make_imported() -> Study:
    """Trials of six years ago, and a few of this week."""
    now = [1.75e9]
    study = Study.create(
        name="imported", space={"t": Real(20, 90)}, silence="unknown", patience="14d", seed=1, clock=lambda: now[0]
    )
    for i in range(9):
        study.add({"t": 20.0 + i}, i / 9, at=1.55e9 + i * DAY)
    for _ in range(3):
        trial = study.ask()
        now[0] += DAY
        study.tell(trial, 1.0)
    return study


@cache
def make_amended() -> Study:
    """Words for people, in letters that one font has not; two outcomes put right."""
    study = Study.create(
        name="amended",
        space={"温度": Real(20, 90, unit="°C"), "вода": Integer(1, 9)},
        about="Which bath is best?",
        outcome_name="yield",
        unit="%",
        silence="unknown",
        seed=1,
    )
    for i in range(5):
        study.tell(study.ask(), 10.0 * i)
    study.amend(2, 12.5, reason="digits swapped")
    study.amend(4, 31.0, reason="a wrong reason")
    study.amend(4, 33.0, reason="second titration")
    study.fail(study.ask(), "infeasible", reason="it boiled over")
    return study


def make_conversions() -> Study:
    return run_campaign(shown=120, rate=lambda x: 0.3)


def make_counted() -> Study:
    """Counts of people by day, stated every day for a week."""
    day, march = 86400.0, 1_772_323_200.0
    study = Study.create(
        space={"discount": Real(0, 0.3)},
        context={"segment": Choice("new", "loyal")},
        outcomes="conversion",
        silence="fading",
        patience="7d",
        seed=0,
        clock=lambda: march + 8 * day,
    )
    for today in range(1, 8):
        rows = [(x, who, d) for x in (0.05, 0.15, 0.25) for who in ("new", "loyal") for d in range(today)]
        study.add_many(
            {
                "params": {"discount": x},
                "context": {"segment": who},
                "day": march + d * day,
                "shown": 400,
                "converted": int(400 * (0.02 + 0.4 * x * (who == "new")) * (1 - 0.6 ** (today - d))),
                "as_of": march + today * day,
            }
            for x, who, d in rows
        )
    return study


STUDIES = (
    make_conversions,
    make_counted,
    make_one_coordinate,
    make_mixed,
    make_contextual,
    make_by_the_clock,
    make_listed,
    make_only_asked,
    make_empty,
    make_wide,
    make_logs,
    make_crowd,
    make_imported,
    make_amended,
)


@cache
def view_study(make: Callable[[], Study]) -> StudyView:
    return read_study_view(make())
