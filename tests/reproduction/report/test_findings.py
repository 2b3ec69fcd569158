"""The findings: a row for every comparison, the counts, and the pooled lines."""

import re
from dataclasses import replace

import pytest

from reproduction.curves import Curves
from reproduction.panels import PANELS
from reproduction.report.document import Picture, TableBlock, extract_text
from reproduction.report.findings import make_findings, tabulate_claims, tabulate_pooled
from reproduction.report.markdown import render_markdown
from reproduction.report.pooling import POOLS, SIMPLE, count_lower, pool_groups
from reproduction.report.verdict_rule import RULE
from reproduction.report.verdicts import WORDS, JudgedPanel, judge_panel
from tests.reproduction.made_up_curves import make_curves, make_published

pytest.importorskip("matplotlib")

SHOWN = [PANELS[name] for name in ("fig1b", "fig1c", "fig4a", "fig5a")]


@pytest.fixture(scope="module")
def judged() -> list[JudgedPanel]:
    curves: Curves = make_curves(SHOWN[:3], seeds=7)
    return [judge_panel(panel, curves) for panel in SHOWN]


def list_texts(table: TableBlock) -> list[list[str]]:
    return [[extract_text(cell) for cell in row] for row in table.rows]


def test_a_panel_has_a_row_for_every_comparison(judged: list[JudgedPanel]) -> None:
    table = tabulate_claims(judged)
    rows = list_texts(table)
    assert len(table.titles) == 7
    assert [row[0] for row in rows] == ["Fig. 1b", "", "", "Fig. 1c", "", "Fig. 4a", "", "Fig. 5a"]
    claims = [row[1] for row in rows if row[0]]
    assert claims == [f"{j.panel.claim.text}: {j.verdict.word}" for j in judged]  # type: ignore[union-attr]
    assert [row[2] for row in rows[:4]] == [
        "“m = 20” − “m = 5”",
        "“m = 40” − “m = 5”",
        "“m = 20” − “m = 40”, alike",
        "GP-UCB-SDF − GP-UCB",
    ]
    for row, pair in zip(rows, (pair for j in judged for pair in j.pairs.get("text", ())), strict=False):
        assert row[3] == "7"
        assert re.fullmatch(r"−?[\d.]+ \[−?[\d.]+, −?[\d.]+\]", row[4])
        assert row[6] == pair.word
    assert rows[-1][1].endswith(": not run")
    assert rows[-1][2:] == [""] * 5


def test_pooled_rows_say_how_much_they_rest_on(judged: list[JudgedPanel]) -> None:
    rows = list_texts(tabulate_pooled(pool_groups(judged, "text")))
    assert [row[:4] for row in rows[:2]] == [
        ["synthetic", "ignoring", "1 of 4", "7"],
        ["synthetic", "hallucinating", "1 of 4", "7"],
    ]
    assert [row[0] for row in rows[::2]] == ["synthetic", "all simple regret", "multi-task"]


def test_the_section_counts_verdicts_and_lower_means(judged: list[JudgedPanel]) -> None:
    blocks = make_findings(judged, "text")
    text = render_markdown(blocks)
    words = [j.verdict.word for j in judged]
    assert words.count("not run") == 1
    counts = f"{words.count('supported')} supported, {words.count('contradicted')} contradicted"
    assert f"The claims of 4 panels, in the reading text: {counts}" in text
    assert "1 not run." in text
    assert "Over the panels of simple regret" not in text  # not all of them were run
    assert [block.name for block in blocks if isinstance(block, Picture)] == ["effects.png"]
    assert all(extract_text(line)[:30] in text for line in RULE)


def test_it_is_said_how_signs_and_words_of_the_table_are_meant(judged: list[JudgedPanel]) -> None:
    text = render_markdown(make_findings(judged, "text"))
    section = text.split("### Claims")[1].split("### ")[0]
    assert "negative where it is as claimed" in section
    assert "an interval just above 0 can be unresolved" in section
    assert "`published` are the authors' own runs" not in text  # there are none
    svm = PANELS["fig2a"]
    curves = {**make_curves([svm], seeds=5), **make_published(svm, 5)}
    assert "`published` are the authors' own runs" in render_markdown(make_findings([judge_panel(svm, curves)], "text"))


def test_every_reading_has_its_verdicts_and_its_pooled_line() -> None:
    panels = [replace(PANELS[name], iterations=30, runs={"text": 5, "heard": 5}) for name in POOLS[SIMPLE]]
    curves = make_curves(panels, seeds=5)
    everywhere = [judge_panel(panel, curves) for panel in panels]
    blocks = make_findings(everywhere, "text")
    text = render_markdown(blocks)
    for reading in ("text", "heard"):
        lower, of = count_lower(everywhere, reading)
        assert of == 32
        assert f"\n- `{reading}`: {lower} of 32; against ignoring " in text
    words = next(block for block in blocks if isinstance(block, TableBlock))
    rows = list_texts(words)
    assert [row[0] for row in rows] == ["text", "heard"]
    for row, reading in zip(rows, ("text", "heard"), strict=True):
        named = {name: word for word, cell in zip(WORDS, row[1:], strict=False) for name in cell.split(", ")}
        assert {j.panel.name: j.verdicts[reading].word for j in everywhere} == {
            f"fig{name}": word for name, word in named.items() if name != "—"
        }
    same = sum(j.verdicts["text"].word == j.verdicts["heard"].word for j in everywhere)
    assert f"{same} of 16 have the same verdict in all readings that were run:" in text


def test_without_runs_there_is_nothing_to_pool() -> None:
    blocks = make_findings([judge_panel(panel, {}) for panel in SHOWN], "text")
    assert not any(isinstance(block, Picture) for block in blocks)
    assert "none supported, none contradicted, none unresolved, 4 not run." in render_markdown(blocks)


def test_a_verdict_on_too_few_runs_is_marked() -> None:
    few = [judge_panel(SHOWN[1], make_curves([SHOWN[1]], seeds=3))]
    assert "1c (too few runs)" in render_markdown(make_findings(few, "text"))
    enough = [judge_panel(SHOWN[1], make_curves([SHOWN[1]], seeds=5))]
    assert "too few runs" not in render_markdown(make_findings(enough, "text"))
