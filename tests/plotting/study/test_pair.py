"""The pair of coordinates that matters most."""

import numpy as np
import pytest

import belated
from belated import Choice, Real, Study
from belated.plotting.study.pair import FINE, find_strongest_pair
from belated.plotting.study.view import read_study_view
from tests.plotting.studies import make_empty, make_lab, make_listed, make_mixed, make_one_coordinate, view_study

pytest.importorskip("matplotlib")


def test_it_is_the_two_that_move_the_outcome() -> None:
    space = {"idle": Real(0, 1), "a": Real(0, 1), "word": Choice("p", "q"), "b": Real(0.1, 10, log=True)}
    study = Study.create(space=space, silence="unknown", seed=0)
    rng = np.random.default_rng(0)
    for _ in range(25):
        params = {
            "idle": rng.random(),
            "a": rng.random(),
            "word": "pq"[int(rng.integers(2))],
            "b": 10 ** rng.uniform(-1, 1),
        }
        study.add(params, 3 * params["a"] + np.log10(params["b"]))
    pair = find_strongest_pair(read_study_view(study))
    assert (pair.across.name, pair.up.name) == ("a", "b")
    assert pair.mean.shape == (FINE, FINE)


def test_the_mean_shown_is_the_studys() -> None:
    view = view_study(make_lab)
    pair = find_strongest_pair(view)
    kind = {name: view.study.settings.space.find_parameter(name) for name in (pair.across.name, pair.up.name)}

    def value(name: str, at: float):
        return kind[name].options[int(at)] if isinstance(kind[name], Choice) else type(kind[name].low)(at)

    corner = {pair.across.name: value(pair.across.name, pair.x[-1]), pair.up.name: value(pair.up.name, pair.y[0])}
    belief = view.study.posterior([{**view.recommended.params, **corner}])
    assert pair.mean[0, -1] == pytest.approx(float(belief.mean[0]))


@pytest.mark.parametrize("make", [make_one_coordinate, make_listed, make_empty])
def test_where_there_are_no_two_coordinates_there_is_none(make) -> None:
    assert find_strongest_pair(view_study(make)) is None


def test_mixed_kinds_can_be_a_pair() -> None:
    assert find_strongest_pair(view_study(make_mixed)) is not None
    assert belated.Study is Study
