"""`belated paper`: listed, run, gone on with, and reported on, as a person would."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import ANY

import pytest
from click.testing import CliRunner, Result

import belated
from belated.cli import main
from reproduction import panels
from reproduction.panels import PANELS, Panel


def shell(*words: str) -> Result:
    return CliRunner().invoke(main, ["paper", *words])


@pytest.fixture
def shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick passes of a few iterations."""
    for name, panel in PANELS.items():
        monkeypatch.setitem(PANELS, name, Panel(**{**panel.__dict__, "quick": 11}))


def pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2)


def test_the_list_names_all_panels() -> None:
    said = shell("list")
    assert said.exit_code == 0
    for name in [*PANELS, *panels.BEYOND]:
        assert f"\n{name} " in said.output
    plain = json.loads(shell("list", "--json").output)
    assert [panel["panel"] for panel in plain] == [*PANELS, *panels.BEYOND]
    assert plain[0] == {
        "panel": "fig1a",
        "title": ANY,
        "iterations": 100,
        "measure": "simple",
        "readings": ["text"],
        "curves": ["mu5", "mu10", "mu20", "mu30"],
        "claim": "larger delays (larger μ) result in worse performance",
    }


def test_run_run_again_and_report(tmp_path: Path, shorter: None) -> None:
    folder = tmp_path / "mine"
    run = ("run", "fig1c", "fig1b", "--quick", "--runs", "2", "--workers", "1", "--folder", str(folder))
    first = shell(*run)
    assert first.exit_code == 0, first.output
    assert "14 runs of 2 panels" in first.output
    assert "in the learner" in first.output
    assert f"belated paper report --folder {folder}" in first.output
    again = shell(*run)
    assert "14 runs of 14 are there already." in again.output
    assert len(belated.studies(f"sqlite:///{folder}/runs.db")) == 14

    written = shell("report", "--folder", str(folder))
    assert written.exit_code == 0, written.output
    text = (folder / "REPRODUCTION.md").read_text()
    assert "Fig. 1c" in text
    assert "\nbelated paper run fig1c fig1b --quick --runs 2\n" in text
    for name in ("report.html", "pictures/fig1b.png", "pictures/fig1c.png", "pictures/curves.csv.gz"):
        assert (folder / name).stat().st_size > 0

    other = tmp_path / "other"
    rebuilt = shell("report", "--from", str(folder / "pictures"), "--out", str(other))
    assert rebuilt.exit_code == 0, rebuilt.output
    assert (other / "REPRODUCTION.md").read_text() == text
    assert (other / "report.html").read_bytes() == (folder / "report.html").read_bytes()
    again = tmp_path / "again"  # from what was rebuilt
    assert shell("report", "--from", str(other / "pictures"), "--out", str(again)).exit_code == 0
    assert (again / "REPRODUCTION.md").read_text() == text


def test_runs_go_to_an_executor_that_is_named(tmp_path: Path, shorter: None) -> None:
    run = ("run", "fig1c", "--quick", "--runs", "1", "--folder", str(tmp_path / "mine"))
    said = shell(*run, "--executor", "tests.reproduction.test_commands:pool")
    assert said.exit_code == 0, said.output
    assert "3 runs of 1 panel:" in said.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "fig9"), "there is no panel 'fig9'"),
        (("run", "fig1c", "--runs", "0"), "--runs must be at least 1 (got 0)"),
        (("run", "fig1c", "--workers", "0"), "--workers must be at least 1 (got 0)"),
        (("run", "fig1c", "--executor", "nowhere:pool"), "--executor must be MODULE:NAME"),
        (("run", "fig1c", "--executor", "json:dumps"), "--executor must be MODULE:NAME"),
        (("run", "fig1c", "--executor", "os:getcwd"), "--executor must give a concurrent.futures.Executor (got str)"),
        (("run", "fig1c", "--reading", "loud"), "'loud' is not one of 'text', 'released'"),
        (("report", "--folder", "empty"), "there are no runs in empty; begin with belated paper run"),
        (("run", "fig1c", "--reading", "released"), "none of these panels has a released reading; fig2a"),
        (("report", "--from", "."), "--from needs --out: say where to write the report"),
        (("report", "--from", "nowhere"), "'nowhere' does not exist"),
    ],
)
def test_wrong_words_get_one_sentence(
    words: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = shell(*words)
    assert said.exit_code == 2
    assert sentence in said.output
    assert len(said.output.strip().splitlines()) == 1
