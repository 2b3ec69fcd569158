"""Which query is best: the maximum of a policy among those that may be asked, or a space-filling one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from belated.errors import Exhausted
from belated.learner.arrays import Array, Mask
from belated.learner.belief import ChoiceBelief
from belated.learner.choice.maximize import Effort, Search, argmax, maximize
from belated.learner.choice.problem import Problem, Situation, drop_repeats
from belated.learner.choice.sequence import kronecker
from belated.learner.history import History
from belated.learner.policies import Policy, Surface, find_scores, find_surface

COUNTED = 10**6  # queries that are tried one by one when all the good ones are taken
BEST, LAST = 4, 2  # queries near which a search looks: the best that were heard, and the last ones
SAME = 1e-13  # two queries this close in every column are the same


def list_queries(problem: Problem) -> Array | None:
    """The Q for which a table is worth keeping: it must not change from ask to ask."""
    return problem.Q if problem.context is None else None


def find_best(
    problem: Problem, situation: Situation, belief: ChoiceBelief, policy: Policy, nu: float, rng: Generator
) -> Array:
    """The best query under a policy, among those that may be asked."""
    if problem.Q is not None:
        rows = join_context(situation.z, problem.Q)
        scores = find_scores(policy, belief, rows, nu, rng)
        if not np.all(np.isfinite(scores)):
            raise FloatingPointError
        best: Array = problem.Q[argmax(scores, find_allowed(problem, situation))]
        return best
    if problem.conversions:
        queries = list_lattice(problem, situation)
        values = find_scores(policy, belief, join_context(situation.z, queries), nu, rng)
        if not np.all(np.isfinite(values)):
            raise FloatingPointError
        first = argmax(values)  # ties go to the lowest index
        if not len(situation.taken):
            return np.asarray(queries[first])
        order = np.append(first, np.argsort(-values, kind="stable"))
        return find_first_open(problem, situation, queries[order])
    surface = AtContext(find_surface(policy, belief, nu, rng), situation.z)
    ranked = maximize(surface, plan_search(problem, situation, belief), rng, choose_effort(belief))
    return find_first_open(problem, situation, ranked)


def choose_effort(belief: ChoiceBelief) -> Effort:
    """Scoring a candidate and a step costs O(n²). Beyond some thousands of rows steps cost most: there a few starts are
    told apart by a few steps, which finds as good a query (docs/scale.md)."""
    if len(belief.posterior.summarised):
        return Effort(96, starts=3, together=2, alone=6)
    return Effort(384 if len(belief.posterior.X) <= 300 else 256)


def list_lattice(problem: Problem, situation: Situation) -> Array:
    """The queries that conversions choose of where they cannot be listed, with what is fixed by hand."""
    if np.all(np.isnan(situation.given)):
        return problem.lattice
    empty = Search(problem.compact, situation.given, np.empty((0, problem.compact.D)))
    return drop_repeats(empty.admit(problem.lattice))


def find_first_open(problem: Problem, situation: Situation, ranked: Array) -> Array:
    """The first of some queries that may be asked now; when none of them may, the first of the whole space that may."""
    first = next(skip_taken(ranked, situation), None)
    if first is None:
        first = next(skip_taken(list_every_query(problem, situation), situation), None)
    if first is None and situation.strict:
        raise Exhausted
    return np.asarray(ranked[0]) if first is None else first


def skip_taken(queries: Array, situation: Situation) -> Iterator[Array]:
    return (x for x in queries if not np.any(find_same(x, situation.taken)))


def list_every_query(problem: Problem, situation: Situation) -> Array:
    """All queries that agree with what is fixed by hand, where they can be counted; none where they cannot."""
    domain = problem.compact
    points = domain.list_points(COUNTED)
    if points is None:
        return np.empty((0, domain.D))
    return points[np.all(np.isnan(situation.given) | (np.abs(points - situation.given) <= SAME), axis=1)]


def plan_search(problem: Problem, situation: Situation, belief: ChoiceBelief) -> Search:
    """Where to look in a space that cannot be listed: everywhere, near the best heard, and near the newest."""
    posterior = belief.posterior
    best = belief.heard[np.argsort(-belief.means, kind="stable")[:BEST]]
    anchors = posterior.X[np.union1d(best, posterior.place[-LAST:]), problem.split :]
    return Search(problem.compact, situation.given, np.where(np.isnan(situation.given), anchors, situation.given))


@dataclass(frozen=True, eq=False)
class AtContext:
    """A surface over context and query as a surface over the query alone."""

    surface: Surface
    z: Array

    def __call__(self, Q: Array) -> Array:
        return self.surface(join_context(self.z, Q))

    def gradient(self, Q: Array) -> tuple[Array, Array]:
        values, gradient = self.surface.gradient(join_context(self.z, Q))
        return values, gradient[:, len(self.z) :]


def join_context(z: Array, Q: Array) -> Array:
    """Rows (z, q); Q itself without a context, so that a table kept for it is found."""
    if not len(z):
        return Q
    rows = np.empty((len(Q), len(z) + Q.shape[1]))
    rows[:, : len(z)], rows[:, len(z) :] = z, Q
    return rows


def find_same(x: Array, X: Array) -> Mask:
    """Which rows of X are the query x."""
    return np.asarray(np.all(np.abs(X - x) <= SAME, axis=1))


def find_allowed(problem: Problem, situation: Situation) -> Mask | None:
    """Which listed queries may be asked: those that match what is fixed by hand; taken ones when no others are left.
    None: all of them."""
    if situation.open is None and not len(situation.taken):
        return None
    matching = np.ones(len(problem.place), dtype=bool) if situation.open is None else situation.open
    untaken = matching.copy()
    untaken[problem.list_places(situation.taken)] = False
    if np.any(untaken):
        return untaken
    if situation.strict:
        raise Exhausted
    return matching


def fill_space(problem: Problem, situation: Situation, h: History, rng: Generator) -> Array:
    """A query far from those before: the farthest of a list, of those asked least here; or the next of an even
    sequence."""
    if problem.Q is not None:
        return AskedQueries.find(problem, problem.Q, situation, h).choose(situation, rng)
    if problem.conversions:
        ranked = list_lattice(problem, situation)
        return find_first_open(problem, situation, np.roll(ranked, 1 - situation.t, axis=0))
    d = len(problem.compact.coordinates)
    U = kronecker(situation.t, 64, d, situation.shift[:d])
    empty = Search(problem.compact, situation.given, np.empty((0, problem.compact.D)))
    return find_first_open(problem, situation, empty.admit(problem.compact.place(U)))


@dataclass(eq=False)
class AskedQueries:
    """How far each query of a list is from the nearest that was asked, and how often it was asked, by context."""

    problem: Problem
    Q: Array
    distance: Array
    asked: dict[bytes, NDArray[np.intp]] = field(default_factory=dict)

    @classmethod
    def find(cls, problem: Problem, Q: Array, situation: Situation, h: History) -> AskedQueries:
        """From a history, and what was asked since."""
        found = cls(problem, Q, np.full(len(Q), np.inf))
        for row in np.vstack([h.X[~h.gone], situation.fresh]):
            found.add(row[: problem.split], row[problem.split :])
        return found

    def add(self, z: Array, x: Array) -> None:
        """One more, for a context."""
        here, i = self._count(z), self.problem.place.get(x.tobytes())
        if i is not None:
            here[i] += 1
        if i is None or self.distance[i] > 0.0:
            self.distance = np.minimum(self.distance, np.sum(np.square(self.Q - x), axis=1))

    def choose(self, situation: Situation, rng: Generator) -> Array:
        """The farthest of those asked least in a context."""
        here, allowed = self._count(situation.z), find_allowed(self.problem, situation)
        least = here == np.min(here if allowed is None else here[allowed])
        values = self.distance if np.all(np.isfinite(self.distance)) else rng.random(len(here))  # nothing was asked yet
        return np.asarray(self.Q[argmax(values, least if allowed is None else least & allowed)])

    def _count(self, z: Array) -> NDArray[np.intp]:
        """How often each was asked in a context."""
        return self.asked.setdefault(z.tobytes(), np.zeros(len(self.distance), dtype=np.intp))
