"""The six of the paper against their table, what may be fixed by hand, when to fit, and the default."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import pytest

from belated.errors import InvalidInput
from belated.learner.algorithms import DEFAULT, PAPER, Implied, Opening, find_algorithm, paper
from belated.learner.confidence import Constant, Theory, beta_sdf_ucb
from belated.learner.fitting import Fitting, Heard, HeardAndSettled, OwnData, Schedule
from belated.learner.gp.fit import HyperPrior
from belated.learner.gp.kernels import SE, Matern52, Product
from belated.learner.gp.scale import FloorToOne, Robust
from belated.learner.policies import UCB, LogEI, Overtaking, ThompsonSampling
from belated.learner.silence import Floor, Ignored, Unknown
from belated.learner.width import BetaWidth, CensoredWidth

THEORY = Theory(B_f=2.0, R=0.1, delta=0.1, horizon=100)

# name          silence    policy               late      patience  ν_t widened
SIX = [
    ("GP-UCB-SDF", Floor(), UCB(), "ignore", True, True),
    ("GP-TS-SDF", Floor(), ThompsonSampling(), "ignore", True, True),
    ("GP-UCB", Ignored(), UCB(), "use", False, False),
    ("asy-TS", Ignored(), ThompsonSampling(), "use", False, False),
    ("GP-BUCB", Unknown(), UCB(), "use", False, False),
    ("GP-BTS", Unknown(), ThompsonSampling(), "use", False, False),
]


# The six


@pytest.mark.parametrize(("name", "silence", "policy", "late", "patience", "widened"), SIX, ids=[row[0] for row in SIX])
def test_the_papers_six(name, silence, policy, late, patience, widened):
    algorithm = find_algorithm(name)
    assert algorithm.name == name
    assert algorithm.implied.silence == silence
    assert [move.policy for move in algorithm.moves] == [policy]
    assert algorithm.moves[0].share is None
    assert algorithm.implied.late == late
    assert algorithm.implied.patience == ("needed" if patience else "none")
    assert isinstance(algorithm.width, CensoredWidth) is widened
    # what all six share (App. C): β_t = 1, SE, refitted every 10 rounds, (y - floor) / B_y, mean 0
    assert algorithm.implied.repeats == "always"
    assert algorithm.model.noise == "one"
    assert algorithm.width.beta == Constant(1.0)
    assert isinstance(algorithm.model.shape, SE)
    assert algorithm.fitting.schedule == Schedule(10)
    assert algorithm.model.scaling == FloorToOne()
    assert algorithm.model.mean == "zero"
    assert algorithm.fitting.prior == HyperPrior()
    assert algorithm.fitting.data == OwnData()  # of its own GP, Eq. (1)
    assert algorithm.fill_noise == 0.0
    assert algorithm.model.kernel is None
    assert algorithm.model.lam is None
    assert algorithm.opening.uncertainty == 0


def test_there_are_six():
    assert set(PAPER) == {row[0] for row in SIX}


def test_they_are_the_table_of_silences_and_policies():
    pairs = {(type(a.implied.silence), type(a.moves[0].policy)) for a in PAPER.values()}
    assert pairs == {(s, p) for s in (Floor, Unknown, Ignored) for p in (UCB, ThompsonSampling)}


def test_what_is_fitted_to_can_be_chosen():
    assert paper("GP-UCB-SDF", fitted_to="heard").fitting.data == Heard()
    assert paper("GP-UCB-SDF", fitted_to="own") == paper("GP-UCB-SDF")
    with pytest.raises(InvalidInput, match=r"^fitted_to must be one of own, heard \(got 'told'\)"):
        paper("GP-UCB-SDF", fitted_to="told")


@pytest.mark.parametrize("name", PAPER)
def test_by_hand_with_nothing_given_is_the_algorithm_itself(name):
    assert paper(name) == find_algorithm(name)


# The default


def test_the_default_alternates_an_improver_with_two_explorers():
    assert find_algorithm("default") == DEFAULT
    improver = Overtaking()
    expected = [improver, UCB(), improver, ThompsonSampling(), improver]
    assert [DEFAULT.move(turn).policy for turn in range(5)] == expected
    assert [DEFAULT.move(turn).share for turn in range(4)] == [None, 0.5, None, None]
    assert [DEFAULT.move(turn).beta or DEFAULT.width.beta for turn in (1, 3)] == [Constant(2.0), Constant(1.0)]
    counting = [DEFAULT.move(turn, cumulative=True) for turn in range(3)]
    assert [move.policy for move in counting] == [LogEI(), UCB(), LogEI()]
    assert counting[1].beta == Constant(1.0)
    assert DEFAULT.implied == Implied()  # the study says
    assert DEFAULT.model.noise == "by outcome"
    assert DEFAULT.model.scaling == Robust()
    assert DEFAULT.model.mean == "constant"
    assert DEFAULT.fitting.data == HeardAndSettled()
    assert isinstance(DEFAULT.width, BetaWidth)


@pytest.mark.parametrize("name", ["gp-ucb", "GP-UCB-SDF ", "", None, 3, UCB()])
def test_unknown_names(name):
    with pytest.raises(InvalidInput, match=r"^algorithm must be one of GP-UCB-SDF, .*default \(got "):
        find_algorithm(name)


def test_the_default_is_not_the_papers():
    with pytest.raises(InvalidInput, match="algorithm must be one of"):
        paper("default")


# By hand


def test_every_part_may_be_fixed_by_hand():
    algorithm = paper("GP-UCB-SDF", kernel=SE(0.1), lam=0.05, beta=2.5, refit_every=None, start=7)
    assert algorithm.model.kernel == SE(0.1)
    assert algorithm.model.lam == 0.05
    assert algorithm.width.beta == Constant(2.5)
    assert algorithm.fitting.schedule == Schedule(None)
    assert algorithm.opening.uncertainty == 7
    rest = replace(
        algorithm,
        width=CensoredWidth(beta_sdf_ucb),
        model=replace(algorithm.model, kernel=None, lam=None),
        fitting=Fitting(),
        opening=Opening(space_filling=5),
    )
    assert rest == find_algorithm("GP-UCB-SDF")  # and nothing else changed


@pytest.mark.parametrize("beta", [0, 1, 2.5, Constant(3.0), THEORY])
def test_beta_is_a_number_or_a_theory(beta):
    expected = beta if isinstance(beta, (Constant, Theory)) else Constant(beta)
    assert paper("GP-BTS", beta=beta).width.beta == expected


@pytest.mark.parametrize("kernel", [SE(0.1), Matern52((0.1, 0.2)), Product(SE(0.1), Matern52(0.3))], ids=repr)
def test_kernels_of_every_kind(kernel):
    assert paper("GP-UCB", kernel=kernel).model.kernel == kernel


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({}, 5),
        ({"kernel": SE(0.1)}, 5),  # lam is still to be fitted
        ({"lam": 0.1}, 5),
        ({"kernel": SE(0.1), "lam": 0.1}, 0),  # nothing to fit: the first choice is the algorithm's
        ({"kernel": SE(0.1), "beta": THEORY}, 0),
        ({"refit_every": None}, 0),
        ({"start": 4}, 0),  # uncertainty sampling comes first
    ],
)
def test_how_many_space_filling_queries_come_first(changes, first):
    assert paper("GP-BUCB", **changes).opening.initial(3) == first


def test_the_default_begins_by_dimension():
    assert [DEFAULT.opening.initial(d) for d in (1, 2, 6, 9, 50)] == [4, 6, 14, 20, 20]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lam": 0}, r"^lam must be a positive finite number \(got 0\)"),
        ({"lam": -0.1}, r"^lam must be .*\(got -0.1\)"),
        ({"lam": math.nan}, r"^lam must be .*\(got nan\)"),
        ({"lam": math.inf}, r"^lam must be .*\(got inf\)"),
        ({"lam": "0.1"}, r"^lam must be .*\(got '0.1'\)"),
        ({"lam": True}, r"^lam must be .*\(got True\)"),
        ({"beta": -1.0}, r"\(got -1.0\)"),
        ({"beta": math.nan}, r"\(got nan\)"),
        ({"beta": math.inf}, r"\(got inf\)"),
        ({"beta": "1"}, r"^beta must be .*\(got '1'\)"),
        ({"beta": True}, r"^beta must be .*\(got True\)"),
        ({"beta": None}, r"^beta must be .*\(got None\)"),
        ({"refit_every": 0}, r"^refit_every must be a positive whole number or None \(got 0\)"),
        ({"refit_every": -3}, r"^refit_every must be .*\(got -3\)"),
        ({"refit_every": 2.5}, r"^refit_every must be .*\(got 2.5\)"),
        ({"refit_every": True}, r"^refit_every must be .*\(got True\)"),
        ({"start": -1}, r"^start must be a whole number of at least 0 \(got -1\)"),
        ({"start": 1.5}, r"^start must be .*\(got 1.5\)"),
        ({"start": True}, r"^start must be .*\(got True\)"),
        ({"kernel": "SE"}, r"^kernel must be .*\(got 'SE'\)"),
        ({"kernel": SE}, r"^kernel must be .*\(got "),
        ({"kernel": 0.1}, r"^kernel must be .*\(got 0.1\)"),
        ({"beta": THEORY, "lam": 0.1}, r"^lam is set by confidence.Theory to 1 \+ 2/T; leave it out"),
    ],
    ids=repr,
)
def test_bad_parts_get_one_sentence(changes, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        paper("GP-UCB-SDF", **changes)
    assert "\n" not in str(caught.value)


def test_beta_is_named_when_it_is_refused():
    """The user wrote beta=, not value=."""
    with pytest.raises(InvalidInput, match=r"^beta must be "):
        paper("GP-UCB", beta=-1.0)


def test_a_spec_is_plain():
    algorithm = paper("GP-TS-SDF", kernel=Matern52((0.1, 0.2)), beta=THEORY, refit_every=None, start=3)
    spec = json.loads(json.dumps(algorithm.spec()))
    assert spec == {
        "algorithm": "GP-TS-SDF",
        "kernel": {"kernel": "Matern52", "lengthscale": [0.1, 0.2], "variance": 1.0},
        "lam": None,
        "beta": {"B_f": 2.0, "R": 0.1, "delta": 0.1, "horizon": 100, "gain": "realised"},
        "refit_every": None,
        "start": 3,
        "fitted_to": "own",
    }
    assert paper("GP-UCB", lam=0.1).spec()["beta"] == 1.0
    assert paper("GP-UCB", lam=0.1).spec()["lam"] == 0.1


# When to fit


def fitted_at(schedule: Schedule, rounds: int, heard=lambda t: t - 1) -> list[int]:
    """The queries before which a fit happens, when every fit that has three outcomes succeeds."""
    at: list[int] = []
    last, last_heard = None, 0
    for t in range(1, rounds + 1):
        if schedule.is_due(t, heard(t), last, last_heard, t - 1) and heard(t) >= 3:
            at.append(t)
            last, last_heard = t, heard(t)
    return at


def test_the_papers_schedule():
    assert fitted_at(Schedule(10), 45) == [11, 21, 31, 41]
    assert fitted_at(Schedule(3), 14) == [4, 7, 10, 13]
    assert fitted_at(Schedule(1), 7) == [4, 5, 6, 7]
    assert fitted_at(Schedule(10), 45, heard=lambda t: max(0, t - 30)) == [41]  # nothing to fit before


def test_no_schedule():
    assert fitted_at(Schedule(None), 100) == []


def test_the_defaults_schedule():
    """As soon as there are three, whenever the heard doubled, every 5 queries up to 50, then every 10 %."""
    at = fitted_at(DEFAULT.fitting.schedule, 1000)
    assert at[:4] == [4, 7, 12, 17]
    upto, beyond = [t for t in at if t <= 50], [t for t in at if t >= 60]
    assert all(b - a <= 5 for a, b in itertools.pairwise(upto[2:]))
    for a, b in itertools.pairwise(beyond):
        assert b - a == math.ceil(0.1 * a)


def test_the_defaults_schedule_costs_little():
    """Fits between n and 2n: about log 2 / log 1.1 = 7.3, so their cost per ask stays O(n²)."""
    at = fitted_at(DEFAULT.fitting.schedule, 4000)
    assert sum(1000 < t <= 2000 for t in at) in (7, 8)
    assert sum(2000 < t <= 4000 for t in at) in (7, 8)


def test_a_late_flood_of_outcomes_is_fitted_at_once():
    """Ten heard for a long time, then thirty: no need to wait for the next tenth query."""
    at = fitted_at(DEFAULT.fitting.schedule, 60, heard=lambda t: min(t - 1, 10) if t < 44 else 40)
    assert 44 in at
