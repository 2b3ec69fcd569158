"""Every example runs as a user runs it, in an empty folder, says what it promises, and leaves nothing behind."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(name: str, folder: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / f"{name}.py"],
        capture_output=True, text=True, check=False, cwd=folder, timeout=300,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert list(folder.iterdir()) == []
    return ran.stdout


def test_every_example_is_here_and_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [path.stem for path in EXAMPLES] == ["conversions", "lab", "surrogate", "tuning"]
    for path in EXAMPLES:
        assert f"(examples/{path.name})" in readme


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_what_it_shows_and_how_to_run_it(path: Path) -> None:
    docstring = path.read_text(encoding="utf-8").split('"""')[1]
    assert "It shows " in docstring
    assert f"    python examples/{path.name}\n" in docstring


def test_the_lab(tmp_path: Path) -> None:
    printed = run("lab", tmp_path)
    assert "flask 2 is put right" in printed
    assert re.search(r"^5 failed, \d+ heard, [1-9] late, \d+ pending$", printed, re.MULTILINE)
    expected = re.search(r"recommended: .* in water, expected (\d+) ", printed)
    assert expected is not None
    assert int(expected[1]) > 70  # 80 is the best possible
    assert "Half arrive within" in printed
    assert "Advised: " in printed
    assert run("lab", tmp_path) == printed  # seeds: the same every time


@pytest.mark.faults  # its workers are processes
def test_the_tuning_run(tmp_path: Path) -> None:
    """Which worker finishes first is not ours to say, so numbers are told by bounds."""
    printed = run("tuning", tmp_path)
    assert re.search(r"the run: +22 asked, 2 resumed", printed)
    statuses = re.search(r"in all: +(.*)", printed)
    assert statuses is not None
    counts = {status: int(count) for count, status in re.findall(r"(\d+) (\w+)", statuses[1])}
    assert sum(counts.values()) == 24
    assert counts["infeasible"] > 0
    assert counts["lost"] > 0
    accuracy = re.search(r"accuracy (0\.\d+)", printed)
    assert accuracy is not None
    assert float(accuracy[1]) > 0.9


def test_conversions(tmp_path: Path) -> None:
    printed = run("conversions", tmp_path)
    rates = re.search(r"buying rate at the end +(\d+)% at random, (\d+)% with belated", printed)
    assert rates is not None
    assert int(rates[2]) > 2 * int(rates[1])
    assert printed.count("the best possible is 50%") == 2
    assert run("conversions", tmp_path) == printed


def test_the_surrogate(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    printed = run("surrogate", tmp_path)
    assert "stored:      forest, Forest(trees=10, leaf=2)" in printed
    assert "trial 24 is the same" in printed
    best = re.search(r"best: +([\d.]+) of 10", printed)
    assert best is not None
    assert float(best[1]) > 9
    regrets = re.search(r"regret after 16 rounds: default ([\d.]+), forest ([\d.]+)$", printed, re.MULTILINE)
    assert regrets is not None
    assert regrets[1] != regrets[2]  # the first rounds fill the space, and are the same for both
