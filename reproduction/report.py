"""The reproduction as a report: every panel with its picture, its numbers, its comparisons and a verdict.

Everything in it follows from what `kept` keeps: the same files give the same text, byte for byte, and nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from reproduction import pictures, tables
from reproduction.blocks import (
    Block,
    Commands,
    Heading,
    Inline,
    Link,
    Listing,
    Paragraph,
    Picture,
    Strong,
    Table,
    Text,
    markdown,
    page,
    pictures_in,
    slug,
)
from reproduction.choices import CHOICES, PAIRS, RULES
from reproduction.curves import PUBLISHED, Cost, Curves
from reproduction.kept import Made
from reproduction.panels import Panel
from reproduction.verdicts import WORDS, Judged, Verdict, judge

TITLE = "The paper's experiments, run again"
PAPER = "Verma, Dai and Low, “Bayesian Optimization under Stochastic Delayed Feedback” (ICML 2022)"
FIGURES = {
    "1": "Figure 1: synthetic functions",
    "2": "Figure 2: tuning an SVM and a CNN",
    "3": "Figure 3: tuning logistic regression",
    "4": "Figure 4: with a context",
    "5": "Figure 5: synthetic functions, Thompson sampling",
}
TEXT, PAGE = "REPRODUCTION.md", "report.html"
ROUNDING = (
    "The same versions give the same runs. Others round otherwise, and once two queries are nearly as good as each "
    "other a run goes another way: single runs differ then, means and verdicts should not."
)
FOLDER = "docs/paper"  # of the pictures and files, seen from the text


# Files --------------------------------------------------------------------------------------------------------------


def write(folder: Path, blocks: Sequence[Block], place: str = FOLDER) -> list[Path]:
    """The report as REPRODUCTION.md with its pictures in `place`, and as one HTML page; what was written."""
    written = {
        folder / TEXT: markdown(blocks, place).encode(),
        folder / PAGE: page(blocks, TITLE).encode(),
        **{folder / place / picture.name: picture.png for picture in pictures_in(blocks)},
    }
    for path, content in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return list(written)


# The whole ----------------------------------------------------------------------------------------------------------


def sections(
    panels: Sequence[Panel],
    curves: Curves,
    costs: Sequence[Cost] = (),
    made: Made | None = None,
    *,
    beyond: Sequence[Panel] = (),
    theory: Sequence[Block] = (),
    place: str = FOLDER,
) -> list[Block]:
    """The whole report.

    beyond  panels on data that the paper did not have; they have no claim
    theory  a page about the theorems, with a heading of its own
    place   where the files will lie, seen from the text"""
    judged = [judge(panel, curves) for panel in panels]
    further = [judge(panel, curves) for panel in beyond]
    return [
        Heading(TITLE, 1),
        *opening(judged, made or Made(), place),
        *spent([*panels, *beyond], costs),
        Heading("Summary"),
        *overview(judged),
        Heading("How a verdict is reached"),
        Paragraph(PAIRS),
        Listing(RULES),
        *_by_figure(judged),
        *theory,
        *_beyond(further),
        Heading("Choices where the paper is silent"),
        Listing(CHOICES),
    ]


def title(panel: Panel) -> str:
    """ "Fig. 2a: ..." for one of the paper's, its own title for another."""
    found = re.fullmatch(r"fig(\d+[a-z])", panel.name)
    return f"Fig. {found[1]}: {panel.title}" if found and not panel.title.startswith("Fig") else panel.title


# The opening --------------------------------------------------------------------------------------------------------


def opening(judged: Sequence[Judged], made: Made, place: str) -> list[Block]:
    """What this is and how it was made."""
    runs = [len(line.seeds) for j in judged for reading in j.ran for line in j.lines[reading].values()]
    of_each = f", {_range(sorted(set(runs)))} of each curve" if runs else ""
    ran = sum(bool(j.ran) for j in judged)
    blocks: list[Block] = [
        Paragraph(
            f"Every panel of the figures in {PAPER}, run with belated: the picture as the paper draws it, the numbers, "
            "paired comparisons, and whether the paper's claim holds here. "
            f"{ran} of {len(judged)} panels were run: {sum(runs)} runs{of_each}."
        )
    ]
    if made.commands:
        blocks += [Paragraph("Made by"), Commands(made.commands)]
    if made.versions:
        blocks += [Paragraph(("With ", ", ".join(f"{name} {number}" for name, number in made.versions), "."))]
    blocks += [Paragraph(note) for note in (*made.notes, ROUNDING)]
    again = f"belated paper report --from {place} --out . --pictures {place}"
    return [
        *blocks,
        Paragraph("The recorded curves are kept; every table and picture is made of them again, without a run, by"),
        Commands((again,)),
    ]


def _range(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def spent(panels: Sequence[Panel], costs: Sequence[Cost]) -> list[Block]:
    """CPU time, by figure, and who used it."""
    names = {panel.name: _figure(panel) for panel in panels}
    counted = [cost for cost in costs if cost.panel in names]
    if not counted:
        return []
    groups = dict.fromkeys(names[panel.name] for panel in panels)
    rows = [
        _spent_row(name, group) for name in groups if (group := [cost for cost in counted if names[cost.panel] == name])
    ]
    learner, objective = sum(c.learner_s for c in counted), sum(c.objective_s for c in counted)
    total = learner + objective or 1.0
    return [
        Paragraph(
            f"CPU time of the panels: {_hours(learner + objective)}, {learner / total:.0%} for choosing queries and "
            f"{objective / total:.0%} for evaluating objectives; {sum(c.rounds for c in counted):,} queries, "
            f"{1000 * learner / max(1, sum(c.rounds for c in counted)):.0f} ms of choosing for each."
        ),
        Table(("figure", "runs", "queries", "choosing", "evaluating"), tuple(rows), frozenset({1, 2, 3, 4})),
    ]


def _spent_row(name: str, costs: Sequence[Cost]) -> tuple[Text, ...]:
    learner, objective = sum(c.learner_s for c in costs), sum(c.objective_s for c in costs)
    runs = len({cost[:4] for cost in costs})  # a run that was interrupted has several costs
    return name, str(runs), f"{sum(c.rounds for c in costs):,}", _hours(learner), _hours(objective)


def _hours(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


def _figure(panel: Panel) -> str:
    found = re.fullmatch(r"fig(\d+)[a-z]", panel.name)
    return f"Figure {found[1]}" if found else "beyond the paper"


def overview(judged: Sequence[Judged]) -> list[Block]:
    """One row per panel, and how many there are of each verdict."""
    words = [j.verdict.word for j in judged]
    counts = "; ".join(f"{word}: {words.count(word)}" for word in WORDS if word in words)
    others = [r for r in ("released", PUBLISHED) if any(r in j.lines or r in j.panel.readings for j in judged)]
    rows = tuple((_to(j.panel), _word(j.verdict), *(_word(j.verdicts.get(r)) for r in others)) for j in judged)
    names = {"released": "released reading", PUBLISHED: "the authors' own runs"}
    return [
        Paragraph(f"The paper's claims, of {len(judged)} panels: {counts}."),
        Table(("panel", "the claim, here", *(names[r] for r in others)), rows),
    ]


def _to(panel: Panel) -> Link:
    return Link(title(panel), f"#{slug(title(panel))}")


def _word(found: Verdict | None) -> Text:
    if found is None:
        return tables.NONE
    return Strong(found.word) if found.word == "holds" else found.word


# Panels -------------------------------------------------------------------------------------------------------------


def _by_figure(judged: Sequence[Judged]) -> list[Block]:
    blocks: list[Block] = []
    heading = ""
    for j in judged:
        figure = _figure(j.panel)
        if figure != heading:
            heading = figure
            blocks.append(Heading(FIGURES.get(figure.removeprefix("Figure "), figure)))
        blocks += panel_section(j)
    return blocks


def _beyond(judged: Sequence[Judged]) -> list[Block]:
    if not judged:
        return []
    return [
        Heading("Beyond the paper"),
        Paragraph(
            "The six algorithms and belated's default on data that the paper did not have. Nothing is claimed. A rank "
            "is a curve's place within a seed, 1 for the least, by the quantity that is compared above."
        ),
        *([tables.all_ranks(judged)] if any(j.ran for j in judged) else []),
        *(block for j in judged for block in panel_section(j)),
    ]


def panel_section(judged: Judged) -> list[Block]:
    """A panel: picture, claim and verdict, means, comparisons."""
    panel = judged.panel
    if not judged.ran:
        return [Heading(title(panel), 3), *_claim(judged), Paragraph("Not run.")]
    notes = _notes(judged)
    return [
        Heading(title(panel), 3),
        Picture(f"{panel.name}.png", title(panel), pictures.draw(judged, title(panel), "; ".join(notes))),
        *_claim(judged),
        *([Paragraph(f"Note: {'; '.join(notes)}.")] if notes else []),
        tables.means(judged),
        *([tables.comparisons(judged)] if any(judged.pairs.values()) else []),
    ]


def _notes(judged: Judged) -> list[str]:
    """What must be said beside the picture."""
    panel = judged.panel
    notes = [f"only {judged.last} of {panel.iterations} iterations"] if judged.last < panel.iterations else []
    if "released" in panel.readings and PUBLISHED not in judged.lines:
        notes.append("the published results are not at hand")
    missing = [curve.label for r in judged.ran for curve in panel.curves if curve.key not in judged.lines[r]]
    return [*notes, *([f"not run: {', '.join(dict.fromkeys(missing))}"] if missing else [])]


def _claim(judged: Judged) -> list[Block]:
    """One line: the paper's claim and whether it holds. Under it the other readings, and the authors' own runs."""
    panel = judged.panel
    if panel.claim is None:
        return []
    claim = f"The paper: {panel.claim.text.rstrip('.')}."
    if not judged.ran:
        return [Paragraph(claim)]
    others = [reading for reading in judged.verdicts if reading != panel.readings[0]]
    names = {"released": "As the released program has it", PUBLISHED: "The authors' published runs, by the same rules"}
    items = tuple((f"{names[reading]}: ", *_said(judged.verdicts[reading])) for reading in others)
    return [Paragraph((f"{claim} Verdict: ", *_said(judged.verdict))), *([Listing(items)] if items else [])]


def _said(found: Verdict) -> tuple[Inline, ...]:
    return Strong(found.word), f" – {found.because}." if found.because else "."
