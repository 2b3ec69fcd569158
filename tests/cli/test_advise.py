"""`belated advise`: the table, its JSON, and `belated new --patience auto`."""

import pytest

import belated
from tests.cli.shell import STORE, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

NEW = ["--real", "x", "0", "1", "--silence", "floor", "--floor", "0", "--seed", "0"]


def simulate_study(rounds: int) -> belated.Study:
    study = belated.Study.open(STORE, "lab")
    for _ in belated.simulate(
        study,
        lambda p: p["x"],
        delay=belated.delays.Fixed(3),
        rounds=rounds,
        noise=0.1,
        seed=0,
        choose=lambda study: {"x": study.rounds % 9 / 9},
    ):
        pass
    return study


def test_before_anything_was_heard() -> None:
    invoke("new", "lab", *NEW, "--patience", "5")
    sentence = "Too early to advise: 0 outcomes were heard, and it takes 10. Leave patience as it is (5 rounds)."
    assert invoke("advise", "lab").stdout == f"{sentence}\n"
    plain = run_json("advise")
    assert (plain["reason"], plain["recommended"], plain["patience"], plain["rows"]) == (sentence, None, None, [])


def test_the_table_and_its_json_are_what_python_says() -> None:
    invoke("new", "lab", *NEW, "--patience", "5")
    advice = simulate_study(20).advise()
    assert advice.recommended == 3
    assert invoke("advise").stdout == f"{advice}\n"
    lines = invoke("advise", "lab").stdout.splitlines()
    assert lines[0].split() == ["m", "arrive", "by", "then", "kept", "open", "interval", "cost"]
    assert lines[1].endswith("advised")
    assert lines[2].endswith("now")
    assert run_json("advise", "lab") == advice.to_dict()
    assert run_json("advise", "lab", "--by", "clock")["scale"] == "clock"


def test_bad_input_is_refused_in_one_sentence() -> None:
    invoke("new", "lab", *NEW)
    assert invoke("advise", "lab", "--by", "days", code=2).stderr == (
        'Error: by must be "rounds" or "clock" (got \'days\')\n'
    )
    assert invoke("advise", "other", code=2).stderr.startswith("Error: there is no study 'other'")


def test_a_study_that_chooses_its_patience() -> None:
    made = invoke("new", "lab", *NEW, "--patience", "auto")
    assert "silence means floor, patience auto, algorithm default" in made.stdout
    assert "exists" in invoke("new", "lab", *NEW, "--patience", "auto").stdout
    refused = invoke("new", "lab", *NEW, "--patience", "20", code=2)
    assert refused.stderr == "Error: study 'lab' exists with another patience: auto (got 20 rounds)\n"
    assert simulate_study(20).settings.patience.m == 3
    assert "patience auto, now 3 rounds" in invoke("show", "lab").stdout
    assert invoke("advise", "lab").stdout.splitlines()[1].endswith("advised, now")
    invoke("check", "lab")
