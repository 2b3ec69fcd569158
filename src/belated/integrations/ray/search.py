"""The searcher: how Ray Tune asks belated."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from ray.tune.search import Searcher

from belated import Settings, Study
from belated.algorithms import Algorithm
from belated.errors import Closed, Exhausted, InvalidInput
from belated.events import Asked
from belated.integrations.ray.domains import TunedSpace, has_domains
from belated.objective import Goal
from belated.record.events import event_from_dict, event_to_dict
from belated.record.ledger.memory import MemoryLedger
from belated.settings import RegretKind
from belated.silence import Silence
from belated.validation import format_value, is_number, unwrap

GOALS: dict[str, Goal] = {"max": "maximize", "min": "minimize"}


class BelatedSearch(Searcher):  # type: ignore[misc]  # Ray has no annotations that mypy is shown
    """A searcher for Ray Tune: a trial that runs is a query whose outcome is still to come.

    space      belated's parameters or Tune's domains by name. None: the param_space of the Tuner
    metric     what is optimised, as trials report it. None: the metric of TuneConfig
    mode       "max" or "min". None: the mode of TuneConfig
    points_to_evaluate  configurations to begin with; what they leave out is chosen
    silence    what an outcome that has not come means, as in Study.create: "unknown", "floor", "waiting", "fading", ...
    patience   a number of trials, or a time such as "2h": after it an outcome is late. None: never
    algorithm  "default", one of the paper's six names, or a value of belated.algorithms
    floor      the worst value of the metric (the largest with mode="min"). None: unknown
    ceiling    the best value. None: unknown
    regret     "simple": only the best trial counts; "cumulative": every trial does
    seed       makes every choice repeatable. None: drawn

    A trial that ends with an error, or without a finite value of the metric, counts as the silence says of one that
    never comes. A trial that a scheduler stops has the last value that it reported. `study` is belated's study.

    >>> from ray import tune
    >>> from belated.integrations.ray import BelatedSearch
    >>> search = BelatedSearch({"x": tune.uniform(0, 1)}, metric="score", mode="max", silence="unknown", seed=0)
    >>> first, second = search.suggest("a"), search.suggest("b")  # the second knows that the first is running
    >>> search.on_trial_complete("b", {"score": 0.83})
    >>> search.study.best().params == second
    True
    """

    def __init__(
        self,
        space: Mapping[str, Any] | None = None,
        *,
        metric: str | None = None,
        mode: str | None = None,
        points_to_evaluate: Sequence[Mapping[str, Any]] = (),
        silence: str | Silence | None = None,
        patience: int | str | timedelta | None = None,
        algorithm: str | Algorithm = "default",
        floor: float | None = None,
        ceiling: float | None = None,
        regret: RegretKind = "simple",
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self._metric, self._mode = metric, mode if mode is None else _require_mode(mode)
        self._space: TunedSpace | None = None if space is None else TunedSpace.of(space)
        self._points = tuple(points_to_evaluate)
        self._says: dict[str, Any] = {
            "silence": silence,
            "patience": patience,
            "algorithm": algorithm,
            "floor": floor,
            "ceiling": ceiling,
            "regret": regret,
            "seed": seed,
        }
        self._study: Study | None = None
        self._numbers: dict[str, int] = {}  # of the trials by Tune's ids, which are their keys in the study
        if self._space is not None and mode is not None:
            self._create_study(self._space, mode)  # refuses what is wrong

    @property
    def study(self) -> Study:
        """The study; there is one as soon as the space and the mode are known."""
        if self._study is None:
            raise InvalidInput(
                "give BelatedSearch a space and a mode, or the Tuner a param_space and TuneConfig a mode"
            )
        return self._study

    def _create_study(self, space: TunedSpace, mode: str) -> None:
        self._study = Study.create(space=space.parameters, goal=GOALS[_require_mode(mode)], **self._says)

    def set_search_properties(self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any) -> bool:
        """Take over what the Tuner says, unless it was said before. False: there are two spaces, and Tune says so."""
        if self._space is not None and has_domains(config):
            return False
        self._metric, self._mode = self._metric or metric, self._mode or mode
        self._space = self._space or TunedSpace.of(config)
        if self._study is None and self._mode is not None:
            self._create_study(self._space, self._mode)
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str:
        """The configuration of a new trial; the same id again gets the same."""
        space, asked = self._require_space(), len(self._numbers)
        if trial_id not in self._numbers:
            point = space.encode(self._points[asked]) if asked < len(self._points) else {}
            try:
                self._numbers[trial_id] = self.study.ask(params=point or None, key=trial_id).number
            except (Closed, Exhausted):
                return str(Searcher.FINISHED)
        return space.decode(self.study.trial(self._numbers[trial_id]).params)

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Tell how a trial ended; of one that was told before, or is not ours, nothing."""
        number = self._numbers.get(trial_id)
        if number is None or self.study.trial(number).status in ("heard", "late", "failed"):
            return
        value = unwrap((result or {}).get(self._metric or ""))
        if error or not is_number(value) or not abs(value) < float("inf"):
            self.study.fail(number, "lost" if self.study.settings.silence.forgets else "infeasible")
        else:
            self.study.tell(number, value)

    def add_evaluated_point(
        self,
        parameters: dict[str, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Add an outcome that is known from elsewhere; one of a trial that failed or was pruned says nothing."""
        if not error and not pruned:
            self.study.add(self._require_space().encode(parameters), value)

    def _require_space(self) -> TunedSpace:
        if self._space is None or self._metric is None:
            raise InvalidInput("give BelatedSearch a space and a metric, or the Tuner a param_space and a metric")
        return self._space

    # Saving -----------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the study itself, of which there are its settings and events."""
        kept = {name: value for name, value in vars(self).items() if name not in ("_study", "_numbers")}
        if self._study is None:
            return kept
        events = [event_to_dict(event) for event in self._study.events()]
        return kept | {"settings": self._study.original_settings, "events": events}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        kept = {name: value for name, value in state.items() if name not in ("settings", "events")}
        self.__dict__.update(kept, _study=None, _numbers={})
        if "settings" in state:
            self._read_study(state["settings"], state["events"])

    def _read_study(self, settings: Settings, written: Sequence[Mapping[str, Any]]) -> None:
        events = [event_from_dict(plain) for plain in written]
        asked = [event for event in events if isinstance(event, Asked)]
        self._study = Study(settings, MemoryLedger(events), None, time.time)
        self._numbers = {event.key: event.number for event in asked if event.key is not None}

    def save(self, checkpoint_path: str) -> None:
        """Write everything to a file. Tune calls this by itself."""
        Path(checkpoint_path).write_bytes(pickle.dumps(self.__getstate__()))

    def restore(self, checkpoint_path: str) -> None:
        """Go on where `save` was called. Tune calls this by itself (Tuner.restore)."""
        self.__setstate__(pickle.loads(Path(checkpoint_path).read_bytes()))  # noqa: S301  # Tune's own folder


def _require_mode(mode: str) -> str:
    if mode not in GOALS:
        raise InvalidInput(f'mode must be "max" or "min" (got {format_value(mode)})')
    return mode
