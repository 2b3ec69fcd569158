"""Other packages on the same trials: Optuna's TPE and GP samplers, BoTorch's exact and variational models.

Everything is at their defaults, but: a fit of BoTorch's ends after 200 iterations, its variational model has 512
inducing points (its default, a quarter of the rows, ends sooner), and a list is looked at in parts of 128, which take
less memory. BoTorch fits a variational model of more than 1,024 rows by Adam, and then an iteration is a step. BoTorch
asks for the maximum of the analytic upper confidence bound; between fits the exact model is told of new rows, the
variational one is not. Optuna fits at every ask. A query of a list is a whole number to Optuna, and a point of the
list to BoTorch. A context is fixed, as each of them does it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.learner.arrays import Array
from benchmarks.scale.worlds import Outcomes, ScaleWorld

INDUCING, BETA, PART = 512, 4.0, 128
FIT, SEARCH = {"options": {"maxiter": 200}}, {"q": 1, "num_restarts": 10, "raw_samples": 512}
WHOLE, FIT_BY_ADAM = 1024, {"step_limit": 200}  # rows up to which a variational model is fitted to all at once


@dataclass(frozen=True)
class Peer:
    """A package with many trials in it."""

    fit: Callable[[], None]
    ask: Callable[[Array], Any]  # for a context
    tell: Callable[[Any, float], None]  # of what was asked


def optuna_tpe(world: ScaleWorld, trials: Outcomes) -> Peer:
    import optuna

    return _use_optuna(world, trials, optuna.samplers.TPESampler(seed=0))


def optuna_gp(world: ScaleWorld, trials: Outcomes) -> Peer:
    import optuna

    return _use_optuna(world, trials, optuna.samplers.GPSampler(seed=0))


def _use_optuna(world: ScaleWorld, trials: Outcomes, sampler: Any) -> Peer:
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # PartialFixedSampler is experimental
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    real = FloatDistribution(0.0, 1.0)
    names = [f"z{i}" for i in range(trials.Z.shape[1])]
    space: dict[str, Any] = {}
    for i, name in enumerate(names):
        space[name] = CategoricalDistribution(np.unique(trials.Z[:, i]).tolist()) if world.kinds else real
    queries = {"item": IntDistribution(0, world.listed - 1)} if world.listed else dict.fromkeys(world.names, real)
    space |= queries
    columns = np.hstack([trials.Z, trials.items[:, None] if world.listed else trials.X])
    for row, y in zip(columns.tolist(), trials.y.tolist(), strict=True):
        params = dict(zip(space, row, strict=True))
        if world.listed:
            params["item"] = int(params["item"])
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=y))

    def ask(z: Array) -> Any:
        fixed = dict(zip(names, z.tolist(), strict=True))
        study.sampler = optuna.samplers.PartialFixedSampler(fixed, sampler) if fixed else sampler
        return study.ask(space)

    def tell(trial: Any, y: float) -> None:
        study.tell(trial, y)

    return Peer(lambda: None, ask, tell)


def botorch_exact(world: ScaleWorld, trials: Outcomes) -> Peer:
    from botorch import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch, data, search = _prepare_botorch(world, trials)
    fitted: dict[str, Any] = {}

    def fit() -> None:
        model = SingleTaskGP(*data)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs=FIT)
        fitted.update(model.state_dict())

    def ask(z: Array) -> Any:
        model = SingleTaskGP(*data)
        model.load_state_dict(fitted)
        return search(model, z)

    def tell(x: Any, y: float) -> None:
        data[0], data[1] = torch.cat([data[0], x]), torch.cat([data[1], torch.tensor([[y]])])

    return Peer(fit, ask, tell)


def botorch_variational(world: ScaleWorld, trials: Outcomes) -> Peer:
    from botorch import fit_gpytorch_mll
    from botorch.models import SingleTaskVariationalGP
    from gpytorch.mlls import VariationalELBO

    _, data, search = _prepare_botorch(world, trials)
    model: list[Any] = []

    def fit() -> None:
        new = SingleTaskVariationalGP(*data, inducing_points=min(INDUCING, len(data[0])))
        how = FIT if len(data[0]) <= WHOLE else FIT_BY_ADAM
        fit_gpytorch_mll(VariationalELBO(new.likelihood, new.model, len(data[0])), optimizer_kwargs=how)
        model[:] = [new]

    return Peer(fit, lambda z: search(model[0], z), lambda x, y: None)


def _prepare_botorch(world: ScaleWorld, trials: Outcomes) -> tuple[Any, list[Any], Callable[[Any, Array], Any]]:
    """torch, the rows and their outcomes, and the search for the next query with a model in a context."""
    import torch
    from botorch.acquisition import UpperConfidenceBound
    from botorch.optim import optimize_acqf, optimize_acqf_discrete

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.double)
    torch.manual_seed(0)
    data = [torch.tensor(np.hstack([trials.Z, trials.X])), torch.tensor(trials.y[:, None])]
    bounds = torch.tensor([[0.0], [1.0]]).expand(2, data[0].shape[1])

    def search(model: Any, z: Array) -> Any:
        score = UpperConfidenceBound(model, beta=BETA)
        if world.listed:
            rows = np.hstack([np.tile(z, (world.listed, 1)), world.Q])
            return optimize_acqf_discrete(score, 1, torch.tensor(rows), max_batch_size=PART)[0]
        return optimize_acqf(score, bounds, fixed_features=dict(enumerate(z.tolist())) or None, **SEARCH)[0]

    return torch, data, search


PEERS: dict[str, tuple[tuple[str, ...], Callable[[ScaleWorld, Outcomes], Peer]]] = {  # name -> what it needs, and it
    "Optuna TPE": (("optuna",), optuna_tpe),
    "Optuna GP": (("optuna", "torch"), optuna_gp),
    "BoTorch exact": (("botorch", "gpytorch", "torch"), botorch_exact),
    "BoTorch variational": (("botorch", "gpytorch", "torch"), botorch_variational),
}
