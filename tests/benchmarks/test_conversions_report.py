"""The conversion benchmark's arithmetic, its cache, who takes part, and what it prints and draws."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.conversions import __main__ as command
from benchmarks.conversions import entrants as who
from benchmarks.conversions import kept, report, standings
from benchmarks.conversions.campaign import Job, Run
from benchmarks.conversions.entrants import entrants
from benchmarks.conversions.kept import Row
from benchmarks.regret.entrants import ROOT
from benchmarks.regret.ranks import Mean, bounds
from benchmarks.rows import append_row

PEERS = Path(who.__file__).parent / "peers"
OURS, OTHER = "default (fading)", "Thompson, Beta per cell"


def row(world="banners", entrant=OURS, seed=0, share=0.5, **cells) -> Row:
    plain = {
        "version": entrants()[entrant].version,
        "days": 2,
        "limit": 60.0,
        "random": 0.2,
        "reached": 2.0,
        "cpu": 1.0,
        "note": "",
        "mark": kept.mark_world(world),
        "by_day": f"{share} {share}",
    }
    return Row(world=world, entrant=entrant, seed=seed, share=share, **plain | cells)


# What the runs say ----------------------------------------------------------------------------------------------------


def test_a_larger_share_is_a_better_rank_and_every_world_weighs_the_same():
    shares = {OURS: (0.9, 0.8, 0.4), OTHER: (0.5, 0.5, 0.5), "random": (0.2, 0.6, 0.1)}
    rows = [
        row(world, name, seed, share)
        for name, (x, y, z) in shares.items()
        for world, seed, share in (("banners", 0, x), ("banners", 1, y), ("offers", 0, z), ("offers", 1, z))
    ]
    means = standings.mean_ranks(standings.sort_rows(rows), range(2))
    assert list(means) == [OURS, OTHER, "random"]
    assert means[OURS] == Mean(1.5, 0.0)
    assert means[OTHER].mean == pytest.approx((2.5 + 1) / 2)
    assert means[OTHER].error == pytest.approx(0.5 / 2)  # that of banners; offers has none


def test_who_lacks_a_run_has_no_rank():
    rows = [row(seed=s) for s in (0, 1)] + [row(entrant="random", seed=0, share=0.9)]
    assert list(standings.mean_ranks(standings.sort_rows(rows), range(2))) == [OURS]
    assert standings.mean_ranks(standings.sort_rows([]), range(2)) == {}


def test_the_other_is_picked_on_the_first_seeds_and_met_on_those_after():
    rows = [row(entrant=OTHER, seed=s, share=0.6) for s in (0, 1)]
    rows += [row(entrant="random", seed=s, share=0.5) for s in (0, 1)]
    rows += [row(entrant="random", seed=s, share=0.9) for s in (10, 11)]  # no say in the picking
    rows += [row(seed=s, share=0.9) for s in (0, 1)]
    ours, theirs = (0.8, 0.6, 0.7), (0.4, 0.5, 0.6)
    rows += [row(seed=10 + i, share=share) for i, share in enumerate(ours)]
    rows += [row(entrant=OTHER, seed=10 + i, share=share) for i, share in enumerate(theirs)]
    (one,) = standings.compare(standings.sort_rows(rows), [OURS], range(2), range(10, 30))
    assert (one.world, one.entrant, one.peer, one.seeds) == ("banners", OURS, OTHER, 3)
    d = bounds(np.log(ours) - np.log(theirs))
    assert (one.ratio, one.low, one.high) == pytest.approx([math.exp(x) for x in d])


@pytest.mark.parametrize(("low", "high", "verdict"), [(0.96, 2, "met"), (0.94, 2, "open"), (0.5, 0.94, "MISSED")])
def test_a_verdict_needs_a_bound_on_its_side_of_the_margin(low, high, verdict):
    assert standings.Standing("banners", OURS, OTHER, 20, 1.0, low, high).verdict == verdict


def test_above_random_is_0_for_random_and_1_for_the_best():
    assert [row(share=share).above_random for share in (0.2, 0.6, 1.0)] == pytest.approx([0, 0.5, 1])


# The file -------------------------------------------------------------------------------------------------------------


def test_the_file_gives_back_what_was_written(tmp_path):
    path = tmp_path / "runs" / "a.csv"
    rows = [row("offers", seed=1), row(seed=0, note='odd, "quoted"', share=0.25)]
    for one in rows:
        append_row(one, path)
    assert kept.read(path) == rows
    append_row(replace(rows[0], share=0.75), path)
    assert [one.share for one in kept.read(path)] == [0.75, 0.25]  # the last of a job counts
    kept.write(kept.read(path), path)
    assert [one.world for one in kept.read(path)] == ["banners", "offers"]
    assert rows[1].daily == [0.25, 0.25]


def test_what_is_kept_is_not_run_again(tmp_path, monkeypatch):
    path, ran = tmp_path / "a.csv", []

    def run(job: Job) -> Run:
        ran.append(job)
        return Run(job, 0.5, 0.25, (0.4, 0.6), 2.0, 0.1, "")

    monkeypatch.setattr(command, "run", run)
    jobs = [Job("banners", name, seed, 2, 60.0) for name in (OURS, "random") for seed in (0, 1)]
    first = command.measure_all(jobs, path, 1)
    assert ran == jobs
    assert command.measure_all(jobs, path, 1) == first
    assert ran == jobs
    kept.write([replace(one, version="older") if one.entrant == "random" else one for one in first], path)
    command.measure_all(jobs, path, 1)
    assert ran[4:] == jobs[2:]
    kept.write([replace(one, mark="another") for one in first], path)
    command.measure_all(jobs, path, 1)
    assert ran[6:] == jobs
    command.measure_all([replace(jobs[0], limit=6.0), replace(jobs[0], days=1)], path, 1)
    assert len(ran) == 12  # another limit or length is another run


def test_kept_runs_stand_in_for_a_peer_that_is_not_installed():
    gone = replace(entrants()["random"], missing=("something",), version="")
    rows = [row(entrant="random", version="1.0 abc"), row(entrant="random", seed=1, mark="another")]
    assert list(kept.usable(rows, {"random": gone}).values()) == rows[:1]


def test_every_world_has_a_mark_of_its_own():
    assert len({kept.mark_world(name) for name in ("banners", "offers", "price")}) == 3


# Who takes part -------------------------------------------------------------------------------------------------------


def test_the_peers_are_there_whether_installed_or_not():
    named = {OTHER, "LinUCB (MABWiser)", "LinTS (MABWiser)", "Vowpal Wabbit, squarecb", "Optuna TPE", "random"}
    assert named <= set(entrants())
    assert {"GP-UCB-SDF", "GP-TS-SDF", "GP-BUCB", "GP-BTS", "GP-UCB", "asy-TS"} <= set(entrants())
    assert [name for name, one in entrants().items() if one.own] == ["default (floor)", "default (fading)"]
    assert entrants()["GP-BTS"].version.startswith("belated ")


@pytest.mark.parametrize("file", sorted(PEERS.glob("[!_]*.py")), ids=lambda file: file.name)
def test_a_kind_of_entrant_is_a_file_of_at_most_60_lines(file):
    assert len(file.read_text().splitlines()) <= 60


def test_a_peer_that_is_not_installed_is_listed_as_absent(tmp_path, monkeypatch, capsys):
    gone = replace(entrants()[OTHER], missing=("nowhere",), version="")
    monkeypatch.setattr(command, "entrants", lambda: {**entrants(), OTHER: gone})
    words = ["--worlds", "banners", "--entrants", "random", OTHER, "--seeds", "1", "--after", "1", "--days", "1"]
    assert command.main([*words, "--workers", "1", "--out", str(tmp_path / "a.csv")]) == 0
    assert f"{OTHER}: absent; not installed: nowhere (pip install '.[bandits]')" in capsys.readouterr().out


# What is printed ------------------------------------------------------------------------------------------------------


def test_the_command_runs_prints_and_writes(tmp_path, capsys):
    out = tmp_path / "small.csv"
    words = ["--worlds", "banners", "offers", "--entrants", "default (floor)", OTHER, "random", "--seeds", "2"]
    assert (
        command.main([*words, "--after", "2", "--days", "1", "--limit", "0.2", "--workers", "1", "--out", str(out)])
        == 0
    )
    printed = capsys.readouterr().out
    assert "2 of 9 worlds, 1 of 28 days, seeds 0 to 1 for all, 10 to 11 for ours" in printed
    assert "|  | mean rank | above random | banners | offers |" in printed
    assert "| banners | default (floor) | " in printed
    assert "| 2 | " in printed
    rows = kept.read(out)
    assert len(rows) == 2 * (3 * 2 + 2 * 2)
    assert {row.seed for row in rows if row.entrant == "default (floor)"} == {0, 1, 10, 11}
    assert printed.split("\n\nWritten")[0] in out.with_suffix(".md").read_text()
    assert out.with_suffix(".png").stat().st_size > 10_000


def test_the_first_seeds_may_be_run_alone(tmp_path, capsys):
    out = tmp_path / "first.csv"
    words = ["--worlds", "banners", "--entrants", "random", "--seeds", "1", "--after", "0", "--days", "1"]
    assert command.main([*words, "--workers", "1", "--out", str(out)]) == 0
    assert "seeds 0 to 0 for all; 60 CPU seconds a run." in capsys.readouterr().out
    assert [row.seed for row in kept.read(out)] == [0]


def test_the_table_says_until_which_day_there_was_cpu_time():
    rows = [row(seed=0, reached=0.5, share=0.3), row(seed=1, reached=1.1, share=0.5)]
    assert report.show_share(rows) == "0.400 (0.8 d)"
    assert report.show_share([row()]) == "0.500"


def test_a_quick_pass_is_smaller_in_everything(tmp_path):
    quick, whole = command.parsed(["--quick"]), command.parsed([])
    assert set(quick.worlds) < set(whole.worlds)
    assert (whole.seeds, whole.after, whole.days, whole.limit) == (10, 20, 28, 60.0)
    assert quick.days < whole.days
    assert quick.out != whole.out
    others = len(entrants())
    runs = len(quick.worlds) * (others * quick.seeds + 3 * quick.after)  # ours are two, and one of the others
    assert runs * quick.limit <= 15 * 60
    with pytest.raises(SystemExit):
        command.parsed(["--seeds", "11"])


def test_errors_and_nothing_to_compare_are_said():
    found = standings.sort_rows([row(note="ArithmeticError: singular")])
    assert report.notes(found) == f"banners, {OURS}, seed 0: ArithmeticError: singular"
    assert report.report(standings.sort_rows([]), range(2), [], [], "").startswith("Nothing to compare")


@pytest.mark.parametrize("page", ["README.md", "docs/default.md"])
def test_the_pages_have_the_shares_that_are_kept(page):
    found = standings.sort_rows(kept.read(command.OUT))
    shares = report.share_table(found, range(command.PICKED)).splitlines()
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    start = lines.index(shares[0])
    shown = lines[start : lines.index("", start)]
    assert len(shown) >= 6
    assert set(shown) <= set(shares)


def test_the_page_has_the_standings_that_are_kept():
    found = standings.sort_rows(kept.read(command.OUT))
    after = range(command.PICKED, command.PICKED + command.AFTER)
    own = [one.name for one in entrants().values() if one.own]
    every = standings.compare(found, own, range(command.PICKED), after)
    lines = set((ROOT / "docs" / "default.md").read_text(encoding="utf-8").splitlines())
    assert set(report.standing_table(every).splitlines()) <= lines


def test_the_page_has_the_runs_of_one_seed_that_are_kept():
    found = {(row.world, row.entrant): row for row in kept.read(command.OUT) if row.seed == 0}
    lines = (ROOT / "docs" / "default.md").read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| seed 0 |"))
    head, _, *table = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines[start : lines.index("", start)]
    ]
    shown = {(world, name): cell for name, *cells in table for world, cell in zip(head[1:], cells, strict=True)}
    assert shown == {place: report.show_share([found[place]]) for place in shown}
    assert {"GP-UCB-SDF", "Optuna TPE"} <= {name for _, name in shown}
