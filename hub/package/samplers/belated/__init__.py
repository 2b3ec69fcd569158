"""BelatedSampler for OptunaHub: Bayesian optimisation for trials whose values come back late."""

from belated.integrations.optuna import BelatedSampler

__all__ = ["BelatedSampler"]
