"""The figures of an audit of this reproduction, beside what is recorded here: matched or contradicted, by name.

An audit of version 0.1 repeated its runs, and told what it found in numbers. A number is matched if it lies in the
95 % interval of ours, a count or a range if it is the same or overlaps with ours; what has the same sign and no more
is matched in kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from belated.comparison.statistics import Summary, summarize
from belated.learner.arrays import Array
from reproduction.curves import CurveKey, Curves, Series
from reproduction.panels import PANELS
from reproduction.replay_counts import ReplayCount
from reproduction.report.document import Block, Heading, Paragraph, Strong, TableBlock
from reproduction.report.formatting import format_interval, format_number, format_p_cell
from reproduction.report.intervals import LEVEL, find_interval
from reproduction.report.pooling import count_lower
from reproduction.report.verdicts import CurvePair, JudgedPanel, compute_deciding_values, judge_panel
from reproduction.theory import pending_zeros, rkhs
from reproduction.theory.measurements import Measurement, Quantity, SeedValues, group_measurements

Word = Literal["matched", "matched in kind", "contradicted"]
SEEDS, ROUND = 10, 900  # of the audit's runs, and the round at which it compared Fig. 4a
# Of the 180 choices of an unfitted GP, with the lengthscale of version 0.1 in the place of the program's: how many lie
# within 1 % of the maximum, and within 1 % of the spread. test_published_queries.py counts them.
WITH_FORMER_LENGTHSCALE = (99, 0)
OPENING = (
    "An audit of version 0.1 repeated its runs and found most of what is corrected in this report. Here are its "
    "figures beside those recorded here. A number is matched if our 95 % interval holds it (a p beside it is not "
    "judged: it hangs on the number of runs); a count or a range, if ours is the same or overlaps; in kind, if the "
    "sign is the same and no more. The first ten runs of the reading heard are those of version 0.1, which the audit "
    "had, so rows about them check the arithmetic alone."
)


class AuditRow(NamedTuple):
    """One finding."""

    what: str
    audit: str
    here: str
    word: Word


def make_audit_section(
    curves: Curves, measurements: Sequence[Measurement], counts: Sequence[ReplayCount]
) -> list[Block]:
    """All rows that can be made of what is recorded."""
    found = group_measurements(row for row in measurements if row.experiment == pending_zeros.EXPERIMENT)
    first = {key: take_first(line, SEEDS) for key, line in curves.items()}
    rows = [
        *list_multitask_rows(first),
        *list_zeros_rows(found),
        *list_released_rows(curves, counts),
        *list_verdict_rows(curves, first),
    ]
    if not rows:
        return []
    return [
        Heading("An audit's figures, and ours", 3),
        Paragraph(OPENING),
        TableBlock(
            ("finding", "audit", "here", ""),
            tuple((row.what, row.audit, row.here, Strong(row.word)) for row in [*rows, make_beta_row()]),
            frozenset({1, 2}),
        ),
    ]


def take_first(line: Series, runs: int) -> Series:
    """The runs with the smallest seeds."""
    return Series(
        seeds=line.seeds[:runs],
        iterations=line.iterations,
        simple=line.simple[:runs],
        late=line.late[:runs],
        cumulative=line.cumulative[:runs],
    )


def judge_number(value: float, mean: Summary[float], runs: int) -> Word:
    """Whether a number lies in the interval of a mean."""
    interval = find_interval(mean, runs)
    return "matched" if interval.low <= value <= interval.high else "contradicted"


def judge_count(value: int, ours: int, of: int) -> Word:
    """Whether a count is the same, or at least on the same side of a half."""
    if value == ours:
        return "matched"
    return "matched in kind" if (2 * value - of) * (2 * ours - of) > 0 else "contradicted"


def _format_mean(mean: Summary[float], runs: int) -> str:
    return format_interval(mean.mean, find_interval(mean, runs))


# Fig. 4a ------------------------------------------------------------------------------------------------------------


def list_multitask_rows(first: Curves) -> list[AuditRow]:
    """Cumulative regret of Fig. 4a at round 900, ten seeds."""
    wanted = {
        ("GP-UCB-SDF", "heard"): ("GP-UCB-SDF, fitted to what was heard", 118.0),
        ("GP-UCB-SDF", "text"): ("GP-UCB-SDF, fitted to own data", 89.0),
        ("GP-UCB", "text"): ("GP-UCB", 105.0),
        ("GP-BUCB", "heard"): ("GP-BUCB, fitted to what was heard", 84.0),
        ("GP-BUCB", "text"): ("GP-BUCB, fitted to own data", 90.0),
    }
    values = {at: _read_regret(first, *at) for at in wanted}
    if any(len(v) == 0 for v in values.values()):
        return []
    rows = []
    for at, (what, number) in wanted.items():
        mean = summarize(values[at].tolist())
        n = len(values[at])
        rows.append(
            AuditRow(
                f"Fig. 4a, regret at round {ROUND}: {what}",
                f"{number:.0f}",
                _format_mean(mean, n),
                judge_number(number, mean, n),
            )
        )
    own, heard = values["GP-UCB-SDF", "text"], values["GP-UCB-SDF", "heard"]
    lower = int(np.sum(own < heard))
    rows.append(
        AuditRow(
            "Fig. 4a: own data lowers GP-UCB-SDF's regret in so many seeds",
            "10 of 10",
            f"{lower} of {len(own)}",
            judge_count(10, lower, len(own)),
        )
    )
    return rows


def _read_regret(first: Curves, curve: str, reading: str) -> Array:
    line = first.get(CurveKey("fig4a", curve, reading))
    if line is None or ROUND not in line.iterations:
        return np.empty(0)
    return line.cumulative[:, int(np.flatnonzero(line.iterations == ROUND)[0])]


def list_zeros_rows(found: Mapping[Quantity, SeedValues]) -> list[AuditRow]:
    """What pending zeros do (theory/pending_zeros.py)."""
    if not found:
        return []
    ranges = {"heard": (23, 30), "own": (4, 8)}
    rows = []
    for case, (low, high) in ranges.items():
        counts = pending_zeros.read_values(found, case, pending_zeros.DISTINCT).values
        quarter, _, three_quarters = np.percentile(counts, (25, 50, 75))
        rows.append(
            AuditRow(
                f"Fig. 4a: distinct among 30 queries, fitted to {pending_zeros.CASES[case].fitted_to}",
                f"{low} to {high}",
                pending_zeros.format_middle(counts),
                "matched" if quarter <= high and low <= three_quarters else "contradicted",
            )
        )
    heard, plain = (
        pending_zeros.read_values(found, case, pending_zeros.REGRET).values[:, -1] for case in ("heard", "heard, plain")
    )
    difference = summarize((plain - heard).tolist())
    rows.append(
        AuditRow(
            "Fig. 4a, fitted to what was heard: without the widened interval minus with it",
            "5 (125 − 120)",
            _format_mean(difference, len(heard)),
            judge_number(5.0, difference, len(heard)),
        )
    )
    return rows


# Released -----------------------------------------------------------------------------------------------------------


def list_released_rows(curves: Curves, counts: Sequence[ReplayCount]) -> list[AuditRow]:
    """The corrected program: its choices, and Fig. 2b."""
    rows = []
    unfitted = [count for count in counts if count.phase == "unfitted" and count.tries == 1]
    if unfitted:
        near, of = sum(count.near_maximum for count in unfitted), sum(count.queries for count in unfitted)
        rows.append(
            AuditRow(
                "Published choices of the baselines before the first fit, within 1 % of the maximum",
                "180 of 180",
                f"{near} of {of}",
                judge_count(180, near, of),
            )
        )
        near, agreeing = WITH_FORMER_LENGTHSCALE
        rows.append(
            AuditRow(
                "The same with the lengthscale of version 0.1, 1, and all else as now",
                "0 of 180",
                f"{near} of {of}; {agreeing} within 1 % of the spread between maximum and minimum",
                judge_count(0, near, of),
            )
        )
    judged = judge_panel(PANELS["fig2b"], curves)
    numbers = {"GP-UCB-SDF": (0.263, None), "GP-UCB": (0.313, 0.006), "GP-BUCB": (0.322, 0.012)}
    lines = judged.lines.get("released", {})
    if set(numbers) <= set(lines):
        pairs = {pair.b: pair for pair in judged.pairs["released"]}
        for curve, (number, p) in numbers.items():
            mean = summarize(compute_deciding_values(judged.panel, lines[curve]).tolist())
            beside = " (and p of SDF against it)" if p else ""
            rows.append(
                AuditRow(
                    f"Fig. 2b, released, {len(lines[curve].seeds)} runs here: {curve}{beside}",
                    format_number(number, 3) + (f", p {p}" if p else ""),
                    _format_mean(mean, len(lines[curve].seeds)) + (f", p {format_p_cell(pairs[curve].p)}" if p else ""),
                    judge_number(number, mean, len(lines[curve].seeds)),
                )
            )
    return rows


# Verdicts -----------------------------------------------------------------------------------------------------------


def list_verdict_rows(curves: Curves, first: Curves) -> list[AuditRow]:
    """How much ten seeds decide, and sixty, in the reading heard."""
    rows = [
        row
        for panel, b, p in (("fig2c", "asy-TS", 0.93), ("fig2d", "asy-TS", 1.0))
        for row in _list_p_rows(first, panel, b, f"{SEEDS} seeds", p)
    ]
    rows += [
        row
        for panel, b, p in (("fig1c", "GP-UCB", 1e-5), ("fig1c", "GP-BUCB", 1e-4), ("fig1d", "GP-UCB", 1e-4))
        for row in _list_p_rows(curves, panel, b, "60 seeds", p)
    ]
    pair = _find_pair(curves, "fig5a", "asy-TS")
    if pair is not None:
        rows.append(
            AuditRow(
                "Fig. 5a, heard, 60 seeds: GP-TS-SDF − asy-TS, and p",
                "0.005, p 0.43",
                f"{format_interval(pair.decides.difference.mean, pair.interval)}, p {format_p_cell(pair.p)}",
                judge_number(0.005, pair.decides.difference, pair.decides.pairs),
            )
        )
    lower, of = count_lower([judge_panel(panel, first) for panel in PANELS.values()], "heard")
    if of == 32:
        rows.append(
            AuditRow(
                "Comparisons of simple regret in which SDF's mean is lower, heard, ten seeds",
                "26 of 32",
                f"{lower} of {of}",
                judge_count(26, lower, of),
            )
        )
    return rows


def _find_pair(curves: Curves, panel: str, b: str) -> CurvePair | None:
    judged: JudgedPanel = judge_panel(PANELS[panel], curves)
    return next((pair for pair in judged.pairs.get("heard", ()) if pair.b == b), None)


def _list_p_rows(curves: Curves, panel: str, b: str, seeds: str, p: float) -> list[AuditRow]:
    """A corrected p of the sign-flip test, in the reading heard; one that is told as below 0.0001 is 1e-4 or less."""
    pair = _find_pair(curves, panel, b)
    if pair is None:
        return []
    small = p <= 1e-4
    same = pair.p <= 1.5e-4 if small else round(pair.p, 2) == p
    alike: Word = "matched in kind" if (pair.p < LEVEL) == (p < LEVEL) else "contradicted"
    name = f"Fig. {panel.removeprefix('fig')}"
    return [
        AuditRow(
            f"{name}, heard, {seeds}: p of {pair.a} against {b}",
            "0.0001 or less" if small else f"{p:g}",
            format_p_cell(pair.p) if small else format_number(pair.p, 2),
            "matched" if same else alike,
        )
    ]


def make_beta_row() -> AuditRow:
    """ν_1 = β_1 of GP-TS-SDF in the experiments about Theorem 3."""
    theory = rkhs.draw_function(0).make_theory(0.1, 1)
    nu = rkhs.make_sdf("GP-TS-SDF", theory, 1).width.beta_in_theory(theory, 0.0)
    return AuditRow(
        "Theorem 3, ν₁ of GP-TS-SDF, the first function (4.032 before, with GP-UCB-SDF's β)",
        "4.291",
        format_number(nu, 3),
        "matched" if round(nu, 3) == 4.291 else "contradicted",
    )
