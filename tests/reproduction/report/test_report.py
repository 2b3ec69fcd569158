"""The report says the same in Markdown and in HTML, shows what it names, and is made again from an archive."""

import base64
import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from reproduction.archive import COSTS, CURVES, PROVENANCE, Archive, Provenance, read_archive, write_archive
from reproduction.commands import KEPT
from reproduction.curves import PUBLISHED, CurveKey, Curves
from reproduction.panels import ALL_PANELS, BEYOND, PANELS, Claim
from reproduction.report.document import Block, Heading, Paragraph, TableBlock, extract_text, make_slug
from reproduction.report.markdown import render_markdown
from reproduction.report.naming import format_title
from reproduction.report.report import PAGE, RESULTS, TEXT, count_runs, make_report, write_report
from reproduction.report.verdicts import judge_panel
from reproduction.theory.experiments import make_section
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
    assert named == [f"results/{name}.png" for name in ("effects", "fig1b", "fig2a", "fig4c", "elsewhere")]
    page = (made / PAGE).read_text(encoding="utf-8")
    inside = [base64.b64decode(data) for data in re.findall(r'src="data:image/png;base64,([^"]*)"', page)]
    assert inside == [(made / name).read_bytes() for name in named]


def test_links_lead_to_headings(made: Path) -> None:
    headings = [make_slug(line.lstrip("# ")) for line in text_of(made).splitlines() if line.startswith("#")]
    links = re.findall(r"\]\(#(.*?)\)", text_of(made))
    assert len(set(headings)) == len(headings)
    assert set(links) == {make_slug(format_title(shown)) for shown in FEW} <= set(headings)


def test_titles_and_headings_of_all_panels_are_their_own() -> None:
    assert format_title(PANELS["fig2a"]).startswith("Fig. 2a: SVM")
    names = [make_slug(format_title(shown)) for shown in (*PANELS.values(), *BEYOND.values())]
    assert len(set(names)) == len(names)


def test_it_says_how_it_was_made(made: Path, curves: Curves) -> None:
    text = text_of(made)
    assert "python -m reproduction run all\npython -m reproduction report\n" in text
    assert "With Python 3.12, numpy 2.4." in text
    assert "python -m reproduction report --from here/results --out here" in text
    ran = [(key, line) for key, line in curves.items() if key.panel in PANELS and key.reading != "published"]
    twice = [line for key, line in ran if key.reading == "heard" and key.curve in ("GP-UCB", "asy-TS")]
    assert len(twice) == 2  # in Figs. 2a and 4c
    runs = sum(len(line.seeds) for _, line in ran) - 7 * len(twice)
    assert f"3 of 4 panels were run: {runs} runs, 7 of each curve." in text


def test_a_run_that_counts_for_two_readings_is_one_run() -> None:
    panel = replace(PANELS["fig2a"], runs={"text": 4, "heard": 6})
    curves = {
        **make_curves([replace(panel, runs={"text": 4})], 4),
        **make_curves([replace(panel, runs={"heard": 6})], 6),
    }
    assert count_runs([judge_panel(panel, curves)]) == 3 * 4 + 3 * 6 - 4
    assert count_runs([judge_panel(panel, make_curves([replace(panel, runs={"heard": 6})], 6))]) == 3 * 6


def test_a_newcomer_is_told_who_the_methods_are(made: Path) -> None:
    opening = text_of(made).split("## What was found")[0]
    assert "GP-UCB-SDF and GP-TS-SDF (the SDF pair), count it as 0, the least value, until it is heard" in opening
    assert "GP-UCB and asy-TS ignore it, and GP-BUCB and GP-BTS hallucinate it" in opening
    assert "m is the patience, μ the mean of the delays" in opening


def test_what_was_found_comes_first_and_the_appendix_last(made: Path) -> None:
    assert re.findall(r"^## (.*)$", text_of(made), re.M) == [
        "What was found",
        "The choices that decide it",
        "Panels",
        "Beyond the paper",
        "Theory",
        "Appendix",
    ]


def test_a_panel_that_was_not_run_is_listed_so(made: Path) -> None:
    text = text_of(made)
    assert re.search(r"^\| \[Fig. 5a\]\(.*\*\*not run\*\* \|", text, re.M)
    section = text.split("#### Fig. 5a")[1].split("\n## ")[0]
    assert "The paper: GP-TS-SDF has smaller simple regret" in section
    assert section.rstrip().endswith("Not run.")
    assert "1 not run." in text


def test_panels_beyond_the_paper_have_ranks_and_no_verdict(made: Path) -> None:
    section = text_of(made).split("## Beyond the paper")[1].split("\n## ")[0]
    assert "The paper:" not in section
    ranked = re.findall(r"^\| ([^|]*) \| ([\d.]+) ± [\d.]+ \| ([\d.]+) \|$", section, re.M)
    assert len(ranked) == len(ELSEWHERE.curves)
    assert sum(float(rank) for _, rank, _ in ranked) == pytest.approx(8 * 9 / 2, abs=0.05)
    assert [float(mean) for *_, mean in ranked] == sorted(float(mean) for *_, mean in ranked)


def test_nothing_at_all_is_a_report_too() -> None:
    text = render_markdown(make_report(list(PANELS.values()), Archive(curves={}), out="."))
    assert "0 of 22 panels were run: 0 runs." in text
    assert text.count("Not run.") == 22
    assert "CPU time" not in text


def test_what_a_panel_says_is_escaped() -> None:
    odd = make_panel("odd", title="a|b <i>", claim=Claim(text="x < y | *z*", less=(("GP-UCB-SDF", "GP-UCB"),)))
    blocks = make_report([odd], Archive(curves={}), out=".")
    assert "x \\< y \\| \\*z\\*" in render_markdown(blocks)
    (claims,) = (block for block in blocks if isinstance(block, TableBlock))
    assert extract_text(claims.rows[0][1]) == "x < y | *z*: not run"


# The report that is kept ----------------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[3]
MOST_COLUMNS = 7


def make_kept_report() -> list[Block]:
    """The report of the curves that are kept, as the command makes it."""
    archive = read_archive(ROOT / KEPT)
    return make_report(
        list(PANELS.values()),
        archive,
        out=KEPT.parent.as_posix(),
        beyond=list(BEYOND.values()),
        theory=make_section(archive.measurements),
    )


@pytest.fixture(scope="module")
def kept() -> list[Block]:
    """Its words and numbers; pictures take longer than all the rest, and are left blank."""
    figure = pytest.importorskip("matplotlib.figure").Figure
    image = pytest.importorskip("PIL.Image")

    def leave_blank(self: object, out: object, **options: object) -> None:
        image.new("RGB", (1, 1)).save(out, format="PNG")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure, "savefig", leave_blank)
        return make_kept_report()


def test_the_kept_report_is_made_of_the_kept_curves(kept: list[Block]) -> None:
    made, there = render_markdown(kept, RESULTS), (ROOT / KEPT.parent / TEXT).read_text(encoding="utf-8")
    assert made.splitlines() == there.splitlines()
    assert made == there


def test_the_kept_runs_are_as_many_and_as_long_as_their_panels_say() -> None:
    archive = read_archive(ROOT / KEPT)
    wanted = {
        CurveKey(panel.name, curve.key, reading): (tuple(range(runs)), panel.iterations)
        for panel in ALL_PANELS.values()
        for reading, runs in panel.runs.items()
        for curve in panel.curves
    }
    kept = {key: (tuple(line.seeds), int(line.iterations[-1])) for key, line in archive.curves.items()}
    assert {key: found for key, found in kept.items() if key.reading != PUBLISHED} == wanted
    assert not any("not complete" in note for note in archive.provenance.notes)


def test_no_table_of_the_kept_report_is_too_wide(kept: list[Block]) -> None:
    wide = [block.titles for block in kept if isinstance(block, TableBlock) and len(block.titles) > MOST_COLUMNS]
    assert wide == []


@pytest.mark.long
def test_the_kept_pictures_are_made_of_the_kept_curves(tmp_path: Path) -> None:
    """Byte for byte with the version of matplotlib that drew them; another draws other bytes."""
    pytest.importorskip("matplotlib")
    recorded = dict(read_archive(ROOT / KEPT).provenance.versions).get("matplotlib")
    if recorded != version("matplotlib"):
        pytest.skip(f"the kept pictures were drawn with matplotlib {recorded}")
    written = write_report(tmp_path, make_kept_report())
    pictures = {path.name: path.read_bytes() for path in written if path.suffix == ".png"}
    assert pictures == {path.name: path.read_bytes() for path in (ROOT / KEPT).glob("*.png")}
