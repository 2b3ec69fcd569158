"""`belated log`: the history in sentences, by trial, person and date."""

import getpass

import pytest

import belated
from tests.cli.shell import check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_who_when_and_why_are_told_in_order(lab: belated.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BELATED_BY", raising=False)
    invoke("tell", "2", "0.9", "--by", "Anna", "--run", "x=1.25")
    invoke("amend", "2", "0.8", "--reason", "typo", "--by", "Anna")
    invoke("amend", "lab", "--range", "x", "0", "2", "--patience", "14d", "--reason", "at the edge", "--by", "Bob")
    invoke("close", "--lock")
    lines = invoke("log").stdout.splitlines()
    assert lines.pop(0).endswith("  made the study, over x and act")
    assert len(lines) == len(lab.events()) == 7
    assert lines[3].split("  ")[2] == "Anna: told 0.9 of trial 2, run at x = 1.25, act = " + lab.trial(2).params["act"]
    assert lines[4].endswith("Anna: amended trial 2: its outcome is 0.8 (typo)")
    assert lines[5].endswith("Bob: amended patience to 14d and x to the range 0.0 to 2.0 (at the edge)")
    assert lines[6].endswith(f"{getpass.getuser()}: locked the study")


@pytest.mark.usefixtures("lab")
def test_it_is_filtered_and_in_json() -> None:
    invoke("tell", "2", "0.9", "--by", "Anna", "--at", "2020-05-01")
    assert [entry["event"] for entry in run_json("log", "--trial", "2")] == ["asked", "told"]
    assert [entry["position"] for entry in run_json("log", "--by", "Anna")] == [4]
    assert run_json("log", "--by", "Anna")[0]["sentence"] == "told 0.9 of trial 2, dated 2020-05-01 00:00"
    assert run_json("log", "--until", "2020-06-01") == []  # nothing was written then
    assert [entry["position"] for entry in run_json("log", "--since", "2020-06-01")] == [0, 1, 2, 3, 4]
    assert invoke("log", "--by", "Nobody").stdout == "Nothing happened\n"
    check_refused(["log", "--trial", "7"], "there is no trial 7")


def test_positions_are_aligned(lab: belated.Study) -> None:
    lab.ask(n=9)
    lines = invoke("log").stdout.splitlines()
    assert [line[:4] for line in lines] == [f"{position:>2}  " for position in range(13)]
