"""A report as values: headings, paragraphs, lists, tables and pictures, and two ways to write them down.

Words with a look of their own are values as well (`Strong("holds")`), so that plain text means itself: whatever stands
in it, both renderers show exactly that.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Sequence
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


def inlines(text: Text) -> tuple[Inline, ...]:
    """The parts of a text."""
    return text if isinstance(text, tuple) else (text,)


def plain(text: Text) -> str:
    """The words alone."""
    return "".join(part if isinstance(part, str) else part.text for part in inlines(text))


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
class Commands:
    """Lines for a shell."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Table:
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


Block = Heading | Paragraph | Listing | Commands | Table | Picture


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def pictures_in(blocks: Iterable[Block]) -> list[Picture]:
    """The pictures among the blocks."""
    return [block for block in blocks if isinstance(block, Picture)]


# Markdown -----------------------------------------------------------------------------------------------------------

MEANT_LITERALLY = re.compile(r"([\\`*_<\[|$~&])")
AT_THE_START = re.compile(r"^(\s*)([#>+-]|\d+[.)])(?=\s|$)")


def markdown(blocks: Sequence[Block], folder: str = "") -> str:
    """As Markdown; pictures lie in `folder`, seen from where the text will stand."""
    place = f"{folder.rstrip('/')}/" if folder else ""
    return "\n\n".join(_md_block(block, place) for block in blocks) + "\n"


def _md_block(block: Block, place: str) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_md(text)}"
        case Paragraph(text):
            return _md_line(text)
        case Listing(items):
            return "\n".join(f"- {_md_line(item)}" for item in items)
        case Commands(lines):
            return "\n".join(["```sh", *lines, "```"])
        case Picture(name, alt, _):
            return f"![{_md(alt)}]({place}{name})"
        case Table(titles, rows, numbers):
            rule = ["---:" if column in numbers else "---" for column in range(len(titles))]
            cells = [[_md(cell) for cell in titles], rule, *([_md(cell) for cell in row] for row in rows)]
            return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _md_line(text: Text) -> str:
    """A text that begins a line: what would make it a heading or a list there is meant literally too."""
    return AT_THE_START.sub(lambda m: f"{m[1]}{m[2][:-1]}\\{m[2][-1]}", _md(text))


def _md(text: Text) -> str:
    return "".join(map(_md_inline, inlines(text))).replace("\n", " ")


def _md_inline(part: Inline) -> str:
    match part:
        case Strong(text):
            return f"**{_literal(text)}**"
        case Emphasis(text):
            return f"*{_literal(text)}*"
        case Code(text):
            fence = "`" * (1 + max(map(len, re.findall(r"`+", text)), default=0))
            inner = f" {text} " if text.startswith("`") or text.endswith("`") else text
            return f"{fence}{inner}{fence}".replace("|", r"\|")
        case Link(text, target):
            return f"[{_literal(text)}]({target})"
        case str():
            return _literal(part)


def _literal(text: str) -> str:
    return MEANT_LITERALLY.sub(r"\\\1", text)


# HTML ---------------------------------------------------------------------------------------------------------------

CSS = """
:root { color-scheme: light dark; --ink: #1f1f1f; --soft: #555; --line: #ddd; --paper: #fff; --tint: #f5f5f3;
        --link: #0072b2 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e6e3; --soft: #aaa; --line: #444; --paper: #1a1b1d; --tint: #26282b; --link: #6db8e8 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 62rem; padding: 1.2rem 1rem 4rem; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: break-word }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 1rem 0 }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .8rem; padding-top: .6rem; border-top: 1px solid var(--line) }
h3 { font-size: 1.1rem; margin: 2.2rem 0 .6rem }
a { color: var(--link) }
img { display: block; max-width: 100%; height: auto; margin: 1rem 0; background: #fff; border-radius: 4px }
.wide { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse; font-size: .86rem; line-height: 1.35; font-variant-numeric: tabular-nums }
th, td { padding: .32rem .7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
th { color: var(--soft); font-weight: 600; border-bottom-width: 2px; vertical-align: bottom }
th.n, td.n { text-align: right; white-space: nowrap }
code, pre { font: .9em/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
code, pre { background: var(--tint); border-radius: 3px }
code { padding: .1em .3em }
pre { padding: .8rem 1rem; overflow-x: auto }
pre code { padding: 0; background: none }
li { margin: .35rem 0 }
""".strip()


def page(blocks: Sequence[Block], title: str) -> str:
    """As one HTML page that needs nothing besides itself."""
    body = "\n".join(_html_block(block) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{CSS}\n</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html_block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f'<h{level} id="{slug(text)}">{_html(text)}</h{level}>'
        case Paragraph(text):
            return f"<p>{_html(text)}</p>"
        case Listing(items):
            return f"<ul>\n{''.join(f'<li>{_html(item)}</li>' + chr(10) for item in items)}</ul>"
        case Commands(lines):
            return f"<pre><code>{html.escape(chr(10).join(lines))}</code></pre>"
        case Picture(_, alt, png):
            return f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
        case Table(titles, rows, numbers):
            head = _html_row("th", titles, numbers)
            body = "\n".join(_html_row("td", row, numbers) for row in rows)
            return f'<div class="wide"><table>\n<thead>\n{head}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'


def _html_row(tag: str, cells: Sequence[Text], numbers: frozenset[int]) -> str:
    marks = (' class="n"' if column in numbers else "" for column in range(len(cells)))
    return f"<tr>{''.join(f'<{tag}{m}>{_html(c)}</{tag}>' for m, c in zip(marks, cells, strict=True))}</tr>"


def _html(text: Text) -> str:
    return "".join(map(_html_inline, inlines(text)))


def _html_inline(part: Inline) -> str:
    match part:
        case Strong(text):
            return f"<strong>{html.escape(text)}</strong>"
        case Emphasis(text):
            return f"<em>{html.escape(text)}</em>"
        case Code(text):
            return f"<code>{html.escape(text)}</code>"
        case Link(text, target):
            return f'<a href="{html.escape(target)}">{html.escape(text)}</a>'
        case str():
            return html.escape(part)
