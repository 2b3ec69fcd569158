"""`belated demo` as a person and as a script meet it: table, JSON, picture, refusals, no matplotlib."""

import json
import re
from pathlib import Path

import pytest

from belated.comparison.demo import METHODS
from tests.cli.shell import WITHOUT_MATPLOTLIB, parse_json, run, run_python

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

SMALL = ["demo", "--seeds", "2", "--rounds", "15", "--points", "60", "--workers", "1"]
TINY = [*SMALL, "--seeds", "1", "--rounds", "3"]


def test_the_table_has_a_row_per_algorithm_and_the_picture_is_there() -> None:
    ran = run(*SMALL)
    assert ran.exit_code == 0
    lines = ran.stdout.splitlines()
    number = r"\d+\.\d+±\d+\.\d+"
    for method in METHODS:
        row = rf"{re.escape(method.algorithm)} +{method.silence} +({number} +){{4}}\d+\.\d"
        assert sum(re.fullmatch(row, line.rstrip()) is not None for line in lines) == 1, method
    assert "round 3" in ran.stdout
    assert "round 7" in ran.stdout
    assert "round 15" in ran.stdout
    assert "mean ± standard error of 2 seeds" in ran.stdout
    assert "After 15 rounds (mean of 2 seeds)" in ran.stdout
    assert "The picture: belated-demo.png" in ran.stdout
    assert max(map(len, lines)) <= 80
    assert ran.stderr == ""  # the progress bar is for terminals
    picture = Path("belated-demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 50_000


def test_json_is_all_that_is_printed_and_says_what_the_table_says() -> None:
    ran = run(*SMALL, "--json")
    assert ran.exit_code == 0
    assert ran.stderr == ""
    printed = json.loads(ran.stdout)
    assert printed["picture"] is None
    assert not list(Path.cwd().iterdir())
    assert printed["seeds"] == [0, 1]
    assert printed["task"]["points"] == 60
    assert [(row["algorithm"], row["silence"]) for row in printed["algorithms"]] == [
        (method.algorithm, method.silence) for method in METHODS
    ]
    for row in printed["algorithms"]:
        for regret in (row["simple_regret"], row["cumulative_regret"]):
            assert len(regret["mean"]) == len(regret["standard_error"]) == 15
        assert row["cpu_seconds_per_ask"] > 0
    best = min(row["simple_regret"]["mean"][-1] for row in printed["algorithms"])
    assert f"least simple regret, {best:.4f}" in printed["seen"]


def test_json_of_one_seed_has_no_standard_error_and_no_nan() -> None:
    ran = run(*SMALL, "--seeds", "1", "--json", "--out", "small.png", "--dpi", "40")
    printed = parse_json(ran)
    assert printed["algorithms"][0]["simple_regret"]["standard_error"] == [None] * 15
    assert printed["picture"] == "small.png"
    assert 5_000 < Path("small.png").stat().st_size < 100_000


def test_two_workers_find_what_one_finds() -> None:
    def numbers(workers: str) -> list[object]:
        printed = json.loads(run(*TINY, "--json", "--workers", workers).stdout)
        return [(row["simple_regret"], row["cumulative_regret"]) for row in printed["algorithms"]]

    assert numbers("1") == numbers("2")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--seeds", "0"], "--seeds must be at least 1 (got 0)"),
        (["--rounds", "-3"], "--rounds must be at least 1 (got -3)"),
        (["--points", "1"], "--points must be at least 10 (got 1)"),
        (["--workers", "0"], "--workers must be at least 1 (got 0)"),
        (["--dpi", "1"], "--dpi must be between 30 and 600 (got 1)"),
        (["--seeds", "many"], "Invalid value for '--seeds': 'many' is not a valid integer."),
        (["--out", "nowhere/demo.png"], "--out must be in a folder that exists (got nowhere/demo.png)"),
        (["--out", "demo.txt"], "--out must end in .png, .pdf, .svg (got demo.txt)"),
        (["--out", "demo"], "--out must end in .png, .pdf, .svg (got demo)"),
        (["--colour"], "No such option"),
    ],
)
def test_bad_input_gets_one_sentence_and_exit_code_2(args: list[str], sentence: str) -> None:
    ran = run(*SMALL, *args)
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith(f"Error: {sentence}")
    assert not list(Path.cwd().iterdir())


def test_a_folder_is_not_a_picture() -> None:
    Path("demo.png").mkdir()
    ran = run(*SMALL, "--out", "demo.png")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr == "Error: --out must be a file that can be written (got demo.png)\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_one_sentence_after_the_table() -> None:
    Path("full.png").symlink_to("/dev/full")
    ran = run(*TINY, "--out", "full.png")
    assert ran.exit_code == 2
    assert "GP-UCB-SDF" in ran.stdout
    assert ran.stderr.splitlines()[-1].startswith("Error: --out must be a file that can be written (got full.png: ")


def test_without_matplotlib_the_table_is_printed_and_the_remedy_named() -> None:
    ran = run_python(WITHOUT_MATPLOTLIB, *TINY)
    assert ran.returncode == 0
    assert "GP-UCB-SDF" in ran.stdout
    assert "The picture" not in ran.stdout
    sentence = 'No picture: the picture needs matplotlib: pip install "belated[plots]"'
    assert ran.stderr.splitlines()[-1] == sentence
    assert not list(Path.cwd().iterdir())


def test_without_matplotlib_a_picture_asked_for_is_an_error() -> None:
    ran = run_python(WITHOUT_MATPLOTLIB, *TINY, "--json", "--out", "demo.png")
    assert ran.returncode == 2
    assert json.loads(ran.stdout)["picture"] is None
    assert ran.stderr == 'Error: the picture needs matplotlib: pip install "belated[plots]"\n'
