"""study.advise(): the law that it follows, and what it says; patience="auto": the study that follows it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import Contradiction, InvalidInput, Real, SimulatedClock, Study, simulate
from belated.delays.advice import adjust, integrate_survival, is_due
from belated.errors import AlreadyExists
from belated.learner.algorithms import paper
from belated.learner.delays.distributions import Distribution, Exponential, Fixed, Geometric, Poisson, Sometimes
from belated.learner.delays.survival import Arrivals
from belated.learner.gp.kernels import SE
from belated.patience import Patience
from belated.record.check import check
from belated.record.events import Adjusted, Asked, Event, Told, event_from_dict, event_to_dict, parse_event
from belated.record.ledger import open_store
from belated.record.ledger.chain import Head, Written
from belated.record.ledger.memory import MemoryLedger
from tests.support.studies import GRID, Clock, Place, list_events, state_of

POISSON = Poisson(10)


def f(params: Any) -> float:
    return -((params["x"] - 0.7) ** 2)


def create(**said: Any) -> Study:
    """A study that fits nothing: what it asks is given by the tests, unless they say otherwise."""
    implied = {} if said.get("algorithm", "default") != "default" else {"silence": "floor"}
    return Study.create(
        **{"space": GRID, "floor": -1.0, "seed": 0, "initial": 10**6, "clock": SimulatedClock(), **implied, **said}
    )


def anywhere(study: Study) -> dict[str, Any]:
    """A query at random, quicker to choose."""
    return {"x": int(np.random.default_rng([17, study.rounds]).integers(21)) / 20}


def played(study: Study, delay: Any = POISSON, rounds: int = 100, seed: int = 1, **said: Any) -> Study:
    for _ in simulate(study, f, delay=delay, rounds=rounds, seed=seed, **{"choose": anywhere, "noise": 0.2, **said}):
        pass
    return study


def recommended(study: Study) -> float:
    m = study.advise().recommended
    assert m is not None
    return m


def changes(study: Study) -> list[Adjusted]:
    return [event for event in study.events() if isinstance(event, Adjusted)]


# What a row says


@pytest.mark.parametrize("law", [POISSON, Geometric(0.2), Sometimes(POISSON, 0.5), Fixed(4)], ids=repr)
def test_the_rows_are_what_the_delays_say_and_the_least_cost_is_advised(law: Distribution) -> None:
    study = played(create(), law)
    advice, delays = study.advise(), study.delays()
    assert advice.recommended is not None
    assert [row.m for row in advice.rows] == sorted({row.m for row in advice.rows})
    for row in advice.rows:
        assert row.rho == delays.rho(row.m)
        assert row.cost == row.width / row.rho.low
        survivors = [1 - delays.rho(a).estimate for a in range(int(row.m))]
        assert row.open == pytest.approx(sum(survivors))
    best = min(advice.rows, key=lambda row: row.cost)
    assert (advice.recommended, advice.heard) == (best.m, delays.heard)
    assert advice.patience == Patience(best.m)
    assert max(row.m for row in advice.rows) == np.max(delays.rounds.waited)  # nothing beyond what was waited


def test_the_width_is_that_of_the_papers_interval() -> None:
    """With hyperparameters given, ν(m)/β is what `confidence.nu` makes of the posterior's σ."""
    algorithm = paper("GP-UCB-SDF", kernel=SE(0.2), lam=0.1, beta=2.0)
    study = played(create(algorithm=algorithm, patience=20), rounds=40)
    h = state_of(study).history(0.0)
    K = SE(0.2)(h.X, h.X)
    sigma = np.sqrt(np.diag(K - K @ np.linalg.solve(K + 0.1 * np.eye(40), K)))
    for row in study.advise().rows:
        assert row.width == pytest.approx((2.0 + np.sum(sigma[-int(row.m) :])) / 2.0)


def test_the_last_m_queries_leave_out_the_lost() -> None:
    study = played(create(), Fixed(3), rounds=30)
    wide = {row.m: row.width for row in study.advise().rows}
    for trial in study.ask(n=2):
        study.fail(trial, "lost")
    narrow = {row.m: row.width for row in study.advise().rows}
    assert narrow[3] - 1 == pytest.approx((wide[3] - 1) / 3, rel=0.2)


@given(
    st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 40),
)
def test_what_is_kept_open_is_the_sum_of_survival(waits: list[tuple[int, bool]], m: int) -> None:
    arrivals = Arrivals(np.array([float(w) for w, _ in waits]), np.array([came for _, came in waits]))
    assert integrate_survival(arrivals, m) == pytest.approx(float(np.sum(arrivals.survival.over(np.arange(float(m))))))


def test_advice_by_the_clock() -> None:
    study = played(create(patience="30d"), Exponential(36000.0), rounds=120, every="1h")
    advice, delays = study.advise(), study.delays()
    assert (advice.scale, advice.current) == ("clock", Patience(30 * 86400.0, by_clock=True))
    assert advice.patience is not None
    assert advice.patience.by_clock
    assert 6 < advice.patience.m / 3600 < 40
    assert len(str(advice.patience)) <= 4  # 13h, not 47310.25s
    for row in advice.rows:
        assert row.rho == delays.rho(row.m)
        grid = np.linspace(0, row.m, 20001)[:-1]
        rate = 120 / (study.clock() - study.trial(1).asked_at)
        assert row.open == pytest.approx(np.mean(delays.clock.arrivals.survival.over(grid)) * row.m * rate, rel=0.01)
    assert study.advise("rounds").scale == "rounds"
    with pytest.raises(InvalidInput, match='by must be "rounds" or "clock"'):
        study.advise("days")  # type: ignore[arg-type]


def test_where_no_time_has_passed_there_is_no_pace() -> None:
    clock = Clock()
    study = create(patience="1h", clock=clock)
    for trial in study.ask(n=12):
        study.tell(trial, 0.0, at=clock.now + 60.0)
    advice = study.advise()
    assert [(row.m, row.open) for row in advice.rows] == [(60.0, None), (3600.0, None)]
    assert "?" in str(advice)
    assert json.loads(json.dumps(advice.to_dict(), allow_nan=False))["rows"][0]["open"] is None


# Which m


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("algorithm", ["GP-UCB-SDF", "default"])
def test_poisson_10_is_waited_for_about_half_as_long_again(algorithm: str, seed: int) -> None:
    patience = {"patience": 20} if algorithm != "default" else {}
    study = create(algorithm=algorithm, initial=None, **patience)  # the width is that of fitted hyperparameters
    assert 13 <= recommended(played(study, seed=seed, rounds=150)) <= 25


def test_longer_delays_are_waited_for_longer() -> None:
    found = [recommended(played(create(), Poisson(mean), rounds=150)) for mean in (3, 10, 30)]
    assert found == sorted(set(found))
    assert all(m > mean for m, mean in zip(found, (3, 10, 30), strict=True))


def test_what_never_comes_is_not_waited_for() -> None:
    study = played(create(), Sometimes(POISSON, 0.5), rounds=150)
    advice = study.advise()
    assert recommended(study) <= 25
    assert max(row.m for row in advice.rows) == 150
    assert sum(row.m <= 25 for row in advice.rows) >= 4  # the quantiles are of those that come


def test_fewer_than_ten_are_too_few() -> None:
    study = create()
    for heard in range(10):
        trial = study.ask()
        advice = study.advise()
        assert (advice.recommended, advice.patience, advice.heard) == (None, None, heard)
        were = "outcome was" if heard == 1 else "outcomes were"
        assert advice.reason == (
            f"Too early to advise: {heard} {were} heard, and it takes 10. Leave patience as it is (none)."
        )
        assert [row.m for row in advice.rows] == [1.0] * (heard > 0)
        study.tell(trial, 0.0)
    assert study.advise().recommended == 1


def test_trials_added_with_their_outcome_say_nothing() -> None:
    study = create()
    for i in range(12):
        study.add({"x": i / 20}, 0.0)
    assert (study.advise().heard, study.advise().recommended) == (0, None)


def test_nothing_is_advised_while_longer_delays_cannot_have_been_seen() -> None:
    study = played(create(), Poisson(60), rounds=69)
    advice = study.advise()
    assert advice.heard >= 10
    assert advice.recommended is None
    assert "may be too short for the rest" in advice.reason
    assert recommended(played(study, Poisson(60), rounds=140)) > 60


# How it is said


def test_it_prints_a_table_and_a_reason() -> None:
    advice = played(create(algorithm="GP-UCB-SDF", patience=20)).advise()
    lines = str(advice).splitlines()
    assert lines[0].split("  ")[0] == "m"
    starts = [line.index("%") for line in lines[1 : len(advice.rows) + 1]]
    assert max(starts) - min(starts) <= 1  # 9 % or 99 %
    marked = [line for line in lines if line.endswith("advised")]
    assert [line.split()[0] for line in marked] == [f"{advice.recommended:.0f}"]
    assert [line.split()[0] for line in lines if line.endswith("now")] == ["20"]
    assert f"Advised: {advice.recommended:.0f} rounds. 9" in advice.reason
    assert "% wider" in advice.reason
    assert "% narrower" in advice.reason
    plain = json.loads(json.dumps(advice.to_dict(), allow_nan=False))
    assert plain["recommended"] == advice.recommended
    assert plain["rows"][0]["rho"] == advice.rows[0].rho._asdict()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"silence": "floor", "late": "ignore"}, "an outcome, the floor; an outcome that comes later is recorded, and"),
        ({"silence": "floor"}, "the floor; an outcome that comes later is still used"),
        ({"silence": "unknown"}, "a query that was not heard counts as never asked"),
        ({"silence": "waiting"}, "a query that was not heard counts as never asked"),
        ({"silence": "ignored"}, "The model ignores silence"),
    ],
)
def test_what_patience_means(said: dict[str, Any], words: str) -> None:
    assert words in create(**said).advise().meaning


# patience="auto"


def test_auto_is_a_setting_like_any_other(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    for word, by_clock in (("auto", False), ("auto-clock", True)):
        study = create(url=url, name=word, patience=word)
        assert study.settings.patience == Patience(math.inf, by_clock, auto=True)
        assert str(study.settings.patience) == word
        assert (study.settings.spec()["patience"], study.settings.spec()["patience_by_clock"]) == ("auto", by_clock)
        assert Study.open(url, word).settings == study.settings
        assert create(url=url, name=word, patience=word).settings == study.settings
        with pytest.raises(AlreadyExists, match=f"exists with another patience: {word} \\(got 20 rounds\\)"):
            create(url=url, name=word, patience=20)
    with pytest.raises(InvalidInput, match=r"patience must be a number of rounds such as 20, a time"):
        create(patience="automatic")


def test_the_baselines_know_no_patience_and_the_pair_may_leave_it_to_us() -> None:
    with pytest.raises(Contradiction, match=r"GP-BUCB has no patience.*\(got auto\)"):
        create(algorithm="GP-BUCB", patience="auto")
    assert create(algorithm="GP-TS-SDF", patience="auto").settings.patience.auto


@pytest.mark.parametrize("algorithm", ["default", "GP-UCB-SDF"])
def test_a_study_follows_the_advice(algorithm: str) -> None:
    study = played(create(algorithm=algorithm, patience="auto", initial=None), rounds=150, choose=None)
    made = changes(study)
    assert 1 <= len(made) <= 4
    assert study.settings.patience == Patience(made[-1].m, auto=True)
    assert str(study.settings.patience) == f"auto, now {made[-1].m:.0f} rounds"
    assert 12 <= made[-1].m <= 25
    for before, after in pairwise(made):
        assert abs(after.m - before.m) > 0.2 * before.m
    assert all(event.reason.startswith(f"Advised: {event.m:.0f} rounds. ") for event in made)
    happened = study.events()
    for event, follower in pairwise(happened):
        if isinstance(event, Adjusted):
            assert isinstance(follower, Asked)


def test_a_change_needs_half_as_many_again_to_be_heard() -> None:
    study = create(patience="auto")
    thought_about = []

    def looking(study: Study) -> dict[str, Any]:
        state = state_of(study)
        if is_due(state):
            thought_about.append(state.table.count_known(study.rounds + 1))
        return anywhere(study)

    played(study, Fixed(2), rounds=60, choose=looking)
    assert thought_about == [10, 15, 23, 35, 53]
    assert [event.m for event in changes(study)] == [2.0]  # once: it stays right


def test_an_advice_near_the_patience_in_force_changes_nothing() -> None:
    advice = replace(played(create(), rounds=60).advise(), current=Patience(auto=True))
    assert advice.recommended is not None
    for now, changed in ((math.inf, True), (advice.recommended, False), (10.0 * advice.recommended, True)):
        assert len(adjust(replace(advice, current=Patience(now, auto=True)), 5.0)) == changed
    assert not adjust(replace(advice, recommended=14.0, current=Patience(12.0, auto=True)), 0.0)
    assert adjust(replace(advice, recommended=15.0, current=Patience(12.0, auto=True)), 0.0)
    assert not adjust(replace(advice, recommended=None), 0.0)
    with pytest.raises(InvalidInput, match="for the study to change it"):
        adjust(replace(advice, current=Patience(14.0)), 0.0)


def test_the_event_is_written_and_read_back() -> None:
    event = Adjusted(m=14.0, by_clock=False, reason="Advised: 14 rounds.", at=3.0)
    plain = event_to_dict(event)
    assert plain == {"event": "patience", "m": 14.0, "by_clock": False, "reason": "Advised: 14 rounds.", "at": 3.0}
    assert event_from_dict(plain) == parse_event(json.dumps(plain)) == event


LATE = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4]


def lived(study: Study, another: Any, batch: int, clock: Clock, rounds: int = 48) -> Study:
    """Asks in batches, each heard after its own delay, some never; before every ask the study may be another handle."""
    due: dict[int, list[int]] = {}
    while study.rounds < rounds:
        for s in due.pop(study.rounds, []):
            study.tell(s, f(study.trial(s).params) + 0.2 * math.sin(7 * s))
        study = another(study)
        clock.now += 60.0
        for trial in study.ask(n=batch):
            delay = 15 if trial.number == 26 else LATE[trial.number % len(LATE)]
            delay = -(-delay // batch) * batch
            if trial.number % 7:
                due.setdefault(trial.number + delay - trial.number % batch + batch, []).append(trial.number)
    return study


def follow_advice(word: str) -> dict[str, Any]:
    return {"silence": "floor", "late": "ignore", "floor": -1.0, "patience": word, "initial": 4}


@cache
def live_alone(word: str, batch: int) -> Study:
    """A study in memory, with one handle, played to the end once for all places; nobody changes it.

    A second later no trial is as old as its patience: a handle at a server reads a clock that goes on."""
    alone = Place(None)
    study = lived(alone.create("one", **follow_advice(word)), lambda study: study, batch, alone.clock)
    alone.clock.now += 1.0
    return study


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("word", ["auto", "auto-clock"])
def test_restarts_handles_and_replays_agree(place: Place, batch: int, word: str) -> None:
    one, started = live_alone(word, batch), place.clock.now
    two = lived(place.create("two", **follow_advice(word)), place.restart, batch, place.clock)
    place.clock.now = started
    three = place.create("three", **follow_advice(word))
    pair = [three, place.another(three)]
    lived(three, lambda study: pair[pair.index(study) - 1], batch, place.clock)
    place.clock.now += 1.0
    assert changes(one)
    assert list_events(one) == list_events(two) == list_events(three)
    assert one.trials() == two.trials() == pair[0].trials() == pair[1].trials()
    assert pair[0].settings.patience == pair[1].settings.patience == one.settings.patience
    assert math.isfinite(one.settings.patience.m)
    assert {"heard", "late", "expired"} <= {trial.status for trial in one.trials()}
    for s in range(1, 49, 4):
        assert two.replay(s).same
    if place.url is not None:
        report = check(place.url, "two", replays=10)
        assert report.ok, str(report)


def test_a_receipt_never_turns() -> None:
    """Whatever patience becomes later, an outcome is late or in time by the one in force when it was told."""
    study, said = create(patience="auto", late="ignore"), {}
    for _ in simulate(study, f, delay=Geometric(0.1), rounds=150, seed=2, choose=anywhere):
        for trial in study.trials():
            if trial.outcome is not None:
                assert said.setdefault(trial.number, trial.status) == trial.status
    made = changes(study)
    assert made
    m, told = math.inf, {}
    for event in study.events():
        if isinstance(event, Adjusted):
            m = event.m
        elif isinstance(event, Told):
            told[event.number] = m
    used = state_of(study).history(0.0).seen
    for trial in study.trials():
        if trial.delay is not None:
            assert (trial.status == "late") == (trial.delay > told[trial.number])
            assert used[trial.number - 1] == (trial.status == "heard")
            note = study.tell(trial, trial.outcome).note  # type: ignore[arg-type]
            expected = f"it came after patience ({told[trial.number]:.0f} rounds): recorded, and not used by the model"
            assert note == (expected if trial.status == "late" else "")
        else:
            age = study.rounds + 1 - trial.number
            assert trial.status == ("pending" if age <= study.settings.patience.m else "expired")


def test_a_tell_that_lands_beside_the_change_is_judged_by_the_patience_before_it() -> None:
    """It is written after the choice has looked, before the change: the choice did not know it, and it is in time."""

    class Beside(MemoryLedger):
        def append(self, made: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
            if isinstance(made[0], Adjusted):
                super().append([Told(number=1, value=-0.25, noise=None, at=0.0)])
            return super().append(made, seen, about)

    created = create(patience="auto", late="ignore", initial=3).settings
    study = Study(created, Beside(), None, time.time)
    for _ in range(30):
        t = study.rounds
        if t > 4:
            study.tell(t - 1, f(study.trial(t - 1).params))
        trial = study.ask()
        if changes(study):
            break
    first = study.trial(1)
    assert study.settings.patience.m < trial.number  # by now it would be late
    assert (first.status, first.known_from) == ("heard", trial.number + 1)
    for _ in range(3):
        study.ask()
    again = Study(study.original_settings, MemoryLedger(study.events()), None, study.clock)
    assert again.trials() == study.trials()
    assert all(study.replay(s).same for s in range(1, study.rounds + 1))


def test_a_choice_knows_the_patience_that_was_in_force() -> None:
    """The query at which patience changes was chosen with the one before; the next one with the new one."""
    study = played(create(patience="auto"), Fixed(3), rounds=40)
    at = next(i for i, event in enumerate(study.events(), start=1) if isinstance(event, Adjusted))
    asked = [event for event in study.events() if isinstance(event, Asked)]
    carrier = next(event for event in study.events()[at:] if isinstance(event, Asked))
    assert carrier.knew < at
    assert asked[carrier.number].knew > at


def test_check_finds_a_change_that_is_not_the_studys_to_make(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    change = Adjusted(m=5.0, by_clock=False, reason="because", at=0.0)
    for name, patience, wrong, words in (
        ("stated", 3, change, "patience 3 rounds was changed, which the study may not do"),
        ("scale", "auto", replace(change, by_clock=True), "was changed, which the study may not do"),
        ("zero", "auto", replace(change, m=0.0), "patience was changed to 0.0: it needs a time, and a reason"),
        ("half", "auto", replace(change, m=2.5), "patience was changed to 2.5: it needs a time, and a reason"),
        ("mute", "auto", replace(change, reason=" "), "it needs a time, and a reason"),
        ("torn", "auto", change, "the query that was asked at that moment is missing"),
    ):
        study = create(url=url, name=name, patience=patience)
        study.ask()
        open_store(url).ledger(name).append([wrong])
        study.disconnect()
        report = check(url, name)
        assert [finding.invariant for finding in report.findings] == ["I9"], str(report)
        assert words in str(report)


def test_simulated_workers_are_free_once_patience_is_chosen() -> None:
    """Half of all never come back: without a patience every worker would wait for ever."""
    study = create(patience="auto-clock", silence="unknown")
    played(study, Sometimes(Exponential(3600.0), 0.9), rounds=120, workers=20)
    assert len(changes(study)) >= 1
    assert study.rounds == 120


def test_an_older_ledger_has_no_such_event_and_opens() -> None:
    study = played(create(patience=5), rounds=20)
    again = Study(study.original_settings, MemoryLedger(study.events()), None, study.clock)
    assert not changes(again)
    assert again.trials() == study.trials()


def test_continuous_spaces_and_contexts_are_advised_too() -> None:
    study = Study.create(space={"x": Real(0, 1)}, context={"z": Real(0, 1)}, silence="unknown", patience="auto", seed=0)
    for _ in simulate(
        study,
        lambda p, z: p["x"] * z["z"],
        delay=Fixed(3),
        rounds=20,
        seed=0,
        contexts=lambda s: {"z": s % 5 / 5},
        choose=lambda study: {"x": study.rounds % 7 / 7},
    ):
        pass
    assert recommended(study) == 3
    assert [event.m for event in changes(study)] == [3.0]
