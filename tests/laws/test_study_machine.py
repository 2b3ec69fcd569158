"""Any sequence of asks, tells, failures, corrections, undos and deletions, against a dictionary that knows the rules.

On every ledger, and with two handles on the study, each call through either of them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
import belated.record.snapshot
from belated import (
    AlreadyEnded,
    AlreadyTold,
    Closed,
    Deleted,
    Followed,
    KeyTaken,
    Locked,
    NothingHeard,
    NothingToUndo,
    Outside,
    Study,
)
from belated.record.events import Asked, Refused, Undone
from tests.support.snapshots import check_snapshot
from tests.support.studies import DURABLE, Place
from tests.support.studies import NEAR as LEDGERS

NUMBERED = itertools.count()
EITHER = st.sampled_from([0, 1])
KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from([-1.0, 0.0, 0.25, 2.0])
KINDS = st.sampled_from(["lost", "infeasible", "withdrawn"])
PEOPLE = st.sampled_from([None, "Anna", "Bob"])
PLACES = st.integers(0, 40)  # sixteenths: what is run may lie outside the range


@dataclasses.dataclass
class Known:
    """What the test knows of one trial."""

    params: Any
    by_hand: bool
    asked: Any
    value: float | None = None
    delay: int | None = None  # rounds
    failure: str | None = None
    undelayed: bool = False  # added with its outcome

    def has_ended(self) -> bool:
        return self.value is not None or self.failure is not None


@dataclasses.dataclass
class Done:
    """A change that somebody made: of a trial (or of the study itself, 0), and what that was before."""

    by: str | None
    trials: list[int]
    before: list[Any]
    followed: bool = False  # something else changed the same since


class StudyMachine(RuleBasedStateMachine):
    """Rounds are counted, patience is 3, and every query is a space-filling one, which is fast."""

    def __init__(self, url: str | None) -> None:
        super().__init__()
        self.place = Place(url)

    @initialize(goal=st.sampled_from(["maximize", "minimize"]), late=st.sampled_from(["use", "ignore"]))
    def create(self, goal: Any, late: Any) -> None:
        self.goal, self.late = goal, late
        self.begin()

    def begin(self) -> None:
        """A new study, in which nothing has happened."""
        self.patience, self.high = 3, 1.0
        self.floor: float | None = None
        self.limits: tuple[float, float] | None = None
        study = self.place.create(
            f"study-{next(NUMBERED)}",
            space={"x": belated.Real(0, 1)},
            goal=self.goal,
            patience=3,
            late=self.late,
            initial=10**6,
        )
        self.studies = [study, self.place.another(study)]
        self.known: list[Known] = []
        self.keys: dict[str, tuple[int, int]] = {}  # of asks: how many, and the first
        self.refused = self.undone = 0
        self.closed = self.locked = False
        self.done: list[Done] = []  # what still counts, in order

    def change(self, by: str | None, trials: list[int], before: list[Any]) -> None:
        """Something changed these trials, or the study itself (0)."""
        for done in self.done:
            done.followed |= not set(trials).isdisjoint(done.trials)
        self.done.append(Done(by, trials, before))

    def change_trial(self, by: str | None, s: int, **new: Any) -> None:
        self.change(by, [s], [self.known[s - 1]])
        self.known[s - 1] = dataclasses.replace(self.known[s - 1], **new)

    def change_study(self, by: str | None, **new: Any) -> None:
        self.change(by, [0], [{name: getattr(self, name) for name in new}])
        for name, value in new.items():
            setattr(self, name, value)

    def teardown(self) -> None:
        self.place.disconnect()

    @rule(who=EITHER, n=st.integers(1, 4), by=PEOPLE)
    def ask(self, who: int, n: int, by: str | None) -> None:
        self._ask(self.studies[who], n, None, by)

    @rule(who=EITHER, n=st.integers(1, 3), key=KEYS, by=PEOPLE)
    def ask_with_a_key(self, who: int, n: int, key: str, by: str | None) -> None:
        study = self.studies[who]
        if key not in self.keys:
            if self._ask(study, n, key, by):
                self.keys[key] = (n, len(self.known) - n + 1)
        elif self.keys[key][0] == n:
            first = self.keys[key][1]
            assert study.ask(n=n, key=key, by=by) == study.trials()[first - 1 : first - 1 + n]
        else:
            with pytest.raises(KeyTaken):
                study.ask(n=n, key=key)

    def _ask(self, study: Study, n: int, key: str | None, by: str | None) -> bool:
        if self.closed:
            with pytest.raises(Closed):
                study.ask(n=n, key=key)
            return False
        for trial in study.ask(n=n, key=key, by=by):
            self.known.append(Known(trial.params, by_hand=False, asked=trial.params))
            assert 0 <= trial.params["x"] <= self.high  # what is proposed lies inside
            assert trial.number == len(self.known)
            assert trial.knew_trials == trial.number - 1
            assert trial.outcome is None
            assert trial.asked_by == by
        self._asked(by, n)
        return True

    def _asked(self, by: str | None, n: int) -> None:
        """Before a query was asked it was nothing; an undo withdraws it."""
        asked = list(range(len(self.known) - n + 1, len(self.known) + 1))
        withdrawn = [dataclasses.replace(self.known[s - 1], value=None, delay=None, failure="withdrawn") for s in asked]
        self.change(by, asked, withdrawn)

    def takes(self, value: float | None) -> bool:
        """Whether an outcome lies within the limits."""
        return value is None or self.limits is None or self.limits[0] <= value <= self.limits[1]

    @rule(who=EITHER, i=PLACES, value=st.one_of(st.none(), VALUES), by=PEOPLE)
    def add(self, who: int, i: int, value: float | None, by: str | None) -> None:
        if not self.takes(value):
            with pytest.raises(Outside):
                self.studies[who].add({"x": i / 16}, value)
            return
        if self.closed:
            with pytest.raises(Closed):
                self.studies[who].add({"x": i / 16}, value)
            return
        trial = self.studies[who].add({"x": i / 16}, value, by=by)
        # with an outcome: no delay
        here = {"x": i / 16}
        self.known.append(Known(here, by_hand=True, asked=here, value=value, undelayed=value is not None))
        assert trial.number == len(self.known)
        self._asked(by, 1)

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6), value=VALUES, by=PEOPLE, run=st.one_of(st.none(), st.none(), PLACES))
    def tell(self, who: int, pick: int, value: float, by: str | None, run: int | None) -> None:
        study = self.studies[who]
        s = pick % len(self.known) + 1
        known = self.known[s - 1]
        params = known.params if run is None else {"x": run / 16}
        words: dict[str, Any] = {"by": by} if run is None else {"by": by, "params": params}
        if self.locked:
            with pytest.raises(Locked):
                study.tell(s, value, **words)
        elif not self.takes(value):
            with pytest.raises(Outside):
                study.tell(s, value, **words)
        elif known.value is not None and (known.value, known.params) != (value, params):
            with pytest.raises(AlreadyTold):
                study.tell(s, value, **words)
            self.refused += 1
        elif known.value is None and known.failure in ("infeasible", "withdrawn"):
            with pytest.raises(AlreadyEnded):
                study.tell(s, value, **words)
            self.refused += 1
        else:
            receipt = study.tell(s, value, **words)
            if known.value is None:
                delay = None if known.undelayed else len(self.known) + 1 - s
                assert receipt.status == ("heard" if (delay or 0) <= self.patience else "late")
                self.change_trial(by, s, value=value, delay=delay, params=params)
            else:
                assert receipt.status == "duplicate"
            delay = self.known[s - 1].delay or 0  # what came with its outcome was not waited for
            assert (receipt.number, receipt.delay) == (s, delay)
            assert receipt.used == (delay <= self.patience or self.late == "use")

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6), kind=KINDS, by=PEOPLE)
    def fail(self, who: int, pick: int, kind: Any, by: str | None) -> None:
        study = self.studies[who]
        s = pick % len(self.known) + 1
        known = self.known[s - 1]
        if known.value is not None:
            with pytest.raises(AlreadyTold):
                study.fail(s, kind)
        elif known.failure not in (None, kind):
            with pytest.raises(AlreadyEnded):
                study.fail(s, kind)
        elif self.locked and known.failure is None:
            with pytest.raises(Locked):
                study.fail(s, kind)
        else:
            assert study.fail(s, kind, by=by).status == "failed"
            if known.failure is None:
                self.change_trial(by, s, failure=kind)

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6), value=VALUES, by=PEOPLE)
    def amend(self, who: int, pick: int, value: float, by: str | None) -> None:
        s = pick % len(self.known) + 1
        if not self.locked and self.known[s - 1].value is not None and not self.takes(value):
            with pytest.raises(Outside):
                self.studies[who].amend(s, value, reason="why")
        elif self._amend(who, pick, lambda known: known.value is not None, by, value=value):
            self.change_trial(by, pick % len(self.known) + 1, value=value)

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6), by=PEOPLE)
    def take_back(self, who: int, pick: int, by: str | None) -> None:
        if self._amend(who, pick, Known.has_ended, by, take_back=True):
            self.change_trial(by, pick % len(self.known) + 1, value=None, delay=None, failure=None)

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6), kind=KINDS, by=PEOPLE)
    def amend_failure(self, who: int, pick: int, kind: Any, by: str | None) -> None:
        if self._amend(who, pick, Known.has_ended, by, failure=kind):
            self.change_trial(by, pick % len(self.known) + 1, value=None, delay=None, failure=kind)

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6), i=PLACES, by=PEOPLE)
    def amend_params(self, who: int, pick: int, i: int, by: str | None) -> None:
        s, run = pick % len(self.known) + 1, {"x": i / 16}
        if self.known[s - 1].params == run:
            with pytest.raises(belated.InvalidInput if not self.locked else Locked):
                self.studies[who].amend(s, params=run, reason="why")
        elif self._amend(who, pick, lambda _: True, by, params=run):
            self.change_trial(by, s, params=run)

    def _amend(self, who: int, pick: int, applies: Callable[[Known], bool], by: str | None, **new: Any) -> bool:
        s = pick % len(self.known) + 1
        if self.locked or not applies(self.known[s - 1]):
            with pytest.raises(Locked if self.locked else NothingHeard):
                self.studies[who].amend(s, reason="why", **new)
            return False
        assert self.studies[who].amend(s, reason="why", by=by, **new) is not None
        return True

    @rule(who=EITHER, patience=st.integers(1, 5), by=PEOPLE)
    def amend_patience(self, who: int, patience: int, by: str | None) -> None:
        if self.locked:
            with pytest.raises(Locked):
                self.studies[who].amend(patience=patience, reason="why")
            return
        self.studies[who].amend(patience=patience, reason="why", by=by)
        self.change_study(by, patience=patience)

    @rule(who=EITHER, floor=st.sampled_from([-4.0, -2.0, -1.0]), by=PEOPLE)
    def amend_floor(self, who: int, floor: float, by: str | None) -> None:
        floor = floor if self.goal == "maximize" else -2.0 * floor
        self._amend_study(who, by, "floor", floor)

    @rule(who=EITHER, limits=st.sampled_from([(-1.0, 2.0), (-9.0, 9.0), (0.0, 2.0)]), by=PEOPLE)
    def amend_limits(self, who: int, limits: tuple[float, float], by: str | None) -> None:
        self._amend_study(who, by, "limits", limits)

    @rule(who=EITHER, high=st.sampled_from([0.5, 1.0, 1.5, 2.0]), by=PEOPLE)
    def amend_ranges(self, who: int, high: float, by: str | None) -> None:
        """Wider at any time; narrower if everything that lies inside still does."""
        if self.locked:
            with pytest.raises(Locked):
                self.studies[who].amend(ranges={"x": (0, high)}, reason="why")
        elif not self.fits(high):
            with pytest.raises(belated.InvalidInput, match="everything lies inside"):
                self.studies[who].amend(ranges={"x": (0, high)}, reason="why")
        else:
            self.studies[who].amend(ranges={"x": (0, high)}, reason="why", by=by)
            self.change_study(by, high=high)

    def fits(self, high: float) -> bool:
        """Whether everything that lies inside the range still does."""
        every = [x for known in self.known for x in (known.asked["x"], known.params["x"])]
        return not any(high < x <= self.high for x in every)

    def _amend_study(self, who: int, by: str | None, name: str, value: Any) -> None:
        words: dict[str, Any] = {name: value}
        if self.locked:
            with pytest.raises(Locked):
                self.studies[who].amend(reason="why", **words)
            return
        floor, limits = ({"floor": self.floor, "limits": self.limits} | words).values()
        if floor is not None and limits is not None and not limits[0] <= floor <= limits[1]:
            with pytest.raises(belated.InvalidInput, match="floor must lie within the limits"):
                self.studies[who].amend(reason="why", **words)
            return
        self.studies[who].amend(reason="why", by=by, **words)
        self.change_study(by, **words)

    @precondition(lambda self: len(self.known) > 8)
    @rule(who=EITHER, lock=st.booleans(), by=PEOPLE)
    def close(self, who: int, lock: bool, by: str | None) -> None:
        self.studies[who].close(lock=lock, by=by)
        if not (self.locked if lock else self.closed):
            self.change_study(by, closed=True, locked=lock)

    @precondition(lambda self: self.closed)
    @rule(who=EITHER, by=PEOPLE)
    def reopen(self, who: int, by: str | None) -> None:
        self.studies[who].reopen(reason="why", by=by)
        self.change_study(by, closed=False, locked=False)

    @rule(who=EITHER, by=PEOPLE)
    def rename(self, who: int, by: str | None) -> None:
        name = f"study-{next(NUMBERED)}"
        self.studies[who].rename(name, by=by)
        self.studies[1 - who].trials()  # the other handle hears of it when it reads
        assert [study.name for study in self.studies] == [name, name]

    @rule(who=EITHER, by=PEOPLE)
    def undo(self, who: int, by: str | None) -> None:
        study = self.studies[who]
        newest = next((done for done in reversed(self.done) if done.by == by), None)
        if self.locked:
            with pytest.raises(Locked):
                study.undo(by=by)
        elif newest is None:
            with pytest.raises(NothingToUndo):
                study.undo(by=by)
        elif newest.followed:
            with pytest.raises(Followed):
                study.undo(by=by)
        elif newest.trials == [0] and not self.fits(newest.before[0].get("high", self.high)):
            with pytest.raises(belated.InvalidInput, match="everything lies inside"):
                study.undo(by=by)
        else:
            self.undone += len(study.undo(by=by))
            self.done.remove(newest)
            for s, before in zip(newest.trials, newest.before, strict=True):
                if s == 0:
                    self.__dict__.update(before)
                else:
                    self.known[s - 1] = before
            self._follow_again()

    def _follow_again(self) -> None:
        """What an undone change had followed is the newest again, unless it was followed by something else too."""
        for i, done in enumerate(self.done):
            later = [each.trials for each in self.done[i + 1 :]]
            done.followed = any(not set(trials).isdisjoint(done.trials) for trials in later)

    @precondition(lambda self: len(self.known) > 9)
    @rule(who=EITHER, by=PEOPLE)
    def delete(self, who: int, by: str | None) -> None:
        name = self.studies[who].name
        self.studies[who].delete(name, reason="why", by=by)
        for study in self.studies:
            with pytest.raises(Deleted):
                study.trials()
        if self.place.url is not None:
            assert name not in belated.studies(self.place.url)
        self.begin()

    @rule()
    def restart(self) -> None:
        one = self.place.restart(self.studies[0])
        self.studies[1].disconnect()
        self.studies = [one, self.place.another(one)]

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6))
    def replay(self, who: int, pick: int) -> None:
        s = pick % len(self.known) + 1
        if not self.known[s - 1].by_hand:
            assert self.studies[who].replay(s).same

    def status(self, s: int) -> str:
        known = self.known[s - 1]
        if known.value is not None:
            return "heard" if (known.delay or 0) <= self.patience else "late"
        if known.failure is not None:
            return "failed"
        return "pending" if len(self.known) + 1 - s <= self.patience else "expired"

    @invariant()
    def a_snapshot_and_the_rest_are_everything(self) -> None:
        events = self.studies[0].events()
        count = 31 * len(events) % (len(events) + 1)  # any
        check_snapshot(self.studies[0].original_settings, events, count, self.place.clock.now)

    @invariant()
    def trials_are_as_known(self) -> None:
        trials = self.studies[0].trials()
        assert self.studies[1].trials() == trials
        assert [t.number for t in trials] == list(range(1, len(self.known) + 1))
        for trial, known in zip(trials, self.known, strict=True):
            assert (trial.params, trial.by_hand) == (known.params, known.by_hand)
            assert (trial.outcome, trial.delay) == (known.value, known.delay)
            assert trial.failure == (known.failure if known.value is None else None)
            assert trial.status == self.status(trial.number)
            assert trial.asked_params is None or trial.asked_params != trial.params
        counts = self.studies[0].counts()
        assert counts == {status: sum(trial.status == status for trial in trials) for status in counts}
        assert self.studies[1].trials(status="pending", last=2) == [t for t in trials if t.status == "pending"][-2:]

    @invariant()
    def settings_are_as_known(self) -> None:
        for study in self.studies:
            assert study.rounds == len(self.known)  # a handle hears of another's amendments when it reads
            settings = study.settings
            assert (settings.objective.floor, settings.objective.limits) == (self.floor, self.limits)
            assert settings.space == belated.Space.of({"x": belated.Real(0, self.high)})
            assert settings.patience.m == self.patience

    @invariant()
    def the_check_agrees(self) -> None:
        if self.place.url is not None and len(self.known) % 7 == 3:
            assert belated.check(self.place.url, self.studies[0].name).ok

    @invariant()
    def best_is_the_best_told(self) -> None:
        told = [known.value for known in self.known if known.value is not None]
        if told:
            assert self.studies[0].best().value == (max if self.goal == "maximize" else min)(told)
        else:
            with pytest.raises(NothingHeard):
                self.studies[0].best()

    @invariant()
    def the_record_is_whole(self) -> None:
        happened = self.studies[1].events()
        assert sum(isinstance(event, Refused) for event in happened) == self.refused
        assert sum(isinstance(event, Undone) for event in happened) == self.undone
        for position, event in enumerate(happened, start=1):
            if isinstance(event, Asked):
                assert event.knew < position
                assert event.knew_trials == event.number - 1


def any_sequence(ledger: str, request: pytest.FixtureRequest, folder: Path, count: int, steps: int) -> None:
    urls = {"memory": lambda: None, "sqlite": lambda: f"sqlite:///{folder}/lab.db"}
    url = urls.get(ledger, lambda: request.getfixturevalue("postgres_url"))()
    run_state_machine_as_test(
        lambda: StudyMachine(url), settings=settings(max_examples=count, stateful_step_count=steps)
    )


@pytest.mark.parametrize("ledger", LEDGERS)
def test_any_sequence(ledger: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    any_sequence(ledger, request, tmp_path, {"memory": 40, "sqlite": 15, "postgres": 15}[ledger], 25)


@pytest.mark.parametrize("ledger", DURABLE)
def test_any_sequence_where_every_handle_begins_with_a_snapshot(
    ledger: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(belated.record.snapshot, "EVERY", 1)
    any_sequence(ledger, request, tmp_path, 6, 25)


@pytest.mark.long
@pytest.mark.parametrize("ledger", LEDGERS)
def test_any_long_sequence(ledger: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    any_sequence(ledger, request, tmp_path, 150, 60)
