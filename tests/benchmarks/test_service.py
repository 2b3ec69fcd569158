"""The service benchmark runs, its table is complete, and nothing fails in it; no time is judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from benchmarks import service
from benchmarks.ledger import sqlite_in

pytestmark = pytest.mark.faults  # it starts servers


def test_every_line_is_measured_without_an_error(tmp_path: Path) -> None:
    plan = replace(service.QUICK, clients=(1, 2), seconds=0.5, postgres=False, optuna=False)
    lines = service.measure(plan, tmp_path)
    sections = [line.section for line in lines]
    painted = [2] if service.can_paint() else []
    assert [sections.count(word) for word in dict.fromkeys(sections)] == [4, 2, 2, 1, *painted]
    assert all(line.cells["errors"] == 0 for line in lines)
    assert all(cell >= 0 for line in lines for cell in line.cells.values())


def test_a_soak_counts_what_was_done_and_what_failed(tmp_path: Path) -> None:
    lines = list(service.soak(sqlite_in(tmp_path), 2.0, clients=2))
    assert [line.remark for line in lines] == [""] * 7
    assert all(line.cells["calls"] > 0 and line.cells["errors"] == 0 for line in lines)
