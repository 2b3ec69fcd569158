"""A store that a group shares: whoever may write the database may ask and tell, and nobody else."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from belated import BelatedError, Study
from tests.faults.client import NAME, create
from tests.faults.world import sound
from tests.support.processes import fork, wait

ANN, BOB, EVE = 52001, 52002, 52003  # user ids, each with a group of its own
GROUP = 53000

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be other users")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """In a folder of the group's, which every user can reach."""
    create(f"sqlite:///{tmp_path}/warm.db").ask()  # imports everything: others may not be able to
    folder = Path(tempfile.mkdtemp(prefix="belated-group-"))
    folder.chmod(0o755)
    shared = folder / "shared"
    shared.mkdir()
    os.chown(shared, ANN, GROUP)
    shared.chmod(0o770)
    yield shared / "lab.db"
    shutil.rmtree(folder)


def become(user: int) -> None:
    os.setgroups([GROUP] if user != EVE else [])
    os.setgid(user)
    os.setuid(user)


def run_as(user: int, work: Callable[[], object]) -> str:
    """What some work returns, or the sentence that it is refused with, in a process of that user."""
    out, into = os.pipe()

    def run() -> None:
        become(user)
        try:
            said = str(work())
        except BelatedError as error:
            said = f"{type(error).__name__}: {error}"
        except BaseException:
            said = traceback.format_exc()
        os.write(into, said.encode())

    pid = fork(run)
    os.close(into)
    with os.fdopen(out) as pipe:
        said = pipe.read()
    assert wait(pid) == 0
    return said


def share(path: Path) -> None:
    """Ann makes the store, and gives it to the group."""

    def make() -> None:
        os.umask(0o077)
        create(f"sqlite:///{path}").ask()
        os.chown(path, -1, GROUP)
        path.chmod(0o660)
        Study.open(f"sqlite:///{path}", NAME).ask()

    assert run_as(ANN, make) == "None"


def test_a_member_of_the_group_can_ask_and_tell(path: Path) -> None:
    url = f"sqlite:///{path}"
    share(path)
    assert run_as(BOB, lambda: Study.open(url, NAME).ask().number) == "3"
    assert run_as(BOB, lambda: Study.open(url, NAME).tell(1, 0.5).status) == "heard"
    assert run_as(ANN, lambda: Study.open(url, NAME).tell(1, 0.5).status) == "duplicate"
    assert run_as(ANN, lambda: Study.open(url, NAME).ask().number) == "4"
    lock = path.with_name("lab.db-lock").stat()
    assert (stat.S_IMODE(lock.st_mode), lock.st_gid) == (0o660, GROUP)
    sound(url)


def test_two_users_at_once(path: Path) -> None:
    """While one of them has the file open there is a write-ahead log, which is the group's too."""
    url = f"sqlite:///{path}"
    share(path)
    out, into = os.pipe()

    def stay() -> None:
        become(ANN)
        study = Study.open(url, NAME)
        study.ask()
        os.write(into, b".")
        signal.pause()

    pid = fork(stay)
    try:
        os.read(out, 1)
        for ending in ("-wal", "-shm", "-lock"):
            beside = path.with_name(f"lab.db{ending}").stat()
            assert (stat.S_IMODE(beside.st_mode), beside.st_uid, beside.st_gid) == (0o660, ANN, GROUP), ending
        assert run_as(BOB, lambda: Study.open(url, NAME).ask().number) == "4"
        assert run_as(BOB, lambda: Study.open(url, NAME).tell(3, 0.5).status) == "heard"
    finally:
        os.kill(pid, signal.SIGKILL)
        wait(pid)
        os.close(out)
        os.close(into)
    assert run_as(BOB, lambda: Study.open(url, NAME).ask().number) == "5"
    sound(url)


def test_nobody_else_can(path: Path) -> None:
    share(path)
    path.parent.chmod(0o755)
    path.chmod(0o664)
    url = f"sqlite:///{path}"
    assert run_as(EVE, lambda: len(Study.open(url, NAME).trials())) == "2"
    said = run_as(EVE, lambda: Study.open(url, NAME).ask())
    assert said == f"Unreachable: the file {path} can be read here, and not written; copy it to where it can be"
    path.chmod(0o660)
    assert run_as(EVE, lambda: Study.open(url, NAME)).startswith("Unreachable: the file")


def test_a_lock_file_follows_the_mode_of_the_database(path: Path) -> None:
    """When its owner next uses it."""
    share(path)
    path.chmod(0o600)
    lock = path.with_name("lab.db-lock")
    run_as(ANN, lambda: Study.open(f"sqlite:///{path}", NAME).ask())
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600
