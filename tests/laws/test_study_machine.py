"""Any sequence of asks, tells, adds, failures, amendments and restarts, against a dictionary that knows the rules.

On every ledger, and with two handles on the study, each call through either of them."""

from __future__ import annotations

import dataclasses
import itertools
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
from belated import AlreadyEnded, AlreadyTold, KeyTaken, NothingHeard, Study
from belated.errors import Closed
from belated.record.events import Amended, Asked, Refused
from tests.support.studies import KINDS as LEDGERS
from tests.support.studies import Place

NUMBERED = itertools.count()
EITHER = st.sampled_from([0, 1])
KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from([-1.0, 0.0, 0.25, 2.0])
KINDS = st.sampled_from(["lost", "infeasible", "withdrawn"])


@dataclasses.dataclass
class Known:
    """What the test knows of one trial."""

    params: Any
    by_hand: bool
    value: float | None = None
    delay: int | None = None  # rounds
    failure: str | None = None


class StudyMachine(RuleBasedStateMachine):
    """Rounds are counted, patience is 3, and every query is a space-filling one, which is fast."""

    def __init__(self, url: str | None) -> None:
        super().__init__()
        self.place = Place(url)

    @initialize(goal=st.sampled_from(["maximize", "minimize"]), late=st.sampled_from(["use", "ignore"]))
    def create(self, goal: Any, late: Any) -> None:
        self.goal, self.late, self.patience = goal, late, 3
        study = self.place.create(
            f"study-{next(NUMBERED)}",
            space=belated.Points([i / 16 for i in range(17)]),
            goal=goal,
            patience=3,
            late=late,
            initial=10**6,
        )
        self.studies = [study, self.place.another(study)]
        self.known: list[Known] = []
        self.keys: dict[str, tuple[int, int]] = {}  # of asks: how many, and the first
        self.refused = self.amended = 0
        self.closed = False

    def teardown(self) -> None:
        self.place.disconnect()

    @rule(who=EITHER, n=st.integers(1, 4))
    def ask(self, who: int, n: int) -> None:
        self._ask(self.studies[who], n, None)

    @rule(who=EITHER, n=st.integers(1, 3), key=KEYS)
    def ask_with_a_key(self, who: int, n: int, key: str) -> None:
        study = self.studies[who]
        if key not in self.keys:
            if self._ask(study, n, key):
                self.keys[key] = (n, len(self.known) - n + 1)
        elif self.keys[key][0] == n:
            first = self.keys[key][1]
            assert study.ask(n=n, key=key) == study.trials()[first - 1 : first - 1 + n]
        else:
            with pytest.raises(KeyTaken):
                study.ask(n=n, key=key)

    def _ask(self, study: Study, n: int, key: str | None) -> bool:
        if self.closed:
            with pytest.raises(Closed):
                study.ask(n=n, key=key)
            return False
        for trial in study.ask(n=n, key=key):
            self.known.append(Known(trial.params, by_hand=False))
            assert trial.number == len(self.known)
            assert trial.knew_trials == trial.number - 1
            assert trial.outcome is None
        return True

    @rule(who=EITHER, i=st.integers(0, 16), value=st.one_of(st.none(), VALUES))
    def add(self, who: int, i: int, value: float | None) -> None:
        if self.closed:
            with pytest.raises(Closed):
                self.studies[who].add({"x": i / 16}, value)
            return
        trial = self.studies[who].add({"x": i / 16}, value)
        self.known.append(Known({"x": i / 16}, by_hand=True, value=value))  # with an outcome: no delay
        assert trial.number == len(self.known)

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6), value=VALUES)
    def tell(self, who: int, pick: int, value: float) -> None:
        study = self.studies[who]
        s = pick % len(self.known) + 1
        known = self.known[s - 1]
        if known.value is not None and known.value != value:
            with pytest.raises(AlreadyTold):
                study.tell(s, value)
            self.refused += 1
        elif known.value is None and known.failure in ("infeasible", "withdrawn"):
            with pytest.raises(AlreadyEnded):
                study.tell(s, value)
            self.refused += 1
        else:
            receipt = study.tell(s, value)
            if known.value is None:
                known.value, known.delay = value, len(self.known) + 1 - s
                assert receipt.status == ("heard" if known.delay <= self.patience else "late")
            else:
                assert receipt.status == "duplicate"
            delay = known.delay or 0  # what came with its outcome was not waited for
            assert (receipt.number, receipt.delay) == (s, delay)
            assert receipt.used == (delay <= self.patience or self.late == "use")

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6), kind=KINDS)
    def fail(self, who: int, pick: int, kind: Any) -> None:
        study = self.studies[who]
        s = pick % len(self.known) + 1
        known = self.known[s - 1]
        if known.value is not None:
            with pytest.raises(AlreadyTold):
                study.fail(s, kind)
        elif known.failure not in (None, kind):
            with pytest.raises(AlreadyEnded):
                study.fail(s, kind)
        else:
            assert study.fail(s, kind).status == "failed"
            known.failure = kind

    @precondition(lambda self: self.known)
    @rule(who=EITHER, pick=st.integers(0, 10**6), value=VALUES)
    def amend(self, who: int, pick: int, value: float) -> None:
        s = pick % len(self.known) + 1
        known = self.known[s - 1]
        if known.value is None:
            with pytest.raises(NothingHeard):
                self.studies[who].amend(s, value, reason="why")
            return
        trial = self.studies[who].amend(s, value, reason="why")
        assert trial is not None
        assert trial.outcome == value
        known.value = value
        self.amended += 1

    @precondition(lambda self: len(self.known) > 12)
    @rule(who=EITHER)
    def close(self, who: int) -> None:
        self.studies[who].close()
        self.closed = True

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
    def trials_are_as_known(self) -> None:
        trials = self.studies[0].trials()
        assert self.studies[1].trials() == trials
        assert [t.number for t in trials] == list(range(1, len(self.known) + 1))
        for trial, known in zip(trials, self.known, strict=True):
            assert (trial.params, trial.by_hand) == (known.params, known.by_hand)
            assert (trial.outcome, trial.delay) == (known.value, known.delay)
            assert trial.failure == (known.failure if known.value is None else None)
            assert trial.status == self.status(trial.number)

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
        assert sum(isinstance(event, Amended) for event in happened) == self.amended
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


@pytest.mark.long
@pytest.mark.parametrize("ledger", LEDGERS)
def test_any_long_sequence(ledger: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    any_sequence(ledger, request, tmp_path, 150, 60)
