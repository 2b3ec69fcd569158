"""The table of the silences: everyone has a row, and every world a column. What they score is tests/laws' business."""

import pytest

from benchmarks import silences


def test_the_table_has_a_row_for_everyone(monkeypatch: pytest.MonkeyPatch) -> None:
    for world in silences.WORLDS:
        monkeypatch.setitem(silences.WORLDS, world, lambda name, seed: 0.25 * seed)
    head, *rows = silences.rows(3, 1)
    assert head == ["", *silences.WORLDS]
    assert [row[0].split('"')[-2:][0] for row in rows] == [*silences.SILENCES, *silences.PAPER]
    assert {tuple(row[1:]) for row in rows} == {(rows[0][1],) * 3}
    assert rows[0][1].startswith("0.25")
