"""Patience in rounds and by a driven clock: what expires, what is late, and what a choice knows when."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import belated
from belated import Study
from belated.learner.history import History
from belated.learner.silence import Floor
from belated.record.trials import Asked

GRID = belated.Points([i / 10 for i in range(11)])


@dataclasses.dataclass
class Clock:
    """Seconds that the test sets; every reading moves it on by `tick`."""

    now: float = 0.0
    tick: float = 0.0

    def __call__(self) -> float:
        reading, self.now = self.now, self.now + self.tick
        return reading


def create(**said: Any) -> Study:
    return Study.create(**{"space": GRID, "seed": 0, "silence": "unknown", **said})


def statuses(study: Study) -> list[str]:
    return [trial.status for trial in study.trials()]


@dataclasses.dataclass(frozen=True, eq=False)
class Probe(Floor):
    """The floor, and a record of what each choice knew. Where every query counts, that is from the first query on."""

    knew: list[History] = dataclasses.field(default_factory=list)

    def fill(self, h: History, floor: float, heard: Any) -> Any:
        self.knew.append(h)
        return super().fill(h, floor, heard)


def test_what_each_choice_knows_round_by_round() -> None:
    """The paper's indicator 1{d_s <= min(m, t - s)}, seen from inside the choice of query t; patience 2."""
    table = [
        # told before ask t, outcomes that the choice may use, pending
        ([], [], []),
        ([], [], [1]),
        ([1], [1], [2]),  #             d_1 = 2 = m
        ([3], [1, 3], [2]),
        ([2], [1, 3], [4]),  #          d_2 = 3 > m: late
        ([], [1, 3], [4, 5]),
        ([5, 6], [1, 3, 5, 6], []),  #  query 4 has age 3: expired
    ]
    probe = Probe()
    study = create(silence=probe, patience=2, late="ignore", initial=0, regret="cumulative")
    for t, (told, seen, pending) in enumerate(table, start=1):
        for s in told:
            study.tell(s, 0.1 * s)
        study.ask()
        knew = probe.knew[-1]
        assert len(knew.number) == t - 1
        assert knew.number[knew.seen].tolist() == seen, t
        assert knew.number[knew.pending].tolist() == pending, t


def test_the_time_given_with_a_tell_changes_no_choice_already_made() -> None:
    """However early the outcome says it came, it is known from the next query on."""
    clock = Clock(0.0)
    probe = Probe()
    study = create(silence=probe, patience="1h", clock=clock, initial=0, regret="cumulative")
    study.ask()
    clock.now = 60.0
    study.ask()
    study.tell(1, 0.5, at=10.0)
    study.ask()
    assert [knew.seen.tolist() for knew in probe.knew] == [[], [False], [True, False]]
    assert study.trials()[0].known_from == 3


# Patience -------------------------------------------------------------------------------------------------------------


def test_in_rounds_a_query_expires_when_its_age_exceeds_patience() -> None:
    study = create(patience=3)
    study.ask()
    for last in range(1, 7):
        age = last + 1 - 1
        assert study.trials()[0].status == ("pending" if age <= 3 else "expired")
        study.ask()
    assert statuses(study) == ["expired"] * 4 + ["pending"] * 3


def test_each_query_of_a_batch_is_a_round() -> None:
    study = create(patience=2)
    assert [t.status for t in study.ask(n=4)] == ["expired", "expired", "pending", "pending"]
    assert study.tell(1, 0.5).status == "late"
    assert study.tell(3, 0.5).status == "heard"


def test_in_rounds_the_time_is_only_recorded() -> None:
    clock = Clock(0.0)
    study = create(patience=1, clock=clock)
    trial = study.ask()
    clock.now = 1e10
    assert study.trials()[0].status == "pending"
    receipt = study.tell(trial, 0.5, at=-5.0)
    assert (receipt.status, receipt.delay) == ("heard", 1.0)
    assert study.trials()[0].told_at == -5.0


def test_by_the_clock_a_query_expires_when_its_time_is_over() -> None:
    clock = Clock(1000.0)
    study = create(patience="1h", clock=clock)
    for _ in range(5):
        study.ask()  # rounds do not matter
    clock.now = 4600.0
    assert statuses(study) == ["pending"] * 5
    assert study.tell(1, 0.5).status == "heard"
    clock.now = 4600.5
    assert statuses(study) == ["heard"] + ["expired"] * 4
    receipt = study.tell(2, 0.5)
    assert (receipt.status, receipt.delay) == ("late", 3600.5)


def test_typed_in_on_monday_heard_on_friday() -> None:
    clock = Clock(0.0)
    study = create(patience="14d", clock=clock, late="ignore")
    trial, other = study.ask(n=2)
    clock.now = 20 * 86400.0
    assert statuses(study) == ["expired", "expired"]
    receipt = study.tell(trial, 0.5, at=10 * 86400.0)
    assert (receipt.status, receipt.delay, receipt.used) == ("heard", 10 * 86400.0, True)
    assert study.tell(other, 0.5).status == "late"
    assert statuses(study) == ["heard", "late"]


def test_at_may_be_a_datetime() -> None:
    asked = datetime(2024, 3, 1, tzinfo=UTC)
    study = create(patience="14d", clock=Clock(asked.timestamp()))
    assert study.tell(study.ask(), 0.5, at=datetime(2024, 3, 2, tzinfo=UTC)).delay == 86400.0


def test_a_choice_is_made_at_the_time_it_is_considered() -> None:
    """τ̄_t is read once before the choice, τ_t after it, and only τ̄_t decides what the choice knows."""
    clock = Clock(0.0, tick=1.0)
    probe = Probe()
    study = create(patience="10s", clock=clock, silence=probe, initial=0, regret="cumulative")
    study.ask()
    clock.now = 11.0
    study.ask()
    asked = [event for event in study.events() if isinstance(event, Asked)]
    assert [(event.considered_at, event.asked_at) for event in asked] == [(0.0, 1.0), (11.0, 12.0)]
    assert [t.asked_at for t in study.trials()] == [1.0, 12.0]
    assert probe.knew[-1].pending.tolist() == [True]  # of age 10 when considered; 11 when asked, which is too late
    clock.now = 11.5
    study.ask()
    assert probe.knew[-1].pending.tolist() == [False, True]


def test_the_clock_ten_years_back_loses_no_outcome_and_makes_no_age_negative() -> None:
    ten_years = 10 * 365.25 * 86400
    clock = Clock(2e9)
    study = create(patience="1d", clock=clock, late="ignore", algorithm="default", silence="floor", initial=0)
    told, pending = study.ask(n=2)
    clock.now -= ten_years
    receipt = study.tell(told, 0.5)
    assert (receipt.status, receipt.delay, receipt.used) == ("heard", 0.0, True)
    assert statuses(study) == ["heard", "pending"]
    third = study.ask()
    assert third.asked_at == 2e9 - ten_years
    assert study.posterior([told.params]).mean[0] > 0.0
    clock.now += ten_years
    assert statuses(study) == ["heard", "pending", "expired"]
    assert study.tell(third, 0.25, at=third.asked_at - 5.0).delay == 0.0
    assert study.tell(pending, 0.25).status == "heard"
    assert all(t.delay is not None and t.delay >= 0 for t in study.trials())
