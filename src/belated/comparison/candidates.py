"""The settings that are compared: the study's own, and others that it could have had.

Everything but algorithm, silence and patience is the study's own, unless the algorithm implies it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

from belated.delays.report import TimeScale
from belated.errors import Contradiction, InvalidInput
from belated.learner.algorithms import PAPER, Algorithm, find_algorithm
from belated.learner.silence import SILENCES, Silence, find_silence
from belated.patience import Patience
from belated.settings import Settings
from belated.study import Study
from belated.validation import format_value

COMPARED = ("floor", "unknown", "waiting", "fading")  # silences to compare, where the algorithm implies none
OF_CONVERSIONS = ("floor", "fading")  # silences that conversions may have
QUANTILES = (0.5, 0.8, 0.95)  # quantiles of the delays, for algorithms with a patience
Wait = int | str | timedelta | None
Item = TypeVar("Item")
UNITS = (("d", 86400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001))


@dataclass(frozen=True)
class Candidate:
    """Settings that a study could have had."""

    settings: Settings
    own: bool = False  # whether they are the study's own

    @property
    def algorithm(self) -> str:
        return self.settings.algorithm.name

    @property
    def silence(self) -> str:
        return name_silence(self.settings.silence)

    @property
    def patience(self) -> str:
        return str(self.settings.patience)

    def __str__(self) -> str:
        """GP-BTS; GP-UCB-SDF (patience 12 rounds); default (silence floor, patience 12 rounds)."""
        parts = [] if self.settings.algorithm.implied.silence is not None else [f"silence {self.silence}"]
        if _has_patience(self.settings.patience):
            parts.append(f"patience {self.patience}")
        return f"{self.algorithm} ({', '.join(parts)})" if parts else self.algorithm

    @property
    def key(self) -> tuple[object, ...]:
        """Two candidates with the same key are the same."""
        return self.settings.algorithm, self.settings.silence, self.settings.patience


def name_silence(silence: Silence) -> str:
    return silence.name


def choose_time_scale(settings: Settings, patience: Sequence[Wait] | None) -> TimeScale:
    """Whether time is in rounds or by the clock: as in the study, or else as in the patience given."""
    wanted = [Patience.of(m) for m in _require_list(patience, "patience")]
    finite = [m for m in (settings.patience, *wanted) if _has_patience(m)]
    if len({m.by_clock for m in finite}) > 1:
        raise Contradiction(
            "patience must be in rounds or by the clock, and the same for all that is compared, the study included "
            f"(got {', '.join(map(str, finite))})"
        )
    return "clock" if any(m.by_clock for m in finite) else "rounds"


def _has_patience(patience: Patience) -> bool:
    """Whether there is a patience: stated, or chosen by the study."""
    return patience.auto or not math.isinf(patience.m)


def round_patience(t: float, scale: TimeScale) -> int | str:
    """A patience of at least t, in rounds or as a short duration, at most a tenth longer."""
    if scale == "rounds":
        return max(1, math.ceil(t))
    unit, size = next((named for named in UNITS if t >= 10 * named[1]), UNITS[-1])
    return f"{max(1, math.ceil(t / size))}{unit}"


def list_candidates(
    settings: Settings,
    waits: Sequence[Wait],
    algorithms: Sequence[str | Algorithm] | None = None,
    silences: Sequence[str | Silence] | None = None,
) -> list[Candidate]:
    """The study's own settings first, and then every other combination that does not contradict itself.

    waits  patience for algorithms that have one; None: none
    """
    begun = (
        replace(settings.patience, m=math.inf) if settings.patience.auto else settings.patience
    )  # to be chosen again
    free = replace(
        settings, objective=replace(settings.objective, limits=None), patience=begun
    )  # a simulated f has no limits
    known = ["default", *PAPER] if algorithms is None else _require_list(algorithms, "algorithms")
    chosen = [algorithm if isinstance(algorithm, Algorithm) else find_algorithm(algorithm) for algorithm in known]
    words = [name for name in COMPARED if name in SILENCES] if silences is None else _require_list(silences, "silences")
    meant = [_find_silence(word) for word in words]
    if settings.outcomes == "conversion":  # a conversion needs a window, and silence is an outcome
        waits = [wait for wait in waits if wait is not None]
        meant = [silence for silence in meant if silence.name in OF_CONVERSIONS]
        chosen = [each for each in chosen if _suits_conversions(each)]
    found = [Candidate(free, own=True)]
    for algorithm in chosen:
        for silence in _list_silences(algorithm, meant, narrowed=silences is not None):
            for wait in _list_patience(algorithm, waits):
                one = Candidate(_settle_candidate(free, algorithm, silence, wait))
                if all(one.key != other.key for other in found):
                    found.append(one)
    if len(found) == 1 and (algorithms is not None or silences is not None):
        asked = f"{', '.join(a.name for a in chosen)} with silence {', '.join(map(name_silence, meant))}"
        raise InvalidInput(f"nothing is left to compare the study's own settings with (got {asked})")
    return found


def _suits_conversions(algorithm: Algorithm) -> bool:
    silence = algorithm.implied.silence
    return silence is None or silence.name in OF_CONVERSIONS


def _require_list(values: Sequence[Item] | None, what: str) -> list[Item]:
    if values is None:
        return []
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise InvalidInput(f"{what} must be a list with something in it (got {format_value(values)})")
    return list(values)


def _find_silence(given: Any) -> Silence:
    if isinstance(given, str) and (named := find_silence(given)) is not None:
        return named
    if isinstance(given, str | type) or not callable(getattr(given, "fill", None)):
        raise InvalidInput(
            f"silences must be of {', '.join(SILENCES)}, or values of belated.silence (got {format_value(given)})"
        )
    meant: Silence = given
    return meant


def _list_silences(algorithm: Algorithm, meant: list[Silence], narrowed: bool) -> list[Silence]:
    """The silences for an algorithm; if it implies one, that one, where it is wanted."""
    implied = algorithm.implied.silence
    if implied is None:
        return meant
    return [implied] if implied in meant or not narrowed else []


def _list_patience(algorithm: Algorithm, waits: Sequence[Wait]) -> Iterator[Wait]:
    """The patience values for an algorithm."""
    if algorithm.implied.patience == "none":
        yield None
    else:
        yield from (wait for wait in waits if wait is not None or algorithm.implied.patience is None)


def _settle_candidate(own: Settings, algorithm: Algorithm, silence: Silence, wait: Wait) -> Settings:
    """The settings of a candidate; what its algorithm does not imply is the study's own."""
    return Study.create(
        space=own.space,
        context=own.context,
        goal=own.objective.goal,
        floor=own.objective.floor,
        ceiling=own.objective.ceiling,
        silence=silence,
        patience=wait,
        late=own.late if own.algorithm.implied.late is algorithm.implied.late is None else None,
        algorithm=algorithm,
        regret=own.regret,
        outcomes=own.outcomes,
        repeats=own.repeats if own.algorithm.implied.repeats is algorithm.implied.repeats is None else None,
        initial=own.initial if algorithm == own.algorithm else None,
        seed=own.seed,
    ).settings
