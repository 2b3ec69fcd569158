"""The same key and call give the same answer for as long as the study lives, on every ledger."""

from __future__ import annotations

import pytest

from belated import KeyTaken, Outside
from tests.support.refusals import refusal
from tests.support.studies import Place


def test_a_tell_after_its_outcome_was_amended(place: Place) -> None:
    study = place.create()
    trial = study.ask()
    receipt = study.tell(trial, 0.5, key="k")
    study.amend(trial, 0.6, reason="typo")
    for handle in (study, place.another(study), place.restart(study)):
        assert handle.tell(trial, 0.5, key="k") == receipt
        assert handle.trial(1).outcome == 0.6
    assert len(study.events()) == 3  # the retries left nothing


def test_a_tell_after_the_limits_were_narrowed(place: Place) -> None:
    study = place.create(limits=(0.0, 1.0))
    trial = study.ask()
    receipt = study.tell(trial, 0.9, key="k")
    study.amend(limits=(0.0, 0.5), reason="the sensor ends there")
    assert place.restart(study).tell(trial, 0.9, key="k") == receipt
    refusal(Outside, lambda: study.tell(trial, 0.9, key="another"))
    refusal(Outside, lambda: study.tell(study.ask(), 0.9))


def test_the_note_of_a_receipt_is_that_of_its_time(place: Place) -> None:
    """Whether the outcome was worse than the floor: than the floor of then."""
    study = place.create(floor=0.0)
    fine, bad = study.ask(n=2)
    first, second = study.tell(fine, 0.5, key="fine"), study.tell(bad, -1.0, key="bad")
    assert (first.note, second.note) == ("", "the outcome -1.0 is worse than the floor 0.0")
    study.amend(floor=-2.0, reason="it can be worse")
    assert study.tell(bad, -1.0, key="bad") == second
    study.amend(floor=0.7, reason="no, it cannot")
    assert study.tell(fine, 0.5, key="fine") == first
    assert study.tell(fine, 0.5).note == "the outcome 0.5 is worse than the floor 0.7"  # without a key: the one of now


def test_a_late_tell(place: Place) -> None:
    study = place.create(patience=1, late="ignore")
    trial = study.ask()
    study.ask(n=2)
    receipt = study.tell(trial, 0.5, key="k")
    assert (receipt.status, receipt.used) == ("late", False)
    study.amend(trial, 0.6, reason="typo")
    study.ask()
    assert place.restart(study).tell(trial, 0.5, key="k") == receipt


def test_a_duplicate_with_a_key_of_its_own(place: Place) -> None:
    """Its key is remembered too: the retry is a duplicate even when the outcome is another one by then."""
    study = place.create()
    trial = study.ask()
    study.tell(trial, 0.5, key="one")
    receipt = study.tell(trial, 0.5, key="two")
    assert receipt.status == "duplicate"
    study.amend(trial, 0.6, reason="typo")
    assert place.restart(study).tell(trial, 0.5, key="two") == receipt
    refusal(KeyTaken, lambda: study.tell(trial, 0.7, key="two"))
    refusal(KeyTaken, lambda: study.ask(key="two"))


@pytest.mark.parametrize("value", [None, 0.5])
def test_an_add_after_all_that_can_be_amended(place: Place, value: float | None) -> None:
    study = place.create(limits=(0.0, 1.0))
    added = study.add({"x": 0.25}, value, key="k")
    if value is None:
        study.tell(added, 0.5)
    study.amend(added, 0.2, reason="typo")
    study.amend(limits=(0.0, 0.3), reason="the sensor ends there")
    study.close()
    for handle in (study, place.another(study), place.restart(study)):
        assert handle.add({"x": 0.25}, value, key="k") == study.trial(1)
    assert study.rounds == 1


def test_an_ask_after_the_study_was_closed(place: Place) -> None:
    study = place.create()
    batch = study.ask(n=2, key="k")
    study.close()
    assert place.restart(study).ask(n=2, key="k") == batch
