"""A world with delays: it answers a study's queries late, and measures regret.

f       the noise-free objective, f(params) or f(params, context)
s       number of a query; its noise and its delay come from streams keyed (seed, s), the same whoever asks
d_s     delay: y_s is told just before ask s + max(1, d_s), or at asked_at + d_s by the clock
"""

from __future__ import annotations

import heapq
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

from belated.errors import InvalidInput
from belated.learner.delays import Delay
from belated.learner.kernels import Array
from belated.objective import in_turn
from belated.patience import duration
from belated.plain import number, shown, whole
from belated.study import Study
from belated.trials import Trial, frozen

# What a stream is for. None of them is 0: numpy takes [seed, s, 0] for [seed, s], and that is a study's own stream.
NOISE, WAIT = 1, 2

Params = Mapping[str, Any]
Objective = Callable[..., float]
Contexts = Iterable[Params] | Callable[[int], Params]


@dataclass(frozen=True)
class World:
    """What the world answers to query s, and after how long."""

    f: Objective
    delay: Delay
    noise: float
    seed: int

    def outcome(self, trial: Trial) -> float:
        rng = np.random.default_rng([self.seed, trial.number, NOISE])
        return value_of(self.f, trial.params, trial.context) + self.noise * float(rng.standard_normal())

    def wait(self, trial: Trial) -> float:
        rng = np.random.default_rng([self.seed, trial.number, WAIT])
        return float(self.delay.draw(rng, trial.params, trial.context))


def value_of(f: Objective, params: Params, context: Params | None) -> float:
    """f(params) or f(params, context), as a finite float."""
    return number(f(params) if context is None else f(params, context), "the value of f")


def simulate(
    study: Study,
    f: Objective,
    *,
    delay: Delay,
    rounds: int,
    seed: int,
    noise: float = 0.0,
    contexts: Contexts | None = None,
    every: str | timedelta | float | None = None,
    workers: int | None = None,
) -> Iterator[Trial]:
    """Ask `rounds` queries and answer them late, yielding trial s right after ask s.

    delay     a value of belated.delays, in rounds; in seconds when every or workers is given
    seed      of noise and delays: the same for every study, so that algorithms can be compared in pairs
    noise     standard deviation of the normal noise added to f
    contexts  one context per round (a list, any iterable, or a function of the round's number) for a contextual study
    every     ask on a schedule ("1h"); or workers: ask whenever one of so many is free. Both drive the study's clock.

    Queries still pending from an earlier simulation are answered too. An outcome that is late is told late.
    """
    count = whole(rounds, "rounds")
    if count < 0:
        raise InvalidInput(f"rounds must be at least 0 (got {count})")
    if isinstance(delay, type) or not callable(getattr(delay, "draw", None)):
        raise InvalidInput(f"delay must be a value of belated.delays (got {shown(delay)})")
    sigma = number(noise, "noise")
    if sigma < 0:
        raise InvalidInput(f"noise must be at least 0 (got {sigma!r})")
    if study.settings.context is not None and contexts is None:
        raise InvalidInput("contexts must be given: this study has a context")
    if study.settings.context is None and contexts is not None:
        raise InvalidInput("contexts must be left out: this study has no context")
    if every is not None and workers is not None:
        raise InvalidInput("give every or workers, not both")
    if whole(seed, "seed") < 0:
        raise InvalidInput(f"seed must be at least 0 (got {seed})")
    world = World(f, delay, sigma, whole(seed, "seed"))
    if every is None and workers is None:
        if study.settings.patience.by_clock:
            raise InvalidInput("patience is by the clock: say every= or workers=, so that the simulation has one")
        return _by_rounds(study, world, count, contexts)
    pace = _on_schedule(duration(every, "every")) if every is not None else _when_free(whole(workers, "workers"))
    return _by_clock(study, world, count, contexts, pace)


def _context_of(contexts: Contexts | None) -> Callable[[int], Params | None]:
    if contexts is None:
        return lambda s: None
    return contexts if callable(contexts) else in_turn(contexts)


def _pending(study: Study) -> list[Trial]:
    return [trial for trial in study.trials() if trial.outcome is None and trial.failure is None]


def reply(study: Study, world: World, trial: Trial) -> None:
    """Tell the outcome, unless the caller has ended the trial meanwhile ("lost" ends nothing: an outcome is taken)."""
    now = study.trial(trial.number)
    if now.outcome is None and now.failure in (None, "lost"):
        study.tell(trial, world.outcome(trial))


def _by_rounds(study: Study, world: World, rounds: int, contexts: Contexts | None) -> Iterator[Trial]:
    context = _context_of(contexts)
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
        for s in range(known + 1, study.rounds + 1):  # pending from before, and what the caller asked in between
            if (other := study.trial(s)).status in ("pending", "expired"):
                expect(other)
        answer(study.rounds + 1)
        trial = study.ask(context=context(study.rounds + 1))
        expect(trial)
        known = trial.number
        yield trial
    answer(study.rounds + 1)


Pace = Callable[[list[float], float], float]  # (when each query's worker is free, the last ask) -> the next ask


def _on_schedule(every: float) -> Pace:
    return lambda free, last: last + every if free else last


def _when_free(workers: int) -> Pace:
    """As soon as fewer than `workers` queries keep one busy: when the workers-th last of them is free."""
    if workers < 1:
        raise InvalidInput(f"workers must be at least 1 (got {workers})")
    return lambda free, last: last if len(free) < workers else max(last, heapq.nlargest(workers, free)[-1])


def _by_clock(study: Study, world: World, rounds: int, contexts: Contexts | None, pace: Pace) -> Iterator[Trial]:
    context = _context_of(contexts)
    m = study.settings.patience.m if study.settings.patience.by_clock else math.inf
    asked = study.trials()
    last = max((trial.asked_at for trial in asked), default=0.0)
    now = max([last, *(trial.told_at for trial in asked if trial.told_at is not None)])
    coming = [(trial.asked_at + world.wait(trial), trial.number, trial) for trial in _pending(study)]
    heapq.heapify(coming)
    on_their_way = {number: when for when, number, _ in coming}
    free = [min(on_their_way.get(t.number, t.told_at or t.asked_at), t.asked_at + m) for t in asked]
    study.clock = lambda: now  # and so it stays: when the simulation is over, the study stands at its end

    def answer(until: float) -> None:
        nonlocal now
        while coming and coming[0][0] <= until:
            when, _, trial = heapq.heappop(coming)
            now = max(now, when)
            reply(study, world, trial)

    for s in range(len(asked) + 1, len(asked) + rounds + 1):
        following = pace(free, last)
        if math.isinf(following):
            raise InvalidInput(
                "every worker waits for an outcome that never comes; give the study a patience by the clock"
            )
        answer(following)
        last = now = max(now, following)
        trial = study.ask(context=context(s))
        wait = world.wait(trial)
        heapq.heappush(coming, (trial.asked_at + wait, trial.number, trial))
        free.append(trial.asked_at + min(wait, m))
        yield trial
    following = pace(free, last)
    answer(following if math.isfinite(following) else now)


class Regret(NamedTuple):
    """One entry per round each."""

    simple: Array
    cumulative: Array


def regret(study: Study, f: Objective, best: float | Callable[..., float] | None = None) -> Regret:
    """Simple and cumulative regret after each round, of the noise-free f.

    Simple regret after n queries: the best of f minus the best f(x_s) among the outcomes visible when query n + 1 is
    chosen (late ones only where the study uses them); minus the floor while there are none. With a context both are
    against the best x for that round's context, and simple regret counts the queries made in exactly that context.

    best  the optimum: a number, or a function of the context; computed when the space is a finite set."""
    trials, settings = study.trials(), study.settings
    sign, N = settings.outcome.sign, len(trials)
    values = sign * np.array([value_of(f, trial.params, trial.context) for trial in trials])
    optimum, worst = _extremes(study, f, best, trials, values)
    gap = optimum - values
    usable = np.array([_usable_from(study, trial) for trial in trials], dtype=float)
    kinds: dict[object, int] = {}
    kind = np.array([kinds.setdefault(frozen(trial.context), len(kinds)) for trial in trials], dtype=int)
    simple = np.empty(N)
    for n in range(1, N + 1):
        visible = (usable[:n] <= n + 1) & (kind[:n] == kind[n - 1])
        simple[n - 1] = optimum[n - 1] - (np.max(values[:n][visible]) if np.any(visible) else worst[n - 1])
    return Regret(simple, np.cumsum(gap))


def _usable_from(study: Study, trial: Trial) -> float:
    """The first number whose choice may use the outcome; inf when none may."""
    if trial.known_from is None or (trial.status == "late" and study.settings.late == "ignore"):
        return math.inf
    return trial.known_from


def _extremes(study: Study, f: Objective, best: Any, trials: list[Trial], values: Array) -> tuple[Array, Array]:
    """The best and the worst of sign · f in each round's context."""
    settings = study.settings
    sign = settings.outcome.sign
    Q = study.queries()
    if best is None and Q is None:
        raise InvalidInput("best must be given: the space is not a finite set")
    floor = settings.outcome.floor
    extremes: dict[object, tuple[float, float]] = {}
    for trial in trials:
        name = frozen(trial.context)
        if name in extremes:
            continue
        all_values = [] if Q is None else [sign * value_of(f, q, trial.context) for q in Q]
        top = max(all_values) if best is None else sign * number(_at(best, trial.context), "best")
        low = sign * floor if floor is not None else min(all_values or values.tolist())
        extremes[name] = (top, low)
    both = np.array([extremes[frozen(trial.context)] for trial in trials], dtype=float).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _at(best: Any, context: Params | None) -> object:
    if not callable(best):
        return best
    return best(context) if inspect.signature(best).parameters else best()
