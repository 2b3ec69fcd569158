"""`belated check`: the whole record."""

import re
import sqlite3
from pathlib import Path

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_check_reads_the_whole_record() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask", "-n", "3")
    invoke("tell", "2", "0.5")
    report = run_json("check")
    assert report["ok"]
    assert (report["trials"], report["outcomes"]) == (3, 1)
    assert invoke("check", "--all").stdout.rstrip().endswith("; ok")


def test_check_prints_the_head_of_each_record() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask", "-n", "3")
    (head,) = run_json("check")["heads"]
    assert re.fullmatch(r"lab: head 3 [0-9a-f]{64}", head)
    assert head in invoke("check").stdout.splitlines()
    invoke("tell", "2", "0.5")
    assert run_json("check")["heads"] != [head]


def test_what_is_sound_is_kept_in_a_new_file() -> None:
    invoke("new", "lab", *SPACE)
    for _ in range(3):
        invoke("ask")
    with sqlite3.connect("belated.db") as connection:
        connection.execute("UPDATE events SET number = 7 WHERE position = 3")
    connection.close()
    before = Path("belated.db").read_bytes()
    done = invoke("check", "--repair", "sound.db").stdout
    assert "lab: left out from event 3 on" in done
    assert done.splitlines()[-1] == "kept 1 study with 2 events"
    assert Path("belated.db").read_bytes() == before
    assert run_json("check", "--store", "sqlite:///sound.db")["trials"] == 2


REFUSED = [
    (["check", "lab", "--all"], "name a study or say --all, not both (got lab)"),
    (["check", "lab", "--repair", "new.db"], "--repair is for the whole store; leave out --all and the name"),
    (["check", "--repair", "belated.db"], "a repair needs a new file; belated.db exists"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)
