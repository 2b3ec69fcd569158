"""`belated compare` as a person and as a script meet it: table, answer, JSON, picture, refusals, no matplotlib."""

from pathlib import Path

import pytest

import belated
from belated.cli.compare import parse_patience, split_list
from tests.cli.shell import WITHOUT_MATPLOTLIB, parse_json, run, run_python

STORE = "sqlite:///lab.db"
SMALL = ["compare", "flask", "--store", STORE, "--seeds", "2", "--rounds", "6", "--workers", "1"]
FEW = ["--algorithms", "default,GP-BTS", "--silences", "unknown,floor", "--patience", "3,none"]


@pytest.fixture(autouse=True)
def in_a_folder_with_a_study(in_an_empty_folder: None) -> None:
    play_study("flask", 14)


def play_study(name: str, rounds: int, **settings: object) -> belated.Study:
    settings = {"space": {"x": belated.Real(0, 1)}, "silence": "unknown", "seed": 0, **settings}
    study = belated.Study.create(STORE, name, **settings)
    delay = belated.delays.Sometimes(belated.delays.Poisson(2), 0.9)
    for _ in belated.simulate(study, lambda p: p["x"] * (1 - p["x"]), delay=delay, rounds=rounds, seed=1, noise=0.02):
        pass
    return study


def list_files() -> list[str]:
    return sorted(path.name for path in Path.cwd().iterdir() if not path.name.startswith("lab.db"))


def test_table_answer_and_picture() -> None:
    ran = run(*SMALL, *FEW)
    assert ran.exit_code == 0
    assert "Regret after 6 rounds, mean ± standard error" in ran.stdout
    assert "default *   unknown  none" in ran.stdout or "default *  unknown  none" in ran.stdout
    assert "With 2 seeds no difference can be more than chance" in ran.stdout
    assert "This world is the study's own belief, and no better than that" in ran.stdout
    assert ran.stdout.endswith("The picture: flask-compared.png\n")
    assert Path("flask-compared.png").read_bytes().startswith(b"\x89PNG")
    assert list_files() == ["flask-compared.png"]


def test_json_is_all_that_is_printed() -> None:
    ran = run(*SMALL, *FEW, "--json")
    assert (ran.exit_code, ran.stderr) == (0, "")
    printed = parse_json(ran)
    assert (printed["rounds"], printed["seeds"], printed["picture"]) == (6, 2, None)
    assert {(row["algorithm"], row["silence"], row["patience"]) for row in printed["candidates"]} == {
        ("default", "unknown", "none"),
        ("default", "unknown", "3 rounds"),
        ("default", "floor", "none"),
        ("default", "floor", "3 rounds"),
        ("GP-BTS", "unknown", "none"),
    }
    assert [row["own"] for row in printed["candidates"]].count(True) == 1
    assert list_files() == []


def test_the_picture_goes_where_it_was_asked_for() -> None:
    ran = run(*SMALL, "--algorithms", "GP-BTS", "--seeds", "1", "--json", "--out", "small.svg")
    assert parse_json(ran)["picture"] == "small.svg"
    assert Path("small.svg").stat().st_size > 5_000


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--seeds", "0"], "seeds must be from 1 to 40 (got 0)"),
        (["--workers", "0"], "--workers must be at least 1 (got 0)"),
        (["--algorithms", "best"], "algorithm must be one of GP-UCB-SDF"),
        (["--silences", ","], "silences must be a list with something in it (got [])"),
        (["--patience", "soon"], 'patience must be a number of rounds such as 20, a time such as "2h"'),
        (["--patience", "3,1h"], "patience must be in rounds or by the clock"),
        (["--out", "flask.txt"], "--out must end in .png, .pdf, .svg (got flask.txt)"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(args: list[str], sentence: str) -> None:
    ran = run(*SMALL, *args)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith(f"Error: {sentence}")
    assert list_files() == []


def test_nothing_heard_is_one_sentence() -> None:
    play_study("fresh", 0).ask()
    ran = run("compare", "fresh", "--store", STORE)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr == (
        "Error: nothing has been heard yet, so there is no belief to draw a world from; tell an outcome first\n"
    )


def test_without_matplotlib_the_answer_is_printed_and_the_remedy_named() -> None:
    ran = run_python(WITHOUT_MATPLOTLIB, *SMALL, "--algorithms", "GP-BTS")
    assert ran.returncode == 0
    assert "* what the study uses" in ran.stdout
    assert ran.stderr.splitlines()[-1] == 'No picture: the picture needs matplotlib: pip install "belated[plots]"'


def test_words_between_commas() -> None:
    assert split_list(" a, b,,") == ["a", "b"]
    assert split_list(None) is None
    assert [parse_patience(word) for word in ("7", "2d", "none", "auto")] == [7, "2d", None, "auto"]
