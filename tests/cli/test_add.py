"""`belated add`: queries that were tried elsewhere."""

import pytest

import belated
from tests.cli.shell import SPACE, check_refused, invoke

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_a_query_is_added_with_or_without_its_outcome(lab: belated.Study) -> None:
    words = invoke("add", "lab", "x=0.5", "act=relu", "--value", "0.75", "--noise", "0.1").stdout
    assert words == "Trial 3, outcome 0.75\n  x    0.5\n  act  relu\n"
    assert invoke("add", "x=0.25", "act=tanh", "--at", "1234").stdout.startswith("Trial 4, pending\n")
    three, four = lab.trials()[2:]
    assert (three.params, three.outcome, three.noise, three.by_hand) == ({"x": 0.5, "act": "relu"}, 0.75, 0.1, True)
    assert (four.params, four.outcome, four.asked_at, four.by_hand) == ({"x": 0.25, "act": "tanh"}, None, 1234.0, True)


def test_an_outcome_below_the_floor_is_flagged() -> None:
    invoke("new", "lab", *SPACE, "--floor", "0")
    words = invoke("add", "x=0.5", "act=relu", "--value", "-1").stdout
    assert words.splitlines()[-1] == "  (the outcome -1.0 is worse than the floor 0.0)"


REFUSED = [
    (["add"], "the arguments must be [NAME] K=V ..."),
    (["add", "x", "0.5", "act", "relu"], "an argument must be name=value (got '0.5')"),
    (["add", "x=0.5"], "act: value is missing (got x)"),
    (["add", "x=0.5", "act=elu"], "act: value must be one of relu, tanh (got 'elu')"),
    (["add", "x=nan", "act=relu"], "x: value must be a finite number (got nan)"),
    (["add", "x=0.5", "act=relu", "--noise", "1"], "noise belongs to an outcome"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)
