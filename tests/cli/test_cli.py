"""`belated` itself: help, version, unknown commands, and nothing heavy is loaded."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import belated
from belated.cli import COMMANDS
from tests.cli.shell import invoke, run, run_python

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_help_is_light_and_names_every_command() -> None:
    heavy = "{'rich', 'matplotlib', 'scipy.optimize', 'scipy.stats', 'concurrent.futures.process'}"
    script = f"""
import sys
from belated.cli import main
try:
    main(["--help"])
finally:
    sys.stderr.write(" ".join({heavy} & set(sys.modules)))
"""
    ran = run_python(script)
    assert ran.returncode == 0
    assert ran.stderr == ""
    for name, (_, words) in COMMANDS.items():
        assert re.search(rf"^ +{name} +{re.escape(words[:20])}", ran.stdout, re.MULTILINE)


def test_python_m_belated_is_the_same_shell() -> None:
    words = [sys.executable, "-m", "belated", "ask", "--help"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == run("ask", "--help").stdout.replace("Usage: main", "Usage: belated")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded(name: str) -> None:
    ran = run(name, "--help")
    assert ran.exit_code == 0
    assert f"Usage: main {name}" in ran.stdout


def test_version() -> None:
    ran = run("--version")
    assert (ran.exit_code, ran.stdout) == (0, f"belated {belated.__version__}\n")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["dmeo"], "there is no command 'dmeo'; did you mean demo?"),
        (["zzz"], "there is no command 'zzz'; see belated --help"),
        (["--loud"], "No such option '--loud'."),
    ],
)
def test_an_unknown_command_or_option_is_one_sentence(args: list[str], sentence: str) -> None:
    ran = run(*args)
    assert (ran.exit_code, ran.stderr) == (2, f"Error: {sentence}\n")


def test_without_a_command_there_is_help() -> None:
    ran = run()
    assert ran.exit_code == 2
    assert "Commands:" in ran.output
    assert "demo" in ran.output


def test_asking_and_showing_load_nothing_heavy() -> None:
    script = (
        "import sys\nfrom belated.cli import main\n"
        "main(['new', 'lab', '--real', 'x', '0', '1', '--silence', 'unknown'], standalone_mode=False)\n"
        "main(['ask'], standalone_mode=False)\nmain(['show'], standalone_mode=False)\n"
        "sys.stderr.write(' '.join({'rich', 'matplotlib', 'psycopg'} & set(sys.modules)))\n"
    )
    ran = run_python(script)
    assert (ran.returncode, ran.stderr) == (0, "")


# Exit codes: 2 with one sentence, and 1 for `belated check` alone -----------------------------------------------------

LONG, SURROGATE, BROKEN_LINE = "x" * 300, chr(0xDCFF), "a\nb"  # a shell hands over bytes that are no text as surrogates
COMMANDS_WITH_A_NAME = (
    *("show {}", "show --store sqlite:///{}", "show --store {}", "tell {} 1 0.5", "check {}", "best {}"),
    *("new {} --real x 0 1 --silence unknown", "new lab --real {} 0 1 --silence unknown", "new lab --file {}"),
    *("new lab --points {} --silence unknown", "import {}.csv", "import lab {}.jsonl", "tell --csv {}"),
    *(
        "export --out {}.csv",
        "plot --out {}.png",
        "ask --fix {}=1",
        "add {}",
        "fail 1 {}",
        "{}",
        "show --older-than {}",
    ),
)


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("name", [LONG, SURROGATE, BROKEN_LINE], ids=["long", "surrogate", "two lines"])
@pytest.mark.parametrize("command", COMMANDS_WITH_A_NAME)
def test_a_name_that_is_too_long_or_cannot_be_printed_is_one_sentence(command: str, name: str) -> None:
    ran = run(*(word.replace("{}", name) for word in command.split(" ")))
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith("Error: ")
    assert len(ran.stderr) < 900


def test_an_error_of_belated_itself_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a traceback, for the report, and an exit code of its own."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("belated.cli.show.studies", fail)
    ran = run("show")
    assert ran.exit_code == 70
    assert ran.stderr.splitlines()[-1] == "ZeroDivisionError: oops"


def test_a_command_without_memory_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("belated.cli.show.studies", fail)
    ran = run("show")
    assert (ran.exit_code, ran.stderr) == (2, "Error: there is not enough memory for this\n")


def test_stopping_at_a_question_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise click.Abort

    monkeypatch.setattr("belated.cli.show.studies", stop)
    assert run("show").exit_code == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written_is_one_sentence() -> None:
    script = "from belated.cli import main; main(['--version'])"
    with open("/dev/full", "w") as full:
        ran = subprocess.run([sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"Error: the output cannot be used (No space left on device)\n")


def test_a_terminal_that_cannot_print_a_letter_shows_its_number() -> None:
    """And what is meant for a file is UTF-8 all the same."""
    invoke("new", "lab", "--real", "Ω", "0", "1", "--silence", "unknown")
    invoke("ask")
    script = "import sys; from belated.cli import main; main(sys.argv[1:])"
    printed = {}
    for command in ("show", "export"):
        words = [sys.executable, "-c", script, command]
        ran = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, check=False)
        assert (ran.returncode, ran.stderr) == (0, b"")
        printed[command] = ran.stdout
    assert b"\\u03a9" in printed["show"]
    assert "Ω" in printed["export"].decode()


# What a command and a method of another name, or only one of the two, are for.
ONLY_IN_THE_SHELL = {
    "new": "Study.create",
    "show": "Study.trials, and more",
    "export": "Study.to_dataframe, for files",
    "import": "Study.add, for files",
    "demo": "a table and a picture",
    "completion": "for shells",
    "serve": "a program that runs until it is stopped",
    "token": "for those who run a server",
}
ONLY_IN_PYTHON = {
    "create": "belated new",
    "open": "every command opens",
    "disconnect": "every command does",
    "optimize": "needs a function",
    "optimize_async": "needs a function",
    "trials": "belated show",
    "trial": "belated show",
    "to_dataframe": "belated export",
    "queries": "the points of the space, as they were given",
    "hyperparameters": "belated events has them",
    "counts": "belated show",
    "add_many": "belated import",
    "tell_many": "belated tell --csv",
    "from_dataframe": "belated new and belated import",
    "find_undo": "belated undo shows it first",
}


def test_the_shell_and_python_have_the_same_verbs() -> None:
    methods = {name for name, each in vars(belated.Study).items() if not name.startswith("_") and callable(each)}
    methods |= {name for name, each in vars(belated.Study).items() if isinstance(each, classmethod)}
    functions = {name for name in belated.__all__ if name.islower()}
    commands = set(COMMANDS) - set(ONLY_IN_THE_SHELL)
    assert sorted(commands - methods - functions) == []
    assert sorted(methods - set(ONLY_IN_PYTHON) - commands) == []
    assert sorted(set(ONLY_IN_PYTHON) - methods) == []
