"""A file that is imported at a server: sent as it is, with the sentences and questions of the shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from belated import Real, Study
from belated.cli import main
from belated.service.limits import Limits
from tests.cli.shell import invoke, run_json
from tests.support.servers import Running, run_server


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    """One that takes small files."""
    monkeypatch.chdir(tmp_path)
    store = f"sqlite:///{tmp_path}/lab.db"
    Study.create(store, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0).disconnect()
    with run_server(store, limits=Limits(upload=100_000)) as running:
        monkeypatch.setenv("BELATED_STORE", running.url)
        yield running


def test_the_server_reads_the_rows_and_dry_runs_change_nothing(server: Running) -> None:
    Path("past.csv").write_text("x,y,pan\n0.5,0.7,blue\n0.25,0.1,red\n")
    would = run_json("import", "lab", "past.csv", "--map", "y=outcome", "--map", "pan=", "--dry-run")
    assert (would["new"], would["left_out"]) == (2, ["pan"])
    with Study.open(server.store, "lab") as study:
        assert study.rounds == 0
        done = run_json("import", "lab", "past.csv", "--map", "y=outcome", "--map", "pan=", "--by", "anna")
        assert done == would
        assert [(trial.outcome, trial.asked_by) for trial in study.trials()] == [(0.7, "anna"), (0.1, "anna")]


def test_what_is_wrong_is_said_by_the_name_of_the_file(server: Running) -> None:
    Path("past.csv").write_text("x,outcome\n0.5,high\n")
    said = invoke("import", "past.csv", code=2).stderr
    assert said == "Error: nothing was recorded: a line is wrong\n  past.csv:2: outcome must be a number (got 'high')\n"
    said = invoke("import", "gone.csv", code=2).stderr
    assert said == "Error: gone.csv cannot be read (No such file or directory)\n"


def test_a_file_that_is_too_large_is_refused_with_the_limit(server: Running) -> None:
    Path("past.csv").write_text("x,outcome\n" + "0.5,0.75\n" * 2_000_000)
    said = invoke("import", "past.csv", code=2).stderr
    assert said == f"Error: a body may have 100000 bytes (got {Path('past.csv').stat().st_size})\n"


def test_what_was_edited_is_offered_on_a_terminal(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belated.cli.import_.is_terminal", lambda: True)
    with Study.open(server.store, "lab") as study:
        study.add({"x": 0.5}, 7.1)
        invoke("export", "lab", "--out", "lab.csv")
        Path("lab.csv").write_text(Path("lab.csv").read_text().replace("7.1", "0.71"))
        done = CliRunner().invoke(main, ["import", "lab.csv"], input="y\nthe decimal point\n")
        assert "lab.csv:2: trial 1: the outcome is 0.71, not 7.1\nRecord this as an amendment? [y/N]: y" in done.output
        assert study.log(1)[-1].reason == "the decimal point"
