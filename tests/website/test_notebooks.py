"""The notebooks are their pages, and run in Jupyter."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import blocks
from website.notebooks import NOTEBOOKS, PAGES, ROOT, make_notebook


@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_is_what_its_page_says_today(name: str) -> None:
    """If not: python -m website.notebooks"""
    page = (ROOT / "docs" / f"{PAGES[name]}.md").read_text(encoding="utf-8")
    assert (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8") == make_notebook(page)


@pytest.mark.parametrize("name", PAGES)
def test_every_block_of_python_is_a_cell_to_run(name: str) -> None:
    page = (ROOT / "docs" / f"{PAGES[name]}.md").read_text(encoding="utf-8")
    cells = json.loads(make_notebook(page))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.source for block in blocks(page)]
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_links_of_a_notebook_lead_to_the_docs() -> None:
    made = json.loads(make_notebook("See [reports](reports.md), [it](https://example.org) and [below](#below).\n"))
    words = "See [reports](../../docs/reports.md), [it](https://example.org) and [below](#below)."
    assert made["cells"][0]["source"] == [words]


def test_no_other_notebooks_are_there() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(PAGES)


def run_in_jupyter(name: str, folder: Path, last: str) -> Any:
    """The notebook after all of its cells were run in Jupyter, in an empty folder, and this one after them."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    notebook.cells.append(nbformat.v4.new_code_cell(last))
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


@pytest.mark.doors
@pytest.mark.parametrize("name", [name for name in PAGES if name != "lab"])
def test_a_notebook_runs_in_jupyter(name: str, tmp_path: Path) -> None:
    notebook = run_in_jupyter(name, tmp_path, "'the end'")
    assert notebook.cells[-1].outputs[0]["data"]["text/plain"] == "'the end'"


@pytest.mark.doors
def test_the_lab_runs_in_jupyter_and_a_study_shows_itself(tmp_path: Path) -> None:
    shown = run_in_jupyter("lab", tmp_path, "study").cells[-1].outputs[0]["data"]
    assert "belated-glance" in shown["text/html"]  # a study at the end of a cell
    assert shown["text/plain"].startswith("Study(synthesis: ")
