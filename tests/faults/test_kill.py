"""kill -9 at every write step: an ask or a tell happened completely or not at all, and its retry finds out which."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from belated import Study
from tests.faults.client import NAME, VERBS, create
from tests.faults.world import Answer, Lab, client, sound

# What SQLite does on the way to the disk, and how often at least for one verb and the end of its process. (fsync is
# not among it: SQLite syncs by fdatasync.)
STEPS = {"pwrite64": 5, "fdatasync": 3, "ftruncate": 1, "unlink": 2}
MOST = 200  # steps of one kind; a verb takes about 25 in all


def points(every: int, first: int) -> Iterator[int]:
    return iter(range(first, MOST, every))


def killed_at(answer: Answer, step: str, when: int) -> bool:
    """Whether the client was killed at its when-th step of this kind; if not, it ended well and took fewer of them."""
    taken = len(re.findall(rf"^\d+ +{step}\(", answer.trace, re.MULTILINE))
    if answer.status == 0:
        assert taken < when, f"it took {taken} steps and was not killed at step {when}"
        return False
    assert answer.status == -signal.SIGKILL, answer
    assert taken == when, answer.trace
    return True


def kill_at(lab: Lab, folder: Path, verb: str, step: str, when: int) -> bool:
    """Kill a client at one step, and look at what is left. False when it never got that far."""
    here = lab.copy(folder / "here")
    before = sound(here.url)
    killed = client(here.url, verb, inject=f"{step}:signal=SIGKILL:when={when}")
    if not killed_at(killed, step, when):
        return False
    left = sound(here.url)  # whole, whatever happened
    again = VERBS[verb](here.open())  # the retry, with the same key
    after = sound(here.url)
    events = {"ask": 1, "batch": 3, "tell": 1, "add": 2, "fail": 1}[verb]
    trials = {"ask": 1, "batch": 3, "add": 1}.get(verb, 0)
    assert left.events in (before.events, before.events + events)  # all of it or nothing
    assert (after.events, after.trials) == (before.events + events, before.trials + trials)  # none burnt, none twice
    if len(killed.lines) > 1:  # it was answered before it died: the answer stands
        assert left.events == after.events
        assert json.dumps(killed.last) == json.dumps(again)
    assert VERBS[verb](here.open()) == again
    return True


def kill_at_all(lab: Lab, folder: Path, verb: str, step: str, every: int = 1, first: int = 1) -> int:
    """Kill at every (or every third, ...) step until the client runs clean; how often that was."""
    for count, when in enumerate(points(every, first)):
        if not kill_at(lab, folder, verb, step, when):
            return count
    raise AssertionError(f"{verb} takes more than {MOST} steps")


@pytest.mark.parametrize("verb", ["batch", "tell"])
def test_killed_while_writing(crashed: Lab, tmp_path: Path, verb: str) -> None:
    assert kill_at_all(crashed, tmp_path, verb, "pwrite64", every=4, first=2) >= 3


@pytest.mark.parametrize("verb", ["ask", "tell"])
def test_killed_while_syncing(crashed: Lab, tmp_path: Path, verb: str) -> None:
    assert kill_at_all(crashed, tmp_path, verb, "fdatasync", every=2) >= 2


@pytest.mark.parametrize("step", ["ftruncate", "unlink"])
def test_killed_while_the_wal_is_put_away(crashed: Lab, tmp_path: Path, step: str) -> None:
    assert kill_at_all(crashed, tmp_path, "ask", step) >= STEPS[step]


@pytest.mark.long
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("verb", ["ask", "batch", "tell", "add", "fail"])
@pytest.mark.parametrize("place", ["crashed", "rested"])
def test_killed_at_every_step(request: pytest.FixtureRequest, tmp_path: Path, place: str, verb: str, step: str) -> None:
    assert kill_at_all(request.getfixturevalue(place), tmp_path, verb, step) >= STEPS[step]


@pytest.mark.parametrize(
    ("step", "every"),
    [
        *(("pwrite64", 9), ("fdatasync", 4), ("unlink", 1)),
        *(pytest.param(step, 1, marks=pytest.mark.long) for step in ("pwrite64", "fdatasync", "ftruncate")),
    ],
)
def test_killed_while_a_study_is_created(tmp_path: Path, step: str, every: int) -> None:
    """The file is there with the study, or without it, or not at all; creating it again gives one study."""
    times = 0
    for when in points(every, 1):
        lab = Lab(tmp_path / f"{step}-{when}")
        lab.folder.mkdir()
        answer = client(lab.url, "create", inject=f"{step}:signal=SIGKILL:when={when}")
        if not killed_at(answer, step, when):
            break
        times += 1
        create(lab.url)
        assert sound(lab.url).studies == 1
        assert Study.open(lab.url, NAME).ask().number == 1
    assert times >= 2


FILE = re.compile(r"\d+ +(\w+)\((?:\d+)?<?([^>,]*)>?")


@pytest.mark.parametrize("verb", ["ask", "tell"])
def test_an_answer_is_on_the_disk_before_it_is_given(crashed: Lab, tmp_path: Path, verb: str) -> None:
    """Under the lock, every frame of the WAL is written and then synced, and only then the client hears of it."""
    here = crashed.copy(tmp_path / "here")
    answer = client(here.url, verb, trace="pwrite64,fsync,fdatasync,fcntl,write")
    assert answer.acknowledged
    calls = [found.groups() for line in answer.trace.splitlines() if (found := FILE.match(line))]
    answered = max(i for i, (call, what) in enumerate(calls) if call == "write" and what.endswith("/out"))
    during = [(call, Path(what).name) for call, what in calls[:answered]]
    written = [i for i, (call, name) in enumerate(during) if (call, name) == ("pwrite64", "lab.db-wal")]
    synced = [i for i, (call, name) in enumerate(during) if (call, name) == ("fdatasync", "lab.db-wal")]
    locks = [i for i, (call, name) in enumerate(during) if (call, name) == ("fcntl", "lab.db-lock")]
    assert written
    assert synced, "nothing was synced before the answer"
    assert max(written) < max(synced), "the last frame was not synced before the answer"
    assert locks, "the write was not under the lock"
    assert min(locks) < min(written)
