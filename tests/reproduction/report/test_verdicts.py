"""Verdicts on hand-made curves: what holds, what holds in mean only, and what does not."""

import numpy as np
import pytest

from reproduction.curves import CurveKey, CurveRun, Curves, group_runs
from reproduction.panels import Claim, Panel
from reproduction.report.verdicts import LEVEL, compute_deciding_values, compute_final_values, judge_panel, select_lines
from tests.reproduction.made_up_curves import make_panel

T, N = 20, 10
PANEL = make_panel(iterations=T)
ABOVE, BELOW = [0.1] * N, [-0.1] * N
MIXED = [0.3, -0.2] * 5  # above on average, by no means always: 664 of the 1024 sums are as far from 0


def flat(values: dict[str, list[float]], name: str = PANEL.name, reading: str = "text", T: int = T) -> Curves:
    """Curves that stay where they are: one value for every run."""
    return group_runs(
        CurveRun(
            key=CurveKey(name, key, reading),
            seed=seed,
            iterations=np.arange(1, T + 1),
            simple=np.full(T, value),
            late=np.full(T, value),
            cumulative=value * np.arange(1, T + 1),
        )
        for key, runs in values.items()
        for seed, value in enumerate(runs)
    )


def against(ucb: list[float], bucb: list[float]) -> Curves:
    """Baselines that are so much above GP-UCB-SDF, run by run."""
    base = np.linspace(0.5, 0.7, len(ucb))
    return flat({"GP-UCB-SDF": list(base), "GP-UCB": list(base + ucb), "GP-BUCB": list(base + bucb)})


@pytest.mark.parametrize(
    ("curves", "word", "because"),
    [
        (
            against(ABOVE, ABOVE),
            "holds",
            "GP-UCB-SDF is significantly below GP-UCB (p = 0.0039), significantly below GP-BUCB (p = 0.0039)",
        ),
        (
            against(ABOVE, MIXED),
            "holds in mean only",
            "GP-UCB-SDF is significantly below GP-UCB (p = 0.0039), below GP-BUCB in mean only (p = 0.6484)",
        ),
        (
            against(ABOVE, BELOW),
            "does not hold here",
            "GP-UCB-SDF is significantly below GP-UCB (p = 0.0039), significantly above GP-BUCB (p = 0.0039)",
        ),
        (
            against(ABOVE, [-v for v in MIXED]),
            "does not hold here",
            "GP-UCB-SDF is significantly below GP-UCB (p = 0.0039), not below GP-BUCB (p = 0.6484)",
        ),
        (
            against(ABOVE, [0.0] * N),
            "does not hold here",
            "GP-UCB-SDF is significantly below GP-UCB (p = 0.0039), not below GP-BUCB (p = 1.0000)",
        ),
        (
            against(ABOVE[:5], ABOVE[:5]),
            "too few runs",
            "GP-UCB-SDF is below GP-UCB in mean only (p = 0.1250), below GP-BUCB in mean only (p = 0.1250); "
            "with 5 paired runs no difference can be significant",
        ),
    ],
)
def test_a_claim_that_one_is_below_others(curves: Curves, word: str, because: str) -> None:
    found = judge_panel(PANEL, curves).verdict
    assert (found.word, found.because) == (word, because)


def test_winning_most_pairs_is_not_a_smaller_mean() -> None:
    pair = judge_panel(PANEL, against([0.1] * 8 + [-0.9] * 2, ABOVE)).pairs["text"][0]
    assert pair.decides.won == 8
    assert not pair.as_claimed


def test_seven_runs_are_enough_for_two_comparisons_and_six_are_not() -> None:
    assert judge_panel(PANEL, against([0.1] * 7, [0.1] * 7)).verdict.word == "holds"  # 2 · 2 / 2⁷ = 0.03
    few = judge_panel(PANEL, against([0.1] * 6, [0.1] * 6)).verdict
    assert few.word == "too few runs"  # 2 · 2 / 2⁶ = 0.06
    assert few.because.endswith("with 6 paired runs no difference can be significant")


ALIKE = make_panel(
    claim=Claim(text="alike", less=(("GP-UCB-SDF", "GP-UCB"),), alike=(("GP-UCB-SDF", "GP-BUCB"),)), iterations=T
)


@pytest.mark.parametrize(
    ("ucb", "bucb", "word"),
    [
        (ABOVE, MIXED, "holds"),
        (ABOVE, [-v for v in MIXED], "holds"),
        (ABOVE, ABOVE, "does not hold here"),
        (ABOVE, BELOW, "does not hold here"),
        (MIXED, MIXED, "holds in mean only"),
        (BELOW, MIXED, "does not hold here"),
    ],
)
def test_a_claim_that_two_are_alike(ucb: list[float], bucb: list[float], word: str) -> None:
    found = judge_panel(ALIKE, against(ucb, bucb))
    assert found.verdict.word == word
    less, alike = found.pairs["text"]
    assert less.p == less.decides.p  # one comparison alone: nothing to correct
    assert alike.p == alike.decides.p
    assert found.verdict.because.endswith("(p = 0.0020)" if alike.p < LEVEL else "are not told apart (p = 0.6484)")


def test_alike_is_tested_without_a_correction() -> None:
    three = make_panel(claim=Claim(text="", less=PANEL.claim.less, alike=(("GP-UCB", "GP-BUCB"),)), iterations=T)
    *less, alike = judge_panel(three, against(ABOVE, [0.3, 0.2] * 5)).pairs["text"]
    assert all(pair.p == 2 * pair.decides.p for pair in less)
    assert alike.p == alike.decides.p


def test_the_average_from_ten_on_decides_simple_regret_and_the_end_cumulative_regret() -> None:
    simple = np.concatenate([np.full(9, 1.0), np.linspace(0.5, 0.0, 11)])
    run = CurveRun(
        key=CurveKey(PANEL.name, "GP-UCB", "text"),
        seed=0,
        iterations=np.arange(1, T + 1),
        simple=simple,
        late=simple,
        cumulative=np.cumsum(simple),
    )
    line = group_runs([run])[run.key]
    assert compute_deciding_values(PANEL, line) == pytest.approx([0.25])
    assert compute_final_values(PANEL, line) == pytest.approx([0.0])
    cumulative = make_panel(measure="cumulative")
    assert (
        compute_deciding_values(cumulative, line)
        == compute_final_values(cumulative, line)
        == pytest.approx([9 + 11 * 0.25])
    )


def test_all_lines_end_where_the_shortest_ends() -> None:
    long, short = flat({"GP-UCB-SDF": [0.1], "GP-UCB": [0.2]}), flat({"GP-BUCB": [0.3]}, T=12)
    published = flat({"GP-UCB": [0.2]}, reading="published", T=100)
    lines = select_lines(PANEL, {**long, **short, **published})
    assert list(lines) == ["text", "published"]
    assert list(lines["text"]) == ["GP-UCB-SDF", "GP-UCB", "GP-BUCB"]
    assert {int(line.iterations[-1]) for found in lines.values() for line in found.values()} == {12}


def test_pairs_are_runs_of_the_same_seed() -> None:
    curves = against(ABOVE, ABOVE)
    shifted = {key: line for key, line in curves.items() if key.curve != "GP-UCB"}
    runs = [
        CurveRun(
            key=CurveKey(PANEL.name, "GP-UCB", "text"),
            seed=seed,
            iterations=np.arange(1, T + 1),
            **dict.fromkeys(("simple", "late", "cumulative"), np.full(T, 0.5 + 0.2 * seed / 9 + 0.1 * seed)),
        )
        for seed in (3, 4, 11)
    ]
    pair = judge_panel(PANEL, {**shifted, **group_runs(runs)}).pairs["text"][0]
    assert pair.decides.pairs == 2
    assert pair.decides.difference.mean == pytest.approx(-0.35)


@pytest.mark.parametrize("missing", ["GP-UCB-SDF", "GP-BUCB"])
def test_a_claim_about_curves_that_were_not_run_has_no_verdict(missing: str) -> None:
    curves = {key: line for key, line in against(ABOVE, ABOVE).items() if key.curve != missing}
    assert judge_panel(PANEL, curves).verdict.word == "not run"


def test_a_panel_without_a_claim_has_no_verdict() -> None:
    unclaimed: Panel = make_panel(claim=None, iterations=T)
    found = judge_panel(unclaimed, against(ABOVE, ABOVE))
    assert found.readings == ["text"]
    assert found.verdicts == found.pairs == {}
