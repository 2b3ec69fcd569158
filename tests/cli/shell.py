"""`belated` in this process: what it prints, and how it ends."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from belated.cli import main


def run(*args: str) -> Result:
    """However it ends."""
    return CliRunner().invoke(main, list(args), catch_exceptions=False)


def invoke(*args: str, code: int = 0) -> Result:
    """It must end with this exit code."""
    ran = run(*args)
    assert ran.exit_code == code, ran.output
    return ran


def parsed(ran: Result) -> Any:
    """What was printed, as strict JSON: neither NaN nor Infinity is in it."""
    return json.loads(ran.stdout, parse_constant=pytest.fail)


def said(*args: str) -> Any:
    """What `--json` prints."""
    return parsed(invoke(*args, "--json"))
