"""Any sequence of conversions, zeros, counts of people and restarts, against a dictionary that knows the rules.

On every ledger, and with two handles on the study, each call through either of them."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import belated
from belated import AlreadyTold
from tests.support.snapshots import check_snapshot
from tests.support.studies import NEAR as LEDGERS
from tests.support.studies import Place

NUMBERED = itertools.count()
EITHER = st.sampled_from([0, 1])
VALUES = st.sampled_from([0.0, 1.0, 2.5])
DAY, PATIENCE = 86400.0, 7 * 86400.0
X = [i / 4 for i in range(5)]


@dataclasses.dataclass
class Known:
    """What the test knows of one trial."""

    asked_at: float
    value: float | None = None
    told_at: float = 0.0
    decided: bool = False  # amended
    counts: dict[float, tuple[int, int]] | None = None  # by the time of the statement: shown, converted


class ConversionMachine(RuleBasedStateMachine):
    def __init__(self, url: str | None) -> None:
        super().__init__()
        self.place = Place(url)

    @initialize(late=st.sampled_from(["use", "ignore"]))
    def create(self, late: Any) -> None:
        self.late = late
        study = self.place.create(
            f"study-{next(NUMBERED)}",
            space=belated.Points(X),
            outcomes="conversion",
            silence="fading",
            patience="7d",
            late=late,
            initial=10**6,
        )
        self.studies = [study, self.place.another(study)]
        self.known: list[Known] = []
        self.days: dict[tuple[float, float], int] = {}

    def teardown(self) -> None:
        self.place.disconnect()

    @rule(who=EITHER, n=st.integers(1, 3))
    def ask(self, who: int, n: int) -> None:
        for _ in self.studies[who].ask(n=n):
            self.known.append(Known(self.place.clock.now))

    @rule(hours=st.integers(1, 100))
    def wait(self, hours: int) -> None:
        self.place.clock.now += 3600.0 * hours

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6), value=VALUES)
    def tell(self, who: int, pick: int, value: float) -> None:
        study, s = self.studies[who], pick % len(self.known) + 1
        known = self.known[s - 1]
        if known.counts is not None:
            with pytest.raises(belated.InvalidInput):
                study.tell(s, value)
        elif known.value in (None, value):
            assert study.tell(s, value).status == ("duplicate" if known.value == value else self.judge(known, value))
            if known.value is None:
                known.value, known.told_at = value, self.place.clock.now
        elif known.decided or 0.0 not in (known.value, value):
            with pytest.raises(AlreadyTold):
                study.tell(s, value)
        elif value == 0.0:
            assert study.tell(s, value).status == "duplicate"
        else:
            receipt = study.tell(s, value)
            assert receipt.status == self.judge(known, value)
            assert "the conversion stands" in receipt.note
            known.value, known.told_at = value, self.place.clock.now

    def judge(self, known: Known, value: float) -> str:
        late = value > 0.0 and self.place.clock.now - known.asked_at > PATIENCE
        return "late" if late else "heard"

    @precondition(lambda self: any(known.value is not None for known in self.known))
    @rule(who=EITHER, pick=st.integers(0, 10**6), value=VALUES)
    def amend(self, who: int, pick: int, value: float) -> None:
        told = [s for s, known in enumerate(self.known, start=1) if known.value is not None]
        s = told[pick % len(told)]
        self.studies[who].amend(s, value, reason="why")
        self.known[s - 1].value, self.known[s - 1].decided = value, True

    @rule(who=EITHER, i=st.integers(0, 4), day=st.integers(0, 2), share=st.integers(0, 10), ago=st.integers(0, 2))
    def count(self, who: int, i: int, day: int, share: int, ago: int) -> None:
        """State the counts of a day, perhaps as they were before, out of order."""
        began = 1000.0 - DAY * day
        as_of = max(self.place.clock.now - ago * DAY, began + 60.0)
        row = {"params": {"x": X[i]}, "day": began, "shown": 10, "converted": share, "as_of": as_of}
        (trial,) = self.studies[who].add_many([row])
        number = self.days.setdefault((X[i], began), len(self.known) + 1)
        assert trial.number == number
        if number > len(self.known):
            self.known.append(Known(began, counts={}))
        counts = self.known[number - 1].counts
        assert counts is not None
        counts[as_of] = (10, share)

    @rule()
    def restart(self) -> None:
        one = self.place.restart(self.studies[0])
        self.studies[1].disconnect()
        self.studies = [one, self.place.another(one)]

    @invariant()
    def a_snapshot_and_the_rest_are_everything(self) -> None:
        events = self.studies[0].events()
        count = 31 * len(events) % (len(events) + 1)  # any
        check_snapshot(self.studies[0].original_settings, events, count, self.place.clock.now)

    @invariant()
    def trials_are_as_known(self) -> None:
        trials = self.studies[0].trials()
        assert self.studies[1].trials() == trials
        assert len(trials) == len(self.known)
        for trial, known in zip(trials, self.known, strict=True):
            assert trial.outcome == known.value
            if known.counts:
                at = max(known.counts)
                assert (trial.status, trial.counted_at) == ("counted", at)
                assert (trial.shown, trial.converted) == known.counts[at]
            if known.value == 0.0:
                assert trial.delay is None
            elif known.value is not None and not known.decided:
                assert trial.delay == known.told_at - known.asked_at

    @invariant()
    def the_belief_is_that_of_a_restart(self) -> None:
        if len(self.known) % 5 == 4:
            points = [{"x": x} for x in X]
            again = self.place.restart(self.studies[0])
            assert np.array_equal(again.posterior(points), self.studies[0].posterior(points))
            again.disconnect()


def any_sequence(ledger: str, request: pytest.FixtureRequest, folder: Path, count: int, steps: int) -> None:
    urls = {"memory": lambda: None, "sqlite": lambda: f"sqlite:///{folder}/lab.db"}
    url = urls.get(ledger, lambda: request.getfixturevalue("postgres_url"))()
    run_state_machine_as_test(
        lambda: ConversionMachine(url), settings=settings(max_examples=count, stateful_step_count=steps)
    )


@pytest.mark.parametrize("ledger", LEDGERS)
def test_any_sequence_of_conversions(ledger: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    any_sequence(ledger, request, tmp_path, {"memory": 25, "sqlite": 8, "postgres": 8}[ledger], 20)


@pytest.mark.long
@pytest.mark.parametrize("ledger", LEDGERS)
def test_any_long_sequence_of_conversions(ledger: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    any_sequence(ledger, request, tmp_path, 150, 50)
