"""The regret benchmark's arithmetic, its cache, who takes part, and what it prints."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata, ttest_1samp

from benchmarks.regret import __main__ as command
from benchmarks.regret import entrants as who
from benchmarks.regret import kept, ranks, report
from benchmarks.regret.entrants import Entrant, entrants
from benchmarks.regret.kept import Row
from benchmarks.regret.tasks import BEDS
from benchmarks.regret.world import Job, Run
from benchmarks.rows import append_row

PEERS = Path(who.__file__).parent / "peers"


def row(task: str = "branin", entrant: str = "default", seed: int = 0, **cells) -> Row:
    bed = BEDS[task]
    plain = {
        "family": bed.family,
        "counts": bed.counts,
        "version": entrants()[entrant].version,
        "rounds": 10,
        "simple": 0.5,
        "simple_half": 1.0,
        "cumulative": 20.0,
        "spread": 1.0,
        "cpu": 0.01,
        "failures": 0,
        "note": "",
        "world": kept.world(task),
    }
    return Row(task=task, entrant=entrant, seed=seed, **plain | cells)


# Ranks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_places_are_scipys(seed):
    values = np.random.default_rng(seed).integers(0, 6, 9).astype(float)
    placed = ranks.places({str(i): value for i, value in enumerate(values)})
    assert list(placed.values()) == rankdata(values, method="average").tolist()


def test_the_solved_share_their_places():
    found = ranks.cells([row(entrant="default", simple=1e-9), row(entrant="random", simple=9e-5)])
    assert ranks.ranks(found)["branin", 0] == {"default": 1.5, "random": 1.5}


def test_cumulative_regret_counts_where_it_is_to():
    found = ranks.cells(
        [
            row("branin-context", "default", simple=math.nan, cumulative=1.0),
            row("branin-context", "random", simple=math.nan, cumulative=2.0),
        ]
    )
    assert ranks.ranks(found)["branin-context", 0] == {"default": 1.0, "random": 2.0}
    assert row("branin-context", cumulative=20.0, rounds=10).regret == 2.0


def test_only_whole_cells_count():
    rows = [row(seed=0), row(seed=1), row(entrant="random", seed=0)]
    assert set(ranks.cells(rows)) == {("branin", 0)}
    assert ranks.cells([]) == {}


def test_every_task_weighs_the_same_in_a_mean_rank():
    rows = [row(seed=s, simple=1.0) for s in range(3)] + [row(entrant="random", seed=s, simple=2.0) for s in range(3)]
    rows += [row("gp2", simple=2.0), row("gp2", "random", simple=1.0)]
    found = ranks.cells(rows)
    assert ranks.mean_rank(found, "default").mean == 1.5  # 1 on branin with three seeds, 2 on gp2 with one
    assert ranks.mean_rank(found, "default", ["branin"]) == ranks.Mean(1.0, 0.0)
    assert math.isnan(ranks.mean_rank(found, "default", ["svm"]).mean)


def test_the_error_of_a_mean_rank_is_that_of_the_seeds():
    simple = {"branin": ([1, 3, 1, 3], [2, 2, 2, 2]), "gp2": ([1, 1, 1, 1], [2, 2, 2, 2])}
    rows = [
        row(task, name, seed, simple=float(value))
        for task, both in simple.items()
        for name, values in zip(("default", "random"), both, strict=True)
        for seed, value in enumerate(values)
    ]
    error = np.std([1, 2, 1, 2], ddof=1) / 2  # of branin; gp2 has none
    assert ranks.mean_rank(ranks.cells(rows), "default") == ranks.Mean(1.25, pytest.approx(error / 2))


# Families -------------------------------------------------------------------------------------------------------------


def test_bounds_are_those_of_a_one_sided_t_test():
    d = np.random.default_rng(0).standard_normal(7)
    mean, low, high = ranks.bounds(d)
    assert mean == pytest.approx(d.mean())
    assert ttest_1samp(d, high, alternative="less").pvalue == pytest.approx(0.05)
    assert ttest_1samp(d, low, alternative="greater").pvalue == pytest.approx(0.05)
    assert ranks.bounds(d[:1])[1:] == (-math.inf, math.inf)


def test_the_default_meets_the_best_peer_seed_by_seed():
    regrets = {"default": (0.2, 0.1, 0.4), "Optuna TPE": (0.1, 0.1, 0.1), "random": (0.5, 0.9, 0.7)}
    rows = [
        row(task, name, seed, simple=value * (1 if task == "branin" else 4))
        for task in ("branin", "hartmann6")
        for name, values in regrets.items()
        for seed, value in enumerate(values)
    ]
    (one,) = ranks.standings(ranks.cells(rows), "default", ["Optuna TPE", "random"])
    assert (one.family, one.peer, one.seeds) == ("smooth", "Optuna TPE", 3)
    assert (one.difference, one.low, one.high) == pytest.approx(ranks.bounds(np.log([2.0, 1.0, 4.0])))


def test_the_difference_in_mean_rank_is_taken_seed_by_seed():
    regrets = {"default": (1.0, 3.0), "default 0.1": (2.0, 2.0), "random": (3.0, 1.0)}  # in seeds 0 and 1
    rows = [
        row(task, entrant, seed, simple=of_seed[seed])
        for task in ("branin", "hartmann6")
        for entrant, of_seed in regrets.items()
        for seed in (0, 1)
    ]
    (found,) = ranks.rank_differences(ranks.cells(rows), "default", ["default 0.1", "nobody"])
    assert (found.other, found.seeds) == ("default 0.1", 2)
    assert (found.difference, found.low, found.high) == pytest.approx(ranks.bounds(np.array([-1.0, 1.0])))


def test_runs_of_an_earlier_version_are_kept_and_never_made_again():
    former = entrants()["default 0.1"]
    assert (former.own, former.missing) == (True, ("belated 0.1",))
    assert report.absent([former], ["default 0.1"]) == "default 0.1: its kept runs are shown; made by belated 0.1"


def test_regret_of_zero_has_a_logarithm():
    rows = [row(seed=s, simple=0.0) for s in (0, 1)] + [row(entrant="random", seed=s, simple=1.0) for s in (0, 1)]
    (one,) = ranks.standings(ranks.cells(rows), "default", ["random"])
    assert one.difference == pytest.approx(math.log(ranks.CLIP))


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(-1.0, 0.09, "met"), (-1.0, 0.1, "open"), (0.09, 1.0, "open"), (0.1, 1.0, "MISSED")]
)
def test_a_verdict_needs_a_bound_on_its_side_of_ten_percent(low, high, verdict):
    assert ranks.Standing("smooth", "default", "random", 5, 0.0, low, high).verdict == verdict


# The file -------------------------------------------------------------------------------------------------------------


def test_the_file_gives_back_what_was_written(tmp_path):
    path = tmp_path / "runs" / "a.csv"
    rows = [row(seed=1), row(seed=0, note='odd, "quoted"', failures=2), row("branin-context", simple=math.nan)]
    for one in rows:
        append_row(one, path)
    again = kept.read(path)
    assert [str(one) for one in again] == [str(one) for one in rows]  # nan is not equal to itself
    append_row(replace(rows[0], simple=0.25), path)
    assert [one.simple for one in kept.read(path)][:2] == [0.25, 0.5]  # the last of a job counts
    kept.write(kept.read(path), path)
    assert [one.seed for one in kept.read(path)] == [0, 1, 0]
    assert list(path.parent.iterdir()) == [path]


def test_what_is_kept_is_not_run_again(tmp_path, monkeypatch):
    path, ran = tmp_path / "a.csv", []

    def run(job: Job) -> Run:
        ran.append(job)
        return Run(job, 0.1, 0.2, 3.0, 0.01, 0, "")

    monkeypatch.setattr(command, "run", run)
    jobs = command.jobs_of(["branin"], [entrants()["default"], entrants()["random"]], 2, 0.5)
    assert [job.rounds for job in jobs] == [40] * 4
    first = command.measure_all(jobs, path, 1)
    assert ran == jobs
    assert command.measure_all(jobs, path, 1) == first
    assert ran == jobs
    stale = [replace(one, version="older") if one.entrant == "random" else one for one in first]
    kept.write(stale, path)
    command.measure_all(jobs, path, 1)
    assert ran[4:] == [job for job in jobs if job.entrant == "random"]
    kept.write([replace(one, world="another") for one in first], path)
    command.measure_all(jobs, path, 1)
    assert ran[6:] == jobs
    older = row("gp2", version="older")
    append_row(older, path)
    command.measure_all(jobs, path, 1)
    assert older in kept.read(path)  # what nobody asked for stays as it is
    assert len(ran) == 10


def test_kept_runs_stand_in_for_a_peer_that_is_not_installed():
    gone = replace(entrants()["random"], missing=("something",), version="")
    rows = [row(entrant="random", version="1.0 abc"), row(entrant="random", seed=1, world="another")]
    assert list(kept.usable(rows, {"random": gone}).values()) == rows[:1]


def test_the_mark_of_a_world_is_of_the_task():
    marks = {name: kept.world(name) for name in ("branin", "hartmann6", "hartmann6-crowd", "svm")}
    assert len(set(marks.values())) == 4
    known = {row.task: row.world for row in kept.read(PEERS.parent / "regret.csv")}
    assert marks.items() <= known.items()  # else every kept run would be stale


# Who takes part -------------------------------------------------------------------------------------------------------


def test_the_peers_are_there_whether_installed_or_not():
    assert {"BoTorch qLogNEI", "BoTorch qUCB", "Optuna GP", "Optuna TPE", "random"} <= set(entrants())
    assert {"default", "default (floor)", "default (waiting)", "GP-UCB-SDF", "GP-BTS"} <= set(entrants())
    assert entrants()["default in Optuna"].own


@pytest.mark.parametrize("file", sorted(PEERS.glob("*.py")), ids=lambda file: file.name)
def test_a_peer_is_a_file_of_at_most_60_lines(file):
    assert len(file.read_text().splitlines()) <= 60


def test_a_peer_that_is_not_installed_is_listed_as_absent(tmp_path, monkeypatch, capsys):
    def version(name: str) -> str:
        if name == "botorch":
            raise metadata.PackageNotFoundError(name)
        return "9.9"

    monkeypatch.setattr(who.metadata, "version", version)
    one = who.peer(PEERS / "botorch_logei.py")
    assert (one.missing, one.version) == (("botorch",), "")
    assert who.peer(PEERS / "optuna_gp.py").version.startswith("optuna 9.9 ")
    everybody = {"random": entrants()["random"], one.name: one}
    monkeypatch.setattr(command, "entrants", lambda: everybody)
    assert command.main(["--tasks", "branin", "--seeds", "1", "--share", "0.1", "--out", str(tmp_path / "a.csv")]) == 0
    assert "BoTorch qLogNEI: absent; not installed: botorch" in capsys.readouterr().out


def test_a_mark_sees_code_and_no_words(tmp_path):
    file = tmp_path / "a.py"
    texts = ['"""Words."""\nx = 1\n', '"""Other words."""\n# and more\nx = 1\n', "x = 2\n"]
    marks = []
    for text in texts:
        file.write_text(text)
        marks.append(who.mark([file]))
    assert marks[0] == marks[1] != marks[2]
    assert PEERS / "_optuna.py" in who.imported(PEERS / "optuna_gp.py")


def test_belated_inside_a_library_is_marked_by_our_code_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(who, "INTEGRATIONS", tmp_path)
    (tmp_path / "optuna").mkdir()
    versions = []
    for text in ("x = 1\n", "x = 2\n"):
        (tmp_path / "optuna" / "sampler.py").write_text(text)
        versions.append(who.peer(PEERS / "belated_in_optuna.py").version)
    assert versions[0] != versions[1]
    assert all(version.startswith("belated ") for version in versions)


def test_a_mark_is_the_same_under_every_python(tmp_path):
    """3.10 to 3.13 agree on this one; ast.dump does not, as nodes got new fields and empty ones are left out since."""
    file = tmp_path / "a.py"
    file.write_text('class A:\n    """A."""\n\n    def f(self, *, x=None):\n        return [f"{x!r}", -1, "b" "c"]\n')
    assert who.mark([file]) == "80548911"


# What is printed ------------------------------------------------------------------------------------------------------


def test_the_command_runs_prints_and_writes(tmp_path, capsys):
    out = tmp_path / "small.csv"
    words = ["--tasks", "gp1", "svm", "--entrants", "default", "random", "--seeds", "2", "--share", "0.15"]
    assert command.main([*words, "--workers", "1", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "gp1 (rugged, simple counts, 15 rounds, 2 seeds)" in printed
    assert "mean rank" in printed
    assert "no worse than 1.1" in printed
    assert "equals share the mean of their places" in printed
    assert len(kept.read(out)) == 8
    assert out.with_suffix(".png").stat().st_size > 10_000
    assert command.main([*words, "--markdown", "--out", str(out)]) == 0
    head, rule, *rest = capsys.readouterr().out.splitlines()
    assert head == "|  | mean rank | rugged | mixed | CPU ms per ask | version |"
    assert rule.count("|") == head.count("|")
    assert any(line.startswith("| default |") for line in rest)


def test_numbers_have_three_figures():
    assert [report.number(x) for x in (0, 12.345, 0.012345, 1234.5, 1.5e-9, math.nan)] == [
        "0",
        "12.3",
        "0.0123",
        "1234",
        "1.5e-09",
        "",
    ]
    assert report.with_error(ranks.Mean(1.234, 0.056), 2) == "1.23 ± 0.06"
    assert report.with_error(ranks.Mean(1.234, math.nan)) == "1.23"


def test_nothing_to_compare_is_said():
    assert report.report({}, [], [], [Entrant("x", False, "", PEERS)]).startswith("Nothing to compare")
