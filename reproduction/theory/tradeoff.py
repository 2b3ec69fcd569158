"""The trade-off in m: a long patience hears more (ρ_m grows) and widens ν_t more (the sum of m σ).

bound   Theorem 2 as a function of m, at the mean ‖f‖ of the functions that were run: it is linear in B_f
regret  ℜ_T of GP-UCB-SDF with the theorem's β_t, and with β_t = 1
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from belated.comparison.statistics import compare_pairs, holm, summarize
from belated.learner.confidence import Theory
from belated.learner.delays.distributions import Distribution, Geometric, Poisson
from belated.plotting.style import COLOUR, label_powers, render_png, use_style
from reproduction.report.document import Block, Heading, Paragraph, Picture, TableBlock
from reproduction.report.formatting import count_decimals, format_summary
from reproduction.report.layout import LineEnd, LineStyle, average_runs, finish_axes, make_stacked_page
from reproduction.theory.bounds import compute_bound
from reproduction.theory.measurements import Measurement, Quantity, SeedValues
from reproduction.theory.rkhs import R, draw_function, make_sdf, run_study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXPERIMENT, DELTA, ALGORITHM = "tradeoff", 0.1, "GP-UCB-SDF"
PATIENCES, FINE = (2, 5, 10, 15, 20, 30, 40, 60), range(1, 61)
OWN, ENDS = 20, (2, 60)  # the paper takes twice the mean delay
BOUND, REGRET, AT_ONE, ROUNDS = "bound", "regret", "regret, beta 1", "rounds"
LAWS: dict[str, Distribution] = {"Poisson(10)": Poisson(10), "Geometric(0.1)": Geometric(0.1)}


@dataclass(frozen=True, kw_only=True)
class PatienceJob:
    """Runs of T rounds with one patience."""

    law: str
    m: int
    theory: bool
    seeds: tuple[int, ...]
    T: int


@dataclass(frozen=True, kw_only=True)
class BoundCurveJob:
    """Theorem 2 for every m up to 60."""

    law: str
    seeds: tuple[int, ...]
    T: int


def list_jobs(quick: bool) -> list[PatienceJob | BoundCurveJob]:
    runs, T, at_once = (3, 50, 3) if quick else (20, 200, 5)
    split = [tuple(range(first, min(runs, first + at_once))) for first in range(0, runs, at_once)]
    return [
        *(BoundCurveJob(law=law, seeds=tuple(range(runs)), T=T) for law in LAWS),
        *(
            PatienceJob(law=law, m=m, theory=theory, seeds=seeds, T=T)
            for law in LAWS
            for m in PATIENCES
            for theory in (True, False)
            for seeds in split
        ),
    ]


def run_patience_job(job: PatienceJob) -> list[Measurement]:
    """ℜ_T of every run."""
    quantity, rows = REGRET if job.theory else AT_ONE, []
    for seed in job.seeds:
        function = draw_function(seed)
        algorithm = make_sdf(ALGORITHM, function.make_theory(DELTA, job.T) if job.theory else 1.0, job.T)
        ran = run_study(function, algorithm, LAWS[job.law], job.m, job.T, seed)
        rows.append(Measurement(EXPERIMENT, job.law, quantity, seed, job.m, float(ran.cumulative[-1])))
    return rows


def run_bound_curve_job(job: BoundCurveJob) -> list[Measurement]:
    """T, and the bound after T rounds, by m."""
    B_f = float(np.mean([draw_function(seed).B_f for seed in job.seeds]))
    theory = Theory(B_f=B_f, R=R, delta=DELTA, horizon=job.T, gain="greedy")
    law = LAWS[job.law]
    return [
        Measurement(EXPERIMENT, job.law, ROUNDS, None, 0.0, job.T),
        *(
            Measurement(EXPERIMENT, job.law, BOUND, None, m, compute_bound(ALGORITHM, theory, job.T, law.rho(m), m))
            for m in FINE
        ),
    ]


# The section --------------------------------------------------------------------------------------------------------


def make_section(found: Mapping[Quantity, SeedValues]) -> list[Block]:
    """A picture, a table, and where the least is."""
    if any(
        Quantity(EXPERIMENT, law, quantity) not in found for law in LAWS for quantity in (BOUND, REGRET, AT_ONE, ROUNDS)
    ):
        return []
    T = found[Quantity(EXPERIMENT, next(iter(LAWS)), ROUNDS)].values[0, 0]
    return [
        Heading("The trade-off in m", 3),
        Picture("theory4.png", "The bound of Theorem 2 and the measured regret by patience m", draw_picture(found)),
        Paragraph(
            "The claim (Section 3.3): a large m makes ρ large, which favours the bound, and widens ν, which does not. "
            "Delays have mean 10 under both laws; the regret is that of GP-UCB-SDF on the functions of known norm, "
            f"after {T:g} rounds."
        ),
        tabulate_patience(found),
        *(Paragraph(describe_least(law, found)) for law in LAWS),
    ]


def find_least(each: SeedValues) -> float:
    """The m with the smallest mean."""
    return float(each.x[int(np.argmin(each.mean))])


def tabulate_patience(found: Mapping[Quantity, SeedValues]) -> TableBlock:
    rows = []
    for law, delay in LAWS.items():
        limit, theory, one = (found[Quantity(EXPERIMENT, law, quantity)] for quantity in (BOUND, REGRET, AT_ONE))
        places = count_decimals([*theory.mean, *one.mean])
        for m in theory.x.tolist():
            measured = (format_summary(summarize(each.at(m)), places) for each in (theory, one))
            rows.append((law, f"{m:g}", f"{delay.rho(m):.4f}", f"{limit.at(m)[0]:,.0f}", *measured))
    titles = ("delays", "m", "ρ", "Theorem 2", "regret, the theorem's β", "regret, β = 1")
    return TableBlock(titles, tuple(rows), frozenset({1, 2, 3, 4, 5}))


def describe_least(law: str, found: Mapping[Quantity, SeedValues]) -> str:
    """Where the bound and the regrets are least; the paper's own m, twice the mean delay, against the two ends."""
    said = [f"{law}: the bound is least at m = {find_least(found[Quantity(EXPERIMENT, law, BOUND)]):g}"]
    for quantity, words in ((REGRET, "with the theorem's β"), (AT_ONE, "with β = 1")):
        each = found[Quantity(EXPERIMENT, law, quantity)]
        tests = [compare_pairs(each.at(m), each.at(OWN)) for m in ENDS]
        against = " and ".join(
            f"{c.difference.mean:+.1f} at m = {m} (p {'< 0.0001' if p < 1e-4 else f'= {p:.4f}'})"
            for m, c, p in zip(ENDS, tests, holm([c.p for c in tests]), strict=True)
        ).replace("-", "−")
        said.append(
            f"{words} the mean regret is least at m = {find_least(each):g}, and against m = {OWN} it is {against}"
        )
    return "; ".join(said) + "."


STYLES = dict(zip(LAWS, (LineStyle(COLOUR[name], "o", False, True) for name in ("floor", "unknown")), strict=True))


def draw_picture(found: Mapping[Quantity, SeedValues]) -> bytes:
    """The bounds above, the measured regret below."""
    with use_style():
        page, (above, below) = make_stacked_page("The trade-off in m", 2)
        for axes in (above, below):
            axes.set_xlim(0, 1.015 * FINE[-1])
        _draw_bounds(above, found)
        _draw_regrets(below, found)
        return render_png(page)


def _draw_bounds(axes: Axes, found: Mapping[Quantity, SeedValues]) -> None:
    curves = {law: found[Quantity(EXPERIMENT, law, BOUND)] for law in LAWS}
    lowest = 10 ** math.floor(math.log10(min(float(np.min(each.mean)) for each in curves.values())))
    axes.set_yscale("log")
    label_powers(axes.yaxis)
    axes.set_ylim(lowest, 100 * lowest)
    for law, each in curves.items():
        m = find_least(each)
        axes.plot(each.x, each.mean, **STYLES[law].line)
        axes.plot([m], each.at(m), "o", color=STYLES[law].colour, markersize=7)
        right = m == max(find_least(other) for other in curves.values())
        place, side = ((8, -14), "left") if right else ((-8, -16), "right")
        axes.annotate(
            f"m = {m:g}", (m, each.at(m)[0]), place, textcoords="offset points", ha=side, color=STYLES[law].colour
        )
    ends = [LineEnd(law, float(each.mean[-1]), STYLES[law]) for law, each in curves.items()]
    finish_axes(axes, "m", "Theorem 2", "the bound on the regret; dots: where it is least", ends)


def _draw_regrets(axes: Axes, found: Mapping[Quantity, SeedValues]) -> None:
    ends, low, high = [], 0.0, 0.0
    for law in LAWS:
        for quantity, words in ((REGRET, ""), (AT_ONE, ", β = 1")):
            each = found[Quantity(EXPERIMENT, law, quantity)]
            style = replace(STYLES[law], dashed=bool(words), bold=not words)
            line = average_runs(each.x, each.values - each.at(OWN)[:, None])
            axes.plot(line.iterations, line.mean, **style.line)
            axes.errorbar(line.iterations, line.mean, line.error, **style.marks)
            ends.append(LineEnd(law + words, float(line.mean[-1]), style))
            low, high = (
                min(low, float(np.min(line.mean - line.error))),
                max(high, float(np.max(line.mean + line.error))),
            )
            runs = line.runs
    axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    text = f"measured: paired differences, mean of {runs} functions ± standard error"
    finish_axes(axes, "m", f"regret − that at m = {OWN}", text, ends)
