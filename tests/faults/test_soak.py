"""A short soak, and that a soak finds what is lost."""

from __future__ import annotations

import json
from pathlib import Path

from belated import Study
from tests.faults.soak import soak
from tests.faults.soak_history import History
from tests.faults.soak_worker import Worker, find_study, open_study


def test_nothing_acknowledged_is_lost(url: str, tmp_path: Path) -> None:
    done = soak(url, tmp_path, 7)
    assert done.ok, str(done)
    acknowledged = [done.history.count(what) for what in ("asks", "tells")]
    assert min(*acknowledged, done.kills, done.history.interrupts, done.backups) > 0, str(done)
    assert str(done).endswith("lost: 0; ok")


def write_log(path: Path, lines: list[object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="ascii")
    return path


def test_what_is_lost_is_found(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    study: Study = open_study(url, 0)
    trial = study.ask(key="a")
    study.tell(trial, 0.5, key="b")
    study.amend(trial, 0.75, reason="c")
    ask, params = {"verb": "ask", "count": 0, "n": 1, "key": "a"}, dict(trial.params)
    tell = {"verb": "tell", "count": 0, "number": 1, "value": 0.5, "key": "b"}
    amend = {"verb": "amend", "count": 0, "number": 1, "value": 0.75, "reason": "c"}
    true = [["did", ask, [[1, params]]], ["did", tell, "heard"], ["did", amend, "amended"]]
    assert History.of([write_log(tmp_path / "true", true)]).find_losses(url, find_study(0)) == ([], [])
    false = [
        ["did", ask, [[1, {**params, "x": 0.125}]]],
        ["did", {**ask, "key": "d"}, [[2, params]]],
        ["did", {**tell, "value": 0.625}, "heard"],
        ["did", {**amend, "reason": "e"}, "amended"],
    ]
    for line in false:
        history = History.of([write_log(tmp_path / "true", true), write_log(tmp_path / "false", [line])])
        lost, _ = history.find_losses(url, find_study(0))
        assert lost, line
    study.amend(trial, 0.75, reason="c")
    _, wrong = History.of([write_log(tmp_path / "true", true)]).find_losses(url, find_study(0))
    assert wrong == ["soak-0: the amendment (1, 0.75, 'c') is there 2 times"]


def test_a_worker_that_was_killed_goes_on_where_its_log_ends(tmp_path: Path) -> None:
    url, log = f"sqlite:///{tmp_path}/lab.db", tmp_path / "worker.log"
    trial = open_study(url, 0).ask(key="worker-0")
    write_log(log, [["try", {"verb": "ask", "count": 0, "n": 1, "key": "worker-0"}]])
    worker = Worker(url, "worker", log, deadline=0.0)
    worker.run()
    assert worker.pending == [trial.number]
    assert History.of([log]).studies[find_study(0)].asks[0][1].params == trial.params
