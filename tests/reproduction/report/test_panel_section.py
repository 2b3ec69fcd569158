"""A panel's section: the claim, a verdict for every reading, and what is missing."""

from reproduction.panels import PANELS
from reproduction.report.document import Heading, Picture, TableBlock
from reproduction.report.markdown import render_markdown
from reproduction.report.panel_section import make_panel_section
from reproduction.report.verdicts import judge_panel
from tests.reproduction.made_up_curves import make_beyond_panel, make_curves, make_panel, make_published

SVM = PANELS["fig2a"]


def test_every_reading_and_the_authors_runs_have_verdicts_of_their_own() -> None:
    judged = judge_panel(SVM, {**make_curves([SVM], seeds=5), **make_published(SVM, 5)})
    text = render_markdown(make_panel_section(judged, 4))
    assert text.startswith("#### Fig. 2a: SVM")
    assert "The paper: GP-UCB-SDF outperforms the corresponding baselines.\n" in text
    for reading in judged.readings:
        assert f"- `{reading}`: **{judged.verdicts[reading].word}** – GP-UCB-SDF − GP-UCB is " in text
    assert f"- `published`, the authors' own runs: **{judged.verdicts['published'].word}** – " in text
    assert "Note:" not in text


def test_a_short_pass_and_missing_parts_are_said() -> None:
    shown = make_panel("fig2a", iterations=30)
    quick = make_panel("fig2a", iterations=12)
    few = {key: line for key, line in make_curves([quick], seeds=3).items() if key.curve != "GP-BUCB"}
    text = render_markdown(make_panel_section(judge_panel(shown, few), 3))
    assert "Note: only 12 of 30 iterations; the published results are not at hand; not run: GP-BUCB." in text
    assert "**not run** – the curves that the claim is about have not all been run." in text


def test_only_the_svm_panels_miss_published_runs() -> None:
    other = make_panel("fig9a")
    assert "published" not in render_markdown(make_panel_section(judge_panel(other, make_curves([other], seeds=2)), 3))


def test_a_panel_without_runs_says_so() -> None:
    blocks = make_panel_section(judge_panel(SVM, {}), 4)
    assert isinstance(blocks[0], Heading)
    assert render_markdown(blocks).rstrip().endswith("Not run.")
    assert not any(isinstance(block, Picture | TableBlock) for block in blocks)


def test_a_panel_beyond_the_paper_has_no_claim() -> None:
    elsewhere = make_beyond_panel()
    blocks = make_panel_section(judge_panel(elsewhere, make_curves([elsewhere], seeds=2)), 3)
    assert [type(block) for block in blocks] == [Heading, Picture, TableBlock]
