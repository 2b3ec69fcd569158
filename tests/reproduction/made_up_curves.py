"""Made-up curves that look like recorded ones: steps down from the floor's regret, the first curve the best."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from belated.learner.arrays import Array
from reproduction.curves import PUBLISHED, CurveKey, CurveRun, Curves, group_runs
from reproduction.objectives.synthetic import make_task
from reproduction.panels import Claim, Panel, PanelCurve, make_curve
from reproduction.run_costs import RunCost


def draw_regret(
    rng: np.random.Generator, iterations: int, quality: float, best: float = 0.0, floor: float = 1.0
) -> Array:
    """One run: nothing heard for a while, then improvements at random."""
    regret, values = floor, []
    heard_from = rng.integers(3, 9)
    for t in range(1, iterations + 1):
        if t >= heard_from and (regret == floor or rng.random() < 0.12 + 0.1 * quality):
            regret = best + (min(regret, best + 0.35) - best) * rng.uniform(0.55 + 0.25 * (1 - quality), 1)
        values.append(regret)
    return np.array(values)


def make_run(panel: Panel, curve: str, seed: int, quality: float, reading: str = "text", **shape: float) -> CurveRun:
    """One run of a panel at the iterations that it records."""
    rng = np.random.default_rng([seed, sum(map(ord, panel.name + curve + reading))])
    simple = draw_regret(rng, panel.iterations, quality, **shape)
    steps = np.full(panel.iterations, 0.02) if panel.measure == "cumulative" else simple + 0.05
    kept = np.arange(panel.every - 1, panel.iterations, panel.every)
    return CurveRun(
        key=CurveKey(panel.name, curve, reading),
        seed=seed,
        iterations=kept + 1,
        simple=simple[kept],
        late=0.97 * simple[kept],
        cumulative=np.cumsum(steps * rng.uniform(0.5 + (1 - quality), 1.5 + (1 - quality), panel.iterations))[kept],
    )


def make_published(panel: Panel, seeds: int) -> Curves:
    """Runs as the authors might have published them: without late and cumulative regret."""
    nothing = np.full(panel.iterations, np.nan)
    runs = [
        make_run(panel, curve.key, seed, 0.5, PUBLISHED, best=0.235) for curve in panel.curves for seed in range(seeds)
    ]
    return group_runs(replace(one, late=nothing, cumulative=nothing) for one in runs)


def make_curves(panels: Iterable[Panel], seeds: int = 10) -> Curves:
    """Every curve of every panel and reading; the first is the best."""
    runs = []
    for panel in panels:
        shape = {"best": 0.235} if panel.ylabel == "validation error" else {}
        for reading in panel.readings:
            for i, curve in enumerate(panel.curves):
                quality = 1 - i / len(panel.curves)
                runs += [make_run(panel, curve.key, seed, quality, reading, **shape) for seed in range(seeds)]
    return group_runs(runs)


def make_costs(curves: Curves) -> list[RunCost]:
    """A plausible cost for every run."""
    return [
        RunCost(*key, seed, int(draw_regret.iterations[-1]), 0.0123 * int(draw_regret.iterations[-1]), 0.4 + seed / 7)
        for key, draw_regret in curves.items()
        for seed in draw_regret.seeds
    ]


def make_panel(name: str = "fig9a", **changes: object) -> Panel:
    """A small panel of the UCB family, or whatever is said of it."""
    said: dict[str, object] = {
        "name": name,
        "title": "Made up, UCB",
        "task": make_task,
        "curves": tuple(make_curve(algorithm, None, 20) for algorithm in ("GP-UCB-SDF", "GP-UCB", "GP-BUCB")),
        "claim": Claim(text="GP-UCB-SDF is better", less=(("GP-UCB-SDF", "GP-UCB"), ("GP-UCB-SDF", "GP-BUCB"))),
        "iterations": 30,
        "runs": {"text": 10},
    }
    return Panel(**{**said, **changes})  # type: ignore[arg-type]


def make_beyond_panel(name: str = "elsewhere") -> Panel:
    """Six algorithms and the default; no claim."""
    names = ("GP-UCB-SDF", "GP-TS-SDF", "GP-UCB", "asy-TS", "GP-BUCB", "GP-BTS")
    six: tuple[PanelCurve, ...] = tuple(make_curve(algorithm, None, 20) for algorithm in names)
    defaults = tuple(make_curve("default", None, 20, silence) for silence in ("floor", "unknown"))
    return make_panel(name, title="Elsewhere", curves=(*defaults, *six), claim=None, iterations=100)


def are_same(a: Curves, b: Curves) -> bool:
    """Whether two sets of curves are equal, number by number."""

    def parts(curves: Curves) -> list[object]:
        return [
            (
                key,
                draw_regret.seeds,
                draw_regret.iterations.tolist(),
                *(np.nan_to_num(v, nan=-7e77).tolist() for v in values),
            )
            for key, draw_regret in curves.items()
            for values in [(draw_regret.simple, draw_regret.late, draw_regret.cumulative)]
        ]

    return parts(a) == parts(b)
