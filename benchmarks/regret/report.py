"""The tables: every task, everyone's mean ranks, and the default against the best peer of each family."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchmarks.regret.entrants import Entrant
from benchmarks.regret.kept import Row
from benchmarks.regret.peers.ours import FORMER
from benchmarks.regret.ranks import CLIP, Cells, Mean, RankDifference, Standing, mean_rank
from benchmarks.regret.tasks import BEDS, FAMILIES
from benchmarks.table import align_numbers

RULES = (
    f"Ranks: in each task and seed by the regret that counts, 1 the best; below {CLIP:g} of the standard deviation of f"
    "\nall are equal, and equals share the mean of their places. Simple regret: the best f among the outcomes heard by"
    "\nthe last round; cumulative regret is per round. ± is one standard error over seeds. CPU is per ask."
)


def number(value: float) -> str:
    """Three figures that count."""
    if math.isnan(value):
        return ""
    digits = 0 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}" if digits <= 5 else f"{value:.1e}"


def with_error(mean: Mean, digits: int | None = None) -> str:
    if math.isnan(mean.mean):
        return ""
    shown = number(mean.mean) if digits is None else f"{mean.mean:.{digits}f}"
    if math.isnan(mean.error):
        return shown
    error = f"{mean.error:.1e}" if 0 < mean.error < 1e-4 else f"{mean.error:.2g}"
    return f"{shown} ± {error if digits is None else f'{mean.error:.{digits}f}'}"


def cpu(rows: Sequence[Row]) -> float:
    """Seconds per ask; nan where some runs were made elsewhere: tasks differ too much for the mean of the others."""
    return float(np.mean([row.cpu for row in rows]))


def names(found: Cells) -> list[str]:
    """Everyone who has runs, by mean rank."""
    everyone = next(iter(found.values()), {})
    return sorted(everyone, key=lambda name: mean_rank(found, name).mean)


def task_table(found: Cells) -> str:
    """Every task: simple and cumulative regret of everyone, by rank."""
    blocks = []
    for task in [name for name in BEDS if any(name == t for t, _ in found)]:
        seeds = [runs for (t, _), runs in found.items() if t == task]
        rounds = next(iter(seeds[0].values())).rounds
        counts = BEDS[task].counts
        title = f"{task} ({BEDS[task].family}, {counts} counts, {rounds} rounds, {len(seeds)} seeds)"
        rows = [[title, "rank", "simple", "at half", "cumulative", "CPU ms", "failures"]]
        for name in sorted(seeds[0], key=lambda name: mean_rank(found, name, [task]).mean):
            own = [runs[name] for runs in seeds]
            rows.append(
                [
                    f"  {name}",
                    f"{mean_rank(found, name, [task]).mean:.1f}",
                    with_error(Mean.of(row.simple for row in own)),
                    with_error(Mean.of(row.simple_half for row in own)),
                    with_error(Mean.of(row.cumulative / row.rounds for row in own)),
                    number(1000 * cpu(own)),
                    str(sum(row.failures for row in own) or ""),
                ]
            )
        blocks.append("\n".join(align_numbers(rows)))
    return "\n\n".join(blocks)


def summary_rows(found: Cells) -> list[list[str]]:
    """Mean ranks, over all tasks and in each family, and the CPU time of an ask."""
    families = [family for family in FAMILIES if any(BEDS[task].family == family for task, _ in found)]
    rows = [["", "mean rank", *families, "CPU ms per ask", "version"]]
    for name in names(found):
        own: list[Row] = [runs[name] for runs in found.values()]
        versions = sorted({row.version.rpartition(" ")[0] for row in own})  # without the mark
        rows.append(
            [
                name,
                with_error(mean_rank(found, name), 2),
                *(
                    f"{mean_rank(found, name, [task for task in BEDS if BEDS[task].family == family]).mean:.2f}"
                    for family in families
                ),
                number(1000 * cpu(own)),
                ", ".join(versions),
            ]
        )
    return rows


def standing_rows(standings: Sequence[Standing]) -> list[list[str]]:
    rows = [["family", "best peer", "default / peer", "95 % from", "to", "seeds", "no worse than 1.1"]]
    for one in standings:
        ratios = [f"{math.exp(min(x, 700.0)):.3g}" for x in (one.difference, one.low, one.high)]
        rows.append([one.family, one.peer, *ratios, str(one.seeds), one.verdict])
    return rows


def difference_rows(differences: Sequence[RankDifference]) -> list[list[str]]:
    rows = [["", "default's rank less", "95 % from", "to", "seeds"]]
    for one in differences:
        rows.append([one.other, *(f"{x:+.2f}" for x in (one.difference, one.low, one.high)), str(one.seeds)])
    return rows


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table for the README."""
    head, *rest = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head, "|---|" + "---:|" * (len(rows[0]) - 1), *rest])


def absent(everybody: Sequence[Entrant], shown: Sequence[str], extra: str = "peers") -> str:
    """Who is not installed, whether kept runs stand in, and the extra that would install what is missing."""
    lines = []
    for one in everybody:
        if one.missing:
            stands = "its kept runs are shown" if one.name in shown else "absent"
            why = f"not installed: {', '.join(one.missing)} (pip install '.[{extra}]')"
            lines.append(f"{one.name}: {stands}; {f'made by {FORMER[one.name]}' if one.name in FORMER else why}")
    return "\n".join(lines)


def report(
    found: Cells,
    standings: Sequence[Standing],
    differences: Sequence[RankDifference],
    everybody: Sequence[Entrant],
) -> str:
    """Everything that is printed."""
    if not found:
        return "Nothing to compare: no task and seed has a run of everyone."
    parts = [task_table(found), "\n".join(align_numbers(summary_rows(found)))]
    if standings:
        parts.append(
            "Geometric mean of the regret, the default's as a multiple of the best peer's, one-sided 95 % bounds:\n"
            + "\n".join(align_numbers(standing_rows(standings)))
        )
    if differences:
        parts.append(
            "Difference in mean rank, below 0 where the default is better, one-sided 95 % bounds:\n"
            + "\n".join(align_numbers(difference_rows(differences)))
        )
    parts += [RULES, absent(everybody, names(found))]
    return "\n\n".join(filter(None, parts))
