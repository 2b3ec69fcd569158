"""A report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reproduction.report.document import (
    Block,
    Code,
    CommandBlock,
    Emphasis,
    Heading,
    Inline,
    Link,
    Listing,
    Paragraph,
    Picture,
    Strong,
    TableBlock,
    Text,
    split_inlines,
)

MARKUP = re.compile(r"([\\`*_<\[|$~&])")
BLOCK_MARKUP = re.compile(r"^(\s*)([#>+-]|\d+[.)])(?=\s|$)")


def render_markdown(blocks: Sequence[Block], folder: str = "") -> str:
    """As Markdown; pictures lie in `folder`, seen from where the text will stand."""
    place = f"{folder.rstrip('/')}/" if folder else ""
    return "\n\n".join(_render_block(block, place) for block in blocks) + "\n"


def _render_block(block: Block, place: str) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_render_text(text)}"
        case Paragraph(text):
            return _render_line(text)
        case Listing(items):
            return "\n".join(f"- {_render_line(item)}" for item in items)
        case CommandBlock(lines):
            return "\n".join(["```sh", *lines, "```"])
        case Picture(name, alt, _):
            return f"![{_render_text(alt)}]({place}{name})"
        case TableBlock(titles, rows, numbers):
            rule = ["---:" if column in numbers else "---" for column in range(len(titles))]
            cells = [
                [_render_text(cell) for cell in titles],
                rule,
                *([_render_text(cell) for cell in row] for row in rows),
            ]
            return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _render_line(text: Text) -> str:
    """A text that begins a line: what would make it a heading or a list there is meant literally too."""
    return BLOCK_MARKUP.sub(lambda m: f"{m[1]}{m[2][:-1]}\\{m[2][-1]}", _render_text(text))


def _render_text(text: Text) -> str:
    return "".join(map(_render_inline, split_inlines(text))).replace("\n", " ")


def _render_inline(part: Inline) -> str:
    match part:
        case Strong(text):
            return f"**{_escape(text)}**"
        case Emphasis(text):
            return f"*{_escape(text)}*"
        case Code(text):
            fence = "`" * (1 + max(map(len, re.findall(r"`+", text)), default=0))
            inner = f" {text} " if text.startswith("`") or text.endswith("`") else text
            return f"{fence}{inner}{fence}".replace("|", r"\|")
        case Link(text, target):
            return f"[{_escape(text)}]({target})"
        case str():
            return _escape(part)


def _escape(text: str) -> str:
    return MARKUP.sub(r"\\\1", text)
