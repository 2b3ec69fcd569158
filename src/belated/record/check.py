"""Whether a ledger is sound: the invariants I1-I14, checked from the events alone.

INVARIANTS has them in words. A correction with a reason is an event too: the outcome in effect is what the corrections
leave, an undo puts back what was before the event that it names, and what was run is what the belief knows. What was
asked never changes.

In a study of conversions a conversion replaces a 0 that was told before, and a 0 told after it adds nothing (I5, I7).
Where the study chooses patience itself (I9), it changes only at an ask. Whether an outcome is late depends on the
patience at the time of the tell.

`check` reads the ledger only, from event 1, and compares what it comes to with the snapshot, if there is one.
`check_acknowledged` also compares it with what clients were told (I1, I2, I8). A
duplicate without a key leaves no event, so for I6 every outcome is judged as if it were told once more. The outcomes
in effect are computed here a second time, on purpose, in a few lines that share nothing with the state.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from belated.errors import BelatedError, UnknownStudy
from belated.record.belief_check import find_disagreements
from belated.record.choices import replay_choice
from belated.record.events import (
    Adjusted,
    Amended,
    Asked,
    Converted,
    Counted,
    Ended,
    Event,
    Failed,
    Refitted,
    Refused,
    Reopened,
    Repeated,
    Told,
    Undone,
    event_to_dict,
    list_index_columns,
)
from belated.record.ledger import open_store
from belated.record.snapshot import find_snapshot, is_true
from belated.record.state import State
from belated.results import Trial
from belated.settings import Settings
from belated.validation import format_names, format_value

LOCKED_OUT = (Told, Converted, Counted, Failed, Amended, Undone)  # what does not count in a locked study
INVARIANTS = {
    "I1": "every acknowledged ask is there, its params byte-equal",
    "I2": "one trial per key and part; batches are complete",
    "I3": "trial numbers are 1..N, positions 1..n",
    "I4": "every trial is complete, lies in the ranges if it was proposed, and knew all earlier ones",
    "I5": "at most one effective outcome per trial",
    "I6": "a duplicate changes nothing",
    "I7": "another value is refused; only an amendment changes one",
    "I8": "receipts are effective, duplicate, refused or taken back",
    "I9": "after patience an outcome is late, and kept",
    "I10": "the order of tells does not matter",
    "I11": "a belief or choice that is rebuilt is the live one",
    "I12": "readings are finite, ages at least 0",
    "I13": "mean and std are finite, and the variance is between 0 and the prior's",
    "I14": "the store itself is intact",
}
MODELLED = 2000  # trials; above it the beliefs are not compared
REPLAYED = 50_000  # different queries; above it no choice is computed again: it would take most of a minute
SAY_EVERY = 1000  # events

Thing = TypeVar("Thing")


@dataclass(frozen=True, kw_only=True)
class CheckFinding:
    """An invariant that a ledger breaks."""

    invariant: str
    study: str
    number: int | None  # of the trial, if it is about one
    sentence: str

    def __str__(self) -> str:
        where = self.study if self.number is None else f"{self.study}, trial {self.number}"
        return f"{self.invariant} {where}: {self.sentence} ({self.invariant} means: {INVARIANTS[self.invariant]})"


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """What a check found, and how much it read. A remark breaks no invariant.

    >>> from belated import CheckReport
    >>> print(CheckReport(studies=1, events=3, trials=2, outcomes=1))
    studies: 1, events: 3, trials: 2, outcomes: 1, refused: 0, failed: 0, amended: 0; ok
    """

    findings: tuple[CheckFinding, ...] = ()
    remarks: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()  # of each study: position and hash of its last event
    studies: int = 0
    events: int = 0
    trials: int = 0
    outcomes: int = 0  # in effect; of people who are counted, the conversions
    refused: int = 0
    failed: int = 0
    amended: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __str__(self) -> str:
        counts = (
            f"studies: {self.studies}, events: {self.events}, trials: {self.trials}, outcomes: {self.outcomes}, "
            f"refused: {self.refused}, failed: {self.failed}, amended: {self.amended}"
        )
        verdict = f"{counts}; {'ok' if self.ok else 'NOT ok'}"
        return "\n".join([*map(str, self.findings), *self.remarks, *self.heads, verdict])


Flag = Callable[[str, int | None, str], None]  # invariant, trial number, sentence


Progress = Callable[[int, int], object]  # how much is done, and of how much


def check(
    url: str, name: str | None = None, *, replays: int = 1, progress: Progress = lambda done, total: None
) -> CheckReport:
    """Check one study, or every study at a url; the newest `replays` choices of each are computed again.

    progress  called now and then with how much is done, and of how much

    >>> from belated import Real, Study, check
    >>> study = Study.create("sqlite:///lab.db", "flask", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> _ = study.tell(study.ask(), 0.5)
    >>> check("sqlite:///lab.db").ok
    True
    """
    place = open_store(url)
    names = place.names()
    if name is not None and name not in names:
        raise UnknownStudy(f"there is no study {format_value(name)}; there are {format_names(names) or 'none'}")
    findings = [CheckFinding(invariant="I14", study="(store)", number=None, sentence=fault) for fault in place.faults()]
    remarks, heads = place.remarks(), list[str]()
    counts: Counter[str] = Counter(studies=len(names) if name is None else 1)
    chosen = names if name is None else [name]
    steps = Steps(progress, 3 * sum(place.find_origin(study).events for study in chosen))
    for study in chosen:

        def flag(invariant: str, number: int | None, sentence: str, study: str = study) -> None:
            findings.append(CheckFinding(invariant=invariant, study=study, number=number, sentence=sentence))

        try:
            settings, head, events = Settings.of(place.spec(study) or {}), "0", list[Event]()
            ledger = place.ledger(study)
            for entry in steps.follow(ledger.read()):
                events.append(entry.event)
                head = str(entry.head)
        except (BelatedError, ValueError, TypeError, KeyError, AttributeError) as error:
            flag("I14", None, f"its events cannot be read ({error})")
            continue
        for row, event in zip(steps.follow(place.list_rows(study)), events, strict=False):
            if row.columns[:-1] != list_index_columns(event_to_dict(event)):
                flag("I14", None, f"event {row.position}: its columns are not those of its body")
        heads.append(f"{study}: head {head}")
        state = State(settings)
        counts.update(_check_events(state, events, flag, steps))
        if any(finding.study == study for finding in findings):
            continue  # a belief about wrong events says nothing
        if (found := find_snapshot(ledger, settings)) is not None and not is_true(found, events, state):
            flag("I14", None, "its snapshot was not what its events come to, and is thrown away; open the study again")
            with suppress(BelatedError):
                ledger.drop_snapshots()
        if len(state.rows) <= MODELLED:
            for invariant, sentence in find_disagreements(settings, events):
                flag(invariant, None, sentence)
        else:
            remarks.append(f"{study}: more than {MODELLED} trials; the belief was not computed again")
        numbers = np.flatnonzero(state.table.told) + 1
        told = zip(numbers.tolist(), state.table.column("y")[state.table.told].tolist(), strict=True)
        beyond = [(number, state.settings.objective.flag(value)) for number, value in told]
        remarks += [f"{study}, trial {number}: {sentence}" for number, sentence in beyond if sentence]
        if state.table.count_points() > REPLAYED:
            remarks.append(f"{study}: more than {REPLAYED} different queries; no choice was computed again")
            continue
        choices = (e for e in reversed(events) if isinstance(e, Asked) and not e.by_hand and "fell back" not in e.note)
        for asked in islice(choices, replays):
            again = replay_choice(settings, events, asked)
            if not again.ok and again.alike:
                flag("I11", asked.number, str(again))
            elif not again.ok or (again.by is not None and not again.same):
                remarks.append(f"{study}, {again}")
    place.close()
    return CheckReport(findings=tuple(findings), remarks=tuple(remarks), heads=tuple(heads), **counts)


class Steps:
    """Says how much is done, now and then."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def follow(self, things: Iterable[Thing]) -> Iterator[Thing]:
        """The same things; each that comes is one more done."""
        for thing in things:
            yield thing
            self._done += 1
            if self._done % SAY_EVERY == 0:
                self._progress(self._done, self._total)


def find_faults(settings: Settings, events: Sequence[Event]) -> list[str]:
    """What is wrong with the events of a study, in sentences; for events that somebody else has made."""
    found = list[str]()
    steps = Steps(lambda done, total: None, len(events))
    _check_events(State(settings), events, lambda invariant, number, sentence: found.append(sentence), steps)
    return found


def _were_chosen_together(before: Event, event: Asked) -> bool:
    """Whether two asks, each a call of its own, were chosen at one moment and written with one commit."""
    if not isinstance(before, Asked) or before.by_hand or before.parts > 1 or event.parts > 1:
        return False
    return (before.knew, before.considered_at) == (event.knew, event.considered_at)


def _check_events(state: State, events: Sequence[Event], flag: Flag, steps: Steps) -> Counter[str]:
    """I2-I7, I9, I12: every event against those before it, which the state is then after."""
    last, at_ask = 0, 0
    read = Reading(state.settings)
    keys: set[tuple[str, int]] = set()
    for position, event in enumerate(steps.follow(events), start=1):
        number, after = getattr(event, "number", None), events[position : position + 1]
        if wrong := [f"{k} = {v!r}" for k, v in _list_readings(event) if not _is_finite(v)]:
            flag("I12" if "at" in wrong[0] else "I13", number, f"{', '.join(wrong)} must be a finite number")
        if isinstance(event, Asked):
            if number != last + 1:
                flag("I3", number, f"trial {last + 1} must come next")
                return Counter(events=len(events))
            first = position - event.part  # of its batch
            least = 0 if event.by_hand else at_ask  # a query given by hand was not chosen: outcomes may come in between
            if position > 1 and _were_chosen_together(events[position - 2], event):
                least = event.knew
            if event.knew_trials != event.number - 1 or not least <= event.knew < first:
                flag("I4", number, f"its choice must know all {event.number - 1} earlier trials (it knew {event.knew})")
            if read.was_closed(event.knew):
                flag("I4", number, "it was asked after the study was closed")
            try:
                (state.encode_added if event.by_hand else state.encode)(event.params, event.context)
            except (BelatedError, TypeError, ValueError) as error:
                flag("I4", number, f"it is not complete ({error})")
                return Counter(events=len(events))
            if event.key is not None and (event.key, event.part) in keys:
                flag("I2", number, f"key {event.key!r} was used before")
            keys.add((event.key or "", event.part))
            last, at_ask = event.number, position if event.part == event.parts - 1 else at_ask
            if fault := _explain_torn(event, after):
                flag("I2", number, fault)
        elif number is not None and not (isinstance(number, int) and 1 <= number <= last):
            flag("I3", number, f"something happened to it before it was asked (position {position})")
            return Counter(events=len(events))
        elif isinstance(event, Refitted) and event.fitted.get("number") != last + 1:
            flag("I4", None, f"hyperparameters were fitted for another query than trial {last + 1}, the next one")
        elif isinstance(event, Adjusted) and (fault := _explain_misplaced(event, state.settings, after)):
            flag("I9", None, fault)
            return Counter(events=len(events))
        if not read.locked or not isinstance(event, LOCKED_OUT):
            for invariant, sentence in read.find_faults(event, position):
                flag(invariant, number, sentence)
                if isinstance(event, Counted):
                    return Counter(events=len(events))
        read.take(event, position)
        if isinstance(event, Told | Converted | Repeated | Amended | Undone) and event.key is not None:
            if (event.key, 0) in keys:
                flag("I2", number, f"key {event.key!r} was used before")
            keys.add((event.key, 0))
        try:
            state.apply(event)
        except BelatedError as error:
            flag("I7", number, str(error))
            return Counter(events=len(events))
    told = {number: end.outcome for number, end in read.ends.items() if end.outcome is not None}
    now, converted = max((v for event in events for k, v in _list_readings(event) if "at" in k), default=0.0), 0
    for number in range(1, last + 1):
        trial, row = state.trial(number, now), state.rows[number - 1]
        converted += (trial.converted or 0) if trial.failure is None else 0
        if (None if trial.outcome is None else (trial.outcome, trial.noise)) != told.get(number):
            flag("I5", number, f"its outcome must be {told.get(number)!r} (the state says {trial.outcome!r})")
        if number in told and row.judge_outcome(*told[number]) != "duplicate":
            flag("I6", number, f"its outcome {told[number][0]!r} told again must be a duplicate")
        end = read.ends[number]
        if trial.failure != (end.failure if end.outcome is None else None):
            flag("I5", number, f"it must have ended as {end.failure!r} (the state says {trial.failure!r})")
        if dict(trial.params) != dict(end.params):
            flag("I7", number, f"{dict(end.params)!r} was run (the state says {dict(trial.params)!r})")
        if number in told and (trial.status == "late") != (state.table.delay(row) > end.patience):
            flag("I9", number, f"its status is {trial.status} after a delay of {trial.delay!r}")
        if trial.delay is not None and (not trial.delay >= 0 or not row.has_delay):
            flag(
                "I12", number, f"its delay must be at least 0, and none if it was not waited for (got {trial.delay!r})"
            )
    if np.any(state.table.ages(-1e18) < 0):
        flag("I12", None, "an age must be at least 0, whatever the clock says")
    kinds = Counter(type(event) for event in events)
    return Counter(
        events=len(events),
        trials=last,
        outcomes=len(told) + converted,
        refused=kinds[Refused],
        failed=sum(end.outcome is None and end.failure is not None for end in read.ends.values()),
        amended=kinds[Amended],
    )


@dataclass(frozen=True)
class End:
    """What is known of a trial, by the events alone."""

    params: Mapping[str, Any]
    outcome: tuple[float, float | None] | None = None  # with its noise
    failure: str | None = None
    patience: float = math.inf  # by which its outcome is judged
    decided: bool = False  # its outcome was amended


class Reading:
    """The events read a second time: what is in effect of every trial, and what each event changed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ends: dict[int, End] = {}
        self.patience = settings.patience.m
        self.closed = self.locked = False
        self._closings: list[tuple[int, bool]] = [(0, False)]  # from which position on it was closed, or open
        self._before: dict[int | None, list[tuple[int, Any]]] = {None: []}  # what each change left behind
        self._people: set[int] = set()  # trials that stand for many
        self._valid: dict[int, set[tuple[float, float | None]]] = {}  # by trial: every outcome that was in effect
        self._told: set[int] = set()  # trials whose Told is in the ledger
        self._failed: set[int] = set()

    def was_closed(self, knew: int) -> bool:
        """Whether a choice that knew the events up to this position knew that the study was closed."""
        return [closed for since, closed in self._closings if since <= knew][-1]

    def find_faults(self, event: Event, position: int) -> Iterator[tuple[str, str]]:
        """What is wrong with an event after those before it: an invariant and a sentence."""
        number = getattr(event, "number", None)
        end = self.ends.get(number) if number is not None else None
        if isinstance(event, Told) and number in self._told:
            yield "I5", f"it was told twice: {end and end.outcome and end.outcome[0]!r}, then {event.value!r}"
        elif isinstance(event, Converted):
            if not self.settings.objective.conversions or end is None or end.outcome is None:
                yield "I5", "a conversion after a 0 needs a study of conversions, and the 0"
        elif isinstance(event, Counted):
            if not self.settings.objective.conversions or number not in self._people:
                yield "I5", "only a trial of a study of conversions that stands for many people has counts"
            elif fault := _explain_counts(event):
                yield "I13", fault
        elif isinstance(event, Repeated) and not self._was_valid(event):
            yield "I6", f"{event.value!r} was taken for a duplicate of an outcome that it never had"
        elif isinstance(event, Failed) and number in self._failed:
            yield "I5", "it failed twice"
        elif isinstance(event, Refused) and end is not None and end.outcome is None and end.failure is None:
            if number not in self._told and number not in self._failed:
                yield "I7", f"{event.value!r} was refused though there was nothing that it contradicts"
        elif isinstance(event, Amended):
            nothing = end is not None and end.outcome is None and end.failure is None
            if not event.reason.strip() or (nothing and event.params is None and not event.again):
                yield "I7", "an amendment needs a reason, and something to put right"
        elif isinstance(event, Undone):
            if not 1 <= event.position < position:
                yield "I7", f"it undoes event {event.position}, which does not come before it"
        elif isinstance(event, Reopened) and not event.reason.strip():
            yield "I7", "to open it again needs a reason"

    def take(self, event: Event, position: int) -> None:
        """What an event changes."""
        number = getattr(event, "number", None)
        if isinstance(event, Asked):
            self.ends[event.number], self._before[event.number] = End(event.params), [(position, None)]
            if event.shown_over is not None:
                self._people.add(event.number)
            return
        if isinstance(event, Told):
            self._told.add(event.number)
        elif isinstance(event, Failed):
            self._failed.add(event.number)
        if self.locked and isinstance(event, LOCKED_OUT):
            return
        if isinstance(event, Undone):
            self._undo(event, position)
        elif isinstance(event, Adjusted):
            self.patience = event.m
        elif number is None:
            self._change_study(event, position)
        elif (changed := self._change_trial(self.ends[number], event)) is not None:
            self._before[number].append((position, self.ends[number]))
            self.ends[number] = changed
            if changed.outcome is not None:
                self._valid.setdefault(number, set()).add(changed.outcome)

    def _change_trial(self, end: End, event: Event) -> End | None:
        """What a trial is after an event; None: it does not change it."""
        open_ = end.outcome is None and end.failure in (None, "lost")
        if isinstance(event, Counted):
            return replace(end)
        if isinstance(event, Told) and open_:
            params = end.params if event.params is None else event.params
            return replace(end, outcome=(event.value, event.noise), patience=self.patience, params=params)
        if isinstance(event, Converted) and end.outcome == (0.0, None) and not end.decided:
            return replace(end, outcome=(event.value, None), patience=self.patience)
        if isinstance(event, Failed) and end.outcome is None and end.failure is None:
            return replace(end, failure=event.kind)
        return self._amend_trial(end, event, open_) if isinstance(event, Amended) else None

    def _amend_trial(self, end: End, event: Amended, open_: bool) -> End | None:
        untouched = end.outcome is None and end.failure is None
        params = end.params if event.params is None else event.params
        if event.again and event.value is not None:
            outcome = (event.value, event.noise)
            return replace(end, outcome=outcome, patience=self.patience, params=params) if open_ else None
        if event.again:
            return replace(end, failure=event.failure) if untouched else None
        if event.taken_back or event.failure is not None:
            return None if untouched and event.params is None else End(params, failure=event.failure)
        if event.value is None and event.told_at is None:
            return replace(end, params=params)
        if end.outcome is None:
            return None
        outcome = end.outcome if event.value is None else (event.value, event.noise)
        return replace(end, outcome=outcome, params=params, decided=True)

    def _change_study(self, event: Event, position: int) -> None:
        before = (self.patience, self.closed, self.locked)
        if isinstance(event, Ended):
            self._close(position, closed=True, locked=self.locked or event.locked)
        elif isinstance(event, Reopened):
            self._close(position, closed=False, locked=False)
        elif isinstance(event, Amended):
            if event.patience is not None:
                self._judge_by(event.patience if isinstance(event.patience, int | float) else math.inf)
        else:
            return
        self._before[None].append((position, before))

    def _undo(self, event: Undone, position: int) -> None:
        stack = self._before[event.number]
        if not stack or stack[-1][0] != event.position:
            return
        before = stack[-1][1]
        if event.number is None:
            stack.pop()
            patience, closed, locked = before
            if patience != self.patience:
                self._judge_by(patience)
            self._close(position, closed=closed, locked=locked)
        elif before is None:  # the ask itself
            stack.append((position, self.ends[event.number]))
            self.ends[event.number] = replace(self.ends[event.number], failure="withdrawn")
        else:
            stack.pop()
            self.ends[event.number] = before

    def _judge_by(self, patience: float) -> None:
        """All outcomes are judged by another patience."""
        self.patience = patience
        self.ends = {number: replace(end, patience=patience) for number, end in self.ends.items()}

    def _close(self, position: int, *, closed: bool, locked: bool) -> None:
        self.closed, self.locked = closed, locked
        self._closings.append((position, closed))

    def _was_valid(self, event: Repeated) -> bool:
        """Whether what was taken for a duplicate was in effect before; a 0 adds nothing to a conversion."""
        valid, adds_nothing = self._valid.get(event.number, set()), event.value == 0.0
        return (event.value, event.noise) in valid or (
            bool(valid) and adds_nothing and self.settings.objective.conversions
        )


def _explain_counts(event: Counted) -> str:
    """What is wrong with the counts of a day."""
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (event.shown, event.converted))
    if whole and event.shown >= 1 and 0 <= event.converted <= event.shown:
        return ""
    return f"{event.converted!r} of {event.shown!r} people cannot have converted"


def _explain_misplaced(event: Adjusted, settings: Settings, after: Sequence[Event]) -> str:
    """What is wrong with a change of patience."""
    if not settings.patience.auto or event.by_clock != settings.patience.by_clock:
        return f"patience {settings.patience} was changed, which the study may not do"
    if not (
        _is_finite(event.m) and event.m > 0 and (event.by_clock or event.m == int(event.m)) and event.reason.strip()
    ):
        return f"patience was changed to {event.m!r}: it needs a time, and a reason"
    if not (after and isinstance(after[0], Asked) and after[0].part == 0 and not after[0].by_hand):
        return "patience was changed, and the query that was asked at that moment is missing"
    return ""


def _explain_torn(event: Asked, after: Sequence[Event]) -> str:
    """What is missing right after one row of a batch, or of a query that came with its outcome."""
    follower = after[0] if after else None
    if event.part < event.parts - 1:
        same = isinstance(follower, Asked) and (follower.key, follower.part) == (event.key, event.part + 1)
        return "" if same else f"part {event.part + 2} of its batch of {event.parts} is missing"
    if event.told_at_once and not (isinstance(follower, Told) and follower.number == event.number):
        return "it came with an outcome, which is missing"
    if event.shown_over is not None and not (isinstance(follower, Counted) and follower.number == event.number):
        return "it came with counts, which are missing"
    return ""


def _list_readings(event: Event) -> Iterator[tuple[str, Any]]:
    """Every number that an event carries: clock readings (at, asked_at, considered_at) and outcomes."""
    for name in ("at", "asked_at", "considered_at", "value", "noise", "floor", "shown_over"):
        reading = getattr(event, name, None)
        if reading is not None or (name == "value" and isinstance(event, Told | Converted | Repeated | Refused)):
            yield name, reading


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def check_acknowledged(
    url: str,
    name: str,
    asks: Iterable[tuple[str | None, Trial]],
    tells: Iterable[tuple[int, float, str]] = (),
    *,
    complete: bool = False,
) -> CheckReport:
    """`check` one study, and compare it with what its clients were told.

    asks      (key, trial) as answered; it may hold the answer of a retry as well as the first
    tells     (number, value, receipt): "heard", "late", "duplicate", or "refused" for a conflict
    complete  every client retried until it had its answer, so the ledger holds nothing else
    """
    report = check(url, name)
    findings = list(report.findings)

    def flag(invariant: str, number: int | None, sentence: str) -> None:
        findings.append(CheckFinding(invariant=invariant, study=name, number=number, sentence=sentence))

    events = [entry.event for entry in open_store(url).ledger(name).read()]
    kept = {e.number: e for e in events if isinstance(e, Asked)}
    by_key: dict[str, set[int]] = {}
    for key, trial in asks:
        event = kept.get(trial.number)
        if event is None or _encode_query(trial) != _encode_query(event) or (key is not None and event.key != key):
            flag("I1", trial.number, f"it was acknowledged with {dict(trial.params)!r} and is not in the ledger so")
        by_key.setdefault(f"key {key!r}" if key is not None else f"trial {trial.number}", set()).add(trial.number)
    for key_, numbers in by_key.items():
        if len(numbers) > 1 and len(numbers) != kept[min(numbers)].parts:
            flag("I2", None, f"{key_} got several trials: {sorted(numbers)}")
    known = set().union(*by_key.values())
    if complete and (extra := sorted(set(kept) - known)):
        flag("I2", extra[0], f"trials {extra} are in the ledger and nobody was answered with them")
    answers = [(number, value, receipt) for number, value, receipt in tells]
    effective = {e.number: e.value for e in events if isinstance(e, Told | Converted)}
    effective |= {
        e.number: e.value for e in events if isinstance(e, Amended) and e.number is not None and e.value is not None
    }
    first = Counter(number for number, _, receipt in answers if receipt in ("heard", "late"))
    for number, value, receipt in answers:
        if receipt != "refused" and not any(
            isinstance(e, Told | Converted | Amended) and (e.number, e.value) == (number, value) for e in events
        ):
            flag("I8", number, f"{value!r} was acknowledged as {receipt} and is not in the ledger")
    for number in first:
        if first[number] > 1:
            flag("I5", number, f"{first[number]} tells of it were acknowledged as the first")
    refused = Counter((e.number, e.value) for e in events if isinstance(e, Refused))
    missing = Counter((number, value) for number, value, receipt in answers if receipt == "refused") - refused
    for number, value in missing:
        flag("I8", number, f"{value!r} was refused and is not in the record")
    if complete and (silent := sorted(set(effective) - {n for n, _, r in answers if r != "refused"})):
        flag("I8", silent[0], f"trials {silent} have outcomes that nobody got a receipt for")
    return replace(report, findings=tuple(findings))


def _encode_query(asked: Trial | Asked) -> str:
    """A query as bytes, floats with their shortest exact digits."""
    context: Mapping[str, Any] | None = asked.context
    params = (asked.asked_params if isinstance(asked, Trial) else None) or asked.params
    return json.dumps([dict(params), None if context is None else dict(context)], sort_keys=True)
