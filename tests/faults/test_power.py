"""Power loss: whatever part of the WAL reached the disk, what is left is a clean prefix of what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from belated.errors import Unreadable
from belated.record.events import Event
from belated.record.ledger import open_store
from belated.study import Study
from tests.faults.client import NAME, create
from tests.faults.world import Lab, sound

HEADER, FRAME = 32, 24 + 4096  # bytes of the WAL's header, and of a frame


def events(lab: Lab) -> list[Event]:
    place = open_store(lab.url)
    read = [entry.event for entry in place.ledger(NAME).read()]
    place.close()
    return read


def a_clean_prefix(lab: Lab, folder: Path, all_events: list[Event], cut: int, *, garbage: bytes = b"") -> int:
    """Cut the WAL, and look: the first events are left, byte for byte; how many."""
    here = lab.copy(folder / "here")
    wal = here.path.with_name("lab.db-wal")
    wal.write_bytes(wal.read_bytes()[:cut] + garbage)
    here.path.with_name("lab.db-shm").unlink()  # memory, not disk: a power cut takes it
    if NAME not in store_names(here):
        return -1
    left = events(here)
    assert left == all_events[: len(left)]
    sound(here.url)
    study = here.open()
    assert study.ask(key="after").number == len(study.trials())
    sound(here.url)
    return len(left)


def store_names(lab: Lab) -> list[str]:
    try:
        place = open_store(lab.url)
    except Unreadable:  # cut before the tables were there
        return []
    names = place.names()
    place.close()
    return names


def cuts(size: int, step: int, every_frame: int) -> list[int]:
    """Offsets every few hundred bytes, and just before, at and after the ends of frames."""
    ends = range(HEADER, size + 1, FRAME * every_frame)
    return sorted({*range(0, size, step), *(e + d for e in ends for d in (-1, 0, 1, 24) if 0 <= e + d <= size)})


def cut_everywhere(lab: Lab, folder: Path, step: int, every_frame: int) -> None:
    all_events = events(lab.copy(folder / "whole"))
    size = lab.path.with_name("lab.db-wal").stat().st_size
    counts = [a_clean_prefix(lab, folder, all_events, cut) for cut in cuts(size, step, every_frame)]
    assert counts == sorted(counts)  # more of the WAL, more events
    assert a_clean_prefix(lab, folder, all_events, size) == len(all_events)
    assert len(set(counts)) > 4


def test_the_wal_cut_off(crashed: Lab, tmp_path: Path) -> None:
    cut_everywhere(crashed, tmp_path, step=40_000, every_frame=9)


@pytest.mark.long
def test_the_wal_cut_off_at_many_places(crashed: Lab, tmp_path: Path) -> None:
    cut_everywhere(crashed, tmp_path, step=700, every_frame=1)


@pytest.mark.parametrize("garbage", [bytes(6000), b"\xff" * 6000], ids=["zeros", "ones"])
def test_a_torn_end_of_the_wal(crashed: Lab, tmp_path: Path, garbage: bytes) -> None:
    """The file grew before its contents arrived: what follows the last whole commit does not count."""
    all_events = events(crashed.copy(tmp_path / "whole"))
    size = crashed.path.with_name("lab.db-wal").stat().st_size
    for cut in range(HEADER + FRAME * 12 + 100, size, FRAME * 11):
        a_clean_prefix(crashed, tmp_path, all_events, cut, garbage=garbage)


def test_every_commit_is_there_when_its_answer_is(tmp_path: Path) -> None:
    """A copy of the files as they are on the disk right after an answer holds what was answered."""
    lab = Lab(tmp_path / "lab")
    lab.folder.mkdir()
    study: Study = create(lab.url)
    for number in range(1, 6):
        trial = study.ask()
        copied = lab.copy(tmp_path / f"copy-{number}")
        copied.path.with_name("lab.db-shm").unlink()
        assert copied.open().trial(number).params == trial.params
