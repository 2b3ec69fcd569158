"""Plain text means itself in both renderings, and a page needs nothing besides itself."""

import base64
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.blocks import (
    Block,
    Code,
    Commands,
    Emphasis,
    Heading,
    Link,
    Listing,
    Paragraph,
    Picture,
    Strong,
    Table,
    markdown,
    page,
    pictures_in,
    plain,
    slug,
)

BLOCKS: list[Block] = [
    Heading("A & B", 1),
    Paragraph(("It ", Strong("holds"), " in ", Emphasis("mean"), ", see ", Code("a|b"), Link("there", "#a--b"), ".")),
    Listing(("one", ("two ", Strong("2")))),
    Commands(("belated paper list", "echo '<a>' && echo b")),
    Table(("x", "p"), (("a*b", "0.1"), ("c|d", "<0.0001")), frozenset({1})),
    Picture("a.png", "a picture", b"\x89PNG..."),
]


class Read(HTMLParser):
    """The words of a page, its tags, and whether every tag is closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def test_markdown_of_everything() -> None:
    assert markdown(BLOCKS, "docs/paper") == (
        "# A \\& B\n\n"
        "It **holds** in *mean*, see `a\\|b`[there](#a--b).\n\n"
        "- one\n- two **2**\n\n"
        "```sh\nbelated paper list\necho '<a>' && echo b\n```\n\n"
        "| x | p |\n| --- | ---: |\n| a\\*b | 0.1 |\n| c\\|d | \\<0.0001 |\n\n"
        "![a picture](docs/paper/a.png)\n"
    )


def test_a_page_of_everything() -> None:
    read = Read(page(BLOCKS, "A & B"))
    assert read.open == []
    words = "".join(read.words)
    for said in ("A & B", "It holds in mean, see a|bthere.", "echo '<a>' && echo b", "a*b", "<0.0001"):
        assert said in words
    (image,) = (attrs for tag, attrs in read.seen if tag == "img")
    assert base64.b64decode(str(image["src"]).removeprefix("data:image/png;base64,")) == b"\x89PNG..."
    assert ("h1", {"id": "a--b"}) in read.seen
    assert ("td", {"class": "n"}) in read.seen
    assert {tag for tag, _ in read.seen}.isdisjoint({"script", "link", "iframe"})
    assert not re.search(r'(?:src|href)="(?!data:|#)', page(BLOCKS, "A & B"))


BARE = {"html", "head", "meta", "title", "style", "body", "p", "div", "table", "thead", "tbody", "tr", "th", "td"}
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)


@given(words)
def test_plain_text_stays_inside_its_tag(text: str) -> None:
    read = Read(page([Paragraph(text), Table((text,), ((text,),))], text))
    assert read.open == []
    assert "".join(read.words).count(text) >= 4
    assert [tag for tag, _ in read.seen if tag in ("p", "th", "td")] == ["p", "th", "td"]
    assert not {tag for tag, _ in read.seen} - BARE


@given(words)
def test_markdown_marks_in_plain_text_are_escaped(text: str) -> None:
    line = markdown([Table((text,), ((text,),))])
    assert len(line.splitlines()) == 3 + len(text.splitlines()[1:]) * 2 or "\x85" in text
    bare = re.sub(r"\\[\\`*_<\[|$~&]", "", markdown([Paragraph(text)]))
    assert not re.search(r"[`*_<\[|$~&\\]", re.sub(r"^\s*(?:\\[#>+-]|\d+\\[.)])", "", bare))


@pytest.mark.parametrize("text", ["# no heading", "- no list", "+ none", "1. none", "12) none", "> no quote"])
def test_a_paragraph_does_not_begin_as_something_else(text: str) -> None:
    first = markdown([Paragraph(text)]).split()[0]
    assert first.replace("\\", "") == text.split()[0]
    assert "\\" in first


def test_anchors_are_githubs() -> None:
    assert slug("Fig. 2a: SVM, UCB, Poisson(10) delays") == "fig-2a-svm-ucb-poisson10-delays"


def test_small_things() -> None:
    assert plain(("a ", Strong("b"), Code("c"))) == "a bc"
    assert pictures_in(BLOCKS) == [BLOCKS[-1]]
    with pytest.raises(ValueError, match="2 cells"):
        Table(("a", "b"), (("c",),))
