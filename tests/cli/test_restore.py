"""`belated restore`: the studies of a backup into a store."""

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_a_restored_study_goes_on() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask", "-n", "3")
    invoke("tell", "2", "0.5")
    invoke("backup", "monday.db")
    there = ("--store", "sqlite:///there.db")
    assert invoke("restore", "monday.db", *there).stdout.splitlines() == [
        "lab: restored with 4 events",
        "added 1 study with 4 events",
    ]
    assert run_json("check", *there)["heads"] == run_json("check")["heads"]
    assert run_json("restore", "monday.db", *there) == {
        "studies": 0,
        "events": 0,
        "sentences": ["lab: is there already, with all 4 events; it stays as it is"],
    }
    assert run_json("ask", *there)["params"] == run_json("ask")["params"]


def test_one_study_under_another_name() -> None:
    for name in ("a", "lab"):
        invoke("new", name, *SPACE)
    invoke("ask", "lab")
    invoke("backup", "monday.db")
    there = ("--store", "sqlite:///there.db")
    invoke("new", "lab", *SPACE, *there)
    assert (
        "lab-monday: restored with 1 event"
        in invoke("restore", "lab", "monday.db", "--as", "lab-monday", *there).stdout
    )
    assert run_json("show", "lab-monday", *there)["trials"][0]["params"] == open_lab().trial(1).params


REFUSED = [
    (["restore"], "the arguments must be [NAME] FILE (got nothing)"),
    (["restore", "none.db"], "none.db cannot be opened (No such file or directory)"),
    (["restore", "other", "belated.db"], "there is no study 'other' in belated.db; there are lab"),
    (["restore", "belated.db", "--as", "a/b"], "name must be 1 to 128"),
    (["restore", "belated.db", "--as", "two"], "study lab is in the store already, as lab"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)


def test_another_study_of_this_name() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask")
    invoke("backup", "monday.db")
    invoke("new", "lab", *SPACE, "--store", "sqlite:///there.db")
    args = ["restore", "monday.db", "--store", "sqlite:///there.db"]
    check_refused(args, "there is another study lab in the store, and nothing was restored; give the one of the backup")
