"""belated.compare: its worlds are like the study's own, its candidates fit, its answer says what was measured."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import belated
from belated import Choice, Integer, InvalidInput, NothingHeard, Points, Real, SimulatedClock, Study, simulate
from belated.comparison.candidates import choose_time_scale, list_candidates, round_patience
from belated.comparison.compare import CandidateRun, choose_rounds, measure_regrets, measure_run, settle_in_world
from belated.comparison.result import LEVEL, ComparisonResult, build_result
from belated.comparison.world import ByDifferences, read_source
from belated.learner.delays.distributions import ByInput, Exponential, Fixed, Poisson, Sometimes
from belated.simulation.regret import measure_regret

PEAK = 0.7


def hill(params: dict[str, Any], context: Any = None) -> float:
    return 10 + 5 * math.exp(-((params["x"] - PEAK) ** 2) / 0.08)


def spread(study: Study) -> dict[str, Any]:
    """An even sequence over [0, 1]: what is known of f and of delays does not hang on how queries are chosen."""
    x = (0.5 + 0.618034 * study.rounds) % 1.0
    at = study.queries()
    return {"x": x} if at is None else min(at, key=lambda q: abs(q["x"] - x))


def played(delay: Any, rounds: int = 60, f: Any = hill, noise: float = 0.2, **said: Any) -> Study:
    said = {"space": {"x": Real(0, 1)}, "silence": "unknown", "seed": 0, "clock": SimulatedClock(), **said}
    study = Study.create(**{key: value for key, value in said.items() if key not in ("every", "contexts")})
    more = {key: said[key] for key in ("every", "contexts") if key in said}
    for _ in simulate(study, f, delay=delay, rounds=rounds, seed=1, noise=noise, choose=spread, **more):
        pass
    return study


def drawn(nature: Any, params: Any, n: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.array([nature.draw(rng, params, None) for _ in range(n)])


GRID = [{"x": x} for x in np.linspace(0, 1, 41).tolist()]


# How long it lasts --------------------------------------------------------------------------------------------------


def test_a_comparison_lasts_for_five_delays_at_a_bounded_cost() -> None:
    for study, T, pace in (
        (played(Fixed(2), rounds=20), 30, 1),
        (played(Fixed(2), rounds=60), 60, 1),
        (played(Fixed(15), rounds=40), 75, 1),
        (played(Fixed(80), rounds=120), 200, 2),
        (played(Fixed(3600.0), 120, patience="2d", every="1m"), 200, 2),
    ):
        made_of = read_source(study, choose_time_scale(study.settings, None))
        assert choose_rounds(study, made_of) == (T, pace)
        assert T * pace >= 5 * made_of.median


def test_one_query_may_stand_for_several() -> None:
    study = played(Fixed(80), rounds=120, patience=90)
    world = read_source(study, "rounds").world(0, 5, pace=2)
    assert set(drawn(world.nature, {"x": 0.5}, 20)) == {40.0}
    assert settle_in_world(study.settings, world).patience.m == 45
    by_clock = played(Exponential(3600.0), 40, patience="2h", every="15m")
    world = read_source(by_clock, "clock").world(0, 5, pace=3)
    assert world.every == pytest.approx(2700)
    assert settle_in_world(by_clock.settings, world).patience == by_clock.settings.patience


def test_rounds_that_are_given_stay_and_are_doubted_where_too_few() -> None:
    study = played(Fixed(15), rounds=40)
    found = belated.compare(study, algorithms=["GP-BTS"], seeds=1, rounds=6)
    assert found.rounds == 6
    assert found.warning == "These rounds end before half of the outcomes can come: leave their number out."


# The world ----------------------------------------------------------------------------------------------------------


def test_the_world_has_the_study_s_scale_noise_and_optimum() -> None:
    made_of = read_source(played(Poisson(5)), "rounds")
    assert made_of.noise == pytest.approx(0.2, rel=0.35)
    worlds = [made_of.world(k, 30) for k in range(8)]
    tops = [world.best[0] for world in worlds]
    assert np.mean(tops) == pytest.approx(15, abs=0.25)
    assert len(set(tops)) == 8  # each a function of its own
    for world in worlds:
        at = [world.nature.value(params) for params in GRID]
        assert GRID[int(np.argmax(at))]["x"] == pytest.approx(PEAK, abs=0.12)
        assert max(at) <= world.best[0] + 1e-9
        assert np.sqrt(np.mean((np.array(at) - [hill(params) for params in GRID]) ** 2)) < 0.5


def test_the_spread_of_the_draws_is_the_belief_s() -> None:
    study = played(Poisson(5), rounds=14)
    made_of = read_source(study, "rounds")
    rows = study.settings.space.encode_all(GRID[::8])
    draws = np.array([made_of.g.draw(made_of.problem, np.random.default_rng(k))(rows) for k in range(200)])
    mean, std = made_of.g.posterior.mean_and_std(rows)
    assert draws.mean(axis=0) == pytest.approx(made_of.g.scale.to_user(mean), abs=4 * np.max(draws.std(axis=0)) / 12)
    assert draws.std(axis=0) == pytest.approx(made_of.g.scale.width * std, rel=0.3, abs=0.02)


def test_delays_are_those_seen_and_some_never_come() -> None:
    study = played(Sometimes(Poisson(6), 0.75), rounds=150)
    report = study.delays()
    waits = drawn(read_source(study, "rounds").world(0, 1).nature, {"x": 0.3})
    for m in (3, 6, 10, 40):
        share = float(np.mean(waits <= m))
        assert share == pytest.approx(report.rho(m).estimate, abs=0.03)
        band = report.rho(m)
        assert band.low - 0.03 <= Sometimes(Poisson(6), 0.75).rho(m) <= band.high + 0.03
    assert np.mean(np.isinf(waits)) == pytest.approx(report.never, abs=0.03)


def test_where_a_region_is_slow_so_is_the_world() -> None:
    slow = ByInput(lambda params: Fixed(12) if params["x"] > 0.6 else Fixed(2))
    made_of = read_source(played(slow, rounds=120), "rounds")
    nature = made_of.world(0, 1).nature
    assert made_of.seen.by_input
    assert np.median(drawn(nature, {"x": 0.1}, 300)) == 2
    assert np.median(drawn(nature, {"x": 0.9}, 300)) == 12


def test_a_region_that_never_answers_does_not_answer_there_either() -> None:
    dead = ByInput(lambda params: Fixed(math.inf) if params["x"] > 0.6 else Fixed(2))
    nature = read_source(played(dead, rounds=120), "rounds").world(0, 1).nature
    assert np.mean(np.isinf(drawn(nature, {"x": 0.95}, 300))) > 0.8
    assert np.mean(np.isinf(drawn(nature, {"x": 0.2}, 300))) < 0.1


class Conversions:
    """Whether anything comes at all depends on x; what comes is always 1."""

    @staticmethod
    def share(params: Any) -> float:
        return 0.1 + 0.7 * math.exp(-((params["x"] - 0.3) ** 2) / 0.04)

    def draw(self, rng: np.random.Generator, params: Any, context: Any) -> float:
        return float(rng.integers(1, 6)) if rng.random() < self.share(params) else math.inf


def test_where_only_conversions_are_told_silence_is_worth_the_floor() -> None:
    study = played(Conversions(), 250, lambda params: 1.0, 0.0, silence="floor", floor=0.0, ceiling=1.0, patience=8)
    made_of = read_source(study, "rounds")
    natures = [made_of.world(k, 30).nature for k in range(4)]
    worth = np.mean([[nature.value(params) for params in GRID] for nature in natures], axis=0)
    assert np.sqrt(np.mean((worth - [Conversions.share(params) for params in GRID]) ** 2)) < 0.12
    for nature in natures:
        for params in ({"x": 0.3}, {"x": 0.8}):
            came = np.mean(np.isfinite(drawn(nature, params, 600)))
            assert came == pytest.approx(nature.share(params), abs=0.07)
            assert nature.share(params) * nature.outcome(params) == pytest.approx(nature.value(params))
    said = str(belated.compare(study, algorithms=["GP-BTS"], seeds=1, rounds=5))
    assert "what never comes is worth 0, because silence is an outcome to this study" in said
    # the same log, where silence means nothing: a query is worth what comes of it
    assert made_of.v is not None
    told = [trial for trial in study.trials() if trial.outcome is not None]
    missing = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    for trial in told:
        missing.tell(missing.ask(params=trial.params), 1.0)
    assert read_source(missing, "rounds").v is None


def test_what_was_stated_is_kept() -> None:
    study = played(Poisson(3), rounds=25, f=lambda params: params["x"], goal="minimize", floor=1.0, ceiling=0.0)
    made_of = read_source(study, "rounds")
    for k in range(5):
        world = made_of.world(k, 5)
        values = np.array([world.nature.outcome(params) for params in GRID])
        assert values.min() >= 0.0
        assert values.max() <= 1.0
        assert world.best[0] == pytest.approx(-values.min(), abs=0.02)
        assert world.worst[0] == -1.0


def test_a_finite_set_is_drawn_exactly_and_its_best_is_one_of_it() -> None:
    study = played(Poisson(3), space=Points([q["x"] for q in GRID]))
    made_of = read_source(study, "rounds")
    world = made_of.world(3, 10)
    assert world.best[0] == max(world.nature.value(params) for params in GRID)
    assert made_of.world(3, 10).nature.value(GRID[7]) == world.nature.value(GRID[7])
    steps = Study.create(space={"n": Integer(0, 9), "kind": Choice("a", "b")}, silence="unknown", seed=0)
    for _ in simulate(steps, lambda p: p["n"] + (p["kind"] == "b"), delay=Fixed(2), rounds=25, seed=0):
        pass
    assert read_source(steps, "rounds").world(0, 3).best[0] == pytest.approx(10, abs=1.0)


def test_contexts_are_those_of_the_log_each_with_a_best_of_its_own() -> None:
    contexts = [{"z": 0.1}, {"z": 0.5}, {"z": 0.9}]
    study = played(
        Poisson(3), 60, lambda p, c: 2 * c["z"] - (p["x"] - c["z"]) ** 2, 0.05,
        context={"z": Real(0, 1)}, contexts=lambda s: contexts[s % 3],
    )  # fmt: skip
    world = read_source(study, "rounds").world(0, 40)
    assert world.contexts is not None
    assert {context["z"] for context in world.contexts} == {0.1, 0.5, 0.9}
    for context, best in zip(world.contexts, world.best, strict=True):
        assert best == pytest.approx(2 * context["z"], abs=0.12)
    found = belated.compare(study, algorithms=["GP-BTS"], seeds=2, rounds=12)
    assert found.measure == "cumulative"
    assert all(np.all(row.simple >= 0) and np.all(np.diff(row.cumulative, axis=1) >= 0) for row in found.rows)


def test_by_the_clock_it_asks_as_often_as_the_study_did() -> None:
    study = played(Exponential(3600.0), 40, patience="2h", every="15m")
    made_of = read_source(study, "clock")
    assert made_of.every == pytest.approx(900)
    assert np.median(drawn(made_of.world(0, 1).nature, {"x": 0.2})) == study.delays().quantile(0.5)
    found = belated.compare(study, algorithms=["default"], silences=["unknown"], seeds=2, rounds=6)
    assert {row.patience for row in found.rows} > {"2h"}
    assert "asked every 15m" in found.world
    at_once = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience="1h", seed=0, clock=lambda: 50.0)
    for trial in at_once.ask(n=4):
        at_once.tell(trial, trial.params["x"], at=150.0)
    assert read_source(at_once, "clock").every == 25.0  # the next four when half of these are back


def test_the_theory_s_lambda_is_not_taken_for_noise() -> None:
    theory = belated.algorithms.paper(
        "GP-BUCB", kernel=belated.kernels.SE(0.2), beta=belated.confidence.Theory(2, 0.1, 0.1)
    )
    study = played(Poisson(3), 30, silence=None, algorithm=theory)
    assert read_source(study, "rounds").noise < 1.0


def test_a_gradient_by_differences() -> None:
    surface = ByDifferences(lambda X: X[:, 0] ** 2 + 3 * X[:, 1])
    values, gradient = surface.gradient(np.array([[0.5, 0.0], [1.0, 0.25]]))
    assert values == pytest.approx([0.25, 1.75])
    assert gradient == pytest.approx(np.array([[1.0, 3.0], [2.0, 3.0]]), abs=1e-3)


# Regret -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("silence", ["floor", "unknown"])
def test_regret_is_that_of_belated_regret(silence: str) -> None:
    study = played(
        Sometimes(Poisson(4), 0.8), 40, silence=silence, floor=8.0, patience=5, late="ignore", space=Points(
            [q["x"] for q in GRID]),
    )  # fmt: skip
    world = read_source(study, "rounds").world(0, 25)
    again = Study.create(
        space=study.settings.space, silence=silence, floor=8.0, patience=5, late="ignore", seed=world.number
    )
    for _ in simulate(again, world.nature.outcome, delay=world.nature, rounds=25, seed=world.seed, noise=world.noise):
        pass
    ours, theirs = measure_run(again, world), measure_regret(again, world.nature.value)
    assert ours.simple == pytest.approx(theirs.simple)
    assert np.cumsum(ours.gap) == pytest.approx(theirs.cumulative)


def test_the_best_is_the_best_that_anyone_found() -> None:
    world = read_source(played(Poisson(3), 30), "rounds").world(0, 3)
    courses = [
        CandidateRun(np.array([0.5, -0.2, 0.1]), np.array([2.0, 0.5, -0.2])),
        CandidateRun(np.array([0.5, 0.3, 0.0]), np.array([2.0, 0.5, 0.0])),
    ]
    simple, cumulative = measure_regrets([world], courses, 2)
    assert simple[:, 0] == pytest.approx(np.array([[2.2, 0.7, 0.0], [2.2, 0.7, 0.2]]))
    assert cumulative[:, 0] == pytest.approx(np.array([[0.7, 0.7, 1.0], [0.7, 1.2, 1.4]]))


def test_the_same_seed_the_same_answer_on_any_number_of_workers() -> None:
    study = played(Poisson(3), 20)

    def ends(**said: Any) -> list[Any]:
        found = belated.compare(study, algorithms=["default"], silences=["floor"], patience=[4], seeds=2, **said)
        return [(str(row.candidate), row.last("simple").tolist(), row.p) for row in found.rows]

    once = ends(rounds=8)
    assert once == ends(rounds=8) == ends(rounds=8, workers=2)
    assert once != ends(rounds=8, seed=7)
    assert study.rounds == 20  # and the study is as it was


# Candidates ---------------------------------------------------------------------------------------------------------


def names(study: Study, waits: Any, *args: Any) -> list[str]:
    return [str(candidate) for candidate in list_candidates(study.settings, waits, *args)]


def test_every_combination_that_does_not_contradict_itself() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience=4, floor=0.0, seed=0)
    found = names(study, [4, 9])
    assert found[0] == "default (silence unknown, patience 4 rounds)"
    assert len(found) == len(set(found))
    for name in ("GP-UCB", "asy-TS", "GP-BUCB", "GP-BTS", "GP-UCB-SDF (patience 9 rounds)"):
        assert name in found
    silences = [name for name in ("floor", "unknown", "waiting", "fading") if name in belated.silence.SILENCES]
    assert len(found) == 2 * len(silences) + 4 + 4


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ((["GP-BTS"],), ["GP-BTS"]),
        ((None, ["ignored"]), ["default (silence ignored, patience 5 rounds)", "GP-UCB", "asy-TS"]),
        ((["default"], ["nearest"]), ["default (silence nearest, patience 5 rounds)"]),
        ((["GP-UCB-SDF", "GP-UCB"], ["floor"]), ["GP-UCB-SDF (patience 5 rounds)"]),
    ],
)
def test_lists_narrow_and_widen(said: Any, expected: list[str]) -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    assert names(study, [5], *said)[1:] == expected


def test_none_and_auto_are_patience_too() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", limits=(0, 1), patience="auto", seed=0)
    found = names(study, [None, "auto", 3], ["default", "GP-TS-SDF"], ["unknown", "floor"])
    assert found[0] == "default (silence unknown, patience auto)"
    assert "default (silence unknown)" in found
    assert "GP-TS-SDF (patience auto)" in found
    assert "GP-TS-SDF" not in found
    own = list_candidates(study.settings, [3])[0].settings
    assert own.objective.limits is None  # what is drawn may lie outside


def test_a_study_that_has_chosen_its_patience_begins_anew() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience="auto", seed=0)
    chosen = replace(study.settings, patience=replace(study.settings.patience, m=7.0))
    assert math.isinf(list_candidates(chosen, [3])[0].settings.patience.m)


@pytest.mark.parametrize(
    ("t", "scale", "wait"),
    [(6.2, "rounds", 7), (0.0, "rounds", 1), (5423.0, "clock", "91m"), (0.5, "clock", "500ms"), (2e6, "clock", "24d")],
)
def test_quantiles_as_patience(t: float, scale: Any, wait: Any) -> None:
    assert round_patience(t, scale) == wait


def test_rounds_or_the_clock() -> None:
    rounds, clock = (
        Study.create(space={"x": Real(0, 1)}, silence="unknown", patience=m, seed=0).settings for m in (None, "1h")
    )
    assert choose_time_scale(rounds, None) == "rounds"
    assert choose_time_scale(rounds, ["2h", None]) == "clock"
    assert choose_time_scale(clock, None) == "clock"
    with pytest.raises(InvalidInput, match=r"the same for all that is compared, the study included \(got 1h, 20 rou"):
        choose_time_scale(clock, [20])


# What is refused ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"seeds": 0}, r"seeds must be from 1 to 40 \(got 0\)"),
        ({"seeds": 41}, r"seeds must be from 1 to 40 \(got 41\)"),
        ({"seeds": 2.5}, r"seeds must be an integer \(got 2.5\)"),
        ({"rounds": 0}, r"rounds must be at least 1 \(got 0\)"),
        ({"workers": 0}, r"workers must be at least 1 \(got 0\)"),
        ({"seed": -1}, r"seed must be at least 0 \(got -1\)"),
        ({"algorithms": ["GP-BTZ"]}, r"algorithm must be one of .* \(got 'GP-BTZ'\)"),
        ({"algorithms": "GP-BTS"}, r"algorithms must be a list with something in it \(got 'GP-BTS'\)"),
        ({"silences": []}, r"silences must be a list with something in it \(got \[\]\)"),
        ({"silences": ["quiet"]}, r"silences must be of floor, .* \(got 'quiet'\)"),
        ({"patience": [0]}, r"patience must be more than 0 \(got 0\)"),
        ({"algorithms": ["GP-UCB"], "silences": ["floor"]}, r"nothing is left to compare .* \(got GP-UCB with silence"),
    ],
)
def test_bad_input_is_one_sentence_before_any_work(said: Any, sentence: str) -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)  # which has heard nothing
    with pytest.raises(InvalidInput, match=sentence):
        belated.compare(study, **said)


def test_a_study_that_has_heard_nothing_is_no_world() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    study.ask()
    with pytest.raises(NothingHeard, match="nothing has been heard yet, so there is no belief to draw a world from"):
        belated.compare(study)
    study.add({"x": 0.5}, 1.0)
    with pytest.raises(NothingHeard, match="no delay has been seen yet: every outcome was added together with its tri"):
        belated.compare(study)


def test_one_outcome_is_enough_and_said_to_be_little() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="floor", seed=0)
    study.tell(study.ask(), 1.0)
    study.fail(study.ask(), "infeasible")
    found = belated.compare(study, algorithms=["default"], silences=["unknown"], seeds=1, rounds=4)
    assert "Only 1 of its outcomes came with a delay: that is little to simulate delays from." in str(found)


def test_a_set_of_which_nothing_is_asked_twice() -> None:
    study = played(Fixed(1), 5, space=Points([0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 0.5, 0.7]), repeats="never")
    assert belated.compare(study, algorithms=["GP-BTS"], seeds=1).rounds == 8


# The answer ---------------------------------------------------------------------------------------------------------


def answer(*ends: list[float]) -> ComparisonResult:
    """What is said of such regrets of the study's own settings and of others."""
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    regrets = np.array(ends)[:, :, None]
    return build_result(
        list_candidates(study.settings, [4, 8, 12])[: len(ends)], regrets, 2 * regrets, "simple", "A world.", ""
    )


SPREAD = np.linspace(0.1, 0.2, 10)


def test_a_better_one_is_named_with_numbers() -> None:
    found = answer((SPREAD + 0.3).tolist(), SPREAD.tolist(), (SPREAD + 0.31).tolist())
    assert found.answer == (
        "default (silence floor, patience 4 rounds) would have served best: simple regret 0.150 ± 0.011 against "
        "0.450 ± 0.011 of what the study uses (p = 0.0039). All others are behind it by more than chance."
    )
    assert found.best.difference.mean == pytest.approx(-0.3)
    assert found.best.p == pytest.approx(2 * 2 / 2**10)  # Holm: two candidates
    assert found.own.p == 1.0


def test_what_is_within_chance_is_said_to_be() -> None:
    wobble = np.where(np.arange(10) % 2, 0.05, -0.06)
    found = answer(SPREAD.tolist(), (SPREAD + wobble).tolist(), (SPREAD + 1).tolist())
    assert "comes out best, with simple regret 0.14" in found.answer
    assert "but that difference is within chance (p = " in found.answer
    last = "Of the 2 others, 1 does not differ from it by more than chance: default (silence unknown)."
    assert found.answer.endswith(last)
    assert found.best.p > LEVEL


def test_the_study_s_own_settings_may_be_best() -> None:
    found = answer(SPREAD.tolist(), (SPREAD + 0.2).tolist())
    assert found.best is found.own
    assert found.answer.startswith("What the study uses serves it best: default (silence unknown), with simple regret")


def test_a_tie_is_no_best() -> None:
    """The same regrets, or regrets that wobble: nothing is named the best."""
    wobble = np.where(np.arange(10) % 2, 0.05, -0.06)
    for others in ([SPREAD.tolist()], [(SPREAD + wobble).tolist(), (SPREAD - 0.9 * wobble).tolist()]):
        found = answer(SPREAD.tolist(), *others)
        assert found.tied
        assert found.answer.startswith("Nothing can be told apart: simple regret 0.1")
        assert found.answer.endswith(
            "0.150 ± 0.011 of default (silence unknown), what the study uses. No difference is more than chance."
        )
    assert not answer(SPREAD.tolist()).tied  # alone


def test_too_few_seeds_are_said_to_be() -> None:
    found = answer([0.5, 0.6], [0.1, 0.2], [0.7, 0.8])
    assert found.answer.endswith("With 2 seeds no difference can be more than chance; that takes 7.")
    assert answer([0.5], [0.1]).table.splitlines()[0] == (
        "Regret after 1 round, mean; sorted and compared by simple regret"
    )


def test_the_table_is_aligned_and_marks_the_study_s_own() -> None:
    lines = answer((SPREAD + 0.3).tolist(), SPREAD.tolist(), (SPREAD + 10).tolist()).table.splitlines()
    assert " ".join(lines[2].split()) == "algorithm silence patience simple ↓ cumulative than the study's p"
    assert lines[3].split()[:3] == ["default", "floor", "4"]
    assert lines[4].split()[:3] == ["default", "*", "unknown"]
    assert lines[-1] == "* what the study uses"
    assert max(map(len, lines)) <= 100
    assert {line.index("±") for line in lines[3:6]} == {lines[3].index("±")}


def test_plain_values_hold_everything() -> None:
    found = answer([0.5], [0.1])
    plain = found.to_dict()
    assert plain["answer"] == found.answer
    assert [row["own"] for row in plain["candidates"]] == [False, True]
    assert plain["candidates"][0]["simple_regret"] == {"mean": 0.1, "standard_error": None}
    assert plain["candidates"][0]["runs"]["simple_regret"] == [0.1]
    assert (plain["tied"], repr(found)) == (True, "Compared(2 candidates, nothing can be told apart)")
    better = answer((SPREAD + 0.3).tolist(), SPREAD.tolist())
    assert (better.to_dict()["tied"], repr(better)) == (
        False,
        "Compared(2 candidates, best default (silence floor, patience 4 rounds))",
    )
