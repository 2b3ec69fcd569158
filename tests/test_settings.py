"""What a study is created with: the names, the defaults, what an algorithm implies, and what contradicts it."""

from __future__ import annotations

import inspect
import json
import math
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import belated
from belated import Contradiction, InvalidInput, Real, Study
from belated.learner.gp.kernels import SE
from belated.learner.silence import Floor, Ignored, Nearest, Unknown, Waiting
from belated.patience import Patience
from belated.settings import Settings

X = {"x": belated.Real(0, 1)}
GRID = belated.Points([i / 8 for i in range(9)])

# name: silence, late, repeats, needs patience
SIX = {
    "GP-UCB-SDF": (Floor(), "ignore", "always", True),
    "GP-TS-SDF": (Floor(), "ignore", "always", True),
    "GP-UCB": (Ignored(), "use", "always", False),
    "asy-TS": (Ignored(), "use", "always", False),
    "GP-BUCB": (Unknown(), "use", "always", False),
    "GP-BTS": (Unknown(), "use", "always", False),
}
SDF = [name for name, row in SIX.items() if row[3]]
BASELINES = [name for name, row in SIX.items() if not row[3]]


def create(**said: Any) -> Study:
    said.setdefault("space", X)
    if "algorithm" not in said:
        said.setdefault("silence", "unknown")
    return Study.create(**said)


def refusal(error: type[Exception] = InvalidInput, **said: Any) -> str:
    with pytest.raises(error) as refused:
        Study.create(**{"space": X, **said})
    return str(refused.value)


def patience_of(name: str) -> dict[str, Any]:
    return {"patience": 5} if name in SDF else {}


# The names and the defaults -------------------------------------------------------------------------------------------


def parameters(function: Any) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


NAMES = {
    Study.create: "url name space context goal floor ceiling limits silence patience late algorithm repeats regret "
    "outcomes initial seed about outcome_name unit by clock token",
    Study.ask: "context n contexts params key by remark",
    Study.tell: "trial value at noise params key by remark",
    Study.add: "params value context at noise key by remark",
    Study.best: "context",
    Study.recommend: "context",
    Study.trials: "status last",
    belated.simulate: "study f delay rounds seed noise contexts every workers choose",
    belated.measure_regret: "study f best",
    belated.algorithms.paper: "name kernel lam beta refit_every start fitted_to",
    belated.confidence.Theory: "B_f R delta horizon gain",
}


def test_the_public_names() -> None:
    for function, names in NAMES.items():
        assert parameters(function) == names.split()
    assert parameters(Study.fail)[:1] == ["trial"]
    assert parameters(Study.posterior)[1:] == ["context", "pending"]
    for name in ("Real", "Integer", "Choice", "Points", "delays", "kernels", "silence", "algorithms", "confidence"):
        assert hasattr(belated, name), name


def test_the_defaults() -> None:
    settings = create().settings
    assert settings.context is None
    assert (settings.objective.goal, settings.objective.floor, settings.objective.ceiling) == ("maximize", None, None)
    assert settings.objective.limits is None
    assert settings.patience == Patience(math.inf)
    assert (settings.late, settings.repeats, settings.algorithm.name) == ("use", "heard", "default")


def test_a_url_says_what_keeps_the_study_and_a_name_finds_it() -> None:
    with pytest.raises(
        belated.InvalidInput, match=r"^url must start with sqlite:///, postgresql:// or https:// \(got 'a\.db'\)$"
    ):
        Study.create("a.db", "a", space=X, silence="unknown")
    with pytest.raises(belated.InvalidInput, match=r"^name must be given: "):
        Study.create("sqlite:///a.db", space=X, silence="unknown")


# Silence must be given ------------------------------------------------------------------------------------------------


def test_silence_has_no_default() -> None:
    sentence = refusal()
    assert sentence.startswith("silence must be given: what does an unheard outcome mean?")
    for option in ("floor", "unknown", "waiting", "ignored"):
        assert f'"{option}"' in sentence


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("floor", Floor()),
        ("unknown", Unknown()),
        ("waiting", Waiting()),
        ("ignored", Ignored()),
        (Nearest(5), Nearest(5)),
        (belated.silence.Floor(), Floor()),
    ],
)
def test_silence_is_a_word_or_a_value(said: Any, value: Any) -> None:
    assert create(silence=said).settings.silence == value


@pytest.mark.parametrize("said", ["flor", "", 3, True, Floor, Unknown])
def test_other_silences_are_refused(said: Any) -> None:
    """The class Floor is not the value Floor()."""
    sentence = refusal(silence=said)
    assert sentence.startswith("silence must be one of floor, unknown, waiting, fading, ignored")
    assert "(got " in sentence


# What an algorithm implies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIX)
def test_an_algorithm_implies_its_silence_late_and_repeats(name: str) -> None:
    silence, late, repeats, _ = SIX[name]
    settings = create(algorithm=name, **patience_of(name)).settings
    assert (settings.silence, settings.late, settings.repeats) == (silence, late, repeats)
    by_value = create(algorithm=belated.algorithms.paper(name), **patience_of(name)).settings
    assert (by_value.silence, by_value.late, by_value.repeats) == (silence, late, repeats)


@pytest.mark.parametrize("name", SIX)
def test_saying_what_is_implied_is_no_contradiction(name: str) -> None:
    silence, late, repeats, _ = SIX[name]
    said = create(algorithm=name, silence=silence, late=late, repeats=repeats, **patience_of(name))
    assert said.settings == create(algorithm=name, seed=said.seed, **patience_of(name)).settings


@pytest.mark.parametrize("name", SIX)
def test_contradictions_say_what_is_implied(name: str) -> None:
    silence, late, _, _ = SIX[name]
    word = silence.spec()["silence"]
    instead = ', or ask for "unknown" or "nearest"' if name.endswith("SDF") else ""
    for other in {"floor", "unknown", "waiting", "ignored", "fading"} - {word} - ({"unknown"} if instead else set()):
        sentence = refusal(Contradiction, algorithm=name, silence=other, **patience_of(name))
        assert sentence.startswith(f'{name} implies silence="{word}"; leave silence out{instead} (got ')
        assert other in sentence.lower()
    for other in {"use", "ignore"} - {late}:
        sentence = refusal(Contradiction, algorithm=name, late=other, **patience_of(name))
        assert sentence == f'{name} implies late="{late}"; leave late out (got {other!r})'
    for other in {"heard", "never"}:
        sentence = refusal(Contradiction, algorithm=name, repeats=other, **patience_of(name))
        assert sentence == f'{name} implies repeats="always"; leave repeats out (got {other!r})'


@pytest.mark.parametrize("name", SDF)
def test_the_sdf_pair_requires_a_patience(name: str) -> None:
    assert refusal(algorithm=name) == f'{name} needs patience: a number of rounds, or a time such as "14d"'
    assert create(algorithm=name, patience=20).settings.patience == Patience(20)
    assert create(algorithm=name, patience="14d").settings.patience == Patience(14 * 86400.0, by_clock=True)


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize(("patience", "shown"), [(20, "20 rounds"), ("14d", "14d")])
def test_the_baselines_refuse_a_patience(name: str, patience: Any, shown: str) -> None:
    sentence = refusal(Contradiction, algorithm=name, patience=patience)
    assert sentence.startswith(f"{name} has no patience")
    assert sentence.endswith(f"leave patience out (got {shown})")


@pytest.mark.parametrize("silence", ["floor", "unknown", "waiting", "ignored"])
@pytest.mark.parametrize("late", ["use", "ignore"])
@pytest.mark.parametrize("repeats", ["always", "heard", "never"])
def test_the_default_algorithm_leaves_the_choice_to_the_study(silence: str, late: Any, repeats: Any) -> None:
    settings = create(silence=silence, late=late, repeats=repeats, patience=3).settings
    assert (settings.silence.spec()["silence"], settings.late, settings.repeats) == (silence, late, repeats)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"late": "never"}, "late must be one of use, ignore (got 'never')"),
        ({"late": True}, "late must be one of use, ignore (got True)"),
        ({"repeats": "sometimes"}, "repeats must be one of always, heard, never (got 'sometimes')"),
        ({"algorithm": "GP-UBC"}, "algorithm must be one of GP-UCB-SDF, GP-TS-SDF, GP-UCB, asy-TS, GP-BUCB, GP-BTS, "),
        ({"algorithm": None}, "algorithm must be one of "),
        ({"algorithm": ["GP-UCB"]}, "algorithm must be one of "),
    ],
)
def test_words_that_are_none(said: dict[str, Any], sentence: str) -> None:
    assert refusal(silence="unknown", **said).startswith(sentence)


# Patience, initial and seed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "m", "by_clock"),
    [
        (None, math.inf, False),
        (20, 20.0, False),
        ("90s", 90.0, True),
        ("14d", 1209600.0, True),
        (timedelta(hours=1), 3600.0, True),
    ],
)
def test_patience_is_rounds_or_time(said: Any, m: float, by_clock: bool) -> None:
    assert create(patience=said).settings.patience == Patience(m, by_clock)


def test_initial_is_what_suits_the_space_or_what_was_said() -> None:
    assert create(initial=0).settings.initial == 0
    assert create(initial=7).settings.initial == 7
    assert create().settings.initial >= 1
    assert create(space=belated.Points([0.0, 1.0])).settings.initial <= 2
    fixed = belated.algorithms.paper("GP-UCB", kernel=SE(0.2), lam=0.01, refit_every=None)
    assert create(algorithm=fixed).settings.initial == 0  # nothing is fitted: nothing to prepare for


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"initial": -1}, "initial must be at least 0 (got -1)"),
        ({"initial": 1.5}, "initial must be an integer (got 1.5)"),
        ({"initial": True}, "initial must be an integer (got True)"),
        ({"seed": -1}, "seed must be at least 0 (got -1)"),
        ({"seed": 1.5}, "seed must be an integer (got 1.5)"),
        ({"seed": "1"}, "seed must be an integer (got '1')"),
        ({"seed": True}, "seed must be an integer (got True)"),
    ],
)
def test_counts_are_whole_numbers(said: dict[str, Any], sentence: str) -> None:
    assert refusal(silence="unknown", **said) == sentence


def test_a_seed_that_was_not_given_is_drawn_and_recorded() -> None:
    one, other = create(space=GRID), create(space=GRID)
    assert one.seed != other.seed
    again = create(space=GRID, seed=one.seed)
    for study in (one, again):
        for _ in range(8):
            trial = study.ask()
            study.tell(trial, math.sin(9 * trial.params["x"]))
    assert [t.params for t in one.trials()] == [t.params for t in again.trials()]
    assert create(seed=np.int64(7)).seed == 7


def test_every_query_counts_where_there_is_a_context_or_the_user_says_so() -> None:
    assert Study.create(space=X, silence="unknown").settings.regret == "simple"
    assert Study.create(space=X, context={"z": Real(0, 1)}, silence="unknown").settings.regret == "cumulative"
    said = Study.create(space=X, silence="unknown", regret="cumulative")
    assert said.settings.regret == "cumulative"
    assert said.settings.problem.cumulative
    with pytest.raises(InvalidInput, match=r"regret must be one of simple, cumulative \(got 'best'\)"):
        Study.create(space=X, silence="unknown", regret="best")  # type: ignore[arg-type]


@pytest.mark.parametrize("silence", ["unknown", "nearest", belated.silence.Nearest(k=2)])
@pytest.mark.parametrize("name", ["GP-UCB-SDF", "GP-TS-SDF"])
def test_the_sdf_pair_takes_another_silence_when_asked_for(name: str, silence: str | belated.silence.Nearest) -> None:
    """The footnote of Section 3.1: an unheard outcome may count as the posterior mean, or that of its neighbours."""
    study = create(algorithm=name, silence=silence, patience=3)
    assert study.settings.silence in (belated.silence.Unknown(), belated.silence.Nearest(), silence)
    assert Settings.of(json.loads(json.dumps(study.settings.spec()))) == study.settings


def test_fits_of_version_0_1_looked_at_the_heard() -> None:
    spec = create(algorithm="GP-UCB-SDF", patience=3).settings.spec()
    assert Settings.of(spec).algorithm == belated.algorithms.paper("GP-UCB-SDF")
    del spec["algorithm"]["fitted_to"]
    assert Settings.of(spec).algorithm == belated.algorithms.paper("GP-UCB-SDF", fitted_to="heard")


def test_a_spec_of_version_0_1_is_still_read() -> None:
    """The setting that is called regret now was stored as objective; a whole store of then is in the ledger's tests."""
    settings = create(silence="unknown", regret="cumulative").settings
    old = settings.spec()
    old["objective"] = old.pop("regret")
    assert Settings.of(old) == settings


# Words for people -----------------------------------------------------------------------------------------------------


def test_the_question_the_outcome_and_units_are_kept(tmp_path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    space = {"temperature": Real(20, 90, unit="°C"), "stages": belated.Integer(1, 8, unit="of 8"), "x": Real(0, 1)}
    said = {"about": "Which bath?\nFor plant 2.", "outcome_name": "yield", "unit": "%"}
    made = create(url=url, name="bath", space=space, seed=0, **said).settings
    opened = Study.open(url, "bath").settings
    assert opened == made
    assert (opened.about, opened.outcome_label) == ("Which bath?\nFor plant 2.", "yield (%)")
    assert [opened.space.format_label(name) for name in opened.space.names] == [
        "temperature (°C)", "stages (of 8)", "x",
    ]  # fmt: skip
    assert create(url=url, name="bath", space=space, seed=0, **said).settings == made  # again, the same


def test_a_spec_without_words_is_that_of_earlier_versions() -> None:
    spec = create(seed=0).settings.spec()
    assert not {"about", "outcome_name", "unit"} & spec.keys()
    assert spec["space"]["parameters"] == [{"kind": "real", "low": 0.0, "high": 1.0, "log": False}]
    assert Settings.of(spec).outcome_label == "outcome"


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"about": "why?"}, "another about: none (got 'why?')"),
        ({"unit": "g"}, "another unit: none (got 'g')"),
        ({"space": {"x": Real(0, 1, unit="m")}}, "another space: x is a number from 0.0 to 1.0 (got x is a number from "
         "0.0 to 1.0, in m)"),
    ],
)  # fmt: skip
def test_other_words_are_another_study(other: dict[str, Any], sentence: str, tmp_path) -> None:
    place = {"url": f"sqlite:///{tmp_path}/lab.db", "name": "bath", "silence": "unknown", "seed": 0}
    create(**place)
    assert sentence in refusal(belated.AlreadyExists, **{**place, **other})


@pytest.mark.parametrize(
    "said", [{"about": ""}, {"about": "a\x00b"}, {"outcome_name": "two\nlines"}, {"unit": "m" * 41}]
)
def test_words_that_cannot_be_printed_are_refused(said: dict[str, str]) -> None:
    assert "must be printable" in refusal(silence="unknown", **said)


@pytest.mark.parametrize("kind", [Real, belated.Integer])
def test_a_unit_is_text(kind) -> None:
    with pytest.raises(InvalidInput, match="unit must be text"):
        kind(0, 1, unit=3)
