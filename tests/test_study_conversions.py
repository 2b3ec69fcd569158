"""Conversions told to a study: of a 0 and a conversion the conversion stands, in whichever order they come."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated
from belated import AlreadyEnded, AlreadyTold, InvalidInput, NothingHeard, Receipt, Study, check
from belated.events import Converted, Refused, Repeated, Told
from tests.support.refusals import refusal
from tests.support.studies import Place

HOUR = 3600.0


def create(place: Place, **said: Any) -> Study:
    words = {"outcomes": "conversion", "silence": "fading", "patience": "7d", **said}
    return place.create(**words)


@pytest.mark.parametrize("patience", ["7d", 20])
def test_a_conversion_after_a_0_stands(place: Place, patience: str | int) -> None:
    study = create(place, patience=patience)
    trial = study.ask()
    place.clock.now += HOUR
    nothing = study.tell(trial, 0)
    assert (nothing.status, nothing.delay, nothing.used, nothing.note) == ("heard", 0.0, True, "")
    assert study.trial(1).delay is None  # when nobody converted is no delay
    place.clock.now += HOUR
    receipt = place.another(study).tell(trial, 1)
    assert (receipt.status, receipt.used) == ("heard", True)
    assert receipt.note == "it was told 0 before; the conversion stands"
    for handle in (study, place.restart(study)):
        after = handle.trial(1)
        assert (after.outcome, after.delay) == (1.0, 2 * HOUR if patience == "7d" else 1.0)
    assert [type(event) for event in study.events()[1:]] == [Told, Converted]


def test_a_0_after_a_conversion_changes_nothing(place: Place) -> None:
    study = create(place)
    trial = study.ask()
    study.tell(trial, 1)
    before = study.events()
    receipt = study.tell(trial, 0)
    assert (receipt.status, receipt.note) == ("duplicate", "it converted before, and the conversion stands")
    assert study.events() == before
    assert study.tell(trial, 0, key="batch 7") == receipt
    assert isinstance(study.events()[-1], Repeated)
    assert place.restart(study).tell(trial, 0, key="batch 7") == receipt
    assert study.trial(1).outcome == 1.0


def test_every_key_gives_its_first_receipt_for_good(place: Place) -> None:
    study = create(place)
    trial = study.ask()
    receipts: dict[tuple[float, str], Receipt] = {}
    for value, key in ((0, "a"), (2.5, "b"), (0, "c"), (2.5, "d")):
        place.clock.now += HOUR
        receipts[value, key] = study.tell(trial, value, key=key)
    assert [receipt.status for receipt in receipts.values()] == ["heard", "heard", "duplicate", "duplicate"]
    for handle in (study, place.another(study), place.restart(study)):
        assert {call: handle.tell(trial, call[0], key=call[1]) for call in receipts} == receipts


def test_another_amount_is_refused(place: Place) -> None:
    study = create(place)
    trial = study.ask()
    for value in (0, 2.5):
        study.tell(trial, value)
    assert "told before, with 2.5" in refusal(AlreadyTold, lambda: study.tell(trial, 3.0))
    assert isinstance(study.events()[-1], Refused)


@pytest.mark.parametrize(("late", "k"), [("use", 1.0), ("ignore", 0.0)])
def test_after_the_window_late_says_whether_it_counts(place: Place, late: str, k: float) -> None:
    study = create(place, late=late)
    trial = study.ask()
    study.tell(trial, 0)
    place.clock.now += 8 * 24 * HOUR
    receipt = study.tell(trial, 1)
    assert (receipt.status, receipt.used) == ("late", late == "use")
    assert receipt.note.startswith("it was told 0 before; the conversion stands")
    assert ("not used by the model" in receipt.note) == (late == "ignore")
    assert study.trial(1).status == "late"
    others = create(place, late=late, name="others")
    for value in [k] * 3:
        others.tell(others.add(dict(trial.params)), value)
    rates = [float(s.posterior([dict(trial.params)]).mean[0]) for s in (study, others)]
    assert (rates[0] > 0.5) == (k > 0) == (rates[1] > 0.5)


def test_a_0_told_after_the_window_is_not_late(place: Place) -> None:
    study = create(place, late="ignore")
    trial = study.ask()
    place.clock.now += 8 * 24 * HOUR
    assert study.tell(trial, 0).status == "heard"


def test_an_amendment_is_a_decision_that_no_tell_changes(place: Place) -> None:
    study = create(place)
    trial = study.ask()
    study.tell(trial, 1)
    study.amend(trial, 0, reason="a bot")
    assert study.trial(1).delay is None
    refusal(AlreadyTold, lambda: study.tell(trial, 1))
    study.amend(trial, 2, reason="no bot, and it bought two")
    refusal(AlreadyTold, lambda: study.tell(trial, 0))
    assert place.restart(study).trial(1).outcome == 2.0


def test_the_order_of_tells_does_not_matter(place: Place) -> None:
    """I10: whatever the order of what is told of three trials, the same is believed."""
    tells = [(1, 0.0, HOUR), (1, 1.0, 2 * HOUR), (2, 0.0, 3 * HOUR), (3, 1.0, 4 * HOUR)]
    beliefs, outcomes = [], []
    for i, order in enumerate(permutations(tells)):
        study = create(place, name=f"order-{i}", initial=10**6)
        start = place.clock.now
        study.ask(n=3)
        place.clock.now += 5 * HOUR
        for number, value, after in order:
            study.tell(number, value, at=start + after)
        outcomes.append([(trial.outcome, trial.delay, trial.told_at) for trial in study.trials()])
        beliefs.append(study.posterior([{"x": 0.0}, {"x": 0.5}]).mean)
        place.clock.now = start
    assert all(other == outcomes[0] for other in outcomes)
    assert all(np.array_equal(other, beliefs[0]) for other in beliefs)


def test_real_outcomes_keep_their_0(place: Place) -> None:
    study = place.create()
    trial = study.ask()
    study.tell(trial, 0)
    refusal(AlreadyTold, lambda: study.tell(trial, 1))


def test_the_check_knows_it(tmp_path: Path) -> None:
    place = Place(f"sqlite:///{tmp_path}/lab.db")
    study = create(place)
    first, second = study.ask(n=2)
    for trial, value, key in ((first, 0, None), (first, 1, "a"), (first, 0, "b"), (second, 1, None), (second, 0, "c")):
        study.tell(trial, value, key=key)
    report = check(str(place.url))
    assert report.ok, str(report)
    assert report.outcomes == 2
    place.disconnect()


# Counts of people by day

DAY = 24 * HOUR
X = {"x": 0.5}


def count(place: Place, day: float, shown: int, converted: int, as_of: float, x: float = 0.5) -> dict[str, Any]:
    return {"params": {"x": x}, "day": day, "shown": shown, "converted": converted, "as_of": as_of}


def test_counts_are_one_trial_and_are_stated_anew(place: Place) -> None:
    study = create(place)
    first = study.add_many([count(place, 0.0, 500, 12, DAY), count(place, DAY, 400, 0, 2 * DAY)])
    assert [(trial.number, trial.status, trial.shown, trial.converted) for trial in first] == [
        (1, "counted", 500, 12),
        (2, "counted", 400, 0),
    ]
    again = place.another(study).add_many([count(place, 0.0, 500, 19, 2 * DAY)])
    assert [(trial.number, trial.shown, trial.converted, trial.counted_at) for trial in again] == [
        (1, 500, 19, 2 * DAY)
    ]
    events = len(study.events())
    assert events == 5  # asked and counted, twice; and counted again
    assert study.add_many([count(place, 0.0, 500, 19, 2 * DAY)]) == again
    assert len(study.events()) == events
    assert place.restart(study).trial(1) == again[0]


def test_the_order_of_statements_does_not_matter(place: Place) -> None:
    stated = [count(place, 0.0, 500, c, (i + 1) * DAY) for i, c in enumerate((12, 19, 17, 21))]
    trials, beliefs = [], []
    for i, order in enumerate(permutations(stated)):
        study = create(place, name=f"order-{i}")
        for row in order:
            study.add_many([row])
        trials.append(study.trials())
        beliefs.append(study.posterior([X]))
    assert trials[0][0].converted == 21
    assert all(other == trials[0] for other in trials)
    assert all(np.array_equal(other, beliefs[0]) for other in beliefs)


def test_all_rows_or_none(place: Place) -> None:
    study = create(place)
    good, bad = count(place, 0.0, 500, 12, DAY), count(place, 0.0, 500, 600, DAY)
    assert refusal(belated.InvalidInput, lambda: study.add_many([good, bad])) == (
        "row 2: converted must lie between 0 and shown, 500 (got 600)"
    )
    refusal(belated.InvalidInput, lambda: study.add_many([good, {**good, "as_of": -DAY}]))
    refusal(belated.InvalidInput, lambda: study.add_many([good, {**good, "shown": 0}]))
    refusal(belated.Outside, lambda: study.add_many([good, {**good, "params": {"x": 7.0}}]))
    refusal(belated.InvalidInput, lambda: study.add_many([good, {"params": X, "day": 0.0, "shown": 3}]))
    refusal(belated.InvalidInput, lambda: study.add_many([{**good, "value": 1}]))
    assert study.trials() == []


def test_counts_belong_to_conversions(place: Place) -> None:
    study = place.create()
    refusal(belated.Contradiction, lambda: study.add_many([count(place, 0.0, 500, 12, DAY)]))


def test_many_queries_at_once(place: Place) -> None:
    study = place.create()
    rows = [{"params": {"x": i / 20}, "value": float(i), "key": f"row {i}"} for i in range(20)]
    trials = study.add_many([*rows, {"params": {"x": 1.0}}])
    assert [trial.outcome for trial in trials] == [*map(float, range(20)), None]
    events = len(study.events())
    assert study.add_many(rows) == trials[:20]  # the same keys
    assert len(study.events()) == events
    assert study.add(rows[3]["params"], 3.0, key="row 3") == trials[3]
    refusal(belated.KeyTaken, lambda: study.add_many([{**rows[3], "value": 4.0}]))
    refusal(belated.KeyTaken, lambda: study.add_many([{**rows[3], "key": "a"}, {**rows[4], "key": "a"}]))
    assert len(study.events()) == events


def test_a_trial_of_counts_takes_no_outcome(place: Place) -> None:
    study = create(place)
    study.add_many([count(place, 0.0, 500, 12, DAY)])
    said = "trial 1 counts people; state its counts again with add_many or import"
    assert refusal(belated.InvalidInput, lambda: study.tell(1, 1)) == said
    assert refusal(belated.InvalidInput, lambda: study.amend(1, 1, reason="no")) == said
    before = study.posterior([X]).mean[0]
    study.fail(1, "withdrawn")  # the file was of another campaign
    assert study.posterior([X]).mean[0] != before
    refusal(belated.AlreadyEnded, lambda: study.add_many([count(place, 0.0, 500, 13, 2 * DAY)]))


def test_the_check_counts_conversions_of_people(tmp_path: Path) -> None:
    place = Place(f"sqlite:///{tmp_path}/lab.db")
    study = create(place)
    study.add_many([count(place, 0.0, 500, 12, DAY), count(place, DAY, 400, 30, 2 * DAY)])
    study.add_many([count(place, 0.0, 500, 19, 2 * DAY)])
    assert check(str(place.url)).outcomes == 19 + 30
    study.fail(2, "withdrawn")
    report = check(str(place.url))
    assert (report.ok, report.outcomes) == (True, 19)
    place.disconnect()


@pytest.mark.parametrize("algorithm", ["default", "GP-UCB-SDF"])
def test_counts_say_what_their_people_would_have_said(place: Place, algorithm: str) -> None:
    """After the window a day of counts is as good as its people one by one."""
    said: dict[str, Any] = {"algorithm": algorithm, "initial": 0}
    said |= {"silence": "fading"} if algorithm == "default" else {"silence": "floor"}
    counted, single = create(place, name="counted", **said), create(place, name="single", **said)
    for x, converted in ((0.0, 3), (0.5, 12), (1.0, 5)):
        counted.add_many([count(place, 0.0, 40, converted, 20 * DAY, x)])
        for i in range(40):
            trial = single.add({"x": x}, at=0.0)
            if i < converted:
                single.tell(trial, 1, at=HOUR)
    place.clock.now = 21 * DAY
    points = [{"x": i / 20} for i in range(21)]
    ours, theirs = counted.posterior(points), single.posterior(points)
    assert ours.mean == pytest.approx(theirs.mean, rel=0.05 if algorithm == "default" else 1e-6)
    assert len(counted.trials()) == 3


def test_a_day_is_as_old_as_its_last_statement(place: Place) -> None:
    """What nobody has counted yet is not known to be silent."""
    study = create(place)
    study.add_many([count(place, 0.0, 100, 0, 12 * HOUR), count(place, 0.0, 100, 20, 8 * DAY, 1.0)])
    place.clock.now = 2 * DAY
    young = study.posterior([X])
    place.clock.now = 40 * DAY
    assert np.array(study.posterior([X])) == pytest.approx(np.array(young))
    study.add_many([count(place, 0.0, 100, 0, 9 * DAY)])
    assert study.posterior([X]).mean[0] < young.mean[0]


def test_counts_until_the_beginning_of_their_day_are_refused(place: Place) -> None:
    """A date is its first moment: nobody was shown anything by then."""
    study = create(place)
    with pytest.raises(InvalidInput, match="as_of must be after the beginning of its day, 1970-01-02"):
        study.add_many([count(place, DAY, 100, 5, DAY)])
    assert study.trials() == []


def test_a_day_that_failed_takes_the_same_counts_again_and_no_others(place: Place) -> None:
    study = create(place)
    row = count(place, 0.0, 100, 5, DAY)
    (trial,) = study.add_many([row])
    study.fail(trial, "lost", reason="the links were broken")
    events = len(study.events())
    assert study.add_many([row])[0].failure == "lost"
    assert len(study.events()) == events
    with pytest.raises(AlreadyEnded, match=r"it takes no counts\. Leave the row out, or undo the failure"):
        study.add_many([count(place, 0.0, 100, 6, 2 * DAY)])
    assert study.delays().added == 0  # nothing came with its query
    for look in (study.outlook, study.recommend, study.best):
        with pytest.raises(NothingHeard):
            look()


def test_counts_of_a_day_that_is_long_over_came_within_the_window(place: Place) -> None:
    """They may have come at any time since: what counts as in time is not said to have come later."""
    study = create(place)
    place.clock.now = 30 * DAY
    study.add_many([count(place, 0.0, 10_000, 40, 25 * DAY)])
    report = study.delays()
    assert report.rho().estimate == pytest.approx(0.004, abs=1e-4)
    assert "0.4 % arrive" in str(report)


def test_delays_are_learned_from_counts(place: Place) -> None:
    """Half of those that come take longer than two days: what has come by then is about half of it."""
    rng = np.random.default_rng(0)
    study = create(place, patience="14d")
    when = rng.uniform(0.0, DAY, 2000) + rng.exponential(2 * DAY / np.log(2.0), 2000)
    for day in range(1, 15):
        study.add_many([count(place, 0.0, 10_000, int(np.sum(when < day * DAY)), day * DAY)])
    study.add_many([count(place, 20 * DAY, 1000, 100, 22 * DAY + DAY / 2, 1.0)])  # half are still to come
    belief = study.posterior([{"x": 1.0}])
    assert belief.mean[0] == pytest.approx(0.2, abs=0.02)
    assert belief.low[0] < 0.2 < belief.high[0]


def test_in_rounds(place: Place) -> None:
    study = create(place, patience=3)
    study.add_many([count(place, 0.0, 100, 2, DAY)])
    for _ in range(3):
        study.ask()
    study.add_many([count(place, 0.0, 100, 9, 2 * DAY)])
    assert study.trial(1).converted == 9
    assert np.array(place.restart(study).posterior([X])) == pytest.approx(np.array(study.posterior([X])))
    study.ask()


def test_choices_after_counts_are_replayed(place: Place) -> None:
    study = create(place, initial=0)
    study.add_many([count(place, 0.0, 100, 3 * i, 5 * DAY, i / 20) for i in range(10)])
    place.clock.now = 6 * DAY
    trials = study.ask(n=3)
    study.add_many([count(place, 0.0, 100, 50, 6 * DAY, 0.0)])
    assert all(study.replay(trial.number).same for trial in trials)


def test_the_check_knows_counts(tmp_path: Path) -> None:
    place = Place(f"sqlite:///{tmp_path}/lab.db")
    study = create(place)
    study.add_many([count(place, 0.0, 100, 3 * i, 5 * DAY, i / 20) for i in range(10)])
    study.add_many([count(place, 0.0, 100, 50, 6 * DAY, 0.0)])
    study.ask()
    report = check(str(place.url))
    assert report.ok, str(report)
    place.disconnect()


@pytest.mark.parametrize("algorithm", ["default", "GP-UCB-SDF"])
def test_the_best_of_counts_is_a_rate(place: Place, algorithm: str) -> None:
    study = create(place, algorithm=algorithm, silence="fading" if algorithm == "default" else "floor")
    study.add_many([count(place, 0.0, 100, 3 * i, 9 * DAY, i / 20) for i in range(10)])
    place.clock.now = 10 * DAY
    best = study.best()
    assert (best.params, best.asked, best.heard, best.trial) == ({"x": 0.45}, 100, 27, None)
    assert best.low is not None
    assert best.low < 0.27 < (best.high or 0.0)
