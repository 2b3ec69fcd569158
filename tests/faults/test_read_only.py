"""A store where nothing may be written: it can be looked at, and asks and tells are refused in one sentence."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from belated import Study, Unreachable, check
from belated.cli import main
from tests.faults.client import NAME, create
from tests.faults.world import Lab, lab
from tests.support.refusals import refusal


@contextmanager
def read_only(folder: Path, to: Path) -> Iterator[Lab]:
    """A folder on a read-only medium, which is mounted at another one; without root, one without rights to write."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0:
        shutil.copytree(folder, to)
        for each in (*to.iterdir(), to):
            each.chmod(0o555 if each == to else 0o444)
        try:
            yield Lab(to)
        finally:
            to.chmod(0o755)
        return
    to.mkdir()
    if mount is None or umount is None:
        pytest.skip("there is no mount")
    for words in (["--bind", str(folder), str(to)], ["-o", "remount,bind,ro", str(to)]):
        tried = subprocess.run([mount, *words], capture_output=True, check=False)
        if tried.returncode:
            subprocess.run([umount, str(to)], capture_output=True, check=False)
            pytest.skip(f"nothing may be mounted here: {tried.stderr.decode(errors='replace').strip()}")
    try:
        yield Lab(to)
    finally:
        subprocess.run([umount, "--lazy", str(to)], check=True)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


@pytest.mark.parametrize("rests", [True, False])
def test_a_store_on_a_read_only_medium_can_be_looked_at(rested: Lab, tmp_path: Path, rests: bool) -> None:
    """Also one that was killed on its way to rest."""
    here = rested.copy(tmp_path / "here")
    if not rests:
        connection = sqlite3.connect(here.path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
    expected = Study.open(rested.url, NAME).trials()
    names = sorted(os.listdir(here.folder))
    with read_only(here.folder, tmp_path / "there") as there:
        assert there.open().trials() == expected
        assert check(there.url).ok
        looks = (["show"], ["export"], ["check"], ["best"], ["delays"], ["plot", "--out", str(tmp_path / "x.png")])
        for words in looks:
            ran = run(*words, "--store", there.url)
            assert ran.exit_code == 0, ran.output
        for words in (["ask"], ["tell", "4", "0.5"], ["fail", "4", "lost"], ["close"]):
            ran = run(*words, "--store", there.url)
            assert (ran.exit_code, ran.stdout) == (2, "")
            assert ran.stderr == (
                f"Error: the file {there.path} can be read here, and not written; copy it to where it can be\n"
            )
        study = there.open()
        for call in (study.ask, lambda: study.tell(4, 0.5), lambda: create(there.url.replace("lab.db", "new.db"))):
            refusal(Unreachable, call)  # type: ignore[arg-type]
    assert sorted(os.listdir(here.folder)) == names


def test_a_store_in_use_that_stands_still_says_so(tmp_path: Path) -> None:
    """Its newest events are in a log, which SQLite reads only where it may write."""
    here = lab(tmp_path / "here", closed=False)
    here.path.with_name("lab.db-shm").unlink()
    with read_only(here.folder, tmp_path / "there") as there:
        assert "cannot be opened" in refusal(Unreachable, there.open)
