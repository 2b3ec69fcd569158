"""What panels and figures are called in the report, and links to their sections."""

from __future__ import annotations

import re

from reproduction.panels import Panel
from reproduction.report.document import Link, make_slug


def format_title(panel: Panel) -> str:
    """ "Fig. 2a: ..." for one of the paper's, its own title for another."""
    short = format_short_name(panel)
    return f"{short}: {panel.title}" if short != panel.name else panel.title


def format_short_name(panel: Panel) -> str:
    """ "Fig. 2a" for one of the paper's, its own name for another."""
    found = re.fullmatch(r"fig(\d+[a-z])", panel.name)
    return f"Fig. {found[1]}" if found else panel.name


def name_figure(panel: Panel) -> str:
    """ "Figure 2" for one of the paper's."""
    found = re.match(r"fig(\d+)[a-z]", panel.name)
    return f"Figure {found[1]}" if found else "beyond the paper"


def link_panel(panel: Panel, text: str) -> Link:
    """A link to the section of a panel."""
    return Link(text, f"#{make_slug(format_title(panel))}")
