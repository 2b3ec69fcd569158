"""Optuna's distributions as parameters, and their values both ways."""

import math

import pytest

pytest.importorskip("optuna")

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from belated import Choice, Integer, Real
from belated.integrations.optuna.distributions import make_parameter, to_optuna, to_ours

EVERY_KIND = {
    FloatDistribution(-1.5, 2.0): Real(-1.5, 2.0),
    FloatDistribution(1e-5, 1.0, log=True): Real(1e-5, 1.0, log=True),
    FloatDistribution(-10.2, 10.2, step=0.1): Integer(0, 204),
    IntDistribution(-3, 9): Integer(-3, 9),
    IntDistribution(1, 100, log=True): Integer(1, 100, log=True),
    IntDistribution(2, 11, step=3): Integer(0, 3),
    CategoricalDistribution(("a", None, 2, True, 0.5)): Choice(0, 1, 2, 3, 4),
}


@pytest.mark.parametrize(("distribution", "parameter"), EVERY_KIND.items(), ids=str)
def test_every_kind_is_a_parameter(distribution: BaseDistribution, parameter: object) -> None:
    assert make_parameter(distribution) == parameter


@pytest.mark.parametrize("distribution", EVERY_KIND, ids=str)
def test_values_go_there_and_back(distribution: BaseDistribution) -> None:
    parameter = make_parameter(distribution)
    ends = range(5) if isinstance(parameter, Choice) else (parameter.low, parameter.high)
    for ours in ends:
        theirs = to_optuna(distribution, ours)
        assert distribution.to_external_repr(distribution.to_internal_repr(theirs)) == theirs  # Optuna takes it
        assert to_ours(distribution, theirs) == ours


def test_a_step_ends_exactly_at_the_high_end() -> None:
    assert to_optuna(FloatDistribution(0.0, 0.3, step=0.1), 3) == 0.3  # 3 * 0.1 is more


def test_a_category_may_be_nan() -> None:
    nan = CategoricalDistribution((math.nan, 1.0))
    assert to_ours(nan, math.nan) == 0


@pytest.mark.parametrize(
    ("distribution", "value"),
    [
        (FloatDistribution(0, 1), 1.5),
        (IntDistribution(0, 10), 11),
        (FloatDistribution(0, 1, step=0.25), 0.3),
        (IntDistribution(0, 10, step=2), 3),
    ],
    ids=str,
)
def test_a_value_that_the_range_no_longer_has_is_none(distribution: BaseDistribution, value: float) -> None:
    assert to_ours(distribution, value) is None
