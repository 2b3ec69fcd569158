"""`belated show`: how a study stands."""

import time
from datetime import datetime, timedelta

import pytest

import belated
from tests.cli.shell import SPACE, check_refused, invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_show_says_what_is_pending_heard_late_expired_failed_and_below_the_floor() -> None:
    invoke("new", "lab", *SPACE, "--floor", "0", "--patience", "4")
    assert "No trials yet" in invoke("show").stdout
    invoke("ask", "-n", "8")
    invoke("tell", "1", "0.5")
    invoke("tell", "6", "0.7")
    invoke("tell", "7", "-0.1")
    invoke("fail", "5", "withdrawn")
    words = invoke("show").stdout.splitlines()
    assert words[0] == "Study lab: maximize, floor 0, silence unknown, patience 4 rounds"
    assert words[1] == "1 pending, 2 heard, 1 late, 3 expired, 1 failed; best is trial 6"
    assert words[2].startswith("The next 10 queries may gain ")
    assert words[3].startswith("made 20")
    assert [line.split()[:2] for line in words[6:14]] == [
        *(["1", "late"], ["2", "expired"], ["3", "expired"], ["4", "expired"], ["5", "withdrawn"]),
        *(["6", "heard"], ["7", "heard"], ["8", "pending"]),
    ]
    assert "-0.1 !" in words[12]
    assert words[14] == "! trial 7: the outcome -0.1 is worse than the floor 0.0"
    printed = run_json("show")
    assert printed["counts"] == {"pending": 1, "heard": 2, "late": 1, "expired": 3, "failed": 1, "counted": 0}
    assert (printed["best"]["trial"]["number"], printed["closed"]) == (6, False)
    assert [trial.get("age_rounds") for trial in printed["trials"]] == [None, 7, 6, 5, None, None, None, 1]


def test_an_added_outcome_was_not_waited_for() -> None:
    invoke("new", "lab", "--real", "x", "0", "1", "--silence", "unknown")
    invoke("add", "x=0.5", "--value", "0.25")
    assert invoke("show").stdout.splitlines()[-1].split() == ["1", "heard", "0.25", "0.5"]


def test_of_many_trials_the_last_are_shown_and_how_many_there_are() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask", "-n", "25")
    invoke("tell", "25", "0.5")

    def show(*words: str) -> tuple[list[int], str]:
        said = invoke("show", *words).stdout
        lines = said.splitlines()
        return [int(line.split()[0]) for line in lines[lines.index("") + 2 :]], said

    shown, said = show()
    assert shown == list(range(6, 26))
    assert "The last 20 of 25 trials; --all shows all of them:" in said
    shown, said = show("--all")
    assert shown == list(range(1, 26))
    assert "The last" not in said
    shown, said = show("--pending", "--last", "3")
    assert shown == [22, 23, 24]
    assert "The last 3 of 24 trials" in said
    assert len(run_json("show")["trials"]) == 25
    assert [trial["number"] for trial in run_json("show", "--last", "2")["trials"]] == [24, 25]


def test_a_filter_is_for_one_study() -> None:
    for name in ("lab", "other"):
        invoke("new", name, "--real", "x", "0", "1", "--silence", "unknown")
    assert len(run_json("show")["studies"]) == 2
    for given in (["--pending"], ["--older-than", "2d"], ["--all"], ["--last", "3"]):
        check_refused(["show", *given], "name the study: there are lab, other")


FLOORLESS = ["--real", "x", "0", "1", "--seed", "0"]


@pytest.mark.parametrize(("goal", "worst"), [("maximize", 0.25), ("minimize", 0.75)])
def test_show_says_what_stands_in_for_the_floor(goal: str, worst: float) -> None:
    invoke("new", "lab", *FLOORLESS, "--silence", "floor", "--goal", goal)
    assert f"Study lab: {goal} (no floor stated: the prior mean stands in), silence floor" in invoke("show").stdout
    assert run_json("show")["floor"] == {"value": None, "stated": False, "used": True}
    for number, value in (("1", "0.5"), ("2", "0.25"), ("3", "0.75")):
        invoke("ask")
        invoke("tell", number, value)
    sentence = f"no floor stated: the worst outcome heard, {worst}, stands in"
    assert f"Study lab: {goal} ({sentence}), silence floor, patience none" in invoke("show").stdout
    assert run_json("show")["floor"] == {"value": worst, "stated": False, "used": True}
    invoke("amend", "--floor", "7", "--reason", "known now")
    assert f"Study lab: {goal}, floor 7, silence floor" in invoke("show").stdout
    assert run_json("show")["floor"] == {"value": 7.0, "stated": True, "used": True}


def test_show_says_nothing_of_a_floor_that_nothing_looks_at() -> None:
    invoke("new", "lab", *FLOORLESS, "--silence", "unknown")
    invoke("ask")
    invoke("tell", "1", "0.5")
    assert invoke("show").stdout.startswith("Study lab: maximize, silence unknown, patience none\n")
    assert run_json("show")["floor"] == {"value": 0.5, "stated": False, "used": False}


def test_show_says_since_when_a_study_has_the_patience_that_it_chose() -> None:
    invoke("new", "lab", *FLOORLESS, "--silence", "unknown", "--patience", "auto")
    assert run_json("show")["patience_changes"] == []
    assert "patience:" not in invoke("show").stdout
    study = open_lab()
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
    before, now = run_json("show")["patience_changes"]
    assert (before["m"], before["patience"], before["reason"][:19]) == (9.0, "9 rounds", "Advised: 9 rounds. ")
    assert now["patience"] == "2 rounds"
    line = f"patience: 2 rounds since trial {now['trial']} (before: 9 rounds since {before['trial']})"
    assert invoke("show").stdout.splitlines()[2] == line
    invoke("export", "lab", "--out", "trials.jsonl")
    invoke("new", "copy", *FLOORLESS, "--silence", "unknown", "--patience", "auto")
    invoke("import", "copy", "trials.jsonl")
    assert run_json("show", "copy")["patience_changes"] == []
    assert len(run_json("show", "copy")["trials"]) == study.rounds
    assert "each patience that it chose by itself" in " ".join(invoke("export", "--help").stdout.split())


def test_show_finds_what_a_vanished_worker_left() -> None:
    invoke("new", "lab", *SPACE)
    old = datetime.fromtimestamp(time.time()) - timedelta(days=3, hours=2)
    invoke("add", "x=0.5", "act=relu", "--at", old.isoformat())
    invoke("add", "x=0.6", "act=relu", "--at", old.isoformat(), "--value", "0.1")
    invoke("ask")
    assert [trial["number"] for trial in run_json("show", "--pending")["trials"]] == [1, 3]
    assert [trial["number"] for trial in run_json("show", "--pending", "--older-than", "2d")["trials"]] == [1]
    assert "pending  3d 2h" in invoke("show", "--pending", "--older-than", "2d").stdout
    assert run_json("show", "--pending", "--older-than", "4d")["trials"] == []
    assert [trial["number"] for trial in run_json("show", "--older-than", "2d")["trials"]] == [1, 2]
    assert [trial["number"] for trial in run_json("show", "--older-than", "2d", "--last", "1")["trials"]] == [2]
    assert "The last 1 of 2 trials" in invoke("show", "--older-than", "2d", "--last", "1").stdout


REFUSED = [
    (["show", "--older-than", "soon"], "--older-than must be a number and a unit"),
    (["show", "--all", "--last", "3"], "say --all or --last, not both (got --last 3)"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)


def test_show_says_who_made_it_who_wrote_and_that_it_is_locked() -> None:
    space = ("--real", "x", "0", "1", "--silence", "unknown", "--seed", "0")
    invoke("new", "lab", *space, "--by", "Anna")
    invoke("ask", "--by", "Bob")
    invoke("tell", "1", "0.5", "--by", "Anna")
    day = datetime.now().strftime("%Y-%m-%d")
    assert f"\nmade {day} " in invoke("show").stdout
    assert " by Anna; written by Anna and Bob\n" in invoke("show").stdout
    invoke("close", "--by", "Carla")
    assert "best is trial 1; closed\n" in invoke("show").stdout
    invoke("close", "--lock", "--by", "Carla")
    assert "best is trial 1; locked\n" in invoke("show").stdout
    plain = run_json("show")
    assert (plain["locked"], plain["created_by"], plain["writers"]) == (True, "Anna", ["Anna", "Bob", "Carla"])
    assert abs(plain["created_at"] - time.time()) < 3600


def test_an_outlook_in_a_context_says_in_which() -> None:
    invoke("new", "shop", "--real", "x", "0", "1", "--context-choice", "who", "a,b", "--silence", "unknown")
    invoke("add", "shop", "x=0.2", "--value", "1", "--context", "who=b")
    assert "\nIn the context who = b the next 10 queries may gain " in invoke("show", "shop").stdout
