"""Docstrings become Markdown: examples are blocks, aligned columns and the comments of fields are tables."""

from website.markdown import read_fields, write_markdown


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


def test_comments_behind_fields_become_a_table_before_the_example() -> None:
    docstring = "A receipt.\n\nwho  whose it is\n\n>>> Receipt().late\nFalse"
    source = f'''@dataclass(frozen=True)
class Receipt:
    """{docstring}"""

    who: str = "ü"  # said above already
    late: bool = False  # after "patience" | a b_c
    ways: tuple[str, ...] = (
        "a",
    )  # in order
    bare: int = 0

    def read(self) -> None:
        inner: int = 3  # no field
'''
    fields = read_fields(source, docstring)
    assert fields == [("late", 'after "patience" | a b_c'), ("ways", "in order")]
    parts = write_markdown(docstring, fields).split("\n\n")
    assert parts[0] == "A receipt."
    assert [part[:7] for part in parts[1:]] == ["| | |\n|", "| | |\n|", "```pyco"]
    assert 'after "patience" \\| a b\\_c' in parts[2]
    assert write_markdown("A receipt.", fields).endswith("in order |")
