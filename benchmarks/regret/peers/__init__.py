"""One file per peer. To add one, write a file here of at most 60 lines with

NAME      what the tables call it
NEEDS     the distributions it needs, that whose version counts first; () if none
chooser   (task, seed) -> a function of the study that gives the next params
INSIDE    only where it is belated inside a library: the folder of belated.integrations. Its chooser is also told which
          regret counts, as belated's own are

NAME, NEEDS and INSIDE are written out: they are read from a file that is imported only where all it needs is installed.

The study that a chooser is given holds every trial so far: `outcome` is None while it is pending. The first queries,
space-filling ones, are asked already. `here(task, study)` is the context of the next one. A chooser sees outcomes and
nothing of f. Files whose names begin with _ are what several peers share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from belated import Study
from belated.simulation.task import Task


def here(task: Task, study: Study) -> Mapping[str, Any]:
    """The context of the query that is asked for now; empty where there are none."""
    return {} if task.context_of is None else task.context_of(study.rounds + 1)
