"""The report says the same in Markdown and in HTML, shows what it names, and is made again from an archive."""

import base64
import re
from pathlib import Path

import pytest

from reproduction.archive import COSTS, CURVES, PROVENANCE, Archive, Provenance, read_archive, write_archive
from reproduction.curves import Curves
from reproduction.panels import BEYOND, PANELS, Claim
from reproduction.report.document import Heading, Paragraph, TableBlock, extract_text, make_slug
from reproduction.report.markdown import render_markdown
from reproduction.report.report import PAGE, RESULTS, TEXT, format_title, make_report, write_report
from reproduction.report.tables import tabulate_means
from reproduction.report.verdicts import judge_panel
from reproduction.run_costs import RunCost
from tests.reproduction.made_up_curves import make_beyond_panel, make_costs, make_curves, make_panel, make_published
from tests.reproduction.report.page_reader import PageReader

FEW = [PANELS[name] for name in ("fig1b", "fig2a", "fig4c", "fig5a")]
ELSEWHERE = make_beyond_panel()
THEORY = [Heading("Theory"), Paragraph("A page.")]
PROVENANCE_HERE = Provenance(
    ("python -m reproduction run all", "python -m reproduction report"), (("Python", "3.12"), ("numpy", "2.4"))
)


@pytest.fixture(scope="module")
def curves() -> Curves:
    ran = [shown for shown in FEW if shown.name != "fig5a"]
    return {**make_curves([*ran, ELSEWHERE], seeds=7), **make_published(PANELS["fig2a"], 7)}


@pytest.fixture(scope="module")
def made(curves: Curves, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    costs = make_costs({key: line for key, line in curves.items() if key.reading != "published"})
    archive = Archive(curves=curves, costs=costs, provenance=PROVENANCE_HERE)
    write_archive(folder / RESULTS, archive)
    write_report(folder, make_report(FEW, archive, out="here", beyond=[ELSEWHERE], theory=THEORY))
    return folder


def text_of(made: Path) -> str:
    return (made / TEXT).read_text(encoding="utf-8")


def test_it_is_made_again_from_its_archive(made: Path, tmp_path: Path) -> None:
    archive = read_archive(made / RESULTS)
    assert archive.provenance == PROVENANCE_HERE
    for path in write_report(tmp_path, make_report(FEW, archive, out="here", beyond=[ELSEWHERE], theory=THEORY)):
        assert path.read_bytes() == (made / path.relative_to(tmp_path)).read_bytes()
    write_archive(tmp_path / RESULTS, archive)
    for name in (CURVES, COSTS, PROVENANCE):
        assert (tmp_path / RESULTS / name).read_bytes() == (made / RESULTS / name).read_bytes()
    assert read_archive(made / RESULTS / CURVES).costs == archive.costs  # the file may be named itself


def test_markdown_and_page_have_the_same_words_and_numbers(made: Path) -> None:
    text = re.sub(r"\]\([^)]*\)", "", re.sub(r"!\[.*\)|^[|\s:-]+$", "", text_of(made), flags=re.M))
    page = PageReader((made / PAGE).read_text(encoding="utf-8"))
    pattern = r"[−<]?\d[\d.,]*\d|\d|[A-Za-z]{3,}"
    body = " ".join(page.words).split("Every panel", 1)[1]
    expected = re.findall(pattern, text.split("Every panel", 1)[1].replace("\\", "").replace("```sh", ""))
    assert re.findall(pattern, body) == expected
    assert len(expected) > 1000


def test_every_picture_that_is_named_is_there_and_in_the_page(made: Path) -> None:
    named = re.findall(r"!\[.*?\]\((.*?)\)", text_of(made))
    assert named == [f"results/{name}.png" for name in ("fig1b", "fig2a", "fig4c", "elsewhere")]
    page = (made / PAGE).read_text(encoding="utf-8")
    inside = [base64.b64decode(data) for data in re.findall(r'src="data:image/png;base64,([^"]*)"', page)]
    assert inside == [(made / name).read_bytes() for name in named]


def test_links_lead_to_headings(made: Path) -> None:
    headings = [make_slug(line.lstrip("# ")) for line in text_of(made).splitlines() if line.startswith("#")]
    links = re.findall(r"\]\(#(.*?)\)", text_of(made))
    assert len(set(headings)) == len(headings)
    assert set(links) <= set(headings)
    assert len(links) == len(FEW)


def test_titles_and_headings_of_all_panels_are_their_own() -> None:
    assert format_title(PANELS["fig2a"]).startswith("Fig. 2a: SVM")
    names = [make_slug(format_title(shown)) for shown in (*PANELS.values(), *BEYOND.values())]
    assert len(set(names)) == len(names)


def test_it_says_how_it_was_made(made: Path) -> None:
    text = text_of(made)
    assert "python -m reproduction run all\npython -m reproduction report\n" in text
    assert "With Python 3.12, numpy 2.4." in text
    assert "python -m reproduction report --from here/results --out here" in text
    assert "3 of 4 panels were run: 91 runs, 7 of each curve." in text  # 4 + 2 · 3 + 3 curves


def test_a_panel_that_was_not_run_is_listed_so(made: Path) -> None:
    text = text_of(made)
    assert re.search(r"^\| \[Fig. 5a.*\| not run \|", text, re.M)
    section = text.split("### Fig. 5a")[1].split("\n## ")[0]
    assert "The paper: GP-TS-SDF has smaller simple regret" in section
    assert section.rstrip().endswith("Not run.")
    assert "not run: 1." in text


def test_the_released_reading_and_the_published_runs_have_verdicts_of_their_own(made: Path) -> None:
    section = text_of(made).split("### Fig. 2a")[1].split("### ")[0]
    assert re.search(r"The paper: GP-UCB-SDF outperforms .*\. Verdict: \*\*", section)
    assert "- As the released program has it: **" in section
    assert "- The authors' published runs, by the same rules: **" in section
    assert section.count("| published |") == 3 + 2
    assert re.search(r"\| published \| GP-UCB \| 7 \|.*\| — \| — \|", section)


def test_panels_beyond_the_paper_have_ranks_and_no_verdict(made: Path, curves: Curves) -> None:
    section = text_of(made).split("## Beyond the paper")[1].split("\n## ")[0]
    assert "The paper:" not in section
    ranked = re.findall(r"^\| ([^|]*) \| ([\d.]+) ± [\d.]+ \| ([\d.]+) \|$", section, re.M)
    assert len(ranked) == len(ELSEWHERE.curves)
    assert sum(float(rank) for _, rank, _ in ranked) == pytest.approx(8 * 9 / 2, abs=0.05)
    assert [float(mean) for *_, mean in ranked] == sorted(float(mean) for *_, mean in ranked)
    assert tabulate_means(judge_panel(ELSEWHERE, curves)).titles[-1] == "mean rank"


def test_a_short_pass_and_missing_parts_are_said() -> None:
    shown = make_panel("fig2a", readings=("text", "released"), iterations=30)
    quick = make_panel("fig2a", readings=("text",), iterations=12)
    few = {key: line for key, line in make_curves([quick], seeds=3).items() if key.curve != "GP-BUCB"}
    text = render_markdown(make_report([shown], Archive(curves=few), out="."))
    assert "Note: only 12 of 30 iterations; the published results are not at hand; not run: GP-BUCB." in text
    assert "at 12" in text
    assert "| not run |" in text
    assert "the curves that the claim is about have not all been run" in text


def test_nothing_at_all_is_a_report_too() -> None:
    text = render_markdown(make_report(list(PANELS.values()), Archive(curves={}), out="."))
    assert "0 of 22 panels were run: 0 runs." in text
    assert text.count("Not run.") == 22
    assert "CPU time" not in text


def test_costs_are_summed_by_figure(made: Path) -> None:
    text = text_of(made)
    costs = [RunCost("fig1b", "m5", "text", 0, 100, 3600.0, 1800.0), RunCost("fig1b", "m5", "text", 0, 4, 0.0, 1800.0)]
    archive = Archive(curves={}, costs=[*costs, RunCost("other", "x", "text", 0, 1, 1e9, 1e9)])
    report = render_markdown(make_report(FEW, archive, out="."))
    assert "CPU time of the panels: 2.0 h, 50% for choosing queries and 50% for evaluating objectives" in report
    assert "| Figure 1 | 1 | 104 | 1.0 h | 1.0 h |" in report  # one run, interrupted once
    assert re.search(r"^\| Figure 4 \| 21 \| 12,600 \|", text, re.M)
    assert re.search(r"^\| beyond the paper \| 56 \|", text, re.M)


def test_what_a_panel_says_is_escaped() -> None:
    odd = make_panel("odd", title="a|b <i>", claim=Claim(text="x < y | *z*", less=(("GP-UCB-SDF", "GP-UCB"),)))
    blocks = make_report([odd], Archive(curves={}), out=".")
    assert "x \\< y \\| \\*z\\*" in render_markdown(blocks)
    (table,) = (block for block in blocks if isinstance(block, TableBlock))
    assert extract_text(table.rows[0][0]) == "a|b <i>"
