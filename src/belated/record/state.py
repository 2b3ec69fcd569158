"""The fold of a study's events: its state, its hyperparameters, its floor and limits as amended, its patience as it is
now, and the next choice.

A pure function of settings and events (and of the clock reading that a choice is given): the same events give the same
fold anywhere, so a study, its restart and the replay of an old choice all go through here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from belated.errors import InvalidInput
from belated.learner.arrays import Array, Mask
from belated.learner.choice.candidates import SAME
from belated.learner.choice.decide import decide, shortfall, silence_of
from belated.learner.choice.problem import Cache, Chosen, Fitted, Problem, Situation
from belated.learner.gp.domain import Finite
from belated.learner.history import History
from belated.record.events import Adjusted, Amended, Asked, Ended, Event
from belated.record.trials import State
from belated.results import Worst
from belated.settings import Settings
from belated.validation import Params, shown


class Known(NamedTuple):
    """What a belief is made of, as of one moment: later events do not change it."""

    problem: Problem
    history: History
    t: int  # the next number
    fits: list[Fitted]


class Fold:
    """What is known after some events."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.problem: Problem = settings.problem
        self.state = State(settings.patience, settings.late, self.problem.split + settings.space.domain.D)
        self.fits: list[Fitted] = []
        self.closed = False
        self.versions: Mapping[str, str] | None = None  # of what computed the newest choice
        self.shift = np.random.default_rng([settings.seed, 0]).random(len(settings.space.widths))

    def fork(self) -> Fold:
        """A copy that may go on by itself."""
        other = Fold.__new__(Fold)
        other.__dict__.update(self.__dict__)
        other.state, other.fits = self.state.fork(), list(self.fits)
        return other

    def apply(self, event: Event) -> None:
        """The next event."""
        self.state.apply(event, self.row(event) if isinstance(event, Asked) else None)
        if isinstance(event, Asked):
            if event.fitted is not None:
                self.fits.append(Fitted.of(event.fitted))
            if event.versions is not None:
                self.versions = event.versions
        elif isinstance(event, Amended) and event.number is None:
            before = self.settings.outcome
            outcome = replace(
                before,
                floor=before.floor if event.floor is None else event.floor,
                limits=before.limits if event.limits is None else event.limits,
            )
            self.settings = replace(self.settings, outcome=outcome)
            self.problem = replace(self.problem, bounds=outcome.bounds)
        elif isinstance(event, Adjusted):
            self.settings = replace(self.settings, patience=self.state.patience)
        elif isinstance(event, Ended):
            self.closed = True

    def context(self, context: Params | None) -> tuple[dict[str, Any] | None, Array]:
        """A context as plain values and as columns, if it lies in its space."""
        space = self.settings.context
        if space is None:
            if context is not None:
                raise InvalidInput(f"this study has no context; leave it out (got {shown(context)})")
            return None, np.empty(0)
        if context is None:
            raise InvalidInput(f"context must be given: {', '.join(space.names)}")
        z = space.encode(context)
        return space.as_given(context), z

    def fixed(self, params: Params) -> dict[str, Any]:
        """Coordinates fixed by hand as plain values, if they lie in the space."""
        space = self.settings.space
        _ = space.matching(params) if isinstance(space.domain, Finite) else space.fix(params)
        return space.as_given(params)

    def row(self, asked: Asked) -> list[float]:
        """Context and query as columns."""
        query = self.settings.space.columns(asked.params)
        if self.settings.context is None and asked.context is None:
            return query
        z: list[float] = self.context(asked.context)[1].tolist()
        return z + query

    def choose(self, now: float, context: Params | None, fixed: Params | None, cache: Cache) -> Chosen:
        """The next query, at the clock reading `now`."""
        return self.choosing(now, context, fixed)(cache)

    def choosing(self, now: float, context: Params | None, fixed: Params | None) -> Callable[[Cache], Chosen]:
        """The next query, at the clock reading `now`, still to be computed: later events are nothing to it."""
        known = self.known(now)
        situation = self.situation(known.history, self.context(context)[1], fixed)
        rng = np.random.default_rng([self.settings.seed, known.t])
        return partial(decide, known.problem, known.history, situation, known.fits, rng)

    def known(self, now: float) -> Known:
        """What is known now, and stays so."""
        return Known(self.problem, self.state.history(now), self.state.next_number, list(self.fits))

    def worst(self, now: float) -> Worst:
        """The floor, or what stands in for it, and whether anything looks at it."""
        h, problem = self.state.history(now), self.problem
        fills = any(silence_of(problem, move).uses_floor for move in problem.algorithm.turns(problem.cumulative))
        return Worst(
            value=problem.bounds.stand_in(h.y[h.seen]),
            stated=problem.bounds.floor is not None,
            used=fills or problem.algorithm.scaling.uses_floor or bool(np.any(h.infeasible)),
        )

    def gap(self, asked: Asked, choice: Chosen) -> float:
        """How much worse a recorded query is than this choice, as a share of the acquisition's range."""
        history = self.state.history(asked.considered_at)
        situation = self.situation(history, self.context(asked.context)[1], asked.fixed)
        rng = np.random.default_rng([self.settings.seed, asked.number])
        fits = self.fits if choice.fitted is None else [*self.fits, choice.fitted]
        x = self.settings.space.encode(asked.params)
        return shortfall(self.problem, history, situation, fits, rng, x, choice.x)

    def situation(self, h: History, z: Array, fixed: Params | None = None) -> Situation:
        """What the next query is about: its context, what is fixed by hand, and which queries to keep away from."""
        space, problem, repeats = self.settings.space, self.problem, self.settings.repeats
        given, matching = np.full(space.domain.D, np.nan), None
        if fixed is not None and isinstance(space.domain, Finite):
            matching = np.zeros(len(space.domain.Q), dtype=bool)
            matching[space.matching(fixed)] = True
        elif fixed is not None:
            for i, columns in space.fix(fixed).items():
                given[problem.compact.columns[i]] = columns
            if problem.Q is not None:
                matching = np.all(np.isnan(given) | (np.abs(problem.Q - given) <= SAME), axis=1)
        here = np.all(h.X[:, : problem.split] == z, axis=1)
        away = {"always": np.zeros_like(here), "heard": self._waiting_for(h), "never": ~h.gone}[repeats] & here
        return Situation(
            t=self.state.next_number,
            turn=int(np.sum(here & ~h.by_hand)),
            z=z,
            given=given,
            open=matching,
            taken=h.X[away, problem.split :],
            strict=repeats == "never",
            shift=self.shift,
        )

    def _waiting_for(self, h: History) -> Mask:
        """The queries that are pending, and those that expired without information."""
        return h.pending | (~h.known & ~h.gone) if self.settings.silence.forgets else h.pending
