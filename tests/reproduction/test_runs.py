"""A run is a study in a ledger: paired across curves, never computed twice, resumed where it ended."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import belated
from reproduction import runs
from reproduction.panels import PANELS
from reproduction.runs import EVERY_PANEL, Done, Job, carry_out, collected, costs_of, jobs, missing, perform
from tests.reproduction.sets import needs

DATA = {
    **dict.fromkeys(["fig2a", "fig2b", "fig2c", "fig2d", "fig4c", "fig4d"], "pima_diabetes.csv"),
    **dict.fromkeys(["fig4a", "fig4b"], "tst_svm.npz"),
    "lda": "lda_on_grid.csv.gz",
    "gpu": "gpu_convolution.npz",
    "dengue": "delays_dengue.csv.gz",
}
ALL = [
    pytest.param(
        Job(panel=panel.name, curve=curve.key, reading=reading, seed=1, iterations=9 if panel.before else 12),
        marks=needs(DATA[panel.name]) if panel.name in DATA else (),
        id=f"{panel.name}.{curve.key}.{reading}",
    )
    for panel in EVERY_PANEL.values()
    for reading in panel.readings
    for curve in panel.curves
]


@pytest.mark.parametrize("job", ALL)
def test_every_curve_of_every_panel_runs(job: Job) -> None:
    done = perform(None, job)
    assert done.run.key == job.key
    assert done.run.iterations[-1] == job.iterations
    for values in (done.run.simple, done.run.late, done.run.cumulative):
        assert values.shape == done.run.iterations.shape
        assert np.all(np.isfinite(values))
    assert np.all(done.run.late <= done.run.simple)
    assert done.cost.rounds == job.rounds
    if EVERY_PANEL[job.panel].before:
        assert np.all(np.diff(done.run.simple) <= 1e-12)


def small(curve: str = "GP-UCB-SDF", seed: int = 3, iterations: int = 12) -> Job:
    return Job(panel="fig1c", curve=curve, reading="text", seed=seed, iterations=iterations)


def url(folder: Path) -> str:
    return f"sqlite:///{folder}/runs.db"


def test_a_seed_gives_all_curves_the_same_world(tmp_path: Path) -> None:
    studies = []
    for curve in ("GP-UCB-SDF", "GP-UCB", "GP-BUCB"):
        perform(url(tmp_path), small(curve))
        studies.append(belated.Study.open(url(tmp_path), small(curve).name))
    first, *others = [study.trials() for study in studies]
    for trials in others:
        assert [t.params for t in trials[:5]] == [t.params for t in first[:5]]  # the initial points
        assert [t.outcome for t in trials[:5] if t.outcome is not None]
        for a, b in zip(first[:5], trials[:5], strict=True):  # their noise
            if a.outcome is not None and b.outcome is not None:
                assert a.outcome == b.outcome
        for a, b in zip(first, trials, strict=True):  # and every delay
            if a.known_from is not None and b.known_from is not None:
                assert a.known_from == b.known_from


def test_a_longer_run_goes_on_where_a_shorter_one_ended(tmp_path: Path) -> None:
    at_once = perform(None, small(iterations=20)).run
    perform(url(tmp_path), small(iterations=7))
    resumed = perform(url(tmp_path), small(iterations=20))
    assert resumed.cost.rounds == 13
    assert resumed.run.simple.tolist() == at_once.simple.tolist()
    assert resumed.run.cumulative.tolist() == at_once.cumulative.tolist()


@needs("pima_diabetes.csv")
def test_the_released_program_goes_on_too(tmp_path: Path) -> None:
    job = Job(panel="fig2a", curve="GP-BUCB", reading="released", seed=0, iterations=16)
    at_once = perform(None, job).run
    perform(url(tmp_path), replace(job, iterations=9))
    resumed = perform(url(tmp_path), job)
    assert resumed.cost.rounds == 7
    assert resumed.run.cumulative.tolist() == at_once.cumulative.tolist()


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    wanted = [small(seed=seed) for seed in (0, 1)]
    heard: list[Done] = []
    carry_out(wanted[:1], tmp_path, url(tmp_path), 1, heard.append)
    assert [done.run.seed for done in heard] == [0]
    assert missing(tmp_path, wanted) == wanted[1:]
    carry_out(missing(tmp_path, wanted), tmp_path, url(tmp_path), 1, heard.append)
    assert [done.run.seed for done in heard] == [0, 1]
    assert missing(tmp_path, wanted) == []
    assert missing(tmp_path, [replace(wanted[0], iterations=13)])  # further than it went
    assert not missing(tmp_path, [replace(wanted[0], iterations=11)])
    assert [cost.rounds for cost in costs_of(tmp_path)] == [16, 16]
    assert belated.studies(url(tmp_path)) == [job.name for job in wanted]


def test_a_curve_that_was_lost_is_made_again_from_the_ledger(tmp_path: Path) -> None:
    first: list[Done] = []
    carry_out([small()], tmp_path, url(tmp_path), 1, first.append)
    runs.place_of(tmp_path, small().key, 3).unlink()
    again: list[Done] = []
    carry_out(missing(tmp_path, [small()]), tmp_path, url(tmp_path), 1, again.append)
    assert again[0].cost.rounds == 0
    assert again[0].run.simple.tolist() == first[0].run.simple.tolist()


def test_curves_of_different_lengths_are_collected_as_far_as_the_shortest(tmp_path: Path) -> None:
    heard: list[Done] = []
    carry_out([small(seed=0, iterations=9), small(seed=1)], tmp_path, url(tmp_path), 1, heard.append)
    (line,) = collected(tmp_path).values()
    assert line.seeds == (0, 1)
    assert line.iterations.tolist() == list(range(1, 10))
    assert line.simple[1] == pytest.approx(heard[1].run.simple[:9], rel=1e-9)


def test_the_longest_runs_come_first() -> None:
    made = jobs(PANELS.values(), range(2), ["text", "released"], quick=False)
    assert [job.rounds for job in made] == sorted((job.rounds for job in made), reverse=True)
    assert len(made) == len(set(made)) == 2 * (2 * 4 + 12 * 2 + 12 + 12 + 4 * 3 + 12)


def test_a_quick_pass_is_shorter_and_has_every_panel() -> None:
    quick = jobs(PANELS.values(), range(3), ["text"], quick=True)
    assert {job.panel for job in quick} == set(PANELS)
    assert all(job.iterations < PANELS[job.panel].iterations for job in quick)
