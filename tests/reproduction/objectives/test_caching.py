"""A cached objective is evaluated once for every input."""

from collections.abc import Mapping

from reproduction.objectives.caching import cache_values


def test_every_input_is_evaluated_once() -> None:
    seen: list[tuple[object, object]] = []

    def f(params: Mapping[str, float], context: Mapping[str, float] | None = None) -> float:
        seen.append((params, context))
        return params["x"] + (context["z"] if context else 0.0)

    g = cache_values(f)
    assert [g({"x": 1.0}), g({"x": 1.0}), g({"x": 2.0})] == [1.0, 1.0, 2.0]
    assert [g({"x": 1.0}, {"z": 5.0}), g({"x": 1.0}, {"z": 5.0})] == [6.0, 6.0]
    assert len(seen) == 3
