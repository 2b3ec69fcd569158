"""The speed benchmark runs, its table is complete, and its verdicts follow from its numbers. No time is judged here."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks import speed
from benchmarks.speed import Line

COSTS = {"plain ms", "± %", "refit ms", "every", "amortised ms", "end to end ms", "fresh / ask"}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sequence[Line], str, Path]:
    """The smallest run: its lines, what it prints, and its file."""
    lines = speed.measure(speed.QUICK, speed.Noise())
    path = tmp_path_factory.mktemp("speed") / "speed.csv"
    speed.write(lines, path)
    return lines, speed.table(lines), path


def test_every_algorithm_is_measured_at_every_size(quick):
    asks = {(line.section.split(", ")[1], line.subject, line.n) for line in quick[0] if line.n is not None}
    continuous = {("d = 6 continuous", name, n) for name in ("default", "GP-UCB-SDF", "GP-TS-SDF") for n in (20, 40)}
    finite = {("|Q| = 60 finite", name, n) for name in ("GP-UCB-SDF", "GP-BUCB", "GP-TS-SDF") for n in (20, 40)}
    assert asks == continuous | finite


def test_the_numbers_fit_together(quick):
    for line in quick[0]:
        assert all(math.isfinite(value) for value in line.cells.values()), line
        if line.n is None:
            continue
        cells = line.cells
        assert set(cells) == COSTS | ({"bare ms", "ask / bare"} if "finite" in line.section else set())
        assert 0 < cells["plain ms"] <= cells["amortised ms"]
        assert cells["every"] in (5, 10)  # the default's schedule at these sizes, and the paper's
        assert cells["amortised ms"] == pytest.approx(cells["plain ms"] + cells["refit ms"] / cells["every"])


def test_growth_import_and_memory_are_there(quick):
    by_section = {s: [line for line in quick[0] if line.section == s] for s in {line.section for line in quick[0]}}
    assert len(by_section["growth, exponent of n"]) == 6
    (imports,) = by_section["import"]
    assert 0 < imports.cells["interpreter s"] < imports.cells["numpy + scipy.linalg s"]
    assert imports.most == 1.2
    peaks = [line.cells["peak MiB"] for line in by_section["peak memory"]]
    assert len(peaks) == 4
    assert all(10 < peak < 1000 for peak in peaks)  # MiB, not KiB or bytes


def test_a_suggestion_inside_optuna_is_compared_with_an_ask(quick):
    pytest.importorskip("optuna")
    (line,) = (line for line in quick[0] if line.subject == "BelatedSampler in Optuna")
    assert line.cells["inside / ask"] == pytest.approx(line.cells["suggestion ms"] / line.cells["ask ms"])
    assert (line.judged, line.most) == ("inside / ask", 2.0)


def test_the_table_is_aligned_and_says_what_is_met(quick):
    lines, text, _ = quick
    for block, section in zip(text.strip().split("\n\n"), dict.fromkeys(line.section for line in lines), strict=True):
        head, *rows = block.splitlines()
        assert head.startswith(section)
        assert head.endswith("met")
        assert len(rows) == sum(line.section == section for line in lines)
        edge = head.index("build for")
        for row, line in zip(rows, (line for line in lines if line.section == section), strict=True):
            assert row[:edge].endswith("  ") or len(row) < edge  # the columns before end where the head's do
            goal = [] if line.most is None else f"{line.judged} <= {line.most:g}  {'yes' if line.met else 'NO'}".split()
            assert row[edge:].split() == goal


def test_the_file_holds_every_number(quick):
    lines, _, path = quick
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    cells = [(line, column, value) for line in lines for column, value in line.cells.items()]
    assert len(rows) == len(cells)
    for row, (line, column, value) in zip(rows, cells, strict=True):
        assert (row["section"], row["subject"], row["measured"]) == (line.section, line.subject, column)
        assert float(row["value"]) == pytest.approx(value, rel=1e-5)
        assert row["met"] == ("" if column != line.judged else "yes" if line.met else "no")


@pytest.mark.parametrize(("value", "met"), [(2.9, True), (3.0, True), (3.1, False)])
def test_a_number_to_build_for_is_an_upper_limit(value, met):
    assert Line("s", "ask", 1000, {"ratio": value}, "ratio", 3.0).met is met
    assert Line("s", "ask", 1000, {"ratio": value}).met is None


def test_the_slope_is_the_exponent():
    sizes = [20, 100, 300, 1000]
    assert speed.slope(sizes, [7.0 * n**1.7 for n in sizes]) == pytest.approx(1.7)
    assert speed.slope(sizes[-2:], [3.0, 3.0]) == pytest.approx(0.0, abs=1e-12)


def test_asks_that_differ_are_not_compared(monkeypatch):
    ask, calls = speed.World.ask, []

    def off_by_a_little(world):
        calls.append(world)
        x, took = ask(world)
        return (x + 1e-6 if len(calls) == 2 else x), took  # the second ask is the twin's

    monkeypatch.setattr(speed.World, "ask", off_by_a_little)
    with pytest.raises(AssertionError, match="a fresh cache asks"):
        speed.against_fresh("GP-UCB-SDF", 20, 1, np.random.default_rng(0).random((30, speed.D)))


def test_the_command_prints_and_writes(monkeypatch, capsys, tmp_path):
    lines = [Line("import", "import belated", None, {"ratio": 1.3}, "ratio", 1.2)]

    def measure(plan, noise, say):
        noise.sample()
        assert plan == speed.QUICK
        return lines

    monkeypatch.setattr(speed, "measure", measure)
    assert speed.main(["--quick", "--csv", str(tmp_path / "out.csv")]) == 0
    printed = capsys.readouterr().out
    assert "ratio <= 1.2  NO" in printed
    assert "1 of 1 numbers to build for are missed." in printed
    assert "between the quartiles" in printed
    assert "import,import belated,,ratio,1.3,1.2,no" in (tmp_path / "out.csv").read_text()
