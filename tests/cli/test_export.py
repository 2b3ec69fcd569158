"""`belated export`: CSV and JSON lines."""

import csv
import os
from pathlib import Path

import pytest

import belated
from tests.cli.shell import SPACE, STORE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_a_file_that_cannot_be_written_leaves_nothing_behind() -> None:
    invoke("new", "lab", *SPACE)
    Path("folder.csv").mkdir()
    for out in ("folder.csv", "nowhere/out.csv"):
        assert "--out must be a file that can be written" in invoke("export", "--out", out, code=2).stderr
    assert sorted(path.name for path in Path().iterdir() if "belated.db" not in path.name) == ["folder.csv"]


REFUSED = [
    (
        ["export", "--out", "trials.json"],
        "--out must end in .csv or .jsonl or .ndjson or .xlsx, unless --format says",
    ),
    (["export", "--format", "xml"], "Invalid value for '--format'"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)


def test_no_link_is_followed() -> None:
    """A link at the place of the file is replaced; what it points to stays as it is."""
    invoke("new", "lab", *SPACE)
    Path("precious").write_text("keep me")
    for link in ("trials.csv", ".trials.csv.part"):  # the second is where an earlier version wrote first
        Path(link).symlink_to("precious")
    invoke("export", "--out", "trials.csv")
    assert Path("precious").read_text() == "keep me"
    assert not Path("trials.csv").is_symlink()
    assert Path("trials.csv").read_text().startswith("number,")
    assert sorted(p.name for p in Path().iterdir() if "belated.db" not in p.name) == [
        ".trials.csv.part",
        "precious",
        "trials.csv",
    ]


def test_what_is_no_regular_file_is_left_alone() -> None:
    invoke("new", "lab", *SPACE)
    os.mkfifo("pipe.csv")
    check_refused(["export", "--out", "pipe.csv"], "it is not a regular file")
    assert Path("pipe.csv").is_fifo()


FORMULAS = ["=1+1", "+1", "-x", "@SUM(A1)", "＝1", '=HYPERLINK("http://h")', "-5", "plain"]


def test_a_spreadsheet_runs_no_cell() -> None:
    """Text that begins like a formula is in quotes, numbers are as they are, and importing restores both."""
    space = {
        "=x": belated.Real(-1, 1),
        "-name": belated.Choice(*FORMULAS),
        "n": belated.Choice(-5, -0.5, "@home"),
    }
    for name in ("lab", "copy"):
        belated.Study.create(STORE, name, space=space, silence="unknown", seed=0)
    study = belated.Study.open(STORE, "lab")
    for i, option in enumerate(FORMULAS):
        study.add({"=x": -0.5, "-name": option, "n": (-5, -0.5, "@home")[i % 3]}, -1.5)
    invoke("export", "lab", "--out", "trials.csv")
    titles, *rows = csv.reader(Path("trials.csv").read_text().splitlines())
    assert titles[:4] == ["number", "params.=x", "params.-name", "n"]
    assert {row[1] for row in rows} == {"-0.5"}
    assert {row[3] for row in rows} == {"-5", "-0.5", '"@home"'}
    for cell in (cell for row in [titles, *rows] for cell in row):
        assert cell == "" or cell[0] not in "=+-@＝＋－＠" or float(cell) < 0
    assert run_json("import", "copy", "trials.csv")["new"] == len(FORMULAS)
    assert [t.params for t in belated.Study.open(STORE, "copy").trials()] == [t.params for t in study.trials()]


def test_a_file_that_was_exported_without_quotes_is_still_read() -> None:
    belated.Study.create(STORE, "lab", space={"c": belated.Choice("=1+1", "b")}, silence="unknown", seed=0)
    Path("old.csv").write_text("number,c,outcome\n1,=1+1,0.5\n")
    assert run_json("import", "old.csv")["new"] == 1
