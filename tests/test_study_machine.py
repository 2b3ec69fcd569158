"""Any sequence of asks, tells, adds, failures and restarts, against a dictionary that knows the rules."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import belated
from belated import AlreadyEnded, AlreadyTold, NothingHeard, Study
from belated.events import Refused
from belated.ledger.memory import MemoryLedger

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

    @initialize(goal=st.sampled_from(["maximize", "minimize"]), late=st.sampled_from(["use", "ignore"]))
    def create(self, goal: Any, late: Any) -> None:
        self.goal, self.late, self.patience = goal, late, 3
        self.study = Study.create(
            space=belated.Points([i / 16 for i in range(17)]),
            goal=goal,
            silence="unknown",
            patience=3,
            late=late,
            initial=10**6,
            seed=5,
            clock=lambda: 0.0,
        )
        self.known: list[Known] = []
        self.refused = 0

    @rule(n=st.integers(1, 4))
    def ask(self, n: int) -> None:
        for trial in self.study.ask(n=n):
            self.known.append(Known(trial.params, by_hand=False))
            assert trial.number == len(self.known)
            assert trial.outcome is None

    @rule(i=st.integers(0, 16), value=st.one_of(st.none(), VALUES))
    def add(self, i: int, value: float | None) -> None:
        trial = self.study.add({"x": i / 16}, value)
        self.known.append(Known({"x": i / 16}, by_hand=True, value=value, delay=None if value is None else 1))
        assert trial.number == len(self.known)

    @precondition(lambda self: self.known)
    @rule(pick=st.integers(0, 10**6), value=VALUES)
    def tell(self, pick: int, value: float) -> None:
        s = pick % len(self.known) + 1
        known = self.known[s - 1]
        if known.value is not None and known.value != value:
            with pytest.raises(AlreadyTold):
                self.study.tell(s, value)
            self.refused += 1
        elif known.value is None and known.failure in ("infeasible", "withdrawn"):
            with pytest.raises(AlreadyEnded):
                self.study.tell(s, value)
            self.refused += 1
        else:
            receipt = self.study.tell(s, value)
            if known.value is None:
                known.value, known.delay = value, len(self.known) + 1 - s
                assert receipt.status == ("heard" if known.delay <= self.patience else "late")
            else:
                assert receipt.status == "duplicate"
            assert known.delay is not None
            assert (receipt.number, receipt.delay) == (s, known.delay)
            assert receipt.used == (known.delay <= self.patience or self.late == "use")

    @precondition(lambda self: self.known)
    @rule(pick=st.integers(0, 10**6), kind=KINDS)
    def fail(self, pick: int, kind: Any) -> None:
        s = pick % len(self.known) + 1
        known = self.known[s - 1]
        if known.value is not None:
            with pytest.raises(AlreadyTold):
                self.study.fail(s, kind)
        elif known.failure not in (None, kind):
            with pytest.raises(AlreadyEnded):
                self.study.fail(s, kind)
        else:
            assert self.study.fail(s, kind).status == "failed"
            known.failure = kind

    @rule()
    def restart(self) -> None:
        events = list(self.study._ledger.read())
        self.study = Study(self.study.settings, MemoryLedger(events), None, self.study.clock)

    def status(self, s: int) -> str:
        known = self.known[s - 1]
        if known.delay is not None:
            return "heard" if known.delay <= self.patience else "late"
        if known.failure is not None:
            return "failed"
        return "pending" if len(self.known) + 1 - s <= self.patience else "expired"

    @invariant()
    def trials_are_as_known(self) -> None:
        trials = self.study.trials()
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
            assert self.study.best().outcome == (max if self.goal == "maximize" else min)(told)
        else:
            with pytest.raises(NothingHeard):
                self.study.best()

    @invariant()
    def conflicts_are_kept_in_the_record(self) -> None:
        assert sum(isinstance(event, Refused) for event in self.study._ledger.read()) == self.refused


StudyMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25)
test_any_sequence = StudyMachine.TestCase
