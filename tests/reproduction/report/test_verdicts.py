"""Verdicts on hand-made curves: what is supported, what is contradicted, and what is neither."""

import numpy as np
import pytest
from scipy import stats

from belated.comparison.statistics import Summary
from reproduction.curves import CurveKey, CurveRun, Curves, group_runs
from reproduction.panels import Claim, Panel
from reproduction.report.verdicts import (
    compute_deciding_values,
    compute_final_values,
    judge_alike,
    judge_less,
    judge_panel,
    select_lines,
)
from tests.reproduction.made_up_curves import make_panel

T, N = 20, 10
PANEL = make_panel(iterations=T)
ABOVE, BELOW = [0.1] * N, [-0.1] * N
MIXED = [0.3, -0.2] * 5  # above on average, by no means always


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


# The interval of MIXED: mean 0.05, s = 0.2635, t = 2.262 for 9 degrees of freedom: 0.05 ± 0.189.
@pytest.mark.parametrize(
    ("curves", "word", "because"),
    [
        (
            against(ABOVE, [0.2, 0.1] * 5),
            "supported",
            "GP-UCB-SDF − GP-UCB is −0.1000 [−0.1000, −0.1000]; GP-UCB-SDF − GP-BUCB is −0.150 [−0.188, −0.112]",
        ),
        (
            against(ABOVE, MIXED),
            "unresolved",
            "GP-UCB-SDF − GP-UCB is −0.1000 [−0.1000, −0.1000]; GP-UCB-SDF − GP-BUCB is −0.05 [−0.24, 0.14]",
        ),
        (
            against(ABOVE, [-0.2, -0.1] * 5),
            "contradicted",
            "GP-UCB-SDF − GP-UCB is −0.1000 [−0.1000, −0.1000]; GP-UCB-SDF − GP-BUCB is 0.150 [0.112, 0.188]",
        ),
        (
            against(ABOVE, [0.0] * N),
            "unresolved",
            "GP-UCB-SDF − GP-UCB is −0.1000 [−0.1000, −0.1000]; GP-UCB-SDF − GP-BUCB is 0.0000 [0.0000, 0.0000]",
        ),
        (
            against([0.2, 0.1] * 2, [0.2, 0.1] * 2),
            "unresolved",
            "GP-UCB-SDF − GP-UCB is −0.150 [−0.242, −0.058] (only 4 pairs); "
            "GP-UCB-SDF − GP-BUCB is −0.150 [−0.242, −0.058] (only 4 pairs)",
        ),
    ],
)
def test_a_claim_that_one_is_below_others(curves: Curves, word: str, because: str) -> None:
    found = judge_panel(PANEL, curves).verdict
    assert (found.word, found.because) == (word, because)


def test_one_contradiction_outweighs_a_comparison_that_is_not_resolved() -> None:
    assert judge_panel(PANEL, against(MIXED, BELOW)).verdict.word == "contradicted"


def place_mean(level: float, pairs: int, error: float = 1.0) -> float:
    """The mean whose interval at this level just ends at 0."""
    return float(stats.t.ppf(1 - level / 2, pairs - 1)) * error


def test_less_is_supported_at_95_per_cent_and_contradicted_at_a_corrected_level() -> None:
    edge = place_mean(0.05, 12)
    assert judge_less(Summary(-1.001 * edge, 1.0), 12, 3) == "supported"
    assert judge_less(Summary(-0.999 * edge, 1.0), 12, 3) == "unresolved"
    corrected = place_mean(0.05 / 3, 12)
    assert judge_less(Summary(0.999 * corrected, 1.0), 12, 3) == "unresolved"
    assert judge_less(Summary(1.001 * corrected, 1.0), 12, 3) == "contradicted"
    assert corrected > edge
    assert judge_less(Summary(1.001 * edge, 1.0), 12) == "contradicted"  # one comparison alone: no correction


def test_alike_is_an_interval_within_the_tolerance_or_wholly_outside() -> None:
    reach, corrected = place_mean(0.05, 12), place_mean(0.05 / 3, 12)
    for side in (1, -1):
        assert judge_alike(Summary(side * 0.999, 1.0), 12, 1 + reach, 3) == "supported"
        assert judge_alike(Summary(side * 1.001, 1.0), 12, 1 + reach, 3) == "unresolved"
        assert judge_alike(Summary(side * 0.999 * (1 + corrected), 1.0), 12, 1.0, 3) == "unresolved"
        assert judge_alike(Summary(side * 1.001 * (1 + corrected), 1.0), 12, 1.0, 3) == "contradicted"


@pytest.mark.parametrize(("pairs", "word"), [(4, "unresolved"), (5, "supported")])
def test_five_pairs_are_enough_and_four_are_not(pairs: int, word: str) -> None:
    assert judge_panel(PANEL, against([0.1] * pairs, [0.1] * pairs)).verdict.word == word
    assert judge_alike(Summary(0.0, 0.1), pairs, 1.0) == word


def test_winning_most_pairs_is_not_a_smaller_mean() -> None:
    pair = judge_panel(PANEL, against([0.1] * 8 + [-0.9] * 2, ABOVE)).pairs["text"][0]
    assert pair.decides.won == 8
    assert pair.decides.difference.mean > 0
    assert pair.word == "unresolved"


ALIKE = make_panel(
    claim=Claim(text="alike", less=(("GP-UCB-SDF", "GP-UCB"),), alike=(("GP-UCB-SDF", "GP-BUCB"),)), iterations=T
)


CLOSE = [0.01, -0.01] * 5  # within 10 % of about 0.6, surely


@pytest.mark.parametrize(
    ("ucb", "bucb", "word"),
    [
        (ABOVE, CLOSE, "supported"),
        (ABOVE, MIXED, "unresolved"),
        (ABOVE, ABOVE, "contradicted"),  # 0.1 apart, where ±0.065 is alike
        (ABOVE, BELOW, "contradicted"),
        (ABOVE, [0.04] * N, "supported"),  # surely different, and alike
        (MIXED, CLOSE, "unresolved"),
        (BELOW, CLOSE, "contradicted"),
    ],
)
def test_a_claim_that_two_are_alike(ucb: list[float], bucb: list[float], word: str) -> None:
    found = judge_panel(ALIKE, against(ucb, bucb))
    assert found.verdict.word == word
    less, alike = found.pairs["text"]
    assert less.p == less.decides.p  # one comparison alone: nothing to correct
    assert alike.p == alike.decides.p
    assert alike.tolerance == pytest.approx(0.1 * (0.6 + 0.6 + np.mean(bucb)) / 2)
    assert "(alike is within ±0.0" in found.verdict.because


def test_tests_are_corrected_within_a_claim_and_alike_is_not() -> None:
    three = make_panel(claim=Claim(text="", less=PANEL.claim.less, alike=(("GP-UCB", "GP-BUCB"),)), iterations=T)
    *less, alike = judge_panel(three, against(ABOVE, [0.3, 0.2] * 5)).pairs["text"]
    assert all(pair.p == 2 * pair.decides.p for pair in less)
    assert alike.p == alike.decides.p
    assert {pair.comparisons for pair in (*less, alike)} == {3}


def test_an_interval_and_a_sign_flip_test_that_disagree_are_seen() -> None:
    outlier = [0.02] * 9 + [0.5]  # all to one side, but the interval is wide
    pair, sure = judge_panel(PANEL, against(outlier, ABOVE)).pairs["text"]
    assert pair.decides.p < 0.05
    assert not pair.interval.excludes_zero
    assert not pair.is_checked
    assert sure.is_checked


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
