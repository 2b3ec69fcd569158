"""What every ledger promises. A test class for one kind of ledger says how to get handles on one study's events."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import belated.record.ledger.chain
from belated.errors import StoreChanged, Taken
from belated.record.events import (
    Amended,
    Asked,
    Ended,
    Event,
    Failed,
    Refused,
    Repeated,
    Told,
    event_from_dict,
    event_to_dict,
)
from belated.record.ledger import Ledger, open_store
from belated.record.ledger.chain import Head, Written
from tests.support.examples import examples

Handles = Callable[[], Ledger]  # each call another handle on the same events


def asked(number: int, **said: Any) -> Asked:
    words: dict[str, Any] = {"params": {"x": 0.5}, "context": None, "knew": 0, "considered_at": 0.0, "asked_at": 0.0}
    return Asked(**{**words, "number": number, **said})


def told(number: int, value: float = 1.0, **said: Any) -> Told:
    return Told(number=number, value=value, noise=said.pop("noise", None), at=0.0, **said)


def failed(number: int, kind: Any = "lost") -> Failed:
    return Failed(number=number, kind=kind, at=0.0)


def repeated(number: int, key: str) -> Repeated:
    return Repeated(number=number, value=1.0, noise=None, at=0.0, key=key)


def refused(number: int, value: float = 2.0) -> Refused:
    return Refused(number=number, value=value, noise=None, at=0.0)


def amended(number: int, value: float = 3.0) -> Amended:
    return Amended(number=number, reason="a typing error", at=0.0, value=value)


def everything(ledger: Ledger, after: Head | None = None) -> list[Event]:
    return [entry.event for entry in ledger.read(after)]


# Every event with every field, and values that a careless ledger would change.
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
MAYBE = st.none() | FLOATS
TEXT = st.text(max_size=20)  # NUL, quotes, lone surrogates, other alphabets
PLAIN = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | FLOATS | TEXT
PARAMS = st.dictionaries(TEXT, PLAIN, max_size=4)
NESTED = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
NUMBERS = st.integers(1, 10**12)
KEYS = st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=40)
EVENTS: dict[str, st.SearchStrategy[Event]] = {
    "asked": st.builds(
        Asked,
        number=NUMBERS,
        params=PARAMS,
        context=st.none() | PARAMS,
        knew=st.integers(0, 10**12),
        considered_at=FLOATS,
        asked_at=FLOATS,
        by_hand=st.booleans(),
        told_at_once=st.booleans(),
        fixed=st.none() | PARAMS,
        note=TEXT,
        fitted=st.none() | st.dictionaries(TEXT, NESTED, max_size=3),
        key=KEYS,
        part=st.integers(0, 1000),
        parts=st.integers(1, 1001),
        knew_trials=st.none() | st.integers(0, 10**12),
        versions=st.none() | st.dictionaries(TEXT, TEXT, max_size=3),
    ),
    "told": st.builds(Told, number=NUMBERS, value=FLOATS, noise=MAYBE, at=FLOATS, key=KEYS),
    "repeated": st.builds(Repeated, number=NUMBERS, value=FLOATS, noise=MAYBE, at=FLOATS, key=KEYS.filter(bool)),
    "refused": st.builds(Refused, number=NUMBERS, value=FLOATS, noise=MAYBE, at=FLOATS),
    "failed": st.builds(Failed, number=NUMBERS, kind=st.sampled_from(["lost", "infeasible", "withdrawn"]), at=FLOATS),
    "amended": st.builds(
        Amended,
        number=st.none() | NUMBERS,
        reason=TEXT,
        at=FLOATS,
        value=MAYBE,
        noise=MAYBE,
        floor=MAYBE,
        limits=st.none() | st.tuples(FLOATS, FLOATS),
    ),
    "closed": st.builds(Ended, at=FLOATS),
}

ONCE: dict[str, tuple[list[Event], Event]] = {
    "a number asked twice": ([asked(1)], asked(1, params={"x": 0.7})),
    "a number told twice": ([asked(1), told(1)], told(1, 2.0)),
    "a number told the same twice": ([asked(1), told(1)], told(1)),
    "a number failed twice": ([asked(1), failed(1)], failed(1, "infeasible")),
    "a key asked twice": ([asked(1, key="k")], asked(2, key="k")),
    "a key and part twice": ([asked(1, key="k"), asked(2, key="k", part=1)], asked(3, key="k", part=1)),
    "a key told twice": ([asked(1), asked(2), told(1, key="k")], told(2, key="k")),
    "a key told and repeated": ([asked(1), told(1, key="k")], repeated(1, key="k")),
    "a key repeated twice": ([asked(1), told(1), repeated(1, key="k")], repeated(1, key="k")),
    "a key for an ask and a tell": ([asked(1, key="k")], told(1, key="k")),
}
OFTEN: dict[str, list[Event]] = {
    "refusals": [asked(1), told(1), refused(1), refused(1), refused(1)],
    "repeats with other keys": [asked(1), told(1), repeated(1, key="k"), repeated(1, key="l")],
    "amendments": [asked(1), told(1), amended(1), amended(1)],
    "a tell after a failure": [asked(1), failed(1), told(1)],
    "a failure after a tell": [asked(1), told(1), failed(1)],
    "parts of one key": [asked(1, key="k", parts=3), asked(2, key="k", part=1), asked(3, key="k", part=2)],
    "no key": [asked(1), asked(2), told(1), told(2)],
    "closing": [Ended(at=0.0), Ended(at=1.0)],
}


@contextmanager
def open_handles(url: str) -> Iterator[Handles]:
    """Handles on a new study. Each has a store, and so a connection, of its own."""
    first = open_store(url, create=True)
    stores = [first]
    name = f"study-{len(first.names())}"
    assert first.create(name, {})
    if first.create("another", {}):
        first.ledger("another").append([asked(1, key="k"), told(1)])  # which must not be in the way

    def handle() -> Ledger:
        stores.append(open_store(url))
        return stores[-1].ledger(name)

    yield handle
    for each in stores:
        each.close()


class LedgerContract:
    """Subclasses give the fixture `handles`, on the events of a new study."""

    @pytest.fixture
    def handles(self) -> Any:
        raise NotImplementedError

    # Order --------------------------------------------------------------------------------------------------------

    def test_positions_count_from_one_in_the_order_of_writing(self, handles: Handles) -> None:
        ledger = handles()
        assert everything(ledger) == []
        assert ledger.append([asked(1)]).position == 1
        assert ledger.append([asked(2), told(2), asked(3)]).position == 4
        assert ledger.append([refused(2)]).position == 5
        whole = [asked(1), asked(2), told(2), asked(3), refused(2)]
        assert everything(ledger) == whole
        for after, entry in enumerate(ledger.read(), start=1):
            assert entry.head.position == after
            assert everything(ledger, entry.head) == whole[after:]

    def test_two_handles_see_each_other_at_once(self, handles: Handles) -> None:
        one, two = handles(), handles()
        assert one.append([asked(1)]).position == 1
        assert everything(two) == [asked(1)]
        (first,) = two.read()
        assert two.append([told(1)]).position == 2
        assert everything(one, first.head) == [told(1)]
        assert one.append([asked(2)]).position == 3
        assert everything(handles()) == everything(two) == [asked(1), told(1), asked(2)]

    def test_what_was_read_stays_as_it_was(self, handles: Handles) -> None:
        one, two = handles(), handles()
        one.append([asked(1), asked(2)])
        reading = two.read()
        first = next(reading)
        one.append([told(1)])
        assert [entry.event for entry in [first, *reading]][:2] == [asked(1), asked(2)]

    @pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6, 8])
    def test_events_are_read_part_by_part(self, handles: Handles, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
        monkeypatch.setattr("belated.record.ledger.chain.PART", 3)
        one, two = handles(), handles()
        events = [asked(number) for number in range(1, count + 1)]
        for event in events:
            one.append([event])
        heads = [entry.head for entry in two.read()]
        assert everything(two) == events
        assert [everything(two, head) for head in heads] == [events[after:] for after in range(1, count + 1)]

    def test_some_events_are_read_by_position_and_kind(self, handles: Handles) -> None:
        handles().append([asked(1), told(1), asked(2), refused(1), asked(3)])
        whole = list(handles().read())
        assert list(handles().read_at(1, 5)) == whole
        assert list(handles().read_at(2, 4)) == whole[1:4]
        assert list(handles().read_at(2, 5, "asked")) == [whole[2], whole[4]]
        assert list(handles().read_at(3, 3, "told")) == list(handles().read_at(6, 9)) == []

    def test_of_snapshots_the_last_is_kept_if_any(self, handles: Handles, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(belated.record.ledger.chain, "SNAPSHOT_PART", 4)
        handles().append([asked(1), told(1)])
        assert list(handles().load_snapshots()) == []
        for position, snapshot in ((1, b"some words"), (2, bytes(range(256))), (2, b"four")):
            handles().save_snapshot(position, snapshot)
            assert list(handles().load_snapshots()) in ([], [snapshot])
        handles().drop_snapshots()
        assert list(handles().load_snapshots()) == []
        assert len(list(handles().read())) == 2

    def test_closing_a_handle_loses_nothing(self, handles: Handles) -> None:
        one, two = handles(), handles()
        one.append([asked(1)])
        one.close()
        two.append([told(1)])
        one.close()
        assert everything(one) == [asked(1), told(1)]  # a closed handle opens again when it is used
        assert one.append([asked(2)]).position == 3

    # Chained -------------------------------------------------------------------------------------------------------

    def test_an_append_names_any_event_that_it_has_seen(self, handles: Handles) -> None:
        """Not only the newest: what others write in between is no reason to refuse."""
        one, two = handles(), handles()
        heads = [one.append([event]).head for event in (asked(1), asked(2), told(2))]
        assert two.append([told(1)], heads[0]).position == 4
        assert two.append([refused(1)], heads[2]).position == 5
        assert [entry.head for entry in two.read()][:3] == heads

    def test_an_append_says_what_others_wrote_since(self, handles: Handles) -> None:
        """So its writer has nothing left to read."""
        one, two = handles(), handles()
        assert one.append([asked(1)]).since == [asked(1)]
        seen = one.append([asked(2, key="k")]).head
        assert one.append([told(2)], seen).since == [told(2)]
        two.append([told(1, key="é"), refused(1)])
        written = one.append([asked(3), asked(4)], seen)
        assert written.since == [told(2), told(1, key="é"), refused(1), asked(3), asked(4)]
        assert everything(two, written.head) == []
        with two.lock_asks(after=seen) as turn:
            assert everything(turn, seen) == written.since
            assert turn.append([told(3)], written.head).since == [told(3)]
        assert two.append([told(4)]).since == [told(4)]  # nothing was seen

    def test_what_is_decided_about_a_trial_without_reading_is_refused_after_news_of_it(self, handles: Handles) -> None:
        one, two = handles(), handles()
        seen = one.append([asked(1), asked(2), asked(3)]).head
        two.append([asked(4), told(2), repeated(2, "k"), refused(2), failed(3)], seen)
        written = one.append([told(1)], seen, about=1)  # others asked, and told of other trials
        assert written.since == [asked(4), told(2), repeated(2, "k"), refused(2), failed(3), told(1)]
        for news in (refused(4), amended(2), Ended(at=0.0)):
            before = two.append([asked(10 + written.position)]).head
            written = two.append([news], before)
            with pytest.raises(Taken):
                one.append([told(4)], before, about=4)
            assert one.append([refused(4)], before).position == written.position + 1  # as before without `about`
        with one.lock_asks(after=before) as turn, pytest.raises(Taken):
            turn.append([told(4)], before, about=4)
        last = everything(two)[-1]
        assert last == refused(4)
        assert one.append([told(4)], [entry.head for entry in one.read()][-1], about=4).since == [told(4)]

    def test_a_turn_reads_on_from_wherever_its_holder_is(self, handles: Handles) -> None:
        """Though it has read some of it together with the lock."""
        one, two = handles(), handles()
        heads = [one.append([event]).head for event in (asked(1), asked(2), told(2))]
        for after in (None, *heads):
            for head in (None, *heads):
                with two.lock_asks(after=after) as turn:
                    place = 0 if head is None else head.position
                    assert everything(turn, head) == [asked(1), asked(2), told(2)][place:]
        with two.lock_asks(after=heads[0]) as turn:
            latest = one.append([told(1)]).head
            assert everything(turn, latest) == []  # another thread of its process has read further

    def test_an_event_that_is_not_there_is_a_reason_to_refuse(self, handles: Handles) -> None:
        ledger = handles()
        if type(ledger).__name__ == "MemoryLedger":
            return  # nobody can change it
        first = ledger.append([asked(1)]).head
        for wrong in (Head(1, bytes(32)), Head(2, first.hash), Head(7, bytes(32))):
            with pytest.raises(StoreChanged, match=f"event {wrong.position} of this study"):
                ledger.append([asked(2)], wrong)
            with pytest.raises(StoreChanged, match=f"event {wrong.position} of this study"):
                list(ledger.read(wrong))
        assert everything(ledger) == [asked(1)]

    # All or nothing -----------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("case", ONCE)
    def test_once_only(self, handles: Handles, case: str) -> None:
        before, twice = ONCE[case]
        one, two = handles(), handles()
        one.append(before)
        for ledger in (one, two, handles()):
            with pytest.raises(Taken):
                ledger.append([twice])
        assert everything(one) == everything(two) == before
        assert two.append([Ended(at=0.0)]).position == len(before) + 1  # no position was used up

    @pytest.mark.parametrize("case", ONCE)
    def test_once_only_in_one_append(self, handles: Handles, case: str) -> None:
        before, twice = ONCE[case]
        ledger = handles()
        with pytest.raises(Taken):
            ledger.append([*before, twice])
        assert everything(ledger) == []
        assert ledger.append(before).position == len(before)

    @pytest.mark.parametrize("case", OFTEN)
    def test_as_often_as_it_happens(self, handles: Handles, case: str) -> None:
        ledger = handles()
        for position, event in enumerate(OFTEN[case], start=1):
            assert ledger.append([event]).position == position
        assert everything(handles()) == OFTEN[case]

    def test_several_events_are_written_together_or_not_at_all(self, handles: Handles) -> None:
        ledger = handles()
        ledger.append([asked(1), told(1)])
        for bad in ([asked(2), asked(3), told(1)], [told(1), asked(2)], [asked(2), asked(3), asked(2)]):
            with pytest.raises(Taken):
                ledger.append(bad)
            assert everything(handles()) == [asked(1), told(1)]
        assert ledger.append([asked(2), asked(3)]).position == 4

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), object()], ids=["nan", "inf", "object"])
    def test_what_json_cannot_say_is_not_written(self, handles: Handles, bad: Any) -> None:
        ledger = handles()
        if type(ledger).__name__ == "MemoryLedger":
            return  # keeps the values themselves
        with pytest.raises((ValueError, TypeError)):
            ledger.append([asked(1), asked(2, params={"x": bad})])
        assert everything(ledger) == []
        assert ledger.append([asked(1)]).position == 1

    # Values -------------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("kind", EVENTS)
    @settings(
        max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )
    @given(choice=st.data())
    def test_every_event_is_read_back_exactly(self, handles: Handles, kind: str, choice: st.DataObject) -> None:
        event = choice.draw(EVENTS[kind])
        again = event_from_dict(json.loads(json.dumps(event_to_dict(event), allow_nan=False)))
        assert repr(again) == repr(event)  # -0.0 is not 0.0, True is not 1, a tuple is not a list
        with closing(handles()) as ledger, closing(handles()) as another:  # a server has few connections
            before = [entry.head for entry in another.read()]
            try:
                ledger.append([event])
            except Taken:  # drawn twice
                return
            assert repr(everything(another, before[-1] if before else None)) == repr([event])

    # Several at once ----------------------------------------------------------------------------------------------

    def test_asking_excludes_another_ask_and_nothing_else(self, handles: Handles) -> None:
        one, two, three = handles(), handles(), handles()
        inside, done = threading.Event(), threading.Event()

        def ask() -> None:
            with two.lock_asks():
                inside.set()
            done.set()

        with ThreadPoolExecutor(2) as pool:
            with one.lock_asks():
                waiting = pool.submit(ask)
                assert not inside.wait(0.3)
                # a tell, by others and by the one who is asking
                assert pool.submit(three.append, [asked(1), told(1)]).result(timeout=10).position == 2
                assert one.append([asked(2)]).position == 3
                assert pool.submit(everything, three).result(timeout=10) == [asked(1), told(1), asked(2)]
                assert not inside.is_set()
            waiting.result(timeout=10)
        assert done.is_set()

    def test_whoever_is_next_reads_while_another_asks(self, handles: Handles) -> None:
        """And only that one; when its turn comes it sees what was written since."""
        one, two, three = handles(), handles(), handles()
        ready, calls, seen = threading.Event(), list[str](), dict[str, list[Event]]()

        def ask(name: str, ledger: Ledger, number: int) -> Written:
            def meanwhile(turn: Ledger) -> None:
                calls.append(name)
                seen[f"{name}, waiting"] = everything(turn)
                ready.set()

            with ledger.lock_asks(meanwhile) as turn:
                seen[name] = everything(turn)
                return turn.append([asked(number)])

        memory = type(one).__name__ == "MemoryLedger"  # has nothing to read: nobody else writes to it
        with ThreadPoolExecutor(2) as pool:
            with one.lock_asks(lambda turn: calls.append("one")) as turn:
                second = pool.submit(ask, "two", two, 2)
                assert memory or ready.wait(60)
                third = pool.submit(ask, "three", three, 3)
                assert calls == ([] if memory else ["two"])
                assert turn.append([asked(1)]).position == 1
            assert {second.result(timeout=60).position, third.result(timeout=60).position} == {2, 3}
        assert memory or seen["two, waiting"] == []
        assert memory or seen["two"] == [asked(1)]
        assert memory or seen["three"] == [asked(1), asked(2)]

    def test_a_turn_in_which_a_number_was_taken(self, handles: Handles) -> None:
        """It goes on, still excluding others: they get in when it has written, or is over."""
        one, two = handles(), handles()
        inside = threading.Event()

        def ask() -> None:
            with two.lock_asks():
                inside.set()

        with ThreadPoolExecutor(1) as pool:
            with one.lock_asks() as turn:
                two.append([asked(1)])
                waiting = pool.submit(ask)
                with pytest.raises(Taken):
                    turn.append([asked(1)])
                assert everything(turn) == [asked(1)]
                assert not inside.wait(0.3)
                assert turn.append([asked(2)]).position == 2
                assert turn.append([told(2)]).position == 3
                assert everything(turn) == [asked(1), asked(2), told(2)]
            waiting.result(timeout=60)
        assert inside.is_set()

    def test_an_ask_that_raises_lets_the_next_one_in(self, handles: Handles) -> None:
        one, two = handles(), handles()
        with pytest.raises(ZeroDivisionError), one.lock_asks():
            _ = 1 / 0
        for ledger in (two, one):
            with ThreadPoolExecutor(1) as pool, ledger.lock_asks():
                pool.submit(lambda: None).result()

    def test_many_writers_one_order(self, handles: Handles) -> None:
        writers, each = 8, 12
        ledgers = [handles() for _ in range(writers)]
        start = threading.Barrier(writers)

        def write(i: int) -> list[int]:
            start.wait()
            own = range(i * each + 1, (i + 1) * each + 1)
            return [ledgers[i].append([asked(s), told(s)]).position for s in own]

        with ThreadPoolExecutor(writers) as pool:
            positions = list(pool.map(write, range(writers)))
        assert sorted(p for own in positions for p in own) == list(range(2, 2 * writers * each + 1, 2))
        events = everything(handles())
        for i, own in enumerate(positions):
            assert own == sorted(own)
            for s, position in zip(range(i * each + 1, (i + 1) * each + 1), own, strict=True):
                assert events[position - 2 : position] == [asked(s), told(s)]

    def test_of_many_who_ask_the_same_number_one_gets_it(self, handles: Handles) -> None:
        writers = 8
        ledgers = [handles() for _ in range(writers)]
        start = threading.Barrier(writers)

        def write(i: int) -> int:
            won = 0
            start.wait()
            for s in range(1, 11):
                try:
                    ledgers[i].append([asked(s, note=str(i))])
                    won += 1
                except Taken:
                    pass
            return won

        with ThreadPoolExecutor(writers) as pool:
            assert sum(pool.map(write, range(writers))) == 10
        assert sorted(event.number for event in everything(handles()) if isinstance(event, Asked)) == list(range(1, 11))

    def test_reading_while_writing_sees_a_prefix_without_halves(self, handles: Handles) -> None:
        writer, reader, rounds = handles(), handles(), 60
        stop = threading.Event()

        def write() -> None:
            try:
                for s in range(1, rounds + 1):
                    writer.append([asked(s), told(s)])
            finally:
                stop.set()

        expected = [event for s in range(1, rounds + 1) for event in (asked(s), told(s))]
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            seen, head = 0, None
            while not stop.is_set():
                entries = list(reader.read())
                events = [entry.event for entry in entries]
                assert len(events) >= seen
                assert len(events) % 2 == 0
                assert events == expected[: len(events)]
                assert everything(reader, head)[: len(events) - seen] == events[seen:]
                seen, head = len(events), entries[-1].head if entries else None
            writing.result()
        assert everything(reader) == expected
