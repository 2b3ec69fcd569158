"""`belated check`: the whole record."""

import pytest

from tests.cli.shell import SPACE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_check_reads_the_whole_record() -> None:
    invoke("new", "lab", *SPACE)
    invoke("ask", "-n", "3")
    invoke("tell", "2", "0.5")
    report = run_json("check")
    assert report["ok"]
    assert (report["trials"], report["outcomes"]) == (3, 1)
    assert invoke("check", "--all").stdout.rstrip().endswith("; ok")


REFUSED = [
    (["check", "lab", "--all"], "name a study or say --all, not both (got lab)"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)
