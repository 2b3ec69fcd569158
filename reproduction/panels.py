"""The 22 panels of the paper's Figures 1-5 as values: what is optimised, by whom, with which delays, what is claimed.

mu   mean of the Poisson delays
m    patience; the four baselines know none
T    iterations shown. Iteration 1 is after the five initial points, as the authors' released runs count
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from belated.errors import InvalidInput
from belated.learner.algorithms import PAPER, find_algorithm
from belated.learner.delays.distributions import Delay, Fixed, Poisson
from belated.simulation.task import Task
from reproduction.objectives import cnn, dengue, gpu, lda, lr, multitask, svm, synthetic

INITIAL = 5
Reading = Literal["text", "heard", "released"]
READINGS: dict[Reading, str] = {
    "text": "hyperparameters fitted to the data of each method's own GP (App. C with Eq. (1))",
    "heard": "the same, fitted to what was heard alone",
    "released": "what the authors' program does",
}


@dataclass(frozen=True, kw_only=True)
class PanelCurve:
    """One line of a panel."""

    key: str  # in the names of its studies
    label: str
    algorithm: str
    delay: Delay | None  # None: the task's own
    patience: int | str | None
    silence: str | None = None  # None: implied by the algorithm


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the paper says of a panel, and the comparisons that it comes to."""

    text: str
    less: tuple[tuple[str, str], ...]  # (a, b): a's regret is less than b's
    alike: tuple[tuple[str, str], ...] = ()  # (a, b): neither is better


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One picture: several curves on one task."""

    name: str
    title: str
    task: Callable[[int], Task]
    curves: tuple[PanelCurve, ...]
    claim: Claim | None = None  # None: the paper has no such panel
    measure: Literal["simple", "cumulative"] = "simple"
    ylabel: str = "simple regret"
    iterations: int = 100
    quick: int = 40  # iterations of a quick pass
    before: int = INITIAL - 1  # queries before iteration 1
    every: int = 1  # iterations between the entries of a recorded curve
    runs: Mapping[Reading, int]  # of each curve, by reading
    pace: Mapping[str, Any] = field(default_factory=dict)  # every= or workers= of simulate, where the clock decides

    @property
    def readings(self) -> tuple[Reading, ...]:
        return tuple(self.runs)

    def find_curve(self, key: str) -> PanelCurve:
        """The curve of that key."""
        return next(curve for curve in self.curves if curve.key == key)


# How many runs, each with its own seed: more where a run is short.
SYNTHETIC_RUNS: dict[Reading, int] = {"text": 60, "heard": 60, "released": 60}
TUNING_RUNS: dict[Reading, int] = {"text": 30, "heard": 30, "released": 30}
CONTEXTUAL_RUNS: dict[Reading, int] = {"text": 20, "heard": 10, "released": 10}
OTHER_RUNS: dict[Reading, int] = {"text": 10}

POISSON_DELAYS, FIXED_DELAYS, CONTEXTUAL_DELAYS = Poisson(10), Fixed(10), Poisson(3)
FAMILIES = {"UCB": ("GP-UCB-SDF", "GP-UCB", "GP-BUCB"), "TS": ("GP-TS-SDF", "asy-TS", "GP-BTS")}


def make_curve(algorithm: str, delay: Delay | None, m: int | str | None, silence: str | None = None) -> PanelCurve:
    """An algorithm under these delays; m for those who know a patience."""
    patience = None if find_algorithm(algorithm).implied.patience == "none" else m
    key = algorithm if silence is None else f"{algorithm}-{silence}"
    label = algorithm if silence is None else f"{algorithm} ({silence})"
    return PanelCurve(key=key, label=label, algorithm=algorithm, delay=delay, patience=patience, silence=silence)


def make_family(kind: str, delay: Delay, m: int) -> tuple[PanelCurve, ...]:
    """The SDF method and its two baselines."""
    return tuple(make_curve(name, delay, m) for name in FAMILIES[kind])


def claim_outperforms(kind: str, text: str) -> Claim:
    """The SDF method has smaller regret than both of its baselines."""
    sdf, *baselines = FAMILIES[kind]
    return Claim(text=text, less=tuple((sdf, other) for other in baselines))


SYNTHETIC = "GP-{}-SDF has smaller simple regret than both baselines"
TUNING = "GP-{}-SDF outperforms the corresponding baselines"
CONTEXTUAL = "GP-{}-SDF incurs smaller cumulative regret than the other baselines"
DELAY_SETTINGS: dict[str, tuple[Delay, int]] = {
    "Poisson(10) delays": (POISSON_DELAYS, 20),
    "every delay 10": (FIXED_DELAYS, 10),
}


def _list_synthetic_panels() -> list[Panel]:
    """Figure 1, and its twin for Thompson sampling, Figure 5."""
    by_mu = tuple(
        PanelCurve(
            key=f"mu{mu}", label=f"μ = {mu}, m = {2 * mu}", algorithm="GP-UCB-SDF", delay=Poisson(mu), patience=2 * mu
        )
        for mu in (5, 10, 20, 30)
    )
    by_m = tuple(
        PanelCurve(key=f"m{m}", label=f"m = {m}", algorithm="GP-UCB-SDF", delay=POISSON_DELAYS, patience=m)
        for m in (5, 10, 20, 40)
    )
    panels = [
        Panel(
            name="fig1a",
            title="Synthetic, GP-UCB-SDF: delay distributions",
            task=synthetic.make_task,
            curves=by_mu,
            runs=SYNTHETIC_RUNS,
            claim=Claim(
                text="larger delays (larger μ) result in worse performance",
                less=(("mu5", "mu10"), ("mu10", "mu20"), ("mu20", "mu30")),
            ),
        ),
        Panel(
            name="fig1b",
            title="Synthetic, GP-UCB-SDF: values of m, Poisson(10) delays",
            task=synthetic.make_task,
            curves=by_m,
            runs=SYNTHETIC_RUNS,
            claim=Claim(
                text="an overly small m leads to large regrets; m = 20 and m = 40 are comparable",
                less=(("m20", "m5"), ("m40", "m5")),
                alike=(("m20", "m40"),),
            ),
        ),
    ]
    for figure, kind, letters in (("fig1", "UCB", "cd"), ("fig5", "TS", "ab")):
        for letter, (words, (delay, m)) in zip(letters, DELAY_SETTINGS.items(), strict=True):
            panels.append(
                Panel(
                    name=f"{figure}{letter}",
                    title=f"Synthetic, {kind}, {words}",
                    task=synthetic.make_task,
                    curves=make_family(kind, delay, m),
                    claim=claim_outperforms(kind, SYNTHETIC.format(kind)),
                    runs=SYNTHETIC_RUNS,
                )
            )
    return panels


def _list_tuning_panels(figure: str, letters: str, what: str, task: Callable[[int], Task]) -> list[Panel]:
    """Four panels of one model: UCB and Thompson sampling, stochastic and deterministic delays."""
    settings = [(kind, words) for kind in FAMILIES for words in DELAY_SETTINGS]
    return [
        Panel(
            name=f"{figure}{letter}",
            title=f"{what}, {kind}, {words}",
            task=task,
            curves=make_family(kind, *DELAY_SETTINGS[words]),
            claim=claim_outperforms(kind, TUNING.format(kind)),
            ylabel="validation error",
            runs=TUNING_RUNS,
        )
        for letter, (kind, words) in zip(letters, settings, strict=True)
    ]


def _list_contextual_panels(
    names: Sequence[str],
    what: str,
    task: Callable[[int], Task],
    rounds: int,
    runs: Mapping[Reading, int] = CONTEXTUAL_RUNS,
) -> list[Panel]:
    """Two panels of one contextual problem."""
    return [
        Panel(
            name=name,
            title=f"{what}, {kind}, Poisson(3) delays",
            task=task,
            curves=make_family(kind, CONTEXTUAL_DELAYS, 6),
            claim=claim_outperforms(kind, CONTEXTUAL.format(kind)),
            measure="cumulative",
            ylabel="cumulative regret",
            iterations=rounds,
            quick=90,
            before=0,
            every=10,
            runs=runs,
        )
        for name, kind in zip(names, FAMILIES, strict=True)
    ]


PANELS = {
    panel.name: panel
    for panel in sorted(
        [
            *_list_synthetic_panels(),
            *_list_tuning_panels("fig2", "abcd", "SVM", svm.make_task),
            *_list_tuning_panels("fig2", "efgh", "CNN", cnn.make_task),
            *_list_tuning_panels("fig3", "abcd", "LR", lr.make_task),
            *_list_contextual_panels(("fig4a", "fig4b"), "Multi-task", multitask.make_task, 1500),
            *_list_contextual_panels(("fig4c", "fig4d"), "Non-stationary", svm.make_growing_task, 600),
        ],
        key=lambda panel: panel.name,
    )
}


# Fig. 4a and 4b with the tasks in another order in every run: what the table's own order decides.
PERMUTED = {
    panel.name: panel
    for panel in _list_contextual_panels(
        ("fig4a-permuted", "fig4b-permuted"),
        "Multi-task, permuted",
        multitask.make_permuted_task,
        1500,
        OTHER_RUNS,
    )
}


def make_all_curves(m: str) -> tuple[PanelCurve, ...]:
    """All six algorithms and the default, under delays that belong to the data; silence only means "not yet" there."""
    return (*(make_curve(name, None, m) for name in PAPER), make_curve("default", None, m, "unknown"))


BEYOND = {
    panel.name: panel
    for panel in (
        Panel(
            name="lda",
            title="Online LDA, recorded running times, 8 workers, m = 8 hours",
            task=lda.make_task,
            curves=make_all_curves("8h"),
            runs=OTHER_RUNS,
            ylabel="simple regret (perplexity)",
            iterations=80,
            pace={"workers": 8},
        ),
        Panel(
            name="gpu",
            title="GPU tuning, six GPUs in turn, recorded compile and run times, 8 workers, m = 6 seconds",
            task=gpu.make_task,
            curves=make_all_curves("6s"),
            runs=OTHER_RUNS,
            measure="cumulative",
            ylabel="cumulative regret (log time)",
            iterations=240,
            quick=60,
            before=0,
            every=10,
            pace={"workers": 8},
        ),
        Panel(
            name="dengue",
            title="Synthetic, delays of dengue reports, one query a day, m = 4 weeks",
            task=dengue.make_task,
            curves=make_all_curves("4w"),
            runs=OTHER_RUNS,
            pace={"every": "1d"},
        ),
    )
}


ALL_PANELS = {**PANELS, **PERMUTED, **BEYOND}


def select_panels(names: Sequence[str]) -> list[Panel]:
    """The panels that are named: fig1c, fig2 (all of a figure), permuted, beyond, lda, or all (the 22 of the paper)."""
    groups = {"all": PANELS.values(), "permuted": PERMUTED.values(), "beyond": BEYOND.values()}
    every = ALL_PANELS
    found: dict[str, Panel] = {}
    for name in names:
        group = list(groups.get(name, ())) or [p for p in every.values() if name in (p.name, p.name[:-1])]
        if not group:
            figures = "fig1 to fig5, all, permuted, beyond, theory, replay"
            raise InvalidInput(f"there is no panel {name!r}; there are {figures}, {', '.join(every)}")
        found |= {panel.name: panel for panel in group}
    return list(found.values())
