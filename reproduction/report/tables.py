"""The tables of a panel: means and standard errors by curve and reading, and mean ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from belated.comparison.statistics import Summary, average_ranks, summarize
from belated.learner.arrays import Array
from reproduction.curves import Series
from reproduction.panels import Panel
from reproduction.report.document import TableBlock
from reproduction.report.formatting import NONE, count_decimals, format_number, format_summary
from reproduction.report.verdicts import FIRST_COUNTED, JudgedPanel, compute_deciding_values, select_measure


def select_iterations(panel: Panel, line: Series) -> list[int]:
    """Positions of the iterations in the table: a fifth, a half and all of T, or thirds of it; 20, 50, 100."""
    T = int(line.iterations[-1])
    wanted = (T / 5, T / 2, T) if panel.measure == "simple" else (T / 3, 2 * T / 3, T)
    return sorted({int(np.argmin(np.abs(line.iterations - at))) for at in wanted})


def list_lines(judged: JudgedPanel) -> list[tuple[str, str, Series]]:
    """The lines of a panel with their readings and keys."""
    return [(reading, key, line) for reading, lines in judged.lines.items() for key, line in lines.items()]


def tabulate_means(judged: JudgedPanel) -> TableBlock:
    """Means over runs with standard errors: a row for every curve and reading."""
    panel, rows, T = judged.panel, list_lines(judged), judged.last
    several = len({*panel.readings, *judged.lines}) > 1
    at = sorted({int(line.iterations[i]) for _, _, line in rows for i in select_iterations(panel, line)})
    columns = {f"at {iteration}": [_summarize_at(panel, line, iteration) for _, _, line in rows] for iteration in at}
    if panel.measure == "simple":
        average = f"average {min(FIRST_COUNTED, T)}–{T}"
        columns[average] = [summarize(compute_deciding_values(panel, line)) for _, _, line in rows]
    written = [format_column(cells) for cells in columns.values()]
    return TableBlock(
        (*(("reading",) if several else ()), f"mean {panel.ylabel}", "runs", *columns),
        tuple(
            (
                *((reading,) if several else ()),
                panel.find_curve(key).label,
                str(len(line.seeds)),
                *(cells[i] for cells in written),
            )
            for i, (reading, key, line) in enumerate(rows)
        ),
        frozenset(range(1 + several, 2 + several + len(columns))),
    )


def _summarize_at(panel: Panel, line: Series, iteration: int) -> Summary[float] | None:
    found = np.flatnonzero(line.iterations == iteration)
    return summarize_known(select_measure(panel, line)[:, found[0]]) if len(found) else None


def summarize_known(values: Array) -> Summary[float] | None:
    """The mean over runs; None where a run does not have the value."""
    return None if np.any(np.isnan(values)) else summarize(values)


def format_column(cells: Sequence[Summary[float] | None]) -> list[str]:
    """Mean ± standard error, all with as many decimals as the largest mean has in four digits."""
    places = count_decimals(cell.mean for cell in cells if cell is not None)
    return [NONE if cell is None else format_summary(cell, places) for cell in cells]


def rank_curves(judged: JudgedPanel, reading: str) -> dict[str, Summary[float]]:
    """Every curve's mean rank within the seeds that all have, by the quantity that is compared; 1 for the least."""
    panel, lines = judged.panel, judged.lines[reading]
    common = sorted(set.intersection(*(set(line.seeds) for line in lines.values())))
    if len(lines) < 2 or not common:
        return {}
    rows = [
        compute_deciding_values(panel, line)[[line.seeds.index(seed) for seed in common]] for line in lines.values()
    ]
    return dict(zip(lines, average_ranks(np.array(rows)), strict=True))


def tabulate_ranks(judged: Sequence[JudgedPanel]) -> TableBlock:
    """Mean ranks in several panels, and their mean over those panels that have the curve."""
    found = {j.panel.name: _label_ranks(j) for j in judged if j.readings}
    labels = dict.fromkeys(label for ranked in found.values() for label in ranked)
    overall = {label: float(np.mean([r[label].mean for r in found.values() if label in r])) for label in labels}
    return TableBlock(
        ("mean rank", *found, "mean"),
        tuple(
            (
                label,
                *(format_summary(ranked[label], 2) if label in ranked else NONE for ranked in found.values()),
                format_number(overall[label], 2),
            )
            for label in sorted(labels, key=lambda label: overall[label])
        ),
        frozenset(range(1, len(found) + 2)),
    )


def _label_ranks(judged: JudgedPanel) -> dict[str, Summary[float]]:
    return {judged.panel.find_curve(key).label: rank for key, rank in rank_curves(judged, judged.readings[0]).items()}
