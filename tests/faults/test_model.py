"""The model dies in mid-ask: no trial or a complete fallback trial, and the study is not wedged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from belated import BelatedError, Real, Study
from belated.learner import decide as deciding
from tests.faults.world import Lab, client, sound


@pytest.mark.parametrize(
    "error", [MemoryError, RuntimeError, KeyboardInterrupt, np.linalg.LinAlgError, FloatingPointError]
)
@pytest.mark.parametrize("dying", ["belief_at", "refit", "choose"])
def test_the_model_raises(
    rested: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], dying: str
) -> None:
    here = rested.copy(tmp_path / "here")
    before = sound(here.url)
    study = here.open()

    def dies(*words: object, **named: object) -> object:
        raise error("the model died")

    fell_back = False
    with monkeypatch.context() as patched:
        patched.setattr(deciding, dying, dies)
        try:
            trial = study.ask(key="the-ask")
        except error:
            pass
        else:
            fell_back = True
            assert "fell back" in trial.note or dying == "refit"
    assert fell_back or not issubclass(error, np.linalg.LinAlgError | FloatingPointError)  # numerics never raise
    left = sound(here.url)
    assert (left.events, left.trials) == (before.events + fell_back, before.trials + fell_back)
    trial = study.ask(key="the-ask")  # the same study object goes on
    assert trial.number == before.trials + 1
    assert here.open().ask(key="the-ask").params == trial.params
    assert here.open().ask().number == before.trials + 2
    assert sound(here.url).trials == before.trials + 2


def test_a_batch_whose_third_choice_dies_leaves_nothing(
    rested: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = rested.copy(tmp_path / "here")
    before, study, calls = sound(here.url), here.open(), []
    choose = deciding.choose

    def dies(*words: object, **named: object) -> object:
        calls.append(words)
        if len(calls) == 3:
            raise MemoryError
        return choose(*words, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(deciding, "choose", dies)
        with pytest.raises(MemoryError):
            study.ask(n=3, key="the-batch")
    assert sound(here.url).events == before.events
    assert [trial.number for trial in study.ask(n=3, key="the-batch")] == [before.trials + i for i in (1, 2, 3)]
    assert sound(here.url).trials == before.trials + 3


def test_an_ask_without_memory(rested: Lab, tmp_path: Path) -> None:
    """RLIMIT_AS at what is in use already: it may manage, fall back, or say MemoryError; it leaves no half trial."""
    here = rested.copy(tmp_path / "here")
    study = here.open()
    for i in range(40):  # enough that the belief needs memory of its own
        study.tell(study.ask(), 0.01 * i)
    before = sound(here.url)
    answer = client(here.url, "starved")
    assert answer.status in (0, 1, 2), answer
    left = sound(here.url)
    complete = answer.acknowledged and isinstance(answer.last, dict)
    assert left.trials - before.trials == complete
    trial = here.open().ask(key="the-ask")
    assert trial.number == before.trials + 1
    if complete:
        assert dict(trial.params) == answer.last["params"]
    assert sound(here.url).trials == before.trials + 1


@pytest.mark.parametrize("reading", [float("nan"), float("inf"), "noon", None])
def test_a_clock_that_breaks_in_mid_ask(tmp_path: Path, reading: object) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    readings: list[object] = [1.0]
    study = Study.create(
        url, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=1, clock=lambda: readings[-1]  # type: ignore[arg-type, return-value]
    )  # fmt: skip
    study.tell(study.ask(), 0.5)
    readings.append(reading)
    with pytest.raises(BelatedError):
        study.ask()
    readings.append(2.0)
    assert study.ask().number == 2
    assert sound(url).trials == 2
