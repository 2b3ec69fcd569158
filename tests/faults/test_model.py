"""The model dies in mid-ask: no trial or a complete fallback trial, and the study is not wedged.

What fails here is given by a user: a kernel that cannot be fitted, a policy that raises, points that are all the same,
outcomes at the end of the floats. Nothing of belated's own is replaced.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from belated import BelatedError, Choice, Integer, Real, Study
from belated.learner.algorithms import DEFAULT, paper
from belated.learner.gp.kernels import SE, Matern52
from belated.record.ledger import open_store
from belated.settings import Settings
from tests.faults.client import NAME, fill
from tests.faults.world import Lab, client, sound

Hyper = tuple[Any, float]  # a kernel's lengthscales and variance
Asks = Callable[[Hyper, bool], None]  # with which hyperparameters, and whether for a fit


def steady(hyper: Hyper, fitting: bool) -> None:
    """Nothing fails."""


@dataclass
class Fuse:
    """What a user's parts ask before they compute; a test puts another in."""

    ask: Asks = steady


@dataclass(frozen=True)
class Fragile(Matern52):
    """A user's own kernel: Matérn, but it cannot be fitted when its fuse blows."""

    fuse: Fuse = field(default_factory=Fuse, compare=False)

    def slopes(self, X: Any, Z: Any) -> Any:
        if X is Z:  # a fit compares what was heard with itself
            self.fuse.ask(hyper(self), True)
        return super().slopes(X, Z)

    def spec(self) -> dict[str, object]:
        """What is fitted is kept as the Matérn that it is."""
        return Matern52(self.lengthscale, self.variance).spec()


@dataclass(frozen=True)
class Touchy:
    """A user's own policy: another one, unless its fuse blows."""

    policy: Any
    fuse: Fuse

    def scores(self, belief: Any, Q: Any, nu: float, rng: Any) -> Any:
        self.fuse.ask(hyper(belief.posterior.gp.kernel), False)
        return self.policy.scores(belief, Q, nu, rng)

    def surface(self, belief: Any, nu: float, rng: Any) -> Any:
        self.fuse.ask(hyper(belief.posterior.gp.kernel), False)
        return self.policy.surface(belief, nu, rng)


def hyper(kernel: Any) -> Hyper:
    return kernel.lengthscale, kernel.variance


def fused(algorithm: Any, fuse: Fuse) -> Any:
    """An algorithm that computes with a user's own kernel and policies."""
    moves = tuple(replace(move, policy=Touchy(move.policy, fuse)) for move in algorithm.moves)
    return replace(
        algorithm,
        model=replace(algorithm.model, shape=Fragile(algorithm.model.shape.lengthscale, fuse=fuse)),
        moves=moves,
    )


def with_fuse(url: str, fuse: Fuse, clock: Callable[[], float] = time.time) -> Study:
    """The lab's study with parts that a store would not keep."""
    place = open_store(url)
    settings = Settings.of(place.spec(NAME) or {})
    return Study(replace(settings, algorithm=fused(settings.algorithm, fuse)), place.ledger(NAME), NAME, clock)


def always(error: type[BaseException]) -> Asks:
    def blow(hyper: Hyper, fitting: bool) -> None:
        raise error("the model died")

    return blow


@pytest.mark.parametrize(
    "error", [MemoryError, RuntimeError, KeyboardInterrupt, np.linalg.LinAlgError, FloatingPointError, OverflowError]
)
@pytest.mark.parametrize("count", [1, 3], ids=["one", "batch"])
def test_the_model_raises(url: str, error: type[BaseException], count: int) -> None:
    """Numerics and a lack of memory fall back to a complete trial; anything else is raised and leaves nothing. Either
    way it goes on."""
    fill(url)
    before, fuse = sound(url), Fuse(always(error))
    study = with_fuse(url, fuse)
    if issubclass(error, ArithmeticError | np.linalg.LinAlgError | MemoryError):
        asked = study.ask(n=count, key="the-ask")
        assert ["fell back to a space-filling point" in trial.note for trial in asked] == [True] * count
        assert ["(out of memory)" in trial.note for trial in asked] == [error is MemoryError] * count
        assert sound(url).trials == before.trials + count
    else:
        with pytest.raises(error):
            study.ask(n=count, key="the-ask")
        assert sound(url).events == before.events
    fuse.ask = steady
    numbers = [trial.number for trial in study.ask(n=count, key="the-ask")]  # the same study object goes on
    assert numbers == list(range(before.trials + 1, before.trials + count + 1))
    again = Study.open(url, NAME)
    assert [trial.number for trial in again.ask(n=count, key="the-ask")] == numbers
    assert again.ask().number == before.trials + count + 1
    assert sound(url).trials == before.trials + count + 1


def test_a_batch_whose_third_choice_dies_leaves_nothing(url: str) -> None:
    fill(url)
    before, choices = sound(url), []

    def third(hyper: Hyper, fitting: bool) -> None:
        choices.append(hyper)
        if len(choices) == 3:
            raise RuntimeError

    fuse = Fuse(third)
    study = with_fuse(url, fuse)
    with pytest.raises(RuntimeError):
        study.ask(n=3, key="the-batch")
    assert len(choices) == 3
    assert sound(url).events == before.events
    fuse.ask = steady
    assert [trial.number for trial in study.ask(n=3, key="the-batch")] == [before.trials + i for i in (1, 2, 3)]
    assert sound(url).trials == before.trials + 3


# Every rung of the ladder ---------------------------------------------------------------------------------------------


def fails_for(which: Callable[[Hyper], bool], *, fitting: bool) -> Asks:
    """Fails for some hyperparameters, in fits or in choices."""

    def blow(hyper: Hyper, in_fit: bool) -> None:
        if in_fit == fitting and which(hyper):
            raise np.linalg.LinAlgError

    return blow


def lived(folder: Path, fuse: Fuse, told: int) -> tuple[str, Study]:
    """A stored study with that many outcomes, beyond its space-filling start."""
    url = f"sqlite:///{folder}/lab.db"
    space = {"x": Real(0, 1), "n": Integer(1, 64, log=True), "kind": Choice("a", "b")}
    Study.create(url, NAME, space=space, silence="unknown", seed=5, initial=3)
    study = with_fuse(url, fuse)
    for _ in range(told):
        trial = study.ask()
        study.tell(trial, float(np.sin(7.0 * trial.params["x"]) + 0.1 * trial.params["n"] ** 0.5))
    return url, study


def found(study: Study) -> list[Hyper]:
    """The hyperparameters that were fitted so far."""
    return [hyper(fit.gp.kernel) for fit in study.hyperparameters()]


def test_the_fit_fails_and_the_last_good_hyperparameters_serve(tmp_path: Path) -> None:
    fuse = Fuse()
    url, study = lived(tmp_path, fuse, told=5)
    before = found(study)
    assert before
    fuse.ask = fails_for(lambda h: True, fitting=True)
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, 0.1 * trial.number)
    notes = [trial.note for trial in study.trials()[5:]]
    assert "fell back to the last good hyperparameters" in notes  # whenever a fit was due
    assert found(study) == before
    assert sound(url).trials == 8


def test_the_first_fit_fails_and_the_prior_ones_serve(tmp_path: Path) -> None:
    url, study = lived(tmp_path, Fuse(fails_for(lambda h: True, fitting=True)), told=3)
    assert study.ask().note == "fell back to prior hyperparameters"
    assert found(study) == []
    assert sound(url).trials == 4


def test_hyperparameters_that_fail_are_fitted_again(tmp_path: Path) -> None:
    fuse = Fuse()
    url, study = lived(tmp_path, fuse, told=9)
    bad = found(study)[-1]
    fuse.ask = fails_for(lambda h: h == bad, fitting=False)
    trial = study.ask()
    assert trial.note == "fell back to refitted hyperparameters"
    assert found(study)[-1] != bad
    fuse.ask = steady
    assert "fell back" not in study.ask().note
    assert sound(url).trials == 11


def test_then_the_last_good_ones(tmp_path: Path) -> None:
    """No hyperparameters that are new will do, nor the last ones: those before them do."""
    fuse = Fuse()
    url, study = lived(tmp_path, fuse, told=9)
    *older, last = found(study)
    assert older
    fuse.ask = fails_for(lambda h: h not in older, fitting=False)
    assert study.ask().note == "fell back to the last good hyperparameters"
    assert found(study) == [*older, last]
    assert sound(url).trials == 10


def test_then_the_prior_ones(tmp_path: Path) -> None:
    fuse = Fuse()
    url, study = lived(tmp_path, fuse, told=9)
    prior, before = hyper(study.settings.problem.kernel), found(study)
    fuse.ask = fails_for(lambda h: h != prior, fitting=False)
    assert study.ask().note == "fell back to prior hyperparameters"
    assert found(study) == before
    assert sound(url).trials == 10


def test_and_at_last_a_space_filling_point(tmp_path: Path) -> None:
    fuse = Fuse()
    url, study = lived(tmp_path, fuse, told=9)
    fuse.ask = fails_for(lambda h: True, fitting=False)
    trials = [study.ask(), *study.ask(n=3)]
    assert {trial.note for trial in trials} == {"fell back to a space-filling point"}
    assert len({trial.params["x"] for trial in trials}) == 4
    fuse.ask = steady
    assert "fell back" not in study.ask().note
    assert sound(url).trials == 14


@dataclass(frozen=True)
class Holes(SE):
    """A kernel that is no number anywhere but on the diagonal."""

    def __call__(self, X: Any, Z: Any) -> Any:
        K = super().__call__(X, Z)
        return np.where(K == self.variance, K, np.nan)


@pytest.mark.parametrize(
    "algorithm",
    [replace(DEFAULT, model=replace(DEFAULT.model, shape=Holes(0.2))), paper("GP-UCB", kernel=Holes(0.2), lam=0.01)],
)
def test_a_kernel_that_is_not_a_number(algorithm: Any) -> None:
    silence = "unknown" if algorithm.name == "default" else None
    study = Study.create(space={"x": Real(0, 1)}, silence=silence, algorithm=algorithm, seed=1, initial=2)
    for _ in range(6):
        trial = study.ask()
        study.tell(trial, trial.params["x"])
    assert "fell back to a space-filling point" in study.trials()[-1].note


# What nobody would call a model: by the six and by the default, in a store --------------------------------------------

SAME = [{"x": 0.5, "n": 3}] * 6
CLOSE = [{"x": 0.5 + i * 1e-16, "n": 3} for i in range(6)]
OUTCOMES: dict[str, Sequence[float]] = {
    "huge": (1e300, -1e300, 1e300, 8e307, -8e307, 0.0),
    "tiny": (1e-300, 5e-324, -1e-300, 0.0, 1e-310, 2e-300),
    "one wild": (0.1, 0.2, 1e300, 0.3, 0.1, 0.2),
    "constant": (3.0,) * 6,
}


@pytest.mark.parametrize("outcomes", OUTCOMES)
@pytest.mark.parametrize("points", [SAME, CLOSE], ids=["same", "close"])
@pytest.mark.parametrize("algorithm", ["default", "GP-UCB-SDF", "GP-BTS"])
def test_degenerate_points_and_outcomes(tmp_path: Path, algorithm: str, points: Any, outcomes: str) -> None:
    """Every ask is answered with a complete trial, the belief is finite, and the store is whole."""
    url = f"sqlite:///{tmp_path}/lab.db"
    words: dict[str, Any] = {"silence": "floor", "floor": -1.0} if algorithm == "default" else {}
    study = Study.create(
        url, "lab", space={"x": Real(0, 1), "n": Integer(1, 8)}, algorithm=algorithm, seed=1, initial=0,
        patience=None if algorithm == "GP-BTS" else 4, **words,
    )  # fmt: skip
    for params, y in zip(points, OUTCOMES[outcomes], strict=True):
        study.add(params, y, noise=1e-300 if algorithm == "default" and y < 0 else None)
    for i in range(8):
        trial = study.ask()
        study.settings.space.encode(trial.params)  # raises when a coordinate is missing or outside
        if i % 2:
            study.tell(trial, OUTCOMES[outcomes][i % 6])
    mean, std, _, _ = study.posterior([trial.params for trial in study.trials()])
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(std))
    assert sound(url).trials == 14


def test_an_ask_without_memory(rested: Lab, tmp_path: Path) -> None:
    """RLIMIT_AS at what is in use already: it may manage, fall back, or say MemoryError; it leaves no half trial."""
    here = rested.copy(tmp_path / "here")
    study = here.open()
    for i in range(40):  # enough that the belief needs memory of its own
        study.tell(study.ask(), 0.01 * i)
    before = sound(here.url)
    answer = client(here.url, "starved")
    assert answer.status in (0, 1, 2), answer
    left = sound(here.url)
    complete = answer.acknowledged and isinstance(answer.last, dict)
    assert left.trials - before.trials == complete
    trial = here.open().ask(key="the-ask")
    assert trial.number == before.trials + 1
    if complete:
        assert dict(trial.params) == answer.last["params"]
    assert sound(here.url).trials == before.trials + 1


@pytest.mark.parametrize("reading", [float("nan"), float("inf"), "noon", None])
def test_a_clock_that_breaks_in_mid_ask(tmp_path: Path, reading: object) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    readings: list[object] = [1.0]
    study = Study.create(
        url, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=1, clock=lambda: readings[-1]  # type: ignore[arg-type, return-value]
    )  # fmt: skip
    study.tell(study.ask(), 0.5)
    readings.append(reading)
    with pytest.raises(BelatedError):
        study.ask()
    readings.append(2.0)
    assert study.ask().number == 2
    assert sound(url).trials == 2
