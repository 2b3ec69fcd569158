"""The synthetic functions: normalised, one for every seed."""

from reproduction.objectives import synthetic


def test_a_seed_has_a_function_of_its_own_between_0_and_1() -> None:
    first, again, other = (
        [task.f({"x": x}) for (x,) in task.space.rows] for task in map(synthetic.make_task, (0, 0, 1))
    )
    assert first == again
    assert first != other
    assert len(first) == synthetic.POINTS
    assert (min(first), max(first)) == (0.0, 1.0)
