"""Docstrings become Markdown: examples are blocks, aligned columns are tables, and text stays text."""

from website.markdown import write_markdown


def test_an_example_becomes_a_block() -> None:
    docstring = "The seed.\n\n>>> 1 + 1\n2\n\nMore."
    assert write_markdown(docstring) == "The seed.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."


def test_an_example_right_below_its_text_becomes_a_block_too() -> None:
    assert write_markdown("As here:\n>>> f()\n1") == "As here:\n\n```pycon\n>>> f()\n1\n```"


def test_aligned_columns_become_a_table() -> None:
    docstring = "url    where it is kept\nname   what it is called:\n       a | b_c"
    rows = ["| `url` | where it is kept |", "| `name` | what it is called: a \\| b\\_c |"]
    assert write_markdown(docstring).splitlines() == ["| | |", "|---|---|", *rows]


def test_text_stays_as_it_is() -> None:
    docstring = "One paragraph\nof two lines.\n\nAnother  one, with two spaces: as in\nold letters."
    assert write_markdown(docstring) == docstring
