"""The section about the theorems says what the measurements say."""

from dataclasses import replace

import numpy as np
import pytest

from reproduction.report.document import Paragraph, TableBlock, extract_text, find_pictures
from reproduction.theory import batches, bounds, coverage, dependence, experiments, pending_zeros, tradeoff
from reproduction.theory.measurements import (
    Quantity,
    SeedValues,
    group_measurements,
    read_measurements,
    write_measurements,
)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """What a quick pass finds, with fewer and shorter runs still; read from its file, as a report does."""
    found = []
    for job in experiments.list_jobs(quick=True):
        match job:
            case pending_zeros.ZerosJob():
                continue  # needs the table of tasks: test_pending_zeros
            case coverage.CoverageJob():
                job = replace(job, seeds=job.seeds[:3], T=6)
            case coverage.EllipsoidJob() | bounds.RegretJob() | tradeoff.PatienceJob() | tradeoff.BoundCurveJob():
                job = replace(job, T=10)
            case dependence.DependenceJob():
                job = replace(job, T=20)
            case batches.BatchJob():
                job = replace(job, T=20)
        found += experiments.run_job(job)
    path = tmp_path_factory.mktemp("theory") / "theory.csv"
    write_measurements(path, found)
    return read_measurements(path)


@pytest.fixture(scope="module")
def blocks(rows):
    return experiments.make_section(rows)


def test_the_page_has_four_pictures(blocks):
    pictures = find_pictures(blocks)
    assert [picture.name for picture in pictures] == [f"theory{i}.png" for i in (1, 2, 3, 4)]
    assert all(picture.png.startswith(b"\x89PNG") for picture in pictures)


def test_an_experiment_that_was_not_run_has_no_section(rows):
    assert experiments.make_section([]) == []
    some = experiments.make_section([row for row in rows if row.experiment == "tradeoff"])
    assert [picture.name for picture in find_pictures(some)] == ["theory4.png"]


def cells(blocks, title):
    """The rows of the table with that title among its own."""
    (table,) = [b for b in blocks if isinstance(b, TableBlock) and title in map(extract_text, b.titles)]
    return [[extract_text(cell) for cell in row] for row in table.rows]


def test_the_page_says_what_the_rows_say(rows, blocks):
    found = group_measurements(rows)
    needs = found[Quantity("coverage", "poisson", "need, delta 0.05")].at(0.05)
    (row,) = [r for r in cells(blocks, "c that covers 1 − δ") if r[0].startswith("Poisson") and r[2] == "0.05"]
    assert row[3] == "3 of 3"
    assert row[5:] == [f"{np.median(needs):.3f}", f"{np.max(needs):.3f}"]
    limit = found[Quantity("bounds", "GP-UCB-SDF", "bound")].values[:, -1]
    (row,) = [r for r in cells(blocks, "as a multiple of the largest possible") if r[0] == "Theorem 2"]
    assert row[1].startswith(f"{np.mean(limit):,.4g}"[:3])
    (row,) = [r for r in cells(blocks, "Theorem 2") if r[0] == "Poisson(10)" and r[1] == "15"]
    assert row[3] == f"{found[Quantity('tradeoff', 'Poisson(10)', 'bound')].at(15)[0]:,.0f}"
    e = found[Quantity("factors", "rugged", "hallucination")].at(10)[0]
    (row,) = [
        r for r in cells(blocks, "start after which it is at most 2") if r[0] == "lengthscale 0.02" and r[1] == "10"
    ]
    assert row[4] == f"{e:,.4g}"
    text = " ".join(extract_text(block.text) for block in blocks if isinstance(block, Paragraph))
    assert "The ellipsoid held in 51 of 51 runs." in text
    assert "at m = 9, as Section 4 counts" in text
    assert "negative for t ≤ 4" in text
    eta = found[Quantity("dependence", "bad late/one", "mean of eta")].values[:, -1]
    (row,) = [r for r in cells(blocks, "mean of η") if r[0].startswith("bad") and r[1] == "1"]
    assert row[2].startswith(f"{np.mean(eta):.3f}")
    assert "Theorem 2 holds in 3 of 3 runs" in text


def test_what_does_not_hold_is_said():
    """Half of the runs miss at δ = 0.1, and every regret is above its bound."""
    half = np.where(np.arange(100) < 50, 0.5, 1.5)
    assert coverage.describe_coverage([("poisson", 0.1, half)]) == (
        "The ellipsoid held in 50 of 100 runs. In 0 of 1 rows the whole interval is above the promised 1 − δ, in 1 it "
        "is below."
    )
    seeds, x = (0, 1), np.array([1.0, 2.0])
    line = {"regret": 3.0, "bound": 1.0, "trivial": 4.0, "widths": 2.0}
    found = {
        Quantity("bounds", name, quantity): SeedValues(seeds, x, np.full((2, 2), value))
        for name in bounds.ALGORITHMS
        for quantity, value in line.items()
    }
    said = bounds.describe_bounds(found)
    assert "Theorem 2 holds in 0 of 2 runs" in said
    assert "could have failed" not in said
    assert "holds in 0 runs" in said


def test_better_and_worse_are_told_apart():
    rng = np.random.default_rng(0)
    base = rng.random((12, 2))
    shift = {"GP-UCB-SDF": 1.0, "GP-BUCB": 0.0, batches.STARTED: 0.0}
    found = {
        Quantity("batches", f"{case}/{method}", quantity): SeedValues(
            tuple(range(12)), np.array([10.0, 20.0]), base + (shift[method] if quantity == "cumulative regret" else 0.0)
        )
        for case in batches.CASES
        for method in batches.METHODS
        for quantity in batches.BOTH
    }
    said = batches.describe_pairs(batches.compare_methods(found))
    simple, cumulative = said.split(" In cumulative regret: ")
    assert simple.endswith("in average simple regret: nothing.")
    assert cumulative == f"GP-BUCB below GP-UCB-SDF (everywhere), {batches.STARTED} below GP-UCB-SDF (everywhere)."
