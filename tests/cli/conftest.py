"""Where the shell runs in its tests."""

from pathlib import Path

import pytest

import belated

pytest.register_assert_rewrite("tests.cli.shell")


@pytest.fixture
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is here, and no store is named."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BELATED_STORE", raising=False)


@pytest.fixture
def lab(in_an_empty_folder: None) -> belated.Study:
    """A study with two trials; the first has an outcome."""
    space = {"x": belated.Real(0, 1), "act": belated.Choice("relu", "tanh")}
    study = belated.Study.create("sqlite:///belated.db", "lab", space=space, silence="unknown", seed=0)
    study.ask(n=2)
    study.tell(1, 0.5)
    return study
