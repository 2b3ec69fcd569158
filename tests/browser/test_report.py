"""The report in chromium: on a phone, on a desk, and printed."""

import re
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import pytest

import belated
from tests.plotting.studies import STUDIES, make_lab

PdfReader = pytest.importorskip("pypdf").PdfReader
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

EVERY = (make_lab, *STUDIES)

# What stands over the edge of the window, and which words of a chart stand over the edge of the chart.
OVER_THE_EDGE = """() => {
  const wide = document.documentElement.clientWidth, found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const box = element.getBoundingClientRect();
    if (box.width && (box.left < -1 || box.right > wide + 1)) found.push(element.outerHTML.slice(0, 60));
  }
  for (const chart of document.querySelectorAll("figure svg")) {
    const edge = chart.getBoundingClientRect();
    for (const words of chart.querySelectorAll("text")) {
      const box = words.getBoundingClientRect();
      const beside = box.left < edge.left - 1 || box.right > edge.right + 1;
      if (beside || box.top < edge.top - 1 || box.bottom > edge.bottom + 1) found.push("chart: " + words.textContent);
    }
  }
  return found;
}"""

# The words of each row of a table, and of each chart, text by text.
ROWS_AND_CHARTS = """() => [
  [...document.querySelectorAll("tbody tr")].map(row => [...row.cells].map(
    cell => (row.closest(".stack") && cell.textContent ? cell.dataset.title : "") + cell.textContent).join("")),
  [...document.querySelectorAll("figure")].map(
    chart => [...chart.querySelectorAll("text, figcaption")].map(words => words.textContent)),
]"""


@pytest.fixture(scope="module", params=EVERY, ids=lambda make: make.__name__)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(request.param, tmp_path_factory.mktemp("report"))


def write_report(make, folder: Path) -> Path:
    with warnings.catch_warnings(action="ignore", category=belated.SilenceWarning):
        (folder / "report.html").write_text(make().report(), encoding="utf-8")
    return folder / "report.html"


def open_page(browser: Any, report: Path, wide: int) -> Any:
    page = browser.new_page(viewport={"width": wide, "height": 800})
    page.goto(report.as_uri())
    return page


@pytest.mark.parametrize("wide", [360, 1280])
def test_nothing_stands_over_an_edge(browser: Any, report: Path, wide: int) -> None:
    page = open_page(browser, report, wide)
    assert page.evaluate("document.documentElement.scrollWidth") <= wide
    assert page.evaluate(OVER_THE_EDGE) == []
    page.close()


def test_its_words_are_seen(browser: Any, tmp_path: Path) -> None:
    page = open_page(browser, write_report(make_lab, tmp_path), 1280)
    words = page.inner_text("body")
    for said in (
        "Which bath extracts most?",
        "Recommended, by the model",
        "Still out",
        "digits swapped",
    ):
        assert said in words
    assert "temperature (°C)" in page.inner_html("figure svg >> nth=1")
    page.close()


def test_nothing_but_the_page_is_loaded(browser: Any, tmp_path: Path) -> None:
    page, loaded = browser.new_page(), list[str]()
    page.on("request", lambda request: loaded.append(request.url))
    report = write_report(make_lab, tmp_path)
    page.goto(report.as_uri())
    assert loaded == [report.as_uri()]
    page.close()


def print_pages(browser: Any, report: Path) -> list[str]:
    """The words of each printed page, without spaces."""
    page = open_page(browser, report, 1280)
    page.pdf(path=report.with_suffix(".pdf"), prefer_css_page_size=True)
    page.close()
    return [join_letters(sheet.extract_text()) for sheet in PdfReader(report.with_suffix(".pdf")).pages]


def join_letters(text: str) -> str:
    """Without spaces and ligatures, and without letters for which a machine may have no font: they print as nothing."""
    return re.sub(r"[^!-~]", "", unicodedata.normalize("NFKC", text))


def test_forty_trials_and_four_coordinates_are_six_pages_at_most(browser: Any, tmp_path: Path) -> None:
    pages = print_pages(browser, write_report(make_lab, tmp_path))
    assert 2 <= len(pages) <= 6
    assert all(len(words) > 50 for words in pages)


def test_no_row_and_no_chart_is_cut_by_the_end_of_a_page(browser: Any, report: Path) -> None:
    pages = print_pages(browser, report)
    page = open_page(browser, report, 1280)
    rows, charts = page.evaluate(ROWS_AND_CHARTS)
    page.close()
    for row in rows:
        assert any(join_letters(row) in words for words in pages), row
    assert charts
    for texts in charts:
        wanted = [join_letters(text) for text in texts]
        assert any(all(text in words for text in wanted) for words in pages), texts[0]
