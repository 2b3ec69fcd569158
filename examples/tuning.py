"""A tuning run: a support vector machine on several worker processes, where runs are late, fail, or are left behind.

It shows `study.optimize` with a real model, scikit-learn's NuSVC on the breast cancer data. No worker waits for others.
A query that the model refuses is infeasible, a run whose machine goes down is lost, one that is slower than five others
is late and still used, and what an earlier run left behind is finished first.

The model and its score are real. The queue that makes runs late and the machine that goes down are made up, by the
params, so that they are the same every time. The order in which workers finish is not: numbers differ a little from run
to run.

    python examples/tuning.py
"""

import random
import tempfile
import time

import belated

WORKERS = 2


def train(params) -> float:
    """The cross-validated accuracy of one set of hyperparameters."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler
    from sklearn.svm import NuSVC

    luck = random.Random(repr(sorted(params.items())))
    time.sleep(2.0 if luck.random() < 0.15 else 0.05)  # the cluster's queue: some runs start late
    if luck.random() < 0.1:
        raise ConnectionError("the machine went down")  # any error but Infeasible: no information
    X, y = load_breast_cancer(return_X_y=True)
    scale = StandardScaler() if params["scale"] else FunctionTransformer()
    model = make_pipeline(scale, NuSVC(nu=params["nu"], gamma=params["gamma"]))
    try:
        return float(cross_val_score(model, X, y, cv=3, error_score="raise").mean())
    except ValueError as error:  # "specified nu is infeasible": the classes are too unequal for it
        raise belated.Infeasible(str(error)) from error


def open_study(url):
    """Creating it again with the same settings gives the same study, so a script can simply be run again."""
    return belated.Study.create(
        url,
        "svm",
        space={
            "nu": belated.Real(0.01, 0.99),
            "gamma": belated.Real(1e-4, 10, log=True),
            "scale": belated.Choice(True, False),
        },
        goal="maximize",
        floor=0.0,
        ceiling=1.0,
        silence="unknown",  # a run that is out is coming, it is merely late
        patience=5,  # rounds
        late="use",
        seed=0,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/tuning.db"
        with open_study(url) as study:
            left = study.ask(n=2)  # a run was going to evaluate these, and its machine was switched off
        with open_study(url) as study:
            run = study.optimize(train, rounds=24, workers=WORKERS, progress=False)
            print(f"the run:     {run}")
            now = " and ".join(study.trial(trial.number).status for trial in left)
            print(f"left behind: trials {left[0].number} and {left[1].number}, now {now}")
            statuses = [trial.failure or trial.status for trial in study.trials()]
            print("in all:     ", ", ".join(f"{statuses.count(status)} {status}" for status in sorted(set(statuses))))
            best = study.best()
            scaled = "scaled" if best.params["scale"] else "unscaled"
            print(
                f"best:        accuracy {best.value:.3f} in trial {best.trial.number}, "
                f"nu {best.params['nu']:.2f}, gamma {best.params['gamma']:.2g}, {scaled} features"
            )


if __name__ == "__main__":
    main()
