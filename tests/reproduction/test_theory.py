"""The experiments about the theorems count what they say they count, and the page says what the rows say."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import belated
from belated.errors import Unreadable
from belated.learner.algorithms import paper
from belated.learner.confidence import (
    Theory,
    beta_sdf_ts,
    beta_sdf_ucb,
    gamma_bound,
    greedy_gain,
    nu,
    proposition1,
    theorem2,
    theorem3,
)
from belated.learner.delays.distributions import Fixed, Geometric
from belated.learner.gp.kernels import SE
from belated.simulation.simulate import World
from reproduction import batches, bounds, coverage, rkhs, theory, tradeoff
from reproduction.blocks import Paragraph, Table, pictures_in, plain
from reproduction.findings import Found, Key, Row, gathered

# The world


@pytest.mark.parametrize("seed", range(5))
def test_the_norm_is_exact_and_outcomes_are_bounded(seed):
    """On a finite Q the least norm of a function with these values is fᵀ K⁻¹ f: no function has less than B_f."""
    function = rkhs.drawn(seed)
    K = rkhs.KERNEL(rkhs.Q[:, None], rkhs.Q[:, None])
    assert_allclose(
        function.f @ np.linalg.pinv(K, rcond=1e-13, hermitian=True) @ function.f, function.B_f**2, rtol=1e-4
    )
    assert_allclose(function.best + rkhs.R, rkhs.B_Y)
    assert np.all(function.f >= 0)
    assert function.gap == np.max(function.f) - np.min(function.f)


def dense(X, y_tilde, T, kernel=rkhs.KERNEL):
    """Eq. (1) on Q with λ = 1 + 2/T."""
    Q = rkhs.Q[:, None]
    S = np.linalg.solve(kernel(X, X) + (1 + 2 / T) * np.eye(len(X)), kernel(X, Q))
    return S.T @ y_tilde, np.sqrt(1 - np.sum(S * kernel(X, Q), axis=0))


def test_a_watched_run_is_chosen_by_eq_1_and_nu():
    """Every delay is 3, m = 2: nothing is ever heard in time, so μ = 0; m = 3: y_s is, before query s + 3."""
    T, function = 12, rkhs.drawn(0)
    theory_ = function.theory(0.1, T)
    gamma = gamma_bound(greedy_gain(rkhs.KERNEL, rkhs.Q[:, None], T, theory_.lam(1)))
    for m in (2, 3):
        ran = rkhs.run(function, rkhs.sdf("GP-UCB-SDF", theory_, T), Fixed(3), m, T, seed=0)
        X = rkhs.Q[ran.chosen][:, None]
        for t, one in enumerate(ran.rounds, start=1):
            _, std = dense(X[: t - 1], np.zeros(t - 1), T)
            recent = [std[i] for i in ran.chosen[max(0, t - 1 - m) : t - 1]]
            assert_allclose(one.std, std, rtol=0, atol=1e-12)
            assert_allclose(one.nu, nu(beta_sdf_ucb(theory_, gamma[t - 1], 1.0), recent, 1.0), rtol=1e-12)
            upper = one.mean + one.nu * one.std
            assert upper[ran.chosen[t - 1]] >= np.max(upper) - 1e-9  # ties go to the first
            heard = t > 3 and m == 3
            assert np.any(one.mean != 0) == heard
            if heard:
                f = np.where(np.arange(t - 1) < t - 3, function.f[ran.chosen[: t - 1]], 0.0)
                mean, _ = dense(X[: t - 1], f, T)
                assert np.max(np.abs(one.mean - mean)) < rkhs.R  # what the noise can do at most, and less
        assert_allclose(ran.cumulative, np.cumsum(function.best - function.f[ran.chosen]))
        assert_allclose(ran.widths, [one.nu * one.std[i] for one, i in zip(ran.rounds, ran.chosen, strict=True)])


def test_a_run_is_a_pure_function_of_its_seed():
    function = rkhs.drawn(1)
    a, b, c = (rkhs.run(function, rkhs.sdf("GP-TS-SDF", 1.0, 15), Geometric(0.3), 3, 15, seed) for seed in (1, 1, 2))
    assert np.array_equal(a.chosen, b.chosen)
    assert not np.array_equal(a.chosen, c.chosen)


# Coverage


def test_need_is_the_least_multiple_that_covers():
    rounds = [
        rkhs.Round(np.array([0.0, 0.5]), np.array([1.0, 0.5]), 2.0),
        rkhs.Round(np.array([0.4, 0.0]), np.array([0.5, 0.1]), 4.0),
    ]
    centre = np.array([0.3, 0.1])  # |μ - centre| / νσ: 0.3/2, 0.4/1; 0.1/2, 0.1/0.4
    assert coverage.need(rounds, centre) == pytest.approx(0.4)
    assert coverage.need(rounds[1:], centre) == pytest.approx(0.25)


def test_a_row_of_coverage_is_the_need_of_its_run():
    job = coverage.Job(case="geometric", delta=0.1, seeds=(4, 7), T=12)
    rows = coverage.perform(job)
    case = coverage.CASES["geometric"]
    for seed in job.seeds:
        function = rkhs.drawn(seed)
        algorithm = rkhs.sdf("GP-UCB-SDF", function.theory(0.1, 12), 12)
        ran = rkhs.run(function, algorithm, case.delay, case.m, 12, seed)
        ratios = [np.abs(one.mean - (1 - 0.9**10) * function.f) / (one.nu * one.std) for one in ran.rounds]
        wanted = {
            "need, delta 0.1": np.max(ratios),
            "need in the first round": np.max(ratios[0]),
            "need in the last round": np.max(ratios[-1]),
        }
        assert {row.quantity: row.value for row in rows if row.seed == seed} == pytest.approx(wanted)


def test_with_beta_1_the_first_width_is_1():
    """Before anything is heard μ = 0 and σ = 1, so that need is ρ max f."""
    (row,) = coverage.perform(coverage.Job(case="poisson", delta=None, seeds=(0,), T=1))
    assert row.quantity == coverage.AT_ONE
    assert row.value == pytest.approx(coverage.CASES["poisson"].rho * 0.9)


def test_the_stubborn_ask_the_best_x_and_hear_nothing_until_the_delay_is_over():
    case = replace(coverage.CASES["stubborn"], delay=Fixed(4), m=4)
    ran = coverage._run(case, 0.1, 2, 8)
    assert set(ran.chosen.tolist()) == {int(np.argmax(rkhs.drawn(2).f))}
    assert [bool(np.any(one.mean)) for one in ran.rounds] == [False] * 4 + [True] * 4


@pytest.mark.parametrize(("count", "runs"), [(0, 5), (3, 10), (100, 100), (399, 400)])
def test_shares_have_exact_intervals(count, runs):
    found = coverage.share(count, runs)
    exact = stats.binomtest(count, runs).proportion_ci(0.95, "exact")
    assert found.share == count / runs
    assert_allclose([found.low, found.high], [exact.low, exact.high], rtol=1e-9)


def test_there_are_as_many_runs_as_it_takes():
    assert all(coverage.share(runs, runs).low >= 1 - delta for delta, runs in coverage.RUNS.items())


@pytest.mark.parametrize(("delta", "c"), [(0.01, 1.0), (0.1, 0.9), (0.15, 0.9), (0.5, 0.5), (0.95, 0.1)])
def test_the_multiple_that_suffices_covers_1_minus_delta(delta, c):
    needs = np.arange(10, 0, -1) / 10
    assert coverage.sufficient(needs, delta) == c
    assert np.mean(needs <= c) >= 1 - delta > np.mean(needs < c)


# Bounds


def test_bounds_are_those_of_the_theorems():
    T, t, m, rho = 40, 17, 6, 0.7
    law = rkhs.drawn(0).theory(0.2, T)
    lam = 1 + 2 / T
    gamma = gamma_bound(greedy_gain(rkhs.KERNEL, rkhs.Q[:, None], T, lam))
    ucb, ts = beta_sdf_ucb(law, gamma[16], 1.0), beta_sdf_ts(law, gamma[16], 1.0)
    assert bounds.bound("GP-UCB-SDF", law, t, rho, m) == theorem2(t, rho, m, ucb, gamma[17], 1.0, lam)
    assert bounds.bound("GP-TS-SDF", law, t, rho, m) == theorem3(
        t, rho, m, ts, gamma[17], 1.0, law.B_f, 0.2, rkhs.POINTS, lam
    )


def test_a_bounded_run_has_all_of_its_lines():
    rows = bounds.perform(bounds.Job(algorithm="GP-UCB-SDF", theory=True, seeds=(3,), T=20))
    found = gathered(rows)
    function, at = rkhs.drawn(3), [1, 2, 5, 10, 20]
    law = function.theory(bounds.DELTA, 20)
    ran = rkhs.run(function, rkhs.sdf("GP-UCB-SDF", law, 20), bounds.DELAY, bounds.M, 20, 3)
    rho = bounds.DELAY.rho(bounds.M)
    wanted = {
        "regret": [ran.cumulative[t - 1] for t in at],
        "widths": [2 / rho * sum(ran.widths[:t]) for t in at],
        "bound": [bounds.bound("GP-UCB-SDF", law, t, rho, bounds.M) for t in at],
        "trivial": [t * function.gap for t in at],
    }
    assert {key.quantity for key in found} == set(wanted)
    for quantity, values in wanted.items():
        each = found[Key("bounds", "GP-UCB-SDF", quantity)]
        assert each.x.tolist() == at
        assert_allclose(each.values[0], values, rtol=1e-12)
    assert np.all(np.array(wanted["regret"]) <= wanted["widths"])
    assert np.all(np.array(wanted["widths"]) <= wanted["bound"])


def test_the_long_gain_is_the_greedy_gain():
    Q = np.linspace(0, 1, 12)[:, None]
    K = rkhs.KERNEL(Q, Q)
    assert_allclose(bounds.long_gain(K, 60, 1.1), greedy_gain(rkhs.KERNEL, Q, 60, 1.1), rtol=1e-9)


def test_theorem_2_begins_to_say_something_where_it_falls_below_the_largest_regret(monkeypatch):
    """With one point in place of Q, γ_T = ½ log(1 + T) grows so slowly that it happens early."""
    monkeypatch.setattr(bounds, "Q", np.zeros(1))
    (row,) = bounds.horizon(bounds.Horizon(seeds=(0,), T=2**15))
    function, gamma = rkhs.drawn(0), gamma_bound(np.log1p(np.arange(2**15 + 1)) / 2)

    def says(T):
        return bounds._theorem2_at(function.theory(bounds.DELTA, T), gamma, T) < T * function.gap

    T = int(row.value)
    assert says(T)
    assert not says(int(T / 1.03))
    assert bounds.horizon(bounds.Horizon(seeds=(0,), T=T // 2)) == []


# Batches


def test_batches_are_told_all_at_once():
    study = belated.Study.create(
        space=belated.Points(np.linspace(0, 1, 9)), floor=0.0, ceiling=1.0, algorithm="GP-BUCB"
    )
    world = World(lambda params: params["x"], Fixed(0), 0.0, 0)
    batches.in_batches(study, world, 25)
    trials = study.trials()
    assert [trial.number for trial in trials] == list(range(1, 26))
    assert [trial.known_from for trial in trials] == [11] * 10 + [21] * 10 + [26] * 5
    assert all(trial.outcome == trial.params["x"] for trial in trials)


def test_a_start_heeds_no_outcomes():
    """The first 20 queries after a start of 20 are those of a study that is told 0.5 whatever it asks."""
    x, f = batches.sample_function(0, 200, 0.1)
    kernel, lam = SE(0.1, float(np.mean(f**2))), batches.synthetic.NOISE**2
    algorithm = paper("GP-BUCB", kernel=kernel, lam=lam, refit_every=None, start=batches.START)
    study = belated.Study.create(space=belated.Points(x), floor=0.0, ceiling=1.0, algorithm=algorithm, seed=0)
    gaps = []
    for _ in range(20):
        trial = study.ask()
        gaps.append(1.0 - f[np.flatnonzero(x == trial.params["x"])[0]])
        study.tell(trial, 0.5)
    found = gathered(batches.perform(batches.Job(case="smooth", method=batches.STARTED, seed=0, T=20)))
    cumulative = found[Key("batches", f"smooth/{batches.STARTED}", "cumulative regret")]
    assert_allclose(cumulative.values[0], np.cumsum(gaps)[9::10], rtol=1e-9)


def test_factors_are_those_of_the_bounds():
    found = gathered(batches.factors(batches.Factors(case="smooth", T=100)))
    lam, law = 1.02, Theory(B_f=1.0, R=0.1, delta=0.1, horizon=100)
    greedy = greedy_gain(SE(0.1), np.linspace(0, 1, 200)[:, None], 400, lam)
    gamma = gamma_bound(greedy)
    beta = beta_sdf_ucb(law, gamma[99], 1.0)
    for B in batches.SIZES:
        halluc, floor, needed = (
            found[Key("factors", "smooth", q)].at(B)[0] for q in ("hallucination", "floor", "needed")
        )
        assert halluc == pytest.approx(math.exp(greedy[B - 1]))
        ratio = proposition1(100, B, beta, gamma[100], 1.0, lam) / proposition1(100, 1, beta, gamma[100], 1.0, lam)
        assert floor == pytest.approx(ratio)
        n = int(needed)
        assert gamma_bound(greedy[n + B - 1] - greedy[n]) <= math.log(2)
        assert n == 0 or gamma_bound(greedy[n + B - 2] - greedy[n - 1]) > math.log(2)


def test_a_start_that_is_too_long_is_said_to_be():
    assert batches.start_needed(np.arange(20.0), 5) == 20


# The trade-off


def test_the_bound_by_m_is_theorem_2_at_the_mean_norm():
    job = tradeoff.Curve(law="Geometric(0.1)", seeds=(0, 1, 2), T=30)
    rounds, *rows = tradeoff.curve(job)
    assert (rounds.quantity, rounds.value) == ("rounds", 30)
    assert [row.x for row in rows] == list(range(1, 61))
    laws = [rkhs.drawn(seed).theory(0.1, 30) for seed in job.seeds]
    for row in rows[::7]:
        m = int(row.x)
        each = [bounds.bound("GP-UCB-SDF", law, 30, 1 - 0.9**m, m) for law in laws]
        assert row.value == pytest.approx(np.mean(each))


def test_a_measured_regret_is_that_of_its_patience():
    (row,) = tradeoff.perform(tradeoff.Job(law="Poisson(10)", m=5, theory=False, seeds=(6,), T=15))
    ran = rkhs.run(rkhs.drawn(6), rkhs.sdf("GP-UCB-SDF", 1.0, 15), tradeoff.LAWS["Poisson(10)"], 5, 15, 6)
    assert row == Row("tradeoff", "Poisson(10)", "regret, beta 1", 6, 5, pytest.approx(ran.cumulative[-1]))


# Files


ROWS = [
    Row("b", "case, with comma", "q", 3, 0.01, 1 / 3),
    Row("a", "c", "q", None, 2.0, 12345678.0),
    Row("b", "case, with comma", "q", 12, 0.01, -2e-9),
]


@pytest.mark.parametrize("name", ["theory.csv", "theory.csv.gz"])
def test_rows_survive_their_file(tmp_path, name):
    path, again = tmp_path / name, tmp_path / f"again-{name}"
    theory.write(path, ROWS)
    rows = theory.read(path)
    assert [row[:5] for row in rows] == [ROWS[i][:5] for i in (1, 0, 2)]
    assert_allclose([row.value for row in rows], [ROWS[i].value for i in (1, 0, 2)], rtol=1e-5)
    theory.write(again, reversed(rows))
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must begin"),
        ("experiment,case\n", "must begin"),
        ("experiment,case,quantity,seed,x,value\na,b,c,1,2\n", "line 2"),
        ("experiment,case,quantity,seed,x,value\na,b,c,1,2,nan\n", "finite"),
        ("experiment,case,quantity,seed,x,value\na,b,c,one,2,3\n", "line 2"),
    ],
)
def test_a_broken_file_is_refused(tmp_path, text, why):
    path = tmp_path / "theory.csv"
    path.write_text(text)
    with pytest.raises(Unreadable, match=why):
        theory.read(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(Unreadable, match="cannot be read"):
        theory.read(tmp_path / "none.csv")


def test_every_seed_must_have_every_x():
    with pytest.raises(Unreadable, match="different x"):
        gathered([Row("a", "b", "c", 1, 1.0, 0.0), Row("a", "b", "c", 2, 2.0, 0.0)])


# The page


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """What a quick pass finds, with fewer and shorter runs still; read from its file, as a report does."""
    found = []
    for job in theory.jobs(quick=True):
        match job:
            case coverage.Job():
                job = replace(job, seeds=job.seeds[:3], T=6)
            case coverage.Portrait() | bounds.Job() | tradeoff.Job() | tradeoff.Curve():
                job = replace(job, T=10)
            case batches.Job():
                job = replace(job, T=20)
        found += theory.perform(job)
    path = tmp_path_factory.mktemp("theory") / "theory.csv"
    theory.write(path, found)
    return theory.read(path)


@pytest.fixture(scope="module")
def blocks(rows):
    return theory.page(rows)


def test_the_page_has_four_pictures(blocks):
    pictures = pictures_in(blocks)
    assert [picture.name for picture in pictures] == [f"theory{i}.png" for i in (1, 2, 3, 4)]
    assert all(picture.png.startswith(b"\x89PNG") for picture in pictures)


def test_an_experiment_that_was_not_run_has_no_section(rows):
    assert theory.page([]) == []
    some = theory.page([row for row in rows if row.experiment == "tradeoff"])
    assert [picture.name for picture in pictures_in(some)] == ["theory4.png"]


def cells(blocks, title):
    """The rows of the table with that title among its own."""
    (table,) = [b for b in blocks if isinstance(b, Table) and title in map(plain, b.titles)]
    return [[plain(cell) for cell in row] for row in table.rows]


def test_the_page_says_what_the_rows_say(rows, blocks):
    found = gathered(rows)
    needs = found[Key("coverage", "poisson", "need, delta 0.05")].at(0.05)
    (row,) = [r for r in cells(blocks, "promised") if r[0].startswith("Poisson") and r[2] == "0.05"]
    assert row[3] == "3 of 3"
    assert row[6:] == [f"{np.median(needs):.3f}", f"{np.max(needs):.3f}"]
    limit = found[Key("bounds", "GP-UCB-SDF", "bound")].values[:, -1]
    (row,) = [r for r in cells(blocks, "over the largest possible") if r[0] == "Theorem 2"]
    assert row[1].startswith(f"{np.mean(limit):,.4g}"[:3])
    (row,) = [r for r in cells(blocks, "Theorem 2") if r[0] == "Poisson(10)" and r[1] == "15"]
    assert row[3] == f"{found[Key('tradeoff', 'Poisson(10)', 'bound')].at(15)[0]:,.0f}"
    e = found[Key("factors", "rugged", "hallucination")].at(10)[0]
    (row,) = [
        r for r in cells(blocks, "start after which it is at most 2") if r[0] == "lengthscale 0.02" and r[1] == "10"
    ]
    assert row[3] == f"{e:,.4g}"
    text = " ".join(plain(block.text) for block in blocks if isinstance(block, Paragraph))
    assert "The ellipsoid held in 48 of 48 runs." in text
    assert "Theorem 2 holds in 3 of 3 runs" in text


def test_what_does_not_hold_is_said():
    """Half of the runs miss at δ = 0.1, and every regret is above its bound."""
    half = np.where(np.arange(100) < 50, 0.5, 1.5)
    assert coverage.verdict([("poisson", 0.1, half)]) == (
        "The ellipsoid held in 50 of 100 runs. In 0 of the 1 rows the whole interval is above the promised 1 − δ, "
        "in 1 it is below."
    )
    seeds, x = (0, 1), np.array([1.0, 2.0])
    line = {"regret": 3.0, "bound": 1.0, "trivial": 4.0, "widths": 2.0}
    found = {
        Key("bounds", name, quantity): Found(seeds, x, np.full((2, 2), value))
        for name in bounds.ALGORITHMS
        for quantity, value in line.items()
    }
    said = bounds.verdict(found)
    assert "Theorem 2 holds in 0 of 2 runs" in said
    assert "could have failed" not in said
    assert "holds in 0 runs" in said


def test_better_and_worse_are_told_apart():
    rng = np.random.default_rng(0)
    base = rng.random((12, 2))
    shift = {"GP-UCB-SDF": 1.0, "GP-BUCB": 0.0, batches.STARTED: 0.0}
    found = {
        Key("batches", f"{case}/{method}", quantity): Found(
            tuple(range(12)), np.array([10.0, 20.0]), base + (shift[method] if quantity == "cumulative regret" else 0.0)
        )
        for case in batches.CASES
        for method in batches.METHODS
        for quantity in batches.BOTH
    }
    said = batches.verdict(batches.comparisons(found))
    simple, cumulative = said.split(" In cumulative regret: ")
    assert simple.endswith("in average simple regret: nothing.")
    assert cumulative == f"GP-BUCB below GP-UCB-SDF (everywhere), {batches.STARTED} below GP-UCB-SDF (everywhere)."
