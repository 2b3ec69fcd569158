"""study.delays(): what it counts, what it leaves out, what it expects, what it finds, and how it says so."""

from __future__ import annotations

import json
import math
import time
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import belated
from belated import Choice, Integer, InvalidInput, Points, Real, SilenceWarning, SimulatedClock, Study, simulate
from belated.delays import report as waits
from belated.delays.report import DelayReport
from belated.learner.delays.distributions import ByInput, Exponential, Geometric, LogNormal, Poisson, Sometimes

SPACE = {"x": Real(0, 1), "kind": Choice("a", "b", "c")}


def create(**said: Any) -> Study:
    """A study that fits nothing: what it asks is given by the tests, unless they say otherwise."""
    return Study.create(
        **{"space": SPACE, "seed": 0, "silence": "unknown", "initial": 10**6, "clock": SimulatedClock(), **said}
    )


def anywhere(study: Study) -> dict[str, Any]:
    """A query at random, as good as any for what is tested here, and quicker to choose."""
    rng = np.random.default_rng([17, study.rounds])
    return {"x": float(rng.random()), "kind": "abc"[rng.integers(3)]}


def played(study: Study, delay: Any, rounds: int = 150, **said: Any) -> DelayReport:
    f = said.pop("f", lambda p: -((p["x"] - 0.7) ** 2))
    for _ in simulate(study, f, delay=delay, rounds=rounds, **{"seed": 1, "choose": anywhere, **said}):
        pass
    return study.delays()


def slow_at_large_x(study: Study, **said: Any) -> DelayReport:
    return played(
        study, ByInput(lambda p: Geometric(0.3 / (1 + 5 * p["x"]))), f=lambda p: math.sin(40 * p["x"]), **said
    )


def found(report: DelayReport) -> list[str]:
    return [finding.on for finding in report.depends if finding.found]


# What it counts


def test_nothing_asked() -> None:
    report = create().delays()
    assert (report.heard, report.pending, report.quantile(0.5), report.still_to_come) == (0, 0, None, None)
    assert (report.rho(), report.expected(rounds=5), report.depends) == ((0.0, 0.0, 1.0), 0.0, ())
    assert str(report) == "0 heard, 0 pending."
    assert repr(report) == "DelayReport(0 heard, 0 pending, by rounds)"


def test_rounds_by_hand() -> None:
    """Delays 2 and 1, and three trials that are out for 4, 2 and 1 rounds."""
    study = create(patience=2)
    study.ask()
    study.ask()
    study.tell(2, 0.1)  # after 1 round
    study.ask()
    study.ask()
    study.tell(3, 0.1)  # after 2
    study.ask()
    report = study.delays()
    assert (report.heard, report.pending, report.expired, report.failed) == (2, 3, 1, 0)
    assert report.rounds.waited.tolist() == [5, 1, 2, 2, 1]
    assert report.rho(1).estimate == pytest.approx(1 / 5)
    assert report.rho().estimate == report.rho(2).estimate == pytest.approx(1 - 4 / 5 * 2 / 3)
    assert report.expected(rounds=1) == pytest.approx(1 / 3)  # of the one out for 1 round
    assert report.still_to_come == 0.5
    assert str(report) == (
        "2 heard, 3 pending (1 of them past patience). Half of all have not come yet. "
        "Fewer than ten were heard: too few for a forecast."
    )


def test_the_clock_by_hand() -> None:
    now = 0.0
    study = create(patience="1h", clock=lambda: now)
    for at in (0.0, 600.0, 1200.0):
        now = at
        study.ask()
    now = 1800.0
    study.tell(2, 0.1)
    now = 7200.0
    study.tell(1, 0.2)  # late
    report = study.delays()
    assert report.scale == "clock"
    assert report.clock.waited.tolist() == [7200, 1200, 6000]
    assert (report.expired, report.quantile(0.3), report.quantile(0.9)) == (1, 1200, 7200)
    assert report.rho("1h") == report.rho(3600) == report.rho(timedelta(hours=1)) == report.rho()
    assert report.expected("30m") == pytest.approx(1.0)
    assert report.expected("5m") == 0
    assert "90 % arrive within 2 hours." in str(report)
    assert study.delays(by="rounds").rounds.waited.tolist() == [3, 2, 1]
    with pytest.raises(InvalidInput, match="m must be given: patience is by the clock"):
        study.delays(by="rounds").rho()


def test_an_added_trial_with_its_outcome_has_no_delay() -> None:
    study = create()
    for _ in range(3):
        study.add({"x": 0.1, "kind": "a"}, 0.5)
    study.add({"x": 0.2, "kind": "a"})  # out since now
    study.ask()
    study.tell(4, 0.3)
    report = study.delays()
    assert (report.heard, report.pending, report.added) == (1, 1, 3)
    assert report.rounds.waited.tolist() == [2, 1]
    assert str(report).startswith("1 heard, 1 pending. 3 trials came with their outcomes and have no delay.")


@pytest.mark.parametrize("kind", ["lost", "infeasible", "withdrawn"])
def test_what_failed_was_silent_until_it_did(kind: str) -> None:
    now = 0.0
    study = create(clock=lambda: now)
    for at in (0.0, 10.0, 20.0):
        now = at
        study.ask()
    now = 25.0
    study.fail(1, kind)  # type: ignore[arg-type]
    now = 30.0
    study.ask(n=2)
    study.fail(5, kind)  # type: ignore[arg-type]
    report = study.delays(by="clock")
    assert (report.heard, report.pending, report.failed) == (0, 3, 2)
    assert report.clock.waited.tolist() == [25, 20, 10, 0, 0]
    assert report.rounds.waited.tolist() == [3, 4, 3, 2, 1]
    assert "2 failed" in str(report)


def test_an_outcome_after_lost_has_come() -> None:
    study = create()
    study.ask()
    study.fail(1, "lost")
    study.ask()
    study.tell(1, 0.5)
    report = study.delays()
    assert (report.heard, report.failed, report.rounds.waited.tolist()) == (1, 0, [2, 1])


def test_what_is_known_does_not_change() -> None:
    study = create()
    for _ in range(3):
        study.ask()
    report = study.delays()
    study.tell(1, 0.3)
    study.ask()
    assert (report.heard, report.pending, len(report.X)) == (0, 3, 3)


def test_a_report_is_the_same_after_a_restart(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    study = create(url=url, name="a")
    report = played(study, ByInput(lambda p: Geometric(0.3 / (1 + 4 * p["x"]))), rounds=60)
    study.disconnect()
    again = Study.open(url, "a", clock=study.clock)
    assert str(again.delays()) == str(report)
    assert again.delays().depends == report.depends


# What is to come


def test_what_never_comes_is_seen() -> None:
    report = played(create(), Sometimes(Poisson(3), 0.6), rounds=200)
    assert report.settled
    assert abs(report.never - 0.4) < 0.1
    assert report.still_to_come is not None
    assert report.still_to_come * report.pending < 6
    assert f"About {100 * report.never:.0f} % never come." in str(report)


def test_the_band_holds_the_truth() -> None:
    report = played(create(patience=12), Geometric(0.1), rounds=200)
    assert report.rho().low < Geometric(0.1).rho(12) < report.rho().high
    half = report.quantile(0.5)
    assert half is not None
    assert 5 <= half <= 9
    assert f"Half arrive within {half:g} rounds" in str(report)


def test_rounds_and_the_clock_together() -> None:
    """Asked every ten minutes, as long as it takes: an hour is six rounds."""
    study = create(patience="3h")
    report = played(study, Exponential(3600), every="10m")
    assert report.scale == "clock"
    assert report.expected("1h") == pytest.approx(report.expected(rounds=6), rel=0.25)
    assert "within an hour" in str(report)
    assert "within 10 rounds" in str(study.delays(by="rounds"))


def test_expected_wants_one_of_both() -> None:
    report = create().delays()
    for wrong in ({}, {"within": "1h", "rounds": 3}):
        with pytest.raises(InvalidInput, match="give a time"):
            report.expected(**wrong)
    with pytest.raises(InvalidInput, match="within must be a timedelta or a string"):
        report.expected(60)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="rounds must be at least 0"):
        report.expected(rounds=-1)
    with pytest.raises(InvalidInput, match="m must be a number of rounds"):
        report.rho("1h")
    with pytest.raises(InvalidInput, match='by must be "rounds" or "clock"'):
        create().delays(by="hours")  # type: ignore[arg-type]


# As plain values


def plain(report: DelayReport) -> dict[str, Any]:
    values = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert values == report.to_dict()
    return dict(values)


@pytest.mark.parametrize("by", ["rounds", "clock"])
@pytest.mark.parametrize("patience", [None, 20, "2h", "auto", "auto-clock"])
def test_plain_values_are_the_reports(by: Any, patience: Any) -> None:
    study = create(patience=patience)
    played(study, Sometimes(Exponential(3000), 0.7), rounds=40, every="10m")
    study.add({"x": 0.5, "kind": "a"}, 0.2)
    study.fail(study.ask(), "lost")
    report = study.delays(by)
    values = plain(report)
    for name in ("scale", "heard", "pending", "expired", "failed", "added", "never", "settled", "still_to_come"):
        assert values[name] == getattr(report, name)
    assert [(row["share"], row["within"]) for row in values["quantiles"]] == [
        (q, report.quantile(q)) for q in (0.25, 0.5, 0.75, 0.9, 0.95)
    ]
    assert values["quantiles"][-1]["within"] is None
    assert values["expected"] == {"10 rounds": report.expected(rounds=10), "1h": report.expected("1h")}
    assert [finding["words"] for finding in values["depends"]] == [finding.words for finding in report.depends]
    assert len(values["depends"]) == 2
    same_scale = patience in ((20,) if by == "rounds" else ("2h",))
    if same_scale:
        assert values["in_time"] == report.rho()._asdict()
    elif patience is None or study.settings.patience.by_clock != (by == "clock"):
        assert values["in_time"] is None


def test_plain_values_of_nothing() -> None:
    values = plain(create().delays())
    assert {row["within"] for row in values["quantiles"]} == {None}
    assert (values["in_time"], values["depends"], values["warning"]) == (None, [], "")


# What delays depend on


def test_no_dependence() -> None:
    report = played(create(silence="floor", floor=-1, patience=20), Poisson(6))
    assert {finding.on for finding in report.depends} == {"query", "outcome"}
    assert found(report) == []
    assert report.warning == ""
    assert str(report).endswith("No sign that delays depend on the query or the outcome.")
    assert report.rho_at({"x": 0.2, "kind": "a"}, m=6) == report.rho(6).estimate


def test_slow_where_x_is_large() -> None:
    """The words name it, the model follows it, and the floor is warned of."""
    study = create(silence="floor", floor=-1, patience=20)
    with pytest.warns(SilenceWarning):
        report = slow_at_large_x(study)
    assert found(report) == ["query"]
    assert "Delays seem to depend on the query (p = 0.001): slower where x is large." in str(report)
    assert report.warning.startswith('With silence="floor" slow queries count as bad ones.')
    assert 'silence="unknown"' in report.warning
    assert 'silence="waiting"' in report.warning
    assert str(report).endswith(report.warning)
    fast, slow = (report.rho_at({"x": x, "kind": "a"}, m=5) for x in (0.05, 0.95))
    assert slow < report.rho(5).estimate < fast
    assert fast - slow > 0.2
    assert 0 < report.expected(rounds=5) < report.expected(rounds=50) <= report.pending


def test_other_silences_are_not_warned_of_nor_tested_before_one_looks() -> None:
    report = slow_at_large_x(create(patience=20))
    assert "_verdicts" not in vars(report)
    assert "query" in found(report)
    assert report.warning == ""


def test_the_warning_points_at_the_call() -> None:
    study = create(silence="floor", floor=-1, patience=20)
    with pytest.warns(SilenceWarning):
        report = slow_at_large_x(study)
    with pytest.warns(SilenceWarning) as caught:
        study.delays()
    here = test_the_warning_points_at_the_call.__code__
    (warned,) = caught
    assert str(warned.message) == report.warning
    assert (warned.filename, warned.lineno) == (here.co_filename, here.co_firstlineno + 5)


def test_neither_advice_nor_an_ask_that_follows_it_warns() -> None:
    """Warnings are errors here: a study that thinks about its patience says nothing."""
    study = create(silence="floor", floor=-1, patience="auto", initial=None)
    with pytest.warns(SilenceWarning) as caught:
        report = slow_at_large_x(study, choose=None)
    assert len(caught) == 1  # of the report, not of its 150 asks
    assert math.isfinite(study.settings.patience.m)
    advice = study.advise()
    assert advice.warning == advice.to_dict()["warning"] == report.warning
    assert str(advice).endswith(f"\n! {report.warning}")
    even = create(silence="floor", floor=-1, patience=20)
    played(even, Poisson(6))
    assert even.advise().warning == ""
    assert "!" not in str(even.advise())


def test_a_slow_option() -> None:
    def slow_b(params: Any) -> Exponential:
        return Exponential(20_000 if params["kind"] == "b" else 3_000)

    report = played(create(patience="2h"), ByInput(slow_b), every="10m")
    assert found(report) == ["query"]
    assert "slower where kind is 'b'" in str(report)
    assert report.rho_at({"x": 0.5, "kind": "b"}) < report.rho_at({"x": 0.5, "kind": "a"})


def test_points_and_integers() -> None:
    rows = [{"n": n, "colour": colour} for n in range(1, 9) for colour in ("red", "blue", "green")]

    def slow(params: Any) -> Geometric:
        return Geometric(0.05 if params["n"] >= 5 else 0.4)

    def any_point(study: Study) -> dict[str, Any]:
        return rows[int(np.random.default_rng(study.rounds).integers(len(rows)))]

    def any_number(study: Study) -> dict[str, Any]:
        return {"n": int(np.random.default_rng(study.rounds).integers(1, 9))}

    for space, choose in ((Points(rows), any_point), ({"n": Integer(1, 8)}, any_number)):
        study = create(space=space, goal="minimize", repeats="always")
        report = played(study, ByInput(slow), f=lambda p: float((7 * p["n"]) % 5), choose=choose)
        assert "query" in found(report)
        assert "slower where n is large" in str(report)


def test_the_option_of_a_point() -> None:
    rows = [{"n": n, "colour": colour} for n in range(1, 9) for colour in ("red", "blue", "green")]
    study = create(space=Points(rows), repeats="always")
    report = played(
        study,
        ByInput(lambda p: Geometric(0.05 if p["colour"] == "blue" else 0.4)),
        f=lambda p: float((7 * p["n"]) % 5),
        choose=lambda study: rows[int(np.random.default_rng(study.rounds).integers(24))],
    )
    assert "slower where colour is 'blue'" in str(report)


def test_the_context_is_told_from_the_query() -> None:
    def slow(params: Any, context: Any) -> Geometric:
        return Geometric(0.05 if context["site"] == "far" else 0.4)

    def choose(study: Study) -> dict[str, Any]:
        return {"x": float(np.random.default_rng(study.rounds).random())}

    study = create(space={"x": Real(0, 1)}, context={"site": Choice("near", "far")}, silence="floor", floor=-1)
    sites = [{"site": "near"}, {"site": "far"}, {"site": "far"}] * 50
    report = played(study, ByInput(slow), f=lambda p, z: -((p["x"] - 0.7) ** 2), choose=choose, contexts=sites)
    assert found(report) == ["context"]
    assert "slower where site is 'far'" in str(report)
    assert report.warning == ""
    near, far = (report.rho_at({"x": 0.5}, {"site": site}, m=4) for site in ("near", "far"))
    assert far < near
    with pytest.raises(InvalidInput, match="context must be given"):
        report.rho_at({"x": 0.5}, m=4)
    with pytest.raises(InvalidInput, match="this study has no context"):
        create().delays().rho_at({"x": 0.5, "kind": "a"}, {"site": "far"}, m=4)


@pytest.mark.parametrize(("goal", "words"), [("maximize", "better"), ("minimize", "worse")])
def test_the_outcome_itself(goal: Any, words: str) -> None:
    """Large outcomes come late, whatever the query: they are noise."""
    study, coming = create(goal=goal, space={"x": Real(0, 1)}, initial=0), []
    rng = np.random.default_rng(5)
    for t in range(1, 151):
        for s, y in [(s, y) for when, s, y in coming if when == t]:
            study.tell(s, y)
        trial = study.ask(params={"x": float(rng.random())})
        y = float(rng.normal())
        coming.append((t + int(rng.geometric(0.05 if y > 0.5 else 0.4)), trial.number, y))
    report = study.delays()
    assert found(report) == ["outcome"]
    assert f"Delays seem to depend on the outcome (p = 0.001): {words} outcomes come later." in str(report)


def test_what_the_query_explains_is_said() -> None:
    report = played(create(), ByInput(lambda p: Geometric(0.4 / (1 + 8 * p["x"]))), rounds=200, f=lambda p: p["x"])
    assert found(report) == ["query", "outcome"]
    assert "better outcomes come later; the query alone may explain that." in str(report)


@pytest.mark.parametrize(("seeds", "most"), [(8, 2), pytest.param(20, 3, marks=pytest.mark.long)])
def test_an_improving_study_raises_no_more_alarms_than_its_level(seeds: int, most: int) -> None:
    """With the study's own choices, which go where it is best. At 5 %, three or more of 8 are one in 170, four or more
    of 20 one in sixty."""
    space, alarms = {"x": Real(0, 1)}, 0
    for seed in range(seeds):
        study = create(space=space, seed=seed, initial=None)
        report = played(study, LogNormal(20, 1.0), rounds=60, choose=None, seed=seed)
        assert report.depends
        alarms += bool(found(report))
    assert alarms <= most


def test_a_report_takes_no_more_than_about_a_second() -> None:
    """1000 trials, in rounds and by the clock: a third of a second where this was written."""
    study = create(space={f"x{i}": Real(0, 1) for i in range(6)}, silence="floor", floor=-1)
    clock, rng = 0.0, np.random.default_rng(0)
    coming: list[tuple[float, int]] = []
    study.clock = lambda: clock
    for _ in range(1000):
        params = {f"x{i}": float(u) for i, u in enumerate(rng.random(6))}
        number = study.add(params).number
        coming.append((clock + float(rng.exponential(50 * (1 + 3 * params["x0"]))), number))
        clock += 1.0
        for when, s in [one for one in coming if one[0] <= clock]:
            study.tell(s, float(rng.normal()), at=when)
        coming = [one for one in coming if one[0] > clock]
    best = math.inf
    for by in ("rounds", "clock"):
        for _ in range(2):
            start = time.perf_counter()
            with pytest.warns(SilenceWarning):
                text = str(study.delays(by=by))  # type: ignore[arg-type]
            best = min(best, time.perf_counter() - start)
        assert "slower where x0 is large" in text
    assert best < 5


def test_it_is_imported_when_it_is_used() -> None:
    import subprocess
    import sys

    modules = ("belated.delays.report", "belated.learner.delays.dependence")
    script = f"import belated, sys; print(*(name in sys.modules for name in {modules}))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]
    assert belated.Study.delays.__doc__
    assert waits.LEVEL == 0.05
