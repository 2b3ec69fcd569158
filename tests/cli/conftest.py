"""Where the shell runs in its tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import belated

pytest.register_assert_rewrite("tests.cli.shell")


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.faults)])
def in_an_empty_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Nothing is here, and no store is named; or a server of the file that would be used then."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BELATED_STORE", raising=False)
    if request.param == "file":
        yield
        return
    pytest.importorskip("fastapi")
    from tests.support.servers import run_server

    with run_server("sqlite:///belated.db") as running:
        monkeypatch.setenv("BELATED_STORE", running.url)
        yield


@pytest.fixture
def lab(in_an_empty_folder: None) -> belated.Study:
    """A study with two trials; the first has an outcome."""
    space = {"x": belated.Real(0, 1), "act": belated.Choice("relu", "tanh")}
    study = belated.Study.create("sqlite:///belated.db", "lab", space=space, silence="unknown", seed=0)
    study.ask(n=2)
    study.tell(1, 0.5)
    return study
