"""Fig. 4a: what zeros for the pending do to the mean, where the fit did not look at them.

Outcomes have no noise there. Fitted to what was heard, λ becomes very small, and the mean must pass through every
datum: through outcomes near 0.7, and through the zeros of queries beside them that are pending. So it swings, and the
next query is another one.

distinct  configurations among the 30 queries of a task
λ         of the last fit
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from belated.comparison.statistics import summarize
from belated.learner.algorithms import Algorithm, paper
from belated.learner.arrays import Array
from belated.learner.width import BetaWidth
from belated.record.events import Asked
from belated.study import Study
from reproduction.objectives.multitask import ROUNDS as PER_TASK
from reproduction.panel_run import RunJob, finish_study, measure_curve, open_study
from reproduction.panels import PANELS
from reproduction.report.document import Block, Heading, Paragraph, TableBlock
from reproduction.report.formatting import format_interval, format_summary
from reproduction.report.intervals import find_interval
from reproduction.theory.measurements import Measurement, Quantity, SeedValues

EXPERIMENT, PANEL, ALGORITHM = "pending zeros", "fig4a", "GP-UCB-SDF"
DISTINCT, REGRET, LAM = "distinct", "cumulative regret", "lambda"


@dataclass(frozen=True)
class ZerosCase:
    """What the fits look at, and which interval the bound has."""

    fitted_to: str
    interval: str
    algorithm: Algorithm


CASES = {
    "own": ZerosCase("own data, zeros included", "ν, widened", paper(ALGORITHM)),
    "heard": ZerosCase("what was heard", "ν, widened", paper(ALGORITHM, fitted_to="heard")),
    "heard, plain": ZerosCase(
        "what was heard", "β, not widened", replace(paper(ALGORITHM, fitted_to="heard"), width=BetaWidth())
    ),
}


@dataclass(frozen=True, kw_only=True)
class ZerosJob:
    """One run of T rounds."""

    case: str
    seed: int
    T: int


def list_jobs(quick: bool) -> list[ZerosJob]:
    runs, T = (2, 60) if quick else (4, 900)
    return [ZerosJob(case=case, seed=seed, T=T) for case in CASES for seed in range(runs)]


def run_zeros_job(job: ZerosJob) -> list[Measurement]:
    """Distinct configurations by task, the last λ, and the regret."""
    run = RunJob(panel=PANEL, curve=ALGORITHM, reading="text", seed=job.seed, iterations=job.T)
    task = PANELS[PANEL].task(job.seed)
    study = open_study(run, task, None, CASES[job.case].algorithm)
    finish_study(run, study, task, task.f)
    distinct = count_distinct(study)
    regret = float(measure_curve(run, study, task, task.f).cumulative[-1])
    return [
        *(Measurement(EXPERIMENT, job.case, DISTINCT, job.seed, j, n) for j, n in enumerate(distinct, start=1)),
        Measurement(EXPERIMENT, job.case, LAM, job.seed, job.T, find_last_lam(study)),
        Measurement(EXPERIMENT, job.case, REGRET, job.seed, job.T, regret),
    ]


def count_distinct(study: Study) -> list[int]:
    """Configurations that were asked at least once, task by task."""
    asked = [tuple(trial.params.values()) for trial in study.trials()]
    return [len(set(asked[first : first + PER_TASK])) for first in range(0, len(asked), PER_TASK)]


def find_last_lam(study: Study) -> float:
    """λ of the last fit."""
    return [float(event.fitted["lam"]) for event in study.events() if isinstance(event, Asked) and event.fitted][-1]


# The section --------------------------------------------------------------------------------------------------------


def make_section(found: Mapping[Quantity, SeedValues]) -> list[Block]:
    """A table, and what it shows."""
    if any(Quantity(EXPERIMENT, case, each) not in found for case in CASES for each in (DISTINCT, LAM, REGRET)):
        return []
    rounds = read_values(found, "own", REGRET).x[0]
    return [
        Heading("Zeros for the pending, and the fitted noise (Fig. 4a)", 3),
        Paragraph(
            "Why Fig. 4a is so different in the readings text and heard. Accuracies in the table have no noise. A fit "
            "to what was heard finds that out, and λ becomes small; but Eq. (1) also has a 0 for every pending query, "
            "and with so small a λ the mean must pass through it, close to outcomes of 0.7 and more. It swings, and "
            "the best of it lies elsewhere after each query. A fit that looks at the zeros too finds a larger λ. "
            f"Here: {ALGORITHM}, the first {rounds:g} rounds of Fig. 4a, the same worlds."
        ),
        tabulate_zeros(found),
        Paragraph(describe_zeros(found)),
    ]


def read_values(found: Mapping[Quantity, SeedValues], case: str, quantity: str) -> SeedValues:
    """One quantity of a case."""
    return found[Quantity(EXPERIMENT, case, quantity)]


def tabulate_zeros(found: Mapping[Quantity, SeedValues]) -> TableBlock:
    """A row per case."""
    rows = []
    for name, case in CASES.items():
        regret, lam = (read_values(found, name, quantity).values[:, -1] for quantity in (REGRET, LAM))
        rows.append(
            (
                case.fitted_to,
                case.interval,
                str(len(regret)),
                format_middle(read_values(found, name, DISTINCT).values),
                f"{np.median(lam):.1e}",
                format_summary(summarize(regret), 1),
            )
        )
    titles = (
        "fitted to",
        "interval",
        "runs",
        f"distinct among {PER_TASK} queries, middle (quarters)",
        "λ of the last fit, median",
        "cumulative regret",
    )
    return TableBlock(titles, tuple(rows), frozenset(range(2, len(titles))))


def format_middle(counts: Array) -> str:
    """12 (8 to 15): the median, and the quartiles."""
    low, middle, high = np.percentile(counts, (25, 50, 75))
    return f"{middle:.0f} ({low:.0f} to {high:.0f})"


def describe_zeros(found: Mapping[Quantity, SeedValues]) -> str:
    """In how many worlds the regret is less, pair by pair."""
    own, heard, plain = (read_values(found, case, REGRET).values[:, -1] for case in CASES)
    without = summarize((plain - heard).tolist())
    return (
        f"The regret with fits to own data is the lower one in {np.sum(own < heard)} of {len(own)} pairs of runs. The "
        "widened interval does not explain it: with fits to what was heard, β alone in the place of ν changes the "
        f"regret by {format_interval(without.mean, find_interval(without, len(heard)))}."
    )
