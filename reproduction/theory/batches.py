"""Section 4: batches as fixed delays, GP-UCB-SDF against GP-BUCB with and without uncertainty sampling first.

B_x        queries in flight at a time. In a synchronous batch the j-th has delay B_x - j + 1, in an asynchronous one
           every query has delay B_x; either way m = B_x catches them all, and ρ = 1
start      uncertainty-sampling queries before GP-BUCB's own
e^γ        exp(γ_{B_x - 1}), the factor of GP-BUCB's bound without a start
1 + …      Theorem 2 at m = B_x - 1, as Section 4 counts it, over Theorem 2 at m = 0: the same factor of GP-UCB-SDF;
           and at m = B_x, the patience that the runs need, as an outcome of delay d is heard before query s + max(1, d)
needed     the shortest start after which B_x - 1 further queries gain at most log 2, so that e^γ is at most 2

The kernel is known, as the theory has it: SE with f's own lengthscale and mean square; λ is the variance of the noise.
Factors are those of the theory's λ = 1 + 2/T, and favour GP-BUCB: its γ from below, that of GP-UCB-SDF from above. A
start is long enough when γ from above says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from belated.comparison.statistics import PairedComparison, compare_pairs, holm, summarize
from belated.learner.algorithms import paper
from belated.learner.arrays import Array
from belated.learner.confidence import Theory, beta_sdf_ucb, gamma_bound, greedy_gain, theorem2
from belated.learner.delays.distributions import Fixed
from belated.learner.gp.kernels import SE
from belated.plotting.style import COLOUR, render_png, use_style
from belated.simulation.regret import measure_regret
from belated.simulation.samples import sample_function
from belated.simulation.simulate import SimulatedWorld, simulate
from belated.space.points import Points
from belated.study import Study
from reproduction.objectives import synthetic
from reproduction.report.document import Block, Heading, Paragraph, Picture, Strong, TableBlock, Text
from reproduction.report.formatting import count_decimals, format_p_cell, format_summary
from reproduction.report.intervals import LEVEL
from reproduction.report.layout import LineEnd, LineStyle, average_runs, finish_axes, make_stacked_page
from reproduction.theory.measurements import Measurement, Quantity, SeedValues
from reproduction.theory.rkhs import WORLD

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXPERIMENT, FACTORS = "batches", "factors"
B_X, START = 10, 20
SIMPLE, CUMULATIVE = "simple regret", "cumulative regret"
BOTH = (SIMPLE, CUMULATIVE)
SDF, BUCB, STARTED = "GP-UCB-SDF", "GP-BUCB", f"GP-BUCB after {START}"
METHODS = {SDF: (SDF, 0), BUCB: (BUCB, 0), STARTED: (BUCB, START)}
PAIRS = ((SDF, BUCB), (SDF, STARTED), (STARTED, BUCB))
SIZES = (2, 5, 10, 20)


@dataclass(frozen=True)
class BatchCase:
    """How batches are made, and of which functions."""

    label: str
    synchronous: bool
    lengthscale: float
    points: int


CASES = {
    "rugged": BatchCase("synchronous, lengthscale 0.02", True, 0.02, 1000),
    "rugged, in flight": BatchCase("asynchronous, lengthscale 0.02", False, 0.02, 1000),
    "smooth": BatchCase("synchronous, lengthscale 0.1", True, 0.1, 200),
}


@dataclass(frozen=True, kw_only=True)
class BatchJob:
    """One run of T queries."""

    case: str
    method: str
    seed: int
    T: int


@dataclass(frozen=True, kw_only=True)
class FactorsJob:
    """What the batch size multiplies the bounds with, at T."""

    case: str
    T: int


def list_jobs(quick: bool) -> list[BatchJob | FactorsJob]:
    runs, T = (3, 40) if quick else (20, 100)
    return [
        *(BatchJob(case=case, method=method, seed=s, T=T) for case in CASES for method in METHODS for s in range(runs)),
        *(FactorsJob(case=case, T=100) for case in CASES if CASES[case].synchronous),
    ]


def run_batch_job(job: BatchJob) -> list[Measurement]:
    """Simple and cumulative regret after every batch."""
    case = CASES[job.case]
    x, f = sample_function(job.seed, case.points, case.lengthscale)
    values: dict[float, float] = dict(zip(x.tolist(), f.tolist(), strict=True))
    name, start = METHODS[job.method]
    study = Study.create(
        space=Points(x),
        floor=0.0,
        ceiling=1.0,
        patience=B_X if name == SDF else None,
        algorithm=paper(
            name,
            kernel=SE(case.lengthscale, float(np.mean(f**2))),
            lam=synthetic.NOISE**2,
            refit_every=None,
            start=start,
        ),
        seed=job.seed,
        clock=lambda: 0.0,
    )

    def value(params: Mapping[str, float]) -> float:
        return values[params["x"]]

    world = SimulatedWorld(value, Fixed(B_X), synthetic.NOISE, job.seed + WORLD)
    if case.synchronous:
        run_in_batches(study, world, job.T)
    else:
        for _ in simulate(study, value, delay=world.delay, rounds=job.T, seed=world.seed, noise=world.noise):
            pass
    measured = measure_regret(study, value, 1.0)
    at = range(B_X, job.T + 1, B_X)
    return [
        Measurement(EXPERIMENT, f"{job.case}/{job.method}", quantity, job.seed, t, float(line[t - 1]))
        for quantity, line in ((SIMPLE, measured.simple), (CUMULATIVE, measured.cumulative))
        for t in at
    ]


def run_in_batches(study: Study, world: SimulatedWorld, T: int) -> None:
    """T queries, B_X at a time: the next batch is chosen when all of the last one are back."""
    for first in range(0, T, B_X):
        batch = [study.ask() for _ in range(min(B_X, T - first))]
        for trial in batch:
            study.tell(trial, world.outcome(trial))


# Factors of the bounds ----------------------------------------------------------------------------------------------


def run_factors_job(job: FactorsJob) -> list[Measurement]:
    """exp(γ_{B_x - 1}), the factors of Theorem 2, and the start needed, for several B_x."""
    case = CASES[job.case]
    Q, theory = np.linspace(0.0, 1.0, case.points)[:, None], Theory(B_f=1.0, R=0.1, delta=0.1, horizon=job.T)
    greedy = greedy_gain(SE(case.lengthscale), Q, FARTHEST, theory.lam(1))
    rows = []
    for B_x in SIZES:
        found = {
            "hallucination": math.exp(greedy[B_x - 1]),
            "floor": compute_floor_factor(theory, gamma_bound(greedy), job.T, B_x - 1),
            "floor, patience": compute_floor_factor(theory, gamma_bound(greedy), job.T, B_x),
            "needed": float(find_start_needed(greedy, B_x)),
        }
        rows += [Measurement(FACTORS, job.case, quantity, None, B_x, value) for quantity, value in found.items()]
    return rows


FARTHEST = 1000  # uncertainty-sampling queries up to which a start is looked for


def compute_floor_factor(theory: Theory, gamma: Array, T: int, m: int) -> float:
    """Theorem 2 at ρ = 1 with this m over that with m = 0; at m = B_x - 1 it is Proposition 1's for batches of B_x."""
    beta = beta_sdf_ucb(theory, float(gamma[T - 1]), 1.0)
    batch, single = (theorem2(T, 1.0, each, beta, float(gamma[T]), 1.0, theory.lam(T)) for each in (m, 0))
    return batch / single


def find_start_needed(greedy: Array, B_x: int) -> int:
    """The least n with γ of B_x - 1 queries after n by uncertainty sampling at most log 2.

    Uncertainty sampling is the greedy maximiser, so what follows the n-th step is the greedy gain after n; over
    1 - 1/e it bounds the largest. The length of `greedy` where there is none so short."""
    after = gamma_bound(greedy[B_x - 1 :] - greedy[: len(greedy) - B_x + 1])
    short = np.flatnonzero(after <= math.log(2))
    return int(short[0]) if len(short) else len(greedy)


# The section --------------------------------------------------------------------------------------------------------


def make_section(found: Mapping[Quantity, SeedValues]) -> list[Block]:
    """Section 4: a picture, the factors, the comparisons."""
    wanted = [
        Quantity(EXPERIMENT, f"{case}/{method}", quantity) for case in CASES for method in METHODS for quantity in BOTH
    ]
    if any(key not in found for key in (*wanted, Quantity(FACTORS, "rugged", "needed"))):
        return []
    compared = compare_methods(found)
    return [
        Heading("Section 4: batches", 3),
        Picture("theory3.png", "Batches: GP-UCB-SDF against GP-BUCB with and without a start", draw_picture(found)),
        Paragraph(
            "The claim: in batches of B the regret of GP-UCB-SDF is Õ(γ √T + B γ), that of GP-BUCB Õ(γ √T e^γ(B−1)) "
            "unless uncertainty sampling comes first, for which GP-UCB-SDF has no need. The factors by which a batch "
            "enlarges the bounds, as numbers, at T = 100, λ = 1 + 2/T, B_f = 1, R = 0.1, δ = 0.1. Section 4 counts in "
            "words and takes m = B − 1; by the formula of Section 3, which is the definition here, the first of a "
            "batch has delay B, and the runs below have patience = B. The factor is given for both:"
        ),
        tabulate_factors(found),
        Paragraph(describe_factors(found)),
        Paragraph(
            f"The runs: batches of {B_X} on the paper's synthetic functions (lengthscale 0.02) and on smoother ones, "
            f"kernel known, β = 1, no initial points; GP-UCB-SDF with patience {B_X}; GP-BUCB, which has none, as it "
            f"is and after {START} queries by uncertainty sampling."
        ),
        tabulate_means(found),
        Paragraph("The same runs in pairs; p is Holm-corrected over the three comparisons of a kind of batches:"),
        tabulate_pairs(compared),
        Paragraph(describe_pairs(compared)),
    ]


def tabulate_factors(found: Mapping[Quantity, SeedValues]) -> TableBlock:
    rows = []
    for case in CASES:
        if (e := found.get(Quantity(FACTORS, case, "hallucination"))) is None:
            continue
        floor, longer, needed = (
            found[Quantity(FACTORS, case, quantity)] for quantity in ("floor", "floor, patience", "needed")
        )
        for i, B_x in enumerate(e.x.tolist()):
            n = needed.values[0, i]
            rows.append(
                (
                    f"lengthscale {CASES[case].lengthscale:g}",
                    f"{B_x:g}",
                    f"{floor.values[0, i]:.2f}",
                    f"{longer.values[0, i]:.2f}",
                    f"{e.values[0, i]:,.4g}",
                    f"{n:g}" if n <= FARTHEST else f"more than {FARTHEST}",
                )
            )
    titles = (
        "kernel",
        "B",
        "GP-UCB-SDF: factor, m = B − 1",
        "GP-UCB-SDF: factor, m = B, the patience here",
        "GP-BUCB: e^γ(B−1)",
        "start after which it is at most 2",
    )
    return TableBlock(titles, tuple(rows), frozenset(range(1, len(titles))))


def describe_factors(found: Mapping[Quantity, SeedValues]) -> str:
    needed = found[Quantity(FACTORS, "rugged", "needed")].at(B_X)[0]
    e, floor, longer = (
        found[Quantity(FACTORS, "rugged", quantity)].at(B_X)[0]
        for quantity in ("hallucination", "floor", "floor, patience")
    )
    return (
        f"With the paper's lengthscale, 0.02, a batch of {B_X} costs GP-UCB-SDF's bound a factor of {floor:.2f} at "
        f"m = {B_X - 1}, as Section 4 counts, or {longer:.2f} at m = {B_X}, the patience of the runs below; GP-BUCB's, "
        f"which has no m, {e:.1f}. The start that is sure to bring the latter down to 2 takes {needed:,.0f} queries. "
        "So far the bounds; what the algorithms do is another question."
    )


def summarize_runs(found: Mapping[Quantity, SeedValues], case: str, method: str) -> tuple[Array, Array, Array]:
    """One number per run: simple regret averaged over batches, simple regret at T, cumulative regret at T."""
    simple, cumulative = (found[Quantity(EXPERIMENT, f"{case}/{method}", quantity)] for quantity in BOTH)
    return np.mean(simple.values, axis=1), simple.values[:, -1], cumulative.values[:, -1]


def tabulate_means(found: Mapping[Quantity, SeedValues]) -> TableBlock:
    titles = ("batches", "algorithm", "runs", "simple regret, average over batches", "at T", "cumulative regret, at T")
    rows = []
    for case in CASES:
        cells = {method: summarize_runs(found, case, method) for method in METHODS}
        places = [count_decimals([float(np.mean(cells[method][i])) for method in METHODS]) for i in range(3)]
        for method, values in cells.items():
            numbers = (format_summary(summarize(v), p) for v, p in zip(values, places, strict=True))
            rows.append((CASES[case].label, method, str(len(values[0])), *numbers))
    return TableBlock(titles, tuple(rows), frozenset({2, 3, 4, 5}))


@dataclass(frozen=True)
class MethodPair:
    """Two methods of a case, by average simple regret and by cumulative regret, each with its corrected p."""

    case: str
    a: str
    b: str
    simple: PairedComparison
    p_simple: float
    cumulative: PairedComparison
    p_cumulative: float


def compare_methods(found: Mapping[Quantity, SeedValues]) -> list[MethodPair]:
    """Every pair of methods in every case."""
    made = []
    for case in CASES:
        values = {method: summarize_runs(found, case, method) for method in METHODS}
        simple, cumulative = ([compare_pairs(values[a][i], values[b][i]) for a, b in PAIRS] for i in (0, 2))
        p_simple, p_cumulative = (holm([each.p for each in those]) for those in (simple, cumulative))
        made += [
            MethodPair(case, a, b, simple[i], p_simple[i], cumulative[i], p_cumulative[i])
            for i, (a, b) in enumerate(PAIRS)
        ]
    return made


def tabulate_pairs(compared: list[MethodPair]) -> TableBlock:
    rows = [
        (
            CASES[each.case].label,
            f"{each.a} against {each.b}",
            *_format_cells(each.simple, each.p_simple),
            *_format_cells(each.cumulative, each.p_cumulative),
        )
        for each in compared
    ]
    titles = ("batches", "comparison", "simple regret, average over batches", "p", "cumulative regret, at T", "p")
    return TableBlock(titles, tuple(rows), frozenset({2, 3, 4, 5}))


def _format_cells(c: PairedComparison, p: float) -> tuple[Text, Text]:
    places = count_decimals([c.difference.mean, c.difference.error])
    return format_summary(c.difference, places), Strong(format_p_cell(p)) if p < LEVEL else format_p_cell(p)


def describe_pairs(compared: list[MethodPair]) -> str:
    """Who is better where, of what is significant."""
    simple = _describe_orders([(each, each.simple) for each in compared if each.p_simple < LEVEL])
    cumulative = _describe_orders([(each, each.cumulative) for each in compared if each.p_cumulative < LEVEL])
    return f"Significant (p < {LEVEL}) in average simple regret: {simple}. In cumulative regret: {cumulative}."


def _describe_orders(found: list[tuple[MethodPair, PairedComparison]]) -> str:
    """Who is below whom, and in which cases."""
    cases: dict[str, list[str]] = {}
    for each, c in found:
        less, more = (each.a, each.b) if c.difference.mean < 0 else (each.b, each.a)
        cases.setdefault(f"{less} below {more}", []).append(CASES[each.case].label)
    said = (f"{order} ({'everywhere' if len(w) == len(CASES) else '; '.join(w)})" for order, w in cases.items())
    return ", ".join(said) or "nothing"


STYLES = {
    SDF: LineStyle(COLOUR["floor"], "o", False, True),
    BUCB: LineStyle(COLOUR["unknown"], "o", False, False),
    STARTED: LineStyle(COLOUR["unknown"], "s", True, False),
}


def draw_picture(found: Mapping[Quantity, SeedValues]) -> bytes:
    """Simple and cumulative regret on the paper's functions, in synchronous batches."""
    with use_style():
        page, both = make_stacked_page("Section 4: batches", 2)
        for axes, quantity in zip(both, BOTH, strict=True):
            _draw_lines(
                axes,
                quantity,
                {method: found[Quantity(EXPERIMENT, f"rugged/{method}", quantity)] for method in METHODS},
            )
        return render_png(page)


def _draw_lines(axes: Axes, quantity: str, lines: Mapping[str, SeedValues]) -> None:
    curves = {method: average_runs(each.x, each.values) for method, each in lines.items()}
    for i, (method, line) in enumerate(curves.items()):
        style, at = STYLES[method], np.arange(len(line.mean)) % 3 == i
        axes.plot(line.iterations, line.mean, **style.line)
        axes.errorbar(line.iterations[at], line.mean[at], line.error[at], **style.marks)
    axes.set_xlim(0, 1.015 * max(float(line.iterations[-1]) for line in curves.values()))
    axes.set_ylim(0, 1.08 * max(float(np.max(line.mean + line.error)) for line in curves.values()))
    ends = [LineEnd(method, float(line.mean[-1]), STYLES[method]) for method, line in curves.items()]
    runs = min(line.runs for line in curves.values())
    finish_axes(axes, "query", quantity, f"{CASES['rugged'].label}; mean of {runs} runs ± standard error", ends)
