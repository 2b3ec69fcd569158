"""The Markdown shows every block, and plain text as it stands."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.report.document import (
    Paragraph,
    TableBlock,
)
from reproduction.report.markdown import render_markdown
from tests.reproduction.report.example_blocks import BLOCKS


def test_markdown_of_everything() -> None:
    assert render_markdown(BLOCKS, "results") == (
        "# A \\& B\n\n"
        "It **holds** in *mean*, see `a\\|b`[there](#a--b).\n\n"
        "- one\n- two **2**\n\n"
        "```sh\npython -m reproduction list\necho '<a>' && echo b\n```\n\n"
        "| x | p |\n| --- | ---: |\n| a\\*b | 0.1 |\n| c\\|d | \\<0.0001 |\n\n"
        "![a picture](results/a.png)\n"
    )


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)


@given(words)
def test_markdown_marks_in_plain_text_are_escaped(text: str) -> None:
    line = render_markdown([TableBlock((text,), ((text,),))])
    assert len(line.splitlines()) == 3 + len(text.splitlines()[1:]) * 2 or "\x85" in text
    bare = re.sub(r"\\[\\`*_<\[|$~&]", "", render_markdown([Paragraph(text)]))
    assert not re.search(r"[`*_<\[|$~&\\]", re.sub(r"^\s*(?:\\[#>+-]|\d+\\[.)])", "", bare))


@pytest.mark.parametrize("text", ["# no heading", "- no list", "+ none", "1. none", "12) none", "> no quote"])
def test_a_paragraph_does_not_begin_as_something_else(text: str) -> None:
    first = render_markdown([Paragraph(text)]).split()[0]
    assert first.replace("\\", "") == text.split()[0]
    assert "\\" in first
