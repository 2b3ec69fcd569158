"""What a notebook shows of a study: the words, the newest trials and a picture, and nothing from elsewhere."""

import base64
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import belated
from belated import Real, Study
from belated.report.glance import NEWEST, render_glance

pytest.importorskip("matplotlib")


def make_study(rounds: int) -> Study:
    study = Study.create(
        name="ovens", space={"heat": Real(0, 1, unit="°C")}, silence="unknown", about="How hot? <b>", seed=0
    )
    delay = belated.delays.Fixed(2)
    for _ in belated.simulate(study, lambda p: 1 - (p["heat"] - 0.3) ** 2, delay=delay, rounds=rounds, seed=0):
        pass
    return study


class Balance(HTMLParser):
    """Which elements are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_notebook_shows_the_glance() -> None:
    study = make_study(9)
    html = study._repr_html_()
    assert html == render_glance(study)
    said = ["<strong>ovens</strong>", "How hot? &lt;b&gt;", "9 trials: ", "Best so far: ", "Recommended: heat 0."]
    for words in said:
        assert words in html
    rows = re.findall(r"<tr><td>(\d+)</td>", html)
    assert rows == [str(number) for number in range(9, 9 - NEWEST, -1)]


def test_the_glance_is_whole_and_needs_nothing_from_elsewhere() -> None:
    html = render_glance(make_study(6))
    balance = Balance()
    balance.feed(html)
    assert balance.open == []
    assert re.findall(r'(?:src|href)="(?!data:)', html) == []
    picture = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    assert picture is not None
    svg = ElementTree.fromstring(base64.b64decode(picture[1]))  # noqa: S314  # ours
    assert svg.tag.endswith("svg")


def test_an_empty_study_has_a_glance() -> None:
    html = render_glance(Study.create(space={"x": Real(0, 1)}, silence="unknown", seed=0))
    assert "none asked yet" in html
    assert "<table" not in html


def test_without_matplotlib_there_is_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(3)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    html = render_glance(study)
    assert "<img" not in html
    assert "<table" in html
