"""belated as a sampler of Optuna (pip install belated[optuna]).

>>> import optuna
>>> from belated.integrations.optuna import BelatedSampler
>>> optuna.logging.set_verbosity(optuna.logging.WARNING)
>>> study = optuna.create_study(sampler=BelatedSampler(silence="unknown", seed=0))
>>> study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=15)
>>> abs(study.best_params["x"] - 0.3) < 0.05
True
"""

from belated.integrations.optuna.sampler import BelatedSampler

__all__ = ["BelatedSampler"]
