"""All experiments about the paper's theorems, and their section of the report.

Every job is a plain value and every experiment a pure function of it, so that they may run anywhere, in any order.
What they measure is kept in one file; the section is made of that file alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from reproduction.report.document import Block, Heading, Paragraph
from reproduction.theory import batches, bounds, coverage, dependence, pending_zeros, tradeoff
from reproduction.theory.measurements import Measurement, group_measurements

TheoryJob = (
    coverage.CoverageJob
    | coverage.EllipsoidJob
    | dependence.DependenceJob
    | bounds.RegretJob
    | bounds.HorizonJob
    | batches.BatchJob
    | batches.FactorsJob
    | tradeoff.PatienceJob
    | tradeoff.BoundCurveJob
    | pending_zeros.ZerosJob
)
EXPERIMENTS: dict[type, Callable[[Any], list[Measurement]]] = {
    coverage.CoverageJob: coverage.run_coverage_job,
    coverage.EllipsoidJob: coverage.run_ellipsoid_job,
    dependence.DependenceJob: dependence.run_dependence_job,
    bounds.RegretJob: bounds.run_regret_job,
    bounds.HorizonJob: bounds.run_horizon_job,
    batches.BatchJob: batches.run_batch_job,
    batches.FactorsJob: batches.run_factors_job,
    tradeoff.PatienceJob: tradeoff.run_patience_job,
    tradeoff.BoundCurveJob: tradeoff.run_bound_curve_job,
    pending_zeros.ZerosJob: pending_zeros.run_zeros_job,
}
PARTS = (coverage, dependence, bounds, batches, tradeoff, pending_zeros)
OPENING = (
    "The theorems suppose a kernel that is known, a function of known norm, bounded outcomes and constants that the "
    "experiments of the paper do not use (β = 1 there). Here they are taken at their word: functions with a norm known "
    "exactly, noise within ± R, λ = 1 + 2/T, and β and γ as the theorems have them."
)


def list_jobs(quick: bool) -> Sequence[TheoryJob]:
    """All experiments: about a quarter of an hour of one core, or half a minute for a quick pass."""
    return [job for part in PARTS for job in part.list_jobs(quick)]


def run_job(job: TheoryJob) -> list[Measurement]:
    """What one job finds."""
    return EXPERIMENTS[type(job)](job)


def make_section(rows: Iterable[Measurement]) -> list[Block]:
    """The page about the theorems; nothing where there are no rows."""
    found = group_measurements(rows)
    sections = [block for part in PARTS for block in part.make_section(found)]
    return [Heading("Theory, shown"), Paragraph(OPENING), *sections] if sections else []
