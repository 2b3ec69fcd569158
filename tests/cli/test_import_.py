"""`belated import`: past experiments, once."""

import time
from pathlib import Path

import pytest

import belated
from belated.record.events import Asked
from tests.cli.shell import SPACE, STORE, check_refused, invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_past_experiments_are_taken_in_once() -> None:
    invoke("new", "lab", *SPACE)
    Path("past.csv").write_text("act,x,value,noise\nrelu,0.5,1,\nrelu,0.5,1,\ntanh,0.25,0.3,0.1\n\nrelu,0.1,,\n")
    assert run_json("import", "past.csv")["new"] == 4
    assert run_json("import", "lab", "past.csv") == {
        "rows": 4,
        "new": 0,
        "known": 4,
        "told": 0,
        "failed": 0,
        "refused": 0,
        "amended": 0,
        "pending_before": 1,
        "aged": True,
        "days": 0,
        "restated": 0,
        "fewer": 0,
        "nobody": 0,
        "left_out": [],
        "remarks": [],
        "edits": [],
        "early": 0,
        "outside": 0,
    }
    Path("copy.csv").write_text("\ufeffx,act,outcome,noise\r\n0.25,tanh,0.3,0.1\r\n0.5,relu,1,\r\n0.9,relu,2,\r\n")
    assert run_json("import", "copy.csv")["new"] == 1  # other columns, another order, a spreadsheet's BOM
    trials = open_lab().trials()
    assert [(t.params["x"], t.outcome, t.noise) for t in trials] == [
        *((0.5, 1.0, None), (0.5, 1.0, None), (0.25, 0.3, 0.1), (0.1, None, None), (0.9, 2.0, None)),
    ]
    assert all(trial.by_hand for trial in trials)


def test_the_same_file_again_changes_nothing_whatever_happened_since() -> None:
    invoke("new", "lab", *SPACE)
    Path("past.csv").write_text("x,act,outcome,failure\n0.5,relu,1,\n0.6,relu,,lost\n")
    assert run_json("import", "past.csv")["new"] == 2
    invoke("amend", "1", "3", "--reason", "typo")
    invoke("tell", "2", "0.25")
    again = run_json("import", "past.csv")
    assert (again["new"], again["told"], again["failed"]) == (0, 0, 0)
    assert [trial.outcome for trial in open_lab().trials()] == [3.0, 0.25]


def test_a_key_tells_equal_rows_of_two_files_apart() -> None:
    invoke("new", "lab", *SPACE)
    for key in ("monday", "tuesday", "monday"):
        Path("past.csv").write_text(f"key,x,act,outcome\n{key},0.5,relu,1\n")
        invoke("import", "past.csv")
    assert len(open_lab().trials()) == 2
    Path("past.csv").write_text("key,x,act,outcome\nmonday,0.5,relu,2\n")
    assert "past.csv:2: trial 1: the outcome is 2.0, not 1.0" in invoke("import", "past.csv", code=2).stderr


def test_a_key_tells_people_of_one_day_apart_who_were_shown_the_same() -> None:
    space = ("--integer", "discount", "0", "20", "--outcomes", "conversion", "--silence", "fading", "--patience", "7d")
    invoke("new", "shop", *space)
    day, columns = "2026-03-02T09:00", "key,discount,asked_at,outcome,told_at\n"
    Path("sent.csv").write_text(f"{columns}a,4,{day},,\nb,4,{day},0,\nc,4,{day},1,2026-03-03T09:00\n")
    assert run_json("import", "shop", "sent.csv")["new"] == 3
    Path("later.csv").write_text(f"{columns}b,4,{day},1,2026-03-04T09:00\nd,4,{day},1,2026-03-04T10:00\ne,4,{day},,\n")
    counts = run_json("import", "shop", "later.csv")
    assert (counts["new"], counts["known"], counts["told"]) == (2, 1, 2)
    trials = belated.Study.open(STORE, "shop").trials()
    assert [trial.outcome for trial in trials] == [None, 1.0, 1.0, 1.0, None]
    assert run_json("import", "shop", "later.csv")["new"] == 0


def test_a_row_with_a_key_is_about_a_trial_that_was_imported_without_one() -> None:
    invoke("new", "lab", *SPACE)
    Path("past.csv").write_text("x,act,asked_at\n0.5,relu,2026-03-02T09:00\n0.5,relu,2026-03-02T09:00\n")
    invoke("import", "past.csv")
    rows = "".join(f"{key},0.5,relu,2026-03-02T09:00\n" for key in ("a", "b", "c"))
    Path("keyed.csv").write_text(f"key,x,act,asked_at\n{rows}")
    assert run_json("import", "keyed.csv")["new"] == 1


def test_import_warns_of_pending_queries_that_age() -> None:
    invoke("new", "rounds", *SPACE, "--patience", "5")
    invoke("new", "clock", *SPACE, "--patience", "5d")
    Path("past.csv").write_text("x,act,outcome\n0.5,relu,1\n0.6,relu,2\n")
    for name in ("rounds", "clock"):
        invoke("ask", name)
    assert run_json("import", "rounds", "past.csv", "--dry-run")["new"] == 2
    assert belated.Study.open(STORE, "rounds").rounds == 1
    warned = invoke("import", "rounds", "past.csv").stderr
    assert warned == (
        "Warning: 1 pending query is now 2 rounds older, because every imported row counts as a round; "
        "import before you ask\n"
    )
    assert invoke("import", "clock", "past.csv").stderr == ""
    assert invoke("import", "rounds", "past.csv").stderr == ""  # nothing new, nothing older


def test_one_bad_row_in_ten_thousand_and_nothing_is_taken() -> None:
    invoke("new", "lab", *SPACE)
    rows = [f"{i / 10000},relu,{i}" for i in range(10000)]
    rows[7776] = "1500,relu,7"
    rows[8887] = "0.5,elu,7"
    Path("past.csv").write_text("\n".join(["x,act,outcome", *rows]))
    assert invoke("import", "past.csv", code=2).stderr.splitlines() == [
        "Error: nothing was recorded: 2 lines are wrong",
        "  past.csv:7778: x: value must not be farther than 1000 ranges from 0.0 to 1.0 (got 1500.0)",
        "  past.csv:8889: act: value must be one of relu, tanh (got 'elu')",
    ]
    assert run_json("show")["trials"] == []


def test_experiments_outside_the_ranges_are_kept_and_said() -> None:
    invoke("new", "lab", *SPACE)
    Path("past.csv").write_text("x,act,outcome\n1.5,relu,9\n-0.25,tanh,2\n0.5,relu,1\n")
    would = invoke("import", "past.csv", "--dry-run").stdout
    assert would == (
        "Would import 3 rows: 3 new trials, 0 here before, 3 outcomes; 2 lie outside the ranges: kept and used, "
        "never proposed\n"
    )
    assert invoke("import", "past.csv").stdout == would.replace("Would import", "Imported")
    assert "outside" not in invoke("import", "past.csv").stdout
    assert run_json("best")["params"] == {"x": 1.5, "act": "relu"}  # as it was seen
    assert 0 <= run_json("recommend")["params"]["x"] <= 1
    assert all(0 <= trial["params"]["x"] <= 1 for trial in run_json("ask", "-n", "8"))
    invoke("export", "--out", "all.csv")
    invoke("new", "other", *SPACE)
    assert run_json("import", "other", "all.csv")["outside"] == 2
    invoke("check", "lab")


def test_a_closed_study_takes_outcomes_and_no_rows() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask")
    invoke("close")
    Path("past.csv").write_text("x,act,outcome\n0.5,relu,1\n0.6,relu,2\n")
    assert invoke("import", "past.csv", code=2).stderr.startswith("Error: This study is closed")
    Path("told.csv").write_text("number,value\n1,2\n")
    assert run_json("tell", "--csv", "told.csv")["told"] == 1


REFUSED = [
    (["import", "past.txt"], "FILE must end in .csv, .xlsx or .jsonl (got past.txt)"),
    (["import", "past.csv"], "past.csv cannot be read (No such file or directory)"),
    (["import"], "the arguments must be [NAME] FILE (got nothing)"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)


# Delays ---------------------------------------------------------------------------------------------------------------


def write_past(*, times: bool) -> None:
    """Twenty experiments of the past, one an hour; the outcome came after half an hour, if anyone noted it."""
    lines = ["x,outcome" + (",asked_at,told_at" if times else "")]
    for i in range(20):
        at = 1000.0 + 3600.0 * i
        lines.append(f"{i / 20},{i % 7}" + (f",{at},{at + 1800.0}" if times else ""))
    Path("past.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("patience", ["auto", "auto-clock"])
def test_past_experiments_without_times_have_no_delay(patience: str) -> None:
    invoke("new", "lab", "--real", "x", "0", "1", "--silence", "waiting", "--patience", patience, "--seed", "0")
    write_past(times=False)
    invoke("import", "past.csv")
    lab = open_lab()
    assert [trial.delay for trial in lab.trials()] == [None] * 20
    asked = [lab.ask(), lab.ask()]
    assert [lab.trial(trial.number).status for trial in asked] == ["pending", "pending"]
    assert str(lab.settings.patience) == patience  # nothing was learnt of delays, so nothing was chosen
    assert (lab.delays().heard, lab.delays().added, lab.delays().pending) == (0, 20, 2)
    assert "20 trials came with their outcomes and have no delay." in invoke("delays").stdout
    assert "Too early to advise: 0 outcomes were heard" in invoke("advise").stdout
    assert "no delay has been seen yet" in invoke("compare", code=2).stderr


def test_past_experiments_with_times_have_the_delays_that_follow_from_them() -> None:
    write_past(times=True)
    for name, patience in (("rounds", "10"), ("clock", "5h")):
        invoke("new", name, "--real", "x", "0", "1", "--silence", "waiting", "--patience", patience, "--seed", "0")
        invoke("import", name, "past.csv")
    assert {trial.delay for trial in belated.Study.open(STORE, "rounds").trials()} == {1.0}
    assert {trial.delay for trial in belated.Study.open(STORE, "clock").trials()} == {1800.0}


def test_an_outcome_that_took_three_rounds_by_the_times_has_a_delay_of_three_rounds() -> None:
    invoke("new", "lab", "--real", "x", "0", "1", "--silence", "waiting", "--patience", "10", "--seed", "0")
    rows = ["0.1,5,300,400", "0.2,1,100,350", "0.3,2,200,", "0.4,3,400,450"]  # out of order, and one pending
    Path("past.csv").write_text(
        "\n".join(["x,outcome,asked_at,told_at", *rows]).replace("0.3,2,200,", "0.3,,200,") + "\n"
    )
    invoke("import", "past.csv")
    facts = [(trial.asked_at, trial.delay) for trial in open_lab().trials()]
    assert facts == [(100.0, 3.0), (200.0, None), (300.0, 2.0), (400.0, 1.0)]


def test_an_outcome_typed_into_an_export_was_waited_for() -> None:
    invoke("new", "lab", "--real", "x", "0", "1", "--silence", "unknown", "--patience", "9d", "--seed", "0")
    invoke("add", "lab", "x=0.5", "--at", "2026-01-01T00:00")
    invoke("export", "lab", "--out", "trials.csv")
    header, row = Path("trials.csv").read_text().splitlines()
    cells = dict(zip(header.split(","), row.split(","), strict=True)) | {"outcome": "0.7"}
    Path("trials.csv").write_text(f"{header}\n{','.join(cells.values())}\n")
    invoke("import", "trials.csv")
    trial = open_lab().trial(1)
    assert trial.delay is not None
    assert trial.delay > 86400.0


def test_what_has_no_delay_has_none_after_export_and_import() -> None:
    for name in ("old", "new"):
        invoke("new", name, "--real", "x", "0", "1", "--silence", "unknown", "--seed", "0")
    invoke("add", "old", "x=0.5", "--value", "1", "--at", "5")
    invoke("amend", "old", "1", "2", "--reason", "misread")
    for kind in ("csv", "jsonl"):
        invoke("export", "old", "--out", f"old.{kind}")
        invoke("import", "new", f"old.{kind}")
    (trial,) = belated.Study.open(STORE, "new").trials()
    assert (trial.outcome, trial.delay, trial.asked_at) == (2.0, None, 5.0)


# Numbers, times and cut files -----------------------------------------------------------------------------------------

NUMBERS = {
    "twice": (
        "number,x,act\n1,0.5,relu\n2,0.6,relu\n1,0.7,relu\n",
        "t.csv:4: number must be there once (got 1, as in line 2)",
    ),
    "zero": ("number,x,act\n0,0.5,relu\n", "t.csv:2: number must be between 1 and 1000000000 (got 0)"),
    "negative": ("number,x,act\n-3,0.5,relu\n", "t.csv:2: number must be between 1 and 1000000000 (got -3)"),
    "huge": (f"number,x,act\n{10**30},0.5,relu\n", "t.csv:2: number must be between 1 and 1000000000 (got "),
    "known from before": ("x,act,outcome,known_from\n0.5,relu,1,-1\n", "t.csv:2: known_from must be between 1 and"),
    "asked at no time": (
        "x,act,asked_at\n0.5,relu,1e308\n",
        "t.csv:2: asked_at must be between -1e+15 and 1e+15 seconds",
    ),
    "told at no time": ("x,act,outcome,told_at\n0.5,relu,1,-1e300\n", "t.csv:2: told_at must be between -1e+15 and"),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_numbers_and_times_that_cannot_be_are_refused_with_their_line(what: str) -> None:
    invoke("new", "lab", *SPACE)
    text, sentence = NUMBERS[what]
    Path("t.csv").write_text(text)
    assert sentence in invoke("import", "t.csv", code=2).stderr
    assert open_lab().rounds == 0


def test_the_same_for_json_lines() -> None:
    invoke("new", "lab", *SPACE)
    row = '{"number": %s, "params": {"x": 0.5, "act": "relu"}%s}\n'
    for rows, sentence in (
        ([("1", ""), ("2", ""), ("2", "")], "t.jsonl:3: number must be there once (got 2, as in line 2)"),
        ([("-1", "")], "t.jsonl:1: number must be between 1 and"),
        ([("1" + "0" * 300, "")], "t.jsonl:1: number must be between 1 and"),
        ([("1", ', "asked_at": 1e300')], "t.jsonl:1: asked_at must be between"),
    ):
        Path("t.jsonl").write_text("".join(row % one for one in rows))
        assert sentence in invoke("import", "t.jsonl", code=2).stderr
    assert open_lab().rounds == 0


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_last_line_without_its_newline_is_named(ending: str) -> None:
    """The number in it may have lost digits."""
    invoke("new", "lab", *SPACE)
    lines = ["x,act,outcome", "0.5,relu,1", "0.25,tanh,0.12"]
    Path("past.csv").write_bytes(ending.join(lines).encode())
    ran = invoke("import", "past.csv")
    assert ran.stderr == "Warning: past.csv:3: this last line has no newline; check that the file is not cut off\n"
    Path("whole.csv").write_bytes((ending.join(lines) + ending).encode())
    assert invoke("import", "whole.csv").stderr == ""
    Path("told.csv").write_bytes(ending.join(["number,value", "1,1"]).encode())
    assert "told.csv:2: this last line has no newline" in invoke("tell", "--csv", "told.csv").stderr


def test_a_cut_line_that_is_wrong_says_both() -> None:
    invoke("new", "lab", *SPACE)
    Path("past.csv").write_text("x,act,outcome\n0.5,relu,1\n0.25,ta")
    stderr = invoke("import", "past.csv", code=2).stderr
    assert "past.csv:3: there must be 3 cells (got 2); this last line has no newline: the file may be cut off" in stderr


def test_whoever_imports_a_table_signs_all_of_it() -> None:
    invoke("new", "lab", *SPACE)
    Path("past.csv").write_text(
        "x,act,outcome,asked_at,told_at,failure\n"
        "0.5,relu,1,,,\n0.6,relu,2,2026-03-01,2026-03-02,\n0.7,relu,,2026-03-01,,lost\n"
    )
    invoke("import", "past.csv", "--by", "anna")
    events = open_lab().events()
    assert len(events) == 6
    assert {event.by for event in events} == {"anna"}
    invoke("export", "lab", "--out", "lab.jsonl")
    invoke("new", "copy", *SPACE)
    invoke("import", "copy", "lab.jsonl", "--by", "bert")
    ends = [e for e in belated.Study.open(STORE, "copy").events() if not isinstance(e, Asked)]
    assert {event.by for event in ends} == {"anna"}  # JSON lines say it themselves


def test_what_was_imported_says_when_that_was(lab: belated.Study) -> None:
    Path("old.csv").write_text("x,act,outcome,asked_at,told_at\n0.5,relu,0.4,2026-03-01,2026-03-04\n", encoding="utf-8")
    before = time.time()
    invoke("import", "lab", "old.csv")
    added, told = lab.events()[-2:]
    assert all(before - 1 <= event.recorded_at <= time.time() for event in (added, told))
    entries = lab.log()[-2:]
    assert all(entry.at >= before - 1 for entry in entries)
    assert entries[0].sentence.endswith(", dated 2026-03-01 00:00")
    assert entries[1].sentence == f"told 0.4 of trial {told.number}, dated 2026-03-04 00:00"


def test_where_no_column_has_the_outcomes_it_is_asked_which_one_does(lab: belated.Study) -> None:
    Path("old.csv").write_text("Exp;x;act;Ausbeute\n1;0,5;relu;31,2\n", encoding="utf-8")
    hint = "no new trial has an outcome; if one of these columns has them, say --map TITLE=outcome: Exp, Ausbeute"
    assert hint in invoke("import", "lab", "old.csv", "--dry-run").stderr
    assert "--map" not in invoke("import", "lab", "old.csv", "--map", "Ausbeute=outcome").stderr
    assert lab.trials()[-1].outcome == 31.2
