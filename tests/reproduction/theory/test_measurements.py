"""Measurements survive their file; a broken file is refused."""

import pytest
from numpy.testing import assert_allclose

from belated.errors import Unreadable
from reproduction.theory.measurements import Measurement, group_measurements, read_measurements, write_measurements

ROWS = [
    Measurement("b", "case, with comma", "q", 3, 0.01, 1 / 3),
    Measurement("a", "c", "q", None, 2.0, 12345678.0),
    Measurement("b", "case, with comma", "q", 12, 0.01, -2e-9),
]


@pytest.mark.parametrize("name", ["theory.csv", "theory.csv.gz"])
def test_rows_survive_their_file(tmp_path, name):
    path, again = tmp_path / name, tmp_path / f"again-{name}"
    write_measurements(path, ROWS)
    rows = read_measurements(path)
    assert [row[:5] for row in rows] == [ROWS[i][:5] for i in (1, 0, 2)]
    assert_allclose([row.value for row in rows], [ROWS[i].value for i in (1, 0, 2)], rtol=1e-5)
    write_measurements(again, reversed(rows))
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must begin"),
        ("experiment,case\n", "must begin"),
        ("experiment,case,quantity,seed,x,value\na,b,c,1,2\n", "line 2"),
        ("experiment,case,quantity,seed,x,value\na,b,c,1,2,nan\n", "finite"),
        ("experiment,case,quantity,seed,x,value\na,b,c,one,2,3\n", "line 2"),
    ],
)
def test_a_broken_file_is_refused(tmp_path, text, why):
    path = tmp_path / "theory.csv"
    path.write_text(text)
    with pytest.raises(Unreadable, match=why):
        read_measurements(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(Unreadable, match="cannot be read"):
        read_measurements(tmp_path / "none.csv")


def test_every_seed_must_have_every_x():
    with pytest.raises(Unreadable, match="different x"):
        group_measurements([Measurement("a", "b", "c", 1, 1.0, 0.0), Measurement("a", "b", "c", 2, 2.0, 0.0)])
