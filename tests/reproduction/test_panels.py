"""The 22 panels: their names, their settings, and that what is compared is paired."""

import pytest

from belated.errors import InvalidInput
from belated.learner.delays.distributions import Fixed, Poisson
from reproduction.panels import BEYOND, PANELS, select_panels

NAMES = [
    *(f"fig1{letter}" for letter in "abcd"),
    *(f"fig2{letter}" for letter in "abcdefgh"),
    *(f"fig3{letter}" for letter in "abcd"),
    *(f"fig4{letter}" for letter in "abcd"),
    *(f"fig5{letter}" for letter in "ab"),
]


def test_there_are_22_panels_in_the_papers_order() -> None:
    assert list(PANELS) == NAMES
    assert len(NAMES) == 22


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_speaks_of_curves_that_are_there(name: str) -> None:
    panel = PANELS[name]
    keys = [curve.key for curve in panel.curves]
    assert len(set(keys)) == len(keys)
    assert panel.claim is not None
    assert {key for pair in panel.claim.less + panel.claim.alike for key in pair} <= set(keys)
    assert panel.claim.less


def settings(name: str) -> dict[str, tuple[object, object]]:
    return {curve.key: (curve.delay, curve.patience) for curve in PANELS[name].curves}


def test_fig_1a_has_m_twice_the_mean_delay() -> None:
    assert settings("fig1a") == {f"mu{mu}": (Poisson(mu), 2 * mu) for mu in (5, 10, 20, 30)}


def test_fig_1b_varies_m_alone() -> None:
    assert settings("fig1b") == {f"m{m}": (Poisson(10), m) for m in (5, 10, 20, 40)}


UCB, TS = ("GP-UCB-SDF", "GP-UCB", "GP-BUCB"), ("GP-TS-SDF", "asy-TS", "GP-BTS")
STOCHASTIC = {
    "fig1c": UCB,
    "fig5a": TS,
    **dict.fromkeys(["fig2a", "fig2e", "fig3a"], UCB),
    **dict.fromkeys(["fig2c", "fig2g", "fig3c"], TS),
}
FIXED = {
    "fig1d": UCB,
    "fig5b": TS,
    **dict.fromkeys(["fig2b", "fig2f", "fig3b"], UCB),
    **dict.fromkeys(["fig2d", "fig2h", "fig3d"], TS),
}
DRIFTING = {"fig4a": UCB, "fig4b": TS, "fig4c": UCB, "fig4d": TS}


@pytest.mark.parametrize(
    ("panels", "delay", "m"), [(STOCHASTIC, Poisson(10), 20), (FIXED, Fixed(10), 10), (DRIFTING, Poisson(3), 6)]
)
def test_an_sdf_method_meets_its_two_baselines_and_they_know_no_m(
    panels: dict[str, tuple[str, ...]], delay: object, m: int
) -> None:
    for name, (sdf, *baselines) in panels.items():
        assert settings(name) == {sdf: (delay, m), **dict.fromkeys(baselines, (delay, None))}
        assert PANELS[name].claim is not None
        assert PANELS[name].claim.less == tuple((sdf, other) for other in baselines)


def test_the_horizons() -> None:
    shown = {name: panel.iterations for name, panel in PANELS.items()}
    assert {name: T for name, T in shown.items() if T != 100} == {
        "fig4a": 1500,
        "fig4b": 1500,
        "fig4c": 600,
        "fig4d": 600,
    }
    for name, panel in PANELS.items():
        contextual = name.startswith("fig4")
        assert panel.measure == ("cumulative" if contextual else "simple")
        assert panel.before == (0 if contextual else 4)  # iteration 1 is after the five initial points
        assert panel.readings == ("text", "heard", "released")


def test_panels_are_chosen_by_name_by_figure_and_all() -> None:
    assert [panel.name for panel in select_panels(["fig1c", "fig5"])] == ["fig1c", "fig5a", "fig5b"]
    assert [panel.name for panel in select_panels(["all"])] == NAMES
    assert [panel.name for panel in select_panels(["beyond"])] == list(BEYOND) == ["lda", "gpu", "dengue"]
    assert [panel.name for panel in select_panels(["permuted"])] == ["fig4a-permuted", "fig4b-permuted"]
    assert [panel.name for panel in select_panels(["fig1c", "fig1c", "fig1"])] == ["fig1c", "fig1a", "fig1b", "fig1d"]
    with pytest.raises(
        InvalidInput,
        match="there is no panel 'fig9'; there are fig1 to fig5, all, permuted, beyond, theory, replay, fig1a",
    ):
        select_panels(["fig9"])


def test_all_six_and_the_default_go_beyond_the_paper() -> None:
    for panel in BEYOND.values():
        assert [curve.algorithm for curve in panel.curves] == [
            *("GP-UCB-SDF", "GP-TS-SDF", "GP-UCB", "asy-TS", "GP-BUCB", "GP-BTS", "default")
        ]
        assert panel.pace
