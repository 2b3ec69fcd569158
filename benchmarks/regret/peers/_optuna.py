"""What all samplers of Optuna's do: ask and tell, so that trials that run are the pending ones. Everything at its
defaults.

A context is fixed with PartialFixedSampler, which is Optuna's way; its surrogates then know nothing of the context, and
ours takes it as one."""

from __future__ import annotations

import warnings
from typing import Any

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from belated import Study
from belated.simulation.simulate import Chooser
from belated.simulation.task import Task
from belated.space.parameters import Choice, Parameter, Real
from benchmarks.regret.columns import parameters
from benchmarks.regret.peers import here


def distribution(p: Parameter) -> Any:
    if isinstance(p, Choice):
        return CategoricalDistribution(p.options)
    if isinstance(p, Real):
        return FloatDistribution(p.low, p.high, log=p.log)
    return IntDistribution(p.low, p.high, log=p.log)


def asking(task: Task, sampler: Any) -> Chooser:
    """Ask and tell with a sampler; what the harness asked first is enqueued."""
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # PartialFixedSampler is experimental
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    theirs = optuna.create_study(direction="maximize", sampler=sampler)
    queries = parameters(task.space)
    space = {name: distribution(p) for name, p in (parameters(task.context) | queries).items()}
    asked: dict[int, Any] = {}  # by our numbers; None once told

    def choose(study: Study) -> dict[str, Any]:
        for trial in study.trials():
            if trial.number not in asked:
                theirs.enqueue_trial({**(trial.context or {}), **trial.params})
                asked[trial.number] = theirs.ask(space)
            if trial.outcome is not None and asked[trial.number] is not None:
                theirs.tell(asked[trial.number], trial.outcome)
                asked[trial.number] = None
        context = here(task, study)
        theirs.sampler = optuna.samplers.PartialFixedSampler(dict(context), sampler) if context else sampler
        new = theirs.ask(space)
        asked[study.rounds + 1] = new
        return {name: new.params[name] for name in queries}

    return choose
