"""`belated undo`: it shows what it takes back, asks, and is an event."""

import pytest
from click.testing import CliRunner

import belated
from belated.cli import main
from tests.cli.shell import check_refused, invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def answer(word: str, *args: str) -> str:
    ran = CliRunner().invoke(main, list(args), input=f"{word}\n", catch_exceptions=False)
    assert ran.exit_code == 0
    return ran.stdout


@pytest.mark.usefixtures("lab")
def test_it_shows_what_it_would_take_back_and_asks() -> None:
    invoke("tell", "2", "0.9", "--by", "Anna", "--remark", "a bit cloudy")
    said = answer("n", "undo", "--by", "Anna")
    assert "Anna: told 0.9 of trial 2 (a bit cloudy)" in said
    assert said.endswith("Nothing changed\n")
    assert open_lab().trial(2).outcome == 0.9
    assert answer("y", "undo", "--by", "Anna").endswith("Took back: told 0.9 of trial 2\n")
    assert open_lab().trial(2).status == "pending"
    check_refused(["undo", "--yes", "--by", "Anna"], "there is nothing by Anna to undo")


@pytest.mark.usefixtures("lab")
def test_a_script_says_yes() -> None:
    invoke("tell", "2", "0.9", "--by", "Anna")
    check_refused(["undo", "--json", "--by", "Anna"], "say --yes")
    (entry,) = run_json("undo", "--yes", "--by", "Anna", "--reason", "the wrong flask")
    assert (entry["event"], entry["number"]) == ("told", 2)
    assert isinstance(open_lab().events()[-1], belated.events.Undone)


def test_a_second_undo_goes_further_back_and_says_so(lab: belated.Study) -> None:
    said = "An undo cannot be undone; this goes further back. What was taken back can be told again."
    words = ["undo", "--by", "Anna"]
    lab.tell(2, 0.5, by="Anna")
    lab.amend(2, 0.6, reason="typo", by="Anna")
    first = CliRunner().invoke(main, words, input="y\n").output
    assert said not in first
    second = CliRunner().invoke(main, words, input="y\n").output
    assert second.startswith(said)
    assert "Took back: told 0.5 of trial 2" in second
    assert lab.trial(2).status == "pending"
    assert lab.tell(2, 0.6).status == "heard"  # and this is how it is put back
