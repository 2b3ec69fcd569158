"""`belated tell`: receipts, times, and outcomes in a CSV."""

from datetime import datetime
from pathlib import Path

import pytest

import belated
from tests.cli.shell import SPACE, check_refused, invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_tell_and_its_receipts() -> None:
    invoke("new", "lab", *SPACE, "--floor", "0", "--patience", "2", "--late", "use")
    invoke("ask", "-n", "4")
    assert (
        run_json("tell", "lab", "4", "-0.5", "--noise", "0.1")["note"] == "the outcome -0.5 is worse than the floor 0.0"
    )
    assert run_json("tell", "lab", "1", "0.25")["status"] == "late"
    assert run_json("tell", "1", "0.25")["status"] == "duplicate"
    assert "told before, with the same value; nothing changed" in invoke("tell", "1", "0.25").stdout
    refused = invoke("tell", "1", "-0.75", code=2).stderr
    assert "trial 1 was told before, with 0.25" in refused
    assert 'belated amend lab 1 -0.75 --reason "..."' in refused
    study = open_lab()
    assert [trial.outcome for trial in study.trials()] == [0.25, None, None, -0.5]
    assert study.trial(4).noise == 0.1


@pytest.mark.parametrize("written", ["seconds", "local", "zone"])
def test_at_says_when_it_came(written: str) -> None:
    invoke("new", "lab", *SPACE, "--patience", "14d")
    asked = run_json("ask")["asked_at"]
    when = datetime.fromtimestamp(int(asked) + 86400).astimezone()
    text = {
        "seconds": str(when.timestamp()),
        "local": when.replace(tzinfo=None).isoformat(),
        "zone": when.isoformat(),
    }[written]
    assert run_json("tell", "1", "0.5", "--at", text)["delay"] == pytest.approx(86400, abs=1)
    assert open_lab().trial(1).told_at == when.timestamp()


def test_tell_csv_is_all_or_nothing_and_harmless_again() -> None:
    invoke("new", "lab", *SPACE, "--floor", "0", "--limits", "-1", "10")
    invoke("ask", "-n", "4")
    Path("good.csv").write_text("number,value,at,noise\n1,0.5,,\n2,-0.5,2026-03-01T10:00,0.1\n3,,,\n")
    bad = "number,value,noise\n4,0.5,\n4,0.6,\n9,1,\n3,11,\n,2,\n1.5,2,\n3,nan,\n3,1e999,\n3,true,\n3,1,0\n3\n"
    Path("bad.csv").write_text(bad)
    refused = invoke("tell", "--csv", "bad.csv", code=2).stderr.splitlines()
    assert refused[0] == "Error: nothing was recorded: 10 lines are wrong"
    assert [line.split(":")[1] for line in refused[1:]] == [str(i) for i in range(3, 13)]
    assert run_json("show")["counts"]["heard"] == 0
    assert run_json("tell", "lab", "--csv", "good.csv") == {
        "told": 2,
        "late": 0,
        "failed": 0,
        "duplicate": 0,
        "empty": 1,
        "flags": ["trial 2: the outcome -0.5 is worse than the floor 0.0"],
        "left_out": [],
    }
    assert "Told 0 outcomes, 2 told before, 1 row without a value" in invoke("tell", "--csv", "good.csv").stdout
    assert open_lab().trial(2).noise == 0.1


def test_an_export_is_a_sheet_to_fill_in() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask", "-n", "2")
    sheet = invoke("export").stdout.splitlines()
    column = sheet[0].split(",").index("outcome")
    cells = sheet[2].split(",")
    cells[column] = "0.75"
    Path("sheet.csv").write_text("\n".join([sheet[0], sheet[1], ",".join(cells)]))
    assert run_json("tell", "--csv", "sheet.csv")["told"] == 1
    assert open_lab().trial(2).outcome == 0.75


@pytest.mark.parametrize("outcomes", ["real", "conversion"])
def test_what_was_exported_can_be_told_elsewhere(outcomes: str) -> None:
    """Outcomes and failures alike; telling the whole file again changes nothing."""
    kind = ["--outcomes", "conversion", "--silence", "floor", "--patience", "7d"] if outcomes == "conversion" else []
    for name in ("lab", "copy"):
        invoke("new", name, *[word for word in SPACE if not kind or word not in ("--silence", "unknown")], *kind)
        invoke("ask", name, "-n", "5")
    for args in (["tell", "lab", "1", "1"], ["fail", "lab", "2", "lost"], ["fail", "lab", "3", "infeasible"]):
        invoke(*args)
    invoke("fail", "lab", "4", "withdrawn")
    invoke("export", "lab", "--out", "sheet.csv")
    counts = {"told": 1, "late": 0, "failed": 3, "duplicate": 0, "empty": 1, "flags": [], "left_out": []}
    assert run_json("tell", "copy", "--csv", "sheet.csv") == counts
    ends = [[(t["outcome"], t["failure"]) for t in run_json("show", name)["trials"]] for name in ("lab", "copy")]
    assert ends[0] == ends[1]
    assert ends[0] == [(1.0, None), (None, "lost"), (None, "infeasible"), (None, "withdrawn"), (None, None)]
    assert run_json("tell", "copy", "--csv", "sheet.csv") == counts | {"told": 0, "failed": 0, "duplicate": 4}


def test_a_row_names_its_trial_by_key() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask", "--key", "flask 1")
    invoke("ask", "-n", "2", "--key", "a batch")
    Path("past.csv").write_text("key,x,act\nmonday,0.5,relu\n")
    invoke("import", "past.csv")
    Path("results.csv").write_text("key,number,value,failure\nflask 1,,0.5,\nmonday,,0.25,\na batch,3,,lost\n")
    assert invoke("tell", "--csv", "results.csv").stdout == "Told 2 outcomes, 1 failed\n"
    assert [(t.outcome, t.failure) for t in open_lab().trials()] == [
        (0.5, None),
        (None, None),
        (None, "lost"),
        (0.25, None),
    ]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("number,failure\n2,gone\n", "bad.csv:2: failure must be one of lost, infeasible, withdrawn (got 'gone')"),
        ("number,value,failure\n2,1,lost\n", "bad.csv:2: a row has an outcome or a failure, not both"),
        ("number,failure\n1,lost\n", "bad.csv:2: trial 1 was told 0.5 before; it cannot fail any more"),
        ("key,value\nnone,1\n", "bad.csv:2: there is no trial with the key 'none'"),
        ("number,key,value\n,,1\n", "bad.csv:2: number and key are missing"),
        ("value\n1\n", "there must be a column number or key"),
        ("number,noise\n1,1\n", "there must be a column value or outcome or failure"),
    ],
)
def test_a_wrong_row_is_named(text: str, sentence: str) -> None:
    before = open_lab().events()
    Path("bad.csv").write_text(text)
    assert sentence in invoke("tell", "--csv", "bad.csv", code=2).stderr
    assert open_lab().events() == before


@pytest.mark.usefixtures("lab")
def test_a_key_of_several_trials_needs_a_number() -> None:
    invoke("ask", "-n", "2", "--key", "a batch")
    for text, sentence in (
        ("key,value\na batch,1\n", "key 'a batch' is of 2 trials; give the number too"),
        ("key,number,value\na batch,1,1\n", "trial 1 does not have the key 'a batch'; trial 3 has it"),
    ):
        Path("bad.csv").write_text(text)
        assert sentence in invoke("tell", "--csv", "bad.csv", code=2).stderr


REFUSED = [
    (["tell", "2", "nan"], "value must be a finite number (got nan)"),
    (["tell", "2", "-inf"], "value must be a finite number (got -inf)"),
    (["tell", "2", "1e999"], "value must be a finite number (got 1e999)"),
    (["tell", "2", "1" * 5000], "value must be a finite number (got 1111"),
    (["tell", "2", "true"], "value must be a number (got 'true')"),
    (["tell", "2", "0,5"], "value must be a number; decimals begin with a point (got '0,5')"),
    (["tell", "2", "1_000"], "value must be a number (got '1_000')"),
    (["tell", "2", "٣"], "value must be a number (got '٣')"),
    (["tell", "2", ""], "value must be a number (got '')"),
    (["tell", "0", "1"], "there is no trial 0; trials 1 to 2 exist"),
    (["tell", "-1", "1"], "NUMBER must be a trial's number: 1, 2, 3, ... (got '-1')"),
    (["tell", "1.5", "1"], "NUMBER must be a trial's number: 1, 2, 3, ... (got '1.5')"),
    (["tell", "9" * 5000, "1"], "NUMBER must be a trial's number: 1, 2, 3, ... (got '999"),
    (["tell", "3", "1"], "there is no trial 3; trials 1 to 2 exist"),
    (["tell", "2"], "VALUE is missing; for example: belated tell 2 0.82 (got 2)"),
    (["tell", "lab", "2"], "VALUE is missing; for example: belated tell lab 2 0.82 (got lab 2)"),
    (["tell", "lab", "0.5"], "NUMBER is missing; for example: belated tell lab 1 0.82 (got lab 0.5)"),
    (["tell", "lab"], "the arguments must be [NAME] NUMBER VALUE (got lab)"),
    (["tell"], "the arguments must be [NAME] NUMBER VALUE (got nothing)"),
    (["tell", "lab", "2", "1", "1"], "the arguments must be [NAME] NUMBER VALUE (got lab 2 1 1)"),
    (["tell", "lob", "2", "1"], "there is no study 'lob'; there are lab"),
    (["tell", "2", "1", "--noise", "0"], "noise must be more than 0 (got 0.0)"),
    (["tell", "2", "1", "--noise", "x"], "noise must be a number (got 'x')"),
    (["tell", "2", "1", "--at", "noon"], "--at must be a time such as 2026-03-01T14:30, or seconds since 1970"),
    (["tell", "2", "1", "--key", ""], "key must be a"),
    (["tell", "2", "1", "--nosie", "1"], "No such option '--nosie'"),
    (["tell", "2", "1", "-x"], "No such option '-x'"),
    (["tell", "2", "1", "--csv", "a.csv"], "the arguments must be [NAME] with --csv (got 2 1)"),
    (["tell", "--csv", "a.csv", "--key", "k"], "with --csv the file says everything"),
    (["tell", "--csv", "a.csv"], "a.csv cannot be read (No such file or directory)"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)


def test_map_says_which_column_has_the_outcomes(lab: belated.Study) -> None:
    Path("sheet.csv").write_text("number;Ausbeute;Tag\n2;0,75;Montag\n", encoding="utf-8")
    check_refused(["tell", "lab", "--csv", "sheet.csv"], "there must be a column value or outcome or failure")
    assert run_json("tell", "lab", "--csv", "sheet.csv", "--map", "Ausbeute=outcome")["left_out"] == ["Tag"]
    assert lab.trial(2).outcome == 0.75
    check_refused(["tell", "2", "0.75", "--map", "Ausbeute=outcome"], "--map belongs to --csv")


def test_an_outcome_of_a_trial_that_failed_names_the_remedy(lab: belated.Study) -> None:
    lab.fail(2, "infeasible")
    remedy = 'If that end was wrong: belated amend lab 2 --take-back --reason "..."'
    assert remedy in invoke("tell", "2", "0.5", code=2).stderr
    invoke("amend", "lab", "2", "--take-back", "--reason", "the wrong flask")
    invoke("tell", "2", "0.5")
    stderr = invoke("fail", "2", "lost", code=2).stderr
    assert 'If it was lost: belated amend lab NUMBER --failure lost --reason "..."' in stderr
    invoke("amend", "lab", "2", "--failure", "lost", "--reason", "it broke")
    assert lab.trial(2).failure == "lost"


def test_a_conversion_after_a_0() -> None:
    invoke("new", "lab", *SPACE, "--outcomes", "conversion", "--silence", "fading", "--patience", "7d")
    invoke("ask", "-n", "2")
    invoke("tell", "1", "0")
    assert "it was told 0 before; the conversion stands" in invoke("tell", "1", "1").stdout
    assert "the conversion stands" in invoke("tell", "1", "0").stdout
    invoke("tell", "2", "0")
    exported = invoke("export", "--format", "jsonl").stdout
    Path("trials.jsonl").write_text(exported, encoding="utf-8")
    invoke("new", "other", *SPACE, "--outcomes", "conversion", "--silence", "fading", "--patience", "7d")
    invoke("import", "other", "trials.jsonl")
    assert invoke("export", "other", "--format", "jsonl").stdout == exported
    invoke("tell", "other", "2", "1")
    assert "0 new trials, 2 here before" in invoke("import", "other", "trials.jsonl").stdout
    assert [trial["outcome"] for trial in run_json("show", "other")["trials"]] == [1.0, 1.0]
