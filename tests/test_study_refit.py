"""study.refit: hyperparameters ahead of time, recorded for all; and no ask or look starts a fit that takes long."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from belated import Closed, Points, Real, Study, check
from belated.events import Refitted
from belated.learner.choice import fit_cost
from belated.learner.choice.problem import Problem
from belated.learner.gp.summary import RowSummary, Sizes
from tests.support.summaries import use_sizes

SPACE = {"x": Real(0, 1)}
LATE = "kept the last hyperparameters"
POINTS = [{"x": i / 20} for i in range(20)]


def add_rows(study: Study, n: int) -> None:
    study.add_many([{"params": {"x": i / n}, "value": (i / n - 0.3) ** 2} for i in range(n)])


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fit would take too long."""
    monkeypatch.setattr(fit_cost, "LONGEST", 0.0)


def test_a_refit_is_recorded_and_used_by_all(tmp_path):
    url = f"sqlite:///{tmp_path}/lab.db"
    study, other = (Study.create(url, "lab", space=SPACE, silence="unknown", seed=0) for _ in range(2))
    add_rows(study, 12)
    found = study.refit()
    assert found is not None
    assert (found.number, found.heard) == (13, 12)
    assert other.hyperparameters() == [found]
    trial = other.ask()  # a fit is due, and is there
    assert other.hyperparameters() == study.hyperparameters() == [found]
    assert [type(event).__name__ for event in study.events()[-2:]] == ["Refitted", "Asked"]
    assert study.replay(trial.number).same
    assert check(url).ok


@pytest.mark.parametrize("algorithm", ["default", "GP-UCB"])
def test_after_a_refit_the_choice_is_the_one_that_fits_itself(algorithm):
    """Whether the fit was made by the ask or just before it."""
    studies = [Study.create(space=SPACE, algorithm=algorithm, silence="ignored", initial=0, seed=3) for _ in range(2)]
    for study in studies:
        add_rows(study, 20)
    studies[0].refit()
    assert studies[0].ask().params == studies[1].ask().params
    assert studies[0].hyperparameters() == studies[1].hyperparameters()


def test_with_too_little_heard_there_is_nothing_to_fit():
    study = Study.create(space=SPACE, silence="unknown", seed=0)
    add_rows(study, 2)
    assert study.refit() is None
    assert not any(isinstance(event, Refitted) for event in study.events())


def test_a_closed_study_is_not_fitted():
    study = Study.create(space=SPACE, silence="unknown", seed=0)
    add_rows(study, 5)
    study.close()
    with pytest.raises(Closed):
        study.refit()


def test_an_ask_and_a_look_take_the_last_fit_where_a_new_one_takes_long(no_time):
    study = Study.create(space=SPACE, silence="unknown", seed=0)
    add_rows(study, 12)
    found = study.refit()
    add_rows(study, 30)  # more than twice as many are heard
    believed = study.posterior([{"x": 0.77}])
    trial = study.ask()
    assert LATE in trial.note
    assert study.hyperparameters() == [found]
    assert study.replay(trial.number).same
    again = study.refit()
    assert again is not None
    assert again != found
    assert study.posterior([{"x": 0.77}]) != believed
    assert LATE not in study.ask().note


def test_without_any_fit_nothing_is_fitted_that_takes_long(no_time):
    study = Study.create(space=SPACE, silence="unknown", seed=0)
    add_rows(study, 12)
    assert LATE in study.ask().note
    assert not study.hyperparameters()


def cost(problem: Problem, study: Study, *, fitted: bool) -> float:
    from tests.support.studies import state_of

    return fit_cost.estimate_cost(problem, state_of(study).history(0.0), study.hyperparameters() if fitted else [])


def test_the_cost_of_a_fit_goes_by_sizes():
    study = Study.create(space=SPACE, silence="unknown", seed=0)
    add_rows(study, 12)
    study.refit()
    problem = study.settings.problem
    assert cost(problem, study, fitted=True) < fit_cost.LONGEST
    costs = [fit_cost.count_operations(n, 0) for n in (10, 1000, 2000, 3000, 30_000)]
    assert costs == sorted(costs)
    assert costs[2] / fit_cost.RATE < fit_cost.LONGEST < costs[-1] / fit_cost.RATE
    assert fit_cost.count_operations(30_000, 128) < fit_cost.count_operations(30_000, 512)


def test_repeats_cost_nothing():
    studies = [Study.create(space=Points([0.0, 0.5, 1.0]), silence="unknown", seed=0) for _ in range(2)]
    for study, times in zip(studies, (1, 50), strict=True):
        study.add_many([{"params": {"x": x}, "value": x} for x in (0.0, 0.5, 1.0)] * times)
        study.refit()
    few, many = (cost(study.settings.problem, study, fitted=True) for study in studies)
    assert few == many


def test_looks_say_that_the_fit_is_not_up_to_date(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from belated.cli import main
    from belated.plotting.study.page import list_notes
    from belated.plotting.study.view import read_study_view
    from belated.report.content import describe_stand

    url, late = f"sqlite:///{tmp_path}/lab.db", "fitted at trial 13; `belated refit` brings it up to date"
    study = Study.create(url, "lab", space=SPACE, silence="unknown", seed=0)
    add_rows(study, 12)
    monkeypatch.setattr(fit_cost, "LONGEST", 0.0)
    assert study.fit_note == "not fitted yet; `belated refit` brings it up to date"
    study.refit()
    assert study.fit_note == ""
    add_rows(study, 14)
    assert study.fit_note == late
    for command in (["show", "lab"], ["recommend", "lab"], ["posterior", "lab", "x=0.5"]):
        assert late in CliRunner().invoke(main, [*command, "--store", url]).output
    view = read_study_view(study)
    assert list_notes(view)[0] == f"Belief: {late}."
    assert describe_stand(view, closed=False, locked=False).endswith(f"Belief: {late}.")


def test_a_look_that_fits_says_nothing():
    study = Study.create(space=SPACE, silence="unknown", seed=0)
    add_rows(study, 12)
    assert study.fit_note == ""
    assert not study.hyperparameters()


# On an executor -------------------------------------------------------------------------------------------------------


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond 40 different queries a belief is summarised, in chunks of 16."""
    use_sizes(monkeypatch, Sizes(exact=40, centres=16, newest=8, block=8, chunk=2, aside=3))


def make_executor(kind: str) -> Executor:
    return ThreadPoolExecutor(3) if kind == "threads" else ProcessPoolExecutor(2, get_context("spawn"))


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_a_refit_on_an_executor_gives_what_one_process_gives(kind, few_rows, monkeypatch):
    here, there = (Study.create(space=SPACE, silence="unknown", regret="cumulative", seed=0) for _ in range(2))
    for study in (here, there):
        add_rows(study, 90)
    with make_executor(kind) as executor:
        found = there.refit(executor=executor)
    assert found == here.refit()
    assert found is not None
    assert found.centres
    built = []
    monkeypatch.setattr(RowSummary, "extend", lambda *given: built.append(given))
    asked = there.ask()  # computes no summary
    monkeypatch.undo()
    assert not built
    assert "approximate" in asked.note
    few = here.ask()
    assert few.params["x"] == pytest.approx(asked.params["x"], abs=1e-9)
    for one, other in zip(here.posterior(POINTS).mean, there.posterior(POINTS).mean, strict=True):
        assert one == pytest.approx(other, abs=1e-9)


def test_an_executor_is_not_needed_where_nothing_is_summarised():
    study = Study.create(space=SPACE, silence="unknown", seed=0)
    add_rows(study, 12)
    with ThreadPoolExecutor(1) as executor:
        executor.shutdown()  # it takes no more work
        found = study.refit(executor=executor)
    assert found is not None
    assert study.hyperparameters() == [found]


def test_a_worker_that_is_lost_loses_no_fit(few_rows):
    study = Study.create(space=SPACE, silence="unknown", seed=0)
    add_rows(study, 90)
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        study.refit(executor=executor)
    assert len(study.hyperparameters()) == 1
    assert "approximate" in study.ask().note
