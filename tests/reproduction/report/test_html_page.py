"""The HTML page shows every block, and plain text as it stands."""

import base64
import re

from hypothesis import given
from hypothesis import strategies as st

from reproduction.report.document import (
    Paragraph,
    TableBlock,
)
from reproduction.report.html_page import render_html
from tests.reproduction.report.example_blocks import BLOCKS
from tests.reproduction.report.page_reader import PageReader


def test_a_page_of_everything() -> None:
    read = PageReader(render_html(BLOCKS, "A & B"))
    assert read.open == []
    words = "".join(read.words)
    for said in ("A & B", "It holds in mean, see a|bthere.", "echo '<a>' && echo b", "a*b", "<0.0001"):
        assert said in words
    (image,) = (attrs for tag, attrs in read.seen if tag == "img")
    assert base64.b64decode(str(image["src"]).removeprefix("data:image/png;base64,")) == b"\x89PNG..."
    assert ("h1", {"id": "a--b"}) in read.seen
    assert ("td", {"class": "n"}) in read.seen
    assert {tag for tag, _ in read.seen}.isdisjoint({"script", "link", "iframe"})
    assert not re.search(r'(?:src|href)="(?!data:|#)', render_html(BLOCKS, "A & B"))


BARE = {"html", "head", "meta", "title", "style", "body", "p", "div", "table", "thead", "tbody", "tr", "th", "td"}


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)


@given(words)
def test_plain_text_stays_inside_its_tag(text: str) -> None:
    read = PageReader(render_html([Paragraph(text), TableBlock((text,), ((text,),))], text))
    assert read.open == []
    assert "".join(read.words).count(text) >= 4
    assert [tag for tag, _ in read.seen if tag in ("p", "th", "td")] == ["p", "th", "td"]
    assert not {tag for tag, _ in read.seen} - BARE
