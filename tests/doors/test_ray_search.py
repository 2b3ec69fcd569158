"""BelatedSearch in Ray Tune: spaces, saving, limits and failures; and a real Tuner that is killed and restored."""

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.tune")

from ray import tune
from ray.tune.search import ConcurrencyLimiter, Searcher

from belated import Choice, Integer, Real, Study
from belated.errors import InvalidInput
from belated.integrations.ray import BelatedSearch
from belated.integrations.ray.domains import TunedParameter, TunedSpace

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
ROOT = Path(__file__).resolve().parents[2]
SPACE = {"x": tune.uniform(0, 1), "n": tune.randint(1, 9)}


def make(**said: Any) -> BelatedSearch:
    return BelatedSearch(**{"space": SPACE, "metric": "score", "mode": "max", "silence": "unknown", "seed": 0} | said)


# Spaces ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "parameter", "pairs"),
    [
        (tune.uniform(-1, 2), Real(-1, 2), [(0.5, 0.5)]),
        (tune.loguniform(1e-3, 1), Real(1e-3, 1, log=True), [(0.1, 0.1)]),
        (tune.quniform(0.5, 2, 0.25), Integer(2, 8), [(2, 0.5), (7, 1.75)]),
        (tune.qloguniform(0.1, 10, 0.1), Integer(1, 100, log=True), [(30, 3.0)]),
        (tune.randint(1, 9), Integer(1, 8), [(8, 8)]),
        (tune.lograndint(1, 9), Integer(1, 8, log=True), [(8, 8)]),
        (tune.qrandint(2, 10, 2), Integer(1, 5), [(5, 10)]),
        (tune.qlograndint(2, 10, 2), Integer(1, 5, log=True), [(1, 2)]),
        (tune.choice(["a", (1, 2), None]), Choice(0, 1, 2), [(0, "a"), (1, (1, 2)), (2, None)]),
    ],
)
def test_a_domain_is_a_parameter_with_its_values(domain: Any, parameter: object, pairs: list[tuple[Any, Any]]) -> None:
    tuned = TunedSpace.of({"p": domain}).tuned["p"]
    assert tuned.parameter == parameter
    for ours, theirs in pairs:
        assert tuned.decode(ours) == (pytest.approx(theirs) if isinstance(theirs, float) else theirs)
        assert tuned.encode(theirs) == ours
        assert domain.is_valid(tuned.decode(ours))


def test_a_space_may_be_nested_and_have_constants_and_our_parameters() -> None:
    space = TunedSpace.of({"model": {"depth": tune.randint(1, 5), "kind": "tree"}, "rate": Real(0, 1), "epochs": 3})
    assert space.tuned == {"model/depth": TunedParameter(Integer(1, 4)), "rate": TunedParameter(Real(0, 1))}
    config = {"model": {"depth": 2, "kind": "tree"}, "rate": 0.5, "epochs": 3}
    assert space.encode(config) == {"model/depth": 2, "rate": 0.5}
    assert space.decode(space.encode(config)) == {"model": {"depth": 2}, "rate": 0.5}


@pytest.mark.parametrize(
    ("space", "rule"),
    [
        ({"a": {"b": tune.grid_search([1, 2])}}, r"grid_search cannot be searched .* \(got a/b\)"),
        ({"a": tune.randn()}, "a domain must be uniform, loguniform"),
        ({"a": tune.sample_from(lambda spec: 1)}, "a domain must be uniform, loguniform"),
    ],
)
def test_what_cannot_be_searched_is_refused(space: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidInput, match=rule):
        TunedSpace.of(space)


# Suggestions ----------------------------------------------------------------------------------------------------------


def tell(search: BelatedSearch, name: str, config: Any) -> None:
    search.on_trial_complete(name, {"score": -((config["x"] - 0.3) ** 2) - 0.1 * config["n"]})


def test_suggestions_are_what_a_study_asks_after_the_same_events() -> None:
    search, study = make(), Study.create(space={"x": Real(0, 1), "n": Integer(1, 8)}, silence="unknown", seed=0)
    running: list[tuple[str, Any]] = []
    for s in range(1, 13):
        running.append((str(s), search.suggest(str(s))))
        assert study.ask().params == running[-1][1]
        if len(running) == 3:  # two are always out
            name, config = running.pop(0)
            tell(search, name, config)
            study.tell(int(name), -((config["x"] - 0.3) ** 2) - 0.1 * config["n"])
    assert search.study.trial(1).outcome is not None
    assert [trial.status for trial in search.study.trials()][-2:] == ["pending", "pending"]


def test_the_same_id_gets_the_same() -> None:
    search = make()
    assert search.suggest("a") == search.suggest("a")
    assert search.study.rounds == 1


@pytest.mark.parametrize("how", ["save", "pickle"])
def test_what_was_saved_goes_on_where_it_was(how: str, tmp_path: Path) -> None:
    search = make(patience=7)
    running = search.suggest("out")
    for s in range(8):
        tell(search, str(s), search.suggest(str(s)))
    if how == "save":
        search.save(str(tmp_path / "state"))
        again = BelatedSearch()
        again.restore(str(tmp_path / "state"))
    else:
        again = pickle.loads(pickle.dumps(search))  # noqa: S301
    assert again.study.events() == search.study.events()
    assert (again.metric, again.mode) == ("score", "max")
    assert again.suggest("out") == running
    tell(again, "out", running)
    tell(search, "out", running)
    assert again.study.trial(1).outcome == search.study.trial(1).outcome
    assert again.suggest("next") == search.suggest("next")


def test_a_limiter_holds_trials_back_until_others_are_done() -> None:
    search = make()
    limited = ConcurrencyLimiter(search, max_concurrent=2)
    first = limited.suggest("a")
    assert limited.suggest("b") is not None
    assert limited.suggest("c") is None
    limited.on_trial_complete("a", {"score": first["x"]})
    assert limited.suggest("c") is not None
    assert [trial.status for trial in search.study.trials()] == ["heard", "pending", "pending"]


@pytest.mark.parametrize(("silence", "failure"), [("unknown", "lost"), ("floor", "infeasible")])
@pytest.mark.parametrize(
    ("result", "error"), [(None, True), ({"score": 0.5}, True), ({"score": float("nan")}, False), ({"loss": 1}, False)]
)
def test_a_failed_trial_counts_as_the_silence_says(silence: str, failure: str, result: Any, error: bool) -> None:
    search = make(silence=silence)
    search.suggest("a")
    search.on_trial_complete("a", result, error=error)
    search.on_trial_complete("a", {"score": 1.0})  # it has ended
    search.on_trial_complete("of someone else", {"score": 1.0})
    assert [trial.failure for trial in search.study.trials()] == [failure]


def test_points_to_begin_with_and_points_known_from_elsewhere() -> None:
    search = make(points_to_evaluate=[{"x": 0.25, "n": 3}, {"n": 8, "constant": 1}], mode="min")
    assert search.suggest("a") == {"x": 0.25, "n": 3}
    partial = search.suggest("b")
    assert isinstance(partial, dict)
    assert partial["n"] == 8
    search.add_evaluated_point({"x": 0.75, "n": 1}, -4.0)
    search.add_evaluated_point({"x": 0.5, "n": 1}, -9.0, error=True)
    assert search.study.best().params == {"x": 0.75, "n": 1}


def test_a_space_that_is_used_up_ends_the_search() -> None:
    search = make(space={"k": tune.choice(["a", "b"])})
    search.study.close()
    assert search.suggest("a") == Searcher.FINISHED


def test_the_tuner_says_what_was_not_said() -> None:
    search = BelatedSearch(silence="unknown", seed=0)
    with pytest.raises(InvalidInput, match="give BelatedSearch a space and a metric"):
        search.suggest("a")
    assert search.set_search_properties("score", "min", SPACE)
    assert search.study.settings.objective.goal == "minimize"
    assert not search.set_search_properties("score", "min", SPACE)  # a second space
    assert make().set_search_properties("other", "min", {"constant": 1})
    with pytest.raises(InvalidInput, match=r'mode must be "max" or "min"'):
        make(mode="best")
    with pytest.raises(InvalidInput, match="silence must be given"):
        make(silence=None)


# A real Tuner ---------------------------------------------------------------------------------------------------------

SCRIPT = """
import json, os, signal, sys
import ray
from ray import tune
from belated.integrations.ray import BelatedSearch

def train(config):
    if config["model"]["n"] == 3:
        raise ValueError("no luck")
    tune.report({"score": -(config["x"] - 0.3) ** 2})

class Kill(tune.Callback):
    def on_trial_complete(self, iteration, trials, trial, **info):
        if "KILL" in os.environ and sum(trial.status == "TERMINATED" for trial in trials) == 3:
            os.kill(os.getpid(), signal.SIGKILL)

def main(folder, what):
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    space = {"x": tune.uniform(0, 1), "model": {"n": tune.randint(1, 9)}, "constant": "c"}
    if what == "begin":
        search = BelatedSearch(silence="unknown", seed=0, points_to_evaluate=[{"model": {"n": 3}}])
        tuner = tune.Tuner(
            train,
            param_space=space,
            tune_config=tune.TuneConfig(
                metric="score", mode="max", num_samples=8, search_alg=search, max_concurrent_trials=2
            ),
            run_config=tune.RunConfig(storage_path=folder, name="run", verbose=0, callbacks=[Kill()]),
        )
    else:
        tuner = tune.Tuner.restore(folder + "/run", trainable=train, param_space=space, resume_unfinished=True)
    results = tuner.fit()
    search = BelatedSearch()
    search.restore_from_dir(folder + "/run")
    told = {repr(trial.params["x"]): trial.outcome for trial in search.study.trials()}
    good = [result for result in results if result.error is None]
    shown = [(repr(result.config["x"]), result.metrics["score"]) for result in good]
    print(json.dumps({
        "results": len(results), "errors": results.num_errors,
        "same": all(told[x] == score for x, score in shown),
        "statuses": [trial.status for trial in search.study.trials()],
        "constants": [result.config["constant"] for result in good],
        "before": [trial.params["x"] for trial in search.study.trials()],
    }))

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


def test_a_tuner_that_was_killed_is_restored_and_nothing_is_lost(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "TUNE_GLOBAL_CHECKPOINT_S": "0",  # so that nothing is too young to be saved
        "RAY_AIR_NEW_OUTPUT": "0",
    }

    def run(what: str, **said: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, script, str(tmp_path / "results"), what]
        return subprocess.run(words, env=environment | said, capture_output=True, text=True, check=False, timeout=300)

    begun = run("begin", KILL="1")
    assert begun.returncode == -signal.SIGKILL, begun.stderr
    saved = BelatedSearch()
    saved.restore_from_dir(str(tmp_path / "results" / "run"))
    before = saved.study.trials()
    assert 0 < sum(trial.outcome is not None for trial in before) <= 3
    ended = run("go on")
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.strip().splitlines()[-1])
    assert told["results"] == 8
    assert told["errors"] == 1  # the first one, with n = 3
    assert told["same"]  # every outcome that Tune has is in the study
    assert told["constants"] == ["c"] * 7
    assert told["before"][: len(before)] == [trial.params["x"] for trial in before]  # it went on with what was there
    assert sorted(told["statuses"]).count("heard") == 7
