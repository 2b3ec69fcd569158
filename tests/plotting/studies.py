"""Studies of every kind, for pictures; each is made once and only looked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import belated
from belated import Choice, Integer, Points, Real, Study
from belated.plotting.study_view import StudyView, read_study_view

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
        name="n" * 128, space={f"parameter_{i}": Real(0, 1) for i in range(13)} | {"which": options, "k": Real(0, 1)},
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


STUDIES = (
    make_one_coordinate,
    make_mixed,
    make_contextual,
    make_by_the_clock,
    make_listed,
    make_only_asked,
    make_empty,
    make_wide,
)


@cache
def view_study(make: Callable[[], Study]) -> StudyView:
    return read_study_view(make())
