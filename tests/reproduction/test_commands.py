"""`python -m reproduction`: list, run, run again, and report, as a person would."""

import json
import re
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import pytest
from click.testing import CliRunner, Result

import belated
from reproduction.archive import Archive, Provenance, read_archive, write_archive
from reproduction.commands import FOLDER, KEPT, main
from reproduction.panels import ALL_PANELS, PANELS
from reproduction.runs_folder import hold_folder
from tests.reproduction.made_up_curves import make_curves


def shell(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.fixture
def shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick passes of a few iterations."""
    for name, panel in PANELS.items():
        for panels in (PANELS, ALL_PANELS):
            monkeypatch.setitem(panels, name, replace(panel, quick=11))


ROOT = Path(__file__).resolve().parents[2]
COMMAND = re.compile(r"(?:^\$ |^ *|`)python -m reproduction ([a-z][^`#\n]*)", re.MULTILINE)
PAGES = ["README.md", "REPORT.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_on_the_pages_are_understood(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines = COMMAND.findall((ROOT / "reproduction" / page).read_text(encoding="utf-8"))
    assert len(lines) > 2
    for line in lines:
        name, *words = shlex.split(line)
        main.commands[name].make_context(name, words)  # reads the words, and runs nothing


def pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2)


def test_the_list_names_all_panels() -> None:
    said = shell("list")
    assert said.exit_code == 0
    for name in ALL_PANELS:
        assert f"\n{name} " in said.output
    plain = json.loads(shell("list", "--json").output)
    assert [panel["panel"] for panel in plain] == list(ALL_PANELS)
    assert plain[0] == {
        "panel": "fig1a",
        "title": ANY,
        "iterations": 100,
        "measure": "simple",
        "runs": {"text": 60, "heard": 60, "released": 60},
        "curves": ["mu5", "mu10", "mu20", "mu30"],
        "claim": "larger delays (larger μ) result in worse performance",
    }


def test_run_run_again_and_report(tmp_path: Path, shorter: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = ("run", "fig1c", "fig1b", "--quick", "--runs", "2", "--workers", "1", "--folder", "mine")
    first = shell(*run)
    assert first.exit_code == 0, first.output
    assert "14 runs of 2 panels" in first.output
    assert "for choosing queries" in first.output
    assert "python -m reproduction report --folder mine" in first.output
    again = shell(*run)
    assert "14 runs of 14 are there already." in again.output
    assert len(belated.studies("sqlite:///mine/runs.db")) == 14

    written = shell("report", "--folder", "mine")
    assert written.exit_code == 0, written.output
    text = Path("mine/REPORT.md").read_text()
    assert "Fig. 1c" in text
    assert "\npython -m reproduction run fig1c fig1b --quick --runs 2\n" in text
    assert "\npython -m reproduction report --from mine/results --out mine\n" in text
    for name in ("report.html", "results/fig1b.png", "results/fig1c.png", "results/curves.csv.gz"):
        assert Path("mine", name).stat().st_size > 0

    before = contents(Path("mine"))
    rebuilt = shell("report", "--from", "mine/results", "--out", "mine")  # as the report itself says
    assert rebuilt.exit_code == 0, rebuilt.output
    assert contents(Path("mine")) == before
    Path("other").mkdir()
    monkeypatch.chdir("other")  # and elsewhere
    assert shell("report", "--from", "../mine/results", "--out", "mine").exit_code == 0
    rebuilt_there = contents(Path("mine"))
    assert rebuilt_there == {name: before[name] for name in rebuilt_there}
    assert len(rebuilt_there) == 2 + 3 + 3  # text and page, pictures, numbers


def test_without_runs_the_kept_curves_are_reported_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_archive(KEPT, Archive(curves=make_curves([PANELS["fig1c"]], seeds=2)))
    first = shell("report")
    assert first.exit_code == 0, first.output
    assert "\npython -m reproduction report --from reproduction/results --out reproduction\n" in Path(
        "reproduction/REPORT.md"
    ).read_text(encoding="utf-8")
    before = contents(tmp_path)
    assert shell("report").exit_code == 0
    assert contents(tmp_path) == before
    assert shell("report", "--out", "elsewhere").exit_code == 0
    assert Path("elsewhere/results/fig1c.png").exists()
    FOLDER.mkdir()  # runs of one's own come first
    assert "there are no runs in paper-runs" in shell("report").output


def test_kept_runs_are_unpacked_added_to_and_reported(
    tmp_path: Path, shorter: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "there are no kept runs in reproduction/results; go to a checkout" in shell("unpack").output
    quick = replace(PANELS["fig1c"], iterations=11, runs={"text": 60})
    kept = Archive(curves=make_curves([quick], seeds=2), provenance=Provenance(("before",), (), ("a note",)))
    write_archive(KEPT, kept)
    unpacked = shell("unpack", "--folder", "mine")
    assert unpacked.output == "6 runs of reproduction/results put into mine\n"
    assert "0 runs of" in shell("unpack", "--folder", "mine").output
    more = shell("run", "fig1c", "--quick", "--workers", "1", "--folder", "mine")
    assert "6 runs of 9 are there already." in more.output
    assert shell("report", "--folder", "mine", "--out", "reproduction").exit_code == 0
    joined = read_archive(KEPT)
    assert {line.seeds for key, line in joined.curves.items() if key.panel == "fig1c"} == {(0, 1, 2)}
    for key, line in kept.curves.items():
        assert joined.curves[key].simple[:2].tolist() == line.simple.tolist()
    assert joined.provenance.commands == ("before", "python -m reproduction run fig1c --quick")
    assert joined.provenance.notes == ("a note",)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_takes_the_runs_of_one_command_at_a_time(tmp_path: Path) -> None:
    with hold_folder(tmp_path):
        said = shell("run", "fig1a", "--quick", "--folder", str(tmp_path))
    assert said.exit_code == 2
    assert said.output == f"Error: another process is making runs in {tmp_path}; wait for it, or use --workers\n"
    assert not (tmp_path / "runs.db").exists()


def test_runs_go_to_an_executor_that_is_named(tmp_path: Path, shorter: None) -> None:
    run = ("run", "fig1c", "--quick", "--runs", "1", "--folder", str(tmp_path / "mine"))
    said = shell(*run, "--executor", "tests.reproduction.test_commands:pool")
    assert said.exit_code == 0, said.output
    assert "3 runs of 1 panel:" in said.output


def test_an_executor_may_stand_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shorter: None
) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.chdir(tmp_path)
    Path("mycluster.py").write_text(
        "from concurrent.futures import ThreadPoolExecutor\n\n\ndef pool():\n    return ThreadPoolExecutor(1)\n"
    )
    run = ("run", "fig1c", "--quick", "--runs", "1", "--folder", str(tmp_path / "mine"))
    said = shell(*run, "--executor", "mycluster:pool")
    assert said.exit_code == 0, said.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "fig9"), "there is no panel 'fig9'"),
        (("run", "fig1c", "--runs", "0"), "--runs must be at least 1 (got 0)"),
        (("run", "fig1c", "--workers", "0"), "--workers must be at least 1 (got 0)"),
        (("run", "fig1c", "--executor", "nowhere:pool"), "--executor must be MODULE:NAME"),
        (("run", "fig1c", "--executor", "json:dumps"), "--executor must be MODULE:NAME"),
        (("run", "fig1c", "--executor", "os:getcwd"), "--executor must give a concurrent.futures.Executor (got str)"),
        (("run", "fig1c", "--reading", "loud"), "'loud' is not one of 'text', 'heard', 'released'"),
        (("report", "--folder", "empty"), "there are no runs in empty; begin with python -m reproduction run"),
        (("run", "lda", "--reading", "released"), "none of these panels has a released reading; those of the paper"),
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
