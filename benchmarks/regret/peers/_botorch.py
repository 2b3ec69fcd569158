"""What both BoTorch peers do: its SingleTaskGP (MixedSingleTaskGP with categories), with X_pending.

Its own defaults: priors, standardised outcomes, 512 samples, pruned baseline; but a fit ends after 200 iterations, as
those with categories take 4 s. A context is fixed by fixed_features; improvement is over what was tried, seen in the
context of now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from botorch import fit_gpytorch_mll
from botorch.models import MixedSingleTaskGP, SingleTaskGP
from botorch.optim import optimize_acqf, optimize_acqf_discrete, optimize_acqf_mixed_alternating
from gpytorch.mlls import ExactMarginalLogLikelihood

from belated import Study
from belated.simulation.simulate import Chooser
from belated.simulation.task import Task
from belated.space.parameters import Real
from benchmarks.regret.columns import Columns, parameters
from benchmarks.regret.peers import here
from benchmarks.regret.world import space_filling

FIT, SEARCH = {"options": {"maxiter": 200}}, {"q": 1, "num_restarts": 10, "raw_samples": 512}


def asking(task: Task, seed: int, acquisition: Callable[[Any, Any, Any], Any]) -> Chooser:
    """The argmax of acquisition(model, X_baseline, X_pending); space-filling below three outcomes, as in Ax."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.double)
    every = Columns(parameters(task.context) | (queries := parameters(task.space)))
    bounds, listed = torch.tensor(every.bounds), {"discrete_dims": every.levels, "cat_dims": every.options}

    def choose(study: Study) -> dict[str, Any]:
        torch.manual_seed(1000 * seed + study.rounds)
        trials = study.trials()
        heard = [t.outcome is not None for t in trials]
        if sum(heard) < 3:
            return space_filling(task, seed, study.rounds)
        rows = torch.tensor([every.encode({**(t.context or {}), **t.params}) for t in trials])
        X, y = rows[heard], torch.tensor([[t.outcome] for t in trials if t.outcome is not None])
        model = MixedSingleTaskGP(X, y, cat_dims=list(every.options)) if every.options else SingleTaskGP(X, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs=FIT)
        z = dict(enumerate(Columns(parameters(task.context)).encode(here(task, study))))
        baseline = X.index_copy(1, torch.tensor(list(z), dtype=torch.long), torch.tensor([list(z.values())] * len(X)))
        score = acquisition(model, baseline, None if all(heard) else rows[[not h for h in heard]])
        if len(every.parameters) == len(every.levels) == 1:
            x, _ = optimize_acqf_discrete(score, 1, torch.tensor([[u] for u in every.levels[0]]))
        elif not all(isinstance(p, Real) for p in queries.values()):
            x, _ = optimize_acqf_mixed_alternating(score, bounds, **listed, fixed_features=z or None, **SEARCH)
        else:
            x, _ = optimize_acqf(score, bounds, fixed_features=z or None, **SEARCH)
        return {name: value for name, value in every.decode(x[0].numpy()).items() if name in queries}

    return choose
