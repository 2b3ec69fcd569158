"""A new file is there when it is whole, replaces nothing, and leaves nothing behind."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from belated import InvalidInput
from belated.record.new_file import make_new_file
from tests.support.refusals import refusal


@pytest.fixture(params=["links", "no links"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """On a file system with and without hard links."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if request.param == "no links":
        monkeypatch.setattr(os, "link", refuse)
    return tmp_path / "new.db"


def test_it_is_there_when_it_is_whole(path: Path) -> None:
    with make_new_file(path, "a test") as beside:
        beside.write_text("whole")
        Path(f"{beside}-lock").touch()
        assert not path.exists()
    assert path.read_text() == "whole"
    assert os.listdir(path.parent) == ["new.db"]
    assert path.stat().st_nlink == 1


def test_nothing_is_left_if_something_goes_wrong(path: Path) -> None:
    def write() -> None:
        with make_new_file(path, "a test") as beside:
            beside.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        write()
    assert os.listdir(path.parent) == []


def test_what_appears_meanwhile_is_not_replaced(path: Path) -> None:
    def write() -> None:
        with make_new_file(path, "a test") as beside:
            beside.write_text("late")
            path.write_text("first")

    assert refusal(InvalidInput, write) == f"a test needs a new file; {path} exists"
    assert path.read_text() == "first"
    assert os.listdir(path.parent) == ["new.db"]
