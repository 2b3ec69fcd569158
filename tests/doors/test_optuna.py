"""Optuna's own tests of a sampler, inherited, with a silence that forgets and one that does not."""

from collections.abc import Callable

import pytest

pytest.importorskip("optuna", minversion="5")

from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from belated.integrations.optuna import BelatedSampler


class TestUnknown(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: BelatedSampler(silence="unknown", seed=0)


class TestFloor(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: BelatedSampler(silence="floor", patience=5, seed=0)
