"""Files in the shell: tell --csv, export, import; exact, all or nothing, and harmless when done again."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

import belated
from belated.cli import main
from belated.cli.cells import Cells, texts
from belated.plain import key_of
from belated.space import Space

STORE = "sqlite:///belated.db"
ODD = ["", " ", "1", "a,b", 'say "x"', "two\nlines", "é", "null", "=1+1"]


def invoke(*args: str, code: int = 0) -> Result:
    ran = CliRunner().invoke(main, list(args), catch_exceptions=False)
    assert ran.exit_code == code, ran.output
    return ran


def said(*args: str) -> Any:
    return json.loads(invoke(*args, "--json").stdout, parse_constant=pytest.fail)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BELATED_STORE", raising=False)


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
    study.add({"x": 0.1, "number": 2, "odd": "1", "plain": 2.5}, 1.0, context=context, at=7.0)
    study.ask(context=context)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_round_trip_is_exact(kind: str) -> None:
    old, new = odd_study("old"), odd_study("new")
    lived(old)
    invoke("export", "old", "--out", f"old.{kind}")
    printed = said("import", "new", f"old.{kind}")
    assert (printed["rows"], printed["new"], printed["known"]) == (17, 17, 0)
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
