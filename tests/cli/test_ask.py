"""`belated ask`: what the study asks, one or a batch."""

import pytest
from click.testing import CliRunner

import belated
from belated.cli import main
from tests.cli.shell import SPACE, check_refused, invoke, open_lab, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_ask_is_the_study_s_own_ask() -> None:
    invoke("new", "lab", *SPACE)
    twin = belated.Study.create(
        space={"x": belated.Real(0, 1), "act": belated.Choice("relu", "tanh")}, silence="unknown", seed=0
    )
    first = run_json("ask", "lab")
    assert first["params"] == twin.ask().params
    assert (first["number"], first["status"], first["knew_trials"]) == (1, "pending", 0)
    batch = run_json("ask", "lab", "-n", "2")
    assert [trial["params"] for trial in batch] == [trial.params for trial in twin.ask(n=2)]
    assert run_json("ask", "lab", "--fix", "act=tanh")["params"]["act"] == "tanh"
    words = invoke("ask").stdout  # the only study
    assert words.startswith("Trial 5\n  x    0.")
    assert "belated tell lab 5 VALUE" in words
    assert invoke("ask", "-n", "2").stdout.splitlines()[0].split() == ["trial", "x", "act"]


def test_the_same_key_asks_and_tells_once() -> None:
    invoke("new", "lab", *SPACE)
    assert run_json("ask", "--key", "k") == run_json("ask", "--key", "k")
    receipts = [run_json("tell", "1", "0.5", "--key", "t") for _ in range(2)]
    assert [receipt["status"] for receipt in receipts] == ["heard", "heard"]
    assert run_json("add", "x=0.5", "act=relu", "--key", "a")["number"] == 2
    assert run_json("add", "x=0.5", "act=relu", "--key", "a")["number"] == 2
    assert "was used before" in invoke("ask", "-n", "2", "--key", "k", code=2).stderr


def test_a_context_comes_with_every_ask() -> None:
    invoke("new", "lab", *SPACE, "--context-real", "t", "0", "40")
    assert run_json("ask", "--context", "t=20")["context"] == {"t": 20.0}
    assert "in the context\n    t  20" in invoke("ask", "--context", "t=20").stdout
    assert "context" in invoke("ask", code=2).stderr


REFUSED = [
    (["ask", "-n", "0"], "n must be at least 1 (got 0)"),
    (["ask", "-n", "two"], "-n must be an integer (got 'two')"),
    (["ask", "--fix", "y=1"], "--fix y: there is no such parameter (the names are x, act)"),
    (["ask", "--fix", "x=2"], "x: value must be between 0.0 and 1.0 (got 2.0)"),
    (["ask", "--fix", "x"], "--fix must be name=value (got 'x')"),
    (["ask", "--fix", "x=0", "--fix", "x=1"], "--fix must be given once for each name (got 'x' twice)"),
    (["ask", "--context", "t=1"], "this study has no context; leave it out"),
    (["ask", "a", "b"], "the arguments must be [NAME] (got a b)"),
    (["ask", "../lab"], "name must be 1 to 128 letters, digits"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)


@pytest.mark.usefixtures("lab")
def test_very_many_are_asked_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    check_refused(["ask", "-n", "100000"], "-n 100000 takes long")
    monkeypatch.setattr("belated.cli.ask.is_terminal", lambda: True)
    asked = CliRunner().invoke(main, ["ask", "-n", "1001"], input="n\n")
    assert "Ask for 1001 queries?" in asked.output
    assert open_lab().rounds == 2
    monkeypatch.setattr("belated.cli.ask.MANY", 2)
    invoke("ask", "-n", "3", "--yes")
    assert open_lab().rounds == 5
