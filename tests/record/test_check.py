"""The checker finds what is wrong: one ledger that keeps every promise, and one that breaks each of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import belated.record.check
from belated import AlreadyTold, Choice, Real, Study, Trial
from belated.errors import UnknownStudy
from belated.record.check import INVARIANTS, CheckFinding, CheckReport, check, check_acknowledged
from belated.record.events import (
    Amended,
    Asked,
    Ended,
    Event,
    Failed,
    Refused,
    Repeated,
    Told,
    event_to_dict,
    list_index_columns,
)
from belated.record.ledger import open_store
from belated.record.ledger.chain import begin_chain, extend_chain, hash_content

SPACE = {"x": Real(0, 1), "kind": Choice("a", "b")}
Tells = list[tuple[int, float, str]]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/lab.db"


def lived(url: str) -> tuple[Study, list[tuple[str | None, Trial]], Tells]:
    """A study to which everything happened, and what its clients were told."""
    study = Study.create(url, "lab", space=SPACE, silence="unknown", floor=0.0, patience=3, seed=5, initial=3)
    asks: list[tuple[str | None, Trial]] = [(f"key-{i}", study.ask(key=f"key-{i}")) for i in range(6)]
    tells = [(number, 0.1 * number, study.tell(number, 0.1 * number).status) for number in (5, 1, 2)]
    tells.append((1, 0.1, study.tell(1, 0.1).status))
    with pytest.raises(AlreadyTold):
        study.tell(1, 7.0)
    tells.append((1, 7.0, "refused"))
    study.amend(2, 0.3, reason="a typing error")
    study.fail(3, "infeasible")
    study.fail(4, "lost")
    tells.append((4, 0.5, study.tell(4, 0.5).status))
    asks += [("batch", trial) for trial in study.ask(n=3, key="batch")]
    asks.append((None, study.add({"x": 0.5, "kind": "a"}, 0.25)))
    tells.append((10, 0.25, "heard"))
    asks.append((None, study.ask(params={"kind": "b"})))
    study.close()
    return study, asks, tells


def test_a_ledger_that_keeps_its_promises(url: str) -> None:
    study, asks, tells = lived(url)
    for report in (
        check(url),
        check(url, "lab", replays=20),
        check_acknowledged(url, "lab", asks, tells, complete=True),
    ):
        assert report.ok, str(report)
        assert (report.studies, report.events, report.trials, report.outcomes) == (1, 21, 11, 5)
        assert (report.refused, report.failed, report.amended) == (1, 1, 1)
    assert str(report).endswith("failed: 1, amended: 1; ok")
    assert study.trial(4).outcome == 0.5


def test_the_same_on_postgresql(postgres_url: str) -> None:
    _, asks, tells = lived(postgres_url)
    report = check_acknowledged(postgres_url, "lab", asks, tells, complete=True)
    assert report.ok, str(report)


def test_every_study_or_one_of_them(url: str) -> None:
    lived(url)
    Study.create(url, "other", space=SPACE, silence="unknown", seed=0)
    assert (check(url).studies, check(url).trials) == (2, 11)
    assert (check(url, "other").studies, check(url, "other").trials) == (1, 0)
    with pytest.raises(UnknownStudy, match="there is no study 'none'"):
        check(url, "none")


def test_an_outcome_below_the_floor_is_a_remark(url: str) -> None:
    study = Study.create(url, "lab", space=SPACE, silence="unknown", floor=0.0, seed=0)
    study.tell(study.ask(), -0.5)
    report = check(url)
    assert report.ok
    assert len(report.remarks) == 1
    assert "-0.5" in report.remarks[0]


# Ledgers that break a promise: the events of the one above, changed behind the library's back


def rewrite(url: str, change: Callable[[list[Event]], list[Event]]) -> None:
    """Put other events in a store's table, without what guards them, and chain them anew."""
    place = open_store(url)
    events = change([entry.event for entry in place.ledger("lab").read()])
    place.close()
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("DROP INDEX events_once")
        connection.execute("DROP INDEX events_keys")
        connection.execute("DELETE FROM events")
        head = begin_chain(*connection.execute("SELECT identity, spec FROM studies WHERE name = 'lab'").fetchone())
        for event in events:
            plain = event_to_dict(event)
            columns = (*list_index_columns(plain), json.dumps(plain))
            (head,) = extend_chain(head, [hash_content(columns)])
            words = (head.position, *columns, head.hash)
            connection.execute("INSERT INTO events VALUES (1, ?, ?, ?, ?, ?, ?, ?)", words)
        connection.execute("UPDATE studies SET position = ?, hash = ? WHERE name = 'lab'", head)
    connection.close()


def where(kind: type[Event], change: Callable[[Any], Event | None], which: int = 0) -> Any:
    """Change (or leave out) one event of a kind."""

    def changed(events: list[Event]) -> list[Event]:
        at = [i for i, event in enumerate(events) if isinstance(event, kind)][which]
        new = change(events[at])
        return [*events[:at], *([] if new is None else [new]), *events[at + 1 :]]

    return changed


def after_end(event: Event) -> Any:
    return lambda events: [*events, event]


BROKEN: dict[str, tuple[str, Any]] = {
    "a number left out": ("I3", where(Asked, lambda e: None, 2)),
    "a number twice": ("I3", where(Asked, lambda e: replace(e, number=1), 1)),
    "an outcome before its query": ("I3", lambda events: [Told(number=1, value=0.0, noise=None, at=1.0), *events]),
    "an outcome of nothing": ("I3", after_end(Told(number=99, value=0.0, noise=None, at=1.0))),
    "a parameter missing": ("I4", where(Asked, lambda e: replace(e, params={"x": 0.5}))),
    "a parameter too many": ("I4", where(Asked, lambda e: replace(e, params={**e.params, "y": 1.0}))),
    "a parameter out of bounds": ("I4", where(Asked, lambda e: replace(e, params={**e.params, "x": 1.5}))),
    "a parameter not finite": ("I4", where(Asked, lambda e: replace(e, params={**e.params, "x": float("nan")}))),
    "fewer trials known": ("I4", where(Asked, lambda e: replace(e, knew_trials=2), 3)),
    "the last trial not known": ("I4", where(Asked, lambda e: replace(e, knew=1), 3)),
    "a choice that knew the future": ("I4", where(Asked, lambda e: replace(e, knew=99), 3)),
    "told twice": ("I5", lambda events: [*events, *(e for e in events if isinstance(e, Told))][: len(events) + 1]),
    "failed twice": ("I5", after_end(Failed(number=3, kind="lost", at=1.0))),
    "a key twice": ("I2", where(Asked, lambda e: replace(e, key="key-0"), 1)),
    "half a batch": ("I2", lambda events: events[: [isinstance(e, Asked) and e.part == 1 for e in events].index(True)]),
    "an outcome at once, missing": ("I2", where(Told, lambda e: None, -1)),
    "a key repeated": ("I2", after_end(Repeated(number=1, value=0.5, noise=None, at=1.0, key="key-0"))),
    "a duplicate of nothing": ("I6", after_end(Repeated(number=1, value=9.5, noise=None, at=1.0, key="new"))),
    "refused without cause": ("I7", where(Refused, lambda e: replace(e, number=6))),
    "amended without a reason": ("I7", where(Amended, lambda e: replace(e, reason=" "))),
    "amended before it was told": ("I7", where(Amended, lambda e: replace(e, number=6))),
    "a reading that is no time": ("I12", where(Told, lambda e: replace(e, at=float("inf")))),
    "an outcome that is no number": ("I13", where(Told, lambda e: replace(e, value=float("nan")))),
    "asked after the end": ("I4", lambda events: [Ended(at=1.0), *events]),
    "another query than the choice": ("I11", where(Asked, lambda e: replace(e, params={**e.params, "x": 0.123}), -1)),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_ledger_that_breaks_a_promise(url: str, what: str) -> None:
    lived(url)
    invariant, change = BROKEN[what]
    if what == "asked after the end":

        def change(events: list[Event]) -> list[Event]:  # fmt: skip
            return [Ended(at=1.0), *(replace(e, knew=e.knew + 1) if isinstance(e, Asked) else e for e in events)]

    rewrite(url, change)
    report = check(url)
    found = {finding.invariant for finding in report.findings if finding.study == "lab"}
    assert invariant in found, str(report)
    assert not report.ok
    assert "NOT ok" in str(report)


def test_the_indexes_are_part_of_the_store(url: str) -> None:
    lived(url)
    rewrite(url, lambda events: events)
    sentences = [finding.sentence for finding in check(url).findings if finding.invariant == "I14"]
    assert sentences == [f"the index {name} is missing or not as declared" for name in ("events_once", "events_keys")]


@pytest.mark.parametrize("body", ["not JSON", "{}", '{"event": "unheard of"}', '{"event": "told"}', "[]"])
def test_events_that_cannot_be_read(url: str, body: str) -> None:
    lived(url)
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE events SET body = ? WHERE position = 3", (body,))
    connection.close()
    assert [finding.invariant for finding in check(url).findings] == ["I14"]


def test_a_gap_in_the_positions(url: str) -> None:
    lived(url)
    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE events SET position = 99 WHERE position = 21")
    connection.close()
    assert {finding.invariant for finding in check(url).findings} & {"I3", "I14"}


def test_flipped_bytes(url: str) -> None:
    """A page of the table overwritten: said, by this check or by the first reading."""
    lived(url)
    path = Path(url.removeprefix("sqlite:///"))
    sqlite3.connect(path).close()  # nothing is left in the WAL
    whole = path.read_bytes()
    pages = [i for i in range(4096, len(whole), 4096) if b'"asked"' in whole[i : i + 4096]]
    assert pages
    path.write_bytes(whole[: pages[-1]] + bytes(4096) + whole[pages[-1] + 4096 :])
    report = check(url)
    assert any(finding.invariant == "I14" for finding in report.findings), str(report)


# What clients were told, against what is in the ledger


def against(url: str, change: Callable[[list[Any], Tells], None]) -> CheckReport:
    _, asks, tells = lived(url)
    change(asks, tells)
    return check_acknowledged(url, "lab", asks, tells, complete=True)


@pytest.mark.parametrize(
    ("invariant", "change"),
    [
        ("I1", lambda asks, tells: asks.append(("new", replace(asks[0][1], number=12)))),
        ("I1", lambda asks, tells: asks.append(("key-1", replace(asks[1][1], params={"x": 0.1, "kind": "a"})))),
        ("I1", lambda asks, tells: asks.append(("key-2", asks[1][1]))),
        ("I2", lambda asks, tells: asks.pop(4)),
        ("I2", lambda asks, tells: asks.append(("key-0", asks[1][1]))),
        ("I5", lambda asks, tells: tells.append((5, 0.5, "heard"))),
        ("I8", lambda asks, tells: tells.append((6, 0.6, "heard"))),
        ("I8", lambda asks, tells: tells.append((6, 0.6, "duplicate"))),
        ("I8", lambda asks, tells: tells.append((1, 8.0, "refused"))),
        ("I8", lambda asks, tells: tells.remove((5, 0.5, "heard"))),
    ],
)
def test_an_answer_that_the_ledger_does_not_bear_out(url: str, invariant: str, change: Any) -> None:
    assert invariant in {finding.invariant for finding in against(url, change).findings}


def test_the_nearest_float_is_another_one(url: str) -> None:
    def change(asks: list[Any], tells: Tells) -> None:
        key, trial = asks[0]
        asks[0] = (key, replace(trial, params={**trial.params, "x": trial.params["x"] * (1 + 2**-52)}))

    assert {finding.invariant for finding in against(url, change).findings} == {"I1"}


def test_progress_is_said_on_the_way_and_ends_with_everything(url: str) -> None:
    study = Study.create(url, "lab", space=SPACE, silence="unknown", seed=0)
    study.add_many([{"params": {"x": x / 999, "kind": "a"}, "value": 0.5} for x in range(1000)])
    said: list[tuple[int, int]] = []
    assert check(url, "lab", progress=lambda done, total: said.append((done, total))).ok
    assert said == [(1000 * part, 6000) for part in range(1, 7)]


def test_of_too_many_different_queries_no_choice_is_computed_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lived(url)
    assert not any("computed again" in remark for remark in check(url).remarks)
    monkeypatch.setattr(belated.record.check, "REPLAYED", 5)
    monkeypatch.setattr(belated.record.check, "replay_choice", None)
    assert "lab: more than 5 different queries; no choice was computed again" in check(url).remarks


def test_a_finding_says_in_words_what_its_invariant_means() -> None:
    for invariant, meaning in INVARIANTS.items():
        finding = CheckFinding(invariant=invariant, study="lab", number=3, sentence="it is wrong")
        assert str(finding) == f"{invariant} lab, trial 3: it is wrong ({invariant} means: {meaning})"
    assert list(INVARIANTS) == [f"I{i}" for i in range(1, 15)]
