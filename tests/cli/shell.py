"""`belated` in this process: what it prints, and how it ends."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from click.testing import CliRunner, Result

import belated
from belated.cli import main

STORE = "sqlite:///belated.db"  # the default, in the folder of the test
SPACE = ("--real", "x", "0", "1", "--choice", "act", "relu,tanh", "--silence", "unknown", "--seed", "0")
WITHOUT_MATPLOTLIB = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
sys.meta_path.insert(0, Blocked())
from belated.cli import main
main(sys.argv[1:])
"""


def run(*args: str) -> Result:
    """However it ends."""
    return CliRunner().invoke(main, list(args), catch_exceptions=False)


def invoke(*args: str, code: int = 0) -> Result:
    """It must end with this exit code."""
    ran = run(*args)
    assert ran.exit_code == code, ran.output
    return ran


def parse_json(ran: Result) -> Any:
    """What was printed, as strict JSON: without NaN and Infinity."""
    return json.loads(ran.stdout, parse_constant=pytest.fail)


def run_json(*args: str) -> Any:
    """What `--json` prints."""
    return parse_json(invoke(*args, "--json"))


def run_python(script: str, *args: str) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own."""
    command = [sys.executable, "-W", "error", "-c", script, *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def open_lab() -> belated.Study:
    return belated.Study.open(STORE, "lab")


def check_refused(args: Sequence[str], sentence: str) -> None:
    """One sentence on stderr, exit code 2, and nothing changes in the store."""
    before = _read_store()
    ran = run(*args)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith("Error: ")
    assert sentence in ran.stderr
    assert len(ran.stderr) < 400
    assert _read_store() == before


def _read_store() -> dict[str, list[belated.Trial]]:
    return {name: belated.Study.open(STORE, name).trials() for name in belated.studies(STORE)}
