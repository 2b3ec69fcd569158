"""A surrogate of your own: scikit-learn's random forest in place of the GP, stored, replayed and compared.

It shows what `belated.register` is for. The forest has a mean and a spread, and nothing else: gradients come from
differences. A study keeps its name and its fields, so another process that knows the class opens the study, and every
choice can be replayed. `belated.compare` then says which of the two would have served this study better.

    python examples/surrogate.py
"""

import tempfile
from dataclasses import dataclass

import numpy as np

import belated


@dataclass(frozen=True)
class FittedForest:
    """The trees of a fitted forest: their average, and how much they differ."""

    trees: tuple

    def predict(self, Q):
        return np.array([tree.predict(Q) for tree in self.trees])

    def mean(self, Q):
        return self.predict(Q).mean(axis=0)

    def std(self, Q):
        return self.predict(Q).std(axis=0)

    def draw(self, Q, rng):
        return self.trees[rng.integers(len(self.trees))].predict(Q)


@dataclass(frozen=True)
class Forest:
    """A random forest. The same outcomes give the same trees: random_state is fixed."""

    trees: int = 20
    leaf: int = 2

    def fit(self, X, y):
        from sklearn.ensemble import ExtraTreesRegressor

        forest = ExtraTreesRegressor(self.trees, min_samples_leaf=min(self.leaf, len(X)), random_state=0)
        return FittedForest(tuple(forest.fit(X, y).estimators_))


belated.register("surrogate", "forest", Forest)


def taste(params) -> float:
    """How good the bread is: too hot burns, and rye wants more time."""
    best = 45 if params["flour"] == "rye" else 30
    burnt = 6.0 if params["oven"] > 240 else 0.0
    return 10 - ((params["oven"] - 220) / 25) ** 2 - ((params["minutes"] - best) / 10) ** 2 - burnt


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/bakery.db"
        space = {
            "oven": belated.Integer(160, 280),
            "minutes": belated.Integer(10, 70),
            "flour": belated.Choice("wheat", "rye"),
        }
        study = belated.Study.create(
            url, "bread", space=space, algorithm="forest", silence="unknown", patience=10, seed=0
        )
        for _ in belated.simulate(study, taste, delay=belated.delays.Poisson(3), rounds=24, seed=1, noise=0.1):
            pass
        again = belated.Study.open(url, "bread")  # elsewhere: whoever knows the class
        print(f"stored:      {again.settings.algorithm.name}, {dict(again.settings.algorithm.own)['surrogate']}")
        last = again.replay(24)
        print(f"replayed:    trial 24 {'is the same' if last.same else 'differs'}")
        best = again.best()
        print(f"best:        {best.value:.1f} of 10, {dict(best.params)}")
        found = belated.compare(
            again, algorithms=["default", "forest"], silences=["unknown"], patience=[10], seeds=3, rounds=12
        )
        regrets = sorted(f"{row.algorithm} {row.ends(found.measure).mean:.2f}" for row in found.rows)
        print(f"compared:    regret after 12 rounds: {', '.join(regrets)}")


if __name__ == "__main__":
    main()
