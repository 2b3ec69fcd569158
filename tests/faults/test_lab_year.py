"""A year of a lab, from the shell: an old spreadsheet, eight batches of eight, late and lost outcomes, typing errors, a
range that was too narrow, a new server, a report. The record holds after every step."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest

import belated
from tests.cli.shell import invoke, run_json

BATCHES, SIZE = 8, 8
OLD = """\ufeffVersuch;Temperature (°C);hours;solvent;Ausbeute;Kommentar\r
1;61,5;2,0;water;31,25;\r
2;70;3,5;ethanol;44,5;trüb\r
3;95;4;ethanol;58;zu heiß\r
"""  # the third lies outside the range


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BELATED_STORE", "sqlite:///lab.db")
    monkeypatch.setenv("BELATED_BY", "Anna")


def measure(params: dict[str, Any]) -> float:
    """The yield in percent: best near 98 °C, beyond the first range."""
    heat, hours = (params["temperature"] - 98) / 40, (params["hours"] - 6) / 6
    return round(90 * math.exp(-heat * heat - hours * hours) - (8 if params["solvent"] == "water" else 0), 2)


def hold(*numbers: int) -> None:
    """What belated promises of the record is true, and these choices are computed again as they were made; without
    numbers, all of them."""
    assert run_json("check", "lab")["ok"]
    every = [run_json("replay", "lab", str(number)) for number in numbers] or [run_json("replay", "lab")]
    assert all(each["same"] for found in every for each in found)


def tell_sheet(told: dict[int, float]) -> None:
    """Tell outcomes from a sheet with semicolons and decimal commas."""
    rows = [f"{number};{str(value).replace('.', ',')}" for number, value in told.items()]
    Path("sheet.csv").write_text("\n".join(["number;Ausbeute", *rows, ""]), encoding="utf-8-sig")
    assert run_json("tell", "lab", "--csv", "sheet.csv")["told"] == len(told)


def edit_cell(path: str, number: int, column: str, text: str) -> None:
    with Path(path).open(newline="", encoding="utf-8") as file:
        titles, *rows = list(csv.reader(file))
    next(row for row in rows if row[0] == str(number))[titles.index(column)] = text
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([titles, *rows])


def run_batch(waiting: dict[int, float], turn: int) -> list[int]:
    """Ask for a batch; tell what has come back, the newest first and some of it from earlier batches; lose one, and one
    cannot be made. What is late is left in `waiting`."""
    trials = run_json("ask", "lab", "-n", str(SIZE), "--by", "Bob" if turn % 2 else "Anna")
    numbers = [trial["number"] for trial in trials]
    outcomes = {trial["number"]: measure(trial["params"]) for trial in trials}
    invoke("fail", "lab", str(numbers[2]), "lost", "--reason", "the flask broke")
    if turn == 0:
        invoke("fail", "lab", str(numbers[3]), "infeasible", "--reason", "it boiled over")
        del outcomes[numbers[3]]
    del outcomes[numbers[2]]
    late = {number: outcomes.pop(number) for number in numbers[4:6]}
    single = max(outcomes)
    invoke("tell", "lab", str(single), str(outcomes.pop(single)), "--remark", "by hand")
    tell_sheet(dict(reversed((waiting | outcomes).items())))
    waiting.clear()
    waiting.update(late)
    return numbers


def test_a_year_of_a_lab(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    invoke(
        *("new", "lab", "--real", "temperature", "20", "90", "--real", "hours", "1", "12"),
        *("--choice", "solvent", "water,ethanol", "--parameter-unit", "temperature=°C", "--outcome-name", "Ausbeute"),
        *("--unit", "%", "--silence", "unknown", "--patience", "14d", "--about", "Which conditions?", "--seed", "0"),
    )
    Path("Versuche.csv").write_text(OLD, encoding="utf-8", newline="")
    assert invoke("import", "lab", "Versuche.csv").stdout == (
        "Imported 3 rows: 3 new trials, 0 here before, 3 outcomes; kept as remarks: Versuch, Kommentar; "
        "1 lies outside the ranges: kept and used, never proposed\n"
    )
    assert run_json("import", "lab", "Versuche.csv")["new"] == 0
    hold()

    waiting: dict[int, float] = {}
    numbers: list[int] = []
    for turn in range(BATCHES):
        numbers = run_batch(waiting, turn)
        hold(numbers[0], numbers[-1])
        if turn == 1:  # two typing errors: one is amended, one is edited in an export. And an amendment is undone
            late = min(waiting)
            invoke("tell", "lab", str(late), str(waiting[late] + 500))
            invoke("amend", "lab", str(late), str(waiting.pop(late)), "--reason", "a digit too many", "--by", "Bob")
            invoke("amend", "lab", str(late), "7.1", "--reason", "read from the wrong line")
            invoke("undo", "lab", "--yes")
            hold(late)
            invoke("export", "lab", "--out", "all.csv")
            heat = math.floor(run_json("show", "lab")["trials"][numbers[0] - 1]["params"]["temperature"]) - 1.0
            edit_cell("all.csv", numbers[0], "temperature (°C)", str(heat))
            assert run_json("import", "lab", "all.csv", "--amend", "the knob has steps")["amended"] == 1
            assert run_json("show", "lab")["trials"][numbers[0] - 1]["params"]["temperature"] == heat
            hold(numbers[0], numbers[-1])
        if turn == 3:
            invoke("amend", "lab", "--range", "temperature", "20", "110", "--reason", "the best is at the edge")
            hold(numbers[0], numbers[-1])
        if turn == 5:  # the file moves to a server
            head = belated.Study.open(name="lab").head
            invoke("backup", "friday.db")
            monkeypatch.setenv("BELATED_STORE", postgres_url)
            invoke("restore", "friday.db")
            assert belated.Study.open(name="lab").head == head
            hold(numbers[0], numbers[-1])

    tell_sheet(waiting)
    invoke("close", "lab", "--lock", "--remark", "the paper is sent")
    hold()
    study = belated.Study.open(name="lab")
    assert study.rounds == 3 + BATCHES * SIZE
    assert [trial.failure for trial in study.trials()].count("lost") == BATCHES
    assert [trial.status for trial in study.trials()].count("pending") == 0
    assert study.recommend().params["temperature"] > 90
    invoke("report", "lab", "--out", "lab.html")
    page = Path("lab.html").read_text(encoding="utf-8")
    for words in ("Which conditions?", "the flask broke", "the knob has steps", "Ausbeute", study.head.split()[1]):
        assert words in page
    log = invoke("log", "lab").stdout
    assert len(log.splitlines()) == len(study.events()) + 1
    assert "Bob: amended trial " in log
    assert "temperature to the range 20.0 to 110.0 (the best is at the edge)" in log
