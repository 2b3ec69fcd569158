"""Of a damaged store the sound part is kept, in a new file, and the rest is named."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from belated import InvalidInput, Real, Study
from belated.record.check import check
from belated.record.repair import repair


def fill(url: str, name: str) -> Study:
    study = Study.create(url, name, space={"x": Real(0, 1)}, silence="unknown", seed=0, initial=10**6)
    for _ in range(4):
        study.tell(study.ask(), 0.5)
    return study


def damage(path: Path, sql: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(sql)
    connection.close()


def test_the_longest_sound_prefix_is_kept(tmp_path: Path) -> None:
    old, new = tmp_path / "lab.db", tmp_path / "new.db"
    url = f"sqlite:///{old}"
    for name in ("a", "b", "c"):
        fill(url, name).disconnect()
    damage(old, """UPDATE events SET body = replace(body, '0.5', '0.7') WHERE position = 6 AND study = 2""")
    damage(old, "DELETE FROM events WHERE position = 8 AND study = 3")
    before = old.read_bytes()
    report = check(url)
    assert "event 6: it is not as it was written" in str(report)
    done = repair(url, new)
    assert old.read_bytes() == before
    assert (done.studies, done.events) == (3, 8 + 5 + 7)
    assert [sentence.split(" (")[0] for sentence in done.left_out] == [
        "b: left out from event 6 on",
        "c: left out from event 8 on",
    ]
    sound = check(f"sqlite:///{new}")
    assert sound.ok, str(sound)
    assert sound.events == done.events
    assert Study.open(f"sqlite:///{new}", "a").events() == Study.open(url, "a").events()
    assert Study.open(f"sqlite:///{new}", "b").ask().number == 4


def test_what_was_written_together_is_kept_together(tmp_path: Path) -> None:
    old, new = tmp_path / "lab.db", tmp_path / "new.db"
    study = fill(f"sqlite:///{old}", "a")
    study.ask(n=3)
    study.disconnect()
    damage(old, "UPDATE events SET number = 70 WHERE position = 11")
    done = repair(f"sqlite:///{old}", new)
    assert done.events == 8
    assert done.left_out[0].startswith("a: left out from event 9 on (the store is damaged (event 11:")
    assert check(f"sqlite:///{new}").ok


def test_a_repair_keeps_the_hashes(tmp_path: Path) -> None:
    """So a head that was kept elsewhere still stands for the record."""
    url, new = f"sqlite:///{tmp_path}/lab.db", tmp_path / "new.db"
    fill(url, "a").disconnect()
    repair(url, new)
    assert check(f"sqlite:///{new}").heads == check(url).heads


def test_a_repair_writes_into_no_file_that_exists(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    fill(url, "a").disconnect()
    with pytest.raises(InvalidInput, match="a repair needs a new file"):
        repair(url, tmp_path / "lab.db")
