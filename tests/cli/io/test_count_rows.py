"""Counts of people in a file: imported, stated again by a later file, exported and imported elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.shell import invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")
STUDY = ("--real", "discount", "0", "0.3", "--context-choice", "segment", "new,loyal", "--silence", "fading")
STUDY = (*STUDY, "--outcomes", "conversion", "--patience", "7d", "--seed", "0")
COUNTS = """discount,segment,day,shown,converted
0.1,new,2026-03-01,500,12
0.2,new,2026-03-01,480,21
0.1,loyal,2026-03-01,300,20
0.2,loyal,2026-03-01,0,0
0.1,new,2026-03-02,500,6
"""


def test_a_later_file_states_the_days_anew() -> None:
    invoke("new", "lab", *STUDY)
    Path("counts.csv").write_text(COUNTS)
    would = invoke("import", "counts.csv", "--as-of", "2026-03-03", "--dry-run").stdout
    assert would == ("Would import 5 rows: 4 new trials, 0 here before, 1 row without anybody shown left out\n")
    assert open_lab().trials() == []
    first = run_json("import", "counts.csv", "--as-of", "2026-03-03")
    assert (first["rows"], first["new"], first["days"], first["restated"], first["nobody"]) == (5, 4, 4, 0, 1)
    again = run_json("import", "counts.csv", "--as-of", "2026-03-03")
    assert (again["new"], again["known"], again["restated"]) == (0, 4, 0)
    Path("later.csv").write_text(COUNTS.replace("500,12", "500,15"))
    assert "4 days counted anew" in invoke("import", "later.csv", "--as-of", "2026-03-04").stdout
    shown = invoke("show").stdout
    people = [(trial.shown, trial.converted) for trial in open_lab().trials()]
    told = sum(converted for _, converted in people)
    assert f"4 counted, {told} of {sum(n for n, _ in people):,} people converted;" in shown
    assert re.search(r"1 +counted +2026-03-01 +15 of 500 ", shown)
    plain = run_json("show")
    assert (plain["shown"], plain["converted"]) == (sum(n for n, _ in people), told)
    assert [(trial.shown, trial.converted) for trial in open_lab().trials()] == [
        (500, 15),
        (480, 21),
        (300, 20),
        (500, 6),
    ]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_an_export_is_imported_elsewhere(ending: str) -> None:
    invoke("new", "lab", *STUDY)
    Path("counts.csv").write_text(COUNTS)
    for day, converted in ((3, 12), (4, 15), (6, 19)):
        Path("counts.csv").write_text(COUNTS.replace("500,12", f"500,{converted}"))
        invoke("import", "counts.csv", "--as-of", f"2026-03-0{day}")
    invoke("ask", "-n", "2", "--context", "segment=new")
    invoke("tell", "5", "1")
    invoke("export", "lab", "--out", f"a.{ending}")
    invoke("new", "other", *STUDY)
    invoke("import", "other", f"a.{ending}")
    invoke("export", "other", "--out", f"b.{ending}")
    assert Path(f"b.{ending}").read_text() == Path(f"a.{ending}").read_text()
    assert "0 new trials, 6 here before" in invoke("import", "other", f"a.{ending}").stdout
    assert invoke("check", "other").stdout.endswith("ok\n")


def test_what_is_wrong_is_said_with_its_line() -> None:
    invoke("new", "lab", *STUDY)
    Path("bad.csv").write_text(
        "discount,segment,day,shown,converted\n"
        "0.1,new,2026-03-01,500,x\n"
        "0.1,new,2026-13-01,500,1\n"
        "0.1,new,,500,1\n"
        "0.1,new,2026-03-01,500,700\n"
        "0.9,old,2026-03-01,500,7\n"
    )
    said = invoke("import", "bad.csv", code=2).stderr
    for line, sentence in (
        (2, "converted must be an integer (got 'x')"),
        (3, "day must be a date such as 2026-03-01, or a time (got '2026-13-01')"),
        (4, "counts need a day, how many were shown, and how many converted (day is missing)"),
        (5, "converted must lie between 0 and shown, 500 (got 700)"),
        (6, "segment: value must be one of new, loyal"),
    ):
        assert f"bad.csv:{line}: {sentence}" in said
    assert open_lab().trials() == []


def test_a_parameter_that_is_called_as_a_column_of_counts() -> None:
    invoke("new", "lab", "--integer", "day", "1", "7", *STUDY[7:], "--silence", "fading")
    Path("counts.csv").write_text("params.day,day,shown,converted\n3,2026-03-01,500,12\n")
    invoke("import", "counts.csv")
    assert open_lab().trial(1).params == {"day": 3}
    Path("short.csv").write_text("day,shown,converted\n3,500,12\n")
    assert "day is missing" in invoke("import", "short.csv", code=2).stderr


def test_a_study_of_real_outcomes_knows_no_counts() -> None:
    invoke("new", "lab", "--real", "discount", "0", "0.3", "--silence", "unknown")
    Path("counts.csv").write_text("discount,day,shown,converted\n0.1,2026-03-01,500,12\n")
    assert "there is no column 'day'" in invoke("import", "counts.csv", code=2).stderr


def test_a_day_with_fewer_than_before_is_said() -> None:
    invoke("new", "lab", *STUDY)
    Path("counts.csv").write_text(COUNTS)
    invoke("import", "counts.csv", "--as-of", "2026-03-03")
    Path("later.csv").write_text(COUNTS.replace("500,12", "500,10").replace("480,21", "470,22"))
    said = invoke("import", "later.csv", "--as-of", "2026-03-04").stdout
    assert "4 days counted anew (2 with fewer than before)" in said


def test_in_rounds_the_same_file_again_adds_nothing() -> None:
    invoke("new", "lab", *STUDY, "--patience", "60")
    for day, converted in ((3, 12), (4, 15)):
        Path("counts.csv").write_text(COUNTS.replace("500,12", f"500,{converted}"))
        invoke("import", "counts.csv", "--as-of", f"2026-03-0{day}")
        invoke("ask", "--context", "segment=new")
    invoke("export", "lab", "--out", "a.jsonl")
    assert "0 new trials, 6 here before, 0 outcomes\n" in invoke("import", "lab", "a.jsonl").stdout
    Path("counts.csv").write_text(COUNTS)  # of the day before, found later
    assert "counted anew" not in invoke("import", "counts.csv", "--as-of", "2026-03-03").stdout
    assert open_lab().trial(1).converted == 15


def test_two_counts_of_one_day_in_one_file_are_not_taken_for_one() -> None:
    invoke("new", "lab", *STUDY)
    Path("counts.csv").write_text(COUNTS + "0.2,new,2026-03-01,100,3\n")  # of another newsletter, say
    said = invoke("import", "counts.csv", "--as-of", "2026-03-03", code=2).stderr
    assert "counts.csv:7: 3 of 100, but line 3 has 21 of 480; add up the rows of one query, context and day" in said
    assert open_lab().trials() == []
    Path("counts.csv").write_text(COUNTS + "0.2,new,2026-03-01,480,21\n")  # the same again says nothing
    assert "4 new trials, 1 here before" in invoke("import", "counts.csv", "--as-of", "2026-03-03").stdout


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("shown,converted,outcome\n0.1,new,2026-03-01,500,12,1", "is one query with its outcome, not both"),
        ("shown,converted,asked_at\n0.1,new,2026-03-01,500,12,2026-03-01", "is one query with its asked_at, not both"),
        ("shown,converted\n0.1,new,2026-03-01,,12", "how many converted (shown is missing)"),
        ("converted\n0.1,new,2026-03-01,12", "bad.csv:1: there must be a column shown, as rows that count people have"),
        ("shown,converted,as_of\n0.1,new,2026-03-01,9,1,2026-03-01", "as_of must be after the beginning of its day"),
        ("shown,converted,failure\n0.1,new,2026-03-01,9,1,burnt", "failure must be one of lost, infeasible"),
    ],
)
def test_what_cannot_be_counted_is_refused(rows: str, sentence: str) -> None:
    invoke("new", "lab", *STUDY)
    Path("bad.csv").write_text(f"discount,segment,day,{rows}\n")
    assert sentence in invoke("import", "bad.csv", code=2).stderr
    assert open_lab().trials() == []


def test_a_day_without_counts_is_left_out() -> None:
    invoke("new", "lab", *STUDY)
    Path("counts.csv").write_text("discount,segment,day,shown,converted\n0.1,new,2026-03-01,,\n")
    assert "1 row without anybody shown left out" in invoke("import", "counts.csv").stdout
    assert open_lab().trials() == []


@pytest.mark.parametrize("ending", ["csv", "xlsx", "jsonl"])
def test_a_day_that_failed_fails_elsewhere_too(ending: str) -> None:
    invoke("new", "lab", *STUDY)
    Path("counts.csv").write_text(COUNTS)
    invoke("import", "counts.csv", "--as-of", "2026-03-03")
    invoke("fail", "2", "lost", "--reason", "the links were broken")
    invoke("export", "lab", "--out", f"a.{ending}")
    invoke("new", "other", *STUDY)
    assert "4 new trials, 0 here before, 1 failed" in invoke("import", "other", f"a.{ending}").stdout
    invoke("export", "other", "--out", f"b.{ending}")
    if ending != "xlsx":
        assert Path(f"b.{ending}").read_text() == Path(f"a.{ending}").read_text()
    assert invoke("show", "other").stdout.startswith("Study other")
    assert "3 counted" in invoke("show", "other").stdout
    assert "0 new trials, 4 here before, 0 outcomes\n" in invoke("import", "other", f"a.{ending}").stdout
    Path("later.csv").write_text(COUNTS.replace("480,21", "480,30"))
    said = invoke("import", "other", "later.csv", "--as-of", "2026-03-04", code=2).stderr
    assert "trial 2, which counted this query and day, has failed; it takes no counts" in said


def test_tell_takes_an_export_with_counts_and_leaves_counts_to_import() -> None:
    invoke("new", "lab", *STUDY)
    Path("counts.csv").write_text(COUNTS)
    invoke("import", "counts.csv", "--as-of", "2026-03-03")
    invoke("ask", "-n", "2", "--context", "segment=new")
    invoke("export", "lab", "--out", "all.csv")
    text = Path("all.csv").read_text()
    lines = text.splitlines()
    column = lines[0].split(",").index("outcome")
    cells = lines[5].split(",")
    cells[column] = "1"
    Path("all.csv").write_text("\n".join([*lines[:5], ",".join(cells), *lines[6:], ""]))
    assert "Told 1 outcome, 5 rows without a value" in invoke("tell", "lab", "--csv", "all.csv").stdout
    Path("all.csv").write_text(text.replace(",500,12,", ",500,13,"))
    said = invoke("tell", "lab", "--csv", "all.csv", code=2).stderr
    assert "all.csv:2: counts of people are stated by belated import, not told" in said
    Path("ends.csv").write_text("number,failure,shown\n6,lost,\n")
    assert "1" in invoke("fail", "lab", "--csv", "ends.csv").stdout
    assert open_lab().trial(6).failure == "lost"


def test_a_day_that_failed_by_mistake_is_counted_again() -> None:
    invoke("new", "lab", *STUDY)
    Path("counts.csv").write_text(COUNTS)
    invoke("import", "counts.csv", "--as-of", "2026-03-03")
    before = open_lab().posterior([{"discount": 0.1}], {"segment": "new"})
    invoke("fail", "lab", "1", "lost", "--reason", "the tracking broke")
    assert open_lab().posterior([{"discount": 0.1}], {"segment": "new"}).mean != before.mean
    invoke("amend", "lab", "1", "--take-back", "--reason", "it was the day before")
    assert open_lab().posterior([{"discount": 0.1}], {"segment": "new"}).mean == before.mean
    trial = open_lab().trial(1)
    assert (trial.status, trial.shown, trial.converted) == ("counted", 500, 12)
    Path("later.csv").write_text(COUNTS.replace("500,12", "500,15"))
    invoke("import", "later.csv", "--as-of", "2026-03-04")
    assert open_lab().trial(1).converted == 15
    invoke("check", "lab")
    assert "trial 1 counts people" in invoke("amend", "lab", "1", "--take-back", "--reason", "x", code=2).stderr


@pytest.mark.parametrize("column", ["shown", "converted", "day"])
def test_a_column_of_counts_that_is_missing_is_said_once(column: str) -> None:
    invoke("new", "lab", *STUDY)
    nobody_converted = "discount,segment,day,shown,converted\n0.1,new,2026-03-01,500,0\n0.2,new,2026-03-01,480,0\n"
    Path("counts.csv").write_text(nobody_converted.replace(column, "column"))
    said = invoke("import", "counts.csv", code=2).stderr
    assert f"counts.csv:1: there must be a column {column}, as rows that count people have" in said
    assert "(got discount, segment, " in said
    assert open_lab().trials() == []
