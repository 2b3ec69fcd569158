"""`belated plot`: the picture of a study."""

from pathlib import Path

import pytest

import belated
from tests.cli.shell import STORE, check_refused, invoke, run_json

pytestmark = pytest.mark.usefixtures("a_study_with_contexts")


@pytest.fixture
def a_study_with_contexts(in_an_empty_folder: None) -> None:
    space = belated.Real(0, 1)
    study = belated.Study.create(STORE, "catalyst", space={"x": space}, context={"z": space}, silence="unknown", seed=0)
    for z in (0.1, 0.5, 0.9):
        trial = study.ask(context={"z": z})
        study.tell(trial, trial.params["x"])


def test_the_picture_is_named_after_the_study() -> None:
    assert invoke("plot", "catalyst", "--dpi", "40").stdout == "The picture: catalyst.png\n"
    assert Path("catalyst.png").read_bytes().startswith(b"\x89PNG")


def test_for_a_script_it_says_what_is_in_it() -> None:
    printed = run_json("plot", "--out", "a.svg", "--context", "z=0.25")
    assert printed["context"] == {"z": 0.25}
    assert printed["trials"]["heard"] == 3
    assert set(printed["recommended"]["params"]) == {"x"}
    assert Path(printed["picture"]).stat().st_size > 5_000


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["nope"], "there is no study 'nope'"),
        (["catalyst", "--out", "a.gif"], "--out must end in .png, .pdf, .svg (got a.gif)"),
        (["catalyst", "--out", "no/where.png"], "--out must be in a folder that exists"),
        (["catalyst", "--context", "z=7"], "between 0.0 and 1.0"),
        (["catalyst", "--context", "w=0"], "there is no such parameter"),
        (["catalyst", "--dpi", "3"], "--dpi must be between 30 and 600 (got 3)"),
        (["catalyst", "--dpi", "100000"], "--dpi must be between 30 and 600 (got 100000)"),
        (["one", "two"], "the arguments must be [NAME]"),
    ],
)
def test_bad_input_is_one_sentence_and_no_picture(args: list[str], sentence: str) -> None:
    check_refused(["plot", *args], sentence)
    assert not list(Path().glob("*.png"))


def test_no_link_is_followed() -> None:
    Path("precious").write_text("keep me")
    Path("a.svg").symlink_to("precious")
    invoke("plot", "--out", "a.svg")
    assert Path("precious").read_text() == "keep me"
    assert Path("a.svg").read_text().startswith("<?xml")
