"""Delays that depend on the query: where the proof of Theorem 1 fails, and what becomes of the belief.

η_s     1{d_s ≤ m} - ρ_m. The proof calls y_s η_s a noise, so that E[η_s] must be 0 at every query
ρ_m     min_t P(d_t ≤ m) over the queries of the run, as Section 3.3 redefines it for such delays
ρ(x)    P(d ≤ m) at x. E[η_s] = ρ(x_s) - ρ_m, and the censored belief follows ρ(x) f(x), not ρ_m f(x)
need    as in coverage.py: Theorem 1 says that it is at most 1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from belated.comparison.statistics import summarize
from belated.learner.arrays import Array
from belated.learner.delays.distributions import ByInput, Poisson
from reproduction.report.document import Block, Heading, Paragraph, TableBlock
from reproduction.report.formatting import format_summary
from reproduction.theory.coverage import compute_need
from reproduction.theory.measurements import Measurement, Quantity, SeedValues
from reproduction.theory.rkhs import KnownFunction, Q, draw_function, make_sdf, run_study

EXPERIMENT, ALGORITHM, M, DELTA = "dependence", "GP-UCB-SDF", 10, 0.1
ETA, NEED, BELIEVED, REGRET = "mean of eta", "need", "f at the belief's best", "regret per round, last quarter"
QUANTITIES = (ETA, NEED, BELIEVED, REGRET)


@dataclass(frozen=True)
class DelayLaw:
    """Poisson delays whose mean depends on f(x) / max f."""

    label: str
    mean: Callable[[Array], Array]


LAWS = {
    "same": DelayLaw("the same everywhere: mean 10", lambda share: np.full_like(share, 10.0)),
    "good late": DelayLaw("good queries late: mean 5 where f = 0, 15 where it is best", lambda share: 5 + 10 * share),
    "bad late": DelayLaw("bad queries late: mean 15 where f = 0, 5 where it is best", lambda share: 15 - 10 * share),
}
BETAS = {"theory": "the theorem's", "one": "1"}


@dataclass(frozen=True, kw_only=True)
class DependenceJob:
    """Runs of T rounds under one law, with the theorem's β_t or with β_t = 1."""

    law: str
    beta: str
    seeds: tuple[int, ...]
    T: int


def list_jobs(quick: bool) -> list[DependenceJob]:
    runs, T, at_once = (3, 60, 3) if quick else (20, 1000, 5)
    split = [tuple(range(first, min(runs, first + at_once))) for first in range(0, runs, at_once)]
    return [DependenceJob(law=law, beta=beta, seeds=seeds, T=T) for law in LAWS for beta in BETAS for seeds in split]


def make_delay(law: str, function: KnownFunction) -> ByInput:
    """The delays of a law for a function."""
    means = LAWS[law].mean(function.f / function.best)
    laws = {x: Poisson(float(mean)) for x, mean in zip(Q.tolist(), means, strict=True)}
    return ByInput(lambda params: laws[params["x"]])


def run_dependence_job(job: DependenceJob) -> list[Measurement]:
    """What became of η, of the ellipsoid, of the belief and of the regret in every run."""
    return [
        Measurement(EXPERIMENT, f"{job.law}/{job.beta}", quantity, seed, job.T, value)
        for seed in job.seeds
        for quantity, value in _measure_run(job, seed).items()
    ]


def _measure_run(job: DependenceJob, seed: int) -> dict[str, float]:
    function, T = draw_function(seed), job.T
    delay = make_delay(job.law, function)
    algorithm = make_sdf(ALGORITHM, function.make_theory(DELTA, T) if job.beta == "theory" else 1.0, T)
    ran = run_study(function, algorithm, delay, M, T, seed)
    rho = delay.rho_over(M, [{"x": x} for x in Q[ran.chosen].tolist()])
    in_time = ran.delays[: T - M] <= M  # of the others it is not decided yet
    quarter = T // 4
    return {
        ETA: float(np.mean(in_time)) - rho,
        NEED: compute_need(ran.rounds, rho * function.f),
        BELIEVED: float(function.f[np.argmax(ran.rounds[-1].mean)]) / function.best,
        REGRET: float(ran.cumulative[-1] - ran.cumulative[-1 - quarter]) / quarter,
    }


# The section --------------------------------------------------------------------------------------------------------


def make_section(found: Mapping[Quantity, SeedValues]) -> list[Block]:
    """A table, and what it shows."""
    wanted = [Quantity(EXPERIMENT, f"{law}/{beta}", each) for law in LAWS for beta in BETAS for each in QUANTITIES]
    if any(key not in found for key in wanted):
        return []
    return [
        Heading("Delays that depend on the query", 3),
        Paragraph(
            "Section 3.3 says that the bounds still hold where delays depend on the query, with the least "
            "P(d ≤ m) of the queries asked as ρ. The proof of Theorem 1 takes η = 1{d ≤ m} − ρ for noise of mean 0, "
            "which it is if that probability is the same for every query. If it is ρ(x), η has the mean ρ(x) − ρ, and "
            "the belief follows ρ(x) f(x) instead of ρ f(x). Here: Poisson delays, "
            f"m = {M}, δ = {DELTA:g}, GP-UCB-SDF for {found[wanted[0]].x[0]:g} rounds on the functions of known norm."
        ),
        tabulate_dependence(found),
        Paragraph(describe_dependence(found)),
    ]


def tabulate_dependence(found: Mapping[Quantity, SeedValues]) -> TableBlock:
    rows = []
    for law, said in LAWS.items():
        for beta, words in BETAS.items():
            eta, need, believed, regret = (_read(found, law, beta, quantity) for quantity in QUANTITIES)
            rows.append(
                (
                    said.label,
                    words,
                    format_summary(summarize(eta), 3),
                    f"{int(np.sum(need <= 1))} of {len(need)}",
                    f"{np.median(need):.2f}",
                    format_summary(summarize(believed), 3),
                    format_summary(summarize(regret), 3),
                )
            )
    titles = ("delays", "β", "mean of η", "runs covered", "median c", "f where μ is best, over max f", REGRET)
    return TableBlock(titles, tuple(rows), frozenset(range(2, len(titles))))


def describe_dependence(found: Mapping[Quantity, SeedValues]) -> str:
    """Where the ellipsoid fails, what the belief takes for best, and whether the regret still falls."""
    needs = {law: _read(found, law, "theory", NEED) for law in LAWS}
    held = {law: f"{int(np.sum(values <= 1))} of {len(values)}" for law, values in needs.items()}
    believed = float(np.mean(_read(found, "good late", "theory", BELIEVED)))
    regret = {law: f"{np.mean(_read(found, law, 'one', REGRET)):.3f}" for law in LAWS}
    return (
        f"With the theorem's constants the ellipsoid held in {held['same']} runs where delays do not depend on the "
        f"query and in {held['bad late']} where bad queries are late: the mean of η does not fall with more rounds, "
        f"and νσ does. Where good queries are late it held in {held['good late']}, and all the same the belief is best "
        f"at queries worth {believed:.0%} of the best. With β = 1 the regret per round at the end is "
        f"{regret['good late']} there, against {regret['same']} where delays do not depend on the query; where bad "
        f"queries are late, and silence rightly counts against them, {regret['bad late']}. So it is the proof that "
        "fails; the bounds on the regret are too wide at such T to be tested."
    )


def _read(found: Mapping[Quantity, SeedValues], law: str, beta: str, quantity: str) -> Array:
    """One value per run."""
    return found[Quantity(EXPERIMENT, f"{law}/{beta}", quantity)].values[:, -1]
