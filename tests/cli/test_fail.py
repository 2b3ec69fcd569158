"""`belated fail`: trials without an outcome."""

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_a_failed_trial_takes_an_outcome_only_after_lost() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask", "-n", "2")
    assert run_json("fail", "lab", "1", "lost")["failure"] == "lost"
    assert invoke("fail", "2", "infeasible").stdout == "Trial 2: infeasible\n"
    invoke("tell", "1", "0.5")
    assert "an outcome is accepted only after lost" in invoke("tell", "2", "0.5", code=2).stderr


REFUSED = [
    (["fail", "lab", "2"], "KIND is missing; for example: belated fail lab 2 lost (got lab 2)"),
    (["fail", "lab", "lost"], "NUMBER is missing; for example: belated fail lab 1 lost (got lab lost)"),
    (["fail", "2", "broken"], "KIND must be one of lost, infeasible, withdrawn (got 'broken')"),
    (["fail", "1", "lost"], "trial 1 was told 0.5 before"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)
