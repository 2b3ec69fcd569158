"""The settings of a study: checked, with those that the algorithm implies filled in."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal, get_args

from belated.errors import AlreadyExists, BelatedError, Contradiction, InvalidInput, Unreadable
from belated.learner.algorithms import PAPER, Algorithm, find_algorithm, read_algorithm
from belated.learner.choice.decide import require_finite_queries
from belated.learner.choice.problem import Problem
from belated.learner.confidence import Theory
from belated.learner.gp.domain import Finite
from belated.learner.gp.kernels import check_kernel
from belated.learner.silence import SILENCES, Silence, find_silence, read_silence, write_silence
from belated.objective import Objective
from belated.parts import list_parts, require_members
from belated.patience import Patience
from belated.space.encoding import Space
from belated.space.parameters import LONGEST_UNIT, Choice, Integer, Real
from belated.space.points import Points
from belated.validation import (
    format_label,
    format_names,
    format_value,
    is_writable,
    require_time,
    require_whole,
    require_words,
)

Declared = Mapping[str, Real | Integer | Choice] | Points | Space
Late = Literal["use", "ignore"]
Repeats = Literal["always", "heard", "never"]
RegretKind = Literal["simple", "cumulative"]
OutcomeKind = Literal["real", "conversion"]
LATE, REPEATS, REGRETS, OUTCOMES = get_args(Late), get_args(Repeats), get_args(RegretKind), get_args(OutcomeKind)
MOST_INITIAL = 10**9
LONGEST_NAME = 255  # characters
LONGEST_PERSON = 255
# Settings that are words for people, with their longest; left out of a spec where there are none.
WORDS = {"about": 4000, "outcome_name": LONGEST_NAME, "unit": LONGEST_UNIT, "created_by": LONGEST_PERSON}

SILENCE_HELP = (
    'silence must be given: what does an unheard outcome mean? "floor" (no news is the worst news), '
    '"unknown" (it is coming, it is merely late), "waiting" (the floor while pending, then nothing), '
    '"fading" (it could be either: the delays will tell); for comparison also "ignored" and "nearest"'
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything a study was created with, implied choices filled in.

    >>> from belated import Real, Study
    >>> settings = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0).settings
    >>> settings.regret, settings.repeats, settings.initial  # what was not said is filled in
    ('simple', 'heard', 4)
    """

    space: Space
    context: Space | None
    objective: Objective
    algorithm: Algorithm
    silence: Silence
    patience: Patience
    late: Late
    repeats: Repeats
    regret: RegretKind
    outcomes: OutcomeKind
    initial: int
    seed: int
    about: str | None = None  # the question, for people
    outcome_name: str | None = None
    unit: str | None = None  # of the outcome
    created_by: str | None = field(default=None, compare=False)  # who made the study
    created_at: float | None = field(default=None, compare=False)  # when, if it has no clock of its own

    @property
    def outcome_label(self) -> str:
        """What people call the outcome, with its unit.

        >>> from belated import Real, Study
        >>> study = Study.create(
        ...     space={"x": Real(0, 1)}, silence="unknown", outcome_name="yield", unit="%", seed=0
        ... )
        >>> study.settings.outcome_label
        'yield (%)'
        """
        return format_label(self.outcome_name or "outcome", self.unit)

    def spec(self) -> dict[str, Any]:
        """The settings as plain values, for a ledger; only what belated knows by name can be stored."""
        for what, value, again in (
            ("algorithm", self.algorithm, lambda: read_algorithm(self.algorithm.spec())),
            ("silence", self.silence, lambda: read_silence(write_silence(self.silence))),
        ):
            same, why = False, ""
            try:
                same = again() == value
            except BelatedError as error:
                why = f" ({error})"
            except (KeyError, TypeError, AttributeError):
                pass
            if not same:
                raise InvalidInput(
                    f"{what} must be one that belated knows by name: no other can be stored{why} "
                    f"(got {format_value(value)})"
                )
        objective = self.objective
        return {
            "space": self.space.spec(),
            "context": None if self.context is None else self.context.spec(),
            "outcomes": self.outcomes,  # before what it implies: a difference is named by its cause
            "goal": objective.goal,
            "floor": objective.floor,
            "ceiling": objective.ceiling,
            "limits": None if objective.limits is None else list(objective.limits),
            "algorithm": self.algorithm.spec(),
            "silence": write_silence(self.silence),
            "patience": "auto" if self.patience.auto else None if math.isinf(self.patience.m) else self.patience.m,
            "patience_by_clock": self.patience.by_clock,
            "late": self.late,
            "repeats": self.repeats,
            "regret": self.regret,
            "initial": self.initial,
            "seed": self.seed,
            **{word: text for word in WORDS if (text := getattr(self, word)) is not None},
            **({} if self.created_at is None else {"created_at": self.created_at}),
        }

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Settings:
        """What `spec` wrote, read back."""
        try:
            return cls._read(_translate(spec))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:  # our own are ValueErrors
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise Unreadable(f"the settings of this study are damaged ({reason})") from None

    @classmethod
    def _read(cls, spec: Mapping[str, Any]) -> Settings:
        m, auto = spec["patience"], spec["patience"] == "auto"
        return cls(
            space=Space.from_spec(spec["space"]),
            context=None if spec["context"] is None else Space.from_spec(spec["context"], "context"),
            objective=replace(
                Objective.of(spec["goal"], spec["floor"], spec["ceiling"], spec["limits"]),
                conversions=spec["outcomes"] == "conversion",
            ),
            algorithm=read_algorithm(spec["algorithm"]),
            silence=read_silence(spec["silence"]),
            patience=Patience(math.inf if m is None or auto else float(m), spec["patience_by_clock"], auto),
            late=_require_option("late", spec["late"], LATE),
            repeats=_require_option("repeats", spec["repeats"], REPEATS),
            regret=_require_option("regret", spec["regret"], REGRETS),
            outcomes=_require_option("outcomes", spec["outcomes"], OUTCOMES),
            initial=require_whole(spec["initial"], "initial"),
            seed=require_whole(spec["seed"], "seed"),
            created_at=None if spec.get("created_at") is None else require_time(spec["created_at"], "created_at"),
            **{word: require_words(spec.get(word), word, most, lines=word == "about") for word, most in WORDS.items()},
        )

    @property
    def problem(self) -> Problem:
        """What a choice needs of the settings, as the learner takes it."""
        return Problem(
            algorithm=self.algorithm,
            silence=self.silence,
            bounds=self.objective.bounds,
            query=self.space.domain,
            query_widths=self.space.widths,
            context=None if self.context is None else self.context.domain,
            context_widths=() if self.context is None else self.context.widths,
            initial=self.initial,
            cumulative=self.regret == "cumulative",
            conversions=self.outcomes == "conversion" and self.algorithm.name not in PAPER,
        )


def amend_settings(
    settings: Settings,
    *,
    floor: object = None,
    limits: object = None,
    patience: int | float | str | timedelta | Patience | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> Settings:
    """The same settings with some of them put right; None: as it was. patience="none" never expires."""
    if ranges is not None:
        settings = replace(settings, space=settings.space.with_ranges(ranges))
    if patience is not None:
        m = Patience.of(patience)
        _check_patience(settings.algorithm, m)
        if settings.objective.conversions:
            _require_window(m)
        settings = replace(settings, patience=m)
    return replace(settings, objective=settings.objective.amend(floor, limits))


def read_amendment(settings: Settings, plain: Mapping[str, Any]) -> Settings:
    """The settings after an amendment of them, as plain values."""
    limits, m = plain.get("limits"), plain.get("patience")
    if isinstance(m, str):
        m = Patience(by_clock=plain.get("by_clock", False), auto=m == "auto")
    elif m is not None:
        m = Patience(m, plain.get("by_clock", False))
    changed = {"floor": plain.get("floor"), "limits": None if limits is None else tuple(limits)}
    return amend_settings(settings, **changed, patience=m, ranges=plain.get("ranges"))


def _check_patience(algorithm: Algorithm, m: Patience) -> None:
    """Refuse a patience that an algorithm does not have."""
    if algorithm.implied.patience == "needed" and math.isinf(m.m) and not m.auto:
        raise InvalidInput(f'{algorithm.name} needs patience: a number of rounds, or a time such as "14d"')
    if algorithm.implied.patience == "none" and (m.auto or not math.isinf(m.m)):
        raise Contradiction(
            f"{algorithm.name} has no patience: queries stay pending until heard; leave patience out (got {m})"
        )


def _require_window(patience: Patience) -> None:
    if math.isinf(patience.m) and not patience.auto:
        raise InvalidInput('conversions need patience: the attribution window, such as "7d"')


# Names of settings in specs of version 0.1, and their names since then.
RENAMED = {"objective": "regret"}


def _translate(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """A stored spec with the present names; in version 0.1 every algorithm of the paper was fitted to the heard."""
    renamed = {RENAMED.get(name, name): value for name, value in spec.items()}
    renamed.setdefault("outcomes", "real")
    return renamed | {"algorithm": {"fitted_to": "heard"} | dict(renamed["algorithm"])}


def settle_settings(
    *,
    space: Declared,
    context: Declared | None,
    goal: str,
    floor: float | None,
    ceiling: float | None,
    limits: tuple[float, float] | None,
    silence: str | Silence | None,
    patience: int | str | timedelta | None,
    late: Late | None,
    algorithm: str | Algorithm,
    repeats: Repeats | None,
    regret: RegretKind | None,
    outcomes: OutcomeKind,
    initial: int | None,
    seed: int | None,
    about: str | None = None,
    outcome_name: str | None = None,
    unit: str | None = None,
    created_by: str | None = None,
    created_at: float | None = None,
) -> Settings:
    """The settings of a study from what the user gave; what contradicts the algorithm is refused."""
    chosen = algorithm if isinstance(algorithm, Algorithm) else find_algorithm(algorithm)
    m = Patience.of(patience)
    _check_patience(chosen, m)
    if outcomes not in OUTCOMES:
        raise InvalidInput(f"outcomes must be one of {', '.join(OUTCOMES)} (got {format_value(outcomes)})")
    if outcomes == "conversion" and silence is None and chosen.implied.silence is None:
        raise InvalidInput('conversions need silence="floor" or "fading": the rate so far, or the one to come')
    meaning = _settle_silence(chosen, silence)
    if outcomes == "conversion" and chosen.model.surrogate is not None:
        raise Contradiction(f"conversions have a model of their own; {chosen.name} has a surrogate")
    if outcomes == "conversion":
        floor = _check_conversion(goal, floor, meaning, m)
    queries, around = Space.of(space), None if context is None else Space.of(context, "context")
    for declared in (queries, *([] if around is None else [around])):
        check_words(declared)
    first = chosen.opening.initial(len(queries.widths)) if initial is None else require_whole(initial, "initial")
    if not 0 <= first <= MOST_INITIAL:
        rule = "at least 0" if first < 0 else f"at most {MOST_INITIAL}"
        raise InvalidInput(f"initial must be {rule} (got {format_value(first)})")
    drawn = secrets.randbits(63) if seed is None else require_whole(seed, "seed")
    if not 0 <= drawn < 2**128:
        rule = "at least 0" if drawn < 0 else "less than 2**128"
        raise InvalidInput(f"seed must be {rule} (got {format_value(drawn)})")
    if isinstance(queries.domain, Finite) and initial is None:
        first = min(first, len(queries.domain.Q))
    often: Repeats = "always" if outcomes == "conversion" else "heard"  # one conversion more says little
    settings = Settings(
        space=queries,
        context=around,
        objective=replace(Objective.of(goal, floor, ceiling, limits), conversions=outcomes == "conversion"),
        algorithm=chosen,
        silence=meaning,
        patience=m,
        late=_settle_implied(chosen, "late", late, LATE, chosen.implied.late, "use"),
        repeats=_settle_implied(chosen, "repeats", repeats, REPEATS, chosen.implied.repeats, often),
        regret=_settle_implied(
            chosen,
            "regret",
            regret,
            REGRETS,
            None,
            "simple" if context is None and outcomes == "real" else "cumulative",
        ),
        outcomes=outcomes,
        initial=first,
        seed=drawn,
        about=require_words(about, "about", WORDS["about"], lines=True),
        outcome_name=require_words(outcome_name, "outcome_name", WORDS["outcome_name"]),
        unit=require_words(unit, "unit", WORDS["unit"]),
        created_by=created_by,
        created_at=created_at,
    )
    settings.objective.check_floor()
    problem = settings.problem
    check_kernel_fits(problem)
    if isinstance(chosen.width.beta, Theory) and chosen.width.beta.gain == "greedy":
        require_finite_queries(problem)  # the same for a gain that is not defined on it
    return settings


def check_kernel_fits(problem: Problem) -> None:
    """Raise here, not at the first ask, if the kernel does not fit the space, or one of the user's own has no name."""
    kernel = problem.kernel
    for kind, part in problem.algorithm.own:
        if kind == "kernel":
            _ = kernel.spec()  # hyperparameters are recorded, so it needs a name in memory too
            check_kernel(kernel, sum(map(sum, problem.widths)), part)


def check_words(space: Space) -> None:
    """Refuse names that a terminal cannot print, and options that no file can hold, before they are stored."""
    for name in space.names:
        if not name.isprintable() or len(name) > LONGEST_NAME:
            raise InvalidInput(
                f"names of parameters must be printable and have at most {LONGEST_NAME} characters "
                f"(got {format_value(name)})"
            )
    for value in space.list_options():
        if isinstance(value, str) and not is_writable(value):
            raise InvalidInput(f"options must be text that UTF-8 can hold (got {format_value(value)})")


def _check_conversion(goal: str, floor: float | None, silence: Silence, patience: Patience) -> float:
    """The floor that conversions imply; what contradicts them is refused."""
    if goal != "maximize":
        raise Contradiction(f"conversions are maximized; leave goal out (got {format_value(goal)})")
    if floor not in (None, 0, 0.0):
        raise Contradiction(f"conversions imply floor=0; leave floor out (got {format_value(floor)})")
    if getattr(silence, "law", None) is not None:
        raise Contradiction(f"conversions learn the law of their delays; leave it out (got {format_value(silence)})")
    if silence.name not in ("floor", "fading"):
        raise Contradiction(f'conversions need silence="floor" or "fading" (got {format_value(silence.name)})')
    _require_window(patience)
    return 0.0


def _settle_silence(algorithm: Algorithm, given: str | Silence | None) -> Silence:
    typed = given
    if isinstance(given, str):
        named = find_silence(given)
        if named is None:
            known = ", ".join([*SILENCES, *list_parts("silence")])
            raise InvalidInput(f"silence must be one of {known}, or a value of belated.silence (got {given!r})")
        given = named
    if given is not None and (isinstance(given, type) or not callable(getattr(given, "fill", None))):
        raise InvalidInput(
            f"silence must be one of {', '.join(SILENCES)}, or a value of belated.silence (got {format_value(given)})"
        )
    if given is not None:
        require_members("silence", given, ("fill", "name", "fills", "forgets", "uses_floor"))
    if algorithm.implied.silence is None:
        if given is None:
            raise InvalidInput(SILENCE_HELP)
        return given
    implied, on_request = algorithm.implied.silence, algorithm.implied.silences_on_request
    if given is None or given == implied:
        return implied
    if given.name in on_request:
        return given
    instead = ", or ask for " + " or ".join(f'"{name}"' for name in on_request) if on_request else ""
    raise Contradiction(
        f'{algorithm.name} implies silence="{implied.name}"; leave silence out{instead} (got {format_value(typed)})'
    )


def _settle_implied(
    algorithm: Algorithm, what: str, given: Any, options: tuple[str, ...], implied: Any, default: str
) -> Any:
    if given is not None:
        _require_option(what, given, options)
    if implied is not None and given not in (None, implied):
        raise Contradiction(f'{algorithm.name} implies {what}="{implied}"; leave {what} out (got {given!r})')
    return implied or given or default


def _require_option(what: str, given: Any, options: tuple[str, ...]) -> Any:
    if given not in options:
        raise InvalidInput(f"{what} must be one of {', '.join(options)} (got {format_value(given)})")
    return given


def check_agreement(name: str, kept: Settings, given: Settings) -> Settings:
    """The settings of an existing study, if the user gives the same again; parameters may be in another order."""
    before, now = kept.spec(), replace(given, created_by=kept.created_by, created_at=kept.created_at).spec()
    for what in {**before, **now}:
        if before.get(what) == now.get(what):
            continue
        if what in ("space", "context"):
            there, here = _find_difference(what, _list_parts(getattr(kept, what)), _list_parts(getattr(given, what)))
        elif what.startswith("patience"):
            what, there, here = "patience", str(kept.patience), str(given.patience)
        elif isinstance(before.get(what), dict):
            there, here = _find_difference(what, before[what], now[what])
        elif what in WORDS:
            there, here = (repr(one.get(what)) if what in one else "none" for one in (before, now))
        else:
            there, here = _describe_setting(before[what]), _describe_setting(now[what])
        if there != here:
            raise AlreadyExists(f"study {format_value(name)} exists with another {what}: {there} (got {here})")
    return kept


def _list_parts(space: Space | None) -> dict[str, object]:
    """A space part by part: every parameter by its name, or every point by its number."""
    if space is None:
        return {}
    if isinstance(space.parameters, Points):
        rows = [", ".join(f"{n} = {v!r}" for n, v in space.at(i).items()) for i in range(len(space.parameters))]
        return {space.what: "a list of points"} | {f"point {i}": row for i, row in enumerate(rows)}
    return {space.what: "named parameters"} | dict(zip(space.names, space.parameters, strict=True))


def _find_difference(what: str, before: Mapping[str, object], now: Mapping[str, object]) -> tuple[str, str]:
    """The first part in which two settings differ, once as in `before` and once as in `now`; empty if there is none."""
    for part in (*before, *now):
        if before.get(part) == now.get(part) or (part == what and not (before and now)):
            continue
        there, here = (_describe_setting(one.get(part)) for one in (before, now))
        if part != what:
            there, here = (f"no {part}" if words == "none" else f"{part} is {words}" for words in (there, here))
        return there, here
    return "", ""


def _describe_setting(value: object) -> str:
    """A setting or a parameter in words."""
    match value:
        case None:
            return "none"
        case Real() | Integer():
            kind = "a number" if isinstance(value, Real) else "a whole number"
            unit = "" if value.unit is None else f", in {value.unit}"
            return f"{kind} from {value.low!r} to {value.high!r}{', log' if value.log else ''}{unit}"
        case Choice():
            return f"one of {format_names(map(format_value, value.options))}"
        case [low, high]:
            return f"{low!r} to {high!r}"
        case str() if " " in value:
            return value  # words already
    return format_value(value)
