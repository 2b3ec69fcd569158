"""Ray Tune's search space as belated's parameters, and values both ways.

A quantized number is a whole number of quanta, as in Tune; a category is its place among the options, which may be of
any type. Nested dictionaries are flat here, with names such as "model/depth"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ray.tune.search.sample import Categorical, Domain, Float, LogUniform, Quantized, Uniform
from ray.tune.search.sample import Integer as Whole
from ray.tune.search.variant_generator import parse_spec_vars
from ray.tune.utils import flatten_dict
from ray.tune.utils.util import unflatten_dict

from belated import Choice, Integer, Real
from belated.errors import InvalidInput, Outside
from belated.space.parameters import Parameter
from belated.validation import format_value


@dataclass(frozen=True)
class TunedParameter:
    """A parameter of the study, and what its values stand for in Tune."""

    parameter: Parameter
    options: tuple[Any, ...] = ()  # the categories
    quantum: float | int | None = None

    def decode(self, value: Any) -> Any:
        if self.options:
            return self.options[value]
        return value if self.quantum is None else value * self.quantum

    def encode(self, value: Any) -> Any:
        if self.options:
            if value not in self.options:
                raise Outside(f"value must be one of the categories (got {format_value(value)})")
            return self.options.index(value)
        return value if self.quantum is None else round(value / self.quantum)


@dataclass(frozen=True)
class TunedSpace:
    """The parameters by their flat names."""

    tuned: Mapping[str, TunedParameter]

    @classmethod
    def of(cls, space: Mapping[str, Any]) -> TunedSpace:
        """From Tune's domains, belated's parameters, or both; constants are left out, and Tune adds them itself."""
        _, domains, grids = parse_spec_vars(dict(space))
        if grids:
            raise InvalidInput(f"grid_search cannot be searched by BelatedSearch; use tune.choice (got {_name(grids)})")
        found = {"/".join(map(str, path)): _read_domain(domain) for path, domain in domains}
        ours = {
            name: TunedParameter(value)
            for name, value in flatten_dict(dict(space)).items()
            if isinstance(value, Real | Integer | Choice)
        }
        return cls(found | ours)

    @property
    def parameters(self) -> dict[str, Parameter]:
        return {name: each.parameter for name, each in self.tuned.items()}

    def decode(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A query as Tune's trials get it, nested."""
        config: dict[str, Any] = unflatten_dict({name: self.tuned[name].decode(each) for name, each in params.items()})
        return config

    def encode(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """What a configuration says of the parameters; the rest of it are constants."""
        flat = flatten_dict(dict(config))
        return {name: each.encode(flat[name]) for name, each in self.tuned.items() if name in flat}


def has_domains(config: Mapping[str, Any]) -> bool:
    """Whether a configuration has anything to search."""
    _, domains, grids = parse_spec_vars(dict(config))
    return bool(domains or grids)


def _name(variables: list[tuple[Any, Any]]) -> str:
    return ", ".join("/".join(map(str, path)) for path, _ in variables)


def _read_domain(domain: Domain) -> TunedParameter:
    sampler, quantum = domain.get_sampler(), None
    if isinstance(sampler, Quantized):
        sampler, quantum = sampler.get_sampler(), sampler.q
    if isinstance(domain, Categorical) and isinstance(sampler, Uniform):
        return TunedParameter(Choice(*range(len(domain.categories))), options=tuple(domain.categories))
    if not isinstance(domain, Float | Whole) or not isinstance(sampler, Uniform | LogUniform):
        raise InvalidInput(
            "a domain must be uniform, loguniform, randint, lograndint, one of these with quanta, or choice "
            f"(got {format_value(domain)})"
        )
    log = isinstance(sampler, LogUniform)
    if quantum is None or (isinstance(domain, Whole) and quantum == 1):
        if isinstance(domain, Float):
            return TunedParameter(Real(domain.lower, domain.upper, log=log))
        return TunedParameter(Integer(domain.lower, domain.upper - 1, log=log))  # the upper bound is not included
    low, high = math.ceil(domain.lower / quantum - 1e-9), math.floor(domain.upper / quantum + 1e-9)
    return TunedParameter(Integer(low, high, log=log), quantum=quantum)
