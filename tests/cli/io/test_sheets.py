"""Rows of tables, whatever separates their cells."""

from pathlib import Path

import pytest

from belated.cli.io.sheets import read_table
from belated.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "separator", "rows"),
    [
        ("a,b\n1,2\n", ",", [["a", "b"], ["1", "2"]]),
        ("a;b\r\n1,5;2\r\n", ";", [["a", "b"], ["1,5", "2"]]),
        ("a\tb\n1\t2\n", "\t", [["a", "b"], ["1", "2"]]),
        ('"a;x";"b;y,z,w"\n1;2\n', ";", [["a;x", "b;y,z,w"], ["1", "2"]]),
        ("a\n1\n", ",", [["a"], ["1"]]),
        ("\ufeff\n\na;b\n;\n1;2", ";", [["a", "b"], ["1", "2"]]),
        ('a;b\n"two\nlines";2\n', ";", [["a", "b"], ["two\nlines", "2"]]),
    ],
)
def test_the_separator_is_that_of_the_titles(tmp_path: Path, text: str, separator: str, rows: list[list[str]]) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    found, lines = read_table(path)
    assert (found, [cells for _, cells in lines]) == (separator, rows)


def test_rows_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,2\n" + b"3,4\n" * 100_000 + b"\xff,1\n")
    _, lines = read_table(path)
    assert next(lines) == (1, ["a", "b"])
    assert next(lines) == (2, ["1", "2"])
    with pytest.raises(InvalidInput, match=r"must be UTF-8 text \(byte 400009 is not\); save it as CSV UTF-8"):
        list(lines)


def test_what_is_no_workbook_is_said(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    (tmp_path / "a.xlsx").write_text("a,b\n")
    for name, sentence in (("a.xlsx", "is not a workbook of Excel's"), ("b.xlsx", "cannot be read")):
        with pytest.raises(InvalidInput, match=sentence):
            list(read_table(tmp_path / name)[1])
