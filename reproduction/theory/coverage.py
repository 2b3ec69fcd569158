"""Theorem 1, counted: in how many runs does the ellipsoid hold, and how much smaller could it be?

need  the least c with |μ_{t-1}(x) - ρ_m f(x)| ≤ c ν_t σ_{t-1}(x) for all x ∈ Q and all rounds t of a run;
      the theorem says that need ≤ 1 in a share of at least 1 - δ of all runs
c_δ   the least c with need ≤ c in a share of at least 1 - δ of the runs: what would have sufficed of ν_t
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.random import Generator

from belated.learner.arrays import Array
from belated.learner.belief import ChoiceBelief
from belated.learner.delays.distributions import Distribution, Fixed, Geometric, LogNormal, Poisson
from belated.learner.policies import Policy, Surface
from belated.plotting.style import COLOUR, INK, SOFT, render_png, use_style
from reproduction.report.document import Block, Heading, Paragraph, Picture, TableBlock
from reproduction.report.layout import BAND, LineEnd, LineStyle, finish_axes, make_stacked_page
from reproduction.theory.measurements import Measurement, Quantity, SeedValues
from reproduction.theory.rkhs import Q, RoundBelief, TheoryRun, draw_function, make_sdf, run_study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXPERIMENT, ELLIPSOID = "coverage", "ellipsoid"
# Runs for every δ: as many as it takes for the exact 95 % interval to lie above 1 - δ when all of them are covered.
RUNS = {0.01: 400, 0.05: 100, 0.1: 100, 0.3: 100, 0.5: 100}
SHOWN = 0.1  # the δ of the picture
TOGETHER = 20  # runs of one job
ALGORITHM = "GP-UCB-SDF"
# `need` in the first and in the last round at SHOWN, and over all rounds with β_t = 1, as in the paper's experiments.
FIRST, LAST, AT_ONE = "need in the first round", "need in the last round", "need, beta 1"


@dataclass(frozen=True)
class CoverageCase:
    """A law of delays and a patience."""

    label: str
    delay: Distribution
    m: int
    T: int  # rounds
    deltas: tuple[float, ...] = tuple(RUNS)
    repeats_best: bool = False  # asks the best x in every round
    doubles: bool = False  # T is not known to the algorithm

    @property
    def rho(self) -> float:
        return self.delay.rho(self.m)


CASES = {
    "poisson": CoverageCase("Poisson(10) delays, m = 10", Poisson(10), 10, 100),
    "geometric": CoverageCase("geometric delays of mean 10, m = 10", Geometric(0.1), 10, 100),
    "heavy": CoverageCase("log-normal delays (median 8, σ = 1.5), m = 10", LogNormal(8.0, 1.5), 10, 100),
    "doubling": CoverageCase(
        "Poisson(10) delays, m = 10, T not known", Poisson(10), 10, 127, deltas=(SHOWN,), doubles=True
    ),
    "stubborn": CoverageCase(
        "one x all the time, every delay 120, m = 120", Fixed(120), 120, 125, deltas=(SHOWN,), repeats_best=True
    ),
}
# The cases that also run with β = 1, where nothing is promised, and that the picture shows.
NAMES = {"poisson": "Poisson", "geometric": "geometric", "heavy": "log-normal", "stubborn": "one x all the time"}


@dataclass(frozen=True)
class FixedQuery:
    """The same point of Q in every round: Theorem 1 holds however the queries are chosen."""

    place: int

    def scores(self, belief: ChoiceBelief, Q: Array, nu: float, rng: Generator) -> Array:
        return np.asarray(np.arange(len(Q)) == self.place, dtype=float)

    def surface(self, belief: ChoiceBelief, nu: float, rng: Generator) -> Surface:
        raise NotImplementedError("there is a finite Q")


@dataclass(frozen=True, kw_only=True)
class CoverageJob:
    """Runs of T rounds; delta None: β_t = 1."""

    case: str
    delta: float | None
    seeds: tuple[int, ...]
    T: int


@dataclass(frozen=True, kw_only=True)
class EllipsoidJob:
    """One run, and the ellipsoid after it."""

    case: str
    delta: float
    seed: int
    T: int


def list_jobs(quick: bool) -> list[CoverageJob | EllipsoidJob]:
    """All runs, some seeds at a time."""
    made: list[CoverageJob | EllipsoidJob] = [
        EllipsoidJob(case="poisson", delta=SHOWN, seed=3, T=120 if quick else 400)
    ]
    for name, case in CASES.items():
        T = min(case.T, 30) if quick and not case.repeats_best else case.T
        for delta in (*case.deltas, None) if name in NAMES else case.deltas:
            runs = 8 if quick else RUNS.get(delta or SHOWN, 0)
            split = [tuple(range(first, min(runs, first + TOGETHER))) for first in range(0, runs, TOGETHER)]
            made += [CoverageJob(case=name, delta=delta, seeds=seeds, T=T) for seeds in split]
    return made


def name_need(delta: float) -> str:
    """The quantity `need` over all rounds at a δ; one for each, as they have different numbers of runs."""
    return f"need, delta {delta:g}"


def run_coverage_job(job: CoverageJob) -> list[Measurement]:
    """`need` of every run."""
    case, rows = CASES[job.case], []
    quantity, x = (AT_ONE, 0.0) if job.delta is None else (name_need(job.delta), job.delta)
    for seed in job.seeds:
        rounds, centre = run_case(case, job.delta, seed, job.T).rounds, case.rho * draw_function(seed).f
        rows.append(Measurement(EXPERIMENT, job.case, quantity, seed, x, compute_need(rounds, centre)))
        if job.delta == SHOWN:
            rows.append(Measurement(EXPERIMENT, job.case, FIRST, seed, x, compute_need(rounds[:1], centre)))
            rows.append(Measurement(EXPERIMENT, job.case, LAST, seed, x, compute_need(rounds[-1:], centre)))
    return rows


def run_case(case: CoverageCase, delta: float | None, seed: int, T: int) -> TheoryRun:
    function = draw_function(seed)
    policy: Policy | None = FixedQuery(int(np.argmax(function.f))) if case.repeats_best else None
    horizon = None if case.doubles else T
    algorithm = make_sdf(ALGORITHM, 1.0 if delta is None else function.make_theory(delta, horizon), T)
    return run_study(function, algorithm, case.delay, case.m, T, seed, policy)


def compute_need(rounds: Sequence[RoundBelief], centre: Array) -> float:
    """The least c with |μ_{t-1} - centre| ≤ c ν_t σ_{t-1} on Q, in all of these rounds."""
    return max(float(np.max(np.abs(one.mean - centre) / (one.nu * one.std))) for one in rounds)


def run_ellipsoid_job(job: EllipsoidJob) -> list[Measurement]:
    """f, ρ f, μ and ν σ on Q in the last round, and how often every point was asked."""
    case, function = CASES[job.case], draw_function(job.seed)
    ran = run_case(case, job.delta, job.seed, job.T)
    last = ran.rounds[-1]
    asked = np.bincount(ran.chosen, minlength=len(Q)).astype(float)
    lines = {
        "f": function.f,
        "rho f": case.rho * function.f,
        "mean": last.mean,
        "width": last.nu * last.std,
        "asked": asked,
    }
    return [
        Measurement(ELLIPSOID, job.case, quantity, job.seed, x, value)
        for quantity, values in lines.items()
        for x, value in zip(Q.tolist(), values.tolist(), strict=True)
    ]


# Counting -----------------------------------------------------------------------------------------------------------


class CoverageShare(NamedTuple):
    """A share of runs and its exact 95 % interval."""

    share: float
    low: float
    high: float


def estimate_share(count: int, runs: int, level: float = 0.95) -> CoverageShare:
    """Clopper and Pearson's interval."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(count, runs - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, runs - count, 1 - tail)) if count < runs else 1.0
    return CoverageShare(count / runs, low, high)


def find_sufficient(needs: Array, delta: float) -> float:
    """c_δ: the ⌈(1 - δ) n⌉-th smallest of n needs."""
    return float(np.sort(needs)[max(1, math.ceil((1 - delta) * len(needs) - 1e-9)) - 1])


# The section --------------------------------------------------------------------------------------------------------


def make_section(found: Mapping[Quantity, SeedValues]) -> list[Block]:
    """Theorem 1: a picture and a table."""
    wanted = [
        *(Quantity(EXPERIMENT, case, quantity) for case in CASES for quantity in (name_need(SHOWN), FIRST, LAST)),
        *(Quantity(EXPERIMENT, case, AT_ONE) for case in NAMES),
    ]
    if any(key not in found for key in (*wanted, Quantity(ELLIPSOID, "poisson", "f"))):
        return []
    counted = list_needs(found)
    return [
        Heading("Theorem 1: the ellipsoid", 3),
        Picture(
            "theory1.png", "Theorem 1: the ellipsoid of one run, and how much of it was needed", draw_picture(found)
        ),
        Paragraph(
            "The theorem: with probability at least 1 − δ, |μ(x) − ρ f(x)| ≤ ν σ(x). Its proof gives that for all x "
            "and all rounds at once, and so it is counted here: over the rounds of GP-UCB-SDF with the theorem's "
            "constants, on functions of known norm. The theorem holds however queries are chosen; in the last row the "
            "best x is asked in every round and nothing is heard for 120 rounds, which is hard on the ellipsoid. In "
            "the row before it T is not known. The paper only cites the doubling trick; here the algorithm restarts "
            "before queries 1, 2, 4, 8, …, knows nothing of what was before, and gives the i-th of these epochs, i = "
            "0, 1, …, the share δ/((i + 1)(i + 2)), so that the ellipsoid must hold in all of them."
        ),
        tabulate_coverage(counted),
        Paragraph(describe_coverage(counted)),
        Paragraph(describe_looseness(found)),
        Paragraph(describe_beta_one(found)),
    ]


def list_needs(found: Mapping[Quantity, SeedValues]) -> list[tuple[str, float, Array]]:
    """Case, δ, and `need` of every run."""
    wanted = [(case, delta, Quantity(EXPERIMENT, case, name_need(delta))) for case in CASES for delta in RUNS]
    return [(case, delta, found[key].at(delta)) for case, delta, key in wanted if key in found]


def tabulate_coverage(counted: Sequence[tuple[str, float, Array]]) -> TableBlock:
    """Share of runs covered, and the multiple of ν that would have covered 1 - δ of them."""
    rows = []
    for case, delta, needs in counted:
        held = int(np.sum(needs <= 1))
        covered = estimate_share(held, len(needs))
        rows.append(
            (
                CASES[case].label,
                f"{CASES[case].rho:.3f}",
                f"{delta:g}",
                f"{held} of {len(needs)}",
                f"{covered.low:.4f} to {covered.high:.4f}",
                f"{np.median(needs):.3f}",
                f"{find_sufficient(needs, delta):.3f}",
            )
        )
    titles = ("delays", "ρ", "δ", "runs covered", "95 % interval", "median c", "c that covers 1 − δ")
    return TableBlock(titles, tuple(rows), frozenset(range(1, len(titles))))


def describe_coverage(counted: Sequence[tuple[str, float, Array]]) -> str:
    """What holds, in a sentence or two."""
    shares = [(estimate_share(int(np.sum(needs <= 1)), len(needs)), delta) for _, delta, needs in counted]
    held, runs = (sum(int(np.sum(needs <= c)) for _, _, needs in counted) for c in (1.0, math.inf))
    shown = sum(found.low >= 1 - delta for found, delta in shares)
    broken = sum(found.high < 1 - delta for found, delta in shares)
    return (
        f"The ellipsoid held in {held:,} of {runs:,} runs. In {shown} of {len(shares)} rows the whole interval is "
        f"above the promised 1 − δ, in {broken or 'none'} it is below."
    )


def describe_looseness(found: Mapping[Quantity, SeedValues]) -> str:
    """By how much ν could have been smaller."""
    chosen = [case for case in NAMES if not CASES[case].repeats_best]
    usual, first, last = (
        np.concatenate([found[Quantity(EXPERIMENT, case, quantity)].at(SHOWN) for case in chosen])
        for quantity in (name_need(SHOWN), FIRST, LAST)
    )
    hard = found[Quantity(EXPERIMENT, "stubborn", name_need(SHOWN))].at(SHOWN)
    return (
        "c is the part of ν that a run needed: on the run as it went, c ν σ would have covered everywhere. Where the "
        f"algorithm chooses, at δ = {SHOWN:g}, its median is {np.median(usual):.3f} and its largest value "
        f"{np.max(usual):.3f}: ν is about {1 / float(np.median(usual)):.0f} times what these runs needed. In the first "
        f"round, before anything is heard, the median is {np.median(first):.3f}, in the last {np.median(last):.3f}. "
        f"How much ν can be needed shows with one x all the time: the median is {np.median(hard):.3f}."
    )


def describe_beta_one(found: Mapping[Quantity, SeedValues]) -> str:
    """What β = 1 covers."""
    counts = []
    for case in NAMES:
        values = found[Quantity(EXPERIMENT, case, AT_ONE)].at(0.0)
        counts.append(
            f"{NAMES[case]}, {int(np.sum(values <= 1))} of {len(values)} runs (median c {np.median(values):.2f})"
        )
    return (
        "With β = 1 nothing is promised. On the same functions, none of which exceeds 0.9, the ellipsoid with β = 1 "
        f"held in: {'; '.join(counts)}."
    )


# The picture --------------------------------------------------------------------------------------------------------

STYLES = {
    "poisson": LineStyle(COLOUR["floor"], "o", False, True),
    "geometric": LineStyle(COLOUR["unknown"], "o", False, False),
    "heavy": LineStyle(COLOUR["waiting"], "o", False, False),
    "stubborn": LineStyle(COLOUR["ignored"], "o", True, False),
}


def draw_picture(found: Mapping[Quantity, SeedValues]) -> bytes:
    """The ellipsoid of one run above, the shares of runs covered below."""
    with use_style():
        page, (above, below) = make_stacked_page("Theorem 1: |μ(x) − ρ f(x)| ≤ ν σ(x)", 2)
        _draw_ellipsoid(above, found)
        _draw_shares(below, found)
        return render_png(page)


def _draw_ellipsoid(axes: Axes, found: Mapping[Quantity, SeedValues]) -> None:
    f, rho_f, mean, width, asked = (
        found[Quantity(ELLIPSOID, "poisson", quantity)].values[0]
        for quantity in ("f", "rho f", "mean", "width", "asked")
    )
    belief, line, dots = STYLES["poisson"], LineStyle(INK, "o", False, False), LineStyle(SOFT, "o", True, False)
    axes.fill_between(Q, mean - width, mean + width, color=belief.colour, **BAND)
    for values, style in ((mean, belief), (rho_f, line), (f, dots)):
        axes.plot(Q, values, **style.line)
    low, high = float(np.min(mean - width)), float(np.max(mean + width))
    below = low - 0.12 * (high - low)
    axes.set_xlim(-0.01, 1.015)
    axes.set_ylim(low - 0.22 * (high - low), high + 0.05 * (high - low))
    at = asked > 0
    axes.scatter(Q[at], np.full(int(np.sum(at)), below), 1.2 * asked[at], color=SOFT, linewidths=0)
    text = f"one run, Poisson(10), m = 10, δ = {SHOWN:g}, after {int(np.sum(asked))} rounds; dots: what was asked"
    ends = [
        LineEnd("μ ± ν σ", float(mean[-1]), belief),
        LineEnd("ρ f", float(rho_f[-1]), line),
        LineEnd("f", float(f[-1]), dots),
    ]
    finish_axes(axes, "x", "", text, ends)


def _draw_shares(axes: Axes, found: Mapping[Quantity, SeedValues]) -> None:
    for case in NAMES:
        line = STYLES[case].line
        for quantity, style in ((LAST, {**line, "linewidth": 1.0, "alpha": 0.6}), (name_need(SHOWN), line)):
            values = np.sort(found[Quantity(EXPERIMENT, case, quantity)].at(SHOWN))
            shares = np.arange(1, len(values) + 1) / len(values)
            axes.step([0.0, *values, 1.1], [0.0, *shares, 1.0], where="post", **style)
        axes.plot([], [], **line, label=NAMES[case])
    axes.axvline(1.0, color=INK, linewidth=1.0)
    axes.axhline(1 - SHOWN, color=INK, linewidth=1.0, linestyle=(0, (1, 1.6)))
    axes.set_xlim(0, 1.1)
    axes.set_ylim(0, 1.03)
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, handlelength=1.6)
    text = f"by c ν σ, δ = {SHOWN:g}; the theorem: the dotted share at c = 1; pale: last round alone"
    finish_axes(axes, "c", "share of runs covered", text)
