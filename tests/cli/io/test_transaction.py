"""Many changes at once: what others wrote meanwhile explains a refusal, and one that nothing explains is an error."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from belated import Real, Study, Unreadable
from belated.cli.io.transaction import apply_at_once
from tests.support.refusals import refusal


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = Study.create(f"sqlite:///{tmp_path}/lab.db", "lab", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    study.ask(n=2)
    return study


def test_what_another_wrote_first_is_read_and_the_work_done_again(study: Study, tmp_path: Path) -> None:
    seen: list[int] = []

    def work(copy: Study) -> str:
        seen.append(len(copy.events()))
        if len(seen) == 1:
            study.tell(1, 0.5)  # between the reading and the writing
        copy.tell(2, 0.25)
        return copy.tell(1, 0.5).status

    assert apply_at_once(f"sqlite:///{tmp_path}/lab.db", "lab", work) == "duplicate"
    assert seen == [2, 3]
    assert [trial.outcome for trial in study.trials()] == [0.5, 0.25]


def test_a_refusal_that_nothing_explains_is_an_error_and_no_loop(study: Study, tmp_path: Path) -> None:
    study.disconnect()
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        connection.execute("CREATE TRIGGER refuse BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no'); END")
    connection.close()
    sentence = refusal(
        Unreadable, lambda: apply_at_once(f"sqlite:///{tmp_path}/lab.db", "lab", lambda c: c.tell(1, 0.5))
    )
    assert "refuses this event as written before" in sentence
    assert len(study.events()) == 2
