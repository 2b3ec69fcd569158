"""Where the shell runs in its tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import belated

pytest.register_assert_rewrite("tests.cli.shell")


# Commands whose tests run against a server too. The others are about files, or about the shell itself.
AT_A_SERVER = [
    "add",
    "advise",
    "amend",
    "ask",
    "best",
    "close",
    "delays",
    "events",
    "export",
    "fail",
    "import_",
    "log",
    "outlook",
    "posterior",
    "recommend",
    "refit",
    "rename",
    "reopen",
    "replay",
    "report",
    "show",
    "tell",
    "undo",
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    name = metafunc.module.__name__.rpartition(".")[2].removeprefix("test_")
    if "in_an_empty_folder" in metafunc.fixturenames and name in AT_A_SERVER:
        places = ["file", pytest.param("server", marks=pytest.mark.faults)]
        metafunc.parametrize("in_an_empty_folder", places, indirect=True)


@pytest.fixture
def in_an_empty_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Nothing is here, and no store is named; or a server of the file that would be used then."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BELATED_STORE", raising=False)
    if getattr(request, "param", "file") == "file":
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
