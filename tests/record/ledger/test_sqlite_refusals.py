"""What a SQLite store refuses, in one sentence: a damaged header, file systems without locks, odd paths."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from pathlib import Path

import pytest

from belated import InvalidInput, Real, Study, Unreachable, Unreadable, check
from belated.record.ledger import open_store
from tests.support.refusals import refusal


def test_a_negative_schema(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    open_store(url, create=True).close()
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        connection.execute("PRAGMA user_version = -5")
    connection.close()
    assert refusal(Unreadable, lambda: open_store(url)) == f"the file {tmp_path}/lab.db is damaged (its schema is -5)"


def test_a_text_that_is_no_text(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    study = Study.create(url, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    study.ask()
    study.disconnect()
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        connection.execute("UPDATE events SET body = CAST(x'ff' AS TEXT)")
    connection.close()
    text = refusal(Unreadable, lambda: Study.open(url, "lab"))
    assert text.startswith(f"the file {tmp_path}/lab.db is damaged (Could not decode to UTF-8 column 'body'")
    assert not check(url).ok


@pytest.mark.parametrize("answer", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(answer, os.strerror(answer))

    url = f"sqlite:///{tmp_path}/lab.db"
    study = Study.create(url, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    for name in ("flock", "lockf"):
        monkeypatch.setattr(fcntl, name, refuse)
    for call in (study.ask, study.close, lambda: open_store(f"sqlite:///{tmp_path}/new.db", create=True)):
        assert "does not support locks" in refusal(Unreachable, call)
    assert study.rounds == 0


@pytest.mark.parametrize("name", ["x" * 256, "x" * 251, "a/" * 2500])
def test_a_path_that_is_too_long(tmp_path: Path, name: str) -> None:
    for create in (True, False):
        text = refusal(Unreachable, lambda create=create: open_store(f"sqlite:///{tmp_path}/{name}", create=create))
        assert "cannot be used (File name too long)" in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("odd", ["\ud800", chr(0xDCFF), "a\nb", "a%0Ab", "a\x00", "a%00", "\x1b[31m"])
def test_a_url_that_cannot_be_printed(tmp_path: Path, odd: str) -> None:
    for url in (f"sqlite:///{tmp_path}/{odd}.db", f"postgresql://ann:s3cret@h/{odd}"):
        text = refusal(InvalidInput, lambda url=url: open_store(url, create=True))
        assert text.startswith("url must be of printable characters (got '")
        assert "s3cret" not in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("share", [0.3, 0.5, 0.99])
def test_a_truncated_file_is_called_truncated(tmp_path: Path, share: float) -> None:
    path = tmp_path / "lab.db"
    with Study.create(f"sqlite:///{path}", "lab", space={"x": Real(0, 1)}, silence="unknown") as study:
        study.ask(n=40)
    whole = path.read_bytes()
    size = int(share * len(whole))
    path.write_bytes(whole[:size])
    with pytest.raises(Unreadable, match=f"is truncated: it has {size} of {len(whole)} bytes; copy it again"):
        Study.open(f"sqlite:///{path}", "lab")
