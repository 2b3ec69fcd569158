"""A simulated world with delays: it answers a study's queries late.

f       the noise-free objective, f(params) or f(params, context); raises Infeasible where there is no value
s       number of a query; its noise and its delay come from streams keyed (seed, s), the same for every study
d_s     delay: y_s is told just before ask s + max(1, d_s), or at asked_at + d_s by the clock
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from belated.errors import Infeasible, InvalidInput
from belated.execution.evaluate import Contexts, ObjectiveFunction, take_in_turn
from belated.learner.delays.distributions import Delay
from belated.patience import parse_duration
from belated.results import Trial
from belated.simulation.clock import SimulatedClock
from belated.study import Study
from belated.validation import Params, format_value, require_number, require_whole

# One stream for each use. None of them is 0: to numpy [seed, s, 0] is [seed, s], which is a study's own stream.
NOISE, WAIT = 1, 2

Chooser = Callable[[Study], Params]


@dataclass(frozen=True)
class SimulatedWorld:
    """The outcome of query s, and its delay."""

    f: ObjectiveFunction
    delay: Delay
    noise: float
    seed: int

    def outcome(self, trial: Trial) -> float:
        rng = np.random.default_rng([self.seed, trial.number, NOISE])
        return evaluate_exactly(self.f, trial.params, trial.context) + self.noise * float(rng.standard_normal())

    def wait(self, trial: Trial) -> float:
        rng = np.random.default_rng([self.seed, trial.number, WAIT])
        return float(self.delay.draw(rng, trial.params, trial.context))


def evaluate_exactly(f: ObjectiveFunction, params: Params, context: Params | None) -> float:
    """f(params) or f(params, context), as a finite float."""
    return require_number(f(params) if context is None else f(params, context), "the value of f")


def simulate(
    study: Study,
    f: ObjectiveFunction,
    *,
    delay: Delay,
    rounds: int,
    seed: int,
    noise: float = 0.0,
    contexts: Contexts | None = None,
    every: str | timedelta | float | None = None,
    workers: int | None = None,
    choose: Chooser | None = None,
) -> Iterator[Trial]:
    """Ask `rounds` queries and answer them late, yielding trial s right after ask s.

    delay     a value of belated.delays, in rounds; in seconds when every or workers is given
    seed      of noise and delays: the same for every study, so that algorithms can be compared in pairs
    noise     standard deviation of the normal noise added to f
    contexts  one context per round (a list, any iterable, or a function of the round's number) for a contextual study
    every     ask on a schedule ("1h"); or workers: ask whenever one of so many is free. Both drive the study's clock,
              which must be a SimulatedClock
    choose    a function of the study that gives the query instead of the study's own choice: to run other programs'
              algorithms in the same world

    Queries still pending from an earlier simulation are answered too. An outcome that is late is told late. Where f
    raises Infeasible, the trial ends as infeasible when its outcome would have come.

    >>> from belated import Real, Study, simulate
    >>> from belated.delays import Fixed
    >>> study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    >>> for trial in simulate(study, lambda params: params["x"], delay=Fixed(3), rounds=5, seed=1):
    ...     pass
    >>> [trial.status for trial in study.trials()]
    ['heard', 'heard', 'heard', 'pending', 'pending']
    """
    count = require_whole(rounds, "rounds")
    if count < 0:
        raise InvalidInput(f"rounds must be at least 0 (got {count})")
    if isinstance(delay, type) or not callable(getattr(delay, "draw", None)):
        raise InvalidInput(f"delay must be a value of belated.delays (got {format_value(delay)})")
    sigma = require_number(noise, "noise")
    if sigma < 0:
        raise InvalidInput(f"noise must be at least 0 (got {sigma!r})")
    if study.settings.context is not None and contexts is None:
        raise InvalidInput("contexts must be given: this study has a context")
    if study.settings.context is None and contexts is not None:
        raise InvalidInput("contexts must be left out: this study has no context")
    if every is not None and workers is not None:
        raise InvalidInput("give every or workers, not both")
    if require_whole(seed, "seed") < 0:
        raise InvalidInput(f"seed must be at least 0 (got {seed})")
    if choose is not None and not callable(choose):
        raise InvalidInput(f"choose must be a function of the study (got {format_value(choose)})")
    world = SimulatedWorld(f, delay, sigma, require_whole(seed, "seed"))
    if every is None and workers is None:
        if study.settings.patience.by_clock:
            raise InvalidInput("patience is by the clock: give every= or workers=, so that the simulation has a clock")
        return _simulate_rounds(study, world, count, contexts, choose)
    if not isinstance(study.clock, SimulatedClock):
        raise InvalidInput(
            "every= and workers= drive the study's clock: create or open it with clock=belated.SimulatedClock()"
        )
    pace = (
        _ask_on_schedule(parse_duration(every, "every"))
        if every is not None
        else _ask_when_free(require_whole(workers, "workers"))
    )
    return _simulate_clock(study, study.clock, world, count, contexts, choose, pace)


def _read_contexts(contexts: Contexts | None) -> Callable[[int], Params | None]:
    if contexts is None:
        return lambda s: None
    return contexts if callable(contexts) else take_in_turn(contexts)


def _ask(study: Study, choose: Chooser | None, context: Params | None) -> Trial:
    return study.ask(params=None if choose is None else choose(study), context=context)


def _list_pending(study: Study) -> list[Trial]:
    return [trial for trial in study.trials() if trial.outcome is None and trial.failure is None]


def reply(study: Study, world: SimulatedWorld, trial: Trial) -> None:
    """Tell the outcome, unless the caller has ended the trial in between ("lost" still accepts an outcome)."""
    now = study.trial(trial.number)
    if not now.takes_outcome:
        return
    try:
        y = world.outcome(trial)
    except Infeasible:
        if now.failure is None:
            study.fail(trial, "infeasible")
    else:
        study.tell(trial, y)


def _simulate_rounds(
    study: Study, world: SimulatedWorld, rounds: int, contexts: Contexts | None, choose: Chooser | None
) -> Iterator[Trial]:
    context = _read_contexts(contexts)
    coming: list[tuple[float, int, Trial]] = []

    def expect(trial: Trial) -> None:
        when = trial.number + max(1.0, np.ceil(world.wait(trial)))
        heapq.heappush(coming, (when, trial.number, trial))

    def answer(t: int) -> None:
        """Tell what is heard before ask t."""
        while coming and coming[0][0] <= t:
            reply(study, world, heapq.heappop(coming)[2])

    known = 0
    for _ in range(rounds):
        for s in range(
            known + 1, study.rounds + 1
        ):  # pending from before, and queries that the caller asked in between
            if (other := study.trial(s)).status in ("pending", "expired"):
                expect(other)
        answer(study.rounds + 1)
        trial = _ask(study, choose, context(study.rounds + 1))
        expect(trial)
        known = trial.number
        yield trial
    answer(study.rounds + 1)


Pace = Callable[[list[float], float], float]  # (when each query's worker is free, the last ask) -> the next ask


def _ask_on_schedule(every: float) -> Pace:
    return lambda free, last: last + every if free else last


def _ask_when_free(workers: int) -> Pace:
    """Ask as soon as fewer than `workers` queries are running."""
    if workers < 1:
        raise InvalidInput(f"workers must be at least 1 (got {workers})")
    return lambda free, last: last if len(free) < workers else max(last, heapq.nlargest(workers, free)[-1])


def _simulate_clock(
    study: Study,
    clock: SimulatedClock,
    world: SimulatedWorld,
    rounds: int,
    contexts: Contexts | None,
    choose: Chooser | None,
    pace: Pace,
) -> Iterator[Trial]:
    context = _read_contexts(contexts)
    asked = study.trials()
    last = max((trial.asked_at for trial in asked), default=0.0)
    clock.seconds = max([last, *(trial.told_at for trial in asked if trial.told_at is not None)])
    coming = [(trial.asked_at + world.wait(trial), trial.number, trial) for trial in _list_pending(study)]
    heapq.heapify(coming)
    on_their_way = {number: when for when, number, _ in coming}

    def back(t: Trial) -> float:
        """When the worker of an earlier trial is, or was, free."""
        if t.failure == "infeasible":  # the time of a failure is not stored: use the time of its outcome
            return t.asked_at + world.wait(t)
        return on_their_way.get(t.number, t.told_at or t.asked_at)

    busy = [(t.asked_at, back(t)) for t in asked]  # for each query's worker: busy since, and until at the latest

    def answer(until: float) -> None:
        while coming and coming[0][0] <= until:
            when, _, trial = heapq.heappop(coming)
            clock.seconds = max(clock.seconds, when)
            reply(study, world, trial)

    def free() -> list[float]:
        patience = study.settings.patience  # it may change during the simulation
        m = patience.m if patience.by_clock else math.inf
        return [min(until, since + m) for since, until in busy]

    for s in range(len(asked) + 1, len(asked) + rounds + 1):
        following = pace(free(), last)
        if math.isinf(following):
            raise InvalidInput(
                "every worker waits for an outcome that never comes; give the study a patience by the clock"
            )
        answer(following)
        last = clock.seconds = max(clock.seconds, following)
        trial = _ask(study, choose, context(s))
        wait = world.wait(trial)
        heapq.heappush(coming, (trial.asked_at + wait, trial.number, trial))
        busy.append((trial.asked_at, trial.asked_at + wait))
        yield trial
    following = pace(free(), last)
    answer(following if math.isfinite(following) else clock.seconds)
