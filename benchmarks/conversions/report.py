"""The tables, in Markdown: shares and ranks, where CPU time ran out, and ours against the best of the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from benchmarks.conversions.kept import Row
from benchmarks.conversions.standings import MARGIN, ByWorld, Standing, mean_ranks
from benchmarks.regret.entrants import Entrant
from benchmarks.regret.report import absent, markdown, with_error

RULES = """\
Share: the true conversion rates of what was shown, as a share of the best possible. Above random: the mean over worlds
of (share - random) / (1 - random). Rank: by share in each world and seed, 1 the best; ± one standard error over seeds.
What an entrant did not choose within its CPU time counts as random: (3.5 d) says after how many days, on average."""


def share_table(found: ByWorld, seeds: Collection[int]) -> str:
    """Mean shares, a row per entrant and a column per world, by mean rank."""
    rows = [["", "mean rank", "above random", *found]]
    for name, rank in mean_ranks(found, seeds).items():
        runs = [[everyone[name][seed] for seed in seeds] for everyone in found.values()]
        above = np.mean([np.mean([row.above_random for row in of]) for of in runs])
        rows.append([name, with_error(rank, 2), f"{above:.3f}", *map(show_share, runs)])
    return markdown(rows)


def describe_versions(found: ByWorld, names: Collection[str]) -> str:
    """Which versions of others' packages took part, without the marks of the code around them."""
    rows = (row for everyone in found.values() for name in names for row in everyone[name].values())
    return "Versions: " + ", ".join(sorted({row.version.rpartition(" ")[0] for row in rows} - {""})) + "."


def show_share(rows: Sequence[Row]) -> str:
    """The mean share, and the day until which there was CPU time for it."""
    reached = float(np.mean([row.reached for row in rows]))
    until = "" if reached >= rows[0].days else f" ({reached:.1f} d)"
    return f"{np.mean([row.share for row in rows]):.3f}{until}"


def daily_table(found: ByWorld, seeds: Collection[int]) -> str:
    """The share of the last day."""
    rows = [["last day", *found]]
    for name in mean_ranks(found, seeds):
        last = [np.mean([everyone[name][seed].daily[-1] for seed in seeds]) for everyone in found.values()]
        rows.append([name, *(f"{share:.3f}" for share in last)])
    return markdown(rows)


def standing_table(standings: Sequence[Standing]) -> str:
    rows = [["world", "ours", "best of the others", "ours / other", "95 % from", "seeds", f"above {MARGIN}"]]
    for one in standings:
        numbers = [f"{one.ratio:.3f}", f"{one.low:.3f}", str(one.seeds)]
        rows.append([one.world, one.entrant, one.peer, *numbers, one.verdict])
    return markdown(rows)


def notes(found: ByWorld) -> str:
    """Errors that ended a run."""
    rows = [row for everyone in found.values() for runs in everyone.values() for row in runs.values() if row.note]
    return "\n".join(f"{row.world}, {row.entrant}, seed {row.seed}: {row.note}" for row in rows)


def report(
    found: ByWorld,
    first: Sequence[int],
    standings: Sequence[Standing],
    everybody: Sequence[Entrant],
    protocol: str,
) -> str:
    """Everything that is printed, in Markdown."""
    shown = list(mean_ranks(found, first))
    if not shown:
        return "Nothing to compare: nobody has a run of every world and seed."
    parts = [protocol, share_table(found, first), describe_versions(found, shown), RULES, daily_table(found, first)]
    if standings:
        parts.append(standing_table(standings))
        parts.append("The best of the others is picked on the first seeds and met on later ones; one-sided 95 % bound.")
    parts += [notes(found), absent(everybody, shown, "bandits")]
    return "\n\n".join(filter(None, parts))
