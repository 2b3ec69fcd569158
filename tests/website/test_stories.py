"""Commands of the first pages that people read run in an empty folder, and pictures show what their stories print."""

from collections.abc import Callable
from pathlib import Path

import pytest

from belated import Study
from tests.cli.test_cli_docs import BLOCK, ROOT, Shell, says_the_same
from tests.test_docs import blocks_of
from website.stories import STORIES, find_commands, list_shown, read_printed

NOT_RUN = ("pip", "make")  # they set up what the tests run in


def run_python(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page):
        exec(compile(block.source, str(page), "exec"), namespace)  # noqa: S102


def make_optuna_study(page: Path) -> None:
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(storage="sqlite:///old.db", study_name="tuning")
    study.optimize(lambda trial: trial.suggest_float("rate", 0, 1) ** 2, n_trials=3)


def do_nothing(page: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("name", "prepare", "count", "study"),
    [
        ("README.md", do_nothing, 4, ("sqlite:///belated.db", "network", 1)),
        ("docs/quickstart.md", run_python, 1, ("sqlite:///lab.db", "bread", 3)),
        ("docs/optuna.md", make_optuna_study, 1, ("sqlite:///belated.db", "tuning", 3)),
    ],
)
def test_the_commands_of_a_page_run(
    name: str,
    prepare: Callable[[Path], None],
    count: int,
    study: tuple[str, str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, programs = tmp_path / "fresh", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("BELATED_STORE", raising=False)
    prepare(ROOT / name)
    shell = Shell(programs)
    consoles = [block for kind, block in BLOCK.findall((ROOT / name).read_text(encoding="utf-8")) if kind == "console"]
    commands = [command for block in consoles for command in find_commands(block)]
    run = [command for command in commands if not command.startswith(NOT_RUN)]
    assert len(run) == count
    for command in run:
        assert shell.run(command) == 0, f"{command}\n{shell.said}"
    url, called, rounds = study
    assert Study.open(url, called).rounds == rounds


@pytest.mark.parametrize("name", STORIES)
def test_the_picture_of_a_story_was_made_of_the_run_that_the_page_tells_of(name: str) -> None:
    """If not: make stories"""
    printed = read_printed(ROOT / "docs" / "images" / f"{name}.png").splitlines()
    for line in list_shown(name):
        assert any(says_the_same(line.removesuffix(" ..."), each) for each in printed), line
