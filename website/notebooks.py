"""The notebooks in examples/notebooks, made of pages: text becomes cells of text, and Python becomes cells to run.

python -m website.notebooks
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "examples" / "notebooks"
PAGES = {"optuna": "optuna", "lab": "lab", "conversions": "conversions", "own_parts": "extending", "cluster": "ray"}
PYTHON = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
RELATIVE = re.compile(r"\]\((?![a-z]+://|#)")  # the beginning of a link's address


def make_notebook(page: str) -> str:
    """A page of docs/ as a notebook, in the format of Jupyter (nbformat 4.5)."""
    cells = [
        {"id": f"cell-{i}", "metadata": {}, **cell, "source": cell["source"].splitlines(keepends=True)}
        for i, cell in enumerate(split_cells(page))
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def split_cells(page: str) -> Iterator[dict[str, Any]]:
    """Text and code in turn; empty ones are left out."""
    for i, part in enumerate(PYTHON.split(page)):
        source = part.strip()
        if source and i % 2:
            yield {"cell_type": "code", "source": source, "execution_count": None, "outputs": []}
        elif source:
            yield {"cell_type": "markdown", "source": RELATIVE.sub("](../../docs/", source)}


if __name__ == "__main__":
    for name, page in PAGES.items():
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        (NOTEBOOKS / f"{name}.ipynb").write_text(make_notebook(text), encoding="utf-8")
