"""How the findings change with the reading of the paper, and in Figure 4 with the order of the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from belated.comparison.statistics import summarize
from reproduction.curves import Curves
from reproduction.panels import Panel
from reproduction.report.choices import OPEN, SAID
from reproduction.report.document import Block, Heading, Listing, Paragraph, Strong, TableBlock, Text
from reproduction.report.formatting import NONE, format_percentage
from reproduction.report.naming import format_short_name, link_panel
from reproduction.report.pooling import BASELINES, POOLS, Baseline, find_family, pool_groups
from reproduction.report.verdicts import (
    ClaimVerdict,
    CurvePair,
    JudgedPanel,
    compute_deciding_values,
    format_difference,
    judge_panel,
    list_readings,
)

PERMUTED, PERMUTED_NAME = "-permuted", "task order permuted by seed"
CONTEXTUAL = ("fig4a", "fig4b", "fig4c", "fig4d")


def make_choices_section(judged: Sequence[JudgedPanel], curves: Curves) -> list[Block]:
    """How the findings hang on what the paper leaves open; nothing where one reading was run, and no other choice."""
    readings = list_readings(judged)
    return [
        *(_make_reading_sections(judged, readings) if len(readings) > 1 else []),
        *_make_contextual_section(judged, curves),
    ]


def make_open_section() -> list[Block]:
    """What the paper says and leaves open, and what was chosen."""
    return [
        Heading("What the paper says and leaves open", 3),
        Paragraph("What the paper says of its experiments, and the runs follow:"),
        Listing(SAID),
        Paragraph("What it leaves open, and what was chosen:"),
        Listing(OPEN),
    ]


# By reading ---------------------------------------------------------------------------------------------------------


def _make_reading_sections(judged: Sequence[JudgedPanel], readings: Sequence[str]) -> list[Block]:
    return [
        Heading("Verdicts by reading", 3),
        Paragraph("By the same rule in every reading; published are the authors' own runs, of the SVM panels only."),
        tabulate_verdicts(judged, readings),
        Paragraph(
            "The effects pooled over panels, in per cent of the baseline's regret [95 %]; bold are those told from 0; "
            "a dash where not all panels of the group were run."
        ),
        tabulate_pooled_by_reading(judged, readings),
    ]


def tabulate_verdicts(judged: Sequence[JudgedPanel], readings: Sequence[str]) -> TableBlock:
    """A row for every panel, a column for every reading."""
    return TableBlock(
        ("panel", *readings),
        tuple(
            (
                link_panel(j.panel, format_short_name(j.panel)),
                *(_format_word(j.verdicts.get(reading)) for reading in readings),
            )
            for j in judged
        ),
    )


def _format_word(found: ClaimVerdict | None) -> Text:
    if found is None:
        return NONE
    return found.word if found.word in ("unresolved", "not run") else Strong(found.word)


def tabulate_pooled_by_reading(judged: Sequence[JudgedPanel], readings: Sequence[str]) -> TableBlock:
    """A row for every group of panels and kind of baseline, a column for every reading that has all of the group."""
    found = {
        (name, effect.baseline, reading): _strengthen(
            format_percentage(effect.mean.mean, effect.interval), effect.interval.excludes_zero
        )
        for reading in readings
        for name, effects in pool_groups(judged, reading).items()
        for effect in effects
        if effect.panels == len(POOLS[name])
    }
    rows = dict.fromkeys((name, baseline) for name in POOLS for baseline in BASELINES)
    return TableBlock(
        ("panels", "SDF against", *readings),
        tuple((*row, *(found.get((*row, reading), NONE) for reading in readings)) for row in rows),
        frozenset(range(2, 2 + len(readings))),
    )


def _strengthen(text: str, strong: bool) -> Text:
    return Strong(text) if strong else text


# Figure 4 -----------------------------------------------------------------------------------------------------------


def make_permuted(panel: Panel) -> Panel:
    """The same panel with its tasks in an order permuted by seed, as its runs are named."""
    return replace(panel, name=panel.name + PERMUTED)


def _make_contextual_section(judged: Sequence[JudgedPanel], curves: Curves) -> list[Block]:
    panels = [j.panel for j in judged if j.panel.name in CONTEXTUAL]
    table = tabulate_contextual(panels, curves)
    if not table.rows:
        return []
    return [
        Heading("Figure 4 by reading and task order", 3),
        Paragraph(
            "Mean cumulative regret after all rounds, and SDF minus the baseline that ignores or hallucinates what is "
            "pending [95 %]; bold are differences told from 0, negative favours SDF. Figs. 4c and 4d have no other "
            "order: their data sets grow."
        ),
        table,
    ]


def tabulate_contextual(panels: Sequence[Panel], curves: Curves) -> TableBlock:
    """A row for every reading and panel that were run: the means of the three methods, and two differences."""
    versions = [(panel, judge_panel(panel, curves)) for panel in panels]
    permuted = [(panel, judge_panel(make_permuted(panel), curves)) for panel in panels]
    readings = list(dict.fromkeys(reading for panel in panels for reading in panel.readings))
    rows = []
    for reading in readings:
        rows += [_list_contextual_cells(panel, found, reading, reading) for panel, found in versions]
        rows += [
            _list_contextual_cells(panel, found, reading, f"{reading}, {PERMUTED_NAME}") for panel, found in permuted
        ]
    return TableBlock(
        (
            "reading",
            "panel",
            "SDF",
            *BASELINES,
            *(f"SDF − {baseline} [95 %]" for baseline in BASELINES),
        ),
        tuple(row for row in rows if row),
        frozenset(range(2, 7)),
    )


def _list_contextual_cells(panel: Panel, judged: JudgedPanel, reading: str, name: str) -> tuple[Text, ...]:
    """Empty where nothing was run."""
    lines, pairs = judged.lines.get(reading, {}), judged.pairs.get(reading, ())
    if not lines:
        return ()
    runs = sorted({len(line.seeds) for line in lines.values()})
    means = {key: summarize(compute_deciding_values(panel, line)) for key, line in lines.items()}
    return (
        f"{name} ({'–'.join(map(str, dict.fromkeys((runs[0], runs[-1]))))} runs)",
        format_short_name(panel),
        *(f"{means[key].mean:.1f}" if key in means else NONE for key in find_family(panel)),
        *(_format_pair(panel, pairs, baseline) for baseline in BASELINES),
    )


def _format_pair(panel: Panel, pairs: Sequence[CurvePair], baseline: Baseline) -> Text:
    b = find_family(panel)[1 + BASELINES.index(baseline)]
    found = next((pair for pair in pairs if pair.b == b), None)
    return NONE if found is None else _strengthen(format_difference(found), found.interval.excludes_zero)
