"""TOML, CSV and JSON lines are read strictly: what is wrong is named, with its line."""

from pathlib import Path

import pytest

import belated
from belated.cli.io.files import parse_json
from belated.errors import InvalidInput
from tests.cli.shell import run

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


TOML = [
    (b"silence = 1\nsilence = 2", "is not TOML: Cannot overwrite a value"),
    (b"[space]\nx = { real = [0, nan] }", "x: high must be a finite number (got nan)"),
    (b"[space]\nx = { real = [0, 1e999] }", "x: high must be a finite number (got inf)"),
    (b"[space]\nx = { real = [0, true] }", "x: high must be a number (got True)"),
    (b"[space]\nx = { real = [0, 1], lgo = true }", "x: must be { real = [low, high] }"),
    (b"[space]\nx = 3", "x: must be { real = [low, high] }"),
    (b"space = 3", "space must be a table of parameters (got 3)"),
    (b"colour = 3", "there is no setting 'colour'"),
    (b"seed = " + b"1" * 5000, "holds a number that is too long"),
    (b"x = " + b"[" * 100_000, "is nested too deeply"),
    (b"\xff\xfe", "must be UTF-8 text (byte 1 is not)"),
    (b"points = 3", "points must be a list"),
    (b"", "declare a space"),
]


@pytest.mark.parametrize(("text", "sentence"), TOML, ids=[text[:20] for text, _ in TOML])
def test_a_space_that_cannot_be_read(text: bytes, sentence: str) -> None:
    Path("space.toml").write_bytes(text)
    ran = run("new", "other", "--silence", "unknown", "--space", "space.toml")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert sentence in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert not Path("belated.db").exists()


LINES = [
    (b'{"params": {"x": 0.5, "x": 0.6, "act": "relu"}}', "keys must differ (got 'x' twice)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcome": 1e999}', "numbers must be finite (got 1e999)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcome": NaN}', "numbers must be finite (got NaN)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcome": true}', "outcome must be a number (got True)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "asked_at": true}', "asked_at must be a number (got True)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "told_at": [1]}', "told_at must be a number (got [1])"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "number": 1.5}', "number must be an integer (got 1.5)"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcome": ' + b"1" * 5000 + b"}", "a number is too long"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcme": 1}', "there is no field 'outcme'"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "outcome": 1, "failure": "lost"}', "an outcome or a failure, not both"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "failure": "broken"}', "failure must be one of lost"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "context": {"t": 1}}', "this study has no context"),
    (b'{"params": {"x": 0.5, "act": "relu"}, "value": 1, "outcome": 1}', "give value or outcome, not both"),
    (b'{"params": {"x": 0.5}}', "act: value is missing (got x)"),
    (b'{"params": [1]}', "params must be an object (got [1])"),
    (b'{"x": 0.5}', "there is no field 'x'; parameters belong under params"),
    (b"[1, 2]", "a line must be a JSON object (got [1, 2])"),
    (b"{", "this is not JSON"),
    (b"[" * 100_000, "this JSON is nested too deeply"),
]


@pytest.mark.parametrize(("line", "sentence"), LINES, ids=[line[-40:] for line, _ in LINES])
def test_a_line_that_is_refused_is_named(lab: belated.Study, line: bytes, sentence: str) -> None:
    good = b'{"params": {"x": 0.25, "act": "relu"}, "outcome": 1}\n'
    Path("past.jsonl").write_bytes(good + b"\n" + line + b"\n" + good)
    ran = run("import", "past.jsonl")
    assert ran.exit_code == 2
    first, second = ran.stderr.splitlines()
    assert first == "Error: nothing was recorded: a line is wrong"
    assert second.startswith("  past.jsonl:3: ")
    assert sentence in second
    assert len(lab.trials()) == 2


CSVS = [
    (b"x,act,outcome\n0.5,relu\n", "past.csv:2: there must be 3 cells (got 2)"),
    (b"x,x,act\n", "past.csv:1: columns must differ (got 'x' twice)"),
    (b"x,,act\n", "past.csv:1: column 2 must have a name"),
    (
        b"x,act,otcome\n",
        "past.csv:1: there is no column 'otcome'; did you mean outcome? --map otcome=outcome reads it so",
    ),
    (b"a;b\n", "past.csv:1: there must be columns of this study: x, act, asked_at, outcome,"),
    (b'x,act\n0.5,"relu', "past.csv:2: this is not CSV"),
    (b"x,act\n0.5,relu\xff\n", "past.csv must be UTF-8 text"),
    (b"", "past.csv must begin with a line that names its columns"),
    (b"x,outcome\n0.5,1\n", "past.csv:2: act: value is missing"),
    (b'x,act,outcome\n"0.5",relu,1\n0.5,"relu\nrelu",1\n0.5,relu,x\n', "past.csv:5: outcome must be a number"),
    (b"x,act,asked_at\n0.5,relu,9999-99-99\n", "past.csv:2: asked_at must be a time such as"),
]


@pytest.mark.parametrize(("text", "sentence"), CSVS, ids=[text[:25] for text, _ in CSVS])
def test_a_csv_that_is_refused(lab: belated.Study, text: bytes, sentence: str) -> None:
    Path("past.csv").write_bytes(text)
    ran = run("import", "past.csv")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert sentence in ran.stderr
    assert len(lab.trials()) == 2


def test_json_says_a_thing_once_and_in_finite_numbers() -> None:
    assert parse_json('{"a": [1, 2.5, null, true, "x"]}') == {"a": [1, 2.5, None, True, "x"]}
    for text in ('{"a": {"b": 1, "b": 1}}', "[Infinity]", "[-1e400]", "nul", '"' + "\ud800"):
        with pytest.raises(InvalidInput):
            parse_json(text)
