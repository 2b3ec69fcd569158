"""`belated delete`: it asks for the name, and leaves a tombstone."""

import pytest
from click.testing import CliRunner

import belated
from belated.cli import main
from tests.cli.shell import SPACE, STORE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


@pytest.mark.usefixtures("lab")
def test_it_asks_for_the_name() -> None:
    ran = CliRunner().invoke(main, ["delete", "lab", "--reason", "tidy"], input="lba\n", catch_exceptions=False)
    assert ran.exit_code == 2
    assert "to delete study lab, give its name (got 'lba')" in ran.stderr
    assert belated.studies(STORE) == ["lab"]
    ran = CliRunner().invoke(main, ["delete", "lab", "--reason", "tidy"], input="lab\n", catch_exceptions=False)
    assert ran.stdout == "Study lab is deleted\n"
    assert belated.studies(STORE) == []
    invoke("new", "lab", *SPACE)
    assert belated.Study.open(STORE, "lab").rounds == 0
    assert "lab was deleted by" in invoke("check").stdout


@pytest.mark.usefixtures("lab")
def test_a_script_gives_the_name_twice() -> None:
    check_refused(["delete", "lab", "--confirm", "lab"], "Missing option '--reason'")
    said = run_json("delete", "lab", "--confirm", "lab", "--reason", "tidy")
    assert said == {"study": "lab", "deleted": True}
