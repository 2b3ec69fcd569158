"""A study: ask what to try next, tell what came of it, whenever it comes.

The learner's loop over a ledger. All that a choice depends on is in the ledger's events and the study's settings, so a
study made again from the same trials and seed asks the same queries.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from belated.errors import (
    AlreadyEnded,
    AlreadyTold,
    Contradiction,
    InvalidInput,
    KeyTaken,
    NothingHeard,
    NotPositiveDefinite,
    Unavailable,
    UnknownTrial,
)
from belated.learner.algorithms import Algorithm
from belated.learner.decide import NUMERICS, belief_at, best_of, decide, listed, with_context
from belated.learner.domain import Finite
from belated.learner.kernels import Array, Mask
from belated.learner.policies import Greedy
from belated.learner.problem import Cache, Chosen, Fitted, Situation
from belated.learner.scale import Scale
from belated.learner.silence import Belief as ModelBelief
from belated.learner.silence import History, Silence
from belated.ledger.memory import MemoryLedger
from belated.plain import number, shown, whole
from belated.settings import Declared, Late, Repeats, Settings, settle
from belated.trials import FAILURES, Asked, Event, Failed, Failure, Receipt, Refused, State, Status, Told, Trial, frozen

Params = Mapping[str, Any]

NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")


class Belief(NamedTuple):
    """What the study believes about f, in the user's units: a mean and a standard deviation per point asked about."""

    mean: Array
    std: Array


@cache
def _threads() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Small matrices are slower on two BLAS threads than on one, much slower on a busy machine."""
    limit: AbstractContextManager[Any] = _threads().limit(limits=1, user_api="blas")
    return limit


class Study:
    """Ask and tell, in memory.

    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> trial = study.ask()
    >>> study.tell(trial, 0.83).status
    'heard'
    """

    def __init__(self, settings: Settings, ledger: MemoryLedger, name: str | None, clock: Callable[[], float]) -> None:
        """Use Study.create."""
        self.settings, self.name, self.clock = settings, name, clock
        self._ledger = ledger
        self._problem = settings.problem
        columns = self._problem.split + settings.space.domain.D
        self._state = State(settings.patience, settings.late, columns)
        self._fits: list[Fitted] = []
        self._cache = Cache()
        self._shift = np.random.default_rng([settings.seed, 0]).random(len(settings.space.widths))
        self._lock = threading.RLock()
        for event in ledger.read():
            self._apply(event)

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
        initial: int | None = None,
        seed: int | None = None,
        clock: Callable[[], float] | None = None,
    ) -> Study:
        """A new study, in memory.

        space      {"x": Real(0, 1), "n": Integer(1, 8), "kind": Choice("a", "b")}, or Points([...])
        context    a space of the same kind, when every ask comes with a context
        goal       "maximize" or "minimize"
        floor      the worst value of the noise-free objective (the largest when minimizing). None: unknown
        ceiling    the best value
        limits     (lo, hi): outcomes outside are refused
        silence    what an unheard outcome means: "floor", "unknown", "waiting", "ignored", or one of belated.silence
        patience   rounds, or "14d", "90s", a timedelta: after it an outcome is late. None: never
        late       "use" late outcomes in the model, or "ignore" them (they are recorded either way)
        algorithm  "default", one of the paper's six names, or a value of belated.algorithms
        repeats    "always", "heard" (none that is pending while others are left) or "never" ask a query again
        initial    space-filling queries to begin with; None: what suits the space
        seed       makes every choice repeatable; None: drawn, see study.seed
        clock      a function returning seconds; None: time.time
        """
        if url is not None:
            raise Unavailable(f"only studies in memory so far: leave the url out (got {shown(url)})")
        if name is not None and not (isinstance(name, str) and NAME.fullmatch(name) and name.strip(".")):
            raise InvalidInput(f"name must match [A-Za-z0-9._-]{{1,128}} and not be all dots (got {shown(name)})")
        if clock is not None and not callable(clock):
            raise InvalidInput(f"clock must be a function returning seconds (got {shown(clock)})")
        settings = settle(
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
            initial=initial,
            seed=seed,
        )
        return cls(settings, MemoryLedger(), name, clock or time.time)

    @property
    def seed(self) -> int:
        return self.settings.seed

    def __repr__(self) -> str:
        return f"Study({self.settings.algorithm.name}, {len(self._state.rows)} trials)"

    # Asking -----------------------------------------------------------------------------------------------------------

    @overload
    def ask(
        self, *, context: Params | None = None, n: None = None, params: Params | None = None, key: str | None = None
    ) -> Trial: ...

    @overload
    def ask(
        self, *, context: Params | None = None, n: int, params: Params | None = None, key: str | None = None
    ) -> list[Trial]: ...

    def ask(
        self,
        *,
        context: Params | None = None,
        n: int | None = None,
        params: Params | None = None,
        key: str | None = None,
    ) -> Trial | list[Trial]:
        """The next query to try; with n a list of n, all for one context, each of them a round.

        params fixes some coordinates by hand. The same key again gives the same trial or trials."""
        count = 1 if n is None else whole(n, "n")
        if count < 1:
            raise InvalidInput(f"n must be at least 1 (got {count})")
        with self._lock:
            words, z = self._context(context)
            fixed = None if params is None else self._fixed(params)
            first = self._keyed(key, ("ask", count, frozen(words), frozen(fixed)))
            numbers = self._choose(count, words, z, fixed, key) if first is None else range(first, first + count)
            trials = [self._trial(s) for s in numbers]
            return trials[0] if n is None else trials

    def _choose(
        self, count: int, context: Params | None, z: Array, fixed: Params | None, key: str | None
    ) -> Sequence[int]:
        """Choose and record `count` queries, all of them or none."""
        knew = self._state.position
        state = self._state if count == 1 else self._state.fork()  # the second query of a batch knows the first
        fits, events = list(self._fits), list[Asked]()
        with one_thread():
            for part in range(count):
                considered_at = self._now()
                choice = self._decide(state, fits, considered_at, z, fixed)
                if choice.fitted is not None:
                    fits.append(choice.fitted)
                event = Asked(
                    number=state.next_number,
                    params={**self.settings.space.decode(choice.x), **(fixed or {})},
                    context=context,
                    knew=knew,
                    considered_at=considered_at,
                    asked_at=self._now(),
                    fixed=fixed,
                    note=choice.note,
                    fitted=None if choice.fitted is None else choice.fitted.plain(),
                    key=key,
                    part=part,
                    parts=count,
                )
                events.append(event)
                if part < count - 1:
                    state.apply(event, self._row(event))
        self._record(events)
        return [event.number for event in events]

    def _fixed(self, params: Params) -> Params:
        """The coordinates fixed by hand as plain values, if they lie in the space."""
        space = self.settings.space
        _ = space.matching(params) if isinstance(space.domain, Finite) else space.fix(params)
        return space.as_given(params)

    def _decide(self, state: State, fits: list[Fitted], now: float, z: Array, params: Params | None) -> Chosen:
        """The choice of the next query, from a state and nothing else."""
        t, history = state.next_number, state.history(now)
        rng = np.random.default_rng([self.seed, t])
        return decide(self._problem, history, self._situation(t, history, z, params), fits, rng, self._cache)

    def _situation(self, t: int, h: History | None, z: Array, params: Params | None = None) -> Situation:
        """What query t is about: its context, what is fixed by hand, and which queries to keep away from."""
        space, problem = self.settings.space, self._problem
        given, matching = np.full(space.domain.D, np.nan), None
        if params is not None and isinstance(space.domain, Finite):
            matching = np.zeros(len(space.domain.Q), dtype=bool)
            matching[space.matching(params)] = True
        elif params is not None:
            for i, columns in space.fix(params).items():
                given[problem.compact.columns[i]] = columns
            if problem.Q is not None:
                matching = np.all(np.isnan(given) | (np.abs(problem.Q - given) < 1e-9), axis=1)
        taken = np.empty((0, space.domain.D))
        if h is not None and self.settings.repeats != "always":
            kept_away = ~h.gone if self.settings.repeats == "never" else self._waiting_for(h)
            kept_away &= np.all(h.X[:, : problem.split] == z, axis=1)
            taken = h.X[kept_away, problem.split :]
        return Situation(t, z, given, matching, taken, self.settings.repeats == "never", self._shift)

    def _waiting_for(self, h: History) -> Mask:
        """The queries that are pending, and those that expired without information."""
        return h.pending | (~h.known & ~h.gone) if self.settings.silence.forgets else h.pending.copy()

    # Telling ----------------------------------------------------------------------------------------------------------

    def tell(
        self,
        trial: Trial | int,
        value: float,
        *,
        at: float | datetime | None = None,
        noise: float | None = None,
        key: str | None = None,
    ) -> Receipt:
        """What came of a trial (or of its number). Final: the same value again is a duplicate, another one is refused.

        at     when it really came, in seconds of the study's clock or as a datetime; None: now
        noise  the standard deviation of this outcome's noise, when it is known
        """
        with self._lock:
            number = self._number(trial)
            y, sigma = self.settings.outcome.accept(value), self._noise(noise)
            if self._keyed(key, ("tell", number, y, sigma)) is not None:
                return self._receipt(number, "late" if self._status(number) == "late" else "heard")
            return self._tell(number, y, sigma, self._at(at), key)

    def _tell(self, number: int, y: float, noise: float | None, at: float, key: str | None) -> Receipt:
        row = self._state.rows[number - 1]
        if row.told is not None:
            if (row.told.value, row.told.noise) == (y, noise):
                return self._receipt(number, "duplicate")
            self._record([Refused(number=number, value=y, noise=noise, at=at)])
            raise AlreadyTold(
                f"trial {number} was told before, with {_outcome(row.told.value, row.told.noise)}; "
                f"feedback is never overwritten (got {_outcome(y, noise)})"
            )
        if row.failed is not None and row.failed.kind != "lost":
            self._record([Refused(number=number, value=y, noise=noise, at=at)])
            raise AlreadyEnded(
                f"trial {number} ended as {row.failed.kind}; an outcome is taken only after lost (got {y!r})"
            )
        self._record([Told(number=number, value=y, noise=noise, at=at, key=key)])
        return self._receipt(number, "late" if self._status(number) == "late" else "heard")

    def _receipt(self, number: int, status: Literal["heard", "duplicate", "late"]) -> Receipt:
        trial = self._trial(number)
        used = trial.status == "heard" or self.settings.late == "use"
        notes = [] if trial.outcome is None else [self.settings.outcome.flag(trial.outcome)]
        if not used:
            notes.append(f"it came after patience ({self.settings.patience}): recorded, and not used by the model")
        return Receipt(
            number=number, status=status, delay=trial.delay or 0.0, used=used, note="; ".join(filter(None, notes))
        )

    def add(
        self,
        params: Params,
        value: float | None = None,
        *,
        context: Params | None = None,
        at: float | datetime | None = None,
        noise: float | None = None,
        key: str | None = None,
    ) -> Trial:
        """A query that was tried before or elsewhere: it takes the next number; without a value it is pending."""
        with self._lock:
            words, _ = self._context(context)
            self.settings.space.encode(params)  # refuses what does not lie in the space
            y = None if value is None else self.settings.outcome.accept(value)
            sigma = self._noise(noise)
            if sigma is not None and y is None:
                raise InvalidInput("noise belongs to an outcome; give a value with it")
            given = self.settings.space.as_given(params)
            number = self._keyed(key, ("add", frozen(given), frozen(words), y, sigma))
            if number is None:
                number, when = self._state.next_number, self._at(at)
                asked = Asked(
                    number=number,
                    params=given,
                    context=words,
                    knew=self._state.position,
                    considered_at=when,
                    asked_at=when,
                    by_hand=True,
                    told_at_once=y is not None,
                    key=key,
                )
                self._record([asked, *([] if y is None else [Told(number=number, value=y, noise=sigma, at=when)])])
            return self._trial(number)

    def fail(self, trial: Trial | int, kind: Failure) -> Trial:
        """End a trial without an outcome: "lost" (nobody's fault: no information), "infeasible" (x caused it: counts as
        the floor), or "withdrawn"."""
        with self._lock:
            number = self._number(trial)
            if kind not in FAILURES:
                raise InvalidInput(f"kind must be one of {', '.join(FAILURES)} (got {shown(kind)})")
            row = self._state.rows[number - 1]
            if row.told is not None:
                raise AlreadyTold(
                    f"trial {number} was told {row.told.value!r} before; it cannot fail any more (got {kind!r})"
                )
            if row.failed is not None and row.failed.kind != kind:
                raise AlreadyEnded(f"trial {number} ended as {row.failed.kind} before (got {kind!r})")
            if row.failed is None:
                self._record([Failed(number=number, kind=kind, at=self._now())])
            return self._trial(number)

    # Looking ----------------------------------------------------------------------------------------------------------

    def trials(self) -> list[Trial]:
        """Every trial, as of now."""
        with self._lock:
            return [self._trial(s) for s in range(1, self._state.next_number)]

    def trial(self, number: int) -> Trial:
        """One trial, as of now."""
        with self._lock:
            return self._trial(self._number(number))

    def queries(self) -> list[dict[str, Any]] | None:
        """Every query of the space, when they can be listed."""
        Q = self._problem.Q
        return None if Q is None else [self.settings.space.decode(q) for q in Q]

    def best(self, context: Params | None = None) -> Trial:
        """The trial with the best outcome told so far, late ones included; with a context, among those in it."""
        with self._lock:
            wanted = None if context is None else self._context(context)[0]
            sign = self.settings.outcome.sign
            told = [
                (sign * row.told.value, -row.asked.number)
                for row in self._state.rows
                if row.told is not None and (wanted is None or row.asked.context == wanted)
            ]
            if not told:
                raise NothingHeard
            return self._trial(-max(told)[1])

    def recommend(self, context: Params | None = None) -> dict[str, Any]:
        """The params where the belief's mean is best, over the whole space."""
        with self._lock, one_thread():
            _, z = self._context(context)
            if not any(row.told is not None for row in self._state.rows):
                raise NothingHeard
            belief, _ = self._belief()
            t = self._state.next_number
            rng = np.random.default_rng([self.seed, t])
            x = best_of(self._problem, self._situation(t, None, z), belief, Greedy(), 0.0, rng)
            return self.settings.space.decode(x)

    def posterior(self, points: Sequence[Params], context: Params | None = None) -> Belief:
        """Mean and standard deviation of f at some points, the pending filled as the study's silence says now."""
        with self._lock, one_thread():
            _, z = self._context(context)
            rows = with_context(z, self.settings.space.encode_all(points))
            belief, scale = self._belief()
            return Belief(scale.user(belief.posterior.mean(rows)), scale.width * belief.posterior.std(rows))

    def _belief(self) -> tuple[ModelBelief, Scale]:
        problem, t, h = self._problem, self._state.next_number, self._state.history(self._now())
        for fitted in [*reversed(self._fits), None]:
            try:
                return belief_at(problem, h, t, fitted, problem.silence, self._cache, listed(problem))
            except NUMERICS:
                continue
        raise NotPositiveDefinite

    # Inside -----------------------------------------------------------------------------------------------------------

    def _now(self) -> float:
        return number(self.clock(), "the clock's reading")

    def _at(self, at: float | datetime | None) -> float:
        if at is None:
            return self._now()
        if not isinstance(at, datetime):
            return number(at, "at")
        try:
            return at.timestamp()
        except (ValueError, OverflowError):
            raise InvalidInput(f"at must be a time that the clock can show (got {shown(at)})") from None

    def _status(self, s: int) -> Status:
        return self._state.status(s, self._now())

    def _trial(self, s: int) -> Trial:
        trial = self._state.trial(s, self._now())
        flag = "" if trial.outcome is None else self.settings.outcome.flag(trial.outcome)
        return replace(trial, note="; ".join(filter(None, [trial.note, flag]))) if flag else trial

    def _number(self, trial: Trial | int) -> int:
        s = trial.number if isinstance(trial, Trial) else trial
        last = len(self._state.rows)
        if isinstance(s, np.integer):
            s = int(s)
        if isinstance(s, bool) or not isinstance(s, int) or not 1 <= s <= last:
            exist = {0: "none has been asked yet", 1: "only trial 1 exists"}.get(last, f"trials 1 to {last} exist")
            raise UnknownTrial(f"there is no trial {shown(s)}; {exist}")
        return s

    def _noise(self, noise: float | None) -> float | None:
        if noise is None:
            return None
        if not self.settings.algorithm.own_noise:
            raise Contradiction(
                f"{self.settings.algorithm.name} has one lambda for all outcomes; leave noise out (got {noise!r})"
            )
        sigma = number(noise, "noise")
        if sigma <= 0:
            raise InvalidInput(f"noise must be more than 0 (got {sigma!r})")
        return sigma

    def _context(self, context: Params | None) -> tuple[dict[str, Any] | None, Array]:
        """The context as plain values and as columns."""
        space = self.settings.context
        if space is None:
            if context is not None:
                raise InvalidInput(f"this study has no context; leave it out (got {shown(context)})")
            return None, np.empty(0)
        if context is None:
            raise InvalidInput(f"context must be given: {', '.join(space.names)}")
        z = space.encode(context)
        return space.as_given(context), z

    def _row(self, asked: Asked) -> Array:
        z = self._context(asked.context)[1]
        return np.concatenate([z, self.settings.space.encode(asked.params)])

    def _record(self, events: Sequence[Event]) -> None:
        self._ledger.append(events)
        for event in events:
            self._apply(event)

    def _apply(self, event: Event) -> None:
        self._state.apply(event, self._row(event) if isinstance(event, Asked) else None)
        if isinstance(event, Asked) and event.fitted is not None:
            self._fits.append(Fitted.of(event.fitted))

    def _keyed(self, key: str | None, call: tuple[object, ...]) -> int | None:
        """The number of the trial that the same call with this key was about; None when the key is new."""
        if key is None:
            return None
        if not isinstance(key, str) or not key:
            raise InvalidInput(f"key must be a non-empty string (got {shown(key)})")
        event = self._state.keys.get(key)
        if event is None:
            return None
        before = self._call_of(event)
        if before != call:
            raise KeyTaken(
                f"key {shown(key)} was used before, for another {before[0]}; a key is for one call and its retries"
            )
        return event.number

    def _call_of(self, event: Asked | Told) -> tuple[object, ...]:
        """What the user said when this was recorded."""
        if isinstance(event, Told):
            return ("tell", event.number, event.value, event.noise)
        if not event.by_hand:
            return ("ask", event.parts, frozen(event.context), frozen(event.fixed))
        told = self._state.rows[event.number - 1].told if event.told_at_once else None
        value, noise = (None, None) if told is None else (told.value, told.noise)
        return ("add", frozen(event.params), frozen(event.context), value, noise)


def _outcome(value: float, noise: float | None) -> str:
    return repr(value) if noise is None else f"{value!r} (noise {noise!r})"
