"""The paper's theory, shown: the experiments about its theorems, what they found, and a page of the report about it.

Every job is a plain value and every experiment a pure function of it, so that they may run anywhere, in any order.
What they find is rows of numbers, kept in one file; the page is made of those alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from reproduction import batches, bounds, coverage, tradeoff
from reproduction.blocks import Block, Heading, Paragraph
from reproduction.findings import Row, gathered, read, write

__all__ = ["Job", "Row", "jobs", "page", "perform", "read", "write"]

Job = (
    coverage.Job
    | coverage.Portrait
    | bounds.Job
    | bounds.Horizon
    | batches.Job
    | batches.Factors
    | tradeoff.Job
    | tradeoff.Curve
)
EXPERIMENTS: dict[type, Callable[[Any], list[Row]]] = {
    coverage.Job: coverage.perform,
    coverage.Portrait: coverage.portrait,
    bounds.Job: bounds.perform,
    bounds.Horizon: bounds.horizon,
    batches.Job: batches.perform,
    batches.Factors: batches.factors,
    tradeoff.Job: tradeoff.perform,
    tradeoff.Curve: tradeoff.curve,
}
OPENING = (
    "The theorems suppose a kernel that is known, a function of known norm, bounded outcomes and constants that the "
    "experiments of the paper do not use (β = 1 there). Here they are taken at their word: functions with a norm known "
    "exactly, noise within ± R, λ = 1 + 2/T, and β and γ as the theorems have them."
)


def jobs(quick: bool) -> Sequence[Job]:
    """All experiments: about ten minutes of one core, or half a minute for a quick pass."""
    return [*coverage.jobs(quick), *bounds.jobs(quick), *batches.jobs(quick), *tradeoff.jobs(quick)]


def perform(job: Job) -> list[Row]:
    """What one job finds."""
    return EXPERIMENTS[type(job)](job)


def page(rows: Iterable[Row]) -> list[Block]:
    """The page about the theorems; nothing where there are no rows."""
    found = gathered(rows)
    sections = [block for part in (coverage, bounds, batches, tradeoff) for block in part.section(found)]
    return [Heading("Theory, shown"), Paragraph(OPENING), *sections] if sections else []
