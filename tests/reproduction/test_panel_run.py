"""Every curve of every panel runs, and a run goes on where it ended."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import belated
from reproduction.panel_run import RunJob, list_jobs, run_job
from reproduction.panels import ALL_PANELS, PANELS, READINGS
from tests.reproduction.needs_data import needs_data
from tests.reproduction.small_runs import make_job, make_url

DATA = {
    **dict.fromkeys(["fig2a", "fig2b", "fig2c", "fig2d", "fig4c", "fig4d"], "pima_diabetes.csv"),
    **dict.fromkeys(["fig4a", "fig4b", "fig4a-permuted", "fig4b-permuted"], "tst_svm.npz"),
    "lda": "lda_on_grid.csv.gz",
    "gpu": "gpu_convolution.npz",
    "dengue": "delays_dengue.csv.gz",
}


ALL = [
    pytest.param(
        RunJob(panel=panel.name, curve=curve.key, reading=reading, seed=1, iterations=9 if panel.before else 12),
        marks=needs_data(DATA[panel.name]) if panel.name in DATA else (),
        id=f"{panel.name}.{curve.key}.{reading}",
    )
    for panel in ALL_PANELS.values()
    for reading in panel.readings
    for curve in panel.curves
]


ELSEWHERE = [  # a list, integers, a list with contexts, contexts
    ("fig1c", "GP-UCB-SDF"),
    ("fig5b", "GP-BTS"),
    ("fig2e", "GP-BUCB"),
    ("fig4a", "GP-UCB-SDF"),
    ("fig4b", "asy-TS"),
    ("fig4c", "GP-BUCB"),
]


@pytest.mark.parametrize(
    ("panel", "curve"),
    [
        pytest.param(panel, curve, marks=needs_data(DATA[panel]) if panel in DATA else (), id=f"{panel}.{curve}")
        for panel, curve in ELSEWHERE
    ],
)
def test_the_released_program_runs_on_every_kind_of_space(panel: str, curve: str) -> None:
    done = run_job(None, RunJob(panel=panel, curve=curve, reading="released", seed=1, iterations=16))
    assert done.run.iterations[-1] == 16
    assert np.all(np.isfinite(done.run.cumulative))
    assert done.cost.rounds == 16 + PANELS[panel].before


@pytest.mark.parametrize("job", ALL)
def test_every_curve_of_every_panel_runs(job: RunJob) -> None:
    done = run_job(None, job)
    assert done.run.key == job.key
    assert done.run.iterations[-1] == job.iterations
    for values in (done.run.simple, done.run.late, done.run.cumulative):
        assert values.shape == done.run.iterations.shape
        assert np.all(np.isfinite(values))
    assert np.all(done.run.late <= done.run.simple)
    assert done.cost.rounds == job.rounds
    if ALL_PANELS[job.panel].before:
        assert np.all(np.diff(done.run.simple) <= 1e-12)


def test_a_seed_gives_all_curves_the_same_world(tmp_path: Path) -> None:
    studies = []
    for curve in ("GP-UCB-SDF", "GP-UCB", "GP-BUCB"):
        run_job(make_url(tmp_path), make_job(curve))
        studies.append(belated.Study.open(make_url(tmp_path), make_job(curve).name))
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
    at_once = run_job(None, make_job(iterations=20)).run
    run_job(make_url(tmp_path), make_job(iterations=7))
    resumed = run_job(make_url(tmp_path), make_job(iterations=20))
    assert resumed.cost.rounds == 13
    assert resumed.run.simple.tolist() == at_once.simple.tolist()
    assert resumed.run.cumulative.tolist() == at_once.cumulative.tolist()


@needs_data("pima_diabetes.csv")
def test_the_released_program_goes_on_too(tmp_path: Path) -> None:
    job = RunJob(panel="fig2a", curve="GP-BUCB", reading="released", seed=0, iterations=16)
    at_once = run_job(None, job).run
    run_job(make_url(tmp_path), replace(job, iterations=9))
    resumed = run_job(make_url(tmp_path), job)
    assert resumed.cost.rounds == 7
    assert resumed.run.cumulative.tolist() == at_once.cumulative.tolist()


def test_the_longest_runs_come_first() -> None:
    made = list_jobs(PANELS.values(), 2, ["text", "released"], quick=False)
    assert [job.rounds for job in made] == sorted((job.rounds for job in made), reverse=True)
    assert len(made) == len(set(made)) == 2 * 2 * (2 * 4 + 20 * 3)


def test_a_panel_says_how_many_runs_it_needs() -> None:
    """60 of the short ones, 30 of the tuned models, 20 or 10 of the long ones with contexts."""
    made = Counter(
        (job.panel, job.reading) for job in list_jobs(ALL_PANELS.values(), None, list(READINGS), quick=False)
    )
    runs = {key: count // len(ALL_PANELS[key[0]].curves) for key, count in made.items()}
    for name in PANELS:
        figure = name[:4]
        expected = {"fig1": [60] * 3, "fig5": [60] * 3, "fig4": [20, 10, 10]}.get(figure, [30] * 3)
        assert [runs[name, reading] for reading in ("text", "heard", "released")] == expected
    assert {key: count for key, count in runs.items() if key[0] not in PANELS} == {
        (name, "text"): 10 for name in ("fig4a-permuted", "fig4b-permuted", "lda", "gpu", "dengue")
    }


@pytest.mark.parametrize("curve", ["GP-UCB", "GP-BUCB", "GP-UCB-SDF"])
def test_own_data_are_the_heard_where_silence_is_ignored(curve: str) -> None:
    """And the two readings differ where it is not."""
    job = RunJob(panel="fig1c", curve=curve, reading="text", seed=1, iterations=30)
    text, heard = (run_job(None, replace(job, reading=reading)).run.cumulative for reading in ("text", "heard"))
    assert np.array_equal(text, heard) is (curve == "GP-UCB")


def test_a_quick_pass_is_shorter_and_has_every_panel() -> None:
    quick = list_jobs(PANELS.values(), 3, ["text"], quick=True)
    assert {job.panel for job in quick} == set(PANELS)
    assert all(job.iterations < PANELS[job.panel].iterations for job in quick)
