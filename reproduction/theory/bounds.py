"""Theorems 2 and 3 beside the regret that they bound.

ℜ_t      cumulative regret of a run
widths   (2/ρ) Σ_{s ≤ t} ν_s σ_{s-1}(x_s), the first step of the proof of Theorem 2: what a run itself guarantees
bound    Theorem 2 (GP-UCB-SDF) or 3 (GP-TS-SDF) at t, with the λ = 1 + 2/T of the whole run and γ by the greedy gain
trivial  t (max f - min f): no regret is larger
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from belated.comparison.statistics import summarize
from belated.learner.arrays import Array
from belated.learner.confidence import (
    P,
    Theory,
    beta_sdf_ts,
    beta_sdf_ucb,
    gamma_bound,
    greedy_gain,
    theorem2,
    theorem3,
)
from belated.learner.delays.distributions import Poisson
from belated.plotting.style import COLOUR, INK, SOFT, label_powers, render_png, use_style
from reproduction.report.document import Block, Heading, Paragraph, Picture, TableBlock
from reproduction.report.formatting import count_decimals, format_summary
from reproduction.report.layout import LineEnd, LineStyle, finish_axes, make_stacked_page
from reproduction.theory.measurements import Measurement, Quantity, SeedValues
from reproduction.theory.rkhs import B_Y, KERNEL, POINTS, Q, draw_function, make_sdf, run_study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXPERIMENT = "bounds"
ALGORITHMS = ("GP-UCB-SDF", "GP-TS-SDF")
THEOREM = {"GP-UCB-SDF": "Theorem 2", "GP-TS-SDF": "Theorem 3"}
DELAY, M, DELTA = Poisson(10), 20, 0.1
REGRET, DOUBLING, AT_ONE = "regret", "regret, doubling", "regret, beta 1"
WIDTHS, BOUND, TRIVIAL = "widths", "bound", "trivial"
SAYS_FROM = "says from"
SHOWN = (1, 2, 5, 10, 20, 40, 60, 100, 200, 300, 500)


@dataclass(frozen=True, kw_only=True)
class RegretJob:
    """Runs of T rounds, whose regret is one of REGRET (the theorem's β_t), DOUBLING (the same without T), AT_ONE."""

    algorithm: str
    quantity: str
    seeds: tuple[int, ...]
    T: int


@dataclass(frozen=True, kw_only=True)
class HorizonJob:
    """From which T on Theorem 2 says anything, looked for up to T."""

    seeds: tuple[int, ...]
    T: int


def list_jobs(quick: bool) -> list[RegretJob | HorizonJob]:
    seeds, T, far = (range(3), 60, 2**12) if quick else (range(20), 500, 2**20)
    return [
        *(
            RegretJob(algorithm=algorithm, quantity=quantity, seeds=(seed,), T=T)
            for algorithm in ALGORITHMS
            for quantity in (REGRET, DOUBLING, AT_ONE)
            for seed in seeds
        ),
        HorizonJob(seeds=tuple(seeds), T=far),
    ]


@cache
def compute_gammas(T: int, lam: float) -> Array:
    """γ_0 … γ_T on Q, from above."""
    return gamma_bound(greedy_gain(KERNEL, Q[:, None], T, lam))


def compute_bound(algorithm: str, theory: Theory, t: int, rho: float, m: float) -> float:
    """Theorem 2 or 3 after t of the T rounds of `theory`: with its λ both hold for every t ≤ T."""
    lam = theory.lam(t)
    gamma = compute_gammas(theory.horizon_at(t), lam)
    if algorithm == "GP-UCB-SDF":
        return theorem2(t, rho, m, beta_sdf_ucb(theory, gamma[t - 1], B_Y), gamma[t], B_Y, lam)
    beta = beta_sdf_ts(theory, gamma[t - 1], B_Y)
    return theorem3(t, rho, m, beta, gamma[t], B_Y, theory.B_f, theory.delta, POINTS, lam)


def run_regret_job(job: RegretJob) -> list[Measurement]:
    """The regret of every run, and with the theorem's β_t what bounds it."""
    return [row for seed in job.seeds for row in _measure_run(job, seed)]


def _measure_run(job: RegretJob, seed: int) -> list[Measurement]:
    function, T = draw_function(seed), job.T
    theory = function.make_theory(DELTA, T)
    betas: dict[str, float | Theory] = {REGRET: theory, DOUBLING: function.make_theory(DELTA, None), AT_ONE: 1.0}
    ran = run_study(function, make_sdf(job.algorithm, betas[job.quantity], T), DELAY, M, T, seed)
    at = [t for t in SHOWN if t <= T]
    if job.quantity != REGRET:
        return [Measurement(EXPERIMENT, job.algorithm, job.quantity, seed, t, float(ran.cumulative[t - 1])) for t in at]
    rho = DELAY.rho(M)
    widths = 2 / rho * np.cumsum(ran.widths)
    lines: dict[str, Callable[[int], float]] = {
        REGRET: lambda t: ran.cumulative[t - 1],
        BOUND: lambda t: compute_bound(job.algorithm, theory, t, rho, M),
        TRIVIAL: lambda t: t * function.gap,
    }
    if job.algorithm == "GP-UCB-SDF":
        lines[WIDTHS] = lambda t: widths[t - 1]
    return [
        Measurement(EXPERIMENT, job.algorithm, name, seed, t, float(line(t)))
        for name, line in lines.items()
        for t in at
    ]


# From which T on the bound is below the trivial one -------------------------------------------------------------------


def compute_long_gain(K: Array, T: int, lam: float) -> Array:
    """The greedy gains of T queries among the rows of K, as `greedy_gain` has them; σ² is kept on Q × Q: O(T |Q|²)."""
    S, gains = K.copy(), np.zeros(T + 1)
    for t in range(1, T + 1):
        i = int(np.argmax(np.diag(S)))
        gains[t] = gains[t - 1] + math.log1p(S[i, i] / lam) / 2
        column = S[:, i] / math.sqrt(S[i, i] + lam)
        S -= np.outer(column, column)
    return gains


def run_horizon_job(job: HorizonJob) -> list[Measurement]:
    """The least T, to within two per cent, with Theorem 2 < T (max f - min f); no row for a seed that has none up to T.

    γ is taken at λ = 1, where it is larger than at any 1 + 2/T."""
    gamma = gamma_bound(compute_long_gain(KERNEL(Q[:, None], Q[:, None]), job.T, 1.0))
    steps = sorted({round(1.02**k) for k in range(int(math.log(job.T) / math.log(1.02)) + 1)})
    rows = []
    for seed in job.seeds:
        function = draw_function(seed)
        below = (T for T in steps if compute_theorem2(function.make_theory(DELTA, T), gamma, T) < T * function.gap)
        if (first := next(below, None)) is not None:
            rows.append(Measurement(EXPERIMENT, "GP-UCB-SDF", SAYS_FROM, seed, 0.0, float(first)))
    return rows


def compute_theorem2(theory: Theory, gamma: Array, T: int) -> float:
    beta = beta_sdf_ucb(theory, float(gamma[T - 1]), B_Y)
    return theorem2(T, DELAY.rho(M), M, beta, float(gamma[T]), B_Y, theory.lam(T))


# The section --------------------------------------------------------------------------------------------------------


def make_section(found: Mapping[Quantity, SeedValues]) -> list[Block]:
    """Theorems 2 and 3: a picture and a table."""
    wanted = [
        Quantity(EXPERIMENT, name, quantity)
        for name in ALGORITHMS
        for quantity in (REGRET, DOUBLING, AT_ONE, BOUND, TRIVIAL)
    ]
    if any(key not in found for key in wanted):
        return []
    runs, T = len(found[wanted[0]].seeds), int(found[wanted[0]].x[-1])
    return [
        Heading("Theorems 2 and 3: regret and its bounds", 3),
        Picture("theory2.png", "Cumulative regret of both SDF methods beside Theorems 2 and 3", draw_picture(found)),
        Paragraph(
            "The theorems: with probability at least 1 − δ, the cumulative regret of GP-UCB-SDF is at most "
            "(2/ρ)(C₁ β √(T γ) + m B_y C₁² γ), and that of GP-TS-SDF at most the last line of the paper's proof.¹ ² "
            f"Here: {runs} functions of known norm, Poisson(10) delays, m = {M} (ρ = {DELAY.rho(M):.3f}), "
            f"δ = {DELTA:g}, {T} rounds; γ is the greedy gain over 1 − 1/e, which bounds it from above."
        ),
        tabulate_regret(found),
        Paragraph(
            f"{describe_bounds(found)} {describe_beginning(found)} {describe_beta_one(found)} "
            f"{describe_doubling(found)}"
        ),
        *map(Paragraph, SLIPS),
    ]


FIRST_ROUNDS = [t for t in range(1, 100) if P <= 1 / t**2]  # where p - 1/t² is not positive: 1 to 4
# What these rounds may cost beyond the 2 B_f/t² that the bound has for them, in units of B_f.
EXTRA = sum(2 - 2 / t**2 for t in FIRST_ROUNDS)
SLIPS = (
    "¹ A slip in the proof of Theorem 3: Lemma 5 divides by p − 1/t², by which Lemma 4 bounds from below the "
    f"probability of choosing an unsaturated x. With p = 1/(4e√π) = {P:.3f} it is negative for t ≤ {FIRST_ROUNDS[-1]}, "
    f"where the step says nothing; from t = {FIRST_ROUNDS[-1] + 1} on it holds, and so does 2/(p − 1/t²) ≤ 10/p. A "
    f"round costs at most 2 B_f: to count the first {len(FIRST_ROUNDS)} in full adds at most {EXTRA:.1f} B_f to the "
    "bound, a constant, and its order stays. Theorem 3 is computed here as it is printed.",
    "² Another: in the proof of Lemma 4 the line before p − 1/t² has P(f_t(x*) > f(x*)). What was shown before "
    "it, and what Lemma 3 bounds, is P(f_t(x*) > ρ f(x*)): a ρ was lost. With it put back the rest stands as it is.",
)


def tabulate_regret(found: Mapping[Quantity, SeedValues]) -> TableBlock:
    """What there is after T rounds, as means over functions."""
    rows = []
    for name in ALGORITHMS:
        for quantity, label in (
            (REGRET, f"{name}, the theorem's β"),
            (DOUBLING, f"{name}, the theorem's β, T not known"),
            (AT_ONE, f"{name}, β = 1"),
            (WIDTHS, "(2/ρ) Σ ν σ(x), the first step of the proof"),
            (BOUND, THEOREM[name]),
        ):
            if (each := found.get(Quantity(EXPERIMENT, name, quantity))) is not None:
                rows.append((label, each))
    trivial = found[Quantity(EXPERIMENT, "GP-UCB-SDF", TRIVIAL)]
    rows.append(("T (max f − min f): the largest possible", trivial))
    T = float(trivial.x[-1])
    cells = [(label, _format_mean(each.at(T)), _format_multiple(each.at(T) / trivial.at(T))) for label, each in rows]
    return TableBlock(
        ("", f"after {T:g} rounds", "as a multiple of the largest possible"), tuple(cells), frozenset({1, 2})
    )


def _format_multiple(values: Array) -> str:
    mean = float(np.mean(values))
    return f"{mean:,.0f}" if mean > 1000 else f"{mean:.3g}"


def _format_mean(values: Array) -> str:
    found = summarize(values)
    return (
        f"{found.mean:,.0f} ± {found.error:,.0f}"
        if found.mean > 1000
        else format_summary(found, count_decimals([found.mean]))
    )


def describe_bounds(found: Mapping[Quantity, SeedValues]) -> str:
    """Whether the bounds hold, and by how much; and the step of the proof that could fail."""
    said = []
    for name in ALGORITHMS:
        regret, limit = found[Quantity(EXPERIMENT, name, REGRET)], found[Quantity(EXPERIMENT, name, BOUND)]
        held = int(np.sum(np.all(regret.values <= limit.values, axis=1)))
        times = float(np.median(limit.values[:, -1] / regret.values[:, -1]))
        said.append(f"{THEOREM[name]} holds in {held} of {len(regret.seeds)} runs, at {times:,.0f} times the regret")
    text = "; ".join(said) + " (medians, after all rounds)."
    limits = [
        found[Quantity(EXPERIMENT, name, BOUND)].values >= found[Quantity(EXPERIMENT, name, TRIVIAL)].values
        for name in ALGORITHMS
    ]
    if np.all(limits):
        text += " Neither could have failed: both are above the largest regret possible in all of these rounds."
    if (widths := found.get(Quantity(EXPERIMENT, "GP-UCB-SDF", WIDTHS))) is not None:
        regret = found[Quantity(EXPERIMENT, "GP-UCB-SDF", REGRET)]
        steps = int(np.sum(np.all(regret.values <= widths.values, axis=1)))
        step = float(np.median(widths.values[:, -1] / regret.values[:, -1]))
        text += (
            f" The proof's first step, ℜ ≤ (2/ρ) Σ ν σ(x), holds in {steps} runs and is {step:,.0f} times the regret."
        )
    return text


def describe_beginning(found: Mapping[Quantity, SeedValues]) -> str:
    """From when on the bounds say anything."""
    far = found.get(Quantity(EXPERIMENT, "GP-UCB-SDF", SAYS_FROM))
    if far is None:
        return "Theorem 2 begins to say something later than was looked for."
    of = len(found[Quantity(EXPERIMENT, "GP-UCB-SDF", BOUND)].seeds)
    times = _compare_theorems(found)
    return (
        f"Theorem 2 comes below the largest regret possible at T = {np.median(far.values):,.0f} (median of "
        f"{len(far.seeds)} of the {of} functions, {np.min(far.values):,.0f} to {np.max(far.values):,.0f}). Theorem 3 "
        f"is {times:,.0f} times Theorem 2 here; both grow like √T up to logarithms, so it takes about the square of "
        "that times as many rounds."
    )


def describe_beta_one(found: Mapping[Quantity, SeedValues]) -> str:
    """What β = 1 gives."""
    return f"With β = 1 in the place of the theorem's, {_compare_regrets(found, AT_ONE)} with the theorem's."


def describe_doubling(found: Mapping[Quantity, SeedValues]) -> str:
    """What it costs not to know T."""
    ratios = _compare_regrets(found, DOUBLING)
    return f"Where T is not known and the algorithm restarts before queries 1, 2, 4, …, {ratios} where T is known."


def _compare_regrets(found: Mapping[Quantity, SeedValues], quantity: str) -> str:
    ratios = []
    for name in ALGORITHMS:
        theory, other = (found[Quantity(EXPERIMENT, name, each)].values[:, -1] for each in (REGRET, quantity))
        ratios.append(float(np.mean(other) / np.mean(theory)))
    return f"the regret of GP-UCB-SDF is {ratios[0]:.0%} and that of GP-TS-SDF {ratios[1]:.0%} of that"


def _compare_theorems(found: Mapping[Quantity, SeedValues]) -> float:
    two, three = (found[Quantity(EXPERIMENT, name, BOUND)].values[:, -1] for name in ALGORITHMS)
    return float(np.median(three / two))


STYLES = {
    "GP-UCB-SDF": LineStyle(COLOUR["floor"], "o", False, True),
    "GP-TS-SDF": LineStyle(COLOUR["floor"], "s", True, True),
}


def draw_picture(found: Mapping[Quantity, SeedValues]) -> bytes:
    """One picture for each theorem, with the same axes."""
    with use_style():
        page, both = make_stacked_page("Theorems 2 and 3: regret and its bounds", 2)
        top = max(float(np.max(found[Quantity(EXPERIMENT, name, BOUND)].mean)) for name in ALGORITHMS)
        last = float(found[Quantity(EXPERIMENT, "GP-UCB-SDF", BOUND)].x[-1])
        for axes, name in zip(both, ALGORITHMS, strict=True):
            axes.set_xscale("log")
            axes.set_yscale("log")
            label_powers(axes.xaxis)
            label_powers(axes.yaxis)
            axes.set_xlim(1, 1.05 * last)
            axes.set_ylim(0.3, 3 * top)
            _draw_lines(axes, name, found)
        return render_png(page)


def _draw_lines(axes: Axes, name: str, found: Mapping[Quantity, SeedValues]) -> None:
    style = STYLES[name]
    lines = {
        REGRET: ("regret, theory's β", style),
        AT_ONE: ("regret, β = 1", replace(style, bold=False)),
        WIDTHS: ("(2/ρ) Σ ν σ(x)", LineStyle(COLOUR["unknown"], "o", False, False)),
        BOUND: (THEOREM[name], LineStyle(INK, "o", False, True)),
        TRIVIAL: ("largest possible", LineStyle(SOFT, "o", True, False)),
    }
    there = {quantity: found[key] for quantity in lines if (key := Quantity(EXPERIMENT, name, quantity)) in found}
    for quantity, each in there.items():
        axes.plot(each.x, each.mean, **lines[quantity][1].line)
    ends = [LineEnd(lines[quantity][0], float(each.mean[-1]), lines[quantity][1]) for quantity, each in there.items()]
    finish_axes(axes, "round", "cumulative regret", f"{name}: means over {len(there[REGRET].seeds)} functions", ends)
