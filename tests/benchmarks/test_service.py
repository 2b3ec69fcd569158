"""The service benchmark runs, its table is complete, and nothing fails in it; no time is judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from benchmarks import service

pytestmark = pytest.mark.faults  # it starts servers


def test_every_line_is_measured_without_an_error(tmp_path: Path) -> None:
    plan = replace(service.QUICK, clients=(1, 2), seconds=0.5, postgres=False, optuna=False)
    lines = service.measure(plan, tmp_path)
    sections = [line.section for line in lines]
    assert [sections.count(word) for word in dict.fromkeys(sections)] == [4, 2, 2, 1]
    assert all(line.cells["errors"] == 0 for line in lines)
    assert all(cell >= 0 for line in lines for cell in line.cells.values())
