"""The paper's confidence intervals and regret bounds as numbers.

>>> from belated import confidence
>>> confidence.Theory(B_f=1.0, R=0.1, delta=0.1, horizon=100).lam(1)
1.02
"""

from belated.learner.confidence import (
    Constant,
    Theory,
    beta_baseline,
    beta_sdf_ts,
    beta_sdf_ucb,
    contextual_ts_bound,
    gamma_bound,
    gamma_se,
    greedy_gain,
    nu,
    proposition1,
    proposition2,
    realised_gain,
    theorem1_interval,
    theorem2,
    theorem3,
    theorem4_interval,
)

__all__ = [
    "Constant",
    "Theory",
    "beta_baseline",
    "beta_sdf_ts",
    "beta_sdf_ucb",
    "contextual_ts_bound",
    "gamma_bound",
    "gamma_se",
    "greedy_gain",
    "nu",
    "proposition1",
    "proposition2",
    "realised_gain",
    "theorem1_interval",
    "theorem2",
    "theorem3",
    "theorem4_interval",
]
