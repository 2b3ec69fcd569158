"""`belated best`: the best query, in all contexts or in one."""

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_the_best_trial_is_printed() -> None:
    invoke("new", "lab", *SPACE)
    for value in ("0.25", "0.75", "0.5"):
        invoke("add", "x=0.5", "act=relu", "--value", value)
    best = open_lab().best()
    worth = f"Outcome 0.75, of trial 2, where {best.interval} is believed (90 %); asked 3 times, heard 3 times"
    assert invoke("best").stdout == f"{worth}\n  x    0.5\n  act  relu\n"


def test_the_best_in_one_context() -> None:
    invoke("new", "lab", *SPACE, "--context-real", "t", "0", "40")
    invoke("add", "x=0.2", "act=relu", "--context", "t=20", "--value", "0.5")
    invoke("add", "x=0.1", "act=relu", "--context", "t=3", "--value", "0.9")
    assert run_json("best", "--context", "t=20")["trial"]["number"] == 1
    assert run_json("best")["trial"]["number"] == 2
    invoke("best", "--context", "t=21", code=2)


def test_the_best_rate_of_conversions() -> None:
    """Each is shown twice; both of x = 0.5 convert."""
    space = ("--real", "x", "0", "1", "--seed", "0")
    invoke("new", "shop", *space, "--outcomes", "conversion", "--silence", "floor", "--patience", "7d")
    for x in ("0.5", "0.1", "0.5", "0.1"):
        invoke("add", f"x={x}")
    assert "No outcome has been heard yet" in invoke("best", code=2).stderr
    for number in ("1", "3"):
        invoke("tell", number, "1")
    printed, shown = run_json("best"), run_json("show")["best"]
    assert printed == shown
    assert (printed["params"], printed["trial"], printed["quantity"]) == ({"x": 0.5}, None, "rate")
    assert (printed["asked"], printed["heard"]) == (2, 2)
    assert 0 <= printed["low"] <= printed["value"] <= printed["high"] <= 1
    interval = f"{printed['value']:.4g} (90 %: {printed['low']:.4g} to {printed['high']:.4g})"
    worth = f"Rate {interval}; asked 2 times, converted 2 times"
    assert invoke("best").stdout == f"{worth}\n  x  0.5\n"
    assert f"; the best rate is {interval}, see belated best" in invoke("show").stdout


@pytest.mark.usefixtures("lab")
def test_bad_input_is_one_sentence_and_nothing_is_stored() -> None:
    check_refused(["best", "lob"], "there is no study 'lob'; there are lab")
    check_refused(["best", "lab", "2"], "the arguments must be [NAME] (got lab 2)")
