"""The released reading beside the published runs: shares of choices, and differences of unpaired samples."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind

from belated.comparison.statistics import holm
from reproduction.archive import read_archive
from reproduction.commands import KEPT
from reproduction.panels import PANELS
from reproduction.replay_counts import ReplayCount
from reproduction.report.document import TableBlock, extract_text
from reproduction.report.markdown import render_markdown
from reproduction.report.published_check import (
    RegretSamples,
    average_differences,
    compare_released,
    describe_samples,
    make_published_section,
    tabulate_replay,
    tabulate_samples,
)
from reproduction.report.verdicts import JudgedPanel, judge_panel, select_measure
from tests.reproduction.made_up_curves import make_curves, make_published

SVM = [PANELS[name] for name in ("fig2a", "fig2b", "fig2c", "fig2d")]
THOMPSON = ("GP-TS-SDF", "asy-TS", "GP-BTS")


def list_texts(table: TableBlock) -> list[list[str]]:
    return [[extract_text(cell) for cell in row] for row in table.rows]


def draw_samples(curve: str, shift: float, seed: int = 0) -> RegretSamples:
    rng = np.random.default_rng(seed)
    return RegretSamples(panel="Fig. 2c", curve=curve, ours=rng.normal(shift, 1, 30), theirs=rng.normal(0, 2, 10))


def test_the_interval_is_welchs() -> None:
    samples = draw_samples("asy-TS", 0.3)
    expected = ttest_ind(samples.ours, samples.theirs, equal_var=False).confidence_interval()
    assert (samples.difference.interval.low, samples.difference.interval.high) == pytest.approx(tuple(expected))


def test_the_average_of_one_difference_is_itself_and_of_two_is_known_better() -> None:
    one = draw_samples("asy-TS", 0.3).difference
    same = average_differences([one])
    assert (same.mean, same.error, same.freedom) == pytest.approx((one.mean, one.error, one.freedom))
    both = average_differences([one, one])
    assert (both.mean, both.error) == pytest.approx((one.mean, one.error / np.sqrt(2)))
    assert both.freedom == pytest.approx(2 * one.freedom)


def test_what_is_far_off_is_told_and_what_is_not_is_not() -> None:
    alike = [draw_samples(curve, 0.0, seed) for seed, curve in enumerate(THOMPSON)]
    assert "none is told apart" in describe_samples(alike)
    said = describe_samples([*alike[:2], draw_samples("GP-BTS", 9.0)])
    assert "GP-BTS in Fig. 2c" in said
    assert "GP-BTS is the furthest off" in said
    assert "some are told apart" in said


def test_methods_have_a_row_for_every_phase() -> None:
    counts = [
        ReplayCount(1, "GP-UCB", "unfitted", "steep", 90, 90, 90),
        ReplayCount(1, "GP-UCB", "fitted", "steep", 7, 5, 6),
        ReplayCount(1, "GP-UCB", "fitted", "flat", 3, 3, 3),
        ReplayCount(20, "GP-UCB", "unfitted", "steep", 90, 90, 90),
        ReplayCount(20, "GP-UCB", "fitted", "steep", 10, 9, 10),
    ]
    table = tabulate_replay(counts)
    assert [extract_text(title) for title in table.titles[3:]] == [
        "near, one fit",
        "agreeing, one fit",
        "near, best of 20",
        "agreeing, best of 20",
    ]
    assert list_texts(table) == [
        ["GP-UCB", "before its first fit", "90", "90", "90", "90", "90"],
        ["GP-UCB", "fitted", "10", "9", "8", "10", "9"],
    ]


def test_every_curve_that_was_published_has_a_row() -> None:
    curves = {**make_curves(SVM, seeds=8), **{k: v for p in SVM for k, v in make_published(p, 6).items()}}
    judged = [judge_panel(panel, curves) for panel in (*SVM, PANELS["fig3a"])]
    rows = list_texts(tabulate_samples(compare_released(judged)))
    assert [row[:2] for row in rows[:3]] == [["Fig. 2a", name] for name in ("GP-UCB-SDF", "GP-UCB", "GP-BUCB")]
    assert len(rows) == 12
    text = render_markdown(make_published_section(judged, []))
    assert "of 8 runs here and 6 published" in text
    assert make_published_section(judged[-1:], []) == []


# As kept --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kept() -> list[JudgedPanel]:
    curves = read_archive(Path(__file__).resolve().parents[3] / KEPT).curves
    return [judge_panel(panel, curves) for panel in SVM]


def test_the_kept_released_runs_are_distributed_as_the_published_ones(kept: list[JudgedPanel]) -> None:
    """Thompson draws cannot be replayed, and neither can runs under drawn delays: 30 runs of each, against ten."""
    samples = compare_released(kept)
    assert [(len(s.ours), len(s.theirs)) for s in samples] == [(30, 10)] * 12
    assert min(holm([s.p_ranks for s in samples])) > 0.05
    assert min(holm([s.p_gap for s in samples])) > 0.05


@pytest.mark.parametrize("iteration", [20, 50, 100])
def test_so_is_the_regret_of_the_thompson_methods_at_single_iterations(kept: list[JudgedPanel], iteration: int) -> None:
    samples = [
        RegretSamples(
            panel=j.panel.name,
            curve=name,
            ours=select_measure(j.panel, j.lines["released"][name])[:, iteration - 1],
            theirs=select_measure(j.panel, j.lines["published"][name])[:, iteration - 1],
        )
        for j in kept
        for name in THOMPSON
        if name in j.lines["released"]
    ]
    assert len(samples) == 6
    assert min(holm([s.p_ranks for s in samples])) > 0.05
    assert min(holm([s.p_gap for s in samples])) > 0.05


def test_the_reading_text_would_not_pass(kept: list[JudgedPanel]) -> None:
    """The same tests tell the baselines of another reading from the published runs."""
    samples = [
        RegretSamples(panel=s.panel, curve=s.curve, ours=other, theirs=s.theirs)
        for s, other in zip(
            compare_released(kept),
            (np.mean(j.lines["text"][curve.key].simple[:, 9:], axis=1) for j in kept for curve in j.panel.curves),
            strict=True,
        )
    ]
    assert min(holm([s.p_ranks for s in samples])) < 0.01
