"""How a study stands: its best outcome so far; of conversions, where one outcome says little, the share that came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from belated.learner.arrays import Array
from belated.report.content import format_outcome
from belated.service.served import ServedStudy


@dataclass(frozen=True)
class Standing:
    """One value, what it is, and how it came about."""

    title: str
    value: str  # empty: there is none yet
    note: str
    trial: int | None  # whose it is
    line: Array  # the value, trial by trial
    words: str  # the line in words


def read_standing(study: ServedStudy) -> Standing:
    return read_share(study) if study.settings.objective.conversions else read_best(study)


def read_best(study: ServedStudy) -> Standing:
    """The best outcome with its unit, and whose it is."""
    settings, (numbers, y) = study.settings, study.read_outcomes()
    if not len(y):
        return Standing("Best so far", "", "nothing heard yet", None, y, "")
    sign = settings.objective.sign
    line, row = sign * np.maximum.accumulate(sign * y), int(np.argmax(sign * y))
    first, last = (format_outcome(settings, float(value)) for value in (line[0], line[-1]))
    return Standing("Best so far", last, "", numbers[row], line, f"Best so far: from {first} to {last}")


def read_share(study: ServedStudy) -> Standing:
    """How many of the people have converted."""
    asked, came = (np.cumsum(each) for each in study.read_people())
    if not len(asked) or not asked[-1]:
        return Standing("Converted", "", "nobody asked yet", None, np.array([]), "")
    share = f"{100 * came[-1] / asked[-1]:.3g} %"
    line = (came / np.maximum(asked, 1.0))[asked > 0]
    return Standing(
        "Converted", share, f"{came[-1]:,.0f} of {asked[-1]:,.0f}", None, line, f"Converted: {share} by now"
    )
