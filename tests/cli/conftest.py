"""Where the shell runs in its tests."""

from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.cli.shell")


@pytest.fixture
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is here, and no store is named."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BELATED_STORE", raising=False)
