"""Files in the shell: tell --csv, export, import; exact, all or nothing, and harmless when done again."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import belated
from belated.cli.io.cells import Cells, texts
from belated.record.events import Amended, Asked, Failed, Refused, Told
from belated.space.encoding import Space
from belated.validation import key_of
from tests.cli.shell import invoke, said

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

STORE = "sqlite:///belated.db"
ODD = ["", " ", "1", "a,b", 'say "x"', "two\nlines", "é", "null", "=1+1"]


def odd_study(name: str) -> belated.Study:
    """Names and options that a careless format would lose."""
    return belated.Study.create(
        STORE,
        name,
        space={
            "x": belated.Real(-1e-9, 1e9),
            "number": belated.Integer(-5, 5),
            "odd": belated.Choice(*ODD, 1, None, False),
            "plain": belated.Choice("a", 2, 2.5, None),
        },
        context={"outcome": belated.Real(0, 1), "x": belated.Choice("u", "v")},
        silence="floor",
        floor=0.0,
        patience=3,
        seed=0,
    )


def lived(study: belated.Study) -> None:
    """Every kind of trial that there is."""
    context = {"outcome": 1 / 3, "x": "v"}
    for odd in [*ODD, 1, None, False]:
        study.ask(context=context, params={"odd": odd})
    study.tell(2, 0.1 + 0.2, noise=1e-17)
    study.tell(1, -1e-300, at=1234567.25)
    study.ask(context=context, n=3)
    study.tell(11, 5e300)
    study.fail(5, "lost")
    study.fail(6, "infeasible")
    study.fail(7, "withdrawn")
    study.fail(8, "lost")
    study.tell(8, 0.5)
    study.amend(2, 0.7, reason="typo")
    for number, value in ((1, 0.5), (6, 2.0)):
        with pytest.raises(belated.BelatedError):
            study.tell(number, value)
    study.ask(context=context)
    study.amend(2, 0.75, noise=0.5, reason="two\nlines, é")
    study.add({"x": 0.1, "number": 2, "odd": "1", "plain": 2.5}, 1.0, context=context, at=7.0)
    study.ask(context=context)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_round_trip_is_exact(kind: str) -> None:
    old, new = odd_study("old"), odd_study("new")
    lived(old)
    invoke("export", "old", "--out", f"old.{kind}")
    printed = said("import", "new", f"old.{kind}")
    assert (printed["rows"], printed["new"], printed["known"]) == (18, 18, 0)
    invoke("export", "new", "--out", f"new.{kind}")
    assert Path(f"new.{kind}").read_bytes() == Path(f"old.{kind}").read_bytes()
    assert invoke("export", "new", "--format", kind).stdout_bytes == Path(f"old.{kind}").read_bytes()

    def facts(study: belated.Study) -> list[object]:
        return [
            (t.number, t.params, t.context, t.asked_at, t.status, t.outcome, t.delay, t.told_at, t.noise, t.failure)
            for t in study.trials()
        ]

    assert facts(new) == facts(old)
    assert said("check", "new")["ok"]
    assert said("check", "old")["ok"]


def happened(study: belated.Study) -> list[list[object]]:
    """All that happened to each trial, in the order in which it did; and after which ask."""
    lives: list[list[object]] = []
    for event in study.events():
        if isinstance(event, Asked):
            lives.append([])
        elif isinstance(event, Told):
            lives[event.number - 1].append((len(lives), replace(event, key=None)))
        elif isinstance(event, Refused | Failed | Amended) and event.number is not None:
            lives[event.number - 1].append((len(lives), event))
    return lives


def test_json_lines_carry_what_happened_on_the_way() -> None:
    old, new = odd_study("old"), odd_study("new")
    lived(old)
    invoke("export", "old", "--out", "old.jsonl")
    printed = said("import", "new", "old.jsonl")
    assert (printed["told"], printed["failed"], printed["refused"], printed["amended"]) == (5, 4, 2, 2)
    assert happened(new) == happened(old)
    assert any(isinstance(event, Amended) and event.reason == "two\nlines, é" for event in new.events())
    again = said("import", "new", "old.jsonl")
    assert (again["new"], again["told"], again["failed"], again["refused"], again["amended"]) == (0, 0, 0, 0, 0)
    assert said("import", "old", "old.jsonl")["amended"] == 0  # where it came from
    old.amend(2, 0.8, reason="again")
    old.fail(3, "lost")
    with pytest.raises(belated.BelatedError):
        old.tell(2, 0.1)
    invoke("export", "old", "--out", "later.jsonl")
    grown = said("import", "new", "later.jsonl")
    assert (grown["new"], grown["failed"], grown["refused"], grown["amended"]) == (0, 1, 1, 1)
    assert [[event for _, event in life] for life in happened(new)] == [  # type: ignore[misc]
        [event for _, event in life]
        for life in happened(old)  # type: ignore[misc]
    ]
    invoke("export", "new", "--out", "new.jsonl")
    assert said("import", "new", "old.jsonl")["amended"] == 0  # an early export changes nothing later


def test_a_csv_and_json_lines_of_one_study_agree() -> None:
    """The one has outcomes in effect, the other how they came about: both may be taken in, in any order."""
    old = odd_study("old")
    lived(old)
    invoke("export", "old", "--out", "old.csv")
    invoke("export", "old", "--out", "old.jsonl")
    for first, second in (("csv", "jsonl"), ("jsonl", "csv")):
        odd_study(first)
        invoke("import", first, f"old.{first}")
        printed = said("import", first, f"old.{second}")
        assert (printed["new"], printed["told"], printed["failed"]) == (0, 0, 0)


def test_the_same_file_again_changes_nothing_whatever_happened_since() -> None:
    invoke("new", "lab", *NEW)
    Path("past.csv").write_text("x,act,outcome,failure\n0.5,relu,1,\n0.6,relu,,lost\n")
    assert said("import", "past.csv")["new"] == 2
    invoke("amend", "1", "3", "--reason", "typo")
    invoke("tell", "2", "0.25")
    again = said("import", "past.csv")
    assert (again["new"], again["told"], again["failed"]) == (0, 0, 0)
    assert [trial.outcome for trial in belated.Study.open(STORE, "lab").trials()] == [3.0, 0.25]


STEP = {"event": "told", "value": 0.5, "at": 7.0, "known_from": 2}
LOST = {"event": "failed", "kind": "lost", "at": 7.0, "known_from": 2}
AMENDED = {"event": "amended", "value": 0.7, "reason": "typo", "at": 8.0, "known_from": 2}


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [
        ({"history": 3}, "history must be a list of steps (got 3)"),
        ({"history": [3]}, "must be an object whose event is one of told, refused, failed, amended (got 3)"),
        ({"history": [{**STEP, "event": "asked"}]}, "must be an object whose event is one of"),
        ({"history": [{**STEP, "why": "?"}]}, "told has no field 'why' (it has value, noise, at, known_from)"),
        ({"history": [{**STEP, "value": True}]}, "value must be a number (got True)"),
        ({"history": [{**STEP, "noise": "a"}]}, "noise must be a number (got 'a')"),
        ({"history": [{**STEP, "at": None}]}, "at must be a number (got None)"),
        ({"history": [{**STEP, "known_from": 1.5}]}, "known_from must be an integer (got 1.5)"),
        ({"history": [{**LOST, "kind": "gone"}]}, "kind must be one of lost, infeasible, withdrawn (got 'gone')"),
        ({"history": [STEP]}, "its history comes to 0.5, the row says nothing; change both, or leave history out"),
        ({"outcome": 0.7, "history": [STEP]}, "its history comes to 0.5, the row says 0.7"),
        ({"failure": "lost", "history": [STEP, LOST]}, "its history comes to 0.5, the row says lost"),
        ({"outcome": 0.7, "history": [AMENDED]}, "trial 1 has no outcome to amend; tell it"),
        ({"outcome": 0.7, "history": [STEP, {**AMENDED, "reason": " "}]}, "reason must say why (got ' ')"),
        ({"outcome": 0.5, "history": [{**STEP, "event": "refused"}, STEP]}, "cannot have happened: there is nothing"),
        ({"outcome": 0.5, "history": [STEP, LOST]}, "trial 1 was told 0.5 before; it cannot fail any more"),
    ],
)
def test_a_history_that_cannot_have_happened(ends: dict[str, Any], sentence: str) -> None:
    invoke("new", "lab", *NEW)
    Path("past.jsonl").write_text(json.dumps({"number": 1, "params": {"x": 0.5, "act": "relu"}, **ends}))
    refused = invoke("import", "past.jsonl", code=2).stderr
    assert f"past.jsonl:1: {sentence}" in refused or sentence in refused
    assert said("show")["trials"] == []


def test_a_history_that_went_another_way_here() -> None:
    invoke("new", "lab", *NEW)
    row = {"number": 1, "params": {"x": 0.5, "act": "relu"}, "asked_at": 1.0, "outcome": 0.7}
    Path("one.jsonl").write_text(json.dumps({**row, "history": [STEP, AMENDED]}))
    Path("two.jsonl").write_text(json.dumps({**row, "outcome": 0.9, "history": [STEP, {**AMENDED, "value": 0.9}]}))
    invoke("import", "one.jsonl")
    assert "two.jsonl:1: it went another way here: told 0.5, amended 0.7 (got told 0.5, amended 0.9)" in (
        invoke("import", "two.jsonl", code=2).stderr
    )


def test_an_export_imported_where_it_came_from_changes_nothing_and_fills_what_is_missing() -> None:
    old = odd_study("old")
    lived(old)
    invoke("export", "old", "--out", "early.jsonl")
    old.tell(3, 0.25)
    invoke("export", "old", "--out", "later.jsonl")
    before = Path("later.jsonl").read_bytes()
    for file in ("early.jsonl", "later.jsonl"):
        assert said("import", "old", file)["new"] == 0
        assert invoke("export", "old", "--format", "jsonl").stdout_bytes == before
    copy = odd_study("copy")
    invoke("import", "copy", "early.jsonl")
    assert (said("import", "copy", "later.jsonl")["told"], copy.trial(3).outcome) == (1, 0.25)


NEW = ("--real", "x", "0", "1", "--choice", "act", "relu,tanh", "--silence", "unknown", "--seed", "0")


def test_past_experiments_are_taken_in_once() -> None:
    invoke("new", "lab", *NEW)
    Path("past.csv").write_text("act,x,value,noise\nrelu,0.5,1,\nrelu,0.5,1,\ntanh,0.25,0.3,0.1\n\nrelu,0.1,,\n")
    assert said("import", "past.csv")["new"] == 4
    assert said("import", "lab", "past.csv") == {
        "rows": 4,
        "new": 0,
        "known": 4,
        "told": 0,
        "failed": 0,
        "refused": 0,
        "amended": 0,
        "pending_before": 1,
        "aged": True,
    }
    Path("copy.csv").write_text("\ufeffx,act,outcome,noise\r\n0.25,tanh,0.3,0.1\r\n0.5,relu,1,\r\n0.9,relu,2,\r\n")
    assert said("import", "copy.csv")["new"] == 1  # other columns, another order, a spreadsheet's BOM
    trials = belated.Study.open(STORE, "lab").trials()
    assert [(t.params["x"], t.outcome, t.noise) for t in trials] == [
        *((0.5, 1.0, None), (0.5, 1.0, None), (0.25, 0.3, 0.1), (0.1, None, None), (0.9, 2.0, None)),
    ]
    assert all(trial.by_hand for trial in trials)


def test_a_key_tells_equal_rows_of_two_files_apart() -> None:
    invoke("new", "lab", *NEW)
    for key in ("monday", "tuesday", "monday"):
        Path("past.csv").write_text(f"key,x,act,outcome\n{key},0.5,relu,1\n")
        invoke("import", "past.csv")
    assert len(belated.Study.open(STORE, "lab").trials()) == 2
    Path("past.csv").write_text("key,x,act,outcome\nmonday,0.5,relu,2\n")
    assert "past.csv:2: trial 1 was told before, with 1.0" in invoke("import", "past.csv", code=2).stderr


def test_import_warns_of_pending_queries_that_age() -> None:
    invoke("new", "rounds", *NEW, "--patience", "5")
    invoke("new", "clock", *NEW, "--patience", "5d")
    Path("past.csv").write_text("x,act,outcome\n0.5,relu,1\n0.6,relu,2\n")
    for name in ("rounds", "clock"):
        invoke("ask", name)
    assert said("import", "rounds", "past.csv", "--dry-run")["new"] == 2
    assert belated.Study.open(STORE, "rounds").rounds == 1
    warned = invoke("import", "rounds", "past.csv").stderr
    assert warned == "Warning: 1 pending query is 2 rounds older by the imported rows; import before asking\n"
    assert invoke("import", "clock", "past.csv").stderr == ""
    assert invoke("import", "rounds", "past.csv").stderr == ""  # nothing new, nothing older


def test_one_bad_row_in_ten_thousand_and_nothing_is_taken() -> None:
    invoke("new", "lab", *NEW)
    rows = [f"{i / 10000},relu,{i}" for i in range(10000)]
    rows[7776] = "1.5,relu,7"
    rows[8887] = "0.5,elu,7"
    Path("past.csv").write_text("\n".join(["x,act,outcome", *rows]))
    assert invoke("import", "past.csv", code=2).stderr.splitlines() == [
        "Error: nothing was recorded: 2 lines are wrong",
        "  past.csv:7778: x: value must be between 0.0 and 1.0 (got 1.5)",
        "  past.csv:8889: act: value must be one of relu, tanh (got 'elu')",
    ]
    assert said("show")["trials"] == []


def test_tell_csv_is_all_or_nothing_and_harmless_again() -> None:
    invoke("new", "lab", *NEW, "--floor", "0", "--limits", "-1", "10")
    invoke("ask", "-n", "4")
    Path("good.csv").write_text("number,value,at,noise\n1,0.5,,\n2,-0.5,2026-03-01T10:00,0.1\n3,,,\n")
    bad = "number,value,noise\n4,0.5,\n4,0.6,\n9,1,\n3,11,\n,2,\n1.5,2,\n3,nan,\n3,1e999,\n3,true,\n3,1,0\n3\n"
    Path("bad.csv").write_text(bad)
    refused = invoke("tell", "--csv", "bad.csv", code=2).stderr.splitlines()
    assert refused[0] == "Error: nothing was recorded: 10 lines are wrong"
    assert [line.split(":")[1] for line in refused[1:]] == [str(i) for i in range(3, 13)]
    assert said("show")["counts"]["heard"] == 0
    assert said("tell", "lab", "--csv", "good.csv") == {
        "told": 2,
        "late": 0,
        "duplicate": 0,
        "empty": 1,
        "flags": ["trial 2: the outcome -0.5 is worse than the floor 0.0"],
    }
    assert "Told 0 outcomes, 2 told before, 1 row without a value" in invoke("tell", "--csv", "good.csv").stdout
    assert belated.Study.open(STORE, "lab").trial(2).noise == 0.1


def test_an_export_is_a_sheet_to_fill_in() -> None:
    invoke("new", "lab", *NEW)
    invoke("ask", "-n", "2")
    sheet = invoke("export").stdout.splitlines()
    column = sheet[0].split(",").index("outcome")
    cells = sheet[2].split(",")
    cells[column] = "0.75"
    Path("sheet.csv").write_text("\n".join([sheet[0], sheet[1], ",".join(cells)]))
    assert said("tell", "--csv", "sheet.csv")["told"] == 1
    assert belated.Study.open(STORE, "lab").trial(2).outcome == 0.75


def test_a_closed_study_takes_outcomes_and_no_rows() -> None:
    invoke("new", "lab", *NEW)
    invoke("ask")
    invoke("close")
    Path("past.csv").write_text("x,act,outcome\n0.5,relu,1\n0.6,relu,2\n")
    assert invoke("import", "past.csv", code=2).stderr.startswith("Error: This study is closed")
    Path("told.csv").write_text("number,value\n1,2\n")
    assert said("tell", "--csv", "told.csv")["told"] == 1


def test_a_file_that_cannot_be_written_leaves_nothing_behind() -> None:
    invoke("new", "lab", *NEW)
    Path("folder").mkdir()
    for out in ("folder", "nowhere/out.csv"):
        assert "--out must be a file that can be written" in invoke("export", "--out", out, code=2).stderr
    assert sorted(path.name for path in Path().iterdir() if "belated.db" not in path.name) == ["folder"]


SCALARS = st.one_of(
    st.text(max_size=4), st.integers(-9, 9), st.floats(allow_nan=False, allow_infinity=False), st.none(), st.booleans()
)


@given(st.lists(SCALARS, min_size=2, max_size=6, unique_by=lambda v: (str(type(v)), v)))
@example(["1", 1])
@example(["null", None, "a"])
@example(['"1"', "1", 1])
@example(["2.0", 2])
def test_every_option_is_written_so_that_it_is_read_back(options: list[Any]) -> None:
    if len(set(options)) < len(options):  # 1 beside True, 0 beside False: no Choice
        return
    written = texts(options)
    assert len(written) == len(options)
    cells = Cells(Space.of({"c": belated.Choice(*options)}))
    for option in options:
        text = cells.text("c", option)
        assert text.strip()
        assert text.isprintable()
        assert key_of(cells.value("c", text)) == key_of(option)
