"""`belated fail`: trials without an outcome."""

from pathlib import Path

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, open_lab, run_json

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


def test_many_trials_fail_together_with_a_reason() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask", "-n", "4")
    said = invoke("fail", "lab", "1", "3", "withdrawn", "--reason", "the power was off", "--by", "Anna").stdout
    assert said == "Trial 1: withdrawn\nTrial 3: withdrawn\n"
    check_refused(["fail", "2", "3", "lost"], "trial 3 ended as withdrawn before")
    assert [trial["failure"] for trial in run_json("fail", "2", "4", "lost")] == ["lost", "lost"]
    assert (open_lab().trial(3).ended_by, open_lab().trial(3).remark) == ("Anna", "the power was off")


def test_a_csv_of_failures_is_recorded_as_a_whole() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask", "-n", "3")
    Path("broken.csv").write_text("number,failure,reason\n1,lost,dropped\n2,infeasible,\n3,,\n", encoding="utf-8")
    counts = {"failed": 2, "known": 0, "empty": 1, "left_out": []}
    assert run_json("fail", "--csv", "broken.csv", "--reason", "Monday", "--by", "Anna") == counts
    assert [trial.remark for trial in open_lab().trials()] == ["dropped", "Monday", ""]
    assert {event.by for event in open_lab().events()[3:]} == {"Anna"}
    assert (
        invoke("fail", "--csv", "broken.csv").stdout == "Ended 0 trials, 2 ended so before, 1 row without a failure\n"
    )
    Path("wrong.csv").write_text("number,failure\n3,lost\n1,withdrawn\n9,lost\n", encoding="utf-8")
    before = open_lab().trials()
    said = invoke("fail", "--csv", "wrong.csv", code=2).stderr
    assert "wrong.csv:3" in said
    assert "wrong.csv:4" in said
    assert open_lab().trials() == before
