"""A disk that is full or fails: one clear sentence, nothing half-written, and all works again when it is mended."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from belated.record.check import check_acknowledged
from tests.faults.client import NAME, VERBS
from tests.faults.world import Answer, Lab, client, small_disk, sound

MOST = 100


def refused_in_one_sentence(answer: Answer) -> None:
    assert answer.status == 2, answer
    assert set(answer.last) == {"error", "sentence"}
    assert "\n" not in answer.last["sentence"]
    assert "lab.db" in answer.last["sentence"]


def failing_at_every(lab: Lab, folder: Path, verb: str, step: str, error: str, every: int) -> int:
    """Fail one system call after the other until the client no longer gets that far; how often it was told so."""
    told = 0
    for when in range(1, MOST, every):
        here = lab.copy(folder / f"{verb}-{step}-{when}")
        before = sound(here.url)
        answer = client(here.url, verb, inject=f"{step}:error={error}:when={when}")
        left = sound(here.url)
        events = {"ask": 1, "batch": 3, "tell": 1}[verb]
        if answer.acknowledged:  # the failure came in a step that is only for later, or not at all
            assert left.events == before.events + events
            if "INJECTED" not in answer.trace:
                return told
        else:
            refused_in_one_sentence(answer)
            told += 1
            assert left.events in (before.events, before.events + events)
        again = VERBS[verb](here.open())  # on a mended disk
        after = sound(here.url)
        assert after.events == before.events + events
        assert VERBS[verb](here.open()) == again
    return told


@pytest.mark.parametrize(("step", "error"), [("pwrite64", "ENOSPC"), ("fdatasync", "EIO")])
@pytest.mark.parametrize("verb", ["batch", "tell"])
def test_a_failing_disk(crashed: Lab, tmp_path: Path, verb: str, step: str, error: str) -> None:
    assert failing_at_every(crashed, tmp_path, verb, step, error, every=5 if step == "pwrite64" else 1) >= 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("step", "error"), [("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fdatasync", "EIO"), ("openat", "ENOSPC")]
)
@pytest.mark.parametrize("verb", ["batch", "tell"])
@pytest.mark.parametrize("place", ["crashed", "rested"])
def test_a_disk_that_fails_at_every_step(
    request: pytest.FixtureRequest, tmp_path: Path, place: str, verb: str, step: str, error: str
) -> None:
    assert failing_at_every(request.getfixturevalue(place), tmp_path, verb, step, error, every=1) >= 1


def test_a_disk_that_stays_full(crashed: Lab, tmp_path: Path) -> None:
    """Every write from one on fails, as on a disk that is really full; there is room to read."""
    here = crashed.copy(tmp_path / "here")
    before = sound(here.url)
    refused_in_one_sentence(client(here.url, "ask", inject="pwrite64:error=ENOSPC:when=1+"))
    assert sound(here.url).events == before.events
    assert here.open().ask(key="the-ask").number == before.trials + 1


def test_no_file_may_grow_any_more(rested: Lab, tmp_path: Path) -> None:
    """RLIMIT_FSIZE: writes are cut short at a size. What was acknowledged until then is there, and nothing else."""
    here = rested.copy(tmp_path / "here")
    before, most = sound(here.url), rested.path.stat().st_size + 40_000
    answer = client(here.url, "full", str(most))
    refused_in_one_sentence(answer)
    count = len(answer.lines) - 2  # all but "ready" and the sentence
    assert count >= 2
    study = here.open()
    assert len(study.trials()) in (before.trials + count, before.trials + count + 1)
    asks = [(f"more-{i}", study.ask(key=f"more-{i}")) for i in range(count + 2)]
    assert [trial.number for _, trial in asks] == list(range(before.trials + 1, before.trials + count + 3))
    report = check_acknowledged(here.url, NAME, asks)
    assert report.ok, str(report)


@pytest.mark.parametrize("place", ["crashed", "rested"])
def test_a_disk_that_is_really_full(request: pytest.FixtureRequest, tmp_path: Path, place: str) -> None:
    """What was acknowledged is there and can be read, one sentence for the rest; with room it goes on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, kilobytes=1024):
        here = request.getfixturevalue(place).copy(disk / "lab")
        before = sound(here.url)
        answer = client(here.url, "full", str(2**40))  # no limit but the disk's
        refused_in_one_sentence(answer)
        count = len(answer.lines) - 2  # all but "ready" and the sentence
        assert count >= 2
        (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free))  # to the last byte
        for verb in ("ask", "tell"):
            refused_in_one_sentence(client(here.url, verb))
        left = sound(here.url)
        assert left.trials in (before.trials + count, before.trials + count + 1)
        (disk / "ballast").unlink()
        study = here.open()
        asks = [(f"more-{i}", study.ask(key=f"more-{i}")) for i in range(count)]
        assert [trial.number for _, trial in asks] == list(range(before.trials + 1, before.trials + count + 1))
        study.disconnect()
        elsewhere = here.copy(tmp_path / "elsewhere")  # a larger disk
    assert elsewhere.open().ask(key="the-ask").number == left.trials + 1
    report = check_acknowledged(elsewhere.url, NAME, asks)
    assert report.ok, str(report)
