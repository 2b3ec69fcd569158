"""`belated report`: a page beside the picture."""

from pathlib import Path

import pytest

from tests.cli.shell import check_refused, invoke, run_json

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("lab")


def test_the_page_is_named_after_the_study() -> None:
    assert invoke("report").stdout == "The report: lab.html\n"
    assert Path("lab.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_for_a_script_it_says_where_it_is_and_the_head() -> None:
    printed = run_json("report", "lab", "--out", "a.html")
    assert printed["head"] in Path(printed["report"]).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["nope"], "there is no study 'nope'"),
        (["lab", "--out", "a.pdf"], "--out must end in .html (got a.pdf)"),
        (["lab", "--out", "no/where.html"], "--out must be a file that can be written"),
        (["lab", "--context", "z=1"], "this study has no context"),
        (["one", "two"], "the arguments must be [NAME]"),
    ],
)
def test_bad_input_is_one_sentence_and_no_page(args: list[str], sentence: str) -> None:
    check_refused(["report", *args], sentence)
    assert not list(Path().glob("*.html"))
