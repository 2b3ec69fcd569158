"""Conversions: what is believed about rates, while most of the answers are still out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import gamma

from belated import Choice, Contradiction, InvalidInput, Points, Real, Study
from belated.learner.cell_kernel import WholeCovariance
from belated.learner.conversions import Cells, believe_rates, find_mode
from belated.learner.delays.arrival_law import ArrivalLaw
from belated.learner.gp.kernels import Matern52
from belated.learner.gp.posterior import GP
from belated.learner.gp.scale import RateScale

DAY = 86400.0
AT = [{"x": x} for x in (0.1, 0.25, 0.75, 0.9)]
RATES = np.array([0.05, 0.05, 0.2, 0.2])


def show_for_three_days(silence: str, seed: int) -> Study:
    """300 queries in three days, told nightly: rate 0.05 below 0.5 and 0.2 above, delays with a median of 14 h."""
    rng, now = np.random.default_rng(seed), [0.0]
    study = Study.create(
        space={"x": Real(0, 1)},
        outcomes="conversion",
        silence=silence,
        patience="7d",
        seed=seed,
        clock=lambda: now[0],
    )
    due = []
    for i, x in enumerate(rng.permutation(np.linspace(0.0, 1.0, 300))):
        now[0] = 3 * DAY * i / 300
        trial = study.add({"x": float(x)})
        if rng.random() < (0.05 if x < 0.5 else 0.2):
            due.append((now[0] + rng.exponential(14 * 3600 / np.log(2.0)), trial.number))
    now[0] = 3 * DAY
    for at, number in sorted(due):
        if at <= now[0]:
            study.tell(number, 1, at=at)
    return study


@pytest.fixture(scope="module")
def redraws() -> dict[str, np.ndarray]:
    return {
        silence: np.array([show_for_three_days(silence, seed).posterior(AT).mean for seed in range(seeds)])
        for silence, seeds in (("fading", 50), ("floor", 10))
    }


def test_fading_estimates_the_rate_that_will_be_reached(redraws: dict[str, np.ndarray]) -> None:
    assert np.all(np.abs(np.mean(redraws["fading"], axis=0) - RATES) <= [0.02, 0.02, 0.04, 0.04])


def test_floor_stays_below_it(redraws: dict[str, np.ndarray]) -> None:
    assert np.all(np.mean(redraws["floor"], axis=0) <= np.mean(redraws["fading"][:10], axis=0))


# The belief from counts


def make_cells(k: list[float], n: list[float]) -> Cells:
    X = np.linspace(0.0, 1.0, len(k))[:, None]
    return Cells(np.arange(len(k)) + 1, X, np.array(k), np.array(n), np.array(n), c=1.0, mean=1.0, doubt=0.0)


def test_a_cell_alone_has_its_own_rate() -> None:
    cells, gp = make_cells([12.0], [100.0]), GP(Matern52(0.2, variance=1e4).on([(1,)]), 1.0, np.log(0.05))
    belief = believe_rates(gp, cells).now
    assert np.exp(belief.mean(cells.X)) == pytest.approx(0.12, rel=1e-3)
    assert belief.std(cells.X) == pytest.approx(np.sqrt(0.88 / 12), rel=1e-3)  # p (1 - p) / n, on the log scale


@pytest.mark.parametrize("k", [1.0, 3.0, 12.0, 100.0])
def test_the_interval_of_a_cell_alone_is_that_of_a_gamma_distribution(k: float) -> None:
    """What k conversions of very many queries say about a rate, if nothing is known before: Gamma(k) / n."""
    n = 1e6
    cells, gp = make_cells([k], [n]), GP(Matern52(0.2, variance=1e8).on([(1,)]), 1.0, np.log(k / n))
    scale, rows = RateScale(0.0), cells.X
    mean, std, low, high = scale.describe(*believe_rates(gp, cells).now.mean_and_std(rows))
    expected = gamma(k, scale=1.0 / n)
    found = [mean[0], std[0], low[0], high[0]]
    np.testing.assert_allclose(found, [expected.mean(), expected.std(), *expected.ppf([0.05, 0.95])], rtol=1e-3)


def test_an_interval_holds_the_rate_and_widens_with_its_std() -> None:
    stds = np.array([0.0, 1e-9, 1e-3, 0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 5.0, 20.0, 1e3])
    rate, _, low, high = RateScale(0.0).describe(np.full(len(stds), np.log(0.1)), stds)
    assert np.all((low >= 0.0) & (low <= rate * (1 + 1e-9)) & (rate * (1 - 1e-9) <= high))
    assert np.all(np.isfinite(high))
    assert np.all(np.diff(low) <= 1e-9)
    assert np.all(high[1:] >= high[:-1] * (1 - 1e-9))
    assert high[6] == pytest.approx(high[7], rel=0.03)  # nothing jumps where less than one conversion is known


def test_the_mode_is_where_the_slope_vanishes() -> None:
    cells, gp = make_cells([0.0, 3.0, 1.0, 9.0], [40.0, 40.0, 10.0, 50.0]), GP(Matern52(0.3).on([(1,)]), 1.0, -2.0)
    K = gp.kernel(cells.X, cells.X)
    u = find_mode(gp, cells, WholeCovariance(K)).u
    v = np.exp(u)
    slope = (cells.k - v * cells.exposure) / (1.0 - v) - np.linalg.solve(K, u - gp.mean)
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_looking_ahead_keeps_the_mean_and_knows_more() -> None:
    now = make_cells([1.0, 3.0, 0.0], [20.0, 30.0, 25.0])
    cells = replace(now, exposure=0.3 * now.exposure)
    rates = believe_rates(GP(Matern52(0.3).on([(1,)]), 1.0, -2.5), cells)
    Q = np.linspace(-0.2, 1.2, 30)[:, None]
    np.testing.assert_allclose(rates.ahead.mean(Q), rates.now.mean(Q), atol=1e-10)
    assert np.all(rates.ahead.std(cells.X) < rates.now.std(cells.X))


def test_delays_are_learned_from_those_that_came() -> None:
    rng = np.random.default_rng(0)
    d, a = rng.exponential(1.0, 4000), rng.uniform(0.0, 7.0, 4000)  # most queries are young: long delays are missing
    law = ArrivalLaw.learn(d[d <= a], a[d <= a], 7.0)
    ages = np.array([0.2, 0.5, 1.0, 2.0, 4.0, 7.0])
    np.testing.assert_allclose(law.share_by(ages), (1 - np.exp(-ages)) / (1 - np.exp(-7.0)), atol=0.05)


# What a study of conversions takes


def make_study(**settings) -> Study:
    chosen = {"space": Points([0.0, 0.5, 1.0]), "silence": "fading", "patience": 10.0, "seed": 0} | settings
    return Study.create(outcomes="conversion", **chosen)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"goal": "minimize"}, "conversions are maximized"),
        ({"floor": -1.0}, "conversions imply floor=0"),
        ({"silence": "unknown"}, 'conversions need silence="floor" or "fading"'),
        ({"silence": None}, 'conversions need silence="floor" or "fading": the rate so far, or the one to come'),
        ({"patience": None}, "conversions need patience"),
    ],
)
def test_what_contradicts_conversions_is_refused(settings, sentence: str) -> None:
    with pytest.raises((Contradiction, InvalidInput), match=sentence):
        make_study(**settings)


def test_a_conversion_is_not_negative_and_has_no_noise_of_its_own() -> None:
    study = make_study()
    trial = study.ask()
    with pytest.raises(InvalidInput, match="a conversion must be 1 or an amount, or 0 for none"):
        study.tell(trial, -1.0)
    with pytest.raises(Contradiction, match="the noise of conversions follows from their rates"):
        study.tell(trial, 1.0, noise=0.1)
    assert study.tell(trial, 1.0).status == "heard"


def test_defaults_of_conversions() -> None:
    settings = make_study().settings
    assert (settings.objective.floor, settings.regret, settings.repeats) == (0.0, "cumulative", "always")


def test_the_belief_grows_with_what_is_shown_and_the_choice_follows_it() -> None:
    """Three items with the rates 0.02, 0.3 and 0.05: the best of them gets most of the last 150 queries."""
    rng, rates, now = np.random.default_rng(3), {0.0: 0.02, 0.5: 0.3, 1.0: 0.05}, [0.0]
    study = make_study(clock=lambda: now[0], patience="1d")
    shown, due = [], []
    for hour in range(30):
        now[0] = 3600.0 * hour
        for at, number in [one for one in due if one[0] <= now[0]]:
            study.tell(number, 1, at=at)
        due = [one for one in due if one[0] > now[0]]
        for trial in study.ask(n=10):
            shown.append(trial.params["x"])
            if rng.random() < rates[trial.params["x"]]:
                due.append((now[0] + rng.exponential(3600.0), trial.number))
    belief = study.posterior([{"x": x} for x in rates])
    assert shown[-150:].count(0.5) > 100
    assert belief.low[1] <= 0.3 <= belief.high[1]
    assert study.recommend().params == {"x": 0.5}
    assert np.all(belief.std > 0)


def test_amounts_count_as_what_they_are() -> None:
    """Half of what is shown brings 4, half of the other 1: the rates are 2 and 0.5."""
    study = make_study(patience=1)
    for i in range(200):
        trial = study.add({"x": 0.0 if i % 2 else 1.0})
        if i % 4 < 2:
            study.tell(trial, 4.0 if i % 2 else 1.0)
    for _ in range(3):
        study.add({"x": 0.5})
    low, high = study.posterior([{"x": 1.0}, {"x": 0.0}]).mean
    assert low == pytest.approx(0.5, rel=0.25)
    assert high == pytest.approx(2.0, rel=0.25)


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("silence", ["fading", "floor"])
def test_before_anything_is_asked_every_rate_is_as_likely_as_another(silence: str, pending: bool) -> None:
    fresh, withdrawn = make_study(silence=silence), make_study(silence=silence)
    withdrawn.fail(withdrawn.ask(), "withdrawn")  # as if it had never been asked
    for study in (fresh, withdrawn):
        belief = study.posterior([{"x": 0.0}, {"x": 1.0}], pending=pending)
        assert belief.mean[0] == belief.mean[1]
        assert np.all((0 < belief.low) & (belief.low < belief.mean) & (belief.mean < belief.high))


@pytest.mark.parametrize("algorithm", ["default", "GP-UCB-SDF"])
def test_a_rate_lies_between_0_and_1_while_every_conversion_counts_1(algorithm: str) -> None:
    how = {"algorithm": algorithm} | ({"silence": "floor"} if algorithm != "default" else {})
    study = make_study(**how)
    for i in range(12):
        trial = study.add({"x": 0.0 if i % 2 else 1.0})
        if i % 2:
            study.tell(trial, 1)
    mean, _, low, high = study.posterior([{"x": 0.0}, {"x": 0.5}, {"x": 1.0}])
    assert np.all((0.0 <= low) & (low <= mean) & (mean <= high) & (high <= 1.0))
    assert high[0] == 1.0  # everything converted there


def test_amounts_may_pass_1() -> None:
    study = make_study()
    for _ in range(6):
        study.tell(study.add({"x": 0.0}), 30.0)
    assert study.posterior([{"x": 0.0}]).high[0] > study.posterior([{"x": 0.0}]).mean[0] > 10.0


# The first day, before anything has come back


def test_before_anything_is_heard_every_item_is_shown_as_often_in_every_segment() -> None:
    study = make_study(context={"who": Choice("a", "b")}, initial=0)
    shown = [(t.context["who"], t.params["x"]) for t in study.ask(contexts=[{"who": who} for who in "aabab" * 6])]
    counts = [shown.count((who, x)) for who in "ab" for x in (0.0, 0.5, 1.0)]
    assert counts == [6, 6, 6, 4, 4, 4]


def test_before_anything_is_heard_a_continuous_space_is_filled_evenly() -> None:
    study = make_study(space={"x": Real(0, 1)}, initial=0)
    x = np.sort([trial.params["x"] for trial in study.ask(n=40)])
    assert np.max(np.diff(x, prepend=0.0, append=1.0)) < 2.5 / 40
