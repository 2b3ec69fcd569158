"""One choice: the argmax of its policy over what may be asked, the fallbacks and their notes, outcomes with a noise."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from belated.errors import Contradiction, Exhausted, NotPositiveDefinite
from belated.learner import confidence
from belated.learner.algorithms import DEFAULT, PAPER, Algorithm, Model, Move, paper
from belated.learner.choice import decide as module
from belated.learner.choice.decide import compute_belief, compute_width, decide, find_scale, refit
from belated.learner.choice.problem import LISTED, Cache, Hyperparameters, Problem, Situation
from belated.learner.confidence import Theory
from belated.learner.fitting import Fitting, Schedule
from belated.learner.gp.kernels import SE, Matern52, Product
from belated.learner.gp.merging import number_points
from belated.learner.gp.posterior import GP
from belated.learner.gp.scale import Scale
from belated.learner.history import History, scale_history
from belated.learner.policies import UCB, Greedy, LogEI, Overtaking, ThompsonSampling, UncertaintySampling
from belated.learner.silence import Floor, Halfway, Unknown, Waiting
from belated.settings import settle_settings
from belated.space.encoding import Choice, Integer, Points, Real
from tests.support.examples import examples

REALS = {"x": Real(0, 1), "y": Real(-5, 5)}
MIXED = {"x": Real(0, 1), "n": Integer(1, 8), "act": Choice("relu", "tanh", "gelu"), "lr": Real(1e-6, 1, log=True)}
LIST = Points(np.linspace(0, 1, 30))
COUNTABLE = {"n": Integer(1, 8), "act": Choice("relu", "tanh", "gelu"), "m": Integer(1, 1000, log=True)}
SMALL = {"n": Integer(1, 8), "act": Choice("relu", "tanh", "gelu")}
SPACES = {"reals": REALS, "mixed": MIXED, "points": LIST, "countable": COUNTABLE, "small": SMALL}
every_space = pytest.mark.parametrize("space", SPACES.values(), ids=SPACES.keys())

BY_HAND = Algorithm(
    name="by hand",
    moves=(Move(UCB()),),
    model=Model(kernel=SE(0.3), lam=0.01, noise="by outcome"),
    fitting=Fitting(schedule=Schedule(None)),
)


def problem_of(space, algorithm: Algorithm | str = BY_HAND, **changes) -> Problem:
    """What a study of this space decides about."""
    chosen = {
        "context": None,
        "goal": "maximize",
        "floor": 0.0,
        "ceiling": 1.0,
        "limits": None,
        "silence": None,
        "patience": None,
        "late": None,
        "repeats": None,
        "regret": None,
        "outcomes": "real",
        "initial": 0,
        "seed": 0,
    } | changes
    if chosen["silence"] is None and isinstance(algorithm, Algorithm) and algorithm.implied.silence is None:
        chosen["silence"] = "unknown"
    return settle_settings(space=space, algorithm=algorithm, **chosen).problem


def rows(problem: Problem, n: int, seed: int = 0) -> np.ndarray:
    """Some queries of a space."""
    rng = np.random.default_rng(seed)
    if problem.Q is not None:
        return problem.Q[rng.integers(len(problem.Q), size=n)]
    return problem.query.place(rng.random((n, len(problem.query_widths))))


def told(X: np.ndarray, y, *, pending: int = 0, noise=None) -> History:
    """Outcomes in the user's units; the last `pending` queries are not heard."""
    n = len(X)
    seen = np.arange(n) < n - pending
    y = np.where(seen, np.resize(np.asarray(y, dtype=float), n), np.nan)
    no = np.zeros(n, dtype=bool)
    return History(
        number=np.arange(1, n + 1),
        X=X,
        point=number_points(X),
        y=y,
        seen=seen,
        pending=~seen,
        infeasible=no,
        gone=no,
        recent=np.ones(n, dtype=bool),
        by_hand=np.zeros(n, dtype=bool),
        order=np.arange(n),
        lams=np.full(n, np.nan) if noise is None else np.resize(np.asarray(noise, dtype=float), n),
        floor=None,
        age=np.full(n, 30.0),
        m=20.0,
        waited=np.full(n, np.nan),
        arrived=seen,
        late=no,
    )


def situation(problem: Problem, t: int, **changes) -> Situation:
    d, D = len(problem.query_widths), problem.query.D
    plain = Situation(
        t=t,
        turn=t - 1,
        z=np.empty(0),
        given=np.full(D, np.nan),
        open=None,
        taken=np.empty((0, D)),
        strict=False,
        shift=np.random.default_rng(1).random(d),
        fresh=np.empty((0, problem.split + D)),
    )
    return replace(plain, **changes)


def chosen(problem: Problem, h: History, fits=(), cache=None, seed: int = 0, **changes):
    where = situation(problem, len(h.X) + 1, **changes)
    return decide(problem, h, where, list(fits), np.random.default_rng(seed), cache or Cache())


def inside(problem: Problem, x: np.ndarray) -> bool:
    """Complete, finite, and one of the space's."""
    if problem.Q is not None:
        return bool(np.any(np.all(problem.Q == x, axis=1)))
    return x.shape == (problem.query.D,) and bool(problem.query.contains(x[None, :])[0])


def outcomes(n: int, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).random(n)


# The argmax


@pytest.mark.parametrize("space", [LIST, SMALL], ids=["points", "countable"])
@pytest.mark.parametrize("policy", [UCB(), ThompsonSampling(), LogEI(), Overtaking()], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("seed", range(4))
def test_a_listed_space_is_searched_exactly(space, policy, seed):
    problem = problem_of(space, replace(BY_HAND, moves=(Move(policy),)))
    h = told(rows(problem, 12, seed), outcomes(12, seed), pending=3)
    x = chosen(problem, h, seed=seed).x
    belief, _ = compute_belief(problem, h, 13, None, problem.silence, Cache(), np.empty(0))
    scores = policy.scores(belief, problem.Q, 1.0, np.random.default_rng(seed))
    assert_array_equal(x, problem.Q[np.argmax(scores)])


def test_which_spaces_are_listed():
    assert problem_of(LIST).Q.shape == (30, 1)
    assert len(problem_of({"n": Integer(1, LISTED)}).Q) == LISTED
    assert problem_of({"n": Integer(1, LISTED + 1)}).Q is None
    assert problem_of(REALS).Q is None
    assert len(problem_of(SMALL).Q) == 24


@pytest.mark.parametrize("seed", range(6))
def test_a_compact_space_is_searched_as_well_as_a_fine_grid(seed):
    problem = problem_of(REALS)
    h = told(rows(problem, 12, seed), outcomes(12, seed), pending=3)
    x = chosen(problem, h, seed=seed).x
    belief, _ = compute_belief(problem, h, 13, None, problem.silence, Cache(), np.empty(0))
    side = np.linspace(0, 1, 101)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    score = UCB().scores(belief, np.vstack([x[None, :], grid]), 1.0, np.random.default_rng(0))
    assert score[0] >= score[1:].max() - 1e-9


@pytest.mark.parametrize("space", [LIST, SMALL], ids=["points", "countable"])
@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-9])
def test_log_ei_among_certain_outcomes_is_still_an_argmax(space, noise):
    """Outcomes that are nearly exact make LogEI hugely negative where they were told; that must not make ties of the
    rest."""
    problem = problem_of(space, replace(BY_HAND, moves=(Move(LogEI()),)))
    for n in (10, 20):  # also when most of a list has been told
        h = told(np.random.default_rng(0).permutation(problem.Q)[:n], outcomes(n), noise=noise)
        x = chosen(problem, h).x
        belief, _ = compute_belief(problem, h, n + 1, None, problem.silence, Cache(), np.empty(0))
        scores = LogEI().scores(belief, problem.Q, 1.0, np.random.default_rng(0))
        assert scores[problem.place[x.tobytes()]] >= scores.max() - 1e-6


@pytest.mark.parametrize("worst", [-1.0, -1e3, -1e6, -1e12])
def test_one_terrible_outcome_does_not_decide_where_the_default_looks(worst):
    """It is certain that nothing is better there; everywhere else the best is still the best."""
    problem = problem_of(LIST, replace(DEFAULT, moves=(Move(LogEI()),)), floor=None, ceiling=None)
    X = problem.Q[[3, 8, 13, 18, 23, 28]]
    h = told(X, [0.2, 0.5, worst, 0.9, 0.6, 0.1])
    fitted = refit(problem, h, 7, None)
    x = chosen(problem, h, [fitted]).x
    belief, _ = compute_belief(problem, h, 7, fitted, problem.silence, Cache(), np.empty(0))
    scores = LogEI().scores(belief, problem.Q, 1.0, np.random.default_rng(0))
    assert scores[problem.place[x.tobytes()]] >= scores.max() - 1e-6


@pytest.mark.parametrize("kernel", [Product(SE(0.4), SE(0.3)), SE(0.3)], ids=["product", "one kernel"])
@pytest.mark.parametrize("space", [LIST, REALS], ids=["points", "reals"])
def test_the_best_for_its_context(space, kernel):
    """f = -(x - z)²: the choice follows the context."""
    problem = problem_of(
        space,
        replace(BY_HAND, model=replace(BY_HAND.model, kernel=kernel), moves=(Move(Greedy()),)),
        context={"z": Real(0, 1)},
    )
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.random(60), rows(problem_of(space), 60, 3)])
    h = told(X, 1 - (X[:, 1] - X[:, 0]) ** 2)
    for z in (0.1, 0.5, 0.9):
        x = chosen(problem, h, z=np.array([z])).x
        assert x.shape == (problem.query.D,)
        assert x[0] == pytest.approx(z, abs=0.15)


@every_space
def test_a_choice_is_a_pure_function_of_its_arguments(space):
    """The same with a fresh cache, a used one, and again."""
    for policy in (UCB(), ThompsonSampling()):
        problem, cache = problem_of(space, replace(BY_HAND, moves=(Move(policy),))), Cache()
        X, y = rows(problem, 15), outcomes(15)
        for n in (5, 9, 15, 12):
            h = told(X[:n], y[:n], pending=2)
            fresh = chosen(problem, h)
            assert_array_equal(chosen(problem, h, cache=cache).x, fresh.x)
            assert_array_equal(chosen(problem, h, cache=cache).x, fresh.x)


@every_space
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 12), pending=st.integers(0, 12), t0=st.integers(0, 1))
@settings(max_examples=examples(10))
def test_a_choice_lies_inside(space, seed, n, pending, t0):
    problem = problem_of(space, "default", silence="floor")
    h = told(rows(problem, n + t0, seed), outcomes(n + t0, seed), pending=min(pending, n + t0))
    result = chosen(problem, h, seed=seed)
    assert inside(problem, result.x)
    assert "fell back" not in result.note


# ν_t


@pytest.mark.parametrize("name", PAPER)
def test_the_width_by_the_book(name):
    sdf = name.endswith("SDF")
    patience = {"patience": 20} if sdf else {}
    X = rows(problem_of(LIST), 12)
    h = replace(told(X, outcomes(12), pending=4), recent=np.arange(12) >= 5)
    known = Theory(B_f=2.0, R=0.3, delta=0.1, horizon=16)
    for beta in (1.7, known, replace(known, gain="greedy")):
        lam = {"lam": 0.05} if isinstance(beta, float) else {}
        problem = problem_of(LIST, paper(name, kernel=SE(0.2), beta=beta, **lam), **patience)
        belief, _ = compute_belief(problem, h, 13, None, problem.silence, Cache(), np.empty(0))
        posterior = belief.posterior
        assert posterior.gp.lam == (0.05 if lam else 1 + 2 / 16)
        if isinstance(beta, float):
            expected = beta
        else:
            asked = posterior.X[posterior.place]  # with repeats
            gamma = confidence.realised_gain(SE(0.2)(asked, asked), posterior.gp.lam)
            if beta.gain == "greedy":
                gamma = confidence.greedy_gain(SE(0.2), problem.Q, 12, posterior.gp.lam)[12] / (1 - 1 / math.e)
            rule = {True: confidence.beta_sdf_ts, False: confidence.beta_sdf_ucb}["TS" in name]
            expected = rule(beta, gamma, 1.0) if sdf else confidence.beta_baseline(beta, gamma)
        if sdf:
            expected += float(np.sum(np.sqrt(posterior.variance(X[5:]))))
        nu = compute_width(problem, belief, problem.algorithm.moves[0], 13, Cache())
        assert nu == pytest.approx(expected, rel=1e-9)


def test_the_greedy_gain_needs_a_list():
    algorithm = paper("GP-UCB", kernel=SE(0.2), beta=Theory(B_f=1.0, R=0.1, delta=0.1, gain="greedy"))
    assert problem_of(LIST, algorithm).Q is not None
    with pytest.raises(Contradiction, match='gain="greedy" needs a finite set of queries'):
        problem_of(REALS, algorithm)


def test_uncertainty_sampling_comes_first():
    """The first `start` queries go where σ is largest given all queries, heard or not; then the algorithm begins."""
    for name in ("GP-BUCB", "GP-UCB"):
        problem = problem_of(LIST, paper(name, kernel=SE(0.1), lam=0.01, start=4))
        X = rows(problem, 6)
        for n in range(7):
            h = told(X[:n], outcomes(n) * 9, pending=min(n, 2))
            x = chosen(problem, h).x
            silence = Floor() if n < 4 else problem.silence
            belief, _ = compute_belief(problem, h, n + 1, None, silence, Cache(), np.empty(0))
            policy = UncertaintySampling() if n < 4 else UCB()
            scores = policy.scores(belief, problem.Q, 1.0, np.random.default_rng(0))
            assert scores[problem.place[x.tobytes()]] >= scores.max() - 1e-12


def test_the_default_fills_the_pending_halfway_one_time_in_four_where_silence_is_not_unknown():
    for silence, explorer in (("unknown", Unknown()), ("waiting", Halfway(Waiting(), 0.5))):
        problem = problem_of(LIST, "default", silence=silence)
        fills = [module.find_silence(problem, situation(problem, 13 + turn, turn=turn)) for turn in range(4)]
        assert fills == [problem.silence, explorer, problem.silence, problem.silence]


def space_filled(problem: Problem, h: History) -> bool:
    """Whether the query is the space-filling one of its number."""
    where = situation(problem, len(h.X) + 1)
    x = module.fill_space(problem, where, h, np.random.default_rng(0))
    return bool(np.array_equal(chosen(problem, h).x, x))


def test_the_default_goes_on_filling_the_space_while_fewer_than_three_are_heard():
    """The prior is most uncertain in the corners: with many pending, query after query would go there."""
    space = {f"x{i}": Real(0, 1) for i in range(3)}
    for silence in ("unknown", "waiting", "ignored"):
        problem = problem_of(space, "default", silence=silence, floor=0.0)
        X = np.random.default_rng(0).random((20, 3))
        for heard, fills in ((0, True), (2, True), (3, False)):
            assert space_filled(problem, told(X, outcomes(20), pending=20 - heard)) == fills
    counting = problem_of(space, "default", silence="unknown", regret="cumulative")
    assert not space_filled(counting, told(X, outcomes(20), pending=20))  # there it would cost too much
    paper = problem_of(space, "GP-BUCB")
    assert not space_filled(paper, told(X, outcomes(20), pending=20))


# What may be asked


@every_space
def test_taken_queries_are_not_asked_again(space):
    problem = problem_of(space)
    h = told(rows(problem, 8), outcomes(8))
    x = chosen(problem, h).x
    again = chosen(problem, h, taken=x[None, :]).x
    assert inside(problem, again)
    assert np.max(np.abs(again - x)) > 1e-9


def test_when_all_are_taken_one_is_asked_again_unless_it_may_not():
    problem = problem_of(SMALL)
    h = told(problem.Q, outcomes(24))
    assert inside(problem, chosen(problem, h, taken=problem.Q).x)
    with pytest.raises(Exhausted):
        chosen(problem, h, taken=problem.Q, strict=True)
    last = np.delete(problem.Q, 17, axis=0)
    assert_array_equal(chosen(problem, h, taken=last, strict=True).x, problem.Q[17])


def test_a_space_too_long_to_list_is_exhausted_too():
    """All but one of 2001 integers are taken: the last one is found; then there is none."""
    problem = problem_of({"n": Integer(1, LISTED + 1)})
    every = problem.query.list_points(LISTED + 1)
    h = told(every[:6], outcomes(6))
    for initial in (0, 20):
        begun = replace(problem, initial=initial)
        assert_array_equal(chosen(begun, h, taken=np.delete(every, 1234, axis=0), strict=True).x, every[1234])
        with pytest.raises(Exhausted):
            chosen(begun, h, taken=every, strict=True)
        assert inside(problem, chosen(begun, h, taken=every).x)


def test_what_is_fixed_by_hand_is_kept():
    problem = problem_of(MIXED)
    given = np.full(problem.query.D, np.nan)
    given[problem.query.columns[1]] = 3 / 7
    given[problem.query.columns[2]] = [0, 0, 1 / math.sqrt(2)]
    for n in (0, 8):  # in the space-filling start and later
        for initial in (0, 20):
            h = told(rows(problem, n), outcomes(n))
            x = chosen(replace(problem, initial=initial), h, given=given).x
            assert inside(problem, x)
            assert_array_equal(x[~np.isnan(given)], given[~np.isnan(given)])


def test_a_list_is_asked_only_where_it_is_open():
    problem = problem_of(LIST)
    h = told(rows(problem, 8), outcomes(8))
    only = np.zeros(30, dtype=bool)
    only[[4, 21]] = True
    for initial in (0, 20):
        x = chosen(replace(problem, initial=initial), h, open=only).x
        assert np.any(np.all(problem.Q[[4, 21]] == x, axis=1))


@given(low=st.integers(1, 50), span=st.integers(1, 60), log=st.booleans(), options=st.integers(2, 4))
def test_every_listed_query_is_found_in_its_place(low, span, log, options):
    """Through the user's dictionary and back, to the bit: that is how taken queries are known in a list."""
    from belated.space.encoding import Space

    space = Space.of({"n": Integer(low, low + span, log=log), "kind": Choice(*"abcd"[:options])})
    problem = problem_of({"n": Integer(low, low + span, log=log), "kind": Choice(*"abcd"[:options])})
    for i, q in enumerate(problem.Q):
        assert problem.place[space.encode(space.decode(q)).tobytes()] == i


# The start


def test_the_first_queries_of_a_list_are_far_apart():
    problem = replace(problem_of(LIST), initial=6)
    X = np.empty((0, 1))
    for _ in range(6):
        X = np.vstack([X, chosen(problem, told(X, []), seed=4).x])
    gaps = np.diff(np.sort(X[:, 0]))
    assert len(np.unique(X)) == 6
    assert gaps.min() >= 3 / 29 - 1e-12  # at most 30 points for 6: each is the farthest from those before it


@pytest.mark.parametrize("space", [REALS, MIXED], ids=["reals", "mixed"])
def test_the_first_queries_of_a_compact_space_fill_it(space):
    problem = replace(problem_of(space), initial=30)
    X = np.empty((0, problem.query.D))
    for _ in range(30):
        X = np.vstack([X, chosen(problem, told(X, []), seed=4).x])
    assert np.all(problem.query.contains(X))
    assert len(np.unique(X, axis=0)) == 30
    u = np.sort(X[:, 0])
    assert np.max(np.diff(np.concatenate([[0.0], u, [1.0]]))) < 0.2


# Fits


def test_a_choice_says_when_it_fitted():
    problem = problem_of(LIST, paper("GP-UCB", refit_every=5))
    X, y = rows(problem, 16), outcomes(16)
    fits: list[Hyperparameters] = []
    at = []
    for n in range(17):
        result = chosen(problem, told(X[:n], y[:n]), fits)
        if result.fitted is not None:
            at.append(n + 1)
            fits.append(result.fitted)
            assert result.fitted.number == n + 1
            assert result.fitted.heard == n
    assert at == [6, 11, 16]


def test_a_fit_looks_at_what_was_heard_and_never_at_what_was_filled_in():
    """The pending, the infeasible and the gone change nothing."""
    problem = problem_of(REALS, "default", silence="floor")
    X, y = rows(problem, 20), outcomes(20)
    heard = told(X[:12], y[:12])
    more = told(X, y, pending=8)
    infeasible = np.zeros(20, dtype=bool)
    infeasible[14] = True
    gone = np.zeros(20, dtype=bool)
    gone[15] = True
    more = replace(more, infeasible=infeasible, gone=gone, pending=more.pending & ~infeasible & ~gone)
    assert refit(problem, heard, 21, None).gp == refit(problem, more, 21, None).gp


def test_what_is_given_by_hand_is_never_fitted():
    X, y = rows(problem_of(LIST), 12), outcomes(12)
    both = problem_of(LIST, paper("GP-UCB", kernel=SE(0.1), lam=0.05))
    assert refit(both, told(X, y), 11, None) is None
    kernel = refit(problem_of(LIST, paper("GP-UCB", kernel=SE(0.1))), told(X, y), 11, None)
    assert kernel.gp.kernel == SE((0.1,))
    lam = refit(problem_of(LIST, paper("GP-UCB", lam=0.05)), told(X, y), 11, None)
    assert lam.gp.lam == 0.05
    assert lam.gp.kernel != SE((0.2,))


def test_too_little_to_fit():
    problem = problem_of(LIST, "default", silence="floor")
    assert refit(problem, told(rows(problem, 6), outcomes(6), pending=4), 7, None) is None
    assert refit(problem, told(rows(problem, 6), outcomes(6), pending=3), 7, None) is not None


def test_hyperparameters_are_plain_values():
    problem = problem_of(MIXED, "default", silence="floor", context={"z": Real(0, 1)})
    X = np.column_stack([np.random.default_rng(0).random(12), rows(problem_of(MIXED), 12)])
    fitted = refit(problem, told(X, outcomes(12)), 13, None)
    assert fitted.scale is not None
    assert Hyperparameters.from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted


def test_a_lasting_scale_stays_until_the_next_fit():
    """The robust scale comes with the hyperparameters; the paper's follows every outcome."""
    X, y = rows(problem_of(LIST), 12), outcomes(12)
    default = problem_of(LIST, "default", silence="floor", floor=None, ceiling=None)
    fitted = refit(default, told(X[:8], y[:8]), 9, None)
    assert find_scale(default, told(X, y * 50), fitted) == fitted.scale
    six = problem_of(LIST, paper("GP-UCB"), ceiling=None)
    fitted = refit(six, told(X[:8], y[:8]), 9, None)
    assert fitted.scale is None
    assert find_scale(six, told(X, y * 50), fitted) == Scale(1.0, 0.0, 50 * y.max())


@pytest.mark.parametrize(
    ("goal", "floor", "expected"), [("maximize", None, 0.2), ("minimize", None, 0.9), ("maximize", -1.0, -1.0)]
)
def test_on_the_models_scale_the_floor_is_the_worst(goal, floor, expected):
    problem = problem_of(LIST, floor=floor, ceiling=None, goal=goal)
    h = told(rows(problem, 4), [0.5, 0.9, 0.2, 77.0], pending=1, noise=0.3)
    scale = find_scale(problem, h, None)
    scaled = scale_history(h, problem.bounds, scale)
    assert scale.to_user(np.array(scaled.floor)) == pytest.approx(expected)
    assert scaled.floor <= np.nanmin(scaled.y)
    assert_allclose(scaled.lams, (0.3 / scale.width) ** 2)


# Outcomes with a noise of their own


@pytest.mark.parametrize("silence", ["floor", "unknown", "waiting", "ignored"])
@pytest.mark.parametrize("k", [2, 5, 12])
def test_replicates_are_used_as_what_they_are(k, silence):
    """k outcomes of one query with noise σ = one outcome, their average, with noise σ/√k."""
    import belated

    points = [{"x": float(u)} for u in np.linspace(0, 1, 30)]
    rng = np.random.default_rng(6)
    replicates = 0.4 + 0.2 * rng.standard_normal(k)
    beliefs = []
    for repeated in (True, False):
        study = belated.Study.create(
            space={"x": Real(0, 1)}, floor=-3.0, ceiling=3.0, silence=silence, algorithm=BY_HAND, seed=0
        )
        for x, y in ((0.1, -0.3), (0.8, 0.9), (0.55, 0.2)):
            study.add({"x": x}, y)
        if repeated:
            for y in replicates:
                study.add({"x": 0.35}, float(y), noise=0.2)
        else:
            study.add({"x": 0.35}, float(replicates.mean()), noise=0.2 / math.sqrt(k))
        study.add({"x": 0.65})  # and one is pending
        beliefs.append(study.posterior(points))
    assert_allclose(beliefs[0].mean, beliefs[1].mean, rtol=0, atol=1e-8)
    assert_allclose(beliefs[0].std, beliefs[1].std, rtol=0, atol=1e-8)


def test_a_noise_is_in_the_users_units():
    """Outcomes a hundred times as large with noises a hundred times as large make the same belief."""
    X, y = rows(problem_of(LIST), 8), outcomes(8)
    beliefs = []
    for unit in (1.0, 100.0):
        problem = problem_of(LIST, ceiling=unit)
        h = told(X, unit * y, noise=unit * 0.1)
        belief, scale = compute_belief(problem, h, 9, None, problem.silence, Cache(), np.empty(0))
        assert_allclose(belief.posterior.lams, 0.01)
        beliefs.append(scale.to_user(belief.posterior.mean(problem.Q)) / unit)
    assert_allclose(beliefs[0], beliefs[1], rtol=1e-12)


# What stands in for the floor


@pytest.mark.parametrize(
    ("algorithm", "silence", "stated", "told_so_far", "note"),
    [
        ("default", "floor", 0.0, 6, ""),
        ("default", "floor", None, 6, "no floor stated: the worst outcome heard, 0.25, stands in"),
        ("default", "waiting", None, 6, "no floor stated: the worst outcome heard, 0.25, stands in"),
        ("default", "waiting", None, 0, ""),  # a space-filling query: nothing is heard yet
        ("default", "ignored", None, 6, ""),  # nothing is filled, and the robust scale needs none
        ("GP-UCB", None, None, 6, "no floor stated: the worst outcome heard, 0.25, stands in"),  # its scale does
        ("GP-UCB", None, 0.0, 6, ""),
        ("GP-BTS", None, None, 0, "no floor stated: the prior mean stands in"),
    ],
)
def test_the_trial_says_what_stood_in_for_the_floor(algorithm, silence, stated, told_so_far, note):
    """Query 9, chosen by LogEI when the algorithm is the default."""
    problem = problem_of(LIST, algorithm, silence=silence, floor=stated, ceiling=None)
    y = np.array([0.5, 0.25, 0.75, 1.0, 0.5, 0.6, 0.0, 0.0])
    result = chosen(problem, told(rows(problem, 8), y, pending=8 - told_so_far))
    assert result.note == note


# Falling back


@dataclass(frozen=True)
class Brittle(SE):
    """A kernel whose matrices are NaN unless its lengthscales are those it began with."""

    def __call__(self, X, Z):
        good = np.all(np.asarray(self.lengthscale) == 0.2)
        return super().__call__(X, Z) if good else np.full((len(X), len(Z)), np.nan)


@dataclass(frozen=True)
class Broken(SE):
    """A kernel whose matrices are always NaN."""

    def __call__(self, X, Z):
        return np.full((len(X), len(Z)), np.nan)


def ladder(space, kernel) -> tuple[Problem, History, dict[str, Hyperparameters]]:
    problem = problem_of(space, replace(DEFAULT, model=replace(DEFAULT.model, shape=kernel)), silence="unknown")
    h = told(rows(problem, 12), outcomes(12), pending=2)
    begin, l = problem.kernel, len(problem.kernel.lengthscales(problem.query.D))
    gps = {"good": GP(begin, 0.01), "bad": GP(begin.at(np.full(l, 0.7), 1.0), 0.01)}
    return problem, h, {name: Hyperparameters(gp, None, 12, 10, 10) for name, gp in gps.items()}


def refuse(*_):
    raise NotPositiveDefinite


@every_space
def test_without_trouble_there_is_no_note(space):
    problem, h, fits = ladder(space, Brittle(0.2))
    result = chosen(problem, h, [fits["good"]])
    assert result.note == ""
    assert result.fitted is None


@every_space
def test_first_it_fits_again(space):
    """The hyperparameters in use fail; fresh ones do not, and are kept."""
    problem, h, fits = ladder(space, SE(0.2))
    broken = replace(fits["good"], gp=GP(Broken((0.2,) * problem.query.D), 0.01))
    result = chosen(problem, h, [broken])
    assert result.note == "fell back to refitted hyperparameters"
    assert inside(problem, result.x)
    assert result.fitted.number == 13
    assert result.fitted.gp.kernel != broken.gp.kernel


@every_space
def test_then_it_takes_the_last_good_ones(space, monkeypatch):
    problem, h, fits = ladder(space, Brittle(0.2))
    monkeypatch.setattr(module, "fit", refuse)
    result = chosen(problem, h, [fits["good"], fits["bad"]])
    assert result.note == "fell back to the last good hyperparameters"
    assert inside(problem, result.x)
    assert result.fitted is None
    proper = chosen(problem, h, [fits["good"]])
    assert_array_equal(result.x, proper.x)  # and the draw of numbers starts over for every attempt


@dataclass(frozen=True)
class Moody:
    """Thompson sampling that comes out as NaN under the bad hyperparameters, after it has drawn its numbers."""

    def scores(self, belief, Q, nu, rng):
        return ThompsonSampling().scores(belief, Q, nu, rng) * self.mood(belief)

    def surface(self, belief, nu, rng):
        path, mood = ThompsonSampling().surface(belief, nu, rng), self.mood(belief)

        class Surface:
            def __call__(self, Q):
                return path(Q) * mood

            def gradient(self, Q):
                values, gradient = path.gradient(Q)
                return values * mood, gradient * mood

        return Surface()

    def mood(self, belief) -> float:
        return np.nan if belief.posterior.gp.kernel.lengthscales(belief.posterior.X.shape[1])[0] == 0.7 else 1.0


@every_space
def test_scores_that_are_not_finite_count_as_a_failure(space, monkeypatch):
    """And the next attempt draws the numbers that it would have drawn at once."""
    problem, h, fits = ladder(space, SE(0.2))
    problem = replace(problem, algorithm=replace(problem.algorithm, moves=(Move(Moody()),)))
    monkeypatch.setattr(module, "fit", refuse)
    result = chosen(problem, h, [fits["good"], fits["bad"]])
    assert result.note == "fell back to the last good hyperparameters"
    assert inside(problem, result.x)
    assert_array_equal(result.x, chosen(problem, h, [fits["good"]]).x)


@every_space
def test_then_the_prior_ones(space, monkeypatch):
    problem, h, fits = ladder(space, Brittle(0.2))
    monkeypatch.setattr(module, "fit", refuse)
    result = chosen(problem, h, [fits["bad"], fits["bad"]])
    assert result.note == "fell back to prior hyperparameters"
    assert inside(problem, result.x)


@every_space
def test_fresh_hyperparameters_that_fail_are_not_kept(space):
    """A fit that succeeds and a belief that does not: the prior serves, and nothing is recorded as fitted."""
    problem, h, _ = ladder(space, Brittle(0.2))
    result = chosen(problem, h, [])
    assert result.note == "fell back to prior hyperparameters"
    assert result.fitted is None
    assert inside(problem, result.x)


@every_space
def test_and_at_last_a_space_filling_point(space):
    problem, h, _ = ladder(space, Broken(0.2))
    result = chosen(problem, h, [])
    assert result.note == "fell back to a space-filling point"
    assert result.fitted is None
    assert inside(problem, result.x)
    again = chosen(problem, h, [], taken=result.x[None, :])
    assert np.max(np.abs(again.x - result.x)) > 1e-9


class Hungry(SE):
    """A kernel that needs more memory than there is, except with a lengthscale of 0.2."""

    def __call__(self, X, Z):
        if self.lengthscales(X.shape[1])[0] != 0.2:
            raise MemoryError
        return super().__call__(X, Z)


def starve(*_):
    raise MemoryError


@every_space
def test_a_fit_without_memory_is_said(space, monkeypatch):
    problem, h, fits = ladder(space, SE(0.2))
    monkeypatch.setattr(module, "fit", starve)
    result = chosen(problem, h, [])
    assert result.note == "fell back to prior hyperparameters (out of memory)"
    assert inside(problem, result.x)
    assert_array_equal(result.x, chosen(problem, h, []).x)
    assert chosen(problem, h, [fits["good"]]).note == ""  # no fit is due: nothing fell back


@every_space
def test_a_belief_without_memory_falls_back(space, monkeypatch):
    """To hyperparameters that manage with less; what was kept until then is computed again."""
    problem, h, fits = ladder(space, Hungry(0.2))
    monkeypatch.setattr(module, "fit", refuse)
    cache = Cache()
    proper = chosen(problem, h, [fits["good"]], cache)
    result = chosen(problem, h, [fits["good"], fits["bad"]], cache)
    assert result.note == "fell back to the last good hyperparameters (out of memory)"
    assert_array_equal(result.x, proper.x)
    assert_array_equal(chosen(problem, h, [fits["good"]], cache).x, proper.x)


@every_space
def test_without_any_memory_for_a_belief_the_query_is_space_filling(space, monkeypatch):
    problem, h, _ = ladder(space, SE(0.2))
    monkeypatch.setattr(module, "believe", starve)
    result = chosen(problem, h, [])
    assert result.note == "fell back to a space-filling point (out of memory)"
    assert inside(problem, result.x)


def test_a_fit_that_was_due_and_failed_is_said(monkeypatch):
    """The trial says which hyperparameters served instead of the fresh ones."""
    monkeypatch.setattr(module, "fit", refuse)
    problem = problem_of(LIST, paper("GP-UCB"))
    h = told(rows(problem, 20), outcomes(20))
    older = Hyperparameters(GP(SE((0.2,)), 0.01), None, 11, 10, 10)
    result = chosen(problem, h, [older])
    assert result.note == "fell back to the last good hyperparameters"
    assert inside(problem, result.x)
    assert chosen(problem, h, []).note == "fell back to prior hyperparameters"  # there are no good ones yet


@every_space
@pytest.mark.parametrize("algorithm", ["default", "GP-UCB", "asy-TS"])
def test_an_ask_never_raises_because_of_numerics(space, algorithm, monkeypatch):
    """Through the study: the trial is complete, inside, says what happened, and the study goes on."""
    import belated

    silence = "unknown" if algorithm == "default" else None
    study = belated.Study.create(space=space, algorithm=algorithm, silence=silence, seed=3, initial=2)
    for _ in range(4):
        study.tell(study.ask(), 0.5)
    whole = SE.__call__
    for shape in (SE, Matern52):
        monkeypatch.setattr(shape, "__call__", lambda self, X, Z: np.full((len(X), len(Z)), np.nan))
    batch = [study.ask(), *study.ask(n=2)]
    for trial in batch:
        assert "fell back to a space-filling point" in trial.note
        study.settings.space.encode(trial.params)  # raises when a coordinate is missing or outside
        study.tell(trial, 0.1)
    monkeypatch.undo()
    assert SE.__call__ is whole
    assert "fell back" not in study.ask().note


WILD = {
    "constant": [0.3] * 12,
    "one of 1e6": [0.1, 0.7, 0.4, 1e6, 0.2, 0.9, 0.3, 0.6, 0.5, 0.8, 0.15, 0.25],
    "one of 1e100": [0.1, 0.7, 0.4, 1e100, 0.2, 0.9, 0.3, 0.6, 0.5, 0.8, 0.15, 0.25],
    "all of 1e100": [1e100 * v for v in (0.1, -0.7, 0.4, 1.0, -0.2, 0.9, 0.3, -0.6, 0.5, 0.8, 0.15, -0.25)],
    "tiny and huge": [1e-100, 1e100, -1e100, 1e-90, 0.0, 1.0, 1e-100, 1e50, -1e50, 1e-30, 1e30, 2.0],
    "nearly constant": [0.3 + 5.6e-17 * v for v in range(12)],
}


@pytest.mark.parametrize("values", WILD.values(), ids=WILD.keys())
@pytest.mark.parametrize("algorithm", ["default", "GP-UCB-SDF", "GP-BTS"])
@pytest.mark.parametrize("space", [REALS, LIST], ids=["reals", "points"])
def test_no_outcome_poisons_the_model(space, algorithm, values):
    """|y| up to 1e100: every ask gives a point inside, the belief is finite, and no warning is raised."""
    import belated

    study = belated.Study.create(
        space=space,
        algorithm=algorithm,
        silence="unknown" if algorithm == "default" else None,
        patience=20 if algorithm.endswith("SDF") else None,
        seed=1,
        initial=3,
    )
    for y in values:
        trial = study.ask()
        study.settings.space.encode(trial.params)
        study.tell(trial, y)
    study.ask()
    belief = study.posterior([t.params for t in study.trials()])
    assert np.all(np.isfinite(belief.mean))
    assert np.all(np.isfinite(belief.std))
    assert np.all(belief.std >= 0)
