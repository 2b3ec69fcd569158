"""A study in Optuna's storage, read to be gone on with in belated's own.

belated has no steps and no conditional parameters: a range with steps is read as a range, and parameters that not all
completed trials have are left out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from belated.errors import InvalidInput, UnknownStudy, Unreadable
from belated.integrations.optuna.distributions import Numeric
from belated.integrations.optuna.trials import find_space
from belated.objective import Goal
from belated.record.ledger.passwords import mask_password
from belated.space.parameters import Choice, Integer, Parameter, Real
from belated.validation import format_names, format_value, prefix_errors


@dataclass(frozen=True, kw_only=True)
class OptunaStudy:
    """What belated takes from a study of Optuna's."""

    space: Mapping[str, Parameter]
    goal: Goal
    trials: tuple[FrozenTrial, ...]  # those that have all parameters of the space
    left_out: tuple[str, ...]  # parameters that are not in the space


def read_study(url: str, name: str) -> OptunaStudy:
    """The study of this name in Optuna's storage at a url, such as sqlite:///old.db."""
    study = _load(url, name)
    if len(study.directions) > 1:
        raise InvalidInput(f"a study must have one objective (got {len(study.directions)}, in {format_value(name)})")
    trials = study.get_trials(deepcopy=False)
    shared = find_space(trials)
    if not shared:
        raise InvalidInput(f"no parameter is shared by all completed trials of {format_value(name)}")
    every = {other for trial in trials for other in trial.distributions}
    return OptunaStudy(
        space={each: _join_ranges(each, trials) for each in shared},
        goal="maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize",
        trials=tuple(t for t in trials if t.state != TrialState.WAITING and shared.keys() <= t.params.keys()),
        left_out=tuple(sorted(every - shared.keys())),
    )


def _load(url: str, name: str) -> optuna.study.Study:
    if url.startswith("sqlite:///"):
        _require_tables(Path(url.removeprefix("sqlite:///")))
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        return optuna.load_study(study_name=name, storage=url)
    except KeyError:
        names = optuna.get_all_study_names(url)
        raise UnknownStudy(f"Optuna has no study {format_value(name)} there; it has {format_names(names)}") from None
    except Exception as error:  # of any database driver
        reason = (str(error).splitlines() or [""])[0]
        raise Unreadable(f"{mask_password(url)} is no storage that Optuna can read ({reason})") from None
    finally:
        optuna.logging.set_verbosity(before)


def _require_tables(path: Path) -> None:
    """Refuse a file that is not Optuna's: Optuna would make the file, or its tables in it."""
    if not path.is_file():
        raise Unreadable(f"there is no file {path}")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        tables = set()
    if not tables >= {"studies", "trials", "trial_params"}:
        raise Unreadable(f"{path} is not a storage of Optuna")


def _join_ranges(name: str, trials: Iterable[FrozenTrial]) -> Parameter:
    """The parameter that has the values of all trials; its range may have changed from one to the next."""
    found: list[BaseDistribution] = [trial.distributions[name] for trial in trials if name in trial.distributions]
    if isinstance(found[0], CategoricalDistribution):
        with prefix_errors(f"{name}: "):
            return Choice(*found[0].choices)
    ranges = cast("list[Numeric]", found)
    low, high = min(each.low for each in ranges), max(each.high for each in ranges)
    make: Any = Integer if isinstance(found[0], IntDistribution) else Real
    joined: Parameter = make(low, high, log=all(each.log for each in ranges))
    return joined
