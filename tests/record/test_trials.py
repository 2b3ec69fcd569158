"""From events to trials: the paper's indicator, ages, delays and statuses, in rounds and by the clock.

H heard   P pending   L late   E expired   F failed
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import AlreadyTold, Real, Study, Unreadable
from belated.record.events import Amended, Asked, Event, Failed, Told, event_to_columns, parse_plain
from belated.record.state import State
from belated.results import Receipt, Trial

LETTER = {"heard": "H", "pending": "P", "late": "L", "expired": "E", "failed": "F"}


def state(patience: Any = None, late: Any = "ignore") -> State:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience=patience, late=late, seed=0)
    return State(study.settings)


def ask(state: State, at: float = 0.0, considered_at: float | None = None) -> int:
    s = state.next_number
    considered = at if considered_at is None else considered_at
    asked = Asked(
        number=s, params={"x": s / 1000}, context=None, knew=state.position, considered_at=considered, asked_at=at
    )
    state.apply(asked)
    return s


def tell(state: State, s: int, value: float = 1.0, at: float = 0.0) -> None:
    state.apply(Told(number=s, value=value, noise=None, at=at))


def fail(state: State, s: int, kind: Any, at: float = 0.0) -> None:
    state.apply(Failed(number=s, kind=kind, at=at))


def letters(state: State, now: float = 0.0) -> str:
    return "".join(LETTER[state.status(s, now)] for s in range(1, state.next_number))


def marks(mask: np.ndarray) -> str:
    return "".join("1" if one else "." for one in mask)


# The indicator, round by round ----------------------------------------------------------------------------------------

# patience 3. Before ask t the outcomes in the second column are told; then, about the queries 1 ... t-1:
# their statuses, and which of them the choice of query t may use when late ones are ignored, or used.
TABLE = [
    # t  told   statuses     1{d <= min(m, t-s)}   with late ones
    (1, [], "", "", ""),
    (2, [1], "H", "1", "1"),  #                          d_1 = 1
    (3, [], "HP", "1.", "1."),
    (4, [3], "HPH", "1.1", "1.1"),
    (5, [2], "HHHP", "111.", "111."),  #                 d_2 = 3 = m: just in time
    (6, [], "HHHPP", "111..", "111.."),
    (7, [6], "HHHPPH", "111..1", "111..1"),  #           query 4 has age 3 = m: still pending
    (8, [4], "HHHLPHP", "111..1.", "1111.1."),  #        d_4 = 4 > m: late
    (9, [], "HHHLEHPP", "111..1..", "1111.1.."),  #      query 5 has age 4 > m: expired
    (10, [5, 9], "HHHLLHPPH", "111..1..1", "111111..1"),  # d_5 = 5; query 7 has age 3
    (11, [], "HHHLLHEPHP", "111..1..1.", "111111..1."),
]


@pytest.mark.parametrize("late", ["ignore", "use"])
def test_the_indicator_of_the_paper_round_by_round(late: str) -> None:
    s = state(3, late)
    for t, told, statuses, in_time, with_late in TABLE:
        for number in told:
            tell(s, number)
        h = s.history(0.0)
        assert letters(s) == statuses, t
        assert marks(h.seen) == (in_time if late == "ignore" else with_late), t
        assert marks(h.pending) == statuses.translate(str.maketrans("HLEP", "...1")), t
        assert marks(h.recent) == "." * max(0, t - 4) + "1" * min(3, t - 1), t  # s = max(1, t-m) ... t-1
        assert s.table.ages(0.0).tolist() == [t - number for number in range(1, t)]
        assert ask(s) == t


DELAYS = st.lists(st.one_of(st.integers(0, 12).map(float), st.just(math.inf)), min_size=1, max_size=25)


@given(DELAYS, st.integers(1, 10))
def test_what_may_be_used_is_one_if_the_delay_is_within_patience_and_age(delays: list[float], m: int) -> None:
    """y_s is told just before ask s + max(1, d_s); then seen = 1{d_s <= min(m, t - s)} at every t."""
    s = state(m)
    d = [max(1.0, delay) for delay in delays]
    for t in range(1, len(d) + 2):
        for number in range(1, t):
            if number + d[number - 1] == t:
                tell(s, number)
        h = s.history(0.0)
        assert h.seen.tolist() == [d[number - 1] <= min(m, t - number) for number in range(1, t)]
        assert h.pending.tolist() == [d[number - 1] > t - number and t - number <= m for number in range(1, t)]
        if t <= len(d):
            ask(s)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=20),
    st.integers(1, 25),
)
def test_by_the_clock_delay_and_age_are_lengths_of_time(steps: list[tuple[int, int]], m: int) -> None:
    """Query s is asked `gap` seconds after the one before and told d_s seconds later: 1{d_s <= min(m, τ̄_t - τ_s)}."""
    s, now, asked_at, delays = state(f"{m}s"), 0, list[int](), list[int]()
    untold: set[int] = set()
    for gap, delay in steps:
        now += gap
        for i in sorted(untold):
            if asked_at[i] + delays[i] <= now:
                tell(s, i + 1, at=float(asked_at[i] + delays[i]))
                untold.remove(i)
        h = s.history(float(now))
        expected = [d <= min(m, now - tau) for d, tau in zip(delays, asked_at, strict=True)]
        assert h.seen.tolist() == expected
        assert h.recent.tolist() == [now - tau <= m for tau in asked_at]
        assert h.pending.tolist() == [i in untold and now - tau <= m for i, tau in enumerate(asked_at)]
        untold.add(ask(s, at=float(now)) - 1)
        asked_at.append(now)
        delays.append(delay)


# Delays and ages ------------------------------------------------------------------------------------------------------


def test_every_query_of_a_batch_counts_one_round() -> None:
    s = state(2)
    for _ in range(4):
        ask(s)
    assert s.table.ages(0.0).tolist() == [4, 3, 2, 1]
    assert letters(s) == "EEPP"
    tell(s, 3)
    tell(s, 1)
    assert [s.trial(n, 0.0).delay for n in (1, 3)] == [4, 2]
    assert letters(s) == "LEHP"


def test_in_rounds_times_are_only_recorded() -> None:
    s = state(2)
    ask(s, at=100.0)
    tell(s, 1, at=1e9)
    trial = s.trial(1, 0.0)
    assert (trial.asked_at, trial.told_at, trial.delay, trial.status) == (100.0, 1e9, 1.0, "heard")


def test_without_patience_nothing_is_ever_late_or_expired() -> None:
    s = state(None)
    for _ in range(50):
        ask(s)
    tell(s, 1)
    assert letters(s) == "H" + "P" * 49


@pytest.mark.parametrize(
    ("told_at", "delay", "status"), [(110.0, 10.0, "heard"), (110.5, 10.5, "late"), (50, 0, "heard")]
)
def test_by_the_clock_the_delay_is_from_asked_at_and_never_negative(told_at: float, delay: float, status: str) -> None:
    s = state("10s")
    ask(s, at=100.0)
    tell(s, 1, at=told_at)
    trial = s.trial(1, 1e6)
    assert (trial.delay, trial.status) == (delay, status)


def test_a_clock_behind_the_asking_gives_age_zero() -> None:
    s = state("10s")
    ask(s, at=1000.0)
    assert s.table.ages(5.0).tolist() == [0.0]
    assert letters(s, 5.0) == "P"


def test_what_was_told_is_seen_though_the_clock_says_otherwise() -> None:
    """The tell is at an earlier position: the clock decides ages, not order."""
    s = state("10s")
    ask(s, at=1000.0)
    tell(s, 1, at=1008.0)
    assert s.history(1001.0).seen.tolist() == [True]
    assert s.history(0.0).seen.tolist() == [True]


# Failures -------------------------------------------------------------------------------------------------------------


def test_failures_take_a_query_out_or_count_it_as_the_floor() -> None:
    s = state(2)
    for kind in ("lost", "infeasible", "withdrawn"):
        fail(s, ask(s), kind)
    ask(s)
    h = s.history(0.0)
    assert letters(s) == "FFFP"
    assert marks(h.gone) == "1.1."
    assert marks(h.infeasible) == ".1.."
    assert marks(h.pending) == "...1"
    assert marks(h.known) == ".1.."
    assert marks(h.seen) == "...."
    assert marks(h.recent) == "...1"  # of ages 4, 3, 2, 1: within patience are 3 and 4, and 3 is withdrawn
    assert [s.trial(n, 0.0).failure for n in range(1, 5)] == ["lost", "infeasible", "withdrawn", None]


def test_an_outcome_after_lost_brings_the_query_back() -> None:
    s = state(5)
    fail(s, ask(s), "lost")
    tell(s, 1, 0.25)
    h, trial = s.history(0.0), s.trial(1, 0.0)
    assert (marks(h.seen), marks(h.gone)) == ("1", ".")
    assert (trial.status, trial.outcome, trial.failure) == ("heard", 0.25, None)


# Values ---------------------------------------------------------------------------------------------------------------


def test_a_trial_that_was_just_asked() -> None:
    s = state(5)
    ask(s, at=3.0, considered_at=2.0)
    assert s.trial(1, 3.0) == Trial(number=1, params={"x": 0.001}, asked_at=3.0, status="pending")


def test_trials_and_receipts_cannot_be_changed() -> None:
    s = state(5)
    ask(s)
    trial, receipt = s.trial(1, 0.0), Receipt(number=1, status="heard", delay=1.0, used=True)
    for value, name in ((trial, "status"), (trial, "outcome"), (receipt, "status")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, "heard")
    trial.params["x"] = 9.0  # type: ignore[index]  # a copy: the state keeps its own
    assert s.trial(1, 0.0).params == {"x": 0.001}


def test_arrays_grow_with_the_trials_and_keep_what_they_hold() -> None:
    s = state(1000)
    for number in range(1, 151):
        ask(s, at=float(number))
        if number % 3 == 0:
            tell(s, number, value=float(number), at=float(number))
    h = s.history(0.0)
    assert h.number.tolist() == list(range(1, 151))
    assert h.X[:, 0].tolist() == [number / 1000 for number in range(1, 151)]
    assert h.seen.tolist() == [number % 3 == 0 for number in range(1, 151)]
    assert h.y[h.seen].tolist() == [float(number) for number in range(3, 151, 3)]
    assert np.all(np.diff(h.order[h.seen]) > 0)


def test_a_fork_goes_on_by_itself() -> None:
    s = state(5)
    for _ in range(3):
        ask(s)
    before = letters(s)
    other = s.fork()
    ask(other)
    assert (other.next_number, other.position) == (5, 4)
    assert (s.next_number, s.position, letters(s)) == (4, 3, before)
    assert s.history(0.0).X.shape == (3, 1)
    ask(s)
    tell(s, 4)
    assert letters(other) == "PPPP"


# What choices knew ----------------------------------------------------------------------------------------------------


def test_a_choice_does_not_know_what_was_told_while_it_was_computed() -> None:
    """known_from is the first t with position of the tell <= knew_t; the delay goes by the order of the record."""
    s = state(patience=2)
    for _ in range(2):
        ask(s)  # 1 and 2, at positions 1 and 2
    tell(s, 1)
    looked = s.position
    tell(s, 2)
    assert [s.trial(n, 0.0).known_from for n in (1, 2)] == [3, 3]
    for number in (3, 4):  # a batch that had looked before trial 2 was told
        words: dict[str, Any] = {"params": {"x": 0.5}, "context": None, "considered_at": 0.0, "asked_at": 0.0}
        s.apply(Asked(number=number, knew=looked, part=number - 3, parts=2, **words))
        assert [s.trial(n, 0.0).known_from for n in (1, 2)] == [3, number + 1]
    ask(s)
    ask(s)
    assert [s.trial(n, 0.0).known_from for n in (1, 2)] == [3, 5]
    assert [s.trial(n, 0.0).delay for n in (1, 2)] == [2.0, 1.0]
    assert [s.status(n, 0.0) for n in (1, 2)] == ["heard", "heard"]


def test_later_events_do_not_change_a_history() -> None:
    s = state(late="use")
    for _ in range(40):
        ask(s)
    tell(s, 1)
    h = s.history(0.0)
    before = [np.array(getattr(h, f.name)) for f in dataclasses.fields(h)]
    for n in range(1, 30):
        tell(s, n, value=float(n))
    for n, kind in ((31, "lost"), (32, "infeasible")):
        fail(s, n, kind)
    s.apply(Amended(number=1, reason="a typing error", at=0.0, value=9.0, noise=1.0))
    for _ in range(100):
        ask(s)
    for f, value in zip(dataclasses.fields(h), before, strict=True):
        np.testing.assert_array_equal(getattr(h, f.name), value)


# From JSON, and back to records ---------------------------------------------------------------------------------------


def live_through_everything() -> Study:
    """A study with every kind of event that is about a trial."""
    readings = iter(np.arange(1000.0))
    study = Study.create(
        space={"x": Real(0, 1)},
        context={"dose": Real(0, 9)},
        silence="unknown",
        patience="5s",
        seed=0,
        clock=lambda: float(next(readings)),
    )
    for dose in range(8):
        study.ask(context={"dose": dose}, key=f"flask {dose}")
    study.add({"x": 0.25}, 0.5, context={"dose": 1.0}, at=3.0, noise=0.1, key="old")
    study.tell(1, 0.7, key="first")
    study.tell(1, 0.7, key="again")
    with pytest.raises(AlreadyTold):
        study.tell(1, 0.8)
    study.tell(2, 0.6, noise=0.2)
    for value in (0.1, 0.2):
        study.amend(2, value, reason="a typing error")
    study.fail(3, "lost")
    study.tell(3, 0.3, key="it came after all")
    study.fail(4, "lost")
    study.fail(5, "infeasible")
    study.fail(6, "withdrawn")
    study.tell(7, 0.4, at=-3.0)
    study.close()
    return study


def fold_from_json(study: Study) -> State:
    after = State(study.original_settings)
    for event in study.events():
        body = event_to_columns(event)[-1]
        after.apply_plain(parse_plain(body), body)
    return after


def test_events_folded_from_json_are_as_events() -> None:
    study = live_through_everything()
    events = study.events()
    assert {type(event).__name__ for event in events} >= {"Asked", "Told", "Repeated", "Refused", "Failed", "Amended"}
    one, two = State.after(study.original_settings, events), fold_from_json(study)
    assert list(two.rows) == list(one.rows)
    keys = one.table.keys.list_positions()
    assert two.table.keys.list_positions() == keys
    assert [two.table.keys.get(key) for key in keys] == [one.table.keys.get(key) for key in keys]
    assert (two.position, two.closed, two.versions) == (one.position, one.closed, one.versions)
    for now in (0.0, 8.0, 100.0):
        numbers = range(1, one.next_number)
        assert [two.trial(s, now) for s in numbers] == [one.trial(s, now) for s in numbers]
        for name, value in vars(one.history(now)).items():
            np.testing.assert_array_equal(getattr(two.history(now), name), value)


def test_a_record_holds_the_events_of_its_trial() -> None:
    study = live_through_everything()
    rows, events = fold_from_json(study).rows, study.events()

    def find(kind: type[Event], number: int) -> Event | None:
        found = next((e for e in events if isinstance(e, kind) and getattr(e, "number", None) == number), None)
        return found and dataclasses.replace(found, recorded_at=None)  # when it was written is for the log

    for number, row in enumerate(rows, start=1):
        assert row.asked == find(Asked, number)
        assert row.first_told == find(Told, number)
        assert row.failed == find(Failed, number)
    assert rows[1].told == Told(number=2, value=0.2, noise=None, at=find(Told, 2).at)  # type: ignore[union-attr]
    assert [row.amended for row in rows] == [0, 2, 0, 0, 0, 0, 0, 0, 0]
    assert rows[-1] == rows[8]
    assert rows[:2] == [rows[0], rows[1]]
    with pytest.raises(IndexError):
        rows[9]


@pytest.mark.parametrize("number", [0, 2])
def test_what_happens_to_a_trial_that_was_not_asked_is_no_record(number: int) -> None:
    s = state()
    ask(s)
    with pytest.raises(
        Unreadable, match=rf"event 2 does not fit those before it \(IndexError: there is no trial {number}"
    ):
        tell(s, number)


@pytest.mark.parametrize(
    "body",
    [
        '{"event": "told", "number": 1, "value": 1.0, "noise": null, "at": 0.0, "mood": "good"}',
        '{"event": "told", "number": 1, "value": 1.0, "noise": null}',
        '{"event": "moved", "number": 1}',
        '{"event": "closed", "at": 0.0} {"event": "closed", "at": 0.0}',
        '{"number": 1}',
        "[]",
        "",
    ],
)
def test_what_is_no_event_is_refused(body: str) -> None:
    for _ in range(2):  # what is known to be an event is not looked at twice; this is
        with pytest.raises((ValueError, TypeError, KeyError)):
            parse_plain(body)
