"""A study: ask what to try next, and tell the outcome whenever it comes.

A choice depends only on the events in the ledger and the study's settings, so a study built again from the same trials
and seed asks the same queries.

(The file is long because everything that a user calls on a study is here, with its docstrings.)
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, overload

import numpy as np

from belated.dataframes import read_frame
from belated.errors import (
    AlreadyEnded,
    AlreadyExists,
    AlreadyTold,
    Contradiction,
    Deleted,
    Followed,
    InvalidInput,
    KeyTaken,
    NothingHeard,
    PartWarning,
    SilenceWarning,
    StoreChanged,
    UnknownStudy,
    UnknownTrial,
)
from belated.learner.algorithms import Algorithm
from belated.learner.arrays import Array
from belated.learner.blas import describe_versions, use_one_thread
from belated.learner.choice.candidates import join_context
from belated.learner.choice.problem import Cache, Hyperparameters
from belated.learner.silence import Silence
from belated.patience import Patience
from belated.record.additions import AddedCounts, AddedQuery, AdditionPlan, read_addition
from belated.record.beliefs import believe_at, describe_fit, find_best_mean, limit_rates
from belated.record.best import count_trials, find_best_rate, find_best_told
from belated.record.bulk import explain_rows, write_rows
from belated.record.choices import (
    Knowledge,
    decode_choice,
    find_situation,
    find_worst,
    gather_knowledge,
    prepare_choice,
    prepare_fit,
    prepare_summary,
    replay_choice,
)
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
    Renamed,
    Reopened,
    Repeated,
    Told,
    Undone,
)
from belated.record.kept_events import KeyedCall
from belated.record.ledger import Ledger, StudyLedger, find_store, is_server, open_store
from belated.record.ledger.chain import Entry, Head
from belated.record.ledger.memory import MemoryLedger
from belated.record.locks import hold, renew_in_children
from belated.record.log import LogEntry, describe_creation, describe_event
from belated.record.signing import NOBODY, Signature, read_person, require_reason
from belated.record.snapshot import find_snapshot, keep_snapshot
from belated.record.state import State
from belated.record.tellings import (
    Outcome,
    OutcomeEvent,
    OutcomeRow,
    TellPlan,
    find_by_key,
    read_outcome,
    refuse_counted,
)
from belated.record.undoing import PastEvent, find_number, find_undo
from belated.record.writes import write_in_turn
from belated.results import (
    FAILURES,
    STATUSES,
    Belief,
    BestQuery,
    Failure,
    Receipt,
    Replay,
    Status,
    Trial,
    WorstValue,
)
from belated.settings import (
    Declared,
    Late,
    OutcomeKind,
    RegretKind,
    Repeats,
    Settings,
    amend_settings,
    check_agreement,
    settle_settings,
)
from belated.space.encoding import Space
from belated.space.parameters import Choice
from belated.space.points import Points
from belated.validation import (
    Params,
    format_names,
    format_value,
    freeze,
    read_name,
    require_number,
    require_time,
    require_whole,
)

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from belated.delays.advice import Advice
    from belated.delays.report import DelayReport
    from belated.execution.optimize import Run
    from belated.outlook.result import Outlook

REMOTE = "belated.remote.study"  # imported where a url names a server: its class is made of this one
LONGEST_KEY = 512  # a key is part of an index, which in PostgreSQL holds at most 2700 bytes
AMENDABLE = (
    "amend a trial (value, noise, at, params, failure, take_back), or the study (floor=, limits=, patience=, ranges=)"
)
FAILED_AGAIN = "failed again after that was taken back"
AnEvent = TypeVar("AnEvent", bound=Event)


class Study:
    """What to try next, and the outcomes; stored in memory, in a SQLite file or in PostgreSQL.

    >>> from belated import Real, Study
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> trial = study.ask()
    >>> study.tell(trial, 0.83).status
    'heard'
    """

    def __init__(self, settings: Settings, ledger: StudyLedger, name: str | None, clock: Callable[[], float]) -> None:
        """Use Study.create or Study.open."""
        self._ledger, self._created, self.name, self.clock = ledger, settings, name, clock
        self._begin()
        renew_in_children(self, Study._begin)
        self._read_first()

    def _read_first(self) -> None:
        """Read what there is."""
        self._sync()
        if self._head is not None:
            keep_snapshot(self._ledger, self._state, self._head, self._restored or 0)

    def _begin(self) -> None:
        """Begin with nothing read; in a forked child too, where another thread may have been at work before."""
        self._state, self._cache = State(self._created), Cache()
        self._cached_in = self._created.space
        self._head: Head | None = None  # of the last event that the state has
        self._restored: int | None = None  # the position of the snapshot that it began with; None: it has not begun
        self._sound = True  # False while an event is applied: after an exception there, the state is built again
        self._lock = threading.RLock()  # for the state; never held while a choice or a belief is computed
        self._cache_lock = threading.RLock()  # for the cache, held while one is computed

    @classmethod
    def create(
        cls,
        url: str | None = None,
        name: str | None = None,
        *,
        space: Declared,
        context: Declared | None = None,
        goal: Literal["maximize", "minimize"] = "maximize",
        floor: float | None = None,
        ceiling: float | None = None,
        limits: tuple[float, float] | None = None,
        silence: str | Silence | None = None,
        patience: int | str | timedelta | None = None,
        late: Late | None = None,
        algorithm: str | Algorithm = "default",
        repeats: Repeats | None = None,
        regret: RegretKind | None = None,
        outcomes: OutcomeKind = "real",
        initial: int | None = None,
        seed: int | None = None,
        about: str | None = None,
        outcome_name: str | None = None,
        unit: str | None = None,
        by: str | None = None,
        clock: Callable[[], float] | None = None,
        token: str | None = None,
    ) -> Study:
        """A new study; with a url, an existing study of that name with the same settings is opened.

        url        where it is kept: "sqlite:///lab.db" or "postgresql://user@host/database"; None: in memory. Or the
                   server that keeps it, https://host
        name       what it is called there: letters and digits of any script, ".", "_" and "-"; in memory it may be left
                   out
        space      {"x": Real(0, 1), "n": Integer(1, 8), "kind": Choice("a", "b")}, or Points([...])
        context    a space of the same kind, when every ask comes with a context
        goal       "maximize" or "minimize"
        floor      the worst value of the noise-free objective (the largest when minimizing). None: unknown
        ceiling    the best value
        limits     (lo, hi): outcomes outside are refused
        silence    what an unheard outcome means: "floor", "unknown", "waiting", "fading", "ignored", "nearest", or a
                   value of belated.silence
        patience   rounds, or "14d", "90s", a timedelta: after it an outcome is late. None: never. "auto": follows
                   `advise`, in rounds, as soon as there is an advice; "auto-clock": by the clock
        late       "use" late outcomes in the model, or "ignore" them (they are recorded either way)
        algorithm  "default", one of the paper's six names, or a value of belated.algorithms
        regret     "simple": only the best query counts; "cumulative": every query does. None: cumulative with a context
                   or conversions
        outcomes   "real": numbers; "conversion": 1 (or an amount) if and when it happens, never told otherwise
        repeats    whether a query may be asked again: "always", "heard" (not while it is pending, unless no others are
                   left) or "never"
        initial    space-filling queries to begin with; None: a number that suits the space
        seed       makes every choice repeatable; None: drawn, see study.seed
        about, outcome_name, unit    the question, what the outcome is called, and its unit: for pictures, reports and
                   exports
        by         who makes it; None: whom BELATED_BY names, if anybody
        clock      a function returning seconds; None: time.time, or the clock of the server
        token      for a server; None: what BELATED_TOKEN holds, if anything

        >>> from belated import Choice, Real, Study
        >>> space = {"temperature": Real(20, 90), "solvent": Choice("water", "ethanol")}
        >>> Study.create(space=space, silence="unknown", patience="14d", seed=0)
        Study(default, maximize, silence=unknown, 0 trials, 0 heard)
        >>> Study.create("sqlite:///lab.db", "catalyst", space=space, goal="minimize", algorithm="GP-BTS", seed=0)
        Study(catalyst: GP-BTS, minimize, silence=unknown, 0 trials, 0 heard)
        """
        if isinstance(url, Mapping | Points | Space):
            raise InvalidInput("the space must be given by name: Study.create(space=...)")
        name = None if name is None else read_name(name)
        if url is not None and name is None:
            raise InvalidInput("name must be given: it is how a study in a store is found again")
        if clock is not None and not callable(clock):
            raise InvalidInput(f"clock must be a function returning seconds (got {format_value(clock)})")
        _refuse_at_server(url, clock, token)
        settings = settle_settings(
            space=space,
            context=context,
            goal=goal,
            floor=floor,
            ceiling=ceiling,
            limits=limits,
            silence=silence,
            patience=patience,
            late=late,
            algorithm=algorithm,
            repeats=repeats,
            regret=regret,
            outcomes=outcomes,
            initial=initial,
            seed=seed,
            about=about,
            outcome_name=outcome_name,
            unit=unit,
            created_by=read_person(by),
            created_at=time.time() if clock is None else None,  # another clock counts from when it likes
        )
        if url is None or name is None:
            return cls(settings, MemoryLedger(), name, clock or time.time)
        if is_server(url):
            made: Study = import_module(REMOTE).create_remote(url, name, settings, token, seeded=seed is not None)
            return made
        place = open_store(url, create=True)
        if place.create(name, settings.spec()):
            return cls(settings, place.ledger(name), name, clock or time.time)
        study = cls(Settings.of(place.spec(name) or {}), place.ledger(name), name, clock or time.time)
        given = settings if seed is not None else replace(settings, seed=study.seed)
        check_agreement(name, study.settings, given)
        return study

    @classmethod
    def open(
        cls,
        url: str | None = None,
        name: str | None = None,
        *,
        clock: Callable[[], float] | None = None,
        token: str | None = None,
    ) -> Study:
        """A study that was created before, here or elsewhere.

        url    as in `create`; of a server, https://host, everything else is the same; None: where the variable
               BELATED_STORE says
        name   what it is called there
        clock  a function returning seconds; None: time.time, or the clock of the server
        token  for a server; None: what BELATED_TOKEN holds, if anything

        >>> from belated import Real, Study
        >>> trial = Study.create("sqlite:///lab.db", "flasks", space={"x": Real(0, 1)}, silence="unknown", seed=0).ask()
        >>> Study.open("sqlite:///lab.db", "flasks").trial(1) == trial  # tomorrow, in another process
        True
        """
        name, url = read_name(name), find_store(url)
        _refuse_at_server(url, clock, token)
        if is_server(url):
            found: Study = import_module(REMOTE).open_remote(url, name, token)
            return found
        place = open_store(url)
        spec = place.spec(name)
        if spec is None:
            raise UnknownStudy(
                f"there is no study {format_value(name)}; there are {format_names(place.names()) or 'none'}"
            )
        return cls(Settings.of(spec), place.ledger(name), name, clock or time.time)

    @classmethod
    def from_dataframe(
        cls,
        frame: Any,
        url: str | None = None,
        name: str | None = None,
        *,
        outcome: str,
        at: str | None = None,
        noise: str | None = None,
        **settings: Any,
    ) -> Study:
        """A new study with a trial for each row of a data frame (pandas or polars), all of them or none.

        frame     its columns are named as the parameters of the space, and of the context
        outcome   the column of the outcomes; where it is empty, the trial is pending
        at        the column of the times, and `noise` that of the outcomes' own noise, if there are any
        settings  what `create` takes: space, silence and so on

        >>> import pandas
        >>> from belated import Real, Study
        >>> frame = pandas.DataFrame({"heat": [20.0, 60.0, 90.0], "yield": [0.2, 0.8, None]})
        >>> space = {"heat": Real(0, 100)}
        >>> study = Study.from_dataframe(frame, outcome="yield", space=space, silence="unknown", seed=0)
        >>> [(trial.params["heat"], trial.status) for trial in study.trials()]
        [(20.0, 'heard'), (60.0, 'heard'), (90.0, 'pending')]
        """
        study = cls.create(url, name, **settings)
        if study.rounds:
            raise AlreadyExists(f"study {format_value(name)} has {study.rounds} trials already; add rows with add_many")
        around = study.settings.context
        columns = {"value": outcome, "at": at, "noise": noise}
        study.add_many(read_frame(frame, study.settings.space.names, () if around is None else around.names, columns))
        return study

    @property
    def settings(self) -> Settings:
        """The settings as they are now: as amended, with the patience of now.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, algorithm="GP-UCB-SDF", floor=0.0, patience=20, seed=0)
        >>> study.settings.late, study.settings.repeats  # what the algorithm implies
        ('ignore', 'always')
        """
        return self._state.settings

    @property
    def original_settings(self) -> Settings:
        """The settings that the study was created with, before any amendment.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="floor", floor=0.0, seed=0)
        >>> study.amend(floor=-1.0, reason="it can be worse")
        >>> study.original_settings.objective.floor, study.settings.objective.floor
        (0.0, -1.0)
        """
        return self._created

    @property
    def seed(self) -> int:
        """The seed of its choices; drawn at random if none was given, and stored.

        >>> from belated import Real, Study
        >>> Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=7).seed
        7
        """
        return self.settings.seed

    def __repr__(self) -> str:
        where = ", in memory" if isinstance(self._ledger, MemoryLedger) else ""
        named = "" if self.name is None else f"{self.name}{where}: "
        table = self._state.table
        trials = f"{table.count} trials, {np.sum(table.told)} heard"
        algorithm, goal, silence = (
            self.settings.algorithm.name,
            self.settings.objective.goal,
            self.settings.silence.name,
        )
        return f"Study({named}{algorithm}, {goal}, silence={silence}, {trials})"

    def _repr_html_(self) -> str:
        """What a notebook shows of a study."""
        from belated.report.glance import render_glance

        return render_glance(self)

    # Asking -----------------------------------------------------------------------------------------------------------

    @overload
    def ask(
        self,
        *,
        context: Params | None = None,
        n: None = None,
        contexts: None = None,
        params: Params | None = None,
        key: str | None = None,
        by: str | None = None,
        remark: str | None = None,
    ) -> Trial: ...

    @overload
    def ask(
        self,
        *,
        context: Params | None = None,
        n: int,
        params: Params | None = None,
        key: str | None = None,
        by: str | None = None,
        remark: str | None = None,
    ) -> list[Trial]: ...

    @overload
    def ask(
        self,
        *,
        contexts: Sequence[Params],
        params: Params | None = None,
        key: str | None = None,
        by: str | None = None,
        remark: str | None = None,
    ) -> list[Trial]: ...

    def ask(
        self,
        *,
        context: Params | None = None,
        n: int | None = None,
        contexts: Sequence[Params] | None = None,
        params: Params | None = None,
        key: str | None = None,
        by: str | None = None,
        remark: str | None = None,
    ) -> Trial | list[Trial]:
        """The next query to try; with n a list of n queries, all for one context; with contexts a list of queries, one
        for each. Each is a round.

        params fixes some coordinates by hand. The same key again gives the same trial or trials.

        by      who asks; None: whom BELATED_BY names, if anybody
        remark  something to keep with it

        >>> from belated import Choice, Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.ask().number
        1
        >>> [trial.number for trial in study.ask(n=2)]
        [2, 3]
        >>> study.ask(params={"x": 0.5}, key="flask 7").number, study.ask(params={"x": 0.5}, key="flask 7").number
        (4, 4)
        >>> shop = Study.create(space={"x": Real(0, 1)}, context={"who": Choice("new", "loyal")}, silence="unknown")
        >>> [trial.context["who"] for trial in shop.ask(contexts=[{"who": "loyal"}, {"who": "new"}])]
        ['loyal', 'new']
        """
        batch = [self._state.encode_context(each)[0] for each in _list_contexts(context, n, contexts)]
        fixed = None if params is None else self._state.check_fixed(params)
        call, signature = ("ask", tuple(map(freeze, batch)), freeze(fixed)), Signature.of(by, remark)
        with self._ledger.lock_asks(self._sync, self._head) as turn:
            self._sync(turn)

            def events() -> list[Asked | Adjusted]:
                with self._hold_state():
                    if self._find_by_key(key, call) is not None:
                        return []
                    self._state.require_open()
                with use_one_thread():
                    return self._choose(batch, fixed, key)

            asked = [event.number for event in self._write(events, signature, turn) if isinstance(event, Asked)]
        with self._hold_state():
            before = self._find_by_key(key, call)
            first = asked[0] if before is None else cast("Asked", before.event).number
            trials = [self._read_trial(s) for s in range(first, first + len(batch))]
            return trials[0] if n is None and contexts is None else trials

    def _choose(
        self, contexts: Sequence[Params | None], fixed: Params | None, key: str | None
    ) -> list[Asked | Adjusted]:
        """A query for each context. In a batch, each knows those before it; none knows what is told meanwhile.

        Where the study chooses patience and a change is due, that event comes first."""
        events: list[Asked | Adjusted] = []
        count = len(contexts)
        considered_at = self._read_clock()  # a batch is chosen at one moment
        for part, context in enumerate(contexts):
            with self._hold_state() as now:
                if part == 0:
                    knew, state = now.position, now if count == 1 else now.fork(count)
                    change = self._consider_patience(considered_at)
                number, before = state.next_number, state.versions
                compute = prepare_choice(state, considered_at, context, fixed)
            with self._use_cache() as cache:
                choice = compute(cache)
            if choice.failure and self.settings.algorithm.own:
                own = self.settings.algorithm.name
                warnings.warn(f"{own}, trial {number}: {choice.failure}; {choice.note}", PartWarning, stacklevel=3)
            event = Asked(
                number=number,
                params=decode_choice(self.settings, choice.x, fixed),
                context=context,
                knew=knew,
                considered_at=considered_at,
                asked_at=self._read_clock(),
                fixed=fixed,
                note=choice.note,
                fitted=None if choice.fitted is None else choice.fitted.to_dict(),
                key=key,
                part=part,
                parts=count,
                knew_trials=number - 1,
                versions=None if before == describe_versions() else describe_versions(),
            )
            events.append(event)
            if part < count - 1:
                state.apply(event)
        return [*change(), *events]

    def _consider_patience(self, now: float) -> Callable[[], list[Adjusted]]:
        """The change of patience that is due at this ask, if any, still to be computed."""
        if not self.settings.patience.auto:
            return list
        from belated.delays.advice import prepare_adjustment

        return prepare_adjustment(self._state, now)

    # Telling ----------------------------------------------------------------------------------------------------------

    def tell(
        self,
        trial: Trial | int,
        value: float,
        *,
        at: float | datetime | None = None,
        noise: float | None = None,
        params: Params | None = None,
        key: str | None = None,
        by: str | None = None,
        remark: str | None = None,
    ) -> Receipt:
        """Tell the outcome of a trial (or of a number). The same value again is a duplicate, another one is refused;
        only `amend` corrects it, with a reason. Of a 0 and a conversion, in a study of conversions, the conversion
        stands, whichever is told first.

        at      when it really came, in seconds of the study's clock or as a datetime; None: now
        noise   the standard deviation of this outcome's noise, when it is known
        params  what was run, where that is not what was asked: all of it, or what was different. It may lie outside the
                ranges, which bind what the study proposes
        by      who tells; None: whom BELATED_BY names, if anybody
        remark  something to keep with it

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> first, second = study.ask(n=2)
        >>> study.tell(second, 0.83).status  # in any order
        'heard'
        >>> study.tell(2, 0.83).status
        'duplicate'
        >>> _ = study.tell(first, 0.4, params={"x": 0.75}, by="anna", remark="the knob has steps")
        >>> study.trial(1).params, study.trial(1).asked_params == first.params
        ({'x': 0.75}, True)
        """
        signature = Signature.of(by, remark)
        with hold(self._lock):
            unread = params is None and self._may_tell_unread(trial, value, key)
            if not unread:
                self._sync()
            number = self._find_number(trial)
            y, sigma, when = require_number(value), self._check_noise(noise), self._read_time(at)
            run = self._read_run(number, params, key)
            outcome, call = Outcome(number, y, sigma, when, run), ("tell", number, y, sigma, freeze(run))

            def events() -> list[Told | Converted | Repeated | Refused | Amended]:
                if self._find_by_key(key, call) is not None:
                    return []
                self._state.require_unlocked()
                refuse_counted(self._state, number)
                self.settings.objective.accept(y)
                match outcome.judge(self._state):
                    case "new":
                        return [outcome.make_news(self._state, self._read_clock(), key)]
                    case "conversion":
                        return [outcome.make_conversion(key)]
                    case "conflict":
                        return [Refused(number=number, value=y, noise=sigma, at=when)]
                    case "duplicate" | "nothing new":
                        repeated = Repeated(number=number, value=y, noise=sigma, at=when, key=key or "", params=run)
                        return [] if key is None else [repeated]

            written = self._write(events, signature, about=number if unread else None)
            keyed = self._find_by_key(key, call)
            if keyed is None:
                return self._answer_tell(self._state, outcome, written[0] if written else None)
            then = self._state
            if not then.is_unchanged(number, keyed.position):  # the receipt of then, whatever was corrected since
                then = State.after(self._created, self.events()[: keyed.position])
            return self._answer_tell(then, outcome, keyed.event)

    def tell_many(
        self, rows: Iterable[Mapping[str, Any]], *, by: str | None = None, remark: str | None = None
    ) -> list[Receipt]:
        """Tell many outcomes at once. A row has its trial (or the number), or the key that the trial was asked or added
        with, and value; and perhaps at and noise, as `tell` takes them.

        A list is told as a whole or not at all: one that contradicts what was told before refuses all of them, and
        leaves nothing in the record. Other iterables are read and told in parts of some thousand rows, so that they may
        be longer than the memory; an error says how many rows were told before. Telling a row again is harmless.

        The receipts are in the order of the rows, as of after the last one.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> first, second = study.ask(n=2)
        >>> third = study.ask(key="flask 7")
        >>> rows = [{"trial": second, "value": 0.8}, {"trial": 1, "value": 0.4}, {"key": "flask 7", "value": 0.5}]
        >>> [(receipt.number, receipt.status) for receipt in study.tell_many(rows)]
        [(2, 'heard'), (1, 'heard'), (3, 'heard')]
        """
        signature = Signature.of(by, remark)

        def write(part: Sequence[Mapping[str, Any]], first: int) -> list[Receipt]:
            return self._tell_rows(explain_rows(read_outcome, part, first), signature, first)

        return write_rows(rows, write)

    def _tell_rows(
        self, rows: Sequence[OutcomeRow], signature: Signature, first: int, key: str | None = None
    ) -> list[Receipt]:
        """Tell all of the rows, or none; first is the number of the first one, and key that of them all."""
        with hold(self._lock):
            self._sync()
            now = self._read_clock()
            outcomes = explain_rows(lambda row: self._read_outcome(row, now), rows, first)
            plan = TellPlan(self._state, now, key)

            def events() -> list[OutcomeEvent]:
                nonlocal plan
                self._state.require_unlocked()
                plan = TellPlan(self._state, now, key)
                explain_rows(plan.tell, outcomes, first)
                return plan.events

            self._write(events, signature)
            return [self._answer_tell(self._state, *telling) for telling in plan.tellings]

    def _read_outcome(self, row: OutcomeRow, now: float) -> Outcome:
        """The row as plain values."""
        number = None if row.trial is None else self._find_number(row.trial)
        if number is None or row.key is not None:
            number = find_by_key(self._state, row.key, number)
        when = now if row.at is None else self._read_time(row.at)
        return Outcome(number, require_number(row.value), self._check_noise(row.noise), when)

    def _may_tell_unread(self, trial: Trial | int, value: float, key: str | None) -> bool:
        """Whether an outcome is news by what was read last, and nothing speaks against it; the ledger refuses it if
        that is no longer so. Everything else is decided by what is read now."""
        number = trial.number if isinstance(trial, Trial) else trial
        state, keyed = self._state, key is not None and (not isinstance(key, str) or key in self._state.table.keys)
        if not self._sound or state.locked or keyed or type(number) is not int or not 1 <= number <= state.table.count:
            return False
        if state.table.column("told_once")[number - 1] or state.table.column("failed_once")[number - 1]:
            return False
        try:
            state.settings.objective.accept(require_number(value))
        except InvalidInput:
            return False
        return True

    def _answer_tell(self, state: State, outcome: Outcome, recorded: Event | None) -> Receipt:
        """The receipt of a tell, or why it is refused, as of the state after it."""
        number, y, noise, objective = outcome.number, outcome.value, outcome.noise, state.settings.objective
        row = state.rows[number - 1]
        at = recorded.told_at if isinstance(recorded, Amended) else getattr(recorded, "at", None)
        stands = isinstance(recorded, Told | Converted | Amended) and row.told is not None
        if stands and row.told is not None and (row.told.value, row.told.noise, row.told.at) == (y, noise, at):
            late = state.status(number, self._read_clock()) == "late"
            notes = [objective.flag(y), "it was told 0 before; the conversion stands" if row.converted else ""]
            return self._make_receipt(state, number, "late" if late else "heard", notes)
        judged = outcome.judge(state)
        if isinstance(recorded, Repeated) or judged in ("duplicate", "nothing new"):
            converted = y == 0.0 and row.told is not None and row.told.value > 0.0 and objective.conversions
            notes = [objective.flag(y), "it converted before, and the conversion stands" if converted else ""]
            return self._make_receipt(state, number, "duplicate", notes)
        state.require_unlocked()
        raise outcome.explain_conflict(row)

    def _read_run(self, number: int, params: Params | None, key: str | None = None) -> dict[str, Any] | None:
        """What was run, if that was said and is not what is known; params may be those that differ alone."""
        if params is None:
            return None
        row, before = self._state.rows[number - 1], self._state.table.keys.get(key or "")
        known: Mapping[str, Any] = row.params
        if before is not None and not isinstance(before.event, Asked):  # a retry says what it said before
            known = getattr(before.event, "params", None) or row.asked.params
        if not isinstance(params, Mapping):
            raise InvalidInput(f"params must be a dictionary (got {format_value(params)})")
        whole, space = {**known, **params}, self.settings.space
        space.encode_run(whole)  # refuses what cannot have been run
        run = space.as_given(whole)
        return None if run == dict(row.asked.params if before is not None else known) else run

    def _make_receipt(
        self, state: State, number: int, status: Literal["heard", "duplicate", "late"], notes: Sequence[str]
    ) -> Receipt:
        now, columns = self._read_clock(), state.table.column
        asked_at, told_at, delay = (columns(name)[number - 1].item() for name in ("asked_at", "told_at", "delay"))
        used, notes = state.status(number, now) == "heard" or self.settings.late == "use", list(notes)
        if self.settings.patience.by_clock and told_at < asked_at:
            notes.append("it came before it was asked, which counts as a delay of 0")
        if self.settings.patience.by_clock and told_at > now + 60.0:
            notes.append("its time is later than now by the study's clock")
        if not used:
            patience = state.patience_of(state.rows[number - 1])
            notes.append(f"it came after patience ({patience}): recorded, and not used by the model")
        return Receipt(number=number, status=status, delay=delay, used=used, note="; ".join(filter(None, notes)))

    def add(
        self,
        params: Params,
        value: float | None = None,
        *,
        context: Params | None = None,
        at: float | datetime | None = None,
        noise: float | None = None,
        key: str | None = None,
        by: str | None = None,
        remark: str | None = None,
    ) -> Trial:
        """Add a query that was tried before or elsewhere. It gets the next number; without a value it is pending.
        It may lie outside the ranges, which bind what the study proposes.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.add({"x": 0.25}, 0.64).status
        'heard'
        >>> study.best().params
        {'x': 0.25}
        """
        row = AddedQuery(params=params, value=value, context=context, at=at, noise=noise, key=key)
        return self._add_rows([row], Signature.of(by, remark))[0]

    def add_many(
        self, rows: Iterable[Mapping[str, Any]], *, by: str | None = None, remark: str | None = None
    ) -> list[Trial]:
        """Add many rows at once. A row has what `add` takes: params, and perhaps context, value, at, noise and key.

        A list is added as a whole or not at all; other iterables in parts, as `tell_many` says.

        In a study of conversions a row may count people instead: params, context, day (a date, or when its 24 hours
        begin), shown, converted, and as_of (until when they are counted; None: now). It is one trial. The same query
        and day again states its counts anew: the difference is what came since.

        >>> from datetime import datetime
        >>> from belated import Points, Study
        >>> space = Points([0.1, 0.2], names=["discount"])
        >>> study = Study.create(space=space, outcomes="conversion", silence="fading", patience="7d", seed=0)
        >>> row = {"params": {"discount": 0.1}, "day": "2026-03-01", "shown": 500}
        >>> study.add_many([{**row, "converted": 12, "as_of": datetime(2026, 3, 2)}])[0].converted
        12
        >>> trial = study.add_many([{**row, "converted": 19, "as_of": datetime(2026, 3, 3)}])[0]
        >>> trial.number, trial.shown, trial.converted
        (1, 500, 19)
        """
        signature = Signature.of(by, remark)

        def write(part: Sequence[Mapping[str, Any]], first: int) -> list[Trial]:
            return self._add_rows(explain_rows(read_addition, part, first), signature, first)

        return write_rows(rows, write)

    def _add_rows(self, rows: Sequence[AddedQuery | AddedCounts], signature: Signature, first: int = 1) -> list[Trial]:
        """Write all of the rows, or none; first is the number of the first one."""
        with self._ledger.lock_asks(self._sync, self._head) as turn, hold(self._lock):
            self._sync(turn)
            ready = explain_rows(self._check_row, rows, first)
            plan = AdditionPlan(self._state)

            def events() -> list[Asked | Told | Counted]:
                nonlocal plan
                plan = AdditionPlan(self._state)
                for row in ready:
                    if isinstance(row, AddedCounts):
                        plan.add_counts(row)
                    else:
                        before = self._find_by_key(row.key, row.call)
                        plan.add_query(row, None if before is None else before.event.number)
                if plan.events:
                    self._state.require_unlocked()
                return plan.events

            self._write(events, signature, turn)
            return [self._read_trial(number) for number in plan.numbers]

    def _check_row(self, row: AddedQuery | AddedCounts) -> AddedQuery | AddedCounts:
        return self._check_counts(row) if isinstance(row, AddedCounts) else self._check_query(row)

    def _check_query(self, row: AddedQuery) -> AddedQuery:
        """The row as plain values."""
        words, _ = self._state.encode_context(row.context)
        self.settings.space.encode_run(row.params)  # refuses what cannot have been run
        y = None if row.value is None else require_number(row.value)
        sigma = self._check_noise(row.noise)
        if sigma is not None and y is None:
            raise InvalidInput("noise belongs to an outcome; give a value with it")
        given, when = self.settings.space.as_given(row.params), self._read_time(row.at)
        return replace(row, params=given, context=words, value=y, noise=sigma, at=when)

    def _check_counts(self, row: AddedCounts) -> AddedCounts:
        """The row as plain values."""
        if self.settings.outcomes != "conversion":
            raise Contradiction('people are counted in a study of conversions: create it with outcomes="conversion"')
        words, _ = self._state.encode_context(row.context)
        self.settings.space.encode_run(row.params)
        until = self._read_time(row.as_of)
        if until < row.day:
            raise InvalidInput(f"as_of must not be before its day (got {format_value(row.as_of)})")
        return replace(row, params=self.settings.space.as_given(row.params), context=words, as_of=until)

    @overload
    def fail(self, trial: Trial | int, kind: Failure, *, reason: str | None = None, by: str | None = None) -> Trial: ...

    @overload
    def fail(
        self, trial: Sequence[Trial | int], kind: Failure, *, reason: str | None = None, by: str | None = None
    ) -> list[Trial]: ...

    def fail(
        self,
        trial: Trial | int | Sequence[Trial | int],
        kind: Failure,
        *,
        reason: str | None = None,
        by: str | None = None,
    ) -> Trial | list[Trial]:
        """End a trial without an outcome: "lost" (no information about x), "infeasible" (x caused it: queries like
        it are avoided), or "withdrawn". Of a list of trials all end, or none.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.fail(study.ask(), "lost").failure
        'lost'
        >>> study.tell(1, 0.4).status  # it turned up after all
        'heard'
        >>> [trial.failure for trial in study.fail(study.ask(n=2), "withdrawn", reason="the power was off")]
        ['withdrawn', 'withdrawn']
        """
        if kind not in FAILURES:
            raise InvalidInput(f"kind must be one of {', '.join(FAILURES)} (got {format_value(kind)})")
        why = "" if reason is None else require_reason(reason)
        alone = isinstance(trial, Trial) or not isinstance(trial, Sequence) or isinstance(trial, str)
        with hold(self._lock):
            self._sync()
            given = [cast("Trial | int", trial)] if alone else list(cast("Sequence[Trial | int]", trial))
            numbers = list(dict.fromkeys(self._find_number(each) for each in given))

            def events() -> list[Failed | Amended]:
                made = [event for number in numbers for event in self._make_failure(number, kind, why)]
                if made:
                    self._state.require_unlocked()
                return made

            self._write(events, Signature.of(by))
            if any(self._state.rows[number - 1].failed is None for number in numbers):
                events()  # an outcome came in between: raise the error
            trials = [self._read_trial(number) for number in numbers]
            return trials[0] if alone else trials

    def _make_failure(self, number: int, kind: Failure, reason: str) -> list[Failed | Amended]:
        """The event that ends a trial; none if it has ended so before."""
        row, at = self._state.rows[number - 1], self._read_clock()
        if row.told is not None:
            told = row.told.value
            raise AlreadyTold(f"trial {number} was told {told!r} before; it cannot fail any more (got {kind!r})")
        if row.failed is not None and row.failed.kind != kind:
            raise AlreadyEnded(f"trial {number} ended as {row.failed.kind} before (got {kind!r})")
        if row.failed is not None:
            return []
        if self._state.table.column("failed_once")[number - 1]:
            return [Amended(number=number, reason=reason or FAILED_AGAIN, at=at, failure=kind, again=True)]
        return [Failed(number=number, kind=kind, at=at, reason=reason)]

    # Correcting -------------------------------------------------------------------------------------------------------

    def amend(
        self,
        trial: Trial | int | None = None,
        value: float | None = None,
        *,
        reason: str,
        noise: float | None = None,
        at: float | datetime | None = None,
        params: Params | None = None,
        failure: Failure | None = None,
        take_back: bool = False,
        floor: float | None = None,
        limits: tuple[float, float] | None = None,
        patience: int | str | timedelta | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        by: str | None = None,
    ) -> Trial | None:
        """Correct what was recorded wrongly: something about a trial, or the study's settings. The ledger keeps what it
        was before, who corrected it, and the reason.

        value, noise   the outcome, and the standard deviation of its noise
        at             when the outcome came
        params         what was run: all of it, or what was different. What was asked stays in the record
        failure        the trial ended so, and not as it was recorded
        take_back      its outcome or failure never was: it is pending again
        floor, limits, patience    of the study. By an amended patience ("none": never) all outcomes are judged
        ranges         {"temperature": (10, 120)}: wider, or narrower if everything that was tried lies inside
        by             who corrects it; None: whom BELATED_BY names, if anybody

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(), 7.1)
        >>> study.amend(1, 0.71, reason="the decimal point was in the wrong place").outcome
        0.71
        >>> study.amend(1, params={"x": 0.5}, reason="the knob has steps").params
        {'x': 0.5}
        >>> study.amend(1, take_back=True, reason="it was another flask's", by="anna").status
        'pending'
        >>> study.amend(ranges={"x": (0, 2)}, reason="the best is at the edge")
        """
        why, signature = require_reason(reason), Signature.of(by)
        of_trial = take_back or any(each is not None for each in (value, noise, at, params, failure))
        of_study = any(each is not None for each in (floor, limits, patience, ranges))
        if (of_trial, of_study) != (trial is not None, trial is None):
            raise InvalidInput(AMENDABLE)
        if trial is None:
            self._amend_study(why, signature, floor, limits, patience, ranges)
            return None
        with hold(self._lock):
            self._sync()
            number = self._find_number(trial)
            refuse_counted(self._state, number)

            def events() -> list[Amended]:
                self._state.require_unlocked()
                return [self._make_amendment(number, why, value, noise, at, params, failure, take_back=take_back)]

            self._write(events, signature)
            return self._read_trial(number)

    def _make_amendment(
        self,
        number: int,
        reason: str,
        value: float | None,
        noise: float | None,
        at: float | datetime | None,
        params: Params | None,
        failure: Failure | None,
        *,
        take_back: bool,
    ) -> Amended:
        """The correction of a trial, if it can be one."""
        row, now = self._state.rows[number - 1], self._read_clock()
        if take_back or failure is not None:
            if (take_back and failure) or any(each is not None for each in (value, noise, at)):
                raise InvalidInput("take_back, or failure, leaves no outcome; leave value, noise and at out")
            if failure is not None and failure not in FAILURES:
                raise InvalidInput(f"failure must be one of {', '.join(FAILURES)} (got {format_value(failure)})")
            if row.told is None and row.failed is None:
                raise NothingHeard(f"trial {number} has no outcome or failure to amend")
        elif (value is not None or at is not None) and row.told is None:
            raise NothingHeard(f"trial {number} has no outcome to amend; tell it")
        if noise is not None and value is None:
            raise InvalidInput("noise belongs to an outcome; give a value with it")
        run = self._read_run(number, params)
        if params is not None and run is None:
            raise InvalidInput(f"trial {number} is known to have been run so (got {format_value(params)})")
        return Amended(
            number=number,
            reason=reason,
            at=now,
            value=None if value is None else self.settings.objective.accept(value),
            noise=self._check_noise(noise),
            told_at=None if at is None else self._read_time(at),
            params=run,
            failure=failure,
            taken_back=take_back,
        )

    def _amend_study(
        self,
        reason: str,
        signature: Signature,
        floor: float | None,
        limits: tuple[float, float] | None,
        patience: int | str | timedelta | None,
        ranges: Mapping[str, tuple[float, float]] | None,
    ) -> None:
        """Correct the settings, while nobody asks."""
        with self._ledger.lock_asks(self._sync, self._head) as turn, hold(self._lock):
            self._sync(turn)

            def events() -> list[Amended]:
                self._state.require_unlocked()
                new = amend_settings(self.settings, floor=floor, limits=limits, patience=patience, ranges=ranges)
                if new.space != self.settings.space:
                    self._state.check_ranges(new.space)
                counts = np.any(self._state.table.column("shown") > 0)
                if new.patience.by_clock != self.settings.patience.by_clock and counts:
                    raise InvalidInput("this study counts people, by the age of their day; patience keeps its unit")
                return [
                    Amended(
                        number=None,
                        reason=reason,
                        at=self._read_clock(),
                        floor=None if floor is None else new.objective.floor,
                        limits=None if limits is None else new.objective.limits,
                        patience=None if patience is None else _write_patience(new.patience),
                        by_clock=patience is not None and new.patience.by_clock,
                        ranges=None if ranges is None else {name: _list_ends(new.space, name) for name in ranges},
                    )
                ]

            self._write(events, signature, turn)

    def find_undo(self, *, by: str | None = None) -> list[PastEvent]:
        """The events that `undo` would take back now, the newest first.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(by="anna"), 0.5, by="bob")
        >>> [(past.position, past.event.value) for past in study.find_undo(by="bob")]
        [(2, 0.5)]
        """
        with hold(self._lock):
            self._sync()
            return find_undo(self._state, self.events()[: self._state.position], read_person(by))

    def undo(
        self,
        trial: Trial | int | None = None,
        *,
        by: str | None = None,
        reason: str | None = None,
        only: int | None = None,
    ) -> list[PastEvent]:
        """Take back the newest thing that a person did, if nothing has happened to the same trial since, and return it.

        A tell that is undone leaves its trial pending. An ask that is undone is withdrawn: its number and params stay.
        A batch is undone as a whole. Other corrections: `amend`.

        trial  of this one alone, one event of it
        by     whose; None: those of whom BELATED_BY names, or of nobody
        only   the position of the event that `find_undo` has shown; if there is a newer one by now, it is refused

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(by="anna"), 7.1, by="anna")
        >>> [past.event.value for past in study.undo(by="anna", reason="the wrong flask")]
        [7.1]
        >>> study.trial(1).status
        'pending'
        >>> _ = study.undo(by="anna")  # and the ask
        >>> study.trial(1).failure
        'withdrawn'
        """
        signature, why = Signature.of(by), "" if reason is None else require_reason(reason)
        with self._ledger.lock_asks(self._sync, self._head) as turn, hold(self._lock):
            self._sync(turn)
            found, number = list[PastEvent](), None if trial is None else self._find_number(trial)

            def events() -> list[Undone]:
                nonlocal found
                self._state.require_unlocked()
                found = find_undo(self._state, self.events()[: self._state.position], signature.by, number)
                if only not in (None, found[0].position):
                    raise Followed(f"event {found[0].position} is newer than event {only}; nothing was undone")
                if isinstance(found[0].event, Amended) and found[0].event.ranges is not None:
                    self._state.check_ranges(self._state.settings_before.space)
                at = self._read_clock()
                return [
                    Undone(number=find_number(event), position=position, at=at, reason=why) for position, event in found
                ]

            self._write(events, signature, turn)
            if not all(self._state.was_undone(past.position) for past in found):
                raise Followed
            return found

    def close(self, *, lock: bool = False, by: str | None = None, remark: str | None = None) -> None:
        """Stop asking. Outcomes of pending trials are still accepted, unless the study is locked: then nothing may be
        told, amended or undone either. `reopen` ends it.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> trial = study.ask()
        >>> study.close()
        >>> study.tell(trial, 0.83).status
        'heard'
        >>> study.ask()
        Traceback (most recent call last):
            ...
        belated.errors.Closed: This study is closed: outcomes are still accepted, queries are no longer asked.
        """
        with hold(self._lock):
            self._sync()

            def events() -> list[Ended]:
                done = self._state.locked if lock else self._state.closed
                return [] if done else [Ended(at=self._read_clock(), locked=lock)]

            self._write(events, Signature.of(by, remark))

    def reopen(self, *, reason: str, by: str | None = None) -> None:
        """Go on with a study that was closed or locked.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.close(lock=True, by="anna")
        >>> study.reopen(reason="the reviewers want two more", by="anna")
        >>> study.ask().number
        1
        """
        why = require_reason(reason)
        with hold(self._lock):
            self._sync()

            def events() -> list[Reopened]:
                return [Reopened(at=self._read_clock(), reason=why)] if self._state.closed else []

            self._write(events, Signature.of(by))

    def rename(self, name: str, *, reason: str | None = None, by: str | None = None) -> None:
        """Give the study another name. Handles that are open go on with it.

        >>> from belated import Real, Study, studies
        >>> study = Study.create("sqlite:///names.db", "flsk", space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.rename("flask", reason="a letter was missing")
        >>> study.name, studies("sqlite:///names.db")
        ('flask', ['flask'])
        """
        name = read_name(name)
        signature, why = Signature.of(by), "" if reason is None else require_reason(reason)
        with hold(self._lock):
            self._sync()
            if name != self.name:
                event = Renamed(before=self.name or "", name=name, at=self._read_clock(), reason=why)
                self._ledger.rename(signature.sign(event))
                self._sync()

    def delete(self, name: str, *, reason: str, by: str | None = None) -> None:
        """Delete the study, with all of its events; its name must be given once more. What is left is a tombstone: the
        name, the hash of its head, who, when and why. A backup still has it.

        >>> from belated import Real, Study, studies
        >>> study = Study.create("sqlite:///names.db", "trial-run", space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.delete("trial-run", reason="it was to learn the buttons")
        >>> "trial-run" in studies("sqlite:///names.db")
        False
        """
        why, who = require_reason(reason), read_person(by)
        with hold(self._lock):
            self._sync()
            if read_name(name) != self.name:
                raise InvalidInput(f"to delete study {self.name}, give its name (got {format_value(name)})")
            self._ledger.delete(self.name, who, self._read_clock(), why)

    def disconnect(self) -> None:
        """Close files and connections; the next call opens them again. This also happens at the end of
        `with Study.open(...) as study:`, and when a study is no longer referenced.

        >>> from belated import Real, Study
        >>> study = Study.create("sqlite:///lab.db", "shelf", space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.disconnect()
        >>> study.rounds
        0
        """
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    # A whole run ------------------------------------------------------------------------------------------------------

    def optimize(
        self,
        f: Callable[..., float],
        rounds: int | None = None,
        workers: int = 4,
        *,
        more: int | None = None,
        timeout: float | str | timedelta | None = None,
        until: float | None = None,
        callbacks: Iterable[Callable[[Study, Trial], object]] = (),
        executor: Executor | None = None,
        contexts: Iterable[Params] | Callable[[int], Params] | None = None,
        progress: bool = True,
        resume: bool = True,
    ) -> Run:
        """Evaluate f until the study has `rounds` trials, on many workers at once; run it again to go on.

        f          f(params), or f(params, context), returning a number. An exception, or a value that is not a finite
                   number, ends the trial as lost; raising belated.Infeasible ends it as infeasible
        rounds     the study's total, including queries of earlier runs and of other processes. None: 100
        workers    how many evaluations run at once
        more       instead of rounds: so many more than the study has now
        timeout    after it nothing more is started: seconds, "2h", a timedelta
        until      a goal: nothing more is started once an outcome is as good as this
        callbacks  functions of (study, trial), called after an outcome or a failure is recorded. If one returns True,
                   nothing more is started
        executor   any concurrent.futures.Executor. None: new processes, which import f: it must be defined at the
                   top level of a module, and a script must call optimize under if __name__ == "__main__":
        contexts   one context per round (a list, any iterable, or a function of the round's number)
        progress   a bar on stderr, if that is a terminal
        resume     first evaluate the trials without an outcome that an earlier run left. Use False in a process that
                   joins others on the same study, or it evaluates again what they are evaluating

        Where nothing more is started, what is running is waited for, and `run.ended` says why.

        A call that outlasts patience does not block: another query is asked in its place, and its outcome is still told
        if it comes before the end. Patience in rounds passes as other calls come back; where calls may hang, use
        patience by the clock. A worker process that dies is replaced and its trial evaluated again; the second time it
        is lost. Ctrl-C ends the workers and loses nothing: trials that were being evaluated stay pending.

        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> with ThreadPoolExecutor(4) as threads:
        ...     run = study.optimize(lambda params: params["x"], rounds=8, executor=threads)
        ...     more = study.optimize(lambda params: params["x"], more=50, until=0.999, timeout="1h", executor=threads)
        >>> run.told
        8
        >>> more.told < 50, study.best().value >= 0.999
        (True, True)
        """
        from belated.execution.optimize import Plan, optimize

        plan = Plan.of(
            self,
            rounds,
            workers,
            more=more,
            timeout=timeout,
            until=until,
            callbacks=callbacks,
            contexts=contexts,
            progress=progress,
            resume=resume,
        )
        return optimize(self, f, plan, executor)

    async def optimize_async(
        self,
        f: Callable[..., Awaitable[float]],
        rounds: int | None = None,
        workers: int = 4,
        *,
        more: int | None = None,
        timeout: float | str | timedelta | None = None,
        until: float | None = None,
        callbacks: Iterable[Callable[[Study, Trial], object]] = (),
        contexts: Iterable[Params] | Callable[[int], Params] | None = None,
        progress: bool = True,
        resume: bool = True,
    ) -> Run:
        """The same as `optimize` for a coroutine function: `workers` evaluations at once, in the running event loop.

        Asks and tells run in a thread of their own, and hold up no coroutine; so do callbacks and contexts. An
        evaluation that outlasts patience is cancelled at the end. To cancel the run, as Ctrl-C does under asyncio.run,
        loses nothing: what has come is told, and trials that were being evaluated stay pending.

        >>> import asyncio
        >>> from belated import Real, Study
        >>> async def measure(params):
        ...     await asyncio.sleep(0.01)  # a request to the instrument
        ...     return params["x"]
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> asyncio.run(study.optimize_async(measure, rounds=8)).told
        8
        """
        from belated.execution.optimize import Plan, optimize_async

        plan = Plan.of(
            self,
            rounds,
            workers,
            more=more,
            timeout=timeout,
            until=until,
            callbacks=callbacks,
            contexts=contexts,
            progress=progress,
            resume=resume,
        )
        return await optimize_async(self, f, plan)

    # Looking ----------------------------------------------------------------------------------------------------------

    def trials(self, *, status: Status | Collection[Status] | None = None, last: int | None = None) -> list[Trial]:
        """All trials, as they are now; with a status (or some of them) only those, with `last` the last ones.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.ask(), study.add({"x": 0.5}, 0.7)
        >>> [(trial.number, trial.status) for trial in study.trials()]
        [(1, 'pending'), (2, 'heard')]
        >>> [trial.number for trial in study.trials(status="heard", last=5)]
        [2]
        """
        wanted = STATUSES if status is None else (status,) if isinstance(status, str) else tuple(status)
        for each in wanted:
            if each not in STATUSES:
                raise InvalidInput(f"status must be one of {', '.join(STATUSES)} (got {format_value(each)})")
        if last is not None and require_whole(last, "last") < 1:
            raise InvalidInput(f"last must be at least 1 (got {last})")
        with hold(self._lock):
            self._sync()
            now = self._read_clock()
            found = np.isin(self._state.find_statuses(now), [STATUSES.index(each) for each in wanted])
            numbers = np.flatnonzero(found) + 1
            return [self._state.trial(s, now) for s in numbers[-(last or len(numbers)) :].tolist()]

    def counts(self) -> dict[Status, int]:
        """How many trials there are now of each status.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.ask(), study.add({"x": 0.5}, 0.7)
        >>> study.counts()
        {'pending': 1, 'heard': 1, 'late': 0, 'expired': 0, 'failed': 0, 'counted': 0}
        """
        with hold(self._lock):
            self._sync()
            found = np.bincount(self._state.find_statuses(self._read_clock()), minlength=len(STATUSES))
        return dict(zip(STATUSES, found.tolist(), strict=True))

    def trial(self, number: int) -> Trial:
        """One trial, as it is now.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(), 0.83)
        >>> study.trial(1).outcome
        0.83
        """
        with hold(self._lock):
            self._sync()
            return self._read_trial(self._find_number(number))

    def events(self) -> list[Event]:
        """Everything that happened to the study, in order.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(), 0.5)
        >>> [type(event).__name__ for event in study.events()]
        ['Asked', 'Told']
        """
        try:
            return [entry.event for entry in self._ledger.read()]
        except StoreChanged:
            self._refuse_deleted()
            raise

    def log(
        self,
        trial: Trial | int | None = None,
        *,
        by: str | None = None,
        since: float | datetime | None = None,
        until: float | datetime | None = None,
    ) -> list[LogEntry]:
        """The history in sentences, the newest last: of one trial, of one person, from one time to another.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(by="Anna"), 7.1, by="Bob")
        >>> _ = study.amend(1, 0.71, reason="the decimal point", by="Bob")
        >>> [entry.sentence for entry in study.log(1, by="Bob")]
        ['told 7.1 of trial 1', 'amended trial 1: its outcome is 0.71']
        """
        with hold(self._lock):
            self._sync()
            number = None if trial is None else self._find_number(trial)
        first = None if since is None else self._read_time(since)
        last = None if until is None else self._read_time(until)
        entries = [describe_event(position, event) for position, event in enumerate(self.events(), start=1)]
        return [
            entry
            for entry in [*describe_creation(self._created), *entries]
            if (number is None or entry.number == number)
            and (by is None or entry.by == by)
            and (first is None or entry.at >= first)
            and (last is None or entry.at <= last)
        ]

    def hyperparameters(self) -> list[Hyperparameters]:
        """Every set of hyperparameters found so far, the newest last.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.hyperparameters()  # nothing was fitted yet
        []
        """
        with hold(self._lock):
            self._sync()
            return list(self._state.fits)

    def refit(self, *, executor: Executor | None = None, by: str | None = None) -> Hyperparameters | None:
        """Fit the hyperparameters now and record them; the next asks, of any worker, use them. None: nothing to fit.

        An ask fits by itself as long as that is quick. Where it would take more than some two CPU seconds (thousands of
        different queries) it keeps the last hyperparameters, and its trial says so: then call this now and then.

        executor  any concurrent.futures.Executor. Where very many queries are summarised, it computes the summary too,
                  in chunks, and this handle keeps it, so that its next ask need not. What it gives is the same without
        by        who does it; None: whom BELATED_BY names, if anybody

        >>> from concurrent.futures import ThreadPoolExecutor
        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = [study.add({"x": x}, x * (1 - x)) for x in (0.0, 0.3, 0.9)]
        >>> study.refit() == study.hyperparameters()[-1]
        True
        >>> with ThreadPoolExecutor(2) as executor:
        ...     study.refit(executor=executor).number
        4
        """
        with self._ledger.lock_asks(self._sync, self._head) as turn:
            self._sync(turn)

            def events() -> list[Refitted]:
                with self._hold_state() as state:
                    state.require_open()
                    at = self._read_clock()
                    compute = prepare_fit(state, at)
                with use_one_thread():
                    found = compute()
                return [] if found is None else [Refitted(fitted=found.to_dict(), at=at)]

            written = self._write(events, Signature.of(by), turn)
        if written and executor is not None:
            self._summarise(executor)
        return Hyperparameters.from_dict(written[0].fitted) if written else None

    def _summarise(self, executor: Executor) -> None:
        """Compute the summary of very many queries on an executor, for the next ask of this handle."""
        from belated.execution.parallel import map_in_order

        with self._hold_state() as state:
            compute = prepare_summary(state, self._read_clock())
        with use_one_thread(), self._use_cache() as cache:
            compute(cache, map_in_order(executor))

    @property
    def rounds(self) -> int:
        """How many queries have been asked or added.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.ask(n=3), study.add({"x": 0.5}, 0.7)
        >>> study.rounds
        4
        """
        with hold(self._lock):
            self._sync()
            return self._state.table.count

    @property
    def closed(self) -> bool:
        """Whether the study is closed: it asks no more queries.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.close()
        >>> study.closed
        True
        """
        with hold(self._lock):
            self._sync()
            return self._state.closed

    @property
    def locked(self) -> bool:
        """Whether the study is locked: nothing may be told, amended or undone.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.close(lock=True)
        >>> study.locked
        True
        """
        with hold(self._lock):
            self._sync()
            return self._state.locked

    @property
    def floor(self) -> WorstValue:
        """The worst value of f, in the user's units: the floor as stated or amended, or else the worst outcome in use
        (the largest when minimizing), which stands in for it; print it.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="floor", seed=0)
        >>> _ = study.tell(study.ask(), 0.5), study.tell(study.ask(), 0.25)
        >>> study.floor
        WorstValue(value=0.25, stated=False, used=True)
        >>> print(study.floor)
        no floor stated: the worst outcome heard, 0.25, stands in
        """
        with hold(self._lock):
            self._sync()
            return find_worst(self._state, self._read_clock())

    @property
    def fit_note(self) -> str:
        """Empty, or since when the hyperparameters are not up to date: a look, like an ask, starts no fit that takes
        long. `refit` does.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = [study.add({"x": x / 7}, x * (7 - x)) for x in range(8)]
        >>> study.fit_note  # with so few, whoever looks fits
        ''
        """
        with hold(self._lock):
            self._sync()
            return describe_fit(gather_knowledge(self._state, self._read_clock()))

    @property
    def head(self) -> str:
        """The position and hash of the last event. Kept elsewhere, it stands for the whole record, as it is now.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.ask()
        >>> study.head.split()[0]
        '1'
        """
        with hold(self._lock):
            self._sync()
            return "0" if self._head is None else str(self._head).strip()

    def queries(self) -> list[dict[str, Any]] | None:
        """Every query of the space, when they can be listed.

        >>> from belated import Points, Study
        >>> Study.create(space=Points([0.0, 0.5]), silence="unknown", seed=0).queries()
        [{'x': 0.0}, {'x': 0.5}]
        """
        Q = self._state.problem.Q
        return None if Q is None else [self.settings.space.decode(q) for q in Q]

    def best(self, context: Params | None = None) -> BestQuery:
        """The best query so far, and what it is worth; with a context, among those asked in it. Print it.

        It is the one with the best outcome told, late ones included, and its trial. Where noise came with that outcome,
        or the query was told more than once, there is also the interval that the study believes in there, which may lie
        below the outcome: the best of many noisy ones was lucky.

        For conversions it is the query with the best rate: the one whose 90 % interval begins highest, of those asked
        at least half as often as the average one, so that one that was shown once, and converted, does not win. No
        trial is meant then.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.add({"x": 0.2}, 0.5), study.add({"x": 0.8}, 0.7), study.ask()
        >>> study.best().params
        {'x': 0.8}
        """
        with hold(self._lock):
            self._sync()
            z = None if context is None else self._state.encode_context(context)[1]
            known = gather_knowledge(self._state, self._read_clock())
            conversions = self.settings.outcomes == "conversion"
            trial = None if conversions else self._read_trial(find_best_told(known, z) + 1)
        if trial is None:
            i, belief = find_best_rate(known, z, lambda rows: self._believe(known, rows))
            asked = self._state.rows[known.history.number[i] - 1].asked
            return self._describe_belief(known, known.history.X[i], belief, asked.params, asked.context)
        y, x = known.history.y[trial.number - 1], known.history.X[trial.number - 1]
        shown, heard = count_trials(known.history, x, conversions=False)
        noisy = heard > 1 or trial.noise is not None
        there = self._believe(known, x[None]) if noisy else None
        return BestQuery(
            params=trial.params,
            context=trial.context,
            value=float(y),
            quantity="outcome",
            low=None if there is None else float(there.low[0]),
            high=None if there is None else float(there.high[0]),
            asked=shown,
            heard=heard,
            trial=trial,
        )

    @property
    def best_params(self) -> dict[str, Any]:
        """The params of `best()`.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.add({"x": 0.2}, 0.5), study.add({"x": 0.8}, 0.7)
        >>> study.best_params, study.best_value
        ({'x': 0.8}, 0.7)
        """
        return dict(self.best().params)

    @property
    def best_value(self) -> float:
        """The value of `best()`: its outcome, or its rate of conversions.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", goal="minimize", seed=0)
        >>> _ = study.add({"x": 0.2}, 0.5), study.add({"x": 0.8}, 0.7)
        >>> study.best_value
        0.5
        """
        return self.best().value

    def recommend(self, context: Params | None = None) -> BestQuery:
        """The query where the belief's mean is best, over the whole space, with that mean and its interval. Print it.

        >>> from belated import Points, Study
        >>> study = Study.create(space=Points([0.0, 0.5, 1.0]), silence="unknown", seed=0)
        >>> _ = study.add({"x": 0.0}, 0.1), study.add({"x": 0.5}, 0.9), study.add({"x": 1.0}, 0.2)
        >>> study.recommend().params
        {'x': 0.5}
        >>> round(study.recommend().value, 1)
        0.9
        """
        with hold(self._lock):
            self._sync()
            words, z = self._state.encode_context(context)
            if not (np.any(self._state.table.told) or np.any(self._state.table.column("converted"))):
                raise NothingHeard
            now = self._read_clock()
            known, (_, situation) = gather_knowledge(self._state, now), find_situation(self._state, now, z)
        with self._use_cache() as cache:
            x = find_best_mean(known, situation, self.seed, cache)
        params = self.settings.space.decode(x)
        rows = join_context(z, self.settings.space.encode_all([params]))
        return self._describe_belief(known, rows[0], self._believe(known, rows), params, words)

    def posterior(self, points: Sequence[Params], context: Params | None = None, *, pending: bool = False) -> Belief:
        """Mean and standard deviation of f at some points: what is known, with the hyperparameters of today.

        It rests on what was heard, and on silence where the study counts it as an outcome ("floor", "fading").
        With pending=True it is the belief that the next choice is made from: there a pending query also counts under a
        silence that says nothing in the end ("unknown", "waiting", "nearest"), so that it is not asked twice.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.add({"x": 0.2}, 0.5), study.add({"x": 0.8}, 0.7)
        >>> belief = study.posterior([{"x": 0.2}, {"x": 0.8}])
        >>> bool(belief.mean[0] < belief.mean[1])
        True
        >>> trial = study.ask(params={"x": 0.5})  # an open question is no answer
        >>> study.posterior([{"x": 0.5}]).std > study.posterior([{"x": 0.5}], pending=True).std
        array([ True])
        """
        if isinstance(points, Mapping):
            raise InvalidInput(f"points must be a list of dictionaries (got {format_value(points)})")
        _, z = self._state.encode_context(context)
        Q = self.settings.space.encode_all(points)
        with hold(self._lock):
            self._sync()
            known = gather_knowledge(self._state, self._read_clock())
        return self._believe(known, join_context(z, Q), pending=pending)

    def delays(self, by: Literal["rounds", "clock"] | None = None) -> DelayReport:
        """The delays so far: how long outcomes take, how many are still to come, and whether delays
        depend on the query, the context or the outcome; print it. In rounds or by the clock; None: as patience is.

        Warns (SilenceWarning) where silence counts as the floor and delays seem to depend on the query.

        >>> from belated import Real, Study, simulate
        >>> from belated.delays import Fixed
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> for _ in simulate(study, lambda params: params["x"], delay=Fixed(3), rounds=20, seed=1):
        ...     pass
        >>> report = study.delays()
        >>> report.heard, report.quantile(0.9)
        (18, 3.0)
        """
        from belated.delays.report import report_delays

        with hold(self._lock):
            self._sync()
            report = report_delays(self._state, self._read_clock(), by)
        if report.warning:
            warnings.warn(report.warning, SilenceWarning, stacklevel=2)
        return report

    def advise(self, by: Literal["rounds", "clock"] | None = None) -> Advice:
        """How long to wait: what each patience would cost (how many outcomes arrive within it, how many queries it
        keeps open, how wide it makes the confidence interval), and which one is advised; print it. In rounds or by the
        clock; None: as patience is. Nothing changes; with patience="auto" the study follows this advice by itself.
        Of conversions it also says how many come later than each patience; what loses many of them is not advised.

        >>> from belated import Real, Study, simulate
        >>> from belated.delays import Fixed
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> for _ in simulate(study, lambda params: params["x"], delay=Fixed(3), rounds=40, seed=1):
        ...     pass
        >>> study.advise().recommended  # rounds
        3.0
        """
        from belated.delays.advice import AdviceBasis

        with hold(self._lock):
            self._sync()
            basis = AdviceBasis.of(self._state, self._read_clock(), by)
        return replace(basis.advise(), warning=basis.delays.warning)

    def report(self, context: Params | None = None) -> str:
        """The study as one HTML page for those who were not there: needs `pip install "belated[report]"`.

        It has no scripts and needs nothing besides itself. The belief is in `context`; without one, in the context of
        the newest trial.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", about="Which x?", seed=0)
        >>> "Which x?" in study.report()
        True
        """
        from belated.report.page import render_report

        return render_report(self, context)

    def plot(self, out: str | Path | None = None, context: Params | None = None, *, dpi: int = 150) -> Path:
        """Write a picture of the study, and say where it is: needs `pip install "belated[plots]"`.

        It has the outcomes over time, the delays and the belief along each coordinate, in `context`; without one, in
        the context of the newest trial. out ends in .png, .pdf or .svg; None: NAME.png.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.add({"x": 0.2}, 0.5), study.add({"x": 0.8}, 0.7)
        >>> study.plot("flasks.svg").name
        'flasks.svg'
        """
        from belated.plotting.study.page import plot_study

        return plot_study(self, out, context, dpi)

    def to_dataframe(self) -> Any:
        """All trials as a data frame, a row each: of pandas where it is installed, else of polars.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.ask(), study.add({"x": 0.5}, 0.7)
        >>> [list(study.to_dataframe()[column]) for column in ("number", "status")]
        [[1, 2], ['pending', 'heard']]
        """
        from belated.frames import make_frame

        return make_frame(self.settings, self.trials())

    def outlook(
        self, queries: int | None = None, context: Params | None = None, *, margin: float | None = None
    ) -> Outlook:
        """What more queries are likely to bring, with an 80 % interval, and the chance that something better exists;
        print it.

        The gain is f at the query that `recommend` will give then, minus f at the one that it gives now: more than 0 is
        better. "Then" is when so many more queries have been asked at the pace of so far, with what has come back.

        queries  how many more; None: 10, or for conversions a tenth of those so far, if that is more
        context  the gain in this context; in a study with contexts it must be given
        margin   how much better than the recommended query counts as better. None: a tenth of the spread of the
                 outcomes (the interquartile range over 1.35); of rates, a tenth of the rate

        >>> from belated import Points, Study
        >>> study = Study.create(space=Points([0.0, 0.5, 1.0]), silence="unknown", seed=0)
        >>> _ = study.add({"x": 0.0}, 0.1), study.add({"x": 0.5}, 0.9), study.add({"x": 1.0}, 0.2)
        >>> study.outlook(3, margin=0.5).chance < 0.1  # every query was tried
        True
        """
        from belated.outlook.forecast import forecast, read_basis

        with hold(self._lock):
            self._sync()
            basis = read_basis(self._state, self._read_clock(), context)
        with self._use_cache() as cache:
            return forecast(basis, queries, margin, cache)

    def replay(self, number: int) -> Replay:
        """Compute a trial's choice again, only from what it knew.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> trial = study.ask()
        >>> study.replay(1).params == trial.params
        True
        """
        with hold(self._lock):
            self._sync()
            asked = self._state.table.asked(self._find_number(number) - 1)
        if asked.by_hand:
            raise InvalidInput(f"trial {number} was given by hand; there is no choice to replay")
        return replay_choice(self._created, self.events(), asked)

    # Inside -----------------------------------------------------------------------------------------------------------

    def _believe(self, known: Knowledge, rows: Array, *, pending: bool = False) -> Belief:
        with self._use_cache() as cache:
            belief = believe_at(known, rows, cache, pending=pending)
        return limit_rates(belief, known.history) if self.settings.outcomes == "conversion" else belief

    def _describe_belief(
        self, known: Knowledge, row: Array, belief: Belief, params: Params, context: Params | None
    ) -> BestQuery:
        conversions = self.settings.outcomes == "conversion"
        asked, heard = count_trials(known.history, row, conversions)
        return BestQuery(
            params=dict(params),
            context=None if context is None else dict(context),
            value=float(belief.mean[0]),
            quantity="rate" if conversions else "mean",
            low=float(belief.low[0]),
            high=float(belief.high[0]),
            asked=asked,
            heard=heard,
        )

    def _read_clock(self) -> float:
        return require_time(self.clock(), "the clock's reading")

    def _read_time(self, at: float | datetime | None) -> float:
        if at is None:
            return self._read_clock()
        if not isinstance(at, datetime):
            return require_time(at, "at")
        try:
            return at.timestamp()
        except (ValueError, OverflowError):
            raise InvalidInput(f"at must be a time that the clock can show (got {format_value(at)})") from None

    def _read_trial(self, s: int) -> Trial:
        return self._state.trial(s, self._read_clock())

    def _find_number(self, trial: Trial | int) -> int:
        s = trial.number if isinstance(trial, Trial) else trial
        last = self._state.table.count
        if isinstance(s, np.integer):
            s = int(s)
        if isinstance(s, bool) or not isinstance(s, int) or not 1 <= s <= last:
            exist = {0: "none has been asked yet", 1: "only trial 1 exists"}.get(last, f"trials 1 to {last} exist")
            raise UnknownTrial(f"there is no trial {format_value(s)}; {exist}")
        given = None if not isinstance(trial, Trial) else trial.asked_params or trial.params
        if isinstance(trial, Trial) and given != dict(self._state.table.asked(s - 1).params):
            raise UnknownTrial(
                f"trial {s} of this study has other params; this is a trial of another one "
                f"(got {format_value(trial.params)})"
            )
        return s

    def _check_noise(self, noise: float | None) -> float | None:
        if noise is None:
            return None
        if self.settings.outcomes == "conversion":
            raise Contradiction(f"the noise of conversions follows from their rates; leave noise out (got {noise!r})")
        if self.settings.algorithm.model.noise == "one":
            raise Contradiction(
                f"{self.settings.algorithm.name} has one lambda for all outcomes; leave noise out (got {noise!r})"
            )
        sigma = require_number(noise, "noise")
        if sigma <= 0:
            raise InvalidInput(f"noise must be more than 0 (got {sigma!r})")
        return sigma

    def _sync(self, ledger: Ledger | None = None) -> None:
        """Read and apply the events that others have written."""
        with hold(self._lock):
            if not self._sound:
                self._state, self._head, self._restored = State(self._created), None, None
            if self._restored is None:
                self._restore()
            try:
                last = None
                for last in (ledger or self._ledger).read(self._head):
                    self._sound = False  # until all is applied, and the head is known
                    self._state.apply_plain(last.plain, last.source)
                if last is not None:
                    self._head = last.head
                self._sound = True
            except StoreChanged:
                self._sound = False  # the next call begins with the first event
                self._refuse_deleted()
                raise
            self.name = self._state.name or self.name

    def _restore(self) -> None:
        """Begin with a snapshot, if there is one."""
        found = find_snapshot(self._ledger, self._created)
        self._state, self._head = found or (State(self._created), None)
        self._restored = self._state.position

    def _refuse_deleted(self) -> None:
        """Say that the study was deleted, if it was."""
        tombstone = self._ledger.find_tombstone()
        if tombstone is not None:
            raise Deleted(str(tombstone)) from None

    def _apply(self, others: Sequence[Entry], own: Sequence[Event], head: Head) -> None:
        """Apply the next events, up to a head. An exception on the way leaves the state unsound."""
        self._sound = False
        for entry in others:
            self._state.apply_plain(entry.plain, entry.source)
        for event in own:
            self._state.apply(event)
        self._head = head
        self._sound = True

    @contextmanager
    def _hold_state(self) -> Iterator[State]:
        """The state as it was read last, while nobody changes it."""
        with hold(self._lock):
            if not self._sound:
                self._sync()
            yield self._state

    def _write(
        self,
        events: Callable[[], Sequence[AnEvent]],
        signature: Signature = NOBODY,
        ledger: Ledger | None = None,
        *,
        about: int | None = None,
    ) -> Sequence[AnEvent]:
        """Append the events that `events` makes from the state, signed; if another process was first, read again and
        retry. With `about`, a trial, the state may be old: what others wrote since must not be about that trial."""
        position = 0

        def attempt() -> Sequence[AnEvent]:
            nonlocal position
            position = self._state.position
            made = [signature.sign(event) for event in events()]
            if not made:
                return made
            with hold(self._lock):
                try:
                    written = (ledger or self._ledger).append(made, self._head, about)
                except StoreChanged:
                    self._sound = False
                    self._refuse_deleted()
                    raise
                known = self._state.position + len(written.between) + len(written.events)
                if self._sound and written.position == known:
                    self._apply(written.between, written.events, written.head)
                else:
                    self._sync(ledger)
                return made

        def find_news() -> bool:
            self._sync(ledger)
            return self._state.position != position

        return write_in_turn(attempt, find_news)

    @contextmanager
    def _use_cache(self) -> Iterator[Cache]:
        """The cache for one computation; an exception on the way leaves an empty one behind."""
        with hold(self._cache_lock):
            space = self._state.settings.space
            cache = self._cache if self._cached_in is space else Cache()  # what is kept is about the ranges of then
            self._cache, self._cached_in = Cache(), space
            yield cache
            self._cache = cache

    def _find_by_key(self, key: str | None, call: tuple[object, ...]) -> KeyedCall | None:
        """What the same call with this key recorded; None when the key is new."""
        if key is None:
            return None
        if not isinstance(key, str) or not key:
            raise InvalidInput(f"key must be a non-empty string (got {format_value(key)})")
        if len(key) > LONGEST_KEY or not key.isprintable():
            raise InvalidInput(
                f"key must have at most {LONGEST_KEY} characters, all printable (got {format_value(key)})"
            )
        found = self._state.table.keys.get(key)
        if found is None:
            return None
        before = self._recall(found.event)
        if before != call:
            raise KeyTaken(
                f"key {format_value(key)} was used before, for another {before[0]}; "
                "a key is for one call and its retries"
            )
        return found

    def _recall(self, event: Asked | Told | Converted | Repeated | Amended | Undone) -> tuple[object, ...]:
        """The user's call that recorded this event. Who called is no part of it."""
        if isinstance(event, Undone) or (isinstance(event, Amended) and not event.again):
            return ("correction",)
        if isinstance(event, Converted):
            return ("tell", event.number, event.value, None, freeze(None))
        if isinstance(event, Told | Repeated | Amended):
            return ("tell", event.number, event.value, event.noise, freeze(event.params))
        if not event.by_hand:
            batch = self._state.rows[event.number - 1 : event.number - 1 + event.parts]
            return ("ask", tuple(freeze(row.asked.context) for row in batch), freeze(event.fixed))
        told = self._state.rows[event.number - 1].first_told if event.told_at_once else None
        value, noise = (None, None) if told is None else (told.value, told.noise)
        return ("add", freeze(event.params), freeze(event.context), value, noise)


def _refuse_at_server(url: object, clock: object, token: object) -> None:
    """Refuse what a server decides itself, and a token where there is no server."""
    if is_server(url) and clock is not None:
        raise InvalidInput("at a server its own clock counts; leave clock out")
    if token is not None and not is_server(url):
        raise InvalidInput("token is for a server, https://host; leave it out")


def _list_contexts(context: Params | None, n: int | None, contexts: Sequence[Params] | None) -> Sequence[Params | None]:
    """The context of each query that an ask is for."""
    if contexts is None:
        count = 1 if n is None else require_whole(n, "n")
        if count < 1:
            raise InvalidInput(f"n must be at least 1 (got {count})")
        return [context] * count
    if context is not None or n is not None:
        raise InvalidInput("contexts says how many queries there are and what each is for; leave context and n out")
    if isinstance(contexts, Mapping | str) or not isinstance(contexts, Sequence) or not contexts:
        raise InvalidInput(f"contexts must be a list of contexts, at least one (got {format_value(contexts)})")
    return contexts


def _write_patience(patience: Patience) -> float | Literal["auto", "none"]:
    """A patience as an amendment has it."""
    if patience.auto:
        return "auto"
    return "none" if np.isinf(patience.m) else patience.m


def _list_ends(space: Space, name: str) -> tuple[float, float]:
    """The ends of a parameter's range."""
    kind = space.find_parameter(name)
    if isinstance(kind, Choice):
        raise InvalidInput(f"{name}: a choice has no range")
    return kind.low, kind.high


def studies(url: str) -> list[str]:
    """The names of the studies at a url.

    >>> from belated import Real, Study, studies
    >>> study = Study.create("sqlite:///shelf.db", "catalyst", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> studies("sqlite:///shelf.db")
    ['catalyst']
    """
    return open_store(url).names()
