"""`belated` itself: help, version, unknown commands, and nothing heavy is loaded."""

import re

import pytest

import belated
from belated.cli import COMMANDS
from tests.cli.shell import run, run_python

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
