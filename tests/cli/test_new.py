"""`belated new`: options, TOML and CSV make the study that Python makes."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import belated
from belated.cli import main
from tests.cli.shell import SPACE, STORE, check_refused, invoke, open_lab, run_json, run_python

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_new_makes_what_python_opens() -> None:
    printed = run_json(
        *("new", "lab", "--real", "x", "-1", "1", "--real-log", "lr", "1e-6", "1", "--integer", "n", "1", "8"),
        *("--integer-log", "m", "1", "1000", "--choice", "c", 'a,1,false,"2",null', "--context-real", "t", "0", "40"),
        *("--context-choice", "day", "mon,tue", "--goal", "minimize", "--floor", "9", "--ceiling", "-2"),
        *("--limits", "-5", "20", "--silence", "floor", "--patience", "20", "--late", "ignore", "--repeats", "never"),
        *("--initial", "7", "--seed", "5", "--algorithm", "default"),
    )
    assert printed["created"]
    made = open_lab().settings
    again = belated.Study.create(
        space={
            "x": belated.Real(-1, 1),
            "lr": belated.Real(1e-6, 1, log=True),
            "n": belated.Integer(1, 8),
            "m": belated.Integer(1, 1000, log=True),
            "c": belated.Choice("a", 1, False, "2", None),
        },
        context={"t": belated.Real(0, 40), "day": belated.Choice("mon", "tue")},
        goal="minimize",
        floor=9,
        ceiling=-2,
        limits=(-5, 20),
        silence="floor",
        patience=20,
        late="ignore",
        repeats="never",
        initial=7,
        seed=5,
    ).settings
    assert made == again
    assert printed["settings"] == made.spec()


def test_new_from_toml_is_new_by_options_and_an_option_outweighs_the_file() -> None:
    Path("space.toml").write_text(
        'silence = "floor"\npatience = "14d"\nseed = 3\n[space]\nx = { real = [0, 1] }\n'
        'lr = { real = [1e-6, 1], log = true }\nn = { integer = [1, 8] }\nc = { choice = ["a", 1] }\n'
        "[context]\nt = { integer = [0, 5] }\n"
    )
    invoke("new", "one", "--space", "space.toml", "--silence", "unknown")
    invoke(
        *("new", "two", "--real", "x", "0", "1", "--real-log", "lr", "1e-6", "1", "--integer", "n", "1", "8"),
        *("--choice", "c", "a,1", "--context-integer", "t", "0", "5", "--silence", "unknown", "--patience", "14d"),
        *("--seed", "3"),
    )
    assert belated.Study.open(STORE, "one").settings == belated.Study.open(STORE, "two").settings


def test_a_patience_of_none_outweighs_the_file() -> None:
    Path("space.toml").write_text('silence = "unknown"\npatience = 5\n[space]\nx = { real = [0, 1] }\n')
    invoke("new", "lab", "--space", "space.toml", "--patience", "none")
    assert str(open_lab().settings.patience) == "none"


def test_points_from_a_csv_and_from_toml() -> None:
    Path("points.csv").write_text("a,b\n1,x\n2.5,y\n")
    Path("points.toml").write_text('[[points]]\na = 1\nb = "x"\n[[points]]\na = 2.5\nb = "y"\n')
    invoke("new", "one", "--points", "points.csv", "--silence", "unknown", "--seed", "0")
    invoke("new", "two", "--space", "points.toml", "--silence", "unknown", "--seed", "0")
    assert belated.Study.open(STORE, "one").settings == belated.Study.open(STORE, "two").settings
    assert run_json("ask", "one", "--fix", "b=y")["params"] == {"a": 2.5, "b": "y"}


def test_parameters_come_in_the_order_in_which_they_are_typed() -> None:
    printed = run_json(
        *("new", "lab", "--choice", "c", "a,b", "--context-choice", "day", "mon,tue", "--real", "x", "0", "1"),
        *(
            "--integer",
            "n",
            "1",
            "8",
            "--context-real",
            "t",
            "0",
            "40",
            "--real",
            "w",
            "-1",
            "1",
            "--silence",
            "unknown",
        ),
        *("--integer-log", "k", "1", "9", "--real-log=v", "1", "2"),
    )
    assert printed["settings"]["space"]["names"] == ["c", "x", "n", "w", "k", "v"]
    assert printed["settings"]["context"]["names"] == ["day", "t"]
    assert list(run_json("ask", "--context", "day=mon", "--context", "t=3")["params"]) == ["c", "x", "n", "w", "k", "v"]


NEW_AGAIN = [
    (["--goal", "minimize"], "another goal: 'maximize' (got 'minimize')"),
    (["--patience", "5s"], "another patience: 5 rounds (got 5s)"),
    (["--patience", "6"], "another patience: 5 rounds (got 6 rounds)"),
    (["--silence", "floor"], "another silence: 'unknown' (got 'floor')"),
    (["--limits", "0", "1"], "another limits: none (got 0.0 to 1.0)"),
    (["--floor", "1"], "another floor: none (got 1.0)"),
    (["--real", "y", "0", "2"], "another space: no y (got y is a number from 0.0 to 2.0)"),
    (["--context-integer-log", "n", "1", "9"], "another context: no n (got n is a whole number from 1 to 9, log)"),
    (["--algorithm", "GP-UCB-SDF"], "another algorithm: 'default' (got 'GP-UCB-SDF')"),
]


@pytest.mark.parametrize(("also", "sentence"), NEW_AGAIN, ids=lambda value: " ".join(value)[:40])
def test_new_again_is_harmless_and_something_else_is_refused(also: list[str], sentence: str) -> None:
    words = [*SPACE, "--patience", "5"]
    assert run_json("new", "lab", *words)["created"]
    assert not run_json("new", "lab", *words)["created"]
    assert "exists" in invoke("new", "lab", *words).stdout
    if "GP-UCB-SDF" in also:
        words = [word for word in words if word not in ("--silence", "unknown")]
    refused = invoke("new", "lab", *words, *also, code=2).stderr
    assert refused == f"Error: study 'lab' exists with {sentence}\n"


def test_a_space_that_is_said_again_differs_in_one_thing() -> None:
    invoke("new", "lab", *SPACE)
    rest = ["--silence", "unknown", "--seed", "0"]
    assert not run_json("new", "lab", "--choice", "act", "relu,tanh", "--real", "x", "0", "1", *rest)["created"]
    for words, sentence in (
        (["--choice", "act", "relu,tanh", "--real", "x", "0", "2"], "x is a number from 0.0 to 1.0 (got x is a number"),
        (["--real", "x", "0", "1", "--choice", "act", "relu,elu"], "act is one of 'relu', 'tanh' (got act is one of"),
        (["--real", "x", "0", "1"], "act is one of 'relu', 'tanh' (got no act)"),
        (["--points", "points.csv"], "named parameters (got a list of points)"),
    ):
        Path("points.csv").write_text("x\n1\n2\n")
        assert f"exists with another space: {sentence}" in invoke("new", "lab", *words, *rest, code=2).stderr
    invoke("new", "plates", "--points", "points.csv", *rest)
    Path("points.csv").write_text("x\n1\n3\n")
    assert "another space: point 1 is x = 2 (got point 1 is x = 3)" in (
        invoke("new", "plates", "--points", "points.csv", *rest, code=2).stderr
    )


def test_a_file_may_say_that_patience_is_automatic() -> None:
    Path("space.toml").write_text('silence = "unknown"\npatience = "auto-clock"\n[space]\nx = { real = [0, 1] }\n')
    invoke("new", "lab", "--space", "space.toml")
    patience = open_lab().settings.patience
    assert (patience.auto, patience.by_clock) == (True, True)


OPTIONS = ("new", "other", "--silence", "unknown")
REFUSED = [
    (["new"], "NAME is missing; for example: belated new catalyst"),
    (["new", "a", "b"], "the arguments must be NAME (got a b)"),
    (["new", "a/b", "--real", "x", "0", "1", "--silence", "unknown"], "name must be 1 to 128 letters, digits"),
    (["new", "other"], "declare a space: --space space.toml"),
    (["new", "other", "--real", "x", "0", "1"], "silence must be given"),
    (
        ["new", "other", *SPACE, "--floor", "2", "--limits", "0", "1"],
        "floor must lie within the limits (got floor 2.0, limits 0.0 to 1.0)",
    ),
    ([*OPTIONS, "--real", "x", "0"], "--real must be followed by NAME LOW HIGH"),
    ([*OPTIONS, "--choice"], "--choice must be followed by NAME A,B,..."),
    (
        ["new", "other", "--real", "x", "0", "--silence", "floor"],
        "--real must be followed by NAME LOW HIGH (got x 0 --",
    ),
    (
        [*OPTIONS, "--real", "x", "0", "1", "--limits", "0", "--seed", "1"],
        "--limits must be followed by LO HI (got 0 --",
    ),
    ([*OPTIONS, "--real", "x", "0", "1", "--lmits", "0", "1"], "No such option '--lmits'"),
    ([*OPTIONS, "--real", "x", "1", "0"], "x: low must be less than high (got 1.0, 0.0)"),
    ([*OPTIONS, "--real", "x", "0", "inf"], "x: high must be a finite number (got inf)"),
    ([*OPTIONS, "--real", "x", "0", "one"], "x: high must be a number (got 'one')"),
    ([*OPTIONS, "--real-log", "x", "0", "1"], "x: low must be more than 0 when log=True"),
    ([*OPTIONS, "--integer", "n", "1", "2.5"], "n: high must be an integer (got '2.5')"),
    ([*OPTIONS, "--integer", "n", "1", "9" * 5000], "n: high must be an integer (got '999"),
    ([*OPTIONS, "--choice", "c", "a"], "c: Choice must have at least two options"),
    ([*OPTIONS, "--choice", "c", "1,true"], "c: options must differ (got 1 and True)"),
    ([*OPTIONS, "--real", "x", "0", "1", "--integer", "x", "0", "1"], "names must differ (got 'x' twice)"),
    ([*OPTIONS, "--real", "x", "0", "1", "--patience", "0"], "patience must be more than 0 (got 0)"),
    (
        [*OPTIONS, "--real", "x", "0", "1", "--patience", "soon"],
        'a number of rounds such as 20, a time such as "2h" or "14d", "auto", "auto-clock" or "none" (got \'soon\')',
    ),
    ([*OPTIONS, "--real", "x", "0", "1", "--patience", "1.5"], "patience in rounds must be an integer (got '1.5')"),
    ([*OPTIONS, "--real", "x", "0", "1", "--goal", "up"], 'goal must be "maximize" or "minimize" (got \'up\')'),
    ([*OPTIONS, "--real", "x", "0", "1", "--seed", "-1"], "seed must be at least 0 (got -1)"),
    ([*OPTIONS, "--real", "x", "0", "1", "--points", "p.csv"], "p.csv cannot be read"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)


def test_the_question_and_the_units_by_options_and_from_a_file() -> None:
    Path("space.toml").write_text(
        'silence = "unknown"\nseed = 0\nabout = "Which bath?"\noutcome_name = "yield"\nunit = "%"\n[space]\n'
        't = { real = [20, 90], unit = "°C" }\nn = { integer = [1, 8], unit = "of 8" }\n'
        '[context]\nh = { real = [0, 1], unit = "bar" }\n'
    )
    invoke("new", "one", "--space", "space.toml")
    invoke(
        *("new", "two", "--real", "t", "20", "90", "--integer", "n", "1", "8", "--context-real", "h", "0", "1"),
        *("--silence", "unknown", "--seed", "0", "--about", "Which bath?", "--outcome-name", "yield", "--unit", "%"),
        *("--parameter-unit", "t=°C", "--parameter-unit", "n=of 8", "--parameter-unit", "h=bar"),
    )
    made = belated.Study.open(STORE, "two").settings
    assert made == belated.Study.open(STORE, "one").settings
    assert (made.space.units, made.context.units) == ({"t": "°C", "n": "of 8"}, {"h": "bar"})


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("act=mol", "--parameter-unit must name a number of the space or the context (got act)"),
        ("nope=mol", "(got nope)"),
        ("x", "--parameter-unit must be name=value (got 'x')"),
        ("x=", "x: unit must be printable"),
    ],
)
def test_a_unit_belongs_to_a_number(typed: str, sentence: str) -> None:
    invoke("new", "other", *SPACE)
    check_refused(["new", "lab", *SPACE, "--parameter-unit", typed], sentence)


# Step by step ---------------------------------------------------------------------------------------------------------

ANSWERS = ["temp", "number", "90", "20", "temp", "", "20", "90", "y", "temp", "solvent", "choice", "water,oil", "n"]
ANSWERS += ["small", "floor", "soon", "14d"]


def test_on_a_terminal_a_name_alone_is_asked_about_step_by_step_until_it_can_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("belated.cli.new.is_terminal", lambda: True)
    ran = CliRunner().invoke(main, ["new", "lab"], input="".join(f"{answer}\n" for answer in ANSWERS))
    assert ran.exit_code == 0, ran.output
    assert "That cannot be: low must be less than high (got 90.0, 20.0)." in ran.stdout
    assert "That cannot be: names must differ (got temp twice)." in ran.stdout
    made, asked = (
        open_lab().settings,
        belated.Study.create(
            space={"temp": belated.Real(20, 90), "solvent": belated.Choice("water", "oil")},
            goal="minimize",
            silence="floor",
            patience="14d",
            seed=open_lab().seed,
        ),
    )
    assert made == asked.settings


def test_whoever_stops_answering_makes_no_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belated.cli.new.is_terminal", lambda: True)
    assert CliRunner().invoke(main, ["new", "lab"], input="temp\nnumber\n").exit_code == 130
    assert not Path("belated.db").exists()


def test_elsewhere_nobody_is_asked() -> None:
    assert "declare a space" in invoke("new", "lab", code=2).stderr


def test_a_terminal_is_known() -> None:
    """In a pseudo-terminal of its own."""
    script = "from belated.cli._questions import is_terminal; print(is_terminal(), flush=True)"
    parent, child = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", script], stdin=child, stdout=child) as started:
        os.close(child)
        assert os.read(parent, 100).strip() == b"True"
        assert started.wait(60) == 0
    os.close(parent)
    assert run_python(script).stdout.strip() == "False"


def test_an_option_that_is_empty_is_a_typing_error() -> None:
    words = ["new", "lab", "--choice", "act", "relu,,tanh", "--silence", "unknown"]
    assert 'an option must not be empty; write "" for an empty text (got ' in invoke(*words, code=2).stderr
    words[4] = 'relu,"",tanh'
    invoke(*words)
    assert belated.Study.open(STORE, "lab").settings.space.list_options() == ["relu", "", "tanh"]
