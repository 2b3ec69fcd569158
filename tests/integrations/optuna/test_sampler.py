"""The sampler chooses what `Study.ask` would, given Optuna's trials."""

import copy
import math
import pickle
import warnings
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna")

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from belated import Choice, Integer, InvalidInput, Real, Study
from belated.events import Adjusted
from belated.integrations.optuna import BelatedSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)

SPACE = {
    "a": FloatDistribution(1e-3, 1, log=True),
    "b": IntDistribution(1, 8),
    "c": FloatDistribution(0, 2, step=0.25),
    "d": CategoricalDistribution(("red", "green", "blue")),
}
SAME_SPACE = {"a": Real(1e-3, 1, log=True), "b": Integer(1, 8), "c": Integer(0, 8), "d": Choice(0, 1, 2)}
FIRST = {"a": 0.1, "b": 4, "c": 0.5, "d": "green"}


def translate(params: dict[str, Any]) -> dict[str, Any]:
    """Params of SPACE as params of SAME_SPACE."""
    names = {"red": 0, "green": 1, "blue": 2}
    return {**params, "c": round(params["c"] / 0.25), "d": names[params["d"]]}


def objective(params: dict[str, Any]) -> float:
    return math.log10(params["a"] / 0.05) ** 2 + 0.1 * abs(params["b"] - 6) + params["c"] + (params["d"] == "red")


def plane() -> dict[str, FloatDistribution]:
    return {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}


def bowl(params: dict[str, float]) -> float:
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2


# The same choices ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ("minimize", {"silence": "unknown", "patience": 3}),
        ("minimize", {"silence": "floor", "patience": 3}),
        ("maximize", {"silence": "fading", "patience": "1h"}),
        ("maximize", {"algorithm": "GP-UCB-SDF", "patience": 3}),
    ],
    ids=str,
)
def test_the_choices_are_those_of_a_study(goal: Any, says: dict[str, Any]) -> None:
    """Trials end in another order than they began, some late, some never, some without a value."""
    worst = 10.0 if goal == "minimize" else -10.0
    says = {**says, "floor": worst, "seed": 7}
    theirs = optuna.create_study(direction=goal, sampler=BelatedSampler(**says))
    now = 0.0
    ours = Study.create(space=SAME_SPACE, goal=goal, clock=lambda: now, **says)
    silent: Any = "lost" if ours.settings.silence.forgets else "infeasible"
    theirs.enqueue_trial(FIRST)
    running: list[Any] = []
    for number in range(1, 21):
        trial = theirs.ask(SPACE)
        now = trial.datetime_start.timestamp()
        chosen = ours.add(translate(FIRST)) if number == 1 else ours.ask()
        assert translate(trial.params) == chosen.params
        running.append(trial)
        if number % 7 == 0:  # this one is never heard of
            running.pop()
        while len(running) > 2 + number % 4:
            ending = running.pop(-1 if number % 3 else 0)
            state = {1: TrialState.FAIL, 2: TrialState.PRUNED}.get(ending.number % 9)
            value = math.copysign(objective(ending.params), worst)
            theirs.tell(ending, None if state else value, state)
            now = theirs.trials[ending.number].datetime_complete.timestamp()
            if state:
                ours.fail(ending.number + 1, silent)
            else:
                ours.tell(ending.number + 1, value)


def test_patience_that_belated_chooses_is_the_same_too() -> None:
    says: dict[str, Any] = {"silence": "unknown", "patience": "auto", "seed": 7}
    theirs, line = optuna.create_study(sampler=BelatedSampler(**says)), {"x": FloatDistribution(0, 1)}
    ours = Study.create(space={"x": Real(0, 1)}, goal="minimize", **says)
    theirs.enqueue_trial({"x": 0.5})
    running: list[Any] = []
    for number in range(1, 25):
        trial = theirs.ask(line)
        assert trial.params == (ours.ask() if number > 1 else ours.add({"x": 0.5})).params
        if number != 17:  # this one is never heard of
            running.append(trial)
        if len(running) > 3:
            ending = running.pop(0)
            theirs.tell(ending, abs(ending.params["x"] - 0.3))
            ours.tell(ending.number + 1, abs(ending.params["x"] - 0.3))
    before = [type(event) for event in ours.events()].index(Adjusted)
    assert before < len(ours.events()) - 10  # and then some more were chosen


def test_a_trial_that_was_partly_enqueued_is_completed_around_what_is_fixed() -> None:
    theirs = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=3))
    ours = Study.create(space={"x": Real(0, 1), "y": Real(0, 1)}, goal="minimize", silence="unknown", seed=3)
    points = [{"x": 0.1 * i, "y": (0.37 * i) % 1} for i in range(8)]
    for point in points:
        theirs.add_trial(optuna.create_trial(params=point, distributions=plane(), value=bowl(point)))
        ours.add(point, bowl(point))
    theirs.enqueue_trial({"y": 0.9})
    assert theirs.ask(plane()).params == ours.ask(params={"y": 0.9}).params


def test_what_a_partial_fixed_sampler_fixes_is_the_context_if_it_is_suggested_first() -> None:
    sampler = BelatedSampler(silence="unknown", seed=3)
    theirs = optuna.create_study(sampler=sampler)
    says: dict[str, Any] = {"goal": "minimize", "silence": "unknown", "regret": "simple", "seed": 3}
    ours = Study.create(space={"y": Real(0, 1)}, context={"x": Real(0, 1)}, **says)
    for i in range(8):
        point = {"x": 0.1 * i, "y": (0.37 * i) % 1}
        theirs.add_trial(optuna.create_trial(params=point, distributions=plane(), value=bowl(point)))
        ours.add({"y": point["y"]}, bowl(point), context={"x": point["x"]})
    for x in (0.7, 0.2, 0.5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            theirs.sampler = optuna.samplers.PartialFixedSampler({"x": x}, sampler)
        trial, chosen = theirs.ask(plane()), ours.ask(context={"x": x})
        assert trial.params == {"x": x, **chosen.params}
        theirs.tell(trial, bowl(trial.params))
        ours.tell(chosen, bowl(trial.params))


# What a choice depends on ---------------------------------------------------------------------------------------------


def fill(study: Any, points: int = 9) -> None:
    for i in range(points):
        point = {"x": 0.1 * i, "y": (0.37 * i) % 1}
        study.add_trial(optuna.create_trial(params=point, distributions=plane(), value=bowl(point)))


def test_a_choice_depends_on_the_seed_and_the_storage_alone() -> None:
    """So a new process goes on where another ended."""
    study = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=1))
    fill(study)
    chosen = study.ask(plane()).params

    def choose(sampler: BelatedSampler) -> dict[str, Any]:
        again = optuna.create_study(sampler=sampler)
        again.add_trials(study.get_trials(states=[TrialState.COMPLETE]))
        params: dict[str, Any] = again.ask(plane()).params
        return params

    assert choose(BelatedSampler(silence="unknown", seed=1)) == chosen
    assert choose(copy.deepcopy(study.sampler)) == chosen
    assert choose(pickle.loads(pickle.dumps(study.sampler))) == chosen  # noqa: S301
    assert choose(BelatedSampler(silence="unknown", seed=2)) != chosen


def test_workers_see_each_other_through_the_storage(tmp_path: Path) -> None:
    """Each with a sampler of its own, as in several processes: together they choose what one would."""
    url = f"sqlite:///{tmp_path}/optuna.db"
    alone = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=1))
    optuna.create_study(storage=url, study_name="shared")
    workers = [
        optuna.load_study(storage=url, study_name="shared", sampler=BelatedSampler(silence="unknown", seed=1))
        for _ in range(3)
    ]
    for study in (alone, workers[0]):
        for i in range(2):
            study.enqueue_trial({"x": 0.2 + 0.5 * i, "y": 0.4})
    for i in range(6):  # space-filling ones: nothing is fitted, so nothing is left that only one worker knows
        assert workers[i % 3].ask(plane()).params == alone.ask(plane()).params


def test_workers_that_choose_at_the_same_time_guess_what_the_others_choose() -> None:
    storage = optuna.storages.InMemoryStorage()
    optuna.create_study(storage=storage, study_name="shared")
    first, second = (
        optuna.load_study(storage=storage, study_name="shared", sampler=BelatedSampler(silence="unknown", seed=1))
        for _ in range(2)
    )
    fill(first)
    numbers = [study.ask().number for study in (first, second)]  # neither has params yet
    chosen = [
        study.sampler.sample_relative(study, study.trials[number], plane())
        for study, number in zip((first, second), numbers, strict=True)
    ]
    alone = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=1))
    fill(alone)
    assert chosen == [alone.ask(plane()).params for _ in range(2)]


def begin(study: Any, ago: float) -> None:
    """Add a trial that began so many minutes ago and has no params."""
    study.add_trial(
        FrozenTrial(
            number=0,
            trial_id=0,
            state=TrialState.RUNNING,
            value=None,
            datetime_start=datetime.now() - timedelta(minutes=ago),
            datetime_complete=None,
            params={},
            distributions={},
            user_attrs={},
            system_attrs={},
            intermediate_values={},
        )
    )


def test_a_trial_that_died_before_it_had_params_is_not_waited_for() -> None:
    chosen = []
    for begins in ([], [10.0], [0.0]):
        study = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=1))
        fill(study)
        for ago in begins:
            begin(study, ago)
        chosen.append(study.ask(plane()).params)
    assert chosen[0] == chosen[1] != chosen[2]


def test_a_guess_gives_way_to_what_was_chosen() -> None:
    storage = optuna.storages.InMemoryStorage()
    optuna.create_study(storage=storage, study_name="shared")
    first, second = (
        optuna.load_study(storage=storage, study_name="shared", sampler=BelatedSampler(silence="unknown", seed=seed))
        for seed in (1, 2)
    )
    fill(first)
    begun = second.ask()
    first.ask(plane())  # it guesses what the other chooses, and is wrong, as the other has another seed
    for name in "xy":
        begun.suggest_float(name, 0, 1)
    number = first.ask().number
    newest = first.trials[number]
    fresh = BelatedSampler(silence="unknown", seed=1)
    assert first.sampler.sample_relative(first, newest, plane()) == fresh.sample_relative(first, newest, plane())


def test_a_guess_is_forgotten_when_its_trial_turns_out_to_be_dead() -> None:
    guessing, fresh = (BelatedSampler(silence="unknown", seed=1) for _ in range(2))
    study = optuna.create_study(sampler=guessing)
    fill(study, 2)
    begin(study, 0.5)
    study.ask(plane())  # this one guesses the params of the trial that has begun
    fill(study, 1)
    newest = study.ask()
    later = copy.deepcopy(study.trials[newest.number])
    later.datetime_start += timedelta(minutes=1)
    assert guessing.sample_relative(study, later, plane()) == fresh.sample_relative(study, later, plane())


def test_a_trial_that_has_not_begun_does_not_count() -> None:
    study = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=1))
    fill(study)
    study.ask()
    newest, chosen = study.trials[-1], []
    for waits in (False, True):
        if waits:
            point = {"params": {"x": 0.3, "y": 0.6}, "distributions": plane()}
            study.add_trial(optuna.create_trial(state=TrialState.WAITING, **point))
        chosen.append(BelatedSampler(silence="unknown", seed=1).sample_relative(study, newest, plane()))
    assert chosen[0] == chosen[1]


def test_threads_choose_different_points() -> None:
    study = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=1))
    fill(study)
    study.optimize(lambda t: bowl({n: t.suggest_float(n, 0, 1) for n in "xy"}), n_trials=8, n_jobs=4)
    assert len({tuple(trial.params.values()) for trial in study.trials[9:]}) == 8


def test_two_studies_of_one_sampler_are_not_mixed_up() -> None:
    sampler = BelatedSampler(silence="unknown", seed=1)
    low, high = (optuna.create_study(sampler=sampler, direction=goal) for goal in ("minimize", "maximize"))
    fill(low)
    fill(high)
    alone = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=1), direction="maximize")
    fill(alone)
    assert low.ask(plane()).params != high.ask(plane()).params == alone.ask(plane()).params


# Spaces that change ---------------------------------------------------------------------------------------------------


def test_a_branch_is_chosen_within_by_what_was_heard_in_it() -> None:
    """y belongs to one branch, z to the other: the first trial of either is drawn, then the model chooses."""

    def branching(trial: Any) -> float:
        if trial.suggest_categorical("kind", ["one", "other"]) == "one":
            y, w = trial.suggest_float("y", 0, 1), trial.suggest_float("w", 0, 1)
            return (y - 0.8) ** 2 + (w - 0.2) ** 2
        return 1 + trial.suggest_float("z", 0, 1)

    study = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=0))
    study.optimize(branching, n_trials=30)
    assert study.best_params["kind"] == "one"
    assert study.best_value < 0.01


def test_parameters_of_a_branch_are_chosen_together_given_the_branch() -> None:
    study = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=5))
    kind = CategoricalDistribution(("one", "other"))
    ours = Study.create(
        space={"kind": Choice(0, 1), "x": Real(0, 1), "y": Real(0, 1)}, goal="minimize", silence="unknown", seed=5
    )
    for i in range(8):
        point = {"x": 0.1 * i, "y": (0.37 * i) % 1}
        in_branch = {"params": {"kind": "one", **point}, "distributions": {"kind": kind, **plane()}}
        study.add_trial(optuna.create_trial(**in_branch, value=bowl(point)))
        study.add_trial(optuna.create_trial(params={"kind": "other"}, distributions={"kind": kind}, value=9.0))
        ours.add({"kind": 0, **point}, bowl(point))
    study.enqueue_trial({"kind": "one"})
    trial = study.ask({"kind": kind})
    chosen = {"kind": 0, "x": trial.suggest_float("x", 0, 1), "y": trial.suggest_float("y", 0, 1)}
    assert chosen == ours.ask(params={"kind": 0}).params


@pytest.mark.parametrize(("low", "high"), [(0, 5), (-10, 20)])
def test_after_a_range_has_changed_older_trials_inside_it_still_count(low: float, high: float) -> None:
    study = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=0))
    ours = Study.create(space={"x": Real(low, high)}, goal="minimize", silence="unknown", seed=0)
    for x in range(11):
        old = {"x": FloatDistribution(0, 10)}
        study.add_trial(optuna.create_trial(params={"x": float(x)}, distributions=old, value=(x - 3.3) ** 2))
        if low <= x <= high:
            ours.add({"x": float(x)}, (x - 3.3) ** 2)
    new = {"x": FloatDistribution(low, high)}
    study.add_trial(optuna.create_trial(params={"x": 2.5}, distributions=new, value=0.64))
    ours.add({"x": 2.5}, 0.64)
    assert study.ask(new).params == ours.ask().params


def test_a_parameter_that_had_one_value_may_get_a_range() -> None:
    study = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=0))
    for x in (0.1, 0.5, 0.9):
        study.enqueue_trial({"x": x})
        one = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0.5, 0.5)}
        study.tell(study.ask(one), bowl({"x": x, "y": 0.5}))
    for _ in range(3):
        trial = study.ask(plane())
        assert 0 <= trial.params["y"] <= 1
        study.tell(trial, bowl(trial.params))


def test_a_pruner_with_brackets_works() -> None:
    """HyperbandPruner shows the sampler a part of the study."""

    def reporting(trial: Any) -> float:
        value = bowl({name: trial.suggest_float(name, 0, 1) for name in "xy"})
        for step in range(1, 5):
            trial.report(value + 1 / step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=4)
    study = optuna.create_study(sampler=BelatedSampler(silence="floor", floor=2.0, seed=0), pruner=pruner)
    study.optimize(reporting, n_trials=25)
    assert study.best_value < 0.05
    assert TrialState.PRUNED in {trial.state for trial in study.trials}


# Values and settings --------------------------------------------------------------------------------------------------


def test_values_that_are_no_numbers_are_survived() -> None:
    study = optuna.create_study(sampler=BelatedSampler(silence="floor", floor=4.0, seed=0))
    values = iter([math.inf, math.nan, -math.inf, *[1.0] * 20])

    def odd(trial: Any) -> float:
        return next(values) + trial.suggest_float("x", 0, 1)

    study.optimize(odd, n_trials=15)
    assert [trial.state for trial in study.trials].count(TrialState.COMPLETE) == 14


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=BelatedSampler(silence="unknown"))
    with pytest.raises(InvalidInput, match=r"^BelatedSampler is for studies with one objective \(got 2\)$"):
        study.ask({"x": FloatDistribution(0, 1)})


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ({}, "silence must be given"),
        ({"silence": "quiet"}, "silence must be one of"),
        ({"silence": "unknown", "patience": "soon"}, "patience must be"),
        ({"silence": "unknown", "algorithm": "TPE"}, "algorithm must be"),
        ({"silence": "unknown", "seed": -1}, "seed must be at least 0"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_refused_before_the_first_trial(says: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        BelatedSampler(**says)


@pytest.mark.parametrize(("floor", "ceiling"), [(0.0, 1.0), (1.0, 0.0)])
def test_floor_and_ceiling_fit_either_direction(floor: float, ceiling: float) -> None:
    goal = "maximize" if floor < ceiling else "minimize"
    sampler = BelatedSampler(silence="floor", floor=floor, ceiling=ceiling, seed=0)
    study = optuna.create_study(direction=goal, sampler=sampler)
    study.enqueue_trial({"x": 0.5, "y": 0.5})
    study.tell(study.ask(plane()), 0.5)
    assert study.ask(plane()).params.keys() == {"x", "y"}
