"""The synthetic objective under recorded delays: how late dengue cases were reported.

d   weeks from onset to report, one of 52,987 recorded ones drawn evenly; half of them one week or less, the last 26
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import replace
from functools import cache

from belated.learner.delays.distributions import Empirical
from belated.simulation.task import Task
from reproduction.download import find_dataset
from reproduction.objectives import synthetic

WEEK = 7 * 86400.0


@cache
def load_delays() -> Empirical:
    """The recorded delays, in seconds."""
    with gzip.open(find_dataset("delays_dengue.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        return Empirical([WEEK * float(row["delay_weeks"]) for row in csv.DictReader(file)])


def make_task(seed: int) -> Task:
    """The function of a seed, its outcomes reported as late as dengue cases."""
    return replace(synthetic.make_task(seed), delay=load_delays())
