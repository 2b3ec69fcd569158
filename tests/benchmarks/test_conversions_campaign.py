"""The conversion campaigns: worlds are the same for everyone, news comes in time, and true rates are what counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.conversions import campaign
from benchmarks.conversions.campaign import Job, converse, describe, play
from benchmarks.conversions.entrants import entrants
from benchmarks.conversions.peers import News
from benchmarks.conversions.truth import draw_truth
from benchmarks.conversions.visitors import draw_visitors
from benchmarks.conversions.worlds import DAYS, WINDOW, WORLDS, Cube, Exponential, Items, LogNormal

FOREVER = float("inf")


class Fixed:
    """Shows everyone the same, and remembers what it hears and when."""

    def __init__(self, query):
        self.query, self.heard, self.asked = np.asarray(query, dtype=float), [], []

    def hear(self, news):
        self.heard.append(list(news))

    def choose(self, hour, segments):
        self.asked.append((hour, len(segments), len(self.heard)))
        return [self.query] * len(segments)


def random_queries(name, n, seed=0):
    known = describe(name, draw_truth(name, seed))
    rng = np.random.default_rng(seed)
    return rng.random((n, known.d)) if known.d else rng.integers(len(known.features), size=(n, 1)).astype(float)


# The worlds -----------------------------------------------------------------------------------------------------------


def test_the_worlds_span_what_they_are_to_span():
    worlds = WORLDS.values()
    assert len(worlds) >= 8
    assert {isinstance(world.shown, Cube) for world in worlds} == {True, False}
    assert {world.shown.features > 0 for world in worlds if isinstance(world.shown, Items)} == {True, False}
    assert (min(w.segments for w in worlds), max(w.segments for w in worlds)) == (1, 8)
    assert (min(w.per_day for w in worlds), max(w.per_day for w in worlds)) == (50, 5000)
    assert {type(delay) for world in worlds for delay in world.delays} == {Exponential, LogNormal}
    assert {len(world.delays) for world in worlds} > {1}  # some depend on the segment
    assert all(len(world.delays) in (1, world.segments) for world in worlds)
    assert any(world.drifts for world in worlds)
    assert any(world.stepped for world in worlds)
    assert 1 < sum(world.quick for world in worlds) < len(worlds)


@pytest.mark.parametrize("name", WORLDS)
def test_rates_lie_between_the_least_and_the_best(name):
    world, truth = WORLDS[name], draw_truth(name, 3)
    queries = random_queries(name, 400, seed=3)
    for day in (0, DAYS - 1):
        for segment in range(world.segments):
            rates = truth.rates(queries, np.full(len(queries), segment), day)
            assert 0.005 <= world.low <= rates.min()
            assert rates.max() <= truth.best(day)[segment] * 1.001 <= world.high * 1.001 <= 0.4004
            assert truth.average(day)[segment] == pytest.approx(rates.mean(), rel=0.15)


@pytest.mark.parametrize("name", WORLDS)
def test_rates_change_from_day_to_day_only_where_the_world_drifts(name):
    truth, queries = draw_truth(name, 0), random_queries(name, 50)
    segments = np.zeros(50, dtype=int)
    first, last = truth.rates(queries, segments, 0), truth.rates(queries, segments, DAYS - 1)
    assert WORLDS[name].drifts == (not np.array_equal(first, last))


def test_items_with_features_have_structure_and_names_have_none():
    """How much nearer the rates of the nearest neighbour are than those of any other, over 20 seeds."""

    def nearness(name):
        ratios = []
        for seed in range(20):
            truth = draw_truth(name, seed)
            n = len(truth.places)
            rates = truth.rates(np.arange(float(n))[:, None], np.zeros(n, dtype=int), 0)
            away = np.linalg.norm(truth.places[:, None] - truth.places[None], axis=2) + 1e12 * np.eye(n)
            gaps = np.abs(rates[:, None] - rates[None])
            ratios.append(gaps[np.arange(n), away.argmin(axis=1)].mean() / gaps.sum() * n * (n - 1))
        return float(np.mean(ratios))

    assert nearness("catalogue") < 0.6
    assert nearness("offers") == pytest.approx(1.0, abs=0.15)


def test_a_seed_is_a_world_of_its_own_and_always_the_same():
    again = draw_truth.__wrapped__("offers", 1)
    assert np.array_equal(again.average(0), draw_truth("offers", 1).average(0))
    assert not np.array_equal(again.average(0), draw_truth("offers", 2).average(0))
    one, same, other = (draw_visitors("offers", seed) for seed in (1, 1, 2))
    assert np.array_equal(one.luck, same.luck)
    assert not np.array_equal(one.luck, other.luck)


@pytest.mark.parametrize("delay", [Exponential(30), LogNormal(14)])
def test_delays_are_those_that_come_within_the_window(delay):
    from scipy.stats import expon, lognorm

    law = expon(scale=30) if isinstance(delay, Exponential) else lognorm(1.0, scale=14)
    p = np.linspace(0.01, 0.99, 9)
    assert law.cdf(delay.quantile(p)) / law.cdf(WINDOW) == pytest.approx(p)
    assert delay.quantile(np.array([1.0])) == pytest.approx(WINDOW)


def test_delays_depend_on_the_segment_where_they_are_to():
    visitors = draw_visitors("mailing", 0)
    medians = [np.median(visitors.delays[visitors.segments == segment]) for segment in range(3)]
    assert medians[0] < 6 < 12 < medians[1] < 24 < medians[2]


@pytest.mark.parametrize("name", ["banners", "offers", "rare"])
def test_visitors_come_all_day_long(name):
    hours = draw_visitors(name, 0).hours
    assert np.array_equal(np.bincount(hours // 24), [WORLDS[name].per_day] * DAYS)
    assert np.ptp(np.bincount(hours)) <= 1


# A campaign -----------------------------------------------------------------------------------------------------------


def test_everything_is_heard_in_the_hour_after_it_happened_and_no_sooner():
    truth, visitors = draw_truth("banners", 0), draw_visitors("banners", 0)
    best = float(truth.rates(np.arange(8.0)[:, None], np.zeros(8, dtype=int), 0).argmax())
    fixed = Fixed([best])
    shown = list(converse(fixed, truth, visitors, 10, FOREVER))
    assert sum(batch.stop - batch.start for batch, _ in shown) == 500
    heard = {news.visitor: (hour, news) for hour, all_ in enumerate(fixed.heard) for news in all_}
    assert len(heard) == sum(map(len, fixed.heard))  # nothing twice
    for visitor in range(500):
        began, rate = visitors.hours[visitor], truth.best(0)[0]
        converts = visitors.luck[visitor] < rate
        at = began + (visitors.delays[visitor] if converts else WINDOW)
        if at <= 239:
            hour, news = heard[visitor]
            assert news == News(visitor, int(converts), pytest.approx(at))
            assert max(at, began + 1) <= hour < max(at, began) + 1 + 1e-9
        elif at > 240:
            assert visitor not in heard
    assert {outcome for _, (_, outcome, _) in heard.values()} == {0, 1}


def test_an_hour_is_chosen_before_any_of_its_outcomes():
    truth, visitors = draw_truth("offers", 0), draw_visitors("offers", 0)
    visitors = replace(visitors, luck=np.zeros_like(visitors.luck), delays=np.zeros_like(visitors.delays))
    fixed = Fixed([0.0])
    list(converse(fixed, truth, visitors, 1, FOREVER))
    assert [hour for hour, _, _ in fixed.asked] == list(range(24))
    assert all(heard == hour + 1 for hour, _, heard in fixed.asked)
    assert [len(news) for news in fixed.heard] == [0, *(n for _, n, _ in fixed.asked[:-1])]


def test_what_counts_are_true_rates(monkeypatch):
    """The best item of each segment has share 1, and one item for all the ratio of its rates, whatever was drawn."""
    truth = draw_truth("offers", 0)
    rates = np.stack([truth.rates(np.full((3, 1), float(item)), np.arange(3), 0) for item in range(20)])

    class Best(Fixed):
        def choose(self, hour, segments):
            return rates.argmax(axis=0)[segments].astype(float)[:, None]

    monkeypatch.setattr("benchmarks.conversions.peers.random.chooser", lambda *_: Best([0.0]))
    run = play(Job("offers", "random", 0, 2, FOREVER), entrants()["random"])
    assert (run.share, run.by_day) == (pytest.approx(1.0), pytest.approx((1.0, 1.0)))
    assert (run.reached, run.note) == (2.0, "")
    monkeypatch.setattr("benchmarks.conversions.peers.random.chooser", lambda *_: Fixed([4.0]))
    run = play(Job("offers", "random", 0, 2, FOREVER), entrants()["random"])
    segments = draw_visitors("offers", 0).segments[:600]
    assert run.share == pytest.approx(rates[4, segments].sum() / truth.best(0)[segments].sum())


def test_what_is_not_reached_counts_as_random(monkeypatch):
    spent = iter([0.0] + [0.0] * 450 + [61.0] * 100)  # the limit passes with the 451st choice
    monkeypatch.setattr(campaign.time, "process_time", lambda: next(spent))
    run = play(Job("offers", "random", 0, 3, 60.0), entrants()["random"])
    truth = draw_truth("offers", 0)
    segments = draw_visitors("offers", 0).segments[:900]
    best, average = truth.best(0)[segments], truth.average(0)[segments]
    assert run.random == pytest.approx(average.sum() / best.sum())
    assert run.by_day[2] == pytest.approx(average[600:].sum() / best[600:].sum())
    assert run.by_day[0] != pytest.approx(average[:300].sum() / best[:300].sum())
    assert run.reached == pytest.approx(450 // 12.5 * 12.5 / 300, abs=1 / 24)
    assert run.note == ""


def test_a_peer_that_raises_is_random_from_there_and_the_note_says_why(monkeypatch):
    class Broken(Fixed):
        def hear(self, news):
            if news:
                raise ArithmeticError("singular")

    monkeypatch.setattr("benchmarks.conversions.peers.random.chooser", lambda *_: Broken([0.0]))
    run = play(Job("offers", "random", 0, 2, 60.0), entrants()["random"])
    assert run.note == "ArithmeticError: singular"
    assert 0 < run.reached < 2


def skip_without_needs(name):
    if entrants()[name].missing:
        pytest.skip(f"not installed: {', '.join(entrants()[name].missing)}")


@pytest.mark.parametrize("name", entrants())
def test_everyone_installed_can_take_part(name):
    skip_without_needs(name)
    job = Job("banners", name, 0, 1, 60.0)
    run = play(job, entrants()[name])
    assert (run.note, run.reached) == ("", 1.0)
    assert 0 < run.share <= 1
    assert 0 < run.cpu < 60
    assert play(job, entrants()[name]).by_day == run.by_day


@pytest.mark.parametrize("name", entrants())
def test_everyone_installed_chooses_inside_a_square_and_among_items(name):
    skip_without_needs(name)
    for world in ("mailing", "catalogue"):
        known = describe(world, draw_truth(world, 0))
        chooser = entrants()[name].load().chooser(name, known, 0)
        first = np.stack(list(chooser.choose(0, np.array([0, 1, 2]))))
        chooser.hear([News(1, 1, 5.5)])
        rows = np.concatenate([first, np.stack(list(chooser.choose(6, np.array([2, 0]))))])
        assert rows.shape == (5, known.d or 1)
        assert np.all((rows >= 0) & (rows <= (1 if known.d else 99)))
        assert known.d or np.array_equal(rows, np.round(rows))


@pytest.mark.parametrize(("name", "told"), [("default (fading)", [None, 1.0]), ("GP-BUCB", [0.0, 1.0])])
def test_the_default_hears_conversions_alone(name, told):
    """A study whose silence says 0 is told 1s; one of the paper's that gives silence no meaning is told both."""
    chooser = entrants()[name].load().chooser(name, describe("banners", draw_truth("banners", 0)), 0)
    list(chooser.choose(0, np.array([0, 0])))
    chooser.hear([News(1, 1, 12.5), News(0, 0, WINDOW)])
    trials = chooser.study.trials()
    assert [trial.outcome for trial in trials] == told
    assert trials[1].delay is not None
