"""What was found: verdicts on all claims with their intervals, effects pooled over panels, and a picture of them."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.curves import PUBLISHED
from reproduction.panels import Claim
from reproduction.report.document import Block, Code, Heading, Listing, Paragraph, Picture, Strong, TableBlock, Text
from reproduction.report.effects_picture import draw_effects
from reproduction.report.formatting import NONE, format_percentage, format_size
from reproduction.report.naming import format_short_name, link_panel
from reproduction.report.pooling import POOLS, SIMPLE, Effect, count_lower, pool_groups
from reproduction.report.verdict_rule import PAIRS, RULE
from reproduction.report.verdicts import (
    WORDS,
    CurvePair,
    JudgedPanel,
    format_difference,
    list_readings,
    name_difference,
)

PICTURE = "effects.png"


def make_findings(judged: Sequence[JudgedPanel], reading: str) -> list[Block]:
    """The whole section, of the reading that the report is about."""
    pooled = pool_groups(judged, reading)
    return [
        Heading("What was found"),
        *_summarize_findings(judged, reading),
        Heading("Claims", 3),
        Paragraph(
            "A difference is negative where it is as claimed, and near 0 where two curves should be alike. "
            "“Detectable” is the smallest true difference that so many pairs show in four of five cases. A claim is "
            "contradicted at a level that is corrected for the number of its comparisons, so an interval just above 0 "
            "can be unresolved. The whole rule is below."
        ),
        tabulate_claims(judged),
        *(_make_pooled_section(judged, reading, pooled) if pooled else []),
        Heading("How a verdict is reached", 3),
        Paragraph(PAIRS),
        Listing(RULE),
    ]


def _summarize_findings(judged: Sequence[JudgedPanel], reading: str) -> list[Block]:
    """The verdicts of every reading, and what the panels of simple regret come to together."""
    readings = list_readings(judged)
    blocks: list[Block] = [Paragraph(_count_verdicts(judged, reading))]
    if readings:
        blocks.append(tabulate_words(judged, readings))
    if PUBLISHED in readings:
        blocks.append(Paragraph((Code(PUBLISHED), " are the authors' own runs, of the SVM panels, by the same rule.")))
    overall = tuple(text for each in readings if (text := _describe_overall(judged, each)))
    if overall:
        blocks += [
            Paragraph(
                "Over the panels of simple regret with baselines: in how many comparisons the SDF method's mean is the "
                "lower one, and its regret relative to the baseline's, pooled, with the 95 % interval:"
            ),
            Listing(overall),
        ]
    return blocks


def _describe_overall(judged: Sequence[JudgedPanel], reading: str) -> Text:
    """One reading; empty where its panels of simple regret were not all run."""
    effects = pool_groups(judged, reading).get(SIMPLE, [])
    if not effects or any(effect.panels < len(POOLS[SIMPLE]) for effect in effects):
        return ""
    lower, of = count_lower(judged, reading)
    words = "; ".join(
        f"against {effect.baseline} {format_percentage(effect.mean.mean, effect.interval)} %, {effect.word}"
        for effect in effects
    )
    return Code(reading), f": {lower} of {of}; {words}."


def _count_verdicts(judged: Sequence[JudgedPanel], reading: str) -> str:
    words = [j.verdict.word for j in judged]
    said = [word for word in WORDS if word != "not run" or word in words]
    counts = ", ".join(f"{words.count(word) or 'none'} {word}" for word in said)
    words_of = [[j.verdicts[r].word for r in j.readings if j.has_enough(r)] for j in judged if j.panel.claim]
    several = [found for found in words_of if len(found) > 1]
    same = sum(len(set(found)) == 1 for found in several)
    alike = f" {same} of {len(several)} have the same verdict in all readings that were run:" if several else ""
    return f"The claims of {len(judged)} panels, in the reading {reading}: {counts}.{alike}"


def tabulate_words(judged: Sequence[JudgedPanel], readings: Sequence[str]) -> TableBlock:
    """A row for every reading: the panels of each verdict."""
    words = [word for word in WORDS if word != "not run"]
    return TableBlock(
        ("reading", *words),
        tuple((reading, *(_list_panels(judged, reading, word) for word in words)) for reading in readings),
    )


def _list_panels(judged: Sequence[JudgedPanel], reading: str, word: str) -> str:
    found = [j for j in judged if reading in j.verdicts and j.verdicts[reading].word == word]
    named = (
        format_short_name(j.panel).removeprefix("Fig. ") + ("" if j.has_enough(reading) else " (too few runs)")
        for j in found
    )
    return ", ".join(named) or NONE


# Claims -------------------------------------------------------------------------------------------------------------


def tabulate_claims(judged: Sequence[JudgedPanel]) -> TableBlock:
    """A row per comparison; the first one of a panel has the claim and its verdict."""
    return TableBlock(
        (
            "panel",
            "the paper's claim, and the verdict",
            "comparison",
            "pairs",
            "difference [95 %]",
            "detectable",
            "this comparison",
        ),
        tuple(row for j in judged if j.panel.claim is not None for row in _list_claim_rows(j, j.panel.claim)),
        frozenset({3, 4, 5}),
    )


def _list_claim_rows(judged: JudgedPanel, claim: Claim) -> list[tuple[Text, ...]]:
    opening: tuple[Text, ...] = (
        link_panel(judged.panel, format_short_name(judged.panel)),
        (f"{claim.text.rstrip('.')}: ", Strong(judged.verdict.word)),
    )
    pairs = judged.pairs.get(judged.first, ())
    if not pairs:
        return [(*opening, "", "", "", "", "")]
    return [(*(opening if pair is pairs[0] else ("", "")), *_list_pair_cells(judged, pair)) for pair in pairs]


def _list_pair_cells(judged: JudgedPanel, pair: CurvePair) -> tuple[Text, ...]:
    return (
        name_difference(judged.panel, pair) + (", alike" if pair.claimed == "alike" else ""),
        str(pair.decides.pairs),
        format_difference(pair),
        format_size(pair.detectable),
        pair.word,
    )


# Pooled -------------------------------------------------------------------------------------------------------------


def _make_pooled_section(judged: Sequence[JudgedPanel], reading: str, pooled: dict[str, list[Effect]]) -> list[Block]:
    return [
        Heading("Pooled over panels", 3),
        Paragraph(
            "SDF against the baseline that ignores what is pending (GP-UCB, asy-TS), and against the one that "
            "hallucinates it (GP-BUCB, GP-BTS), in per cent of the baseline's regret; negative favours SDF."
        ),
        tabulate_pooled(pooled),
        Heading("All effects", 3),
        Paragraph(
            f"Every comparison of an SDF method with a baseline, in the reading {reading}. Panels without baselines "
            "are in the table of claims alone."
        ),
        Picture(PICTURE, "All effects with 95 % intervals", draw_effects(judged, reading)),
    ]


def tabulate_pooled(pooled: dict[str, list[Effect]]) -> TableBlock:
    """A row for every group of panels and kind of baseline."""
    return TableBlock(
        ("panels", "SDF against", "panels run", "seeds", "difference in % [95 %]", "detectable", "verdict"),
        tuple(
            (
                name,
                effect.baseline,
                f"{effect.panels} of {len(POOLS[name])}",
                str(effect.seeds),
                format_percentage(effect.mean.mean, effect.interval),
                format_size(100 * effect.detectable),
                Strong(effect.word),
            )
            for name, effects in pooled.items()
            for effect in effects
        ),
        frozenset({2, 3, 4, 5}),
    )
