"""`belated backup`: every study in a new file."""

from pathlib import Path

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_a_backup_is_a_store() -> None:
    for name in ("a", "b"):
        invoke("new", name, *SPACE)
        invoke("ask", name, "-n", "2")
    said = invoke("backup", "monday.db").stdout.splitlines()
    assert said[-1] == "wrote 2 studies with 4 events to monday.db"
    assert said[:-1] == run_json("check", "--all", "--store", "sqlite:///monday.db")["heads"]
    invoke("ask", "a")
    assert run_json("backup", "tuesday.db")["events"] == 5
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


REFUSED = [
    (["backup"], "the arguments must be FILE (got nothing)"),
    (["backup", "a.db", "b.db"], "the arguments must be FILE (got a.db b.db)"),
    (["backup", "belated.db"], "a backup needs a new file; belated.db exists"),
    (["backup", "no/such/folder.db"], "a backup needs a file that can be written (got no/such/folder.db: No such file"),
    (["backup", "a\nb.db"], "the name of a file must be printable"),
    (["backup", "a.db", "--store", "sqlite:///none.db"], "there is no file"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)
    assert not Path("a.db").exists()
