"""What pages say of a study."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from belated import Choice, Integer, Points, Real, Study
from belated.service.pages.content import (
    describe_question,
    draw_spark,
    list_columns,
    list_fields,
    list_history,
    list_out,
    preview_undo,
    read_moment,
    summarize,
)
from belated.service.served import ServedStudies, ServedStudy
from belated.space.encoding import Space
from belated.validation import Params

DAY = 86400.0


@pytest.fixture
def studies(tmp_path: Path) -> Iterator[ServedStudies]:
    kept = ServedStudies(f"sqlite:///{tmp_path}/lab.db", lambda: 1.7e9 + 5 * DAY)
    yield kept
    kept.close()


def open_again(studies: ServedStudies, study: Study) -> ServedStudy:
    return studies.open(studies.find_identity(study.name or "") or "")


def make_lab(studies: ServedStudies) -> ServedStudy:
    study = Study.create(
        studies.url, "lab", space={"x": Real(0, 1)}, silence="unknown", patience="2d", unit="%", goal="minimize",
        seed=1, clock=lambda: 1.7e9,
    )  # fmt: skip
    trials = study.ask(n=4, by="robot")
    for trial, value in zip(trials, (3.0, 2.5, 7.25), strict=False):
        study.tell(trial, value, by="anna")
    return open_again(studies, study)


def test_a_summary_says_what_wants_attention(studies: ServedStudies) -> None:
    summary = summarize(make_lab(studies))
    standing = summary.standing
    assert (standing.title, standing.value, standing.trial) == ("Best so far", "2.5 %", 2)
    assert standing.words == "Best so far: from 3 % to 2.5 %"
    assert (summary.out, summary.oldest) == (1, "5d")
    assert list(summary.attention) == ["1 out longer than patience", "never fitted"]
    assert summary.newest is not None
    assert summary.newest.ago == "5d ago"
    study = open_again(studies, Study.create(studies.url, "new", space={"x": Real(0, 1)}, silence="unknown"))
    assert list(summarize(study).attention) == ["nothing asked yet"]
    study.ask()
    assert list(summarize(study).attention) == ["nothing heard yet"]
    study.close(lock=True)
    assert list(summarize(study).attention) == ["locked", "nothing heard yet"]


def test_of_conversions_the_share_is_shown_and_silence_past_patience_is_an_answer(studies: ServedStudies) -> None:
    clock = [1.7e9]
    made = Study.create(
        studies.url, "shop", space={"x": Real(0, 1)}, outcomes="conversion", silence="fading", patience="2d",
        seed=1, clock=lambda: clock[0],
    )  # fmt: skip
    trials = made.ask(n=8)
    made.tell(trials[2], 1)
    made.fail(trials[3], "lost")
    clock[0] += 4 * DAY
    made.ask()
    made.add_many([{"params": {"x": 0.5}, "day": "2023-11-16", "shown": 12, "converted": 4}])
    study = open_again(studies, made)
    summary = summarize(study)
    assert (summary.standing.title, summary.standing.value, summary.standing.note) == ("Converted", "25 %", "5 of 20")
    assert summary.standing.words == "Converted: 25 % by now"
    assert (summary.out, summary.oldest, summary.silent) == (1, "1d", 6)
    assert not summary.attention
    rows, out = list_out(study)
    assert ([row.number for row in rows], out) == ([9], 1)
    assert describe_question(study.settings) == "Make the rate of conversions as large as possible. Patience is 2d."


def test_history_is_paged_from_the_newest_and_filtered(studies: ServedStudies) -> None:
    study = make_lab(studies)
    lines, paging = list_history(study, None, None, 0, 3)
    assert [line.entry.position for line in lines] == [7, 6, 5]
    assert (paging.words, paging.before, paging.after) == ("1 to 3 of 7", None, 3)
    assert [line.entry for line in lines] == study.log()[::-1][:3]
    by_anna, _ = list_history(study, 2, "anna", 0)
    assert [line.entry.sentence for line in by_anna] == ["told 2.5 of trial 2"]
    study.tell(4, 1.0, by="ben")
    lines, _ = list_history(study, None, None, 0, 1)
    assert lines[0].entry.sentence == "told 1.0 of trial 4"
    assert study.writers == ["robot", "anna", "ben"]


def test_an_undo_is_shown_before_it_is_done(studies: ServedStudies) -> None:
    study = make_lab(studies)
    assert preview_undo(study, "anna").only == 7
    assert preview_undo(study, "eve").refusal == "there is nothing by eve to undo"
    assert preview_undo(study, "robot").refusal.endswith("amend it instead")  # others were told since


def test_no_undo_is_offered_of_a_locked_study(studies: ServedStudies) -> None:
    study = make_lab(studies)
    study.close(lock=True)
    assert preview_undo(study, None).refusal.startswith("This study is locked")


def test_fields_know_their_values() -> None:
    space = Space.of({"x": Real(0, 1, unit="°C"), "n": Integer(2, 9), "kind": Choice("a", None, 3)})
    given: Params = {"x": 0.25, "n": 3, "kind": None}
    x, n, kind = list_fields(space, given)
    assert (x.label, x.hint, x.value) == ("x (°C)", "0 to 1", "0.25")
    assert (n.hint, n.value) == ("whole, 2 to 9", "3")
    assert [written for written, _ in kind.options] == ['"a"', "null", "3"]
    assert kind.value == "null"
    (listed,) = list_fields(Space.of(Points([0.0, 0.5])))
    assert [written for written, _ in listed.options] == ["0.0", "0.5"]


def test_columns_of_words_are_not_numeric(studies: ServedStudies) -> None:
    space = {"x": Real(0, 1), "kind": Choice("a", "b"), "size": Choice(1, 2)}
    study = Study.create(space=space, silence="unknown", seed=0)
    assert [column.numeric for column in list_columns(study.settings)] == [True, False, True]


def test_a_moment_is_an_age_and_a_time() -> None:
    moment = read_moment(1.7e9, 1.7e9 + 3700)
    assert (moment.ago, moment.exact, moment.iso) == (
        "1h 1m ago",
        "2023-11-14 22:13:20 UTC",
        "2023-11-14T22:13:20+00:00",
    )
    assert read_moment(5.0, 8.0).iso == ""


def test_a_spark_stays_in_its_box() -> None:
    import numpy as np

    points = [tuple(map(float, pair.split(","))) for pair in draw_spark(np.linspace(-5.0, 900.0, 1000)).split()]
    assert len(points) == 48
    assert all(0 <= x <= 120 and 0 <= y <= 32 for x, y in points)
    assert draw_spark(np.array([1.0])) == ""
