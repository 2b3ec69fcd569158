"""Studies whose every choice is on record: a change that is meant to move code must not move a choice.

`run_study` drives them through the public verbs alone, with a clock, delays and outcomes of its own, all repeatable.
`python -m tests.laws.recorded_studies` writes them down again, in choices.json; a new record needs a line in the
CHANGELOG that says why.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from belated import Choice, Integer, Points, Real, Study, algorithms, confidence, kernels
from belated.learner.blas import describe_versions
from belated.record.events import event_to_dict

RECORD = Path(__file__).with_name("choices.json")
ROUNDS = 22

GRID = Points([{"x": i / 15, "y": j / 7} for i in range(16) for j in range(8)])
LINE = Points([0.0, 0.5, 1.0, 2.0, 3.5, 4.0, 5.5, 7.0, 8.0, 9.5, 11.0, 12.0])
SQUARE = {"x": Real(0, 1), "y": Real(-2, 3)}
MIXED = {"x": Real(1e-3, 10, log=True), "n": Integer(1, 8), "kind": Choice("a", "b", "c")}
CONTEXT = {"age": Real(20, 80)}
SEGMENTS = Points([{"segment": "new"}, {"segment": "old"}, {"segment": "gone"}])


@dataclass(frozen=True)
class Scene:
    """One study: what it is created with, and what happens to it beside asks and tells."""

    space: Any
    settings: dict[str, Any]
    context: Any = None
    hour: float = 3600.0  # how much time passes from one ask to the next
    delay: float = 4.0  # mean, in rounds
    silent: float = 0.15  # the share that is never heard
    rounds: int = ROUNDS
    failures: bool = False
    amendments: bool = False
    by_hand: bool = False
    batches: bool = False
    noises: bool = False
    fixed: dict[str, Any] = field(default_factory=dict)


def f(params: dict[str, Any], context: dict[str, Any] | None) -> float:
    """Any function will do, if it has a few hills."""
    u = [_unit(v) for v in params.values()]
    z = [] if context is None else [_unit(v) for v in context.values()]
    return math.fsum(math.sin((3 + i) * v + i) for i, v in enumerate([*u, *z])) + math.cos(5 * math.fsum([*u, *z]))


def _unit(value: object) -> float:
    return float(len(value)) + ord(value[0]) / 100 if isinstance(value, str) else float(value) / 3  # type: ignore[arg-type]


def _paper(name: str) -> dict[str, Any]:
    return {"algorithm": name, "floor": -5.0, "ceiling": 5.0} | ({"patience": 6} if name.endswith("SDF") else {})


def scenes() -> dict[str, Scene]:
    """Every algorithm, silence, kind of space and kind of patience, and what else can happen to a study."""
    six = list(algorithms.PAPER)
    by_hand = {"kernel": kernels.SE(0.2), "lam": 0.05, "refit_every": None}
    theory = confidence.Theory(B_f=1.0, R=0.1, delta=0.1, horizon=50)
    silences = ("floor", "unknown", "waiting", "fading", "ignored", "nearest")

    def heard(name: str) -> dict[str, Any]:
        return {"algorithm": algorithms.paper(name, fitted_to="heard")}

    table = {f"{name} on a list": Scene(GRID, _paper(name)) for name in six}
    table |= {f"{name} in a box": Scene(SQUARE, _paper(name), failures=True) for name in six[::2]}
    table |= {f"{name} with a context": Scene(SQUARE, _paper(name), CONTEXT) for name in six[1::2]}
    table |= {
        f"default, {silence}, in a box": Scene(SQUARE, {"silence": silence, "patience": 8}) for silence in silences
    }
    table |= {
        f"default, {silence}, mixed": Scene(MIXED, {"silence": silence, "goal": "minimize"}, failures=True)
        for silence in silences[:4]
    }
    table |= {
        f"default, {silence}, by the clock": Scene(SQUARE, {"silence": silence, "patience": "6h", "late": late})
        for silence, late in (("floor", "ignore"), ("waiting", "use"), ("fading", "use"))
    }
    return table | {
        "default, unknown, on a list": Scene(LINE, {"silence": "unknown"}, by_hand=True, noises=True),
        "default, floor, on a list": Scene(GRID, {"silence": "floor", "floor": -4.0, "patience": 7}, amendments=True),
        "default, fading, on a list, long": Scene(GRID, {"silence": "fading", "patience": 5}, delay=2.0, silent=0.3),
        "default, unknown, in contexts": Scene(SQUARE, {"silence": "unknown"}, CONTEXT, noises=True),
        "default, floor, in segments": Scene(LINE, {"silence": "floor", "floor": -4.0, "patience": 9}, SEGMENTS),
        "default, every query counts": Scene(MIXED, {"silence": "unknown", "regret": "cumulative"}),
        "default, patience chosen": Scene(SQUARE, {"silence": "waiting", "patience": "auto"}, delay=1.5, silent=0.0),
        "default, patience chosen by the clock": Scene(
            SQUARE, {"silence": "floor", "patience": "auto-clock"}, delay=1.5, silent=0.0
        ),
        "default, in batches": Scene(SQUARE, {"silence": "unknown", "initial": 3}, batches=True),
        "default, part fixed by hand": Scene(MIXED, {"silence": "unknown"}, fixed={"kind": "b"}, by_hand=True),
        "default, no repeats": Scene(LINE, {"silence": "unknown", "repeats": "never"}, amendments=True, rounds=11),
        "GP-UCB-SDF by the clock": Scene(GRID, _paper("GP-UCB-SDF") | {"patience": "5h"}),
        "GP-TS-SDF, by hand, minimise": Scene(
            GRID,
            {
                "algorithm": algorithms.paper("GP-TS-SDF", **by_hand),
                "goal": "minimize",
                "floor": 5.0,
                "patience": 6,
            },
        ),
        "GP-UCB-SDF as in theory": Scene(
            GRID,
            {"algorithm": algorithms.paper("GP-UCB-SDF", kernel=kernels.SE(0.2), beta=theory), "patience": 6},
            amendments=True,
        ),
        "default, unknown, many rounds": Scene(GRID, {"silence": "unknown", "repeats": "always"}, rounds=130),
        "default, waiting, many rounds in a box": Scene(SQUARE, {"silence": "waiting", "patience": 9}, rounds=70),
        "GP-UCB-SDF, many rounds": Scene(GRID, _paper("GP-UCB-SDF"), rounds=130),
        "GP-BTS, many rounds in a box": Scene(SQUARE, _paper("GP-BTS"), rounds=70),
        "GP-BUCB after uncertainty sampling": Scene(SQUARE, {"algorithm": algorithms.paper("GP-BUCB", start=4)}),
        "GP-UCB-SDF, fitted to the heard": Scene(GRID, _paper("GP-UCB-SDF") | heard("GP-UCB-SDF"), rounds=60),
        "GP-BTS, fitted to the heard, in a box": Scene(SQUARE, _paper("GP-BTS") | heard("GP-BTS"), failures=True),
        "GP-UCB-SDF, unknown": Scene(GRID, _paper("GP-UCB-SDF") | {"silence": "unknown"}),
        "GP-TS-SDF, nearest, in a box": Scene(SQUARE, _paper("GP-TS-SDF") | {"silence": "nearest"}),
    }


def create_study(seed: int, scene: Scene, now: list[float]) -> Study:
    """The study of a scene before anything has happened; `now` is its time."""
    return Study.create(space=scene.space, context=scene.context, seed=seed, clock=lambda: now[0], **scene.settings)


def run_study(seed: int, scene: Scene) -> Study:
    """The study of a scene, driven to its end."""
    now = [1e6]
    study = create_study(seed, scene, now)
    coming: list[tuple[int, int]] = []  # (round, trial)
    for t in range(1, scene.rounds + 1):
        rng = np.random.default_rng([seed, t, 1])
        now[0] += scene.hour
        if scene.by_hand and t in (3, 9):
            before = study.queries() or [{"x": 0.02, "n": 3, "kind": "c"}, {"x": 2.0, "n": 7, "kind": "a"}]
            study.add(before[t % 2], f(before[t % 2], None), at=now[0] - 500.0)
        if scene.by_hand and t == 5:
            study.add(study.trial(1).params)
        context = _context(scene, rng)
        fixed = scene.fixed if scene.fixed and t % 2 else None
        asked = study.ask(context=context, params=fixed, n=3 if scene.batches and t % 3 == 1 else 1)
        for trial in asked:
            if rng.random() >= scene.silent:
                coming.append((t + 1 + int(rng.poisson(scene.delay)), trial.number))
        for due in sorted(pair for pair in coming if pair[0] <= t):
            coming.remove(due)
            _answer(study, scene, due[1], rng)
        if scene.amendments and t == 12:
            study.amend(floor=-6.0 if study.settings.objective.sign > 0 else 6.0, reason="it can be worse")
    return study


def _context(scene: Scene, rng: np.random.Generator) -> dict[str, Any] | None:
    if scene.context is None:
        return None
    if scene.context is SEGMENTS:
        return {"segment": ("new", "old", "gone")[int(rng.integers(3))]}
    return {"age": float(rng.choice([25.0, 40.0, 61.5]))}


def _answer(study: Study, scene: Scene, number: int, rng: np.random.Generator) -> None:
    trial = study.trial(number)
    kind = int(rng.integers(8)) if scene.failures else 7
    if kind < 3:
        study.fail(trial, ("lost", "infeasible", "withdrawn")[kind])
        if kind:
            return
    noise = 0.2 if scene.noises and number % 3 == 0 else None
    y = f(dict(trial.params), None if trial.context is None else dict(trial.context)) + 0.05 * rng.standard_normal()
    study.tell(trial, y, noise=noise)
    if scene.amendments and number % 4 == 0:
        study.amend(trial, y - 0.5, reason="read off wrongly")


def list_plain_events(study: Study) -> list[dict[str, Any]]:
    """The events of a study as JSON has them, without when each was written: that is no part of a choice."""
    plain: list[dict[str, Any]] = [json.loads(json.dumps(event_to_dict(event))) for event in study.events()]
    return [{name: value for name, value in event.items() if name != "recorded_at"} for event in plain]


def write_record(path: Path, studies: Mapping[str, Study]) -> None:
    """Write down every study as it went."""
    lines = ",\n".join(
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, list_plain_events(study))) + "]"
        for name, study in studies.items()
    )
    path.write_text(
        f'{{"versions": {json.dumps(dict(describe_versions()))},\n"studies": {{\n{lines}}}}}\n', encoding="utf-8"
    )


if __name__ == "__main__":
    write_record(RECORD, {name: run_study(seed, scene) for seed, (name, scene) in enumerate(scenes().items())})
