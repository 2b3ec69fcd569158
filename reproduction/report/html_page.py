"""A report as one HTML page."""

from __future__ import annotations

import base64
import html
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
    make_slug,
    split_inlines,
)

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
h4 { font-size: 1rem; margin: 2rem 0 .6rem }
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


def render_html(blocks: Sequence[Block], title: str) -> str:
    """As one HTML page that needs nothing besides itself."""
    body = "\n".join(_render_block(block) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{CSS}\n</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _render_block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f'<h{level} id="{make_slug(text)}">{_render_text(text)}</h{level}>'
        case Paragraph(text):
            return f"<p>{_render_text(text)}</p>"
        case Listing(items):
            return f"<ul>\n{''.join(f'<li>{_render_text(item)}</li>' + chr(10) for item in items)}</ul>"
        case CommandBlock(lines):
            return f"<pre><code>{html.escape(chr(10).join(lines))}</code></pre>"
        case Picture(_, alt, png):
            return f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
        case TableBlock(titles, rows, numbers):
            head = _render_row("th", titles, numbers)
            body = "\n".join(_render_row("td", row, numbers) for row in rows)
            return f'<div class="wide"><table>\n<thead>\n{head}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'


def _render_row(tag: str, cells: Sequence[Text], numbers: frozenset[int]) -> str:
    marks = (' class="n"' if column in numbers else "" for column in range(len(cells)))
    return f"<tr>{''.join(f'<{tag}{m}>{_render_text(c)}</{tag}>' for m, c in zip(marks, cells, strict=True))}</tr>"


def _render_text(text: Text) -> str:
    return "".join(map(_render_inline, split_inlines(text)))


def _render_inline(part: Inline) -> str:
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
