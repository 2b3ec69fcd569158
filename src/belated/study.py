"""A study: ask what to try next, and tell the outcome whenever it comes.

A choice depends only on the events in the ledger and the study's settings, so a study built again from the same trials
and seed asks the same queries.

Everything that a user calls on a study is here, with its docstring; what it does is in verbs/.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast, overload

import numpy as np

from belated.dataframes import read_frame
from belated.errors import AlreadyExists, InvalidInput, SilenceWarning, UnknownStudy
from belated.learner.algorithms import Algorithm
from belated.learner.choice.problem import Hyperparameters
from belated.learner.silence import Silence
from belated.record.additions import AddedQuery, read_addition
from belated.record.beliefs import describe_fit
from belated.record.bulk import explain_rows, write_rows
from belated.record.choices import find_worst, gather_knowledge, replay_choice
from belated.record.events import Event
from belated.record.handle import Handle
from belated.record.ledger import StudyLedger, find_store, is_server, open_store
from belated.record.ledger.memory import MemoryLedger
from belated.record.log import LogEntry
from belated.record.signing import Signature, read_person, require_reason
from belated.record.tellings import read_outcome
from belated.record.undoing import PastEvent
from belated.results import STATUSES, Belief, BestQuery, Failure, Receipt, Replay, Status, Trial, WorstValue
from belated.settings import (
    Declared,
    Late,
    OutcomeKind,
    RegretKind,
    Repeats,
    Settings,
    check_agreement,
    settle_settings,
)
from belated.space.encoding import Space
from belated.space.points import Points
from belated.validation import Params, format_names, format_value, read_name
from belated.verbs import asking, correcting, ending, looking, telling
from belated.verbs.adding import add_rows
from belated.verbs.reading import read_number

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from belated.delays.advice import Advice
    from belated.delays.report import DelayReport
    from belated.execution.optimize import Run
    from belated.outlook.result import Outlook

REMOTE = "belated.remote.study"  # imported where a url names a server: its class is made of this one


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
        self._handle = Handle(settings, ledger, name, clock)
        self._handle.read_first()

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
    def name(self) -> str | None:
        """What the study is called in its store; None: it has no name, in memory.

        >>> from belated import Real, Study
        >>> Study.create("sqlite:///lab.db", "beaker", space={"x": Real(0, 1)}, silence="unknown", seed=0).name
        'beaker'
        """
        return self._handle.name

    @property
    def clock(self) -> Callable[[], float]:
        """The function that returns the time, in seconds; it may be exchanged.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0, clock=lambda: 60.0)
        >>> study.ask().asked_at
        60.0
        """
        return self._handle.clock

    @clock.setter
    def clock(self, clock: Callable[[], float]) -> None:
        self._handle.clock = clock

    @property
    def settings(self) -> Settings:
        """The settings as they are now: as amended, with the patience of now.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, algorithm="GP-UCB-SDF", floor=0.0, patience=20, seed=0)
        >>> study.settings.late, study.settings.repeats  # what the algorithm implies
        ('ignore', 'always')
        """
        return self._handle.state.settings

    @property
    def original_settings(self) -> Settings:
        """The settings that the study was created with, before any amendment.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="floor", floor=0.0, seed=0)
        >>> study.amend(floor=-1.0, reason="it can be worse")
        >>> study.original_settings.objective.floor, study.settings.objective.floor
        (0.0, -1.0)
        """
        return self._handle.created

    @property
    def seed(self) -> int:
        """The seed of its choices; drawn at random if none was given, and stored.

        >>> from belated import Real, Study
        >>> Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=7).seed
        7
        """
        return self.settings.seed

    def __repr__(self) -> str:
        where = ", in memory" if isinstance(self._handle.ledger, MemoryLedger) else ""
        named = "" if self.name is None else f"{self.name}{where}: "
        table = self._handle.state.table
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
        signature = Signature.of(by, remark)
        trials = asking.ask(self._handle, asking.list_contexts(context, n, contexts), params, key, signature)
        return trials[0] if n is None and contexts is None else trials

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
        return telling.tell(
            self._handle,
            telling.TellCall(trial=trial, value=value, at=at, noise=noise, params=params, key=key, signature=signature),
        )

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
            return telling.tell_rows(self._handle, explain_rows(read_outcome, part, first), signature, first)

        return write_rows(rows, write)

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
        return add_rows(self._handle, [row], Signature.of(by, remark))[0]

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
            return add_rows(self._handle, explain_rows(read_addition, part, first), signature, first)

        return write_rows(rows, write)

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
        alone = isinstance(trial, Trial) or not isinstance(trial, Sequence) or isinstance(trial, str)
        given = [cast("Trial | int", trial)] if alone else list(cast("Sequence[Trial | int]", trial))
        why = "" if reason is None else require_reason(reason)
        trials = ending.fail(self._handle, given, kind, why, Signature.of(by))
        return trials[0] if alone else trials

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
        of_trial = correcting.TrialCorrection(
            value=value, noise=noise, at=at, params=params, failure=failure, take_back=take_back
        )
        of_study = correcting.StudyCorrection(floor=floor, limits=limits, patience=patience, ranges=ranges)
        if (of_trial.empty, of_study.empty) != (trial is None, trial is not None):
            raise InvalidInput(correcting.AMENDABLE)
        if trial is None:
            correcting.amend_study(self._handle, of_study, why, signature)
            return None
        return correcting.amend_trial(self._handle, trial, of_trial, why, signature)

    def find_undo(self, *, by: str | None = None) -> list[PastEvent]:
        """The events that `undo` would take back now, the newest first.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(by="anna"), 0.5, by="bob")
        >>> [(past.position, past.event.value) for past in study.find_undo(by="bob")]
        [(2, 0.5)]
        """
        return correcting.list_undoable(self._handle, read_person(by))

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
        why = "" if reason is None else require_reason(reason)
        return correcting.undo(self._handle, trial, only, why, Signature.of(by))

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
        ending.close(self._handle, Signature.of(by, remark), lock=lock)

    def reopen(self, *, reason: str, by: str | None = None) -> None:
        """Go on with a study that was closed or locked.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.close(lock=True, by="anna")
        >>> study.reopen(reason="the reviewers want two more", by="anna")
        >>> study.ask().number
        1
        """
        ending.reopen(self._handle, require_reason(reason), Signature.of(by))

    def rename(self, name: str, *, reason: str | None = None, by: str | None = None) -> None:
        """Give the study another name. Handles that are open go on with it.

        >>> from belated import Real, Study, studies
        >>> study = Study.create("sqlite:///names.db", "flsk", space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.rename("flask", reason="a letter was missing")
        >>> study.name, studies("sqlite:///names.db")
        ('flask', ['flask'])
        """
        why = "" if reason is None else require_reason(reason)
        ending.rename(self._handle, read_name(name), why, Signature.of(by))

    def delete(self, name: str, *, reason: str, by: str | None = None) -> None:
        """Delete the study, with all of its events; its name must be given once more. What is left is a tombstone: the
        name, the hash of its head, who, when and why. A backup still has it.

        >>> from belated import Real, Study, studies
        >>> study = Study.create("sqlite:///names.db", "trial-run", space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.delete("trial-run", reason="it was to learn the buttons")
        >>> "trial-run" in studies("sqlite:///names.db")
        False
        """
        ending.delete(self._handle, name, require_reason(reason), read_person(by))

    def disconnect(self) -> None:
        """Close files and connections; the next call opens them again. This also happens at the end of
        `with Study.open(...) as study:`, and when a study is no longer referenced.

        >>> from belated import Real, Study
        >>> study = Study.create("sqlite:///lab.db", "shelf", space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.disconnect()
        >>> study.rounds
        0
        """
        self._handle.ledger.close()

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
        return looking.list_trials(self._handle, status, last)

    def counts(self) -> dict[Status, int]:
        """How many trials there are now of each status.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.ask(), study.add({"x": 0.5}, 0.7)
        >>> study.counts()
        {'pending': 1, 'heard': 1, 'late': 0, 'expired': 0, 'failed': 0, 'counted': 0}
        """
        with self._handle.hold_newest() as state:
            found = np.bincount(state.find_statuses(self._handle.read_clock()), minlength=len(STATUSES))
        return dict(zip(STATUSES, found.tolist(), strict=True))

    def trial(self, number: int) -> Trial:
        """One trial, as it is now.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(), 0.83)
        >>> study.trial(1).outcome
        0.83
        """
        with self._handle.hold_newest() as state:
            return self._handle.read_trial(read_number(state, number))

    def events(self) -> list[Event]:
        """Everything that happened to the study, in order.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(), 0.5)
        >>> [type(event).__name__ for event in study.events()]
        ['Asked', 'Told']
        """
        return self._handle.read_events()

    def log(
        self,
        trial: Trial | int | None = None,
        *,
        by: str | None = None,
        since: float | datetime | None = None,
        until: float | datetime | None = None,
    ) -> list[LogEntry]:
        """The history in sentences, the newest last: of one trial, of one person, written from one time to another.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(by="Anna"), 7.1, by="Bob")
        >>> _ = study.amend(1, 0.71, reason="the decimal point", by="Bob")
        >>> [entry.sentence for entry in study.log(1, by="Bob")]
        ['told 7.1 of trial 1', 'amended trial 1: its outcome is 0.71']
        """
        return looking.list_history(self._handle, trial, by, since, until)

    def hyperparameters(self) -> list[Hyperparameters]:
        """Every set of hyperparameters found so far, the newest last.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.hyperparameters()  # nothing was fitted yet
        []
        """
        with self._handle.hold_newest() as state:
            return list(state.fits)

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
        return asking.refit(self._handle, executor, Signature.of(by))

    @property
    def rounds(self) -> int:
        """How many queries have been asked or added.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.ask(n=3), study.add({"x": 0.5}, 0.7)
        >>> study.rounds
        4
        """
        with self._handle.hold_newest() as state:
            return state.table.count

    @property
    def writers(self) -> list[str]:
        """Who wrote into the study, in the order in which they began.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.tell(study.ask(by="Anna"), 0.4, by="Bob")
        >>> study.writers
        ['Anna', 'Bob']
        """
        with self._handle.hold_newest() as state:
            return list(state.writers)

    @property
    def closed(self) -> bool:
        """Whether the study is closed: it asks no more queries.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.close()
        >>> study.closed
        True
        """
        with self._handle.hold_newest() as state:
            return state.closed

    @property
    def locked(self) -> bool:
        """Whether the study is locked: nothing may be told, amended or undone.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> study.close(lock=True)
        >>> study.locked
        True
        """
        with self._handle.hold_newest() as state:
            return state.locked

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
        with self._handle.hold_newest() as state:
            return find_worst(state, self._handle.read_clock())

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
        with self._handle.hold_newest() as state:
            return describe_fit(gather_knowledge(state, self._handle.read_clock()))

    @property
    def head(self) -> str:
        """The position and hash of the last event. Kept elsewhere, it stands for the whole record, as it is now.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> _ = study.ask()
        >>> study.head.split()[0]
        '1'
        """
        with self._handle.hold_newest():
            return "0" if self._handle.head is None else str(self._handle.head).strip()

    def queries(self) -> list[dict[str, Any]] | None:
        """Every query of the space, when they can be listed.

        >>> from belated import Points, Study
        >>> Study.create(space=Points([0.0, 0.5]), silence="unknown", seed=0).queries()
        [{'x': 0.0}, {'x': 0.5}]
        """
        Q = self._handle.state.problem.Q
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
        return looking.find_best(self._handle, context)

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
        return looking.recommend(self._handle, context)

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
        return looking.believe_points(self._handle, points, context, pending=pending)

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

        with self._handle.hold_newest() as state:
            report = report_delays(state, self._handle.read_clock(), by)
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

        with self._handle.hold_newest() as state:
            basis = AdviceBasis.of(state, self._handle.read_clock(), by)
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

        with self._handle.hold_newest() as state:
            basis = read_basis(state, self._handle.read_clock(), context)
        with self._handle.use_cache() as cache:
            return forecast(basis, queries, margin, cache)

    def replay(self, number: int) -> Replay:
        """Compute a trial's choice again, only from what it knew.

        >>> from belated import Real, Study
        >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
        >>> trial = study.ask()
        >>> study.replay(1).params == trial.params
        True
        """
        with self._handle.hold_newest() as state:
            asked = state.table.asked(read_number(state, number) - 1)
        if asked.by_hand:
            raise InvalidInput(f"trial {number} was given by hand; there is no choice to replay")
        return replay_choice(self._handle.created, self.events(), asked)


def _refuse_at_server(url: object, clock: object, token: object) -> None:
    """Refuse what a server decides itself, and a token where there is no server."""
    if is_server(url) and clock is not None:
        raise InvalidInput("at a server its own clock counts; leave clock out")
    if token is not None and not is_server(url):
        raise InvalidInput("token is for a server, https://host; leave it out")


def studies(url: str) -> list[str]:
    """The names of the studies at a url.

    >>> from belated import Real, Study, studies
    >>> study = Study.create("sqlite:///shelf.db", "catalyst", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> studies("sqlite:///shelf.db")
    ['catalyst']
    """
    return open_store(url).names()
