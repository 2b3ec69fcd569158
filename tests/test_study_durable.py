"""A study that outlives its process: the same in memory, in a SQLite file and in a PostgreSQL database."""

from __future__ import annotations

import dataclasses
import math
import os
import sqlite3
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated
import belated.learner.choice.decide
import belated.verbs.asking
from belated import AlreadyTold, Choice, Integer, InvalidInput, KeyTaken, NothingHeard, Outside, Real, Study
from belated.errors import AlreadyExists, BelatedError, Closed, UnknownStudy, Unreachable, Unreadable
from belated.learner.blas import describe_versions
from belated.record.events import Amended, Asked, Ended, Event, Refused, Told
from belated.record.ledger.chain import Head, Written
from belated.record.ledger.memory import MemoryLedger
from tests.contracts.ledger import asked, told
from tests.support.refusals import refusal
from tests.support.studies import GRID, Clock, Place, list_events

LINE = {"x": Real(0, 1)}
MIXED = {
    "x": Real(-2, 3),
    "lr": Real(1e-6, 1, log=True),
    "layers": Integer(1, 8),
    "act": Choice("relu", "tanh", "none"),
}


def outcome(params: Any, context: Any = None) -> float:
    """A smooth function of anything numeric."""
    numbers = [math.log10(v) / 6 if k == "lr" else float(v) for k, v in params.items() if not isinstance(v, str)]
    return math.sin(3 * sum(numbers)) - 0.3 * numbers[0] ** 2 + 0.1 * len(context or {})


# Creating and opening -------------------------------------------------------------------------------------------------


def test_the_same_spec_again_returns_the_study(durable: Place) -> None:
    study = durable.create(space=MIXED, patience=9, limits=(-5, 5))
    trial = study.ask()
    again = durable.create(space=MIXED, patience=9, limits=(-5.0, 5))
    assert again.trials() == [trial]
    assert again.settings == study.settings
    assert belated.studies(durable.url or "") == ["lab"]


def test_without_a_seed_the_study_keeps_the_one_it_drew(durable: Place) -> None:
    study = durable.create(seed=None)
    assert durable.create(seed=None).seed == study.seed == durable.another(study).seed
    assert durable.create(seed=study.seed).seed == study.seed


OTHERWISE: dict[str, tuple[dict[str, Any], str]] = {
    "space": ({"space": {"x": Real(0, 2)}}, "space"),
    "a name": ({"space": {"y": Real(0, 1)}}, "space"),
    "the order": ({"space": {"b": Real(0, 1), "x": Real(0, 1)}}, "space"),
    "log": ({"space": {"x": Real(0.5, 1, log=True)}}, "space"),
    "points": ({"space": GRID}, "space"),
    "context": ({"context": {"z": Real(0, 1)}}, "context"),
    "goal": ({"goal": "minimize", "floor": 9, "ceiling": -9}, "goal"),
    "floor": ({"floor": -2}, "floor"),
    "no floor": ({"floor": None}, "floor"),
    "ceiling": ({"ceiling": 9}, "ceiling"),
    "limits": ({"limits": (-9, 8)}, "limits"),
    "no limits": ({"limits": None}, "limits"),
    "silence": ({"silence": "floor"}, "silence"),
    "a silence's numbers": ({"silence": belated.silence.Nearest(k=4)}, "silence"),
    "patience": ({"patience": 6}, "patience"),
    "no patience": ({"patience": None}, "patience"),
    "patience in time": ({"patience": "5s"}, "patience"),
    "late": ({"late": "ignore"}, "late"),
    "algorithm": ({"algorithm": "GP-UCB-SDF", "silence": None, "late": None, "repeats": None}, "algorithm"),
    "repeats": ({"repeats": "always"}, "repeats"),
    "regret": ({"regret": "cumulative"}, "regret"),
    "outcomes": ({"outcomes": "conversion", "floor": None, "silence": "fading"}, "outcomes"),
    "initial": ({"initial": 3}, "initial"),
    "seed": ({"seed": 8}, "seed"),
}
BASE: dict[str, Any] = {
    "space": LINE,
    "floor": -1,
    "ceiling": 5,
    "limits": (-9, 9),
    "patience": 5,
    "silence": "unknown",
    "initial": 2,
}


@pytest.mark.parametrize("field", OTHERWISE)
def test_another_spec_names_the_field_that_differs(tmp_path: Path, field: str) -> None:
    place = Place(f"sqlite:///{tmp_path}/lab.db")
    place.create(**BASE)
    words, name = OTHERWISE[field]
    text = refusal(AlreadyExists, lambda: place.create(**{**BASE, **words}))
    assert text.startswith(f"study 'lab' exists with another {name}"), text
    assert "(got " in text
    assert place.create(**BASE).trials() == []  # nothing was changed by the refusal
    place.disconnect()


def test_every_field_of_a_spec_is_tried() -> None:
    study = Study.create(space=LINE, silence="unknown")
    aside = {"patience_by_clock", "created_at"}  # when it was made first stays, whoever makes it again
    assert {name for _, name in OTHERWISE.values()} == set(study.settings.spec()) - aside


def test_another_spec_is_refused_on_any_store(durable: Place) -> None:
    durable.create(floor=0)
    text = refusal(AlreadyExists, lambda: durable.create(floor=1))
    assert text == "study 'lab' exists with another floor: 0.0 (got 1.0)"


@pytest.mark.parametrize(
    "words",
    [
        {"space": MIXED},
        {"space": GRID, "context": {"z": Choice("a", "b"), "w": Real(0, 1)}},
        {"patience": timedelta(days=2), "late": "ignore", "goal": "minimize", "floor": 3.5, "limits": (-1e9, 4)},
        {"algorithm": "GP-TS-SDF", "patience": "14d"},
        {"algorithm": "GP-BUCB", "space": LINE},
        {"space": belated.Points([{"a": "ü", "b": 1}, {"a": None, "b": 0.1}, {"a": True, "b": 5e-324}])},
    ],
    ids=["mixed", "context", "time", "GP-TS-SDF", "GP-BUCB", "points"],
)
def test_settings_are_read_back_as_they_were(durable: Place, words: dict[str, Any]) -> None:
    study = durable.create(**words)
    again = durable.another(study)
    assert again.settings == study.settings
    assert again.settings.spec() == study.settings.spec()
    assert durable.create(**words).settings == study.settings


def test_only_what_has_a_name_can_be_kept(durable: Place) -> None:
    @dataclasses.dataclass(frozen=True)
    class Mine(belated.silence.Unknown):
        pass

    text = refusal(InvalidInput, lambda: durable.create(silence=Mine()))
    assert text.startswith("silence must be one that belated knows by name")
    assert belated.studies(durable.url or "") == [] if "postgres" in (durable.url or "") else True


def test_an_unknown_study_says_which_exist(durable: Place) -> None:
    durable.create("b")
    durable.create("a")
    text = refusal(UnknownStudy, lambda: Study.open(durable.url or "", "c"))
    assert text == "there is no study 'c'; there are a, b"
    assert belated.studies(durable.url or "") == ["a", "b"]  # and none was made


BAD_NAMES = ["", "a/b", "..", "<script>", "a\0b", "x" * 129, "x" * 10_000, "a b", "ä²", "a\n", 5, None, ["a"], "\ud800"]


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: repr(name)[:12])
def test_names_follow_the_pattern(durable: Place, name: Any) -> None:
    durable.create("fine")
    for call in (lambda: durable.create(name), lambda: Study.open(durable.url or "", name)):
        text = refusal(InvalidInput, call)
        assert "name must be 1 to 128 letters, digits" in text or text.startswith("name must be given")
    assert belated.studies(durable.url or "") == ["fine"]


@pytest.mark.parametrize("name", ["a", "A.b-c_9", "x" * 128, ".hidden", "-"])
def test_names_that_are_allowed(durable: Place, name: str) -> None:
    study = durable.create(name)
    assert durable.another(study).name == name


def test_a_name_without_a_url_and_the_other_way_round() -> None:
    assert Study.create(name="a", space=LINE, silence="unknown").name == "a"
    assert refusal(InvalidInput, lambda: Study.create("sqlite:///x.db", space=LINE, silence="unknown")).startswith(
        "name"
    )
    assert not Path("x.db").exists()


# SQLite files ---------------------------------------------------------------------------------------------------------


def bad_file(path: Path, error: type[BelatedError], part: str, creating: bool = True) -> None:
    """Neither creating nor opening a study touches the file, and both say why."""
    url, before = f"sqlite:///{path}", path.read_bytes() if path.is_file() else None
    calls: list[Callable[[], object]] = [lambda: Study.open(url, "lab"), lambda: belated.studies(url)]
    if creating:
        calls.append(lambda: Study.create(url, "lab", space=LINE, silence="unknown"))
    for call in calls:
        text = refusal(error, call)
        assert part in text
        assert path.name in text
    assert (path.read_bytes() if path.is_file() else None) == before


def test_urls_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub folder").mkdir()
    for url, path in {
        "sqlite:///lab.db": tmp_path / "lab.db",
        f"sqlite:///{tmp_path}/abs.db": tmp_path / "abs.db",
        "sqlite:///sub%20folder/ü%3F%23.db": tmp_path / "sub folder" / "ü?#.db",
        "sqlite:///./dot.db": tmp_path / "dot.db",
        "sqlite:///sub folder/../up": tmp_path / "up",
    }.items():
        Study.create(url, "lab", space=LINE, silence="unknown").ask()
        assert path.is_file(), url
        monkeypatch.chdir("/")
        assert len(Study.open(f"sqlite:///{path}".replace("?", "%3F").replace("#", "%23"), "lab").trials()) == 1
        monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "url",
    ["sqlite:", "sqlite://", "sqlite:///", "sqlite:lab.db", "sqlite:/lab.db", "sqlite://lab.db", "sqlite://h/lab.db",
     "sqlite:///lab.db?mode=ro", "sqlite:///lab.db#x", "sqlite:///a%00b.db", "sqlite:///a\0b.db", "lab.db", "",
     "mysql://h/db", "file:///lab.db", 5, None, b"sqlite:///lab.db", Path("lab.db"), "postgresql://[h/db"],
    ids=repr,
)  # fmt: skip
def test_urls_that_are_none(url: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls: list[Callable[[], object]] = [lambda: Study.open(url, "lab"), lambda: belated.studies(url)]
    if url is not None:
        calls.append(lambda: Study.create(url, "lab", space=LINE, silence="unknown"))
    for call in calls:
        text = refusal(InvalidInput, call)
        assert "url must" in text
        assert "(got " in text
    assert list(tmp_path.iterdir()) == []


def test_a_study_changes_after_the_folder_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = Study.create("sqlite:///lab.db", "lab", space=LINE, silence="unknown")
    monkeypatch.chdir("/")
    study.disconnect()
    assert study.ask().number == 1  # a relative url means where it was said


def test_no_file_no_folder(tmp_path: Path) -> None:
    bad_file(tmp_path / "none.db", Unreachable, "there is no file", creating=False)
    text = refusal(
        Unreachable, lambda: Study.create(f"sqlite:///{tmp_path}/none/lab.db", "lab", space=LINE, silence="unknown")
    )
    assert f"there is no folder {tmp_path}/none" in text
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    bad_file(tmp_path / "folder", Unreachable, "cannot be opened")


def test_an_empty_file_is_a_store_to_be(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    bad_file(path, Unreadable, "is empty", creating=False)
    assert Study.create(f"sqlite:///{path}", "lab", space=LINE, silence="unknown").ask().number == 1


@pytest.mark.parametrize(
    "content", [b"hello, world\n", b"x" * 5000, b"\0" * 4096, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    bad_file(path, Unreadable, "is not a store of belated")


def test_a_file_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE studies (id INTEGER PRIMARY KEY, name TEXT, spec TEXT)")
    connection.close()
    bad_file(path, Unreadable, "belongs to another program")


def test_a_newer_schema(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    place = Place(f"sqlite:///{path}")
    place.create()
    place.disconnect()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    bad_file(path, Unreadable, "was written by a newer belated (schema 99, this one knows 4)")


def test_a_half_copied_file(tmp_path: Path) -> None:
    """However much of it was copied: refused, or not yet a store; never other numbers, never a new empty study."""
    place = Place(f"sqlite:///{tmp_path}/lab.db")
    study = place.create(initial=10**6)
    for s in range(1, 61):
        study.ask()
        study.tell(s, s / 7)
    trials = study.trials()
    place.disconnect()
    whole, path = (tmp_path / "lab.db").read_bytes(), tmp_path / "half.db"
    assert len(whole) > 5 * 4096
    for size in [*range(1, len(whole), 1531), *range(4096, len(whole), 4096), len(whole) - 1]:
        path.write_bytes(whole[:size])
        for call in (
            lambda: Study.open(f"sqlite:///{path}", "lab").trials(),
            lambda: Study.open(f"sqlite:///{path}", "lab").ask(),
            lambda: Study.create(
                f"sqlite:///{path}", "lab", space=GRID, silence="unknown", initial=10**6, seed=0
            ).trials(),
        ):
            with pytest.raises((Unreadable, Unreachable)) as refused:
                call()
            assert "half.db" in str(refused.value)
        for beside in tmp_path.glob("half.db*"):
            beside.unlink()
    path.write_bytes(whole)
    assert Study.open(f"sqlite:///{path}", "lab", clock=place.clock).trials() == trials


# Passwords ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["postgresql://ann:s3@cret@h/db", "postgresql://ann:s3/cret@h/db", "postgresql://ann:%zzs3cret@h/db",
     "postgresql://ann:s3cret@[h/db", "postgresql://ann:s3?cret@h/db", "postgresql://ann:s3cret@h/db?cret=s3cret#",
     "mysql://ann:s3cret@h/db", "mysql://h/db?password=s3cret", "sqlite://ann:s3cret@h/db"],
)  # fmt: skip
def test_no_message_shows_a_password(url: str) -> None:
    for call in (lambda: Study.open(url, "lab"), lambda: belated.studies(url)):
        text = refusal(InvalidInput, call)
        assert "s3" not in text.replace("cret=s3cret", "")
        assert ":***@" in text or "password=***" in text


# The same on every ledger ---------------------------------------------------------------------------------------------


def script(studies: list[Study], clock: Clock, rounds: int = 26, context: bool = False) -> None:
    """Asks, tells, adds, failures and looks, taken in turn by several handles; told out of order, some never."""

    def turn() -> Study:
        clock.now += 1.0
        studies.append(studies.pop(0))
        return studies[0]

    z = [{"z": 0.25}, {"z": 0.75}]
    for t in range(1, rounds + 1):
        where = z[t % 2] if context else None
        if t == 4:
            first = turn().queries()
            params = first[3] if first else {**turn().ask(context=where).params}
            turn().add(params, outcome(params), context=where)
        elif t % 7 == 6:
            turn().ask(n=3, context=where, key=f"batch {t}")
        else:
            turn().ask(context=where)
        last = len(turn().trials())
        for s in {t, last - 2, last - 5} - {3, 9}:
            trial = turn().trial(s) if 1 <= s <= last else None
            if trial is not None and trial.outcome is None and trial.failure is None:
                turn().tell(s, outcome(trial.params), key=f"tell {s}")
        if t == 10:
            turn().fail(9, "lost")
        if t == 12:
            turn().tell(9, 0.5)
        if t in (8, 15):
            turn().posterior([turn().trial(1).params], context=where)  # looking changes nothing
            turn().recommend(context=where)


SETTINGS: dict[str, dict[str, Any]] = {
    "finite": {"space": GRID, "patience": 6},
    "finite GP-TS-SDF": {"space": GRID, "algorithm": "GP-TS-SDF", "patience": 4},
    "continuous": {"space": {"x": Real(0, 1), "y": Real(-1, 1)}, "patience": 8},
    "continuous, GP-BTS": {"space": LINE, "algorithm": "GP-BTS"},
    "mixed": {"space": MIXED, "silence": "floor", "floor": -3, "initial": 5},
    "contextual": {"space": LINE, "context": {"z": Real(0, 1)}, "silence": "waiting", "floor": -3, "patience": 5},
    "by the clock": {"space": LINE, "patience": "12s", "late": "ignore"},
}


@cache
def play_alone(words: str, *parts: int) -> Study:
    """A study in memory, with one handle, played in parts of so many rounds once for all places; nobody changes it."""
    reference = Place(None)
    study = reference.create(**SETTINGS[words])
    for rounds in parts:
        script([study], reference.clock, rounds, context=words == "contextual")
    return study


@pytest.mark.parametrize("words", SETTINGS)
def test_two_handles_and_restarts_are_as_one(words: str, place: Place) -> None:
    """Bit for bit: every event that two handles write is the one that a single study in memory writes."""
    alone = play_alone(words, 26)
    one = place.create(**SETTINGS[words])
    script([one, place.another(one)], place.clock, context=words == "contextual")
    assert repr(list_events(one)) == repr(alone.events())
    assert one.trials() == alone.trials() == place.restart(one).trials()
    assert any(isinstance(e, Asked) and e.fitted is not None for e in one.events()) or "GP" in words


@pytest.mark.parametrize("words", ["finite", "continuous", "mixed", "by the clock"])
def test_a_restart_in_the_middle_changes_nothing(words: str, place: Place) -> None:
    alone = play_alone(words, 14)
    study = place.create(**SETTINGS[words])
    script([study], place.clock, rounds=14)
    study = place.restart(study)
    points = [alone.trial(s).params for s in (1, 5, 9)]
    for mine, other in zip(study.posterior(points), alone.posterior(points), strict=True):
        assert mine == pytest.approx(other, rel=1e-9, abs=1e-12)
    script([study], place.clock, rounds=7)
    assert repr(list_events(study)) == repr(play_alone(words, 14, 7).events())


def test_hyperparameters_are_fitted_once_for_all(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted where they are fitted: a second handle and a restart use what the first one found."""
    fits = 0
    real = belated.learner.choice.decide.fit

    def counted(*words: Any) -> Any:
        nonlocal fits
        fits += 1
        return real(*words)

    monkeypatch.setattr(belated.learner.choice.decide, "fit", counted)
    one = place.create(space=LINE, initial=4)
    two = place.another(one)
    for i in range(12):
        study = (one, two)[i % 2]
        trial = study.ask()
        (two, one)[i % 2].tell(trial, outcome(trial.params))
    recorded = sum(isinstance(e, Asked) and e.fitted is not None for e in one.events())
    assert 0 < recorded == fits
    before = fits
    again = place.restart(one)
    again.posterior([{"x": 0.5}])
    again.recommend()
    last = next(e.number for e in reversed(one.events()) if isinstance(e, Asked) and e.fitted is not None)
    assert fits == before
    assert last <= 12


def test_a_key_is_for_one_call_whoever_makes_it(place: Place) -> None:
    one = place.create(context={"z": Real(0, 1)})
    two = place.another(one)
    first = one.ask(context={"z": 0.5}, key="a")
    assert two.ask(context={"z": 0.5}, key="a") == first == place.restart(one).ask(context={"z": 0.5}, key="a")
    batch = two.ask(n=3, context={"z": 0.5}, key="b")
    assert one.ask(n=3, context={"z": 0.5}, key="b") == batch
    receipt = one.tell(first, 1.0, key="c")
    assert two.tell(first.number, 1.0, key="c") == receipt
    assert two.tell(first, 1.0).status == "duplicate"
    added = one.add({"x": 0.5}, 2.0, context={"z": 0.1}, key="d")
    assert two.add({"x": 0.5}, 2.0, context={"z": 0.1}, key="d") == added
    wrong: list[Callable[[], object]] = [
        lambda: two.ask(context={"z": 0.6}, key="a"),
        lambda: two.ask(n=2, context={"z": 0.5}, key="b"),
        lambda: two.ask(context={"z": 0.5}, key="c"),
        lambda: two.tell(first, 1.5, key="c"),
        lambda: two.tell(batch[0], 1.0, key="a"),
        lambda: two.add({"x": 0.5}, 2.5, context={"z": 0.1}, key="d"),
    ]
    for call in wrong:
        assert "was used before" in refusal(KeyTaken, call)
    assert len(one.trials()) == 5
    assert len(one.events()) == 7


@pytest.mark.parametrize("key", ["", "a\0b", "\ud800", "a\nb", "x" * 513, 5], ids=lambda key: repr(key)[:10])
def test_keys_that_no_ledger_takes(place: Place, key: Any) -> None:
    study = place.create()
    study.ask(key="x" * 512)
    for call in (
        lambda: study.ask(key=key),
        lambda: study.tell(1, 0.5, key=key),
        lambda: study.add({"x": 0.5}, key=key),
    ):
        assert refusal(InvalidInput, call).startswith("key must ")
    assert study.ask(key="ключ 𝔎 ''; --\\ %s").number == 2
    assert len(study.events()) == 2


@dataclasses.dataclass
class Crossed(MemoryLedger):
    """Someone else writes just before we do."""

    first: Callable[[], object] | None = None

    def append(self, events: Sequence[Event], seen: Head | None = None, about: int | None = None) -> Written:
        first, self.first = self.first, None
        if first is not None:
            first()
        return super().append(events, seen, about)


def test_what_was_written_first_counts_when_calls_cross() -> None:
    ledger = Crossed()
    settings = Study.create(space=LINE, silence="unknown", seed=0).settings
    one, two = (Study(settings, ledger, None, Clock()) for _ in range(2))

    def crossing(first: Callable[[], object]) -> int:
        number = one.ask().number
        two.trials()
        ledger.first = first
        return number

    s = crossing(lambda: two.tell(1, 0.5))
    assert "was told 0.5 before" in refusal(AlreadyTold, lambda: one.fail(s, "lost"))
    s = crossing(lambda: two.fail(2, "withdrawn"))
    assert "ended as withdrawn" in refusal(belated.AlreadyEnded, lambda: one.tell(s, 0.5))
    s = crossing(lambda: two.fail(3, "lost"))
    assert one.tell(s, 0.5).status == "heard"
    s = crossing(lambda: two.tell(4, 0.5))
    assert one.tell(s, 0.5).status == "duplicate"
    s = crossing(lambda: two.tell(5, 0.5))
    assert "was told before, with 0.5" in refusal(AlreadyTold, lambda: one.tell(s, 0.7))
    s = crossing(lambda: two.fail(6, "withdrawn"))
    assert "ended as withdrawn" in refusal(belated.AlreadyEnded, lambda: one.fail(s, "lost"))
    # someone who did not hold the lock takes the number that one has chosen a query for
    ledger.first = lambda: ledger.append([asked(7, by_hand=True), told(7)])
    assert one.ask().number == 8
    assert one.replay(8).same
    assert [t.status for t in two.trials()] == [
        "heard",
        "failed",
        "heard",
        "heard",
        "heard",
        "failed",
        "heard",
        "pending",
    ]
    assert one.trials() == two.trials() == Study(settings, MemoryLedger(one.events()), None, Clock()).trials()


# Amending and closing -------------------------------------------------------------------------------------------------


def test_an_amended_outcome_counts_and_the_old_one_stays_in_the_record(place: Place) -> None:
    one = place.create(space=LINE)
    two = place.another(one)
    for value in (0.0, 1.0, 50.0):
        one.tell(one.ask(), value)
    other = Place(None).create(space=LINE)
    for value in (0.0, 1.0, 5.0):
        other.tell(other.ask(), value)
    trial = two.amend(3, 5.0, reason="a typing error")
    assert trial is not None
    assert (trial.outcome, trial.status, trial.delay, trial.noise) == (5.0, "heard", 1.0, None)
    assert one.best().value == two.best().value == 5.0
    points = [{"x": x / 7} for x in range(8)]
    assert one.posterior(points).mean == pytest.approx(other.posterior(points).mean, rel=1e-9, abs=1e-12)
    assert [type(e) for e in one.events()[-2:]] == [Told, Amended]
    assert one.events()[-2].value == 50.0  # type: ignore[union-attr]
    assert one.events()[-1].reason == "a typing error"  # type: ignore[union-attr]
    assert place.restart(one).trials() == one.trials()
    # what is told now is measured against the amended value
    assert two.tell(3, 5.0).status == "duplicate"
    text = refusal(AlreadyTold, lambda: one.tell(3, 50.0))
    assert text == "trial 3 was told before, with 5.0; feedback is never overwritten (got 50.0)"
    assert isinstance(two.events()[-1], Refused)


def test_amending_noise(place: Place) -> None:
    study = place.create(space=LINE)
    study.tell(study.ask(), 1.0, noise=0.1)
    before = study.posterior([study.trial(1).params]).std[0]
    trial = study.amend(1, 1.0, noise=2.0, reason="the scales were worn")
    assert trial is not None
    assert (trial.outcome, trial.noise) == (1.0, 2.0)
    assert place.restart(study).posterior([study.trial(1).params]).std[0] > before
    again = study.amend(1, 1.0, reason="they were not")
    assert again is not None
    assert again.noise is None


def test_amending_the_floor(place: Place) -> None:
    one = place.create(space=LINE, silence="floor", floor=0.0)
    two = place.another(one)
    trial = one.ask()
    assert "worse than the floor 0.0" in one.tell(trial, -1.0).note
    assert two.amend(floor=-2.0, reason="it can be colder") is None
    assert one.trial(1).note == ""
    assert (
        one.settings.objective.floor
        == two.settings.objective.floor
        == place.restart(one).settings.objective.floor
        == -2.0
    )
    filled = one.ask()
    other = Place(None).create(space=LINE, silence="floor", floor=-2.0)
    other.add(trial.params, -1.0)
    other.add(filled.params)
    points = [filled.params, {"x": 0.5}]
    assert one.posterior(points).mean == pytest.approx(other.posterior(points).mean, rel=1e-9)
    if place.url:  # create compares with the settings as they are now
        assert place.create(space=LINE, silence="floor", floor=-2.0).trials() == one.trials()
        refusal(AlreadyExists, lambda: place.create(space=LINE, silence="floor", floor=0.0))


def test_amending_the_limits(place: Place) -> None:
    one = place.create(limits=(0, 1))
    two = place.another(one)
    trial = one.ask()
    assert "limits 0.0 to 1.0" in refusal(Outside, lambda: two.tell(trial, 3.0))
    one.amend(limits=(0, 5), reason="a better instrument")
    assert two.tell(trial, 3.0).status == "heard"
    assert place.restart(two).settings.objective.limits == (0.0, 5.0)
    assert "limits 0.0 to 5.0" in refusal(Outside, lambda: two.amend(trial, 7.0, reason="no"))


def test_amending_a_late_trial_leaves_it_late(place: Place) -> None:
    for late in ("use", "ignore"):
        study = place.create(late, patience=2, late=late, space=LINE)
        for _ in range(4):
            study.ask()
        study.tell(4, 0.5)
        assert study.tell(1, 9.0).status == "late"
        before = study.posterior([{"x": 0.5}]).mean[0]
        trial = study.amend(1, 0.25, reason="a typing error")
        assert trial is not None
        assert (trial.status, trial.outcome, trial.delay) == ("late", 0.25, 4.0)
        assert (study.posterior([{"x": 0.5}]).mean[0] == before) == (late == "ignore")


def test_what_cannot_be_amended(place: Place) -> None:
    study = place.create(floor=0.0, ceiling=10.0, limits=(-5, 5))
    study.ask(n=2)
    study.tell(1, 1.0)
    before = len(study.events())
    calls: list[tuple[type[BelatedError], Callable[[], object]]] = [
        (NothingHeard, lambda: study.amend(2, 1.0, reason="why")),
        (belated.UnknownTrial, lambda: study.amend(3, 1.0, reason="why")),
        (InvalidInput, lambda: study.amend(1, reason="why")),
        (InvalidInput, lambda: study.amend(reason="why")),
        (InvalidInput, lambda: study.amend(1, 2.0, floor=1.0, reason="why")),
        (InvalidInput, lambda: study.amend(None, 2.0, reason="why")),
        (InvalidInput, lambda: study.amend(1, math.nan, reason="why")),
        (InvalidInput, lambda: study.amend(1, 2.0, noise=-1.0, reason="why")),
        (InvalidInput, lambda: study.amend(floor=math.inf, reason="why")),
        (InvalidInput, lambda: study.amend(floor=11.0, reason="why")),
        (InvalidInput, lambda: study.amend(limits=(3, 3), reason="why")),
        (Outside, lambda: study.amend(1, 6.0, reason="why")),
        (InvalidInput, lambda: study.amend(1, 2.0, reason="")),
        (InvalidInput, lambda: study.amend(1, 2.0, reason="  ")),
        (InvalidInput, lambda: study.amend(1, 2.0, reason=None)),  # type: ignore[arg-type]
    ]
    for error, call in calls:
        refusal(error, call)
    assert len(study.events()) == before


def test_after_closing_outcomes_are_taken_and_queries_are_not_asked(place: Place) -> None:
    one = place.create()
    two = place.another(one)
    trials = one.ask(n=3, key="k")
    two.close()
    one.close()  # again: nothing happens
    assert sum(isinstance(e, Ended) for e in one.events()) == 1
    for study in (one, two, place.restart(one)):
        for call in (lambda s=study: s.ask(), lambda s=study: s.ask(n=2), lambda s=study: s.add({"x": 0.5}, 1.0)):
            assert "closed" in refusal(Closed, call)
        assert study.ask(n=3, key="k") == study.trials()  # a retry of what was asked before
    assert one.tell(trials[0], 1.0).status == "heard"
    assert two.fail(trials[1], "lost").failure == "lost"
    assert one.amend(trials[0], 2.0, reason="a typing error") is not None
    assert refusal(AlreadyTold, lambda: two.tell(1, 1.0))
    assert two.best().value == 2.0
    assert len(two.trials()) == 3


# Replay ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", SETTINGS)
def test_every_choice_can_be_computed_again(words: str, durable: Place) -> None:
    """Finite, continuous, mixed, contextual, by the clock; in batches, after late tells, failures and amendments."""
    one = durable.create(**SETTINGS[words])
    two = durable.another(one)
    context = words == "contextual"
    script([one, two], durable.clock, rounds=12, context=context)
    one.amend(1, 0.123, reason="a typing error")
    if one.settings.objective.floor is not None:
        two.amend(floor=one.settings.objective.floor - 1, reason="it was not the worst")
    one.tell(3, 0.2)  # late, where there is patience
    where = {"z": 0.25} if context else None
    for _ in range(3):
        two.ask(context=where)
    one.ask(n=2, context=where)
    name = next(iter(one.trial(1).params))
    one.ask(params={name: one.trial(1).params[name]}, context=where)
    again = durable.restart(two)
    for trial in one.trials():
        if trial.by_hand:
            assert "given by hand" in refusal(InvalidInput, lambda s=trial.number: again.replay(s))
            continue
        replay = again.replay(trial.number)
        assert (replay.number, replay.same, replay.alike, replay.ok, replay.gap) == (
            trial.number,
            True,
            True,
            True,
            0.0,
        )
        assert replay.params == trial.params
        assert str(replay) == f"trial {trial.number}: the same query, bit for bit"
    assert again.events() == one.events()  # replaying writes nothing


@dataclasses.dataclass
class Interrupted(Clock):
    """A clock at whose readings something else happens."""

    readings: list[Callable[[], object]] = dataclasses.field(default_factory=list)

    def __call__(self) -> float:
        if self.readings:
            self.readings.pop(0)()
        return self.now


def test_a_choice_that_did_not_know_a_tell_is_replayed_without_it(place: Place) -> None:
    """A tell that comes between a choice and its writing: at a smaller position, and yet not known."""
    if place.store is not None:
        pytest.skip("a server has its own clock")
    clock = Interrupted(place.clock.now)
    study = place.create(space=LINE, initial=2, clock=clock)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, outcome(trial.params))
    late = study.ask()
    other = place.another(study)
    clock.readings = [lambda: None, lambda: other.tell(late, 40.0)]  # when it begins, and when it has chosen
    study.ask()
    told, chosen = study.events()[-2:]
    assert isinstance(told, Told)
    assert isinstance(chosen, Asked)
    assert chosen.knew == len(study.events()) - 2
    assert study.replay(6).same
    assert study.ask().number == 7
    assert study.replay(7).same
    assert place.restart(study).replay(7).same


def rewritten(study: Study, change: Callable[[Asked], Asked]) -> Study:
    """The study as if its choices had been recorded otherwise."""
    other = [change(e) if isinstance(e, Asked) else e for e in study.events()]
    return Study(study.original_settings, MemoryLedger(other), study.name, study.clock)


def test_versions_are_recorded_when_they_change(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    study = place.create()
    study.ask(n=2)
    study.add({"x": 0.5}, 1.0)
    study.ask()
    here = describe_versions()
    for module in (belated.verbs.asking, belated.record.choices):
        monkeypatch.setattr(module, "describe_versions", lambda: {**here, "blas": "another"})
    place.another(study).ask(n=2)
    recorded = [event.versions for event in study.events() if isinstance(event, Asked)]
    assert recorded == [here, None, None, None, {**here, "blas": "another"}, None]
    assert [study.replay(number).alike for number in (1, 2, 4, 5, 6)] == [False, False, False, True, True]
    monkeypatch.undo()
    assert [study.replay(number).alike for number in (1, 2, 4, 5, 6)] == [True, True, True, False, False]


def test_replay_under_other_versions_says_so(place: Place) -> None:
    study = place.create(space={"x": Real(0, 1), "y": Real(0, 1)}, initial=3)
    for _ in range(8):
        trial = study.ask()
        study.tell(trial, outcome(trial.params))
    study.ask()
    old = {"belated": belated.__version__, "numpy": "1.0", "scipy": "0.1", "blas": "by hand"}
    other = rewritten(study, lambda e: dataclasses.replace(e, versions=old))
    replay = other.replay(9)
    assert (replay.same, replay.alike, replay.ok, replay.gap) == (True, False, True, 0.0)

    def moved(by: float) -> Study:
        def change(e: Asked) -> Asked:
            x = float(np.clip(e.params["x"] + by, 0, 1)) if e.number == 9 else e.params["x"]
            return dataclasses.replace(e, versions=old, params={**e.params, "x": x})

        return rewritten(study, change)

    near = moved(1e-9).replay(9)
    assert (near.same, near.alike, near.ok) == (False, False, True)
    assert near.gap <= 1e-6
    assert str(near).startswith("trial 9: another query under other versions, ")
    far = moved(0.4 if study.trial(9).params["x"] < 0.5 else -0.4).replay(9)
    assert (far.same, far.alike, far.ok) == (False, False, False)
    assert far.gap > 1e-3

    # what another version of belated chose is no contradiction
    for versions, by in (({**old, "belated": "0.1.5"}, "0.1.5"), ({"numpy": "1.0"}, "0.1")):
        old = versions
        chosen = moved(0.4 if study.trial(9).params["x"] < 0.5 else -0.4).replay(9)
        assert (chosen.same, chosen.by, chosen.ok) == (False, by, True)
        assert str(chosen) == f"trial 9: chosen by belated {by}, and this version chooses another query"

    # nearly the same is not enough where the versions are
    exact = rewritten(
        study,
        lambda e: dataclasses.replace(e, params={**e.params, "x": e.params["x"] * (1 - 1e-12)}) if e.number == 9 else e,
    ).replay(9)
    assert (exact.same, exact.alike, exact.ok) == (False, True, False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_study_may_be_carried_over_a_fork(durable: Place) -> None:
    study = durable.create(space=LINE, initial=3)
    study.ask()
    pid = os.fork()
    if not pid:
        try:
            ok = [study.ask().number for _ in range(3)] == [2, 3, 4] and study.tell(1, 0.5).status == "heard"
            os._exit(0 if ok else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert [t.number for t in study.trials()] == [1, 2, 3, 4]
    assert study.trial(1).outcome == 0.5
    assert study.ask().number == 5
