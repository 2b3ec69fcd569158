"""The tables of a panel: means and standard errors, paired comparisons, mean ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from belated.comparison.statistics import Summary, average_ranks, summarize
from belated.learner.arrays import Array
from reproduction.curves import Series
from reproduction.panels import Panel
from reproduction.report.document import Strong, TableBlock
from reproduction.report.verdicts import (
    FIRST_COUNTED,
    CurvePair,
    JudgedPanel,
    compute_deciding_values,
    quote_label,
    select_measure,
)

NONE = "—"


def select_iterations(panel: Panel, line: Series) -> list[int]:
    """Positions of the iterations in the table: a fifth, a half and all of T, or thirds of it; 20, 50, 100."""
    T = int(line.iterations[-1])
    wanted = (T / 5, T / 2, T) if panel.measure == "simple" else (T / 3, 2 * T / 3, T)
    return sorted({int(np.argmin(np.abs(line.iterations - at))) for at in wanted})


def tabulate_means(judged: JudgedPanel) -> TableBlock:
    """Means over runs with standard errors: a row for every curve and reading."""
    panel = judged.panel
    several = len(judged.lines) > 1
    rows = [(reading, key, line) for reading, lines in judged.lines.items() for key, line in lines.items()]
    T = judged.last
    simple = panel.measure == "simple"
    columns: list[tuple[str, list[Summary[float] | None]]] = []
    at = sorted({int(line.iterations[i]) for _, _, line in rows for i in select_iterations(panel, line)})
    for iteration in at:
        columns.append((f"at {iteration}", [_summarize_at(panel, line, iteration) for _, _, line in rows]))
    if simple:
        columns.append(
            (
                f"average {min(FIRST_COUNTED, T)}–{T}",
                [summarize(compute_deciding_values(panel, line)) for _, _, line in rows],
            )
        )
        columns.append((f"late counted, at {T}", [_summarize_known(line.late[:, -1]) for _, _, line in rows]))
        columns.append((f"cumulative, at {T}", [_summarize_known(line.cumulative[:, -1]) for _, _, line in rows]))
    if panel.claim is None:
        columns.append(("mean rank", [rank_curves(judged, reading).get(key) for reading, key, _ in rows]))
    columns = [(name, cells) for name, cells in columns if any(cell is not None for cell in cells)]
    written = [_format_column(cells) for _, cells in columns]
    return TableBlock(
        (*(("reading",) if several else ()), f"mean {panel.ylabel}", "runs", *(name for name, _ in columns)),
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
    return _summarize_known(select_measure(panel, line)[:, found[0]]) if len(found) else None


def _summarize_known(values: Array) -> Summary[float] | None:
    return None if np.any(np.isnan(values)) else summarize(values)


def _format_column(cells: Sequence[Summary[float] | None]) -> list[str]:
    """Mean ± standard error, all with as many decimals as the largest mean has in four digits."""
    places = count_decimals(cell.mean for cell in cells if cell is not None)
    return [NONE if cell is None else format_summary(cell, places) for cell in cells]


def count_decimals(values: Iterable[float]) -> int:
    """How many make the largest of the values four digits long; six at most."""
    largest = max((abs(value) for value in values), default=0.0)
    return min(6, max(0, 3 - math.floor(math.log10(largest)))) if largest > 0 else 4


def format_summary(value: Summary[float], places: int) -> str:
    """0.2429 ± 0.0071."""
    mean = f"{value.mean:.{places}f}".replace("-", "−")
    return mean if math.isnan(value.error) else f"{mean} ± {value.error:.{places}f}"


def tabulate_comparisons(judged: JudgedPanel) -> TableBlock:
    """Every comparison: the quantity that decides, then the values at T."""
    panel, T = judged.panel, judged.last
    several = len(judged.pairs) > 1
    rows = [(reading, pair) for reading, found in judged.pairs.items() for pair in found]
    simple = panel.measure == "simple"
    places = count_decimals(
        [v for _, pair in rows for v in (pair.decides.difference.mean, pair.decides.difference.error)]
    )
    ending = count_decimals(
        [v for _, pair in rows for v in (pair.at_end.difference.mean, pair.at_end.difference.error)]
    )
    what = f"average {min(FIRST_COUNTED, T)}–{T}" if simple else f"at {T}"
    titles = (
        *(("reading",) if several else ()),
        "comparison",
        "pairs",
        f"difference, {what}",
        "won, tied, lost",
        "effect",
        "p",
        "p, corrected",
        "Wilcoxon, corrected",
        *((f"difference, at {T}", "p, corrected") if simple else ()),
    )
    return TableBlock(
        titles,
        tuple(
            (
                *((reading,) if several else ()),
                _name_comparison(panel, pair),
                str(pair.decides.pairs),
                format_summary(pair.decides.difference, places),
                f"{pair.decides.won}, {pair.decides.tied}, {pair.decides.lost}",
                NONE if math.isnan(pair.decides.effect) else f"{pair.decides.effect:.2f}".replace("-", "−"),
                format_p_cell(pair.decides.p),
                Strong(format_p_cell(pair.p)) if pair.significant else format_p_cell(pair.p),
                format_p_cell(pair.p_ranks),
                *((format_summary(pair.at_end.difference, ending), format_p_cell(pair.p_end)) if simple else ()),
            )
            for reading, pair in rows
        ),
        frozenset(range(1 + several, len(titles))),
    )


def _name_comparison(panel: Panel, pair: CurvePair) -> str:
    """Which curves, the first minus the second."""
    return f"{quote_label(panel, pair.a)} against {quote_label(panel, pair.b)}" + (
        ", alike" if pair.claimed == "alike" else ""
    )


def format_p_cell(p: float) -> str:
    """A p-value in a cell."""
    return "<0.0001" if p < 1e-4 else f"{p:.4f}"


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
                f"{overall[label]:.2f}",
            )
            for label in sorted(labels, key=lambda label: overall[label])
        ),
        frozenset(range(1, len(found) + 2)),
    )


def _label_ranks(judged: JudgedPanel) -> dict[str, Summary[float]]:
    return {judged.panel.find_curve(key).label: rank for key, rank in rank_curves(judged, judged.readings[0]).items()}
