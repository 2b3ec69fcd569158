"""Tables as people have them: separators, decimals, titles with units, columns that mean nothing here."""

from pathlib import Path

import pytest

import belated
from belated import Choice, Integer, Real
from belated.cli.io.columns import DecimalMarks
from belated.errors import InvalidInput
from tests.cli.shell import STORE, invoke, run, run_json

pytestmark = pytest.mark.usefixtures("bath")


@pytest.fixture
def bath(in_an_empty_folder: None) -> belated.Study:
    space = {
        "temperature": Real(20, 90, unit="°C"),
        "stages": Integer(1, 8),
        "ratio": Choice(0.5, 1.5),
        "solvent": Choice("water", "1,5-diol"),
    }
    said = {"outcome_name": "Yield", "unit": "%", "patience": "14d"}
    return belated.Study.create(STORE, "bath", space=space, silence="unknown", seed=0, **said)


GERMAN = "\ufeffExp;Date;Temperature (°C);stages;ratio;solvent;YIELD (%);comment;;\r\n"


def test_a_german_spreadsheet_is_read_as_it_is(bath: belated.Study) -> None:
    Path("Versuche.csv").write_text(
        GERMAN + "1;01.03.2026;61,5;2,0;0,5;water;12,25;mit 1.5 bar;;\r\n2;2.3.2026;70;3;1,5;1,5-diol;,5;;;\r\n",
        encoding="utf-8",
    )
    ran = invoke("import", "Versuche.csv")
    assert ran.stdout == (
        "Imported 2 rows: 2 new trials, 0 here before, 2 outcomes; kept as remarks: Exp, Date, comment\n"
    )
    one, two = bath.trials()
    assert (one.remark, two.remark) == ("Exp: 1; Date: 01.03.2026; comment: mit 1.5 bar", "Exp: 2; Date: 2.3.2026")
    assert one.params == {"temperature": 61.5, "stages": 2, "ratio": 0.5, "solvent": "water"}
    assert two.params == {"temperature": 70.0, "stages": 3, "ratio": 1.5, "solvent": "1,5-diol"}
    assert (one.outcome, two.outcome) == (12.25, 0.5)


def test_map_says_what_a_title_means(bath: belated.Study) -> None:
    Path("past.csv").write_text(
        "T\tstages\tratio\tsolvent\tAusbeute\tam\tnoises\n61.5\t2\t0.5\twater\t12\t1.3.2026 14:30\tx\n"
    )
    printed = run_json(
        *("import", "past.csv", "--map", "T=temperature", "--map", "Ausbeute=outcome", "--map", "am=asked_at"),
        *("--map", "noises="),
    )
    assert (printed["new"], printed["told"], printed["left_out"]) == (1, 1, ["noises"])
    trial = bath.trial(1)
    assert (trial.params["temperature"], trial.outcome) == (61.5, 12.0)
    from datetime import datetime

    assert trial.asked_at == datetime(2026, 3, 1, 14, 30).timestamp()


FULL = "temperature,stages,ratio,solvent"


@pytest.mark.parametrize(
    ("text", "args", "sentence"),
    [
        (f"{FULL},outcme\n", [], "there is no column 'outcme'; did you mean outcome? --map outcme=outcome reads it so"),
        (f"{FULL},outcome\n", ["--map", "x=outcome"], "--map names 'x', which is no column"),
        (f"{FULL},y\n", ["--map", "y=z"], "--map y= must name one of temperature"),
        (f"{FULL},y\n", ["--map", "y"], "--map must be name=value"),
        (f"{FULL},yield,outcome\n", [], "'yield' and 'outcome' both mean outcome; leave one out with --map outcome="),
        (f"{FULL},day\n", [], "there is no column 'day': this study has no conversions"),
        ("a,b\n", [], "there must be columns of this study"),
        (f"{FULL},outcome\n50,2.5,0.5,water,1\n", [], "stages: value must be an integer (got '2.5')"),
        (
            f'{FULL},outcome\n50,2,0.5,water,"1,5"\n',
            [],
            "outcome must be a number; decimals begin with a point (got '1,5')",
        ),
        (
            f"{FULL},outcome\n50,2,0.5,water,1\n".replace(",", ";").replace("50", "50,5"),
            [],
            "past.csv:2: decimals must begin with a comma or with a point in the whole file (got 0.5)",
        ),
        ("temperature;stages;ratio;solvent\n1.234,5;2;1;water\n", [], "temperature: value must be a number"),
        (f"{FULL},outcome\n50,2,0.5,water,1,more\n", [], "past.csv:2: there must be 5 cells (got 6)"),
    ],
)
def test_what_is_not_clear_is_refused(bath: belated.Study, text: str, args: list[str], sentence: str) -> None:
    Path("past.csv").write_text(text, encoding="utf-8")
    ran = run("import", "past.csv", *args)
    assert ran.exit_code == 2
    assert sentence in ran.stderr
    assert bath.trials() == []


def test_an_export_has_units_and_zones_and_is_read_back(bath: belated.Study) -> None:
    bath.ask(n=2)
    bath.tell(1, 12.25)
    invoke("export", "--out", "sheet.csv")
    head, first, _ = Path("sheet.csv").read_text(encoding="utf-8").splitlines()
    assert head == "number,temperature (°C),stages,ratio,solvent,asked_at,Yield (%),noise,told_at,known_from,failure"
    assert first.count("+00:00") == 2
    assert run_json("import", "sheet.csv")["known"] == 2
    assert run_json("tell", "--csv", "sheet.csv")["duplicate"] == 1
    assert len(bath.trials()) == 2


def test_outcomes_are_told_from_a_table_with_semicolons_and_other_columns(bath: belated.Study) -> None:
    bath.ask(n=2)
    Path("results.csv").write_text("number;value;who\n1;0,25;Eva\n2,0;1;Max\n")
    ran = invoke("tell", "--csv", "results.csv")
    assert "left out, as no column of this study: who" in ran.stderr
    assert [trial.outcome for trial in bath.trials()] == [0.25, 1.0]


def test_an_outcome_before_its_query_is_warned_of(bath: belated.Study) -> None:
    Path("past.csv").write_text(f"{FULL},outcome,asked_at,told_at\n50,2,0.5,water,1,2026-03-02,2026-03-01\n")
    ran = invoke("import", "past.csv")
    assert "Warning: 1 outcome came before the query was asked, which counts as a delay of 0\n" in ran.stderr


def test_points_may_have_semicolons_and_decimal_commas() -> None:
    Path("points.csv").write_text("w;ring\n1,5;aryl\n2;none\n")
    invoke("new", "plates", "--points", "points.csv", "--silence", "unknown", "--seed", "0")
    points = belated.Study.open(STORE, "plates").settings.space.parameters
    assert points.rows == ((1.5, "aryl"), (2, "none"))


@pytest.mark.parametrize(
    ("text", "read"), [("1,5", "1.5"), ("-,5e-3", "-.5e-3"), ("12", "12"), ("a,b", "a,b"), ("1.5", "1.5")]
)
def test_a_decimal_comma_is_read_as_a_point(text: str, read: str) -> None:
    assert DecimalMarks().read(text) == read


def test_one_table_has_one_decimal_mark() -> None:
    marks = DecimalMarks()
    assert [marks.read(text) for text in ("3", "1,5", "2,5")] == ["3", "1.5", "2.5"]
    with pytest.raises(InvalidInput, match="in the whole file"):
        marks.read("0.5")
