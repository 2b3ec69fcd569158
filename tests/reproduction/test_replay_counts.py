"""Replayed queries are counted by kind, and the counts survive their file."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from reproduction import replay_counts
from reproduction.archive import REPLAYED
from reproduction.commands import KEPT, main
from reproduction.published_queries import ReplayedQuery
from reproduction.replay_counts import (
    QUERIES,
    ReplayCount,
    ReplayJob,
    count_queries,
    list_jobs,
    name_surface,
    read_counts,
    run_job,
    sum_counts,
    write_counts,
)
from tests.reproduction.needs_data import needs_data

AT_MAXIMUM, BELOW, FLAT, EQUAL = (
    ReplayedQuery(30, 0.0, 1.0, 1.0),
    ReplayedQuery(31, 0.5, 1.0, 1.0),
    ReplayedQuery(32, 4e-8, 1e-6, 1.0),
    ReplayedQuery(6, 0.0, 0.0, 1.0),
)


def test_queries_are_counted_by_phase_and_surface() -> None:
    counts = count_queries(1, "GP-UCB-SDF", [AT_MAXIMUM, BELOW, AT_MAXIMUM, FLAT, EQUAL])
    assert counts == [
        ReplayCount(1, "GP-UCB-SDF", "fitted", "flat", 1, 1, 1),
        ReplayCount(1, "GP-UCB-SDF", "fitted", "steep", 3, 2, 2),
        ReplayCount(1, "GP-UCB-SDF", "zeros", "equal", 1, 0, 1),
    ]
    assert sum_counts([*counts, *counts]) == [ReplayCount(*c[:4], *(2 * n for n in c[4:])) for c in counts]
    assert [name_surface(query) for query in (AT_MAXIMUM, FLAT, EQUAL)] == ["steep", "flat", "equal"]


def test_counts_survive_their_file(tmp_path: Path) -> None:
    counts = count_queries(20, "GP-BUCB", [AT_MAXIMUM, EQUAL])
    write_counts(tmp_path / "a.csv", counts)
    assert read_counts(tmp_path / "a.csv") == counts


def test_the_kept_counts_are_of_every_query_that_can_be_replayed() -> None:
    counts = read_counts(Path(__file__).resolve().parents[2] / KEPT / REPLAYED)
    assert sum_counts(counts) == counts
    for tries in replay_counts.TRIES:
        found = [count for count in counts if count.tries == tries]
        assert sum(count.queries for count in found) == 10 * 100 + 20 * 94
        unfitted = [count for count in found if count.phase == "unfitted"]
        assert [(c.method, c.queries, c.agreeing, c.near_maximum) for c in unfitted] == [
            ("GP-BUCB", 90, 90, 90),
            ("GP-UCB", 90, 90, 90),
        ]


def test_the_kept_shares_within_one_percent_of_the_maximum() -> None:
    """By method and phase: queries, and how many are near the maximum with one fit and with the best of 20."""
    near: dict[tuple[str, str], list[int]] = {}
    queries: dict[tuple[str, str], list[int]] = {}
    counts = read_counts(Path(__file__).resolve().parents[2] / KEPT / REPLAYED)
    for method, phase in {(count.method, count.phase) for count in counts}:
        for tries in replay_counts.TRIES:
            found = [count for count in counts if count[:3] == (tries, method, phase)]
            near.setdefault((method, phase), []).append(sum(count.near_maximum for count in found))
            queries.setdefault((method, phase), []).append(sum(count.queries for count in found))
    assert {kind: [numbers[0], *near[kind]] for kind, numbers in queries.items() if len(set(numbers)) == 1} == {
        ("GP-BUCB", "unfitted"): [90, 90, 90],
        ("GP-BUCB", "fitted"): [850, 771, 845],
        ("GP-UCB", "unfitted"): [90, 90, 90],
        ("GP-UCB", "fitted"): [850, 850, 850],
        ("GP-UCB-SDF", "zeros"): [50, 50, 50],
        ("GP-UCB-SDF", "fitted"): [950, 899, 927],
    }


@needs_data(QUERIES)
def test_a_published_run_is_counted() -> None:
    counts = run_job(ReplayJob(method="GP-UCB", run=2, tries=1))
    assert sum(count.queries for count in counts) == 94
    assert sum(count.agreeing for count in counts) == 94


def test_every_run_is_replayed_with_one_fit_and_with_many() -> None:
    jobs = list_jobs()
    assert len(set(jobs)) == len(jobs) == 60


@needs_data(QUERIES)
def test_the_command_keeps_the_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_counts, "RUNS", 1)
    monkeypatch.setattr(replay_counts, "TRIES", (1,))
    said = CliRunner().invoke(main, ["run", "replay", "--workers", "1", "--folder", str(tmp_path)])
    assert said.exit_code == 0, said.output
    assert "288 published queries replayed" in said.output
    assert sum(count.queries for count in read_counts(tmp_path / REPLAYED)) == 100 + 2 * 94
