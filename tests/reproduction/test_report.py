"""The report says the same in Markdown and in HTML, shows what it names, and is made again from the files it keeps."""

import base64
import re
from pathlib import Path

import pytest

from belated.errors import Unreadable
from reproduction import kept
from reproduction.blocks import Heading, Paragraph, Table, markdown, plain, slug
from reproduction.curves import Cost, Curves, Key
from reproduction.panels import BEYOND, PANELS, Claim
from reproduction.report import FOLDER, PAGE, TEXT, sections, title, write
from reproduction.tables import comparisons, decimals, means, probability
from reproduction.verdicts import judge
from tests.reproduction.made_up import beyond, costs_of, curves_of, panel, published
from tests.reproduction.test_blocks import Read

FEW = [PANELS[name] for name in ("fig1b", "fig2a", "fig4c", "fig5a")]
ELSEWHERE = beyond()
MADE = kept.Made(("belated paper run all", "belated paper report"), (("Python", "3.12"), ("numpy", "2.4")))


@pytest.fixture(scope="module")
def curves() -> Curves:
    ran = [shown for shown in FEW if shown.name != "fig5a"]
    return {**curves_of([*ran, ELSEWHERE], seeds=7), **published(PANELS["fig2a"], 7)}


@pytest.fixture(scope="module")
def made(curves: Curves, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    costs = costs_of({key: line for key, line in curves.items() if key.reading != "published"})
    blocks = sections(FEW, curves, costs, MADE, beyond=[ELSEWHERE], theory=[Heading("Theory"), Paragraph("A page.")])
    kept.keep(folder / FOLDER, curves, costs, MADE)
    write(folder, blocks)
    return folder


def text_of(made: Path) -> str:
    return (made / TEXT).read_text(encoding="utf-8")


def test_it_is_made_again_from_what_is_kept(made: Path, tmp_path: Path) -> None:
    curves, costs, how = kept.kept(made / FOLDER)
    assert how == MADE
    blocks = sections(FEW, curves, costs, how, beyond=[ELSEWHERE], theory=[Heading("Theory"), Paragraph("A page.")])
    for path in write(tmp_path, blocks):
        assert path.read_bytes() == (made / path.relative_to(tmp_path)).read_bytes()
    kept.keep(tmp_path / FOLDER, curves, costs, how)
    for name in (kept.CURVES, kept.COSTS, kept.MADE):
        assert (tmp_path / FOLDER / name).read_bytes() == (made / FOLDER / name).read_bytes()
    assert kept.kept(made / FOLDER / kept.CURVES)[1] == costs  # the file may be named itself


def test_markdown_and_page_have_the_same_words_and_numbers(made: Path) -> None:
    text = re.sub(r"\]\([^)]*\)", "", re.sub(r"!\[.*\)|^[|\s:-]+$", "", text_of(made), flags=re.M))
    page = Read((made / PAGE).read_text(encoding="utf-8"))
    pattern = r"[−<]?\d[\d.,]*\d|\d|[A-Za-z]{3,}"
    body = " ".join(page.words).split("Every panel", 1)[1]
    expected = re.findall(pattern, text.split("Every panel", 1)[1].replace("\\", "").replace("```sh", ""))
    assert re.findall(pattern, body) == expected
    assert len(expected) > 1000


def test_every_picture_that_is_named_is_there_and_in_the_page(made: Path) -> None:
    named = re.findall(r"!\[.*?\]\((.*?)\)", text_of(made))
    assert named == [f"docs/paper/{name}.png" for name in ("fig1b", "fig2a", "fig4c", "elsewhere")]
    page = (made / PAGE).read_text(encoding="utf-8")
    inside = [base64.b64decode(data) for data in re.findall(r'src="data:image/png;base64,([^"]*)"', page)]
    assert inside == [(made / name).read_bytes() for name in named]


def test_links_lead_to_headings(made: Path) -> None:
    headings = [slug(line.lstrip("# ")) for line in text_of(made).splitlines() if line.startswith("#")]
    links = re.findall(r"\]\(#(.*?)\)", text_of(made))
    assert len(set(headings)) == len(headings)
    assert set(links) <= set(headings)
    assert len(links) == len(FEW)


def test_titles_and_headings_of_all_panels_are_their_own() -> None:
    assert title(PANELS["fig2a"]).startswith("Fig. 2a: SVM")
    names = [slug(title(shown)) for shown in (*PANELS.values(), *BEYOND.values())]
    assert len(set(names)) == len(names)


def test_it_says_how_it_was_made(made: Path) -> None:
    text = text_of(made)
    assert "belated paper run all\nbelated paper report\n" in text
    assert "With Python 3.12, numpy 2.4." in text
    assert "belated paper report --from docs/paper --out . --pictures docs/paper" in text
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


def test_numbers_in_the_tables_are_those_of_the_curves(curves: Curves) -> None:
    judged = judge(PANELS["fig4c"], curves)
    table = means(judged)
    assert table.titles == ("mean cumulative regret", "runs", "at 200", "at 400", "at 600")
    line = curves[Key("fig4c", "GP-UCB", "text")]
    (row,) = (row for row in table.rows if row[0] == "GP-UCB")
    assert row[4] == f"{line.cumulative[:, -1].mean():.2f} ± {line.cumulative[:, -1].std(ddof=1) / 7**0.5:.2f}"
    compared = comparisons(judged)
    assert [plain(cell) for cell in compared.titles[:2]] == ["comparison", "pairs"]
    assert plain(compared.rows[0][2]).startswith("−")
    assert plain(compared.rows[0][3]) == "7, 0, 0"
    assert plain(compared.rows[0][6]) == "0.0312"  # 2 · 2 / 2⁷


def test_simple_regret_is_shown_with_late_outcomes_and_cumulative_regret(curves: Curves) -> None:
    table = means(judge(PANELS["fig1b"], curves))
    assert table.titles[2:] == (
        "at 20",
        "at 50",
        "at 100",
        "average 10–100",
        "late counted, at 100",
        "cumulative, at 100",
    )


def test_panels_beyond_the_paper_have_ranks_and_no_verdict(made: Path, curves: Curves) -> None:
    section = text_of(made).split("## Beyond the paper")[1].split("\n## ")[0]
    assert "The paper:" not in section
    ranked = re.findall(r"^\| ([^|]*) \| ([\d.]+) ± [\d.]+ \| ([\d.]+) \|$", section, re.M)
    assert len(ranked) == len(ELSEWHERE.curves)
    assert sum(float(rank) for _, rank, _ in ranked) == pytest.approx(8 * 9 / 2, abs=0.05)
    assert [float(mean) for *_, mean in ranked] == sorted(float(mean) for *_, mean in ranked)
    assert means(judge(ELSEWHERE, curves)).titles[-1] == "mean rank"


def test_a_short_pass_and_missing_parts_are_said() -> None:
    shown = panel("fig2a", readings=("text", "released"), iterations=30)
    quick = panel("fig2a", readings=("text",), iterations=12)
    few = {key: line for key, line in curves_of([quick], seeds=3).items() if key.curve != "GP-BUCB"}
    text = markdown(sections([shown], few))
    assert "Note: only 12 of 30 iterations; the published results are not at hand; not run: GP-BUCB." in text
    assert "at 12" in text
    assert "| not run |" in text
    assert "the curves that the claim is about have not all been run" in text


def test_nothing_at_all_is_a_report_too() -> None:
    text = markdown(sections(list(PANELS.values()), {}))
    assert "0 of 22 panels were run: 0 runs." in text
    assert text.count("Not run.") == 22
    assert "CPU time" not in text


def test_costs_are_summed_by_figure(made: Path) -> None:
    text = text_of(made)
    costs = [Cost("fig1b", "m5", "text", 0, 100, 3600.0, 1800.0), Cost("fig1b", "m5", "text", 0, 4, 0.0, 1800.0)]
    report = markdown(sections(FEW, {}, [*costs, Cost("other", "x", "text", 0, 1, 1e9, 1e9)]))
    assert "CPU time of the panels: 2.0 h, 50% for choosing queries and 50% for evaluating objectives" in report
    assert "| Figure 1 | 1 | 104 | 1.0 h | 1.0 h |" in report  # one run, interrupted once
    assert re.search(r"^\| Figure 4 \| 21 \| 12,600 \|", text, re.M)
    assert re.search(r"^\| beyond the paper \| 56 \|", text, re.M)


def test_labels_with_commas_are_set_off() -> None:
    text = markdown(sections([PANELS["fig1a"]], curves_of([PANELS["fig1a"]], seeds=2)))
    assert "“μ = 5, m = 10” against “μ = 10, m = 20”" in text
    assert re.search(r"“μ = 5, m = 10” is (not )?below “μ = 10, m = 20”", text)


def test_what_a_panel_says_is_escaped() -> None:
    odd = panel("odd", title="a|b <i>", claim=Claim(text="x < y | *z*", less=(("GP-UCB-SDF", "GP-UCB"),)))
    blocks = sections([odd], {})
    assert "x \\< y \\| \\*z\\*" in markdown(blocks)
    (table,) = (block for block in blocks if isinstance(block, Table))
    assert plain(table.rows[0][0]) == "a|b <i>"


def test_numbers_are_written_alike() -> None:
    assert [decimals([v]) for v in (0.2429, 23.4, 1500.0, 0.0123, 1e-9, 0.0)] == [4, 2, 0, 5, 6, 4]
    assert [probability(p) for p in (0.00005, 0.0039, 1.0)] == ["<0.0001", "0.0039", "1.0000"]


def test_made_here_names_what_is_installed_and_a_broken_file_is_refused(tmp_path: Path) -> None:
    here = kept.Made.here("a", "b")
    assert here.commands == ("a", "b")
    assert {"Python", "numpy", "scipy"} <= {name for name, _ in here.versions}
    here.write(tmp_path / "made.json")
    assert kept.Made.read(tmp_path / "made.json") == here
    for broken in ("", "[]", '{"commands": 3, "versions": []}', '{"commands": []}'):
        (tmp_path / "made.json").write_text(broken)
        with pytest.raises(Unreadable, match="does not say how the curves were made"):
            kept.Made.read(tmp_path / "made.json")
