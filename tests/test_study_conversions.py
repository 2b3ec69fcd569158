"""Conversions told to a study: of a 0 and a conversion the conversion stands, in whichever order they come."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import AlreadyTold, Receipt, Study, check
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
