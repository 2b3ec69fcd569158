"""No value that is no finite number gets into a ledger, by whichever door it comes; the attempt leaves nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from belated import InvalidInput, Real, Study
from belated.cli import main
from belated.record.events import Told
from belated.record.ledger import open_store
from tests.faults.world import sound

POISON = {
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "numpy nan": np.float64("nan"),
    "float32 inf": np.float32("inf"),
    "10**400": 10**400,
    "text": "0.5",
    "true": True,
    "list": [0.5],
}

DOORS: dict[str, Callable[[Study, Any], object]] = {
    "tell": lambda study, bad: study.tell(2, bad),
    "tell noise": lambda study, bad: study.tell(2, 0.5, noise=bad),
    "tell at": lambda study, bad: study.tell(2, 0.5, at=bad),
    "a duplicate": lambda study, bad: study.tell(1, bad),
    "add": lambda study, bad: study.add({"x": 0.5}, bad),
    "add noise": lambda study, bad: study.add({"x": 0.5}, 0.5, noise=bad),
    "add at": lambda study, bad: study.add({"x": 0.5}, at=bad),
    "add params": lambda study, bad: study.add({"x": bad}, 0.5),
    "ask params": lambda study, bad: study.ask(params={"x": bad}),
    "amend": lambda study, bad: study.amend(1, bad, reason="typo"),
    "amend noise": lambda study, bad: study.amend(1, 0.5, noise=bad, reason="typo"),
    "amend floor": lambda study, bad: study.amend(floor=bad, reason="typo"),
    "amend limits": lambda study, bad: study.amend(limits=(0.0, bad), reason="typo"),
    "amend limits below": lambda study, bad: study.amend(limits=(bad, 1.0), reason="typo"),
}


def lab(url: str) -> Study:
    """The first of two trials has an outcome."""
    study = Study.create(url, "lab", space={"x": Real(0, 1)}, silence="unknown", seed=1, initial=2)
    study.ask(n=2)
    study.tell(1, 0.25)
    return study


@pytest.mark.parametrize("door", DOORS)
def test_python_refuses_it(url: str, door: str) -> None:
    study = lab(url)
    for bad in POISON.values():
        with pytest.raises(InvalidInput, match=r"must be a (finite )?number"):
            DOORS[door](study, bad)
    assert sound(url).events == 3
    assert study.tell(2, 0.5).status == "heard"  # it goes on


@pytest.mark.parametrize("verb", ["ask", "tell", "add", "fail", "amend", "close"])
def test_a_clock_that_is_broken_stores_nothing(url: str, verb: str) -> None:
    lab(url)
    calls: dict[str, Callable[[Study], object]] = {
        "ask": lambda study: study.ask(),
        "tell": lambda study: study.tell(2, 0.5),
        "add": lambda study: study.add({"x": 0.5}, 0.5),
        "fail": lambda study: study.fail(2, "lost"),
        "amend": lambda study: study.amend(1, 0.5, reason="typo"),
        "close": lambda study: study.close(),
    }
    for bad in POISON.values():
        study = Study.open(url, "lab", clock=lambda bad=bad: bad)  # type: ignore[misc]
        with pytest.raises(InvalidInput, match="the clock's reading must be a"):
            calls[verb](study)
    assert sound(url).events == 3


def test_no_store_writes_down_what_json_cannot_say(url: str) -> None:
    """Not even when everyone before it was asleep."""
    lab(url)
    place = open_store(url)
    spec = dict(place.spec("lab") or {})
    for bad in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="JSON"):
            place.create("other", {**spec, "floor": bad})
        with pytest.raises(ValueError, match="JSON"):
            place.ledger("lab").append([Told(number=2, value=bad, noise=None, at=1.0)])
    assert place.names() == ["lab"]
    place.close()
    assert sound(url).events == 3


TEXTS = ("nan", "NaN", "inf", "-Infinity", "1e999", "9" * 5000, "0x1p3", "true", "")


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:10] or "empty")
def test_the_shell_refuses_it(tmp_path: Path, text: str) -> None:
    url = f"sqlite:///{tmp_path}/lab.db"
    lab(url)
    csv, lines, history = tmp_path / "a.csv", tmp_path / "b.jsonl", tmp_path / "c.jsonl"
    csv.write_text(f"x,outcome\n{text or '?'},1\n")
    lines.write_text('{"params": {"x": 0.5}, "outcome": %s}' % (text or '""'))
    step = '{"event": "told", "value": %s, "at": 1.0, "known_from": 2}' % (text or '""')
    history.write_text('{"params": {"x": 0.5}, "outcome": 1, "history": [%s]}' % step)  # noqa: UP031
    told = tmp_path / "d.csv"
    told.write_text(f"number,value\n2,{text or '?'}\n")
    for args in (
        *(["tell", "2", text], ["tell", "2", "1", "--noise", text], ["tell", "2", "1", "--at", text]),
        *(["add", f"x={text}"], ["add", "x=0.5", "--value", text], ["add", "x=0.5", "--at", text]),
        *(["amend", "1", text, "--reason", "typo"], ["amend", "--floor", text, "--reason", "typo"]),
        *(["amend", "--limits", "0", text, "--reason", "typo"], ["ask", "--fix", f"x={text}"]),
        *(["import", str(csv)], ["import", str(lines)], ["import", str(history)], ["tell", "--csv", str(told)]),
    ):
        ran = CliRunner().invoke(main, [*args, "--store", url], catch_exceptions=False)
        assert (ran.exit_code, ran.stdout) == (2, ""), args
        assert json.dumps(ran.stderr).count("Error: ") == 1
    assert sound(url).events == 3
