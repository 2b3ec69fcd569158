"""`belated delays`: its layout, its JSON, and the warning in words."""

import itertools
import math
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import belated
from belated.delays.wording import describe_counts, describe_forecast, format_time
from belated.learner.delays.distributions import ByInput, Distribution, Geometric, Poisson
from tests.cli import shell
from tests.cli.shell import STORE, check_refused

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")

SLOW = ByInput(lambda params: Geometric(0.3 / (1 + 5 * params["x"])))


def invoke(*args: str) -> Result:
    """With nothing on stderr."""
    ran = shell.invoke(*args)
    assert ran.stderr == ""
    return ran


def run_json(*args: str) -> Any:
    return shell.parse_json(invoke(*args, "--json"))


def anywhere(study: belated.Study) -> dict[str, Any]:
    return {"x": float(np.random.default_rng([17, study.rounds]).random())}


def simulate_study(delay: ByInput | Distribution, rounds: int = 150, **settings: Any) -> belated.Study:
    seconds = itertools.count(1_700_000_000)  # one a reading: the machine's own may depend on the query, by chance
    words = {"space": {"x": belated.Real(0, 1)}, "silence": "floor", "floor": -2, "seed": 0, **settings}
    study = belated.Study.create(STORE, "lab", clock=lambda: float(next(seconds)), **words)
    for _ in belated.simulate(
        study, lambda p: math.sin(40 * p["x"]), delay=delay, rounds=rounds, seed=1, choose=anywhere
    ):
        pass
    return study


def test_before_anything_was_asked_or_heard() -> None:
    invoke("new", "lab", "--real", "x", "0", "1", "--silence", "unknown")
    assert invoke("delays").stdout == "0 heard, 0 pending.\n"
    assert run_json("delays")["quantiles"][0] == {"share": 0.25, "within": None}
    invoke("ask", "-n", "3")
    assert invoke("delays", "lab").stdout == (
        "0 heard, 3 pending.\n\nFewer than ten were heard: too few for a forecast.\n"
    )
    invoke("tell", "2", "0.5")
    assert invoke("delays", "lab").stdout.splitlines()[:5] == [
        "1 heard, 2 pending.",
        "",
        "share  has come within",
        "25 %   2 rounds",
        "50 %   2 rounds",
    ]


def test_the_layout_has_every_sentence_once() -> None:
    study = simulate_study(Poisson(6), patience=20)
    study.add({"x": 0.5}, 0.1)
    report, printed = belated.Study.open(STORE, "lab").delays(), invoke("delays").stdout
    lines = printed.splitlines()
    assert lines[:2] == describe_counts(report)
    assert lines[3:9] == [
        "share  has come within",
        *(
            f"{100 * q:.0f} %   {format_time(t, report.scale)}"
            for q in (0.25, 0.5, 0.75, 0.9, 0.95)
            if (t := report.quantile(q)) is not None
        ),
    ]
    assert lines[10:] == [*describe_forecast(report), *(f"{finding.words}." for finding in report.depends)]
    assert lines[10].startswith("Within patience (20 rounds) 100 % arrive (95 % confidence: between ")
    assert lines[-2].startswith("No sign that delays depend on the query (p = ")
    assert "!" not in printed
    assert run_json("delays", "lab") == report.to_dict()
    assert run_json("delays", "lab")["warning"] == ""
    assert "!" not in invoke("advise").stdout
    assert run_json("advise")["warning"] == ""
    by_clock = run_json("delays", "lab", "--by", "clock")
    assert (by_clock["scale"], by_clock["in_time"]) == ("clock", None)


def test_what_has_not_come_yet() -> None:
    simulate_study(belated.delays.Sometimes(Poisson(3), 0.6), rounds=60, silence="unknown", floor=None)
    lines = invoke("delays").stdout.splitlines()
    assert lines[6:8] == ["90 %   not yet", "95 %   not yet"]
    assert any(line.startswith("About ") and line.endswith(" never come.") for line in lines)


def test_the_warning_comes_last_in_words_and_not_as_pythons() -> None:
    study = simulate_study(SLOW, patience=20)
    with pytest.warns(belated.SilenceWarning):
        warning = study.delays().warning
    for verb in ("delays", "advise"):
        assert invoke(verb).stdout.endswith(f"\n! {warning}\n")
        assert run_json(verb)["warning"] == warning
    program = [sys.executable, "-W", "always", "-c", "from belated.cli import main; main()"]
    ran = subprocess.run([*program, "delays", "lab"], capture_output=True, text=True, check=True)
    assert (ran.stderr, ran.stdout) == ("", invoke("delays", "lab").stdout)


REFUSED = [
    (["delays", "--by", "days"], 'by must be "rounds" or "clock" (got \'days\')'),
    (["delays", "lob"], "there is no study 'lob'; there are lab"),
    (["delays", "lab", "2"], "the arguments must be [NAME] (got lab 2)"),
]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(("args", "sentence"), REFUSED, ids=lambda value: " ".join(value)[:40])
def test_bad_input_is_one_sentence_and_nothing_is_stored(args: list[str], sentence: str) -> None:
    check_refused(args, sentence)


def test_quantiles_of_conversions_are_those_of_the_conversions_that_come() -> None:
    invoke("new", "lab", "--real", "x", "0", "1", "--outcomes", "conversion", "--silence", "floor", "--patience", "7d")
    study = belated.Study.open(STORE, "lab")
    for i in range(40):
        trial = study.add({"x": i / 40}, at=time.time() - 2 * 86400.0)
        if i % 4 == 0:
            study.tell(trial, 1, at=trial.asked_at + 3600.0)
    printed = run_json("delays")
    assert (printed["heard"], printed["none"], printed["quantiles_of"]) == (10, 0, "those that come within patience")
    within = {row["share"]: row["within"] for row in printed["quantiles"]}
    assert within[0.5] == pytest.approx(3600.0, rel=0.5)  # of all 40, not even a third has come
    words = invoke("delays").stdout.splitlines()
    assert words[2].split("  ") == ["of those that come", "has come within"]
    assert words[4].startswith("50 %")
