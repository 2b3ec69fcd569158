"""The report: everything is on it, nothing outside is needed, and nothing of the user's is taken for markup."""

import re
import warnings
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

import belated
from belated import Choice, Real, Study
from tests.cli.shell import run_python
from tests.plotting.studies import (
    make_by_the_clock,
    make_contextual,
    make_counted,
    make_crowd,
    make_empty,
    make_lab,
    make_listed,
    make_only_asked,
    make_wide,
)

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

TAGS = re.compile(r"<[^>]*>")


@cache
def report_lab() -> str:
    return make_lab().report()


def read_words(page: str) -> str:
    """The text of a page, as one line."""
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return " ".join(TAGS.sub(" ", body).replace("&lt;", "<").replace("&gt;", ">").split())


def test_everything_is_on_it() -> None:
    words, best = read_words(report_lab()), make_lab().best().trial
    for said in (
        "Which bath extracts most? For plant 2.",
        "Make yield (%) as large as possible. The worst possible value is -1 %.",
        "temperature 20 to 90 °C",
        "rate 0.002 to 0.05, evenly by logarithm 1/s",
        "stages whole numbers 1 to 8",
        "solvent water, ethanol, 2-MeTHF",
        "it says nothing about how good it will be",
        "Patience is 14d: what comes after it is late. Late outcomes are used too.",
        f"Best so far {best.outcome:.4g} %",
        "The next 10 queries may gain ",
        f"Trial {best.number}.",
        "days since 15 Jun 2025",
        "Belief about yield (%)",
        "temperature (°C)",
        "Delays seen so far",
        "5 lost no outcome",
        "9 infeasible the query cannot work",
        "digits swapped in the notebook",
        "the study floor 0 → -1 the sensor <drifts> below zero",
        f"belated {belated.__version__}",
        "Algorithm default, seed 1.",
    ):
        assert said in words, said


def test_of_conversions_the_rate_is_looked_for_and_nobody_is_waited_for_beyond_patience() -> None:
    now = [0.0]
    study = Study.create(
        space={"banner": Choice("a", "b")},
        outcomes="conversion",
        silence="fading",
        patience="1d",
        seed=0,
        clock=lambda: now[0],
    )
    early, late = study.add({"banner": "a"}), study.add({"banner": "b"})
    study.tell(early, 1.0)
    assert "Nothing: every query has its outcome." not in read_words(study.report())
    now[0] = 2 * 86400.0
    words = read_words(study.report())
    assert "Make the rate of conversions as large as possible." in words
    assert "The rate so far; below, when each conversion was heard, and the trials without one." in words
    assert "the band holds the rate with 90 %." in words
    assert study.trial(late.number).status == "expired"
    assert "Nothing: every query has its outcome." in words


def test_the_recommended_point_has_its_interval() -> None:
    study = make_lab()
    at = study.posterior([study.recommend().params])
    shown = re.search(r"Recommended, by the model (\S+) ± (\S+) % \(90 % interval\)", read_words(report_lab()))
    assert shown is not None
    assert float(shown[1]) == pytest.approx(float(at.mean[0]), abs=0.1)
    assert float(shown[2]) == pytest.approx(float(at.high[0] - at.low[0]) / 2, rel=0.1)


def test_an_amendment_says_what_was_there_before() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0)
    study.tell(study.ask(), 7.25)
    study.amend(1, 0.5, reason="first")
    study.amend(1, 0.75, reason="second")
    words = read_words(study.report())
    assert "trial 1 7.25 → 0.5 first" in words
    assert "trial 1 0.5 → 0.75 second" in words


def test_what_was_put_right_is_compared_with_what_counted_before_and_says_who() -> None:
    study = Study.create(space={"x": Real(0, 1)}, silence="unknown", patience=5, seed=0)
    study.ask(n=2)
    study.tell(1, 1.0)
    study.amend(1, 2.0, reason="misread", by="Bob")
    study.undo(by="Bob", reason="no")
    study.amend(1, 3.0, params={"x": 0.5}, reason="read again", by="Anna")
    study.fail(2, "infeasible", reason="boiled", by="Anna")
    study.amend(2, failure="lost", reason="it was the flask", by="Bob")
    study.amend(patience="2d", ranges={"x": (0, 2)}, reason="slow", by="Bob")
    study.close(lock=True)
    study.reopen(reason="two more", by="Bob")
    words = read_words(study.report())
    x = f"{study.trial(1).asked_params['x']:.4g}"
    for said in (
        "trial 1 1 → 2 misread Bob",
        "trial 1 undone: amended trial 1: its outcome is 2.0 no Bob",
        f"trial 1 1 → 3; x {x} → 0.5 read again Anna",
        "trial 2 infeasible → lost it was the flask Bob",
        "the study patience 5 rounds → 2d; x 0 to 1 → 0 to 2 slow Bob",
        "the study locked → open two more Bob",
        "2 lost it was the flask Bob",
    ):
        assert said in words, said
    study.close(lock=True)
    assert "The study is locked." in read_words(study.report())


def test_it_has_no_scripts_and_needs_nothing_outside() -> None:
    page = report_lab()
    assert "<script" not in page
    assert not re.findall(r'(?:src|href)="(?!#)', page)
    assert "@import" not in page
    assert set(re.findall(r"https?://[^\s\"<]+", page)) <= {
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/2000/svg",
    }
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids)) > 50


def test_words_of_the_user_are_no_markup() -> None:
    study = Study.create(
        name="odd",
        about="<script>alert(1)</script> & more",
        outcome_name="<b>y</b>",
        space={"<i>x</i>": Real(0, 1), "$c_1$": Choice("<u>a</u>", "b & c")},
        silence="unknown",
        seed=0,
    )
    for _ in range(3):
        study.tell(study.ask(), 1.0)
    page = study.report()
    assert "<script" not in page
    assert not re.findall(r"<(b|i|u)>", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in page
    assert "$c_1$" in read_words(page)


@pytest.mark.parametrize("make", [make_by_the_clock, make_crowd], ids=lambda make: make.__name__)
def test_a_study_of_any_kind_has_a_report(make) -> None:
    with warnings.catch_warnings(action="ignore", category=belated.SilenceWarning):
        page = make().report()
    assert page.rstrip().endswith("</html>")
    assert make().name in page


def test_before_anything_is_heard_nothing_is_recommended() -> None:
    for make in (make_empty, make_only_asked):
        words = read_words(make().report())
        assert "Recommended" not in words
        assert "Best so far" not in words
        assert "nothing heard yet" in words


def test_people_who_were_counted_are_out_and_have_converted() -> None:
    study = make_counted()
    words = read_words(study.report({"segment": "new"}))
    shown, converted = (sum(getattr(trial, name) for trial in study.trials()) for name in ("shown", "converted"))
    out = f"{shown - converted} of {shown} people who were counted by day have not converted."
    assert f"Still out {out} Failed" in words
    assert re.search(r"Asked 2800 times, converted \d+ times\.", words)
    until = max(trial.counted_at for trial in study.trials())
    assert f"As of {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC" in words


def test_a_context_is_said() -> None:
    study = make_contextual()
    words = read_words(study.report({"z": 0.25, "who": "f"}))
    assert "In the context z 0.25 who f" in words
    assert "Every query comes with a context:" in words


def test_points_are_listed_and_have_no_pair() -> None:
    words = read_words(make_listed().report())
    assert "w ring 1 aryl 1 none" in words
    assert "two coordinates that matter most" not in words


def test_many_coordinates_are_several_charts() -> None:
    assert make_wide().report().count("The belief along each coordinate") == 2 * 3  # caption and label of each


def test_the_head_is_that_of_the_record(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    study = Study.create(url, "bath", space={"x": Real(0, 1)}, silence="unknown", seed=0)
    study.ask()
    assert f"bath: head {study.head}" in belated.check(url).heads
    assert study.head in study.report()
    assert "It is in memory and has no hash." in report_lab()


def test_without_jinja_it_says_what_to_install() -> None:
    script = """
import sys
sys.modules["jinja2"] = None
from belated import Real, Study
try:
    Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0).report()
except Exception as error:
    print(type(error).__name__, error)
"""
    assert run_python(script).stdout == 'Unavailable the report needs Jinja2: pip install "belated[report]"\n'


def test_a_failure_has_its_reason() -> None:
    study = belated.Study.create(space={"x": belated.Real(0, 1)}, silence="unknown", seed=0)
    study.fail(study.ask(n=2), "lost", reason="the power was off")
    assert "the power was off" in study.report()
