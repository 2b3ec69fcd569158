"""The whole report: every panel with its picture, its numbers, its comparisons and a verdict.

It is made of an archive (archive.py) alone: the same files give the same text, byte for byte, and nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from reproduction.archive import Archive, Provenance
from reproduction.curves import PUBLISHED
from reproduction.panels import Panel
from reproduction.report import tables
from reproduction.report.document import (
    Block,
    CommandBlock,
    Heading,
    Inline,
    Link,
    Listing,
    Paragraph,
    Picture,
    Strong,
    TableBlock,
    Text,
    find_pictures,
    make_slug,
)
from reproduction.report.html_page import render_html
from reproduction.report.markdown import render_markdown
from reproduction.report.panel_picture import draw_panel
from reproduction.report.rules_and_choices import CHOICES, PAIRS, RULES
from reproduction.report.verdicts import WORDS, ClaimVerdict, JudgedPanel, judge_panel
from reproduction.run_costs import RunCost, format_seconds

TITLE = "The paper's experiments, run again"
PAPER = "Verma, Dai and Low, “Bayesian Optimization under Stochastic Delayed Feedback” (ICML 2022)"
FIGURES = {
    "1": "Figure 1: synthetic functions",
    "2": "Figure 2: tuning an SVM and a CNN",
    "3": "Figure 3: tuning logistic regression",
    "4": "Figure 4: with a context",
    "5": "Figure 5: synthetic functions, Thompson sampling",
}
TEXT, PAGE, RESULTS = "REPORT.md", "report.html", "results"  # files, and the folder of pictures and numbers
ROUNDING = (
    "The same versions give the same runs. Others round otherwise, and once two queries are nearly as good as each "
    "other a run goes another way: single runs differ then, means and verdicts should not."
)


# Files --------------------------------------------------------------------------------------------------------------


def write_report(folder: Path, blocks: Sequence[Block]) -> list[Path]:
    """The report as Markdown and as one HTML page, and its pictures; what was written."""
    written = {
        folder / TEXT: render_markdown(blocks, RESULTS).encode(),
        folder / PAGE: render_html(blocks, TITLE).encode(),
        **{folder / RESULTS / picture.name: picture.png for picture in find_pictures(blocks)},
    }
    for path, content in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return list(written)


# The whole ----------------------------------------------------------------------------------------------------------


def make_report(
    panels: Sequence[Panel],
    archive: Archive,
    *,
    out: str,
    beyond: Sequence[Panel] = (),
    theory: Sequence[Block] = (),
) -> list[Block]:
    """The whole report.

    out     the folder that it will lie in, seen from the checkout
    beyond  panels on data that the paper did not have; they have no claim
    theory  a section about the theorems, with a heading of its own"""
    curves, costs = archive.curves, archive.costs
    judged = [judge_panel(panel, curves) for panel in panels]
    further = [judge_panel(panel, curves) for panel in beyond]
    return [
        Heading(TITLE, 1),
        *make_opening(judged, archive.provenance, out),
        *make_cost_section([*panels, *beyond], costs),
        Heading("Summary"),
        *make_overview(judged),
        Heading("How a verdict is reached"),
        Paragraph(PAIRS),
        Listing(RULES),
        *_make_figure_sections(judged),
        *theory,
        *_make_beyond_sections(further),
        Heading("Choices where the paper is silent"),
        Listing(CHOICES),
    ]


def format_title(panel: Panel) -> str:
    """ "Fig. 2a: ..." for one of the paper's, its own title for another."""
    found = re.fullmatch(r"fig(\d+[a-z])", panel.name)
    return f"Fig. {found[1]}: {panel.title}" if found and not panel.title.startswith("Fig") else panel.title


# The opening --------------------------------------------------------------------------------------------------------


def make_opening(judged: Sequence[JudgedPanel], provenance: Provenance, out: str) -> list[Block]:
    """What this is and how it was provenance."""
    runs = [len(line.seeds) for j in judged for reading in j.readings for line in j.lines[reading].values()]
    of_each = f", {_format_range(sorted(set(runs)))} of each curve" if runs else ""
    ran = sum(bool(j.readings) for j in judged)
    blocks: list[Block] = [
        Paragraph(
            f"Every panel of the figures in {PAPER}, run with belated: the picture as the paper draws it, the numbers, "
            "paired comparisons, and whether the paper's claim holds here. "
            f"{ran} of {len(judged)} panels were run: {sum(runs)} runs{of_each}."
        )
    ]
    if provenance.commands:
        blocks += [Paragraph("Made by"), CommandBlock(provenance.commands)]
    if provenance.versions:
        blocks += [Paragraph(("With ", ", ".join(f"{name} {number}" for name, number in provenance.versions), "."))]
    blocks += [Paragraph(note) for note in (*provenance.notes, ROUNDING)]
    again = f"python -m reproduction report --from {out}/{RESULTS} --out {out}"
    return [
        *blocks,
        Paragraph("The recorded curves are kept; every table and picture is made of them again, without a run, by"),
        CommandBlock((again,)),
    ]


def _format_range(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def make_cost_section(panels: Sequence[Panel], costs: Sequence[RunCost]) -> list[Block]:
    """CPU time, by figure, and who used it."""
    names = {panel.name: _name_figure(panel) for panel in panels}
    counted = [cost for cost in costs if cost.panel in names]
    if not counted:
        return []
    groups = dict.fromkeys(names[panel.name] for panel in panels)
    rows = [
        _make_cost_row(name, group)
        for name in groups
        if (group := [cost for cost in counted if names[cost.panel] == name])
    ]
    learner, objective = sum(c.learner_s for c in counted), sum(c.objective_s for c in counted)
    total = learner + objective or 1.0
    return [
        Paragraph(
            f"CPU time of the panels: {format_seconds(learner + objective)}, "
            f"{learner / total:.0%} for choosing queries and {objective / total:.0%} for evaluating objectives; "
            f"{sum(c.rounds for c in counted):,} queries, "
            f"{1000 * learner / max(1, sum(c.rounds for c in counted)):.0f} ms of choosing for each."
        ),
        TableBlock(("figure", "runs", "queries", "choosing", "evaluating"), tuple(rows), frozenset({1, 2, 3, 4})),
    ]


def _make_cost_row(name: str, costs: Sequence[RunCost]) -> tuple[Text, ...]:
    learner, objective = sum(c.learner_s for c in costs), sum(c.objective_s for c in costs)
    runs = len({cost[:4] for cost in costs})  # a run that was interrupted has several costs
    return name, str(runs), f"{sum(c.rounds for c in costs):,}", format_seconds(learner), format_seconds(objective)


def _name_figure(panel: Panel) -> str:
    found = re.fullmatch(r"fig(\d+)[a-z]", panel.name)
    return f"Figure {found[1]}" if found else "beyond the paper"


def make_overview(judged: Sequence[JudgedPanel]) -> list[Block]:
    """One row per panel, and how many there are of each verdict."""
    words = [j.verdict.word for j in judged]
    counts = "; ".join(f"{word}: {words.count(word)}" for word in WORDS if word in words)
    others = [r for r in ("released", PUBLISHED) if any(r in j.lines or r in j.panel.readings for j in judged)]
    rows = tuple(
        (_link_panel(j.panel), _format_word(j.verdict), *(_format_word(j.verdicts.get(r)) for r in others))
        for j in judged
    )
    names = {"released": "released reading", PUBLISHED: "the authors' own runs"}
    return [
        Paragraph(f"The paper's claims, of {len(judged)} panels: {counts}."),
        TableBlock(("panel", "the claim, here", *(names[r] for r in others)), rows),
    ]


def _link_panel(panel: Panel) -> Link:
    return Link(format_title(panel), f"#{make_slug(format_title(panel))}")


def _format_word(found: ClaimVerdict | None) -> Text:
    if found is None:
        return tables.NONE
    return Strong(found.word) if found.word == "holds" else found.word


# Panels -------------------------------------------------------------------------------------------------------------


def _make_figure_sections(judged: Sequence[JudgedPanel]) -> list[Block]:
    blocks: list[Block] = []
    heading = ""
    for j in judged:
        figure = _name_figure(j.panel)
        if figure != heading:
            heading = figure
            blocks.append(Heading(FIGURES.get(figure.removeprefix("Figure "), figure)))
        blocks += make_panel_section(j)
    return blocks


def _make_beyond_sections(judged: Sequence[JudgedPanel]) -> list[Block]:
    if not judged:
        return []
    return [
        Heading("Beyond the paper"),
        Paragraph(
            "The six algorithms and belated's default on data that the paper did not have. Nothing is claimed. A rank "
            "is a curve's place within a seed, 1 for the least, by the quantity that is compared above."
        ),
        *([tables.tabulate_ranks(judged)] if any(j.readings for j in judged) else []),
        *(block for j in judged for block in make_panel_section(j)),
    ]


def make_panel_section(judged: JudgedPanel) -> list[Block]:
    """A panel: picture, claim and verdict, means, comparisons."""
    panel = judged.panel
    if not judged.readings:
        return [Heading(format_title(panel), 3), *_make_claim(judged), Paragraph("Not run.")]
    notes = _list_notes(judged)
    return [
        Heading(format_title(panel), 3),
        Picture(f"{panel.name}.png", format_title(panel), draw_panel(judged, format_title(panel), "; ".join(notes))),
        *_make_claim(judged),
        *([Paragraph(f"Note: {'; '.join(notes)}.")] if notes else []),
        tables.tabulate_means(judged),
        *([tables.tabulate_comparisons(judged)] if any(judged.pairs.values()) else []),
    ]


def _list_notes(judged: JudgedPanel) -> list[str]:
    """What a reader must know about the picture: parts that are missing."""
    panel = judged.panel
    notes = [f"only {judged.last} of {panel.iterations} iterations"] if judged.last < panel.iterations else []
    if "released" in panel.readings and PUBLISHED not in judged.lines:
        notes.append("the published results are not at hand")
    missing = [curve.label for r in judged.readings for curve in panel.curves if curve.key not in judged.lines[r]]
    return [*notes, *([f"not run: {', '.join(dict.fromkeys(missing))}"] if missing else [])]


def _make_claim(judged: JudgedPanel) -> list[Block]:
    """One line: the paper's claim and whether it holds. Under it the other readings, and the authors' own runs."""
    panel = judged.panel
    if panel.claim is None:
        return []
    claim = f"The paper: {panel.claim.text.rstrip('.')}."
    if not judged.readings:
        return [Paragraph(claim)]
    others = [reading for reading in judged.verdicts if reading != panel.readings[0]]
    names = {"released": "As the released program has it", PUBLISHED: "The authors' published runs, by the same rules"}
    items = tuple((f"{names[reading]}: ", *_phrase_verdict(judged.verdicts[reading])) for reading in others)
    return [Paragraph((f"{claim} Verdict: ", *_phrase_verdict(judged.verdict))), *([Listing(items)] if items else [])]


def _phrase_verdict(found: ClaimVerdict) -> tuple[Inline, ...]:
    return Strong(found.word), f" – {found.because}." if found.because else "."
