"""One panel in the report: picture, claim, verdict by reading, and the means."""

from __future__ import annotations

from reproduction.curves import PUBLISHED
from reproduction.report.document import Block, Code, Heading, Inline, Listing, Paragraph, Picture, Strong
from reproduction.report.naming import format_title
from reproduction.report.panel_picture import draw_panel
from reproduction.report.pooling import SVM_PANELS
from reproduction.report.tables import tabulate_means
from reproduction.report.verdicts import ClaimVerdict, JudgedPanel


def make_panel_section(judged: JudgedPanel, level: int) -> list[Block]:
    """A panel, under a heading of this level: picture, claim and verdicts, means."""
    panel, title = judged.panel, format_title(judged.panel)
    if not judged.readings:
        return [Heading(title, level), *_make_claim(judged), Paragraph("Not run.")]
    notes = _list_notes(judged)
    return [
        Heading(title, level),
        Picture(f"{panel.name}.png", title, draw_panel(judged, title, "; ".join(notes))),
        *_make_claim(judged),
        *([Paragraph(f"Note: {'; '.join(notes)}.")] if notes else []),
        tabulate_means(judged),
    ]


def _list_notes(judged: JudgedPanel) -> list[str]:
    """What a reader must know about the picture: parts that are missing."""
    panel = judged.panel
    notes = [f"only {judged.last} of {panel.iterations} iterations"] if judged.last < panel.iterations else []
    if panel.name in SVM_PANELS and PUBLISHED not in judged.lines:
        notes.append("the published results are not at hand")
    missing = [curve.label for r in judged.readings for curve in panel.curves if curve.key not in judged.lines[r]]
    return [*notes, *([f"not run: {', '.join(dict.fromkeys(missing))}"] if missing else [])]


def _make_claim(judged: JudgedPanel) -> list[Block]:
    """The paper's claim, and what the runs of every reading say of it."""
    if judged.panel.claim is None:
        return []
    claim = f"The paper: {judged.panel.claim.text.rstrip('.')}."
    items = tuple(
        (Code(reading), ", the authors' own runs: " if reading == PUBLISHED else ": ", *_phrase_verdict(found))
        for reading, found in judged.verdicts.items()
    )
    return [Paragraph(claim), *([Listing(items)] if items else [])]


def _phrase_verdict(found: ClaimVerdict) -> tuple[Inline, ...]:
    return Strong(found.word), f" – {found.because}." if found.because else "."
