"""What a server's handle on a study does besides: asks of several clients with one commit."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

import belated
from belated import Choice, Points, Real, Study
from belated.service.served import NotTogether, ServedStudies, ServedStudy
from tests.support.servers import run_server

SAID: dict[str, Any] = {"space": {"x": Real(0, 1)}, "silence": "unknown", "seed": 3}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.faults)])
def studies(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServedStudies]:
    url = f"sqlite:///{tmp_path}/lab.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    kept = ServedStudies(str(url))
    yield kept
    kept.close()


def make(studies: ServedStudies, **said: Any) -> ServedStudy:
    Study.create(studies.url, "lab", **{**SAID, **said}).disconnect()
    return studies.open(studies.find_identity("lab") or "")


def test_asks_together_are_those_of_a_batch_and_each_is_a_call_of_its_own(studies: ServedStudies) -> None:
    study, alone = make(studies), Study.create(**SAID)
    for each in (study, alone):
        each.add_many([{"params": {"x": i / 8}, "value": i * 3 % 8} for i in range(9)])
        each.ask()
    before = study.read_head().position
    calls = [{"key": "a", "by": "anna"}, {"by": "ben", "remark": "blue"}, {"key": "c"}, {}]
    trials = study.ask_together(calls)
    assert [trial.params for trial in trials] == [trial.params for trial in alone.ask(n=4)]
    assert [(trial.number, trial.asked_by, trial.remark) for trial in trials] == [
        (11, "anna", ""), (12, "ben", "blue"), (13, None, ""), (14, None, ""),
    ]  # fmt: skip
    assert study.read_head().position == before + 4
    assert study.ask(key="a") == trials[0]
    assert study.ask(key="c") == trials[2]
    assert all(study.replay(trial.number).same for trial in trials)
    assert belated.check(studies.url).ok
    assert Study.open(studies.url, "lab").ask().params == alone.ask().params


def test_what_has_an_answer_of_its_own_is_not_done_together(studies: ServedStudies) -> None:
    study = make(studies, context={"who": Choice("f", "m")})
    known = {"context": {"who": "f"}, "key": "known"}
    study.ask(**known)  # type: ignore[call-overload]
    before = study.read_head()
    for other in (
        known,
        {"context": {"who": "x"}},
        {},
        {"context": {"who": "m"}, "key": ""},
        {"context": {"who": "m"}, "key": "b"},
        {"context": {"who": "m"}, "by": 5},
    ):
        with pytest.raises(NotTogether):
            study.ask_together([{"context": {"who": "m"}, "key": "b"}, other])
    assert study.read_head() == before


def test_a_list_that_ends_is_not_asked_beyond(studies: ServedStudies) -> None:
    study = make(studies, space=Points([0.0, 0.5]), repeats="never")
    with pytest.raises(NotTogether):
        study.ask_together([{}, {}, {}])
    assert study.rounds == 0
    assert [trial.number for trial in study.ask_together([{}, {}])] == [1, 2]


@pytest.mark.faults
def test_many_clients_share_commits_and_each_gets_its_own_answer(studies: ServedStudies) -> None:
    make(studies).add_many([{"params": {"x": i / 40}, "value": i * 3 % 8} for i in range(41)])
    with run_server(studies.url, workers=1) as server:
        far = [Study.open(server.url, "lab") for _ in range(12)]

        def use(i: int) -> list[int]:
            numbers = []
            for j in range(4):
                key = None if j % 2 else f"{i}-{j}"
                trial = far[i].ask(key=key, by=f"client {i}")
                assert trial.asked_by == f"client {i}"
                assert key is None or far[i].ask(key=key) == trial
                far[i].tell(trial, 0.5)
                numbers.append(trial.number)
            return numbers

        with ThreadPoolExecutor(12) as clients:
            numbers = sorted(number for found in clients.map(use, range(12)) for number in found)
        assert numbers == list(range(42, 90))
        assert server.call("POST", "/api/studies/lab/ask", {"context": {"no": "such"}}).status == 400
        assert belated.check(server.url).ok
    asked = [event for event in Study.open(studies.url, "lab").events()[41:] if hasattr(event, "considered_at")]
    assert len({event.considered_at for event in asked}) < 48  # some were chosen at one moment
