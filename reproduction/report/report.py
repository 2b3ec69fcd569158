"""The whole report: what was found, the choices that decide it, every panel, and an appendix.

It is made of an archive (archive.py) alone: the same files give the same text, byte for byte, and nothing is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from belated.learner.algorithms import find_algorithm
from belated.learner.silence import Ignored
from reproduction.archive import Archive
from reproduction.panels import Panel
from reproduction.report.appendix import make_appendix
from reproduction.report.audit import make_audit_section
from reproduction.report.choices import BEYOND_CHOICES, METHODS, READINGS
from reproduction.report.document import Block, CommandBlock, Heading, Listing, Paragraph, find_pictures
from reproduction.report.findings import make_findings
from reproduction.report.html_page import render_html
from reproduction.report.markdown import render_markdown
from reproduction.report.naming import name_figure
from reproduction.report.panel_section import make_panel_section
from reproduction.report.published_check import make_published_section
from reproduction.report.sensitivity import make_choices_section, make_open_section
from reproduction.report.tables import tabulate_ranks
from reproduction.report.verdicts import JudgedPanel, judge_panel

TITLE = "The paper's experiments, run again"
PAPER = "Verma, Dai and Low, “Bayesian Optimization under Stochastic Delayed Feedback” (ICML 2022)"
FIGURES = {
    "Figure 1": "Figure 1: synthetic functions",
    "Figure 2": "Figure 2: tuning an SVM and a CNN",
    "Figure 3": "Figure 3: tuning logistic regression",
    "Figure 4": "Figure 4: with a context",
    "Figure 5": "Figure 5: synthetic functions, Thompson sampling",
}
TEXT, PAGE, RESULTS = "REPORT.md", "report.html", "results"  # files, and the folder of pictures and numbers


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
    """The whole report; the first reading of the first panel is the one that it is about.

    out     the folder that it will lie in, seen from the checkout
    beyond  panels on data that the paper did not have; they have no claim
    theory  a section about the theorems, with a heading of its own"""
    judged = [judge_panel(panel, archive.curves) for panel in panels]
    further = [judge_panel(panel, archive.curves) for panel in beyond]
    reading = judged[0].first
    return [
        Heading(TITLE, 1),
        *make_opening(judged, reading, out),
        *make_findings(judged, reading),
        Heading("The choices that decide it"),
        *make_choices_section(judged, archive.curves),
        *make_published_section(judged, archive.replayed),
        *make_open_section(),
        *_make_figure_sections(judged),
        *_make_beyond_sections(further),
        *theory,
        *make_appendix(judged, further, archive.costs, archive.provenance),
        *make_audit_section(archive.curves, archive.measurements, archive.replayed),
    ]


def make_opening(judged: Sequence[JudgedPanel], reading: str, out: str) -> list[Block]:
    """What this is, who is compared, the readings, and how it is made again."""
    of_each = [len(line.seeds) for j in judged for r in j.readings for line in j.lines[r].values()]
    each = f", {_format_range(of_each)} of each curve" if of_each else ""
    ran = sum(bool(j.readings) for j in judged)
    return [
        Paragraph(
            f"Every panel of the figures in {PAPER}, run again with belated, and what the runs say of each claim. "
            f"{ran} of {len(judged)} panels were run: {count_runs(judged)} runs{each}."
        ),
        Paragraph(METHODS),
        Paragraph("The paper leaves open which outcomes the models are fitted to, so there are three readings of it:"),
        Listing(READINGS),
        Paragraph(
            f"Where none is named, {reading} is meant. Every table and picture is made of the recorded curves, without "
            "a run, by"
        ),
        CommandBlock((f"python -m reproduction report --from {out}/{RESULTS} --out {out}",)),
    ]


def count_runs(judged: Sequence[JudgedPanel]) -> int:
    """How many runs there are; one of GP-UCB or asy-TS that counts for both text and heard is one."""
    counted = {
        (j.panel.name, key, "text" if reading == "heard" and is_fitted_to_heard(j.panel, key) else reading, seed)
        for j in judged
        for reading in j.readings
        for key, line in j.lines[reading].items()
        for seed in line.seeds
    }
    return len(counted)


def is_fitted_to_heard(panel: Panel, key: str) -> bool:
    """Whether the own data of a curve's method are what was heard, in text as in heard."""
    return find_algorithm(panel.find_curve(key).algorithm).implied.silence == Ignored()


def _format_range(counts: Sequence[int]) -> str:
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


# Panels -------------------------------------------------------------------------------------------------------------


def _make_figure_sections(judged: Sequence[JudgedPanel]) -> list[Block]:
    blocks: list[Block] = [
        Heading("Panels"),
        Paragraph(
            "Means over runs with standard errors, as the paper draws them. Colour says what silence means to a "
            "method, the line how it chooses. The authors' own runs are dotted bands in the four SVM panels; of the "
            "other panels nothing was published, so nothing can be laid over ours."
        ),
    ]
    for figure in dict.fromkeys(name_figure(j.panel) for j in judged):
        group = [j for j in judged if name_figure(j.panel) == figure]
        blocks += [Heading(FIGURES.get(figure, figure), 3), *(b for j in group for b in make_panel_section(j, 4))]
    return blocks


def _make_beyond_sections(judged: Sequence[JudgedPanel]) -> list[Block]:
    if not judged:
        return []
    return [
        Heading("Beyond the paper"),
        Paragraph(
            "The six algorithms and belated's default on data that the paper did not have. Nothing is claimed. A rank "
            "is a curve's place within a seed, 1 for the least, by the quantity that is compared above. "
            f"{BEYOND_CHOICES}"
        ),
        *([tabulate_ranks(judged)] if any(j.readings for j in judged) else []),
        *(block for j in judged for block in make_panel_section(j, 3)),
    ]
