"""The sampler: how Optuna asks belated."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from belated import Real, Space, Study
from belated.algorithms import Algorithm
from belated.errors import InvalidInput
from belated.integrations.optuna.distributions import make_parameter, to_optuna
from belated.integrations.optuna.following import FollowingStudy
from belated.integrations.optuna.trials import SearchSpace, find_fixed, find_space, read_params
from belated.objective import Goal
from belated.record.locks import hold, renew_in_children
from belated.settings import RegretKind
from belated.silence import Silence

MOST_SPACES = 32  # that are followed at a time; one for each set of parameters that trials share, and their ranges


class BelatedSampler(BaseSampler):
    """A sampler for Optuna studies whose trials take long: one that runs is a query whose outcome is still to come.

    silence    what an outcome that has not come means, as in Study.create: "unknown", "floor", "waiting", "fading", ...
    patience   a number of trials, or a time such as "2h": after it an outcome is late. None: never
    algorithm  "default", one of the paper's six names, or a value of belated.algorithms
    floor      the worst value of the objective (the largest when minimizing). None: unknown
    ceiling    the best value. None: unknown
    regret     "simple": only the best trial counts; "cumulative": every trial does
    seed       makes every choice repeatable. None: drawn

    A trial that failed or was pruned counts as the silence says of one that never comes: as the floor ("floor",
    "fading"), or as nothing. A choice depends on the seed and on the trials in Optuna's storage; nothing else is
    stored, and constraints are not looked at.

    >>> import optuna
    >>> from belated.integrations.optuna import BelatedSampler
    >>> study = optuna.create_study(sampler=BelatedSampler(silence="unknown", patience="2h", seed=0))
    >>> space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    >>> first, second = study.ask(space), study.ask(space)  # the second knows that the first is running
    >>> study.tell(second, 0.83).state.name
    'COMPLETE'
    """

    def __init__(
        self,
        *,
        silence: str | Silence | None = None,
        patience: int | str | timedelta | None = None,
        algorithm: str | Algorithm = "default",
        floor: float | None = None,
        ceiling: float | None = None,
        regret: RegretKind = "simple",
        seed: int | None = None,
    ) -> None:
        self._says: dict[str, Any] = {
            "silence": silence,
            "patience": patience,
            "algorithm": algorithm,
            "floor": floor,
            "ceiling": ceiling,
            "regret": regret,
        }
        goal: Goal = "maximize" if floor is None or ceiling is None or floor < ceiling else "minimize"
        checked = Study.create(space={"x": Real(0, 1)}, goal=goal, seed=seed, **self._says)  # refuses what is wrong
        self._says["seed"] = checked.seed
        self._begin()
        renew_in_children(self, BelatedSampler._begin)

    def _begin(self) -> None:
        """Begin with nothing followed; in a forked child and in an unpickled copy too."""
        self._lock = threading.RLock()
        self._followed: dict[object, FollowingStudy] = {}
        self._contexts: dict[tuple[str, int], frozenset[str]] = {}  # what another sampler fixes in trials that run

    def __getstate__(self) -> dict[str, Any]:
        return {"_says": self._says}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self._says = dict(state["_says"])
        self._begin()
        renew_in_children(self, BelatedSampler._begin)

    def reseed_rng(self) -> None:
        """There is nothing to seed again: what is drawn depends on the seed and the trial."""

    def infer_relative_search_space(self, study: optuna.study.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that all completed trials share. The others are chosen when they are asked for."""
        return find_space(_list_others(study, trial))

    def sample_relative(
        self, study: optuna.study.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The parameters that all completed trials share, chosen together."""
        _require_one_objective(study)
        others = _list_others(study, trial)
        elsewhere = frozenset(find_space(others).keys() - search_space.keys())
        if elsewhere:
            self._contexts[study.study_name, trial.number] = elsewhere
        if elsewhere or search_space.keys() <= find_fixed(trial).keys():
            return {}  # the rest is chosen when it is asked for: then those that come before it are known
        return self._choose(study, search_space, trial, others)

    def after_trial(
        self, study: optuna.study.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Forget what was fixed in it."""
        self._contexts.pop((study.study_name, trial.number), None)

    def sample_independent(
        self, study: optuna.study.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A parameter that not all trials have, or whose range has changed: chosen together with those that always come
        with it, given what the trial has already. A parameter that no trial has had yet is drawn at random."""
        _require_one_objective(study)
        others = _list_others(study, trial)
        space = find_space(others, having=param_name)
        if not space:
            return self._draw(trial, param_name, param_distribution)
        ranges = space | {name: each for name, each in trial.distributions.items() if name in space}
        ranges[param_name] = param_distribution
        several = {name: ranges[name] for name in sorted(ranges) if not ranges[name].single()}
        return self._choose(study, several, trial, others)[param_name]

    def _draw(self, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        rng = np.random.default_rng([self._says["seed"], trial.number, zlib.crc32(name.encode())])
        space = Space.of({name: make_parameter(distribution)})
        domain: Any = space.domain
        return to_optuna(distribution, space.decode(domain.place(rng.random((1, 1)))[0])[name])

    def _choose(
        self, study: optuna.study.Study, space: SearchSpace, trial: FrozenTrial, others: list[FrozenTrial]
    ) -> dict[str, Any]:
        """The params of a trial over a space, given those that it has and those that the user fixed."""
        fixed = self._contexts.get((study.study_name, trial.number), frozenset())
        context = sorted(fixed & read_params(space, trial.params).keys())
        with hold(self._lock):
            chosen = self._follow(study, space, context).choose(trial, others)
        return {name: to_optuna(space[name], value) for name, value in chosen.items()}

    def _follow(self, study: optuna.study.Study, space: SearchSpace, context: Sequence[str]) -> FollowingStudy:
        """The study that follows this one over this space; of many, those used last are kept."""
        goal: Goal = "maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize"
        key = study.study_name, goal, *((name, repr(space[name]), name in context) for name in space)
        followed = self._followed.pop(key, None) or FollowingStudy(space, context, {**self._says, "goal": goal})
        self._followed[key] = followed
        if len(self._followed) > MOST_SPACES:
            del self._followed[next(iter(self._followed))]
        return followed


def _require_one_objective(study: optuna.study.Study) -> None:
    if len(study.directions) > 1:
        raise InvalidInput(f"BelatedSampler is for studies with one objective (got {len(study.directions)})")


def _list_others(study: optuna.study.Study, trial: FrozenTrial) -> list[FrozenTrial]:
    """All trials but this one and those that have not begun."""
    trials = study.get_trials(deepcopy=False)
    return [other for other in trials if other.number != trial.number and other.state != TrialState.WAITING]
