"""The appendix: every comparison in full, what else was measured, costs, and how the runs were made."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reproduction.archive import Provenance
from reproduction.report.document import Block, CommandBlock, Heading, Listing, Paragraph, TableBlock, Text
from reproduction.report.formatting import NONE, count_decimals, format_number, format_p_cell, format_summary
from reproduction.report.naming import format_short_name, name_figure
from reproduction.report.sensitivity import PERMUTED, PERMUTED_NAME
from reproduction.report.tables import format_column, list_lines, summarize_known
from reproduction.report.verdicts import CurvePair, JudgedPanel, name_difference
from reproduction.run_costs import RunCost, format_seconds

MARK = "†"
NOTES: tuple[Text, ...] = (
    (
        "Effect: the mean difference in standard deviations of the differences. Won, tied, lost: pairs in which the "
        "first is less, equal, greater."
    ),
    (
        "p: the sign-flip test of the mean difference, two-sided. Corrected: by Holm's method, over the comparisons of "
        "the claim that one curve is less; a claim that two are alike stands uncorrected. Wilcoxon: the signed-rank "
        f"test, corrected likewise. {MARK}: the 95 % interval and the sign-flip test disagree about 0."
    ),
    (
        "± and error bars are standard errors over runs, s/√n with n − 1 in s. The authors' figures have n in s; their "
        "bands and numbers here are computed anew from their runs, as ours are. Their runs are paired by number: those "
        "of a number share the five initial queries, not the delays."
    ),
)
ROUNDING = (
    "The same versions on the same kind of processor give the same runs. Others round otherwise, and once two queries "
    "are nearly as good as each other a run goes another way: single runs differ then, means and verdicts should not."
)


def make_appendix(
    judged: Sequence[JudgedPanel], beyond: Sequence[JudgedPanel], costs: Sequence[RunCost], provenance: Provenance
) -> list[Block]:
    """All of it."""
    return [
        Heading("Appendix"),
        *_make_comparison_sections(judged),
        *_make_further_section([*judged, *beyond]),
        *make_cost_section([*judged, *beyond], costs),
        *make_provenance_section(provenance),
    ]


# Comparisons --------------------------------------------------------------------------------------------------------


def _make_comparison_sections(judged: Sequence[JudgedPanel]) -> list[Block]:
    """The tests, and the values at T, figure by figure."""
    compared = [j for j in judged if any(j.pairs.values())]
    if not compared:
        return []
    blocks: list[Block] = [Heading("Comparisons in full", 3), Listing(NOTES)]
    for figure in dict.fromkeys(name_figure(j.panel) for j in compared):
        group = [j for j in compared if name_figure(j.panel) == figure]
        blocks += [
            Paragraph(f"{figure}: tests of the quantity that decides."),
            tabulate_tests(group),
            Paragraph(f"{figure}: pairs won, and the difference at T (± its standard error), which decides nothing."),
            tabulate_ends(group),
        ]
    return blocks


def _list_pairs(judged: Sequence[JudgedPanel]) -> list[tuple[JudgedPanel, str, CurvePair]]:
    return [(j, reading, pair) for j in judged for reading, pairs in j.pairs.items() for pair in pairs]


def _name_row(judged: JudgedPanel, reading: str, pair: CurvePair) -> tuple[Text, ...]:
    alike = ", alike" if pair.claimed == "alike" else ""
    return format_short_name(judged.panel), reading, name_difference(judged.panel, pair) + alike


def tabulate_tests(judged: Sequence[JudgedPanel]) -> TableBlock:
    """p-values of the quantity that decides, and the effect."""
    return TableBlock(
        ("panel", "reading", "comparison", "effect", "p", "p, corrected", "Wilcoxon, corrected"),
        tuple(
            (
                *_name_row(j, reading, pair),
                NONE if math.isnan(pair.decides.effect) else format_number(pair.decides.effect, 2),
                format_p_cell(pair.decides.p) + ("" if pair.is_checked else f" {MARK}"),
                format_p_cell(pair.p),
                format_p_cell(pair.p_ranks),
            )
            for j, reading, pair in _list_pairs(judged)
        ),
        frozenset(range(3, 7)),
    )


def tabulate_ends(judged: Sequence[JudgedPanel]) -> TableBlock:
    """Pairs won, tied and lost, and the difference at T."""
    return TableBlock(
        ("panel", "reading", "comparison", "pairs", "won, tied, lost", "difference, at T", "p, corrected"),
        tuple(
            (
                *_name_row(j, reading, pair),
                str(pair.decides.pairs),
                f"{pair.decides.won}, {pair.decides.tied}, {pair.decides.lost}",
                _format_end(pair),
                format_p_cell(pair.p_end),
            )
            for j, reading, pair in _list_pairs(judged)
        ),
        frozenset(range(3, 7)),
    )


def _format_end(pair: CurvePair) -> str:
    difference = pair.at_end.difference
    known = [abs(v) for v in (difference.mean, difference.error) if not math.isnan(v)]
    return format_summary(difference, count_decimals(known))


# What else was measured ---------------------------------------------------------------------------------------------


def _make_further_section(judged: Sequence[JudgedPanel]) -> list[Block]:
    """Of the panels of simple regret: late outcomes counted too, and cumulative regret."""
    shown = [j for j in judged if j.panel.measure == "simple" and j.readings]
    if not shown:
        return []
    return [
        Heading("Late outcomes and cumulative regret", 3),
        Paragraph(
            "Panels of simple regret: simple regret at T, the same with late outcomes counted too (the SDF pair "
            "ignores them), and cumulative regret at T; means over runs ± standard errors."
        ),
        tabulate_further(shown),
    ]


def tabulate_further(judged: Sequence[JudgedPanel]) -> TableBlock:
    """A row for every line of which more than simple regret is known."""
    rows: list[tuple[Text, ...]] = []
    for j in judged:
        lines = [(r, key, line) for r, key, line in list_lines(j) if summarize_known(line.late[:, -1]) is not None]
        columns = [
            format_column([summarize_known(getattr(line, name)[:, -1]) for _, _, line in lines])
            for name in ("simple", "late", "cumulative")
        ]
        rows += [
            (format_short_name(j.panel), r, j.panel.find_curve(key).label, *(column[i] for column in columns))
            for i, (r, key, _) in enumerate(lines)
        ]
    titles = ("panel", "reading", "curve", "simple", "late counted", "cumulative")
    return TableBlock(titles, tuple(rows), frozenset({3, 4, 5}))


# Costs and provenance -----------------------------------------------------------------------------------------------


def make_cost_section(judged: Sequence[JudgedPanel], costs: Sequence[RunCost]) -> list[Block]:
    """CPU time, by figure and reading, and what used it."""
    figures = {j.panel.name: name_figure(j.panel) for j in judged}
    groups: dict[tuple[str, str], list[RunCost]] = {}
    for cost in costs:
        name = cost.panel.removesuffix(PERMUTED)
        if name in figures:
            reading = cost.reading if name == cost.panel else f"{cost.reading}, {PERMUTED_NAME}"
            groups.setdefault((figures[name], reading), []).append(cost)
    if not groups:
        return []
    order = [*dict.fromkeys(figures.values()), *dict.fromkeys(r for j in judged for r in j.panel.readings)]
    counted = [cost for group in groups.values() for cost in group]
    learner, objective = _sum_seconds(counted)
    total, queries = learner + objective or 1.0, sum(cost.rounds for cost in counted)
    return [
        Heading("Costs", 3),
        Paragraph(
            f"CPU time of the runs: {format_seconds(learner + objective)}, {learner / total:.0%} for choosing queries "
            f"and {objective / total:.0%} for evaluating objectives; {queries:,} queries, "
            f"{1000 * learner / max(1, queries):.0f} ms of choosing for each."
        ),
        TableBlock(
            ("figure", "reading", "runs", "queries", "choosing", "evaluating"),
            tuple(
                _make_cost_row(figure, reading, groups[figure, reading])
                for figure, reading in sorted(groups, key=lambda key: _place_group(order, *key))
            ),
            frozenset(range(2, 6)),
        ),
    ]


def _place_group(order: Sequence[str], figure: str, reading: str) -> tuple[int, int, str]:
    """Where a figure and a reading stand; an addition to a reading, such as a permuted order, comes after it."""
    plain = reading.partition(",")[0]
    return order.index(figure), order.index(plain) if plain in order else len(order), reading


def _sum_seconds(costs: Sequence[RunCost]) -> tuple[float, float]:
    return sum(cost.learner_s for cost in costs), sum(cost.objective_s for cost in costs)


def _make_cost_row(figure: str, reading: str, costs: Sequence[RunCost]) -> tuple[Text, ...]:
    learner, objective = _sum_seconds(costs)
    runs = len({cost[:4] for cost in costs})  # a run that was interrupted has several costs
    queries = sum(cost.rounds for cost in costs)
    return figure, reading, str(runs), f"{queries:,}", format_seconds(learner), format_seconds(objective)


def make_provenance_section(provenance: Provenance) -> list[Block]:
    """The commands and the versions that made the runs."""
    versions = ", ".join(f"{name} {number}" for name, number in provenance.versions)
    return [
        Heading("How the runs were made", 3),
        *([CommandBlock(provenance.commands)] if provenance.commands else []),
        *([Paragraph(f"With {versions}.")] if versions else []),
        *(Paragraph(note) for note in (*provenance.notes, ROUNDING)),
    ]
