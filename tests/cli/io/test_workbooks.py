"""Workbooks: dates are dates, numbers are numbers, and what is read back is what was written."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import belated
from belated import Choice, Integer, Real
from belated.cli.io.workbooks import choose_number_format
from tests.cli.shell import STORE, WITHOUT_MATPLOTLIB, check_refused, invoke, run_json, run_python

openpyxl = pytest.importorskip("openpyxl")
pytestmark = pytest.mark.usefixtures("in_an_empty_folder")
SPACE = {
    "temperature": Real(20, 90, unit="°C"),
    "rate": Real(1e-9, 1e-6, log=True),
    "stages": Integer(1, 8),
    "solvent": Choice("water", "=1+1", 3, None, True),
}
ASKED = 1_772_375_400.1234567  # 2026-03-01 14:30:00


def make_bath(name: str = "bath") -> belated.Study:
    return belated.Study.create(
        STORE, name, space=SPACE, context={"h": Real(0, 1, unit="bar")}, outcome_name="yield", unit="%",
        silence="unknown", patience="14d", seed=0,
    )  # fmt: skip


def fill(study: belated.Study) -> None:
    for i, solvent in enumerate(("water", "=1+1", 3, None, True)):
        params = {"temperature": 61.123456789, "rate": 3.3e-8, "stages": i + 1, "solvent": solvent}
        study.add(params, context={"h": 0.25}, at=ASKED + 100 * i)
    study.tell(1, 12.3456789, at=ASKED + 5e5, noise=0.5)
    study.fail(2, "lost")


def test_people_read_dates_and_four_digits() -> None:
    fill(make_bath())
    invoke("export", "bath", "--out", "m.xlsx")
    sheet = openpyxl.load_workbook("m.xlsx").worksheets[0]
    titles = [cell.value for cell in sheet[1]]
    assert titles[:7] == [
        "number",
        "temperature (°C)",
        "rate",
        "stages",
        "solvent",
        "context.h (bar)",
        "asked_at (UTC)",
    ]
    assert titles[7:9] == ["yield (%)", "noise"]
    row = dict(zip(titles, sheet[2], strict=True))
    assert row["temperature (°C)"].value == 61.123456789
    assert row["temperature (°C)"].number_format == "0.00"
    assert row["rate"].number_format == "0.000E+00"
    asked = datetime.fromtimestamp(ASKED, UTC).replace(tzinfo=None)
    assert abs((row["asked_at (UTC)"].value - asked).total_seconds()) < 0.001
    assert row["asked_at (UTC)"].is_date
    assert row["stages"].value == 1
    assert sheet[3][4].data_type == "s"  # no formula


def test_what_is_read_back_is_what_was_written() -> None:
    study, copy = make_bath(), make_bath("copy")
    fill(study)
    invoke("export", "bath", "--out", "m.xlsx")
    counts = run_json("import", "copy", "m.xlsx")
    assert (counts["new"], counts["told"], counts["failed"], counts["left_out"]) == (5, 1, 1, [])
    for one, two in zip(study.trials(), copy.trials(), strict=True):
        assert (one.params, one.context, one.outcome, one.noise) == (two.params, two.context, two.outcome, two.noise)
        assert (one.status, one.failure) == (two.status, two.failure)
        assert one.asked_at == pytest.approx(two.asked_at, abs=0.001)
    assert copy.trial(1).delay == pytest.approx(5e5, abs=0.01)


def test_importing_it_where_it_came_from_changes_nothing() -> None:
    study = make_bath()
    fill(study)
    invoke("export", "bath", "--out", "m.xlsx")
    before = study.head
    assert run_json("import", "bath", "m.xlsx")["known"] == 5
    assert study.head == before


def test_a_workbook_of_a_lab_is_read_with_its_dates_and_formulas() -> None:
    study = make_bath()
    book = openpyxl.Workbook()
    book.active.append(["Exp", "Temperature (°C)", "rate", "stages", "solvent", "context.h", "yield", "asked_at"])
    book.active.append([1, 61.5, 1e-8, 2.0, "water", 0.5, 12, datetime(2026, 3, 1, 14, 30)])
    book.active.append([None] * 8)
    book.active.append([2, 70.5, 1e-7, 3, 3, 0.5, None, datetime(2026, 3, 2, 14, 30)])
    book.save("lab.xlsx")
    counts = run_json("import", "bath", "lab.xlsx")
    assert (counts["new"], counts["told"], counts["remarks"], counts["left_out"]) == (2, 1, ["Exp"], [])
    one, two = study.trials()
    assert (one.params["stages"], one.outcome, one.asked_at) == (2, 12.0, datetime(2026, 3, 1, 14, 30).timestamp())
    assert (two.params["temperature"], two.params["solvent"], two.outcome) == (70.5, 3, None)


def test_the_line_of_a_wrong_cell_is_named() -> None:
    make_bath()
    book = openpyxl.Workbook()
    book.active.append(["temperature", "rate", "stages", "solvent", "context.h"])
    book.active.append([1e6, 1e-8, 2, "water", 0.5])
    book.active.append(["70,5", 1e-8, 2, "water", 0.5])
    book.save("lab.xlsx")
    said = invoke("import", "bath", "lab.xlsx", code=2).stderr
    assert "  lab.xlsx:2: temperature: value must not be farther than 1000 ranges from 20.0 to 90.0" in said
    assert "  lab.xlsx:3: temperature: value must be a number; decimals begin with a point (got '70,5')" in said


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--format", "xlsx"], "a workbook is a file: name it with --out trials.xlsx"),
        (["--format", "csv", "--out", "m.xlsx"], "--format csv does not fit the name of the file (got m.xlsx)"),
        (["--format", "xlsx", "--out", "m.csv"], "--format xlsx does not fit the name of the file (got m.csv)"),
    ],
)
def test_a_name_and_a_format_that_contradict_each_other(args: list[str], sentence: str) -> None:
    make_bath()
    check_refused(["export", "bath", *args], sentence)
    assert not list(Path().glob("m.*"))


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1, 20], "General"),
        ([61.5, 20], "0.00"),
        ([0.004], "0.000000"),
        ([12345.6], "0"),
        ([3e-8], "0.000E+00"),
        ([None], "General"),
    ],
)
def test_four_digits_are_shown(values: list[float | None], shown: str) -> None:
    assert choose_number_format(values) == shown


def test_without_openpyxl_it_says_what_to_install() -> None:
    make_bath()
    script = WITHOUT_MATPLOTLIB.replace("matplotlib", "openpyxl")
    for args in (["export", "bath", "--out", "m.xlsx"], ["import", "bath", "m.xlsx"]):
        ran = run_python(script, *args)
        assert (ran.returncode, ran.stderr) == (2, 'Error: m.xlsx needs openpyxl: pip install "belated[excel]"\n')
