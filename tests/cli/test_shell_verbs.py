"""The verbs of the shell as a person and as a script meet them."""

import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import belated
from tests.cli.shell import invoke, said

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

STORE = "sqlite:///belated.db"
NEW = ["--real", "x", "0", "1", "--choice", "act", "relu,tanh", "--silence", "unknown", "--seed", "0"]


def test_new_makes_what_python_opens() -> None:
    printed = said(
        *("new", "lab", "--real", "x", "-1", "1", "--real-log", "lr", "1e-6", "1", "--integer", "n", "1", "8"),
        *("--integer-log", "m", "1", "1000", "--choice", "c", 'a,1,false,"2",null', "--context-real", "t", "0", "40"),
        *("--context-choice", "day", "mon,tue", "--goal", "minimize", "--floor", "9", "--ceiling", "-2"),
        *("--limits", "-5", "20", "--silence", "floor", "--patience", "20", "--late", "ignore", "--repeats", "never"),
        *("--initial", "7", "--seed", "5", "--algorithm", "default"),
    )
    assert printed["created"]
    made = belated.Study.open(STORE, "lab").settings
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


def test_points_from_a_csv_and_from_toml() -> None:
    Path("points.csv").write_text("a,b\n1,x\n2.5,y\n")
    Path("points.toml").write_text('[[points]]\na = 1\nb = "x"\n[[points]]\na = 2.5\nb = "y"\n')
    invoke("new", "one", "--points", "points.csv", "--silence", "unknown", "--seed", "0")
    invoke("new", "two", "--space", "points.toml", "--silence", "unknown", "--seed", "0")
    assert belated.Study.open(STORE, "one").settings == belated.Study.open(STORE, "two").settings
    assert said("ask", "one", "--fix", "b=y")["params"] == {"a": 2.5, "b": "y"}


def test_parameters_come_in_the_order_in_which_they_are_typed() -> None:
    printed = said(
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
    assert list(said("ask", "--context", "day=mon", "--context", "t=3")["params"]) == ["c", "x", "n", "w", "k", "v"]


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
    words = [*NEW, "--patience", "5"]
    assert said("new", "lab", *words)["created"]
    assert not said("new", "lab", *words)["created"]
    assert "exists" in invoke("new", "lab", *words).stdout
    if "GP-UCB-SDF" in also:
        words = [word for word in words if word not in ("--silence", "unknown")]
    refused = invoke("new", "lab", *words, *also, code=2).stderr
    assert refused == f"Error: study 'lab' exists with {sentence}\n"


def test_a_space_that_is_said_again_differs_in_one_thing() -> None:
    invoke("new", "lab", *NEW)
    rest = ["--silence", "unknown", "--seed", "0"]
    assert not said("new", "lab", "--choice", "act", "relu,tanh", "--real", "x", "0", "1", *rest)["created"]
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


def test_ask_is_the_study_s_own_ask() -> None:
    invoke("new", "lab", *NEW)
    twin = belated.Study.create(
        space={"x": belated.Real(0, 1), "act": belated.Choice("relu", "tanh")}, silence="unknown", seed=0
    )
    first = said("ask", "lab")
    assert first["params"] == twin.ask().params
    assert (first["number"], first["status"], first["knew_trials"]) == (1, "pending", 0)
    batch = said("ask", "lab", "-n", "2")
    assert [trial["params"] for trial in batch] == [trial.params for trial in twin.ask(n=2)]
    assert said("ask", "lab", "--fix", "act=tanh")["params"]["act"] == "tanh"
    words = invoke("ask").stdout  # the only study
    assert words.startswith("Trial 5\n  x    0.")
    assert "belated tell lab 5 VALUE" in words
    assert invoke("ask", "-n", "2").stdout.splitlines()[0].split() == ["trial", "x", "act"]


def test_the_same_key_asks_and_tells_once() -> None:
    invoke("new", "lab", *NEW)
    assert said("ask", "--key", "k") == said("ask", "--key", "k")
    assert (
        said("tell", "1", "0.5", "--key", "t")["status"] == said("tell", "1", "0.5", "--key", "t")["status"] == "heard"
    )
    assert said("add", "x=0.5", "act=relu", "--key", "a")["number"] == 2
    assert said("add", "x=0.5", "act=relu", "--key", "a")["number"] == 2
    assert "was used before" in invoke("ask", "-n", "2", "--key", "k", code=2).stderr


def test_a_context_comes_with_every_ask() -> None:
    invoke("new", "lab", *NEW, "--context-real", "t", "0", "40")
    trial = said("ask", "--context", "t=20")
    assert trial["context"] == {"t": 20.0}
    assert "in the context\n    t  20" in invoke("ask", "--context", "t=20").stdout
    invoke("tell", "1", "0.5")
    assert said("best", "--context", "t=20")["number"] == 1
    invoke("best", "--context", "t=21", code=2)
    invoke("add", "x=0.1", "act=relu", "--context", "t=3", "--value", "0.9")
    assert said("best")["number"] == 3


def test_tell_and_its_receipts() -> None:
    invoke("new", "lab", *NEW, "--floor", "0", "--patience", "2", "--late", "use")
    invoke("ask", "-n", "4")
    assert said("tell", "lab", "4", "-0.5", "--noise", "0.1")["note"] == "the outcome -0.5 is worse than the floor 0.0"
    assert said("tell", "lab", "1", "0.25")["status"] == "late"
    assert said("tell", "1", "0.25")["status"] == "duplicate"
    assert "told before, with the same value; nothing changed" in invoke("tell", "1", "0.25").stdout
    refused = invoke("tell", "1", "-0.75", code=2).stderr
    assert "trial 1 was told before, with 0.25" in refused
    assert 'belated amend lab 1 -0.75 --reason "..."' in refused
    study = belated.Study.open(STORE, "lab")
    assert [trial.outcome for trial in study.trials()] == [0.25, None, None, -0.5]
    assert study.trial(4).noise == 0.1


@pytest.mark.parametrize("written", ["seconds", "local", "zone"])
def test_at_says_when_it_came(written: str) -> None:
    invoke("new", "lab", *NEW, "--patience", "14d")
    asked = said("ask")["asked_at"]
    when = datetime.fromtimestamp(int(asked) + 86400).astimezone()
    text = {
        "seconds": str(when.timestamp()),
        "local": when.replace(tzinfo=None).isoformat(),
        "zone": when.isoformat(),
    }[written]
    assert said("tell", "1", "0.5", "--at", text)["delay"] == pytest.approx(86400, abs=1)
    assert belated.Study.open(STORE, "lab").trial(1).told_at == when.timestamp()


def test_fail_and_amend() -> None:
    invoke("new", "lab", *NEW)
    invoke("ask", "-n", "3")
    assert said("fail", "lab", "1", "lost")["failure"] == "lost"
    assert invoke("fail", "2", "infeasible").stdout == "Trial 2: infeasible\n"
    invoke("tell", "1", "0.5")  # after lost an outcome is taken
    assert "an outcome is taken only after lost" in invoke("tell", "2", "0.5", code=2).stderr
    assert said("amend", "1", "-0.25", "--reason", "sign")["outcome"] == -0.25
    assert "no outcome to amend" in invoke("amend", "3", "0.5", "--reason", "typo", code=2).stderr
    assert said("amend", "lab", "--floor", "-1", "--limits", "-2", "2", "--reason", "new sensor") == {
        "study": "lab",
        "floor": -1.0,
        "limits": [-2.0, 2.0],
    }
    assert "limits -2.0 to 2.0" in invoke("tell", "3", "3", code=2).stderr
    assert "Missing option '--reason'" in invoke("amend", "1", "0.5", code=2).stderr


def test_show_says_what_is_pending_heard_late_expired_failed_and_below_the_floor() -> None:
    invoke("new", "lab", *NEW, "--floor", "0", "--patience", "4")
    assert "No trials yet" in invoke("show").stdout
    invoke("ask", "-n", "8")
    invoke("tell", "1", "0.5")
    invoke("tell", "6", "0.7")
    invoke("tell", "7", "-0.1")
    invoke("fail", "5", "withdrawn")
    words = invoke("show").stdout.splitlines()
    assert words[0] == "Study lab: maximize, floor 0, silence unknown, patience 4 rounds"
    assert words[1] == "1 pending, 2 heard, 1 late, 3 expired, 1 failed; best is trial 6"
    assert [line.split()[:2] for line in words[4:12]] == [
        *(["1", "late"], ["2", "expired"], ["3", "expired"], ["4", "expired"], ["5", "withdrawn"]),
        *(["6", "heard"], ["7", "heard"], ["8", "pending"]),
    ]
    assert "-0.1 !" in words[10]
    assert words[12] == "! trial 7: the outcome -0.1 is worse than the floor 0.0"
    printed = said("show")
    assert printed["counts"] == {"pending": 1, "heard": 2, "late": 1, "expired": 3, "failed": 1}
    assert (printed["best"], printed["closed"]) == (6, False)
    assert [trial.get("age_rounds") for trial in printed["trials"]] == [None, 7, 6, 5, None, None, None, 1]


FLOORLESS = ["--real", "x", "0", "1", "--seed", "0"]


@pytest.mark.parametrize(("goal", "worst"), [("maximize", 0.25), ("minimize", 0.75)])
def test_show_says_what_stands_in_for_the_floor(goal: str, worst: float) -> None:
    invoke("new", "lab", *FLOORLESS, "--silence", "floor", "--goal", goal)
    assert f"Study lab: {goal} (no floor stated: the prior mean stands in), silence floor" in invoke("show").stdout
    assert said("show")["floor"] == {"value": None, "stated": False, "used": True}
    for number, value in (("1", "0.5"), ("2", "0.25"), ("3", "0.75")):
        invoke("ask")
        invoke("tell", number, value)
    sentence = f"no floor stated: the worst outcome heard, {worst}, stands in"
    assert f"Study lab: {goal} ({sentence}), silence floor, patience none" in invoke("show").stdout
    assert said("show")["floor"] == {"value": worst, "stated": False, "used": True}
    invoke("amend", "--floor", "7", "--reason", "known now")
    assert f"Study lab: {goal}, floor 7, silence floor" in invoke("show").stdout
    assert said("show")["floor"] == {"value": 7.0, "stated": True, "used": True}


def test_show_says_nothing_of_a_floor_that_nothing_looks_at() -> None:
    invoke("new", "lab", *FLOORLESS, "--silence", "unknown")
    invoke("ask")
    invoke("tell", "1", "0.5")
    assert invoke("show").stdout.startswith("Study lab: maximize, silence unknown, patience none\n")
    assert said("show")["floor"] == {"value": 0.5, "stated": False, "used": False}


def test_show_says_since_when_a_study_has_the_patience_that_it_chose() -> None:
    invoke("new", "lab", *FLOORLESS, "--silence", "unknown", "--patience", "auto")
    assert said("show")["patience_changes"] == []
    assert "patience:" not in invoke("show").stdout
    study = belated.Study.open(STORE, "lab")
    for delay, rounds in ((9, 20), (2, 120)):
        for _ in belated.simulate(
            study,
            lambda p: p["x"],
            delay=belated.delays.Fixed(delay),
            rounds=rounds,
            noise=0.1,
            seed=0,
            choose=lambda study: {"x": study.rounds % 9 / 9},
        ):
            pass
    before, now = said("show")["patience_changes"]
    assert (before["m"], before["patience"], before["reason"][:19]) == (9.0, "9 rounds", "Advised: 9 rounds. ")
    assert now["patience"] == "2 rounds"
    line = f"patience: 2 rounds since trial {now['trial']} (before: 9 rounds since {before['trial']})"
    assert invoke("show").stdout.splitlines()[2] == line
    invoke("export", "lab", "--out", "trials.jsonl")
    invoke("new", "copy", *FLOORLESS, "--silence", "unknown", "--patience", "auto")
    invoke("import", "copy", "trials.jsonl")
    assert said("show", "copy")["patience_changes"] == []
    assert len(said("show", "copy")["trials"]) == study.rounds
    assert "each patience that it chose for itself" in " ".join(invoke("export", "--help").stdout.split())


def test_a_patience_of_none_outweighs_the_file() -> None:
    Path("space.toml").write_text('silence = "unknown"\npatience = 5\n[space]\nx = { real = [0, 1] }\n')
    invoke("new", "lab", "--space", "space.toml", "--patience", "none")
    assert str(belated.Study.open(STORE, "lab").settings.patience) == "none"


def test_show_finds_what_a_vanished_worker_left() -> None:
    invoke("new", "lab", *NEW)
    old = datetime.fromtimestamp(time.time()) - timedelta(days=3, hours=2)
    invoke("add", "x=0.5", "act=relu", "--at", old.isoformat())
    invoke("add", "x=0.6", "act=relu", "--at", old.isoformat(), "--value", "0.1")
    invoke("ask")
    assert [trial["number"] for trial in said("show", "--pending")["trials"]] == [1, 3]
    assert [trial["number"] for trial in said("show", "--pending", "--older-than", "2d")["trials"]] == [1]
    assert "pending  3d 2h" in invoke("show", "--pending", "--older-than", "2d").stdout
    assert said("show", "--pending", "--older-than", "4d")["trials"] == []


def test_close_ends_asking_and_not_telling() -> None:
    invoke("new", "lab", *NEW)
    invoke("ask")
    assert said("close") == {"study": "lab", "closed": True, "out": 1}
    for args in (["ask"], ["add", "x=0.5", "act=relu"]):
        assert "This study is closed" in invoke(*args, code=2).stderr
    invoke("tell", "1", "0.5")
    assert invoke("close").stdout == "Study lab is closed\n"
    assert invoke("show").stdout.splitlines()[1].endswith("; closed")


def test_check_reads_the_whole_record() -> None:
    invoke("new", "lab", *NEW)
    invoke("ask", "-n", "3")
    invoke("tell", "2", "0.5")
    report = said("check")
    assert report["ok"]
    assert (report["trials"], report["outcomes"]) == (3, 1)
    assert invoke("check", "--all").stdout.rstrip().endswith("; ok")


def test_a_study_is_named_where_there_are_several() -> None:
    assert "there is no file" in invoke("ask", code=2).stderr
    invoke("new", "one", *NEW)
    invoke("new", "two", *NEW)
    assert "name the study: there are one, two" in invoke("ask", code=2).stderr
    assert "there is no study 'three'; there are one, two" in invoke("ask", "three", code=2).stderr
    assert invoke("show").stdout.split() == [
        *("study", "pending", "heard", "late", "expired", "failed", "one", "0", "0", "0", "0", "0"),
        *("two", "0", "0", "0", "0", "0"),
    ]
    assert [study["study"] for study in said("show")["studies"]] == ["one", "two"]


def test_the_store_is_an_option_or_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--store sqlite:///a.db" in invoke("new", "lab", *NEW, "--store", "sqlite:///a.db").stdout
    monkeypatch.setenv("BELATED_STORE", "sqlite:///a.db")
    assert said("ask", "lab")["number"] == 1
    invoke("ask", "lab", "--store", "sqlite:///b.db", code=2)
    assert not Path("b.db").exists()
    assert not Path("belated.db").exists()


def test_nothing_is_drawn_in_rich_and_help_stays_light() -> None:
    script = (
        "import sys\nfrom belated.cli import main\n"
        "main(['new', 'lab', '--real', 'x', '0', '1', '--silence', 'unknown'], standalone_mode=False)\n"
        "main(['ask'], standalone_mode=False)\nmain(['show'], standalone_mode=False)\n"
        "sys.stderr.write(' '.join({'rich', 'matplotlib', 'psycopg'} & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
