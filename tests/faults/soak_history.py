"""What the workers of a soak were answered, from their logs, and what of it a store does not have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from belated import Trial
from belated.record.check import check_acknowledged
from belated.record.events import Amended
from belated.record.ledger import open_store
from tests.faults.soak_worker import find_study, read_log

LOSSES = ("I1", "I2", "I5", "I8")  # what a client was told is not in the record, or not so, or twice


@dataclass
class StudyHistory:
    """What was acknowledged of one study."""

    asks: list[tuple[str, Trial]] = field(default_factory=list)
    tells: list[tuple[int, float, str]] = field(default_factory=list)
    amendments: list[tuple[int, float, str]] = field(default_factory=list)


@dataclass
class History:
    """What was acknowledged, study by study, and how often a call was interrupted."""

    studies: dict[str, StudyHistory] = field(default_factory=dict)
    interrupts: int = 0
    errors: Counter[str] = field(default_factory=Counter)  # what workers ended with

    @classmethod
    def of(cls, logs: list[Path]) -> History:
        made = cls()
        for log in logs:
            for line in read_log(log):
                made.add(*line)
        return made

    def add(self, what: str, call: Any, answer: Any = None) -> None:
        self.interrupts += what == "interrupted"
        if what == "error":
            self.errors[call] += 1
        if what != "did":
            return
        study = self.studies.setdefault(find_study(call["count"]), StudyHistory())
        if call["verb"] == "ask":
            for number, params in answer:
                study.asks.append((call["key"], Trial(number=number, params=params, asked_at=0.0, status="pending")))
        elif call["verb"] == "tell":
            told = (call["number"], call["value"], answer)
            if told not in study.tells:  # the same call again has the same answer
                study.tells.append(told)
        else:
            study.amendments.append((call["number"], call["value"], call["reason"]))

    def count(self, what: str) -> int:
        """How many asks, tells or amendments were acknowledged."""
        return sum(len(getattr(study, what)) for study in self.studies.values())

    def find_losses(self, url: str, name: str) -> tuple[list[str], list[str]]:
        """What was acknowledged of a study and the store does not have so; and what else its check finds."""
        study = self.studies[name]
        report = check_acknowledged(url, name, study.asks, study.tells)
        lost = [str(finding) for finding in report.findings if finding.invariant in LOSSES]
        wrong = [str(finding) for finding in report.findings if finding.invariant not in LOSSES]
        store = open_store(url)
        kept = Counter(
            (event.number, event.value, event.reason)
            for event in (entry.event for entry in store.ledger(name).read())
            if isinstance(event, Amended)
        )
        store.close()
        lost += [
            f"{name}: the amendment {one} was acknowledged and is not there"
            for one in study.amendments
            if not kept[one]
        ]
        wrong += [f"{name}: the amendment {one} is there {times} times" for one, times in kept.items() if times > 1]
        return lost, wrong
