"""A report as values: headings, paragraphs, lists, tables and pictures.

Bold, emphasised and linked words are values as well (`Strong("holds")`), so plain text needs no markup: both renderers
(markdown.py, html_page.py) show exactly what stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# Inside a line ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Strong:
    text: str


@dataclass(frozen=True)
class Emphasis:
    text: str


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Link:
    text: str
    target: str  # an address, or "#" and the slug of a heading


Inline = str | Strong | Emphasis | Code | Link
Text = Inline | tuple[Inline, ...]


def split_inlines(text: Text) -> tuple[Inline, ...]:
    """The parts of a text."""
    return text if isinstance(text, tuple) else (text,)


def extract_text(text: Text) -> str:
    """The words alone."""
    return "".join(part if isinstance(part, str) else part.text for part in split_inlines(text))


# Blocks -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    text: Text


@dataclass(frozen=True)
class Listing:
    items: tuple[Text, ...]


@dataclass(frozen=True)
class CommandBlock:
    """Lines for a shell."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class TableBlock:
    """Columns are flush left; those named in `numbers` (by position) flush right."""

    titles: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]
    numbers: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.titles) for row in self.rows):
            raise ValueError(f"every row must have {len(self.titles)} cells, as many as there are titles")


@dataclass(frozen=True)
class Picture:
    """A PNG with a name of its own, such as "fig1a.png"."""

    name: str
    alt: str
    png: bytes


Block = Heading | Paragraph | Listing | CommandBlock | TableBlock | Picture


def make_slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def find_pictures(blocks: Iterable[Block]) -> list[Picture]:
    """The pictures among the blocks."""
    return [block for block in blocks if isinstance(block, Picture)]
