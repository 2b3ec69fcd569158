"""A tell does not read first where its handle knows enough; it is answered as if it had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import belated
from belated import Study
from tests.support.refusals import refusal
from tests.support.studies import Place

NEWS: dict[str, tuple[Callable[[Study], Any], type[Exception] | None, str]] = {
    "another trial": (lambda other: other.tell(2, 0.3), None, "heard"),
    "more asked": (lambda other: other.ask(n=3), None, "heard"),
    "the same outcome": (lambda other: other.tell(1, 0.5), None, "duplicate"),
    "another outcome": (lambda other: other.tell(1, 0.7), belated.AlreadyTold, "was told before, with 0.7"),
    "the key": (lambda other: other.tell(2, 0.5, key="k"), belated.KeyTaken, "was used before, for another tell"),
    "infeasible": (lambda other: other.fail(1, "infeasible"), belated.AlreadyEnded, "ended as infeasible"),
    "narrower limits": (lambda other: other.amend(limits=(0, 0.4), reason="as read"), belated.Outside, "0.4"),
    "another patience": (lambda other: other.amend(patience=1, reason="in a hurry"), None, "late"),
    "another trial was amended": (lambda other: other.amend(2, 0.1, reason="typo"), None, "heard"),
    "closed": (lambda other: other.close(), None, "heard"),
    "locked": (lambda other: other.close(lock=True), belated.Locked, "is locked"),
}


@pytest.mark.parametrize("news", NEWS)
def test_what_others_wrote_since_counts(place: Place, news: str) -> None:
    study = place.create()
    study.ask(n=4)
    study.tell(3, 0.2)
    other = place.another(study)
    happen, error, said = NEWS[news]
    if news == "another trial was amended":
        other.tell(2, 0.2)
    happen(other)
    if error is None:
        assert study.tell(1, 0.5, key="k").status == said
    else:
        assert said in refusal(error, lambda: study.tell(1, 0.5, key="k"))
    assert study.events() == other.events() == place.another(study).events()


def test_a_deleted_study_says_so(place: Place) -> None:
    study = place.create()
    study.ask()
    place.another(study).delete("lab", reason="a test")
    assert "lab was deleted" in refusal(belated.Deleted, lambda: study.tell(1, 0.5))


def test_wider_limits_are_read_before_an_outcome_is_refused(place: Place) -> None:
    study = place.create(limits=(0, 1))
    study.ask()
    place.another(study).amend(limits=(0, 2), reason="a better instrument")
    assert study.tell(1, 1.5).status == "heard"
