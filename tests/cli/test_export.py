"""`belated export`: CSV and JSON lines."""

from pathlib import Path

import pytest

from tests.cli.shell import SPACE, check_refused, invoke

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_a_file_that_cannot_be_written_leaves_nothing_behind() -> None:
    invoke("new", "lab", *SPACE)
    Path("folder.csv").mkdir()
    for out in ("folder.csv", "nowhere/out.csv"):
        assert "--out must be a file that can be written" in invoke("export", "--out", out, code=2).stderr
    assert sorted(path.name for path in Path().iterdir() if "belated.db" not in path.name) == ["folder.csv"]


REFUSED = [
    (
        ["export", "--out", "trials.json"],
        "--out must end in .csv or .jsonl or .ndjson, unless --format says",
    ),
    (["export", "--format", "xml"], "Invalid value for '--format'"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)
